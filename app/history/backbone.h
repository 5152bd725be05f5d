/* Finding the model of a run, also after it was moved. */
#ifndef APP_HISTORY_BACKBONE_H
#define APP_HISTORY_BACKBONE_H

#include "core/model/model.h"
#include "core/train/config/config.h"

/* Further places where the model of a run may be. */
struct backbone_hint {
    const char *given; /* path given by the user; its weights must be the run's; NULL: none */
    enum weights_in weights_in; /* AUTO: as in the run */
    const char *spare; /* tried when neither the folder nor its name leads to the model; NULL: none */
};
/* Opens the model that a run was trained on: the given path, else the folder used in training, else what
 * its name (as typed, or the folder's) resolves to now.  Only a model with the run's weights is accepted; a
 * model from another place adds a line to `notes` (may be NULL).  Release with model_release; on failure
 * returns NULL, and *e lists the places searched and the remedy. */
struct model *backbone_open(const struct run_config *c, const struct backbone_hint *hint, struct buf *notes,
                            struct err *e);

#endif
