/* Gradients of an episode beside PyTorch's (tests/reference/meta_steps.py); of the double and the single build.
 * PETRI_PARITY_DUMP=DIR writes the cases there in place of comparing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/episodes.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"

enum { CLASSES = 3, ROWS = 5, QUERY = 6 };
#define ADAPTER(learn, tap) "bottleneck(r=2; act=gelu, read=" tap ", write=" tap learn ")"
static const struct {
    const char *name, *method, *regime;
} cases[] = {
    { "meta", "full(target=norms) + " ADAPTER(", learn=outer", "a.out") " + " ADAPTER("", "a.out") " + "
              ADAPTER(", learn=outer", "f.out") " + " ADAPTER("", "f.out") " + generated-head(hidden=6, width=5)",
      "meta(inner=3, inner-lr=learned(0.1))" },
    { "maml", ADAPTER("", "a.out") " + generated-head(hidden=6, width=5, learn=both)",
      "meta(inner=4, inner-lr=learned(0.2), losses=every(2), labels=apart)" },
    { "fixed", ADAPTER(", learn=inner", "f.out") " + " ADAPTER(", learn=outer", "a.out") " + generated-head(hidden=6, width=5)",
      "meta(inner=3, inner-lr=0.3, clip=0.5)" },
};

static struct fixture tiny;

static int open_tiny(void **state) {
    (void)state;
    fixture_open(&tiny, "tests/reference/bert-tiny", "tests/reference/bert-tiny/expected.safetensors");
    return 0;
}

static int close_tiny(void **state) {
    (void)state;
    fixture_close(&tiny);
    return 0;
}

static void add_tensor(struct buf *b, const struct meta_rig *r, const struct plan_tensor *t) {
    buf_puts(b, "{");
    json_member_string(b, "name", t->name);
    json_member_bool(b, "inner", t->inner);
    json_member_bool(b, "outer", t->outer);
    json_member_int(b, "rate", t->rate);
    json_member_int(b, "rows", t->rows);
    json_member_int(b, "cols", t->cols);
    json_add_key(b, "values");
    for (size_t k = 0; k < t->count; k++) buf_printf(b, "%c%.17g", k ? ',' : '[', (double)r->params[t->offset + k]);
    buf_puts(b, "]}");
}

static void dump(const char *folder, const char *name, const struct meta_rig *r, const struct episode *e) {
    const struct regime *g = &r->meta.regime;
    struct buf b = BUF_INIT;
    struct err err = ERR_INIT;
    buf_printf(&b, "{\"inner\":%d,\"every\":%d,\"apart\":%d,\"clip\":%g,\"learned\":%s,\"rate\":%g,\"label_rate\":%d,"
                   "\"classes\":%d,\"batches\":%d,\"start\":[0", g->inner, g->every, g->labels == META_LABELS_APART, g->clip,
               g->learned ? "true" : "false", g->inner_lr, r->plan->label_rate, e->classes, e->batches);
    for (int i = 1; i <= e->batches + 1; i++) buf_printf(&b, ",%d", e->start[i]);
    buf_puts(&b, "],\"rows\":[");
    for (int i = 0; i < e->start[e->batches + 1]; i++) {
        const struct dataset *d = e->example[i].data;
        buf_printf(&b, "%s{\"label\":%d,\"ids\":", i ? "," : "", e->example[i].label);
        for (size_t k = d->start[i]; k < d->start[i + 1]; k++) buf_printf(&b, "%c%d", k == d->start[i] ? '[' : ',', d->ids[k]);
        buf_puts(&b, "]}");
    }
    buf_puts(&b, "],\"tensors\":[");
    for (int i = 0; i < r->plan->tensors; i++) {
        if (i) buf_putc(&b, ',');
        add_tensor(&b, r, &r->plan->tensor[i]);
    }
    buf_puts(&b, "]}");
    char *path = xprintf("%s/%s.json", folder, name);
    test_ok(file_write(path, b.data, b.size, &err), &err);
    free(path);
    buf_release(&b);
}

static double *expected(const struct st_file *f, const char *before, const char *name, size_t n) {
    struct err e = ERR_INIT;
    char *full = xprintf("%s%s", before, name);
    const struct st_tensor *t = st_find(f, full);
    if (!t || t->count != n) fail_msg("no %s of %zu values", full, n);
    double *out = xcalloc(n, sizeof *out);
    test_ok(st_read_raw(f, t, out, &e), &e);
    free(full);
    return out;
}

/* Every tensor within `part` of its largest value, or of a hundredth of the largest of all; what moves all classes alike has
 * a gradient of zero, which is rounding here. */
static void compare(const struct meta_rig *r, const struct st_file *f, const char *way, const real *got, double part) {
    double largest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->plan->tensors; i++) {
            const struct plan_tensor *t = &r->plan->tensor[i];
            if (!t->outer) continue;
            double *want = expected(f, way, t->name, t->count), most = 0;
            for (size_t k = 0; k < t->count; k++) most = fmax(most, fabs(want[k]));
            for (size_t k = 0; k < t->count && pass; k++) {
                double apart = fabs((double)got[t->offset + k] - want[k]);
                if (most < 1e-12 && apart < 1e-6) continue;
                if (!(apart <= part * fmax(most, 1e-2 * largest)))
                    fail_msg("%s%s, value %zu: %.9g, not %.9g (largest %.3g)", way, t->name, k, (double)got[t->offset + k],
                             want[k], most);
            }
            largest = fmax(largest, most);
            free(want);
        }
}

static void as_pytorch(const char *name, struct meta_rig *r, const struct episode *e, double first, double second) {
    struct err err = ERR_INIT;
    char *relative = xprintf("tests/reference/meta/%s.safetensors", name), *path = test_path(relative);
    struct st_file *f = st_open(path, &err);
    if (!f) fail_msg("%s", err.text);
    real *grads = xcalloc(r->plan->trained, sizeof *grads);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        double *start = expected(f, "start/", t->name, t->count);
        for (size_t k = 0; k < t->count; k++) r->params[t->offset + k] = (real)start[k];
        free(start);
    }
    double *whole = expected(f, "", "objective", 1);
    for (int way = 0; way < 2; way++) {
        double objective, tokens;
        r->meta.regime.order = way ? META_FD : META_FIRST;
        assert_true(meta_episode(&r->meta, &r->bench, r->params, e, 0, 1, grads, &objective, &tokens));
        if (!(fabs(objective - *whole) < first * fabs(*whole)))
            fail_msg("%s: the objective is %.12g, not %.12g", name, objective, *whole);
        compare(r, f, way ? "fd/" : "first/", grads, way ? second : first);
    }
    free(whole);
    free(grads);
    st_close(f);
    free(relative);
    free(path);
}

static void gradients_are_pytorchs(double first, double second) {
    const char *folder = getenv("PETRI_PARITY_DUMP");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct meta_rig r;
        struct made_episode e;
        meta_rig_open(&r, tiny.model, cases[i].method, cases[i].regime);
        episode_make(&e, 3, CLASSES, regime_batches(&r.meta.regime), ROWS, QUERY, tiny.model->arch.vocabulary);
        if (folder) dump(folder, cases[i].name, &r, &e.episode);
        else as_pytorch(cases[i].name, &r, &e.episode, first, second);
        episode_release(&e);
        meta_rig_close(&r);
    }
}
