#include "core/analysis/mass.h"

#include <math.h>
#include <stdlib.h>

#include "core/analysis/passes.h"
#include "core/base/mem.h"

static const double NONE = -1;

struct mass_rows {
    const struct dataset *d;
    struct attention_mass *out;
    double *share; /* rows × places × heads; NONE without such keys */
};

static int place_of_site(const struct attention_mass *a, const struct site *site) {
    int i = 0;
    while (i < a->places && (a->at[i].stack != (int)site->stack || a->at[i].site != (int)site->sublayer ||
                             a->at[i].layer != site->layer))
        i++;
    return i < a->places ? i : -1;
}

static void mass_seen(void *self, const struct site *site, int sequence, int head, int queries, int columns,
                      const real *p) {
    const struct row_pass *x = self;
    const struct mass_rows *a = x->all->self;
    const int *start = site->key_rows->start;
    int place = place_of_site(a->out, site), extra = columns - (start[sequence + 1] - start[sequence]);
    if (place < 0 || extra <= 0) return;
    double sum = 0;
    for (int i = 0; i < queries; i++)
        for (int j = 0; j < extra; j++) sum += (double)p[(size_t)i * (size_t)columns + (size_t)j];
    size_t at = (x->first + (size_t)sequence) * (size_t)a->out->places + (size_t)place;
    a->share[at * (size_t)a->out->heads + (size_t)head] = sum / queries;
}

static void show_mass(const struct row_passes *all, const struct row_pass *x) {
    (void)all;
    x->f->attention_seen = mass_seen;
    x->f->seen_self = (void *)(uintptr_t)x;
}

/* Averages over rows. A layer has such keys for all rows or for none. */
static int sum_up_mass(const struct mass_rows *a, struct attention_mass *out, struct err *e) {
    size_t each = (size_t)out->places * (size_t)out->heads;
    for (size_t i = 0; i < a->d->examples * each; i++)
        if (!isfinite(a->share[i]))
            return err_set(e, ERR_FAILED, "%s: example %llu: the attention weights are NaN or infinite",
                           a->d->path ? a->d->path : "text",
                           (unsigned long long)a->d->example[i / each].id + 1);
    for (size_t k = 0; k < each; k++) {
        double sum = 0;
        for (size_t i = 0; i < a->d->examples; i++) sum += a->share[i * each + k];
        out->share[k] = a->share[k] < 0 ? NAN : sum / (double)a->d->examples;
    }
    return 0;
}

bool attention_has_mass(const struct method *m, int stack, int site) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == FN_SOFTMAX && m->module[i].comp == COMP_GATED &&
            module_is_at(&m->module[i], stack, site))
            return true;
    return false;
}

/* Lists the attentions of a pass that have such keys. */
static void list_mass_places(struct attention_mass *a, const struct arch *arch, const struct method *m,
                             bool decoder) {
    static const int kind[][2] = { { STACK_ENCODER, SUB_SELF },
                                   { STACK_DECODER, SUB_SELF },
                                   { STACK_DECODER, SUB_CROSS } };
    a->at = xcalloc((size_t)arch->encoder_layers + 2 * (size_t)arch->decoder_layers, sizeof *a->at);
    for (size_t k = 0; k < COUNT_OF(kind); k++) {
        bool encoder = kind[k][0] == STACK_ENCODER;
        if ((!encoder && !decoder) || !attention_has_mass(m, kind[k][0], kind[k][1])) continue;
        for (int layer = 0; layer < (encoder ? arch->encoder_layers : arch->decoder_layers); layer++)
            a->at[a->places++] = (struct mass_place){ kind[k][0], kind[k][1], layer };
    }
}

int attention_mass(const struct model *m, const struct predictor *p, const struct dataset *d,
                   struct crew *crew, struct attention_mass *out, struct err *e) {
    BUG_IF(!d->examples || !d->max_len);
    struct mass_rows a = { .d = d, .out = out };
    struct row_passes passes = { .m = m, .p = p, .d = d, .end = d->examples, .before = show_mass, .self = &a,
                                 .decoder = m->arch.decoder_layers && d->target_start };
    *out = (struct attention_mass){ .heads = m->arch.heads };
    list_mass_places(out, &m->arch, &predictor_plan(p)->method, passes.decoder);
    size_t each = (size_t)out->places * (size_t)out->heads, all = d->examples * each;
    out->share = xcalloc(each + 1, sizeof *out->share);
    a.share = xmalloc((all + 1) * sizeof *a.share);
    for (size_t i = 0; i < all; i++) a.share[i] = NONE;
    row_passes_run(&passes, crew);
    int rc = sum_up_mass(&a, out, e);
    free(a.share);
    if (rc) attention_mass_release(out);
    return rc;
}

void attention_mass_release(struct attention_mass *a) {
    free(a->share);
    free(a->at);
    *a = (struct attention_mass){ 0 };
}
