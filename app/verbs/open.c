#include "app/verbs/open.h"

#include <stdlib.h>

#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/mem.h"

int verb_open_typed(struct opened *o, const struct args *a, const char *typed, struct err *e) {
    struct store *s;
    struct err ignored = ERR_INIT;
    int64_t id;
    struct buf said = BUF_INIT;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = store_find(s, typed, &id, e);
    const struct backbone_hint hint = { .given = a->model, .weights_in = (enum weights_in)a->weights_in };
    if (!rc) rc = opened_run(o, s, id, a->task, &hint, &said, e);
    store_close(s, &ignored);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    return rc;
}

int verb_open(struct opened *o, const struct args *a, struct err *e) {
    *o = (struct opened){ 0 };
    int rc = 0;
    if (a->count) {
        rc = verb_open_typed(o, a, a->positional[0], e);
    } else if (a->model) {
        o->model = model_share_as(a->model, (enum weights_in)a->weights_in, e);
        o->predictor = o->model ? predictor_of_model(o->model, e) : NULL;
        rc = o->predictor ? 0 : e->code;
        if (!rc) out_report(buf_text(&o->model->caution));
    } else {
        rc = err_set(e, ERR_USAGE, "petri %s: requires RUN or --model; usage: petri %s %s", a->verb->name,
                     a->verb->name, a->verb->synopsis);
    }
    if (!rc) rc = predictor_needs_head(o->predictor, e);
    if (!rc) rc = verb_precision(o, a, e);
    if (rc) {
        opened_release(o);
        return rc;
    }
    if (predictor_fills(o->predictor)) {
        rc = err_set(e, ERR_USAGE,
                     "run %lld: predicts masked words, not labels; use petri predict %lld --fill \"a text "
                     "with a [MASK]\"",
                     (long long)o->run, (long long)o->run);
        opened_release(o);
        return rc;
    }
    o->names = predictor_labels(o->predictor);
    o->name = xcalloc((size_t)o->names, sizeof *o->name);
    for (int i = 0; i < o->names; i++) o->name[i] = predictor_label(o->predictor, i);
    return 0;
}

int verb_precision(struct opened *o, const struct args *a, struct err *e) {
    static const char *const names[] = { "f32", "bf16" };
    if (a->precision < 0) return 0;
    enum precision asked = precision_resolved((enum precision)a->precision);
    if (o->run && asked != o->config.precision)
        return err_set(e, ERR_USAGE, "--precision %s: must match the value of run %lld, %s; omit the option",
                       names[asked], (long long)o->run, names[o->config.precision]);
    o->precision = asked;
    if (o->predictor) predictor_set_precision(o->predictor, asked);
    return 0;
}

int verb_max_len(const struct opened *o, const struct args *a, int64_t *out, struct err *e) {
    *out = predictor_max_len(o->predictor);
    if (a->max_len) *out = a->max_len;
    return args_within("max-length", *out, 2, arch_max_length(&o->model->arch), e);
}
