/* Agreement with transformers in 64 bits: layers, logits, loss and gradients. */
#include "tests/support/parity.h"

int main(void) {
    static const struct parity allowed = {
        .layer = 1e-9, .logit = 1e-9, .loss = 1e-9, .gradient = 1e-9, .step = 1e-8};
    return parity_main(&allowed);
}
