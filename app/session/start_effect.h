/* What a method does to the model before it has learned anything, measured: four rows through the model as it
 * is and with the method at its start, and how far the vectors of the encoder's last layer lie apart. */
#ifndef APP_SESSION_START_EFFECT_H
#define APP_SESSION_START_EFFECT_H

#include "core/base/crew.h"
#include "core/train/config/config.h"

enum { START_ROWS = 4 };

struct start_effect {
    int rows;       /* measured on */
    double change;  /* mean over them of |h - h0| / |h0|, h the mean of a row's tokens */
};

/* ERR_USAGE for a method that has no start of its own (fused, or begun with another run's values). */
int start_effect(const struct run_config *c, struct crew *crew, struct start_effect *out, struct err *e);
/* "changes nothing until it is trained, …", "adds noise of 3.1 %, …". */
void start_effect_words(const struct start_effect *x, char out[240]);

#endif
