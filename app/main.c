#include <stdio.h>

int main(void) {
    fputs("petri: no verb is built yet\n", stderr);
    return 2;
}
