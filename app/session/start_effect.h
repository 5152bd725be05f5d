/* The effect of a method at initialization, measured: four examples are encoded by the model with and
 * without the method, and the vectors of the encoder's last layer are compared. */
#ifndef APP_SESSION_START_EFFECT_H
#define APP_SESSION_START_EFFECT_H

#include "core/base/crew.h"
#include "core/train/config/config.h"

enum { START_ROWS = 4 };

struct start_effect {
    int rows;       /* number of examples */
    double change;  /* mean of |h - h0| / |h0|, where h is the mean over an example's tokens */
};

/* Measures the effect; ERR_USAGE for a method that is initialized from other runs (fusion, init=run). */
int start_effect(const struct run_config *c, struct crew *crew, struct start_effect *out, struct err *e);
/* Writes "identity at initialization: …" or "not an identity at initialization: …". */
void start_effect_words(const struct start_effect *x, char out[240]);

#endif
