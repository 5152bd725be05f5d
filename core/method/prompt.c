#include "core/method/prompt.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/method/sources.h"

void prompt_maps(const struct module *m, const struct arch *a, struct prompt_map out[PROMPT_MAPS]) {
    int d = a->width, dq = tap_width(a, TAP_A_K), b = m->mid;
    out[0] = (struct prompt_map){ SLOT_PROMPT_DOWN_K, "D_k", b, d };
    out[1] = (struct prompt_map){ SLOT_PROMPT_UP_K, "U_k", dq, b };
    out[2] = (struct prompt_map){ SLOT_PROMPT_DOWN_V, "D_v", b, d };
    out[3] = (struct prompt_map){ SLOT_PROMPT_UP_V, "U_v", dq, b };
}

void prompt_plan(struct build *b, int module, const struct span *s) {
    const struct module *m = &b->p->method.module[module];
    int tasks = b->p->tasks, dq = tap_width(b->a, TAP_A_K);
    struct prompt_map map[PROMPT_MAPS];
    prompt_maps(m, b->a, map);
    build_place(b, module, s, -1);
    build_own(b, module, s, -1, SLOT_PROMPT, tasks, m->size, b->a->width);
    for (int i = s->first; i < s->end; i++) {
        build_place(b, module, s, i);
        for (int k = 0; k < PROMPT_MAPS && m->source != SOURCE_PROMPT_GLOBAL; k++)
            build_own(b, module, s, i, map[k].slot, m->source == SOURCE_PROMPT_SEP ? tasks : 1, map[k].rows,
                      map[k].cols);
        build_generated(b, module, s, i, SLOT_KEY, tasks, m->size, dq);
        build_generated(b, module, s, i, SLOT_VALUE, tasks, m->size, dq);
    }
}

void prompt_slots(const struct plan_generated *of, enum slot out[2]) {
    bool key = of->slot == SLOT_KEY;
    out[0] = key ? SLOT_PROMPT_DOWN_K : SLOT_PROMPT_DOWN_V;
    out[1] = key ? SLOT_PROMPT_UP_K : SLOT_PROMPT_UP_V;
}

node prompt_value(const struct plan *p, struct tape *t, node prompt, node down, node up) {
    int tasks = p->tasks, rows = tape_rows_of(t, prompt) / tasks;
    if (tape_cols_of(t, prompt) != tape_cols_of(t, down))
        BUG("the prompt has %d columns, which is not the input width of its network",
            tape_cols_of(t, prompt));
    if (tape_rows_of(t, down) == tape_cols_of(t, up)) /* shared by all tasks */
        return op_linear(t, op_linear_act(t, prompt, down, NODE_NONE, ACT_RELU), up, NODE_NONE);
    int *start = xcalloc((size_t)tasks + 1, sizeof *start), *block = xcalloc((size_t)tasks, sizeof *block);
    for (int i = 0; i <= tasks; i++) start[i] = i * rows;
    for (int i = 0; i < tasks; i++) block[i] = i;
    const struct row_groups each = { tasks, tasks, start, block };
    node h = op_linear_groups(t, prompt, down, NODE_NONE, ACT_RELU, &each);
    node value = op_linear_groups(t, h, up, NODE_NONE, ACT_NONE, &each);
    free(start);
    free(block);
    return value;
}

int prompt_make(const struct prologue *x) {
    enum slot map[2];
    prompt_slots(x->of, map);
    tape_site(x->t, "prompt of module %d", x->of->module + 1);
    node down = prologue_leaf(x, map[0]), up = prologue_leaf(x, map[1]);
    x->generated[x->first] = prompt_value(x->p, x->t, prologue_leaf(x, SLOT_PROMPT), down, up);
    return x->first + 1;
}
