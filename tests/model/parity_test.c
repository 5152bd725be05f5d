/* Agreement with transformers in 32 bits: layers, logits, loss and gradients. */
#include "tests/support/parity.h"

int main(void) {
    static const struct parity allowed = {
        .layer = 1e-5, .logit = 1e-4, .loss = 1e-5, .gradient = 1e-4, .step = 1e-4};
    return parity_main(&allowed);
}
