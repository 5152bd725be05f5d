/* Low-rank changes of a run as an adapter for llama.cpp. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/gguf_out.h"
#include "core/method/attach.h"
#include "core/method/functions.h"
#include "core/method/slots.h"
#include "core/model/gguf.h"

const char *gguf_architecture(const struct arch *a) {
    switch (a->family) {
    case FAMILY_LLAMA: case FAMILY_MISTRAL: return "llama";
    case FAMILY_QWEN2: return "qwen2";
    case FAMILY_QWEN3: return "qwen3";
    default: return NULL;
    }
}

size_t gguf_pairs(const struct arch *a, enum tensor_role role) {
    bool rotated = role == ROLE_Q_W || role == ROLE_K_W || role == ROLE_Q_B || role == ROLE_K_B;
    return rotated && !strcmp(gguf_architecture(a), "llama") ? (size_t)a->head_width : 0;
}

int gguf_takes(const struct predictor *p, struct err *e) {
    const struct arch *a = &predictor_model(p)->arch;
    if (!a->causal || !gguf_architecture(a))
        return err_set(e, ERR_USAGE, "GGUF files are written only for Llama, Mistral and Qwen models, and this "
                                     "model is a %s", family_name(a->family));
    if (!predictor_writes(p))
        return err_set(e, ERR_USAGE, "the run is not a language model: a GGUF file cannot contain a "
                                     "classification head; use --to hf or --to peft");
    return 0;
}

/* ---- what can be written ---- */

static const char *lora_trouble(const struct module *m) {
    bool low = m->fn == FN_LINEAR || m->fn == FN_SVD;
    if (!low) return "a GGUF adapter contains only low-rank updates (LoRA)";
    if (!module_is_map(m)) return "it spans more than one linear layer, and LoRA adapts exactly one";
    return m->comp == COMP_GATE ? "its gate depends on the example" : NULL;
}

static int check_method(const struct plan *p, struct err *e) {
    const char *why;
    if (!p->method.count) return err_set(e, ERR_USAGE, "the run has no adapter");
    for (int i = 0; i < p->method.count; i++) {
        const struct module *m = &p->method.module[i];
        if (!(why = lora_trouble(m))) continue;
        const char *unmerged;
        return err_set(e, ERR_USAGE, "cannot be written as a GGUF adapter: module %d (%s): %s%s", i + 1,
                       function_of(m)->name, why,
                       attach_can_merge(p, &unmerged) ? "; use --to gguf-merged" : "");
    }
    return p->per_example ? err_set(e, ERR_USAGE, "cannot be written as a GGUF adapter: weights are generated "
                                                  "per example")
                          : 0;
}

/* ---- the change of one map ---- */

/* A module's factors there. */
struct low {
    const struct module *m;
    const real *down, *up, *inner, *outer; /* inner, outer: factors of rows of down and up; NULL: none */
    double scale;
};

static const real *lora_values(const struct plan *p, const real *params, int module, enum slot slot,
                               const struct tensor_info *t) {
    const struct plan_tensor *x = plan_slot(p, module, slot, t->stack, t->sublayer, t->layer);
    return x ? params + x->offset : NULL;
}

/* Lists the changes of a map, at most METHOD_MODULES; returns their number. */
static int changes_of(const struct predictor *p, const struct tensor_info *t, struct low *out) {
    const struct plan *plan = predictor_plan(p);
    const real *params = predictor_params(p);
    int n = 0;
    for (int i = 0; i < plan->method.count; i++) {
        const struct module *m = &plan->method.module[i];
        bool here = module_covers(m, &predictor_model(p)->arch, t->stack, t->sublayer, t->layer);
        if (!here || tap_weight_role(m->write) != t->role) continue;
        const real *learned = lora_values(plan, params, i, SLOT_SCALE, t);
        double scale = m->comp == COMP_SCALED ? m->scale : learned ? (double)*learned : 1;
        out[n++] = (struct low){ .m = m,
                                 .down = lora_values(plan, params, i, SLOT_DOWN_W, t),
                                 .up = lora_values(plan, params, i, SLOT_UP_W, t),
                                 .inner = lora_values(plan, params, i, SLOT_SINGULAR, t),
                                 .outer = lora_values(plan, params, i, SLOT_CHANNEL, t),
                                 .scale = scale };
        BUG_IF(!out[n - 1].down || !out[n - 1].up);
    }
    return n;
}

