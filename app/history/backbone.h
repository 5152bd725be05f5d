/* The model of a run, wherever it lies now. */
#ifndef APP_HISTORY_BACKBONE_H
#define APP_HISTORY_BACKBONE_H

#include "core/model/model.h"
#include "core/train/config/config.h"

/* Where else a run's model may be than where it was. */
struct backbone_hint {
    const char *given; /* by the user in its place: it must have the run's weights; NULL: none */
    const char *spare; /* tried when the place is gone and its name leads to none; NULL: none */
};
/* The model that a run was trained on: what was given; else the folder where it was; else what its
 * name, as it was typed or the folder's, leads to now.  Only one with the run's weights is taken;
 * what is taken from another place is said in `said` (may be NULL), a line.  Released by
 * model_release; on failure NULL, and *e says where was looked and what would help. */
struct model *backbone_open(const struct run_config *c, const struct backbone_hint *hint, struct buf *said,
                            struct err *e);

#endif
