/* The tests of agreement with transformers, run once in 32 and once in 64 bits. */
#ifndef TESTS_SUPPORT_PARITY_H
#define TESTS_SUPPORT_PARITY_H

/* Largest differences: absolute for layers (unit scale), logits, loss, and weights after ten
 * steps; for a gradient, a part of its tensor's largest value. */
struct parity {
    double layer, logit, loss, gradient, step;
};

/* Runs them; the program's exit code. */
int parity_main(const struct parity *allowed);

#endif