/* Joins changes into one of the sum of their ranks, whose scale is alpha over that sum. */
static void join(const struct low *part, int n, const struct tensor_info *t, double alpha, int rank,
                 real *down, real *up) {
    size_t in = (size_t)t->cols, out = (size_t)t->rows, all = (size_t)rank, at = 0;
    for (int k = 0; k < n; k++) {
        const struct low *x = &part[k];
        size_t r = (size_t)x->m->size;
        double factor = x->scale * rank / alpha;
        for (size_t i = 0; i < r; i++)
            for (size_t j = 0; j < in; j++)
                down[(at + i) * in + j] = x->down[i * in + j] * (x->inner ? x->inner[i] : 1);
        for (size_t i = 0; i < out; i++)
            for (size_t j = 0; j < r; j++)
                up[i * all + at + j] =
                    (real)(factor * (double)x->up[i * r + j]) * (x->outer ? x->outer[i] : 1);
        at += r;
    }
}

/* The values written to a file. */
struct made {
    real **values;
    size_t n, room;
};

static real *make_room(struct made *x, size_t n) {
    GROW(x->values, x->room, x->n + 1);
    return x->values[x->n++] = xcalloc(n, sizeof(real));
}

static void add_map(struct gguf_writing *w, struct made *made, const struct predictor *p, int i,
                    double *alpha) {
    const struct tensor_info *t = &predictor_model(p)->tensor[i];
    struct low part[METHOD_MODULES];
    int n = changes_of(p, t, part), rank = 0;
    for (int k = 0; k < n; k++) rank += part[k].m->size;
    if (!rank) return;
    if (*alpha == 0) *alpha = part[0].scale * part[0].m->size; /* B as it is wherever all are alike */
    if (*alpha == 0) *alpha = 1;
    real *down = make_room(made, (size_t)rank * (size_t)t->cols),
         *up = make_room(made, (size_t)rank * (size_t)t->rows);
    join(part, n, t, *alpha, rank, down, up);
    char *name = gguf_own_name(t->name);
    BUG_IF(!name);
    gguf_add_tensor(w, (struct gguf_tensor){ .name = xprintf("%s.lora_a", name), .type = ST_F32,
                                             .rows = (size_t)rank, .cols = (size_t)t->cols, .data = down });
    gguf_add_tensor(w, (struct gguf_tensor){ .name = xprintf("%s.lora_b", name), .type = ST_F32,
                                             .rows = (size_t)t->rows, .cols = (size_t)rank, .data = up,
                                             .pairs = gguf_pairs(&predictor_model(p)->arch, t->role) });
    free(name);
}

int export_gguf(struct predictor *p, const char *path, struct err *e) {
    int rc = gguf_takes(p, e);
    if (!rc) rc = predictor_make_plain(p, e);
    if (!rc) rc = check_method(predictor_plan(p), e);
    if (rc) return rc;
    const struct model *m = predictor_model(p);
    struct gguf_writing w = { .meta = BUF_INIT };
    struct made made = { 0 };
    double alpha = 0;
    for (int i = 0; i < m->tensors; i++) add_map(&w, &made, p, i, &alpha);
    char *method = method_text(&predictor_plan(p)->method);
    gguf_add_text(&w, "general.architecture", gguf_architecture(&m->arch));
    gguf_add_text(&w, "general.type", "adapter");
    gguf_add_text(&w, "general.name", method);
    gguf_add_text(&w, "adapter.type", "lora");
    gguf_add_float(&w, "adapter.lora.alpha", alpha);
    rc = gguf_save(&w, path, e);
    for (size_t i = 0; i < made.n; i++) free(made.values[i]);
    free(made.values);
    free(method);
    gguf_writing_release(&w);
    return rc;
}
