#include "core/method/sources.h"

#include "core/base/mem.h"
#include "core/method/fusion.h"
#include "core/method/hyper.h"
#include "core/method/kronecker.h"
#include "core/method/prompt.h"
#include "core/method/prompt_rows.h"

/* ---- the value itself is trained ---- */

static void plan_layers(struct build *b, int module, const struct span *s) {
    for (int i = s->first; i < s->end; i++) build_slots(b, module, s, i, 1);
}

static void plan_shared(struct build *b, int module, const struct span *s) {
    build_slots(b, module, s, -1, 1);
}

static void plan_by_task(struct build *b, int module, const struct span *s) {
    for (int i = s->first; i < s->end; i++) build_slots(b, module, s, i, b->p->tasks);
}

/* ---- a prefix behind its MLP: one makes the prefixes of all the span's layers ---- */

static void plan_mlp(struct build *b, int module, const struct span *s) {
    const struct module *m = &b->p->method.module[module];
    if (function_of(m)->form == FORM_ROWS) {
        prompt_rows_plan(b, module, s);
        return;
    }
    int d = b->a->width, dq = tap_width(b->a, TAP_A_Q);
    int generated = 2 * (s->end - s->first) * dq;
    build_place(b, module, s, -1);
    build_own(b, module, s, -1, SLOT_MLP_E, 1, m->size, d);
    build_own(b, module, s, -1, SLOT_MLP_W1, 1, m->mid, d);
    build_own(b, module, s, -1, SLOT_MLP_B1, 1, 1, m->mid);
    build_own(b, module, s, -1, SLOT_MLP_W2, 1, generated, m->mid);
    build_own(b, module, s, -1, SLOT_MLP_B2, 1, 1, generated);
    for (int i = s->first; i < s->end; i++) {
        build_place(b, module, s, i);
        build_composition(b, module, s, i, 1);
        build_generated(b, module, s, i, SLOT_KEY, 1, m->size, dq);
        build_generated(b, module, s, i, SLOT_VALUE, 1, m->size, dq);
    }
}

node source_leaf(struct tape *t, const struct plan_tensor *x, const real *params, real *grads) {
    return grads && !x->frozen ? tape_trained(t, x->rows, x->cols, params + x->offset, grads + x->offset)
                 : tape_frozen(t, x->rows, x->cols, params + x->offset);
}

node prologue_leaf(const struct prologue *x, enum slot slot) {
    const struct plan_generated *of = x->of;
    const struct plan_tensor *t = plan_slot(x->p, of->module, slot, of->stack, of->site, of->layer);
    BUG_IF(!t);
    return source_leaf(x->t, t, x->params, x->grads);
}

static int make_mlp(const struct prologue *x) {
    const struct plan *p = x->p;
    const struct plan_generated *of = x->of;
    if (function_of(&p->method.module[of->module])->form == FORM_ROWS) return prompt_rows_make(x);
    int col = 0, i = x->first;
    node w[5];
    tape_site(x->t, "prefix network of module %d", of->module + 1);
    for (int k = 0; k < 5; k++) w[k] = prologue_leaf(x, (enum slot)(SLOT_MLP_E + k));
    node h = op_linear_act(x->t, w[0], w[1], w[2], p->method.module[of->module].mid_act);
    node all = op_linear(x->t, h, w[3], w[4]);
    /* Columns: keys and values of the first layer, of the second, … */
    for (; i < p->generated && p->generated_tensor[i].module == of->module &&
           p->generated_tensor[i].stack == of->stack && p->generated_tensor[i].site == of->site;
         i++) {
        x->generated[i] = op_cols(x->t, all, col, col + p->generated_tensor[i].cols);
        col += p->generated_tensor[i].cols;
    }
    return i;
}

/* ---- made by the method's generator, for each task or for each row ---- */

/* What is one for all tasks is trained as it is. */
static void plan_hyper_slots(struct build *b, int module, const struct span *s) {
    const struct module *m = &b->p->method.module[module];
    struct slot_shape shape;
    for (int i = s->first; i < s->end; i++) {
        build_place(b, module, s, i);
        for (const struct function_slot *x = function_of(m)->slots; x->name; x++) {
            if (!function_slot_shape(x, m, b->a, &shape)) continue;
            if (shape.one) build_own(b, module, s, i, x->slot, 1, shape.rows, shape.cols);
            else if (hyper_makes_rows(&b->p->method, module))
                build_by_row(b, module, s, i, x->slot, shape.rows, shape.cols);
            else build_generated(b, module, s, i, x->slot, b->p->tasks, shape.rows, shape.cols);
        }
        if (m->comp != COMP_LEARNED) continue;
        if (hyper_makes_rows(&b->p->method, module)) build_by_row(b, module, s, i, SLOT_SCALE, 1, 1);
        else build_generated(b, module, s, i, SLOT_SCALE, b->p->tasks, 1, 1);
    }
}

/* All of a generator at once, with the first. */
static int make_generated(const struct prologue *x) {
    if (x->generated[x->first] == NODE_NONE)
        hyper_make(x, source_generator(x->p->method.module[x->of->module].source));
    return x->first + 1;
}

static const struct source_row sources_rows[SOURCE_COUNT] = {
    [SOURCE_FREE] = { SOURCE_IN_PLACE, .plan = plan_layers },
    [SOURCE_SHARED] = { SOURCE_IN_PLACE, .over_layers = true, .plan = plan_shared },
    [SOURCE_TASK] = { SOURCE_IN_PLACE, .by_task = true, .plan = plan_by_task },
    [SOURCE_MLP] = { SOURCE_PROLOGUE, .over_layers = true, .in_training = true, .plan = plan_mlp,
                     .make = make_mlp },
    [SOURCE_HYPER] = { SOURCE_PROLOGUE, .by_task = true, .plan = plan_hyper_slots, .make = make_generated },
    [SOURCE_HYPER2] = { SOURCE_PROLOGUE, .by_task = true, .plan = plan_hyper_slots, .make = make_generated },
    [SOURCE_KRONECKER] = { SOURCE_PROLOGUE, .plan = kronecker_plan, .make = kronecker_make },
    [SOURCE_FUSION] = { SOURCE_IN_PLACE, .plan = fusion_plan_module },
    [SOURCE_PROMPT_SHARE] = { SOURCE_PROLOGUE, .by_task = true, .plan = prompt_plan, .make = prompt_make },
    [SOURCE_PROMPT_SEP] = { SOURCE_PROLOGUE, .by_task = true, .plan = prompt_plan, .make = prompt_make },
    [SOURCE_PROMPT_GLOBAL] = { SOURCE_PROLOGUE, .by_task = true, .plan = prompt_plan,
                               .make = make_generated },
    [SOURCE_LSTM] = { SOURCE_PROLOGUE, .over_layers = true, .in_training = true, .plan = prompt_rows_plan,
                      .make = prompt_rows_make },
    [SOURCE_PRODUCT] = { SOURCE_PROLOGUE, .by_task = true, .plan = prompt_rows_plan,
                         .make = prompt_rows_make },
};

const struct source_row *source_row(enum source s) {
    BUG_IF(s >= SOURCE_COUNT);
    return &sources_rows[s];
}
