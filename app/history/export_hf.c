#include "app/history/export_hf.h"

#include <math.h>
#include <stdlib.h>

#include "app/history/opened.h"
#include "core/train/config/complete.h"

int export_hf(struct store *s, int64_t run, const char *task, const char *model, const char *folder,
              bool half, struct crew *crew, double *worst, struct buf *notes, struct err *e) {
    enum { PROBE = 20 };
    struct opened o = { 0 };
    *worst = NAN;
    int rc = opened_run(&o, s, run, task, &(struct backbone_hint){ .given = model }, notes, e);
    if (!rc) {
        /* a few training examples verify that the exported model computes the run's outputs */
        struct task_source source = config_source(&o.config, NULL);
        struct task t;
        struct err ignored = ERR_INIT;
        bool probe = !task_open(&t, &source, &ignored);
        size_t rows = probe ? t.train.examples : 0;
        if (rows > PROBE) t.train.examples = PROBE;
        bool encoded = probe && !dataset_encode(&t.train, o.model->tokenizer,
                                                (size_t)predictor_max_len(o.predictor), 0,
                                                o.model->arch.vocabulary, &ignored);
        rc = predictor_export(o.predictor, folder, half, encoded ? &t.train : NULL, crew, worst, e);
        if (!encoded) *worst = NAN;
        if (probe) {
            t.train.examples = rows;
            task_release(&t);
        }
    }
    opened_release(&o);
    return rc;
}
