#include "core/method/attach_in.h"

#include "core/base/mem.h"
#include "core/method/attempt.h"
#include "core/method/functions.h"

static bool hook_wants(void *self, const struct site *site, enum tap tap) {
    const struct attach *a = self;
    return a->used_taps[attach_place_at(a, site)] >> tap & 1;
}

static node hook_weight(void *self, struct tape *t, int tensor) {
    const struct attach *a = self;
    (void)t;
    return attach_weight(a, tensor);
}

static struct use use_of(const struct attach *a, int module, const struct site *site,
                         const struct tape_rows *rows) {
    return (struct use){ .attach = a, .m = &a->p->method.module[module], .arch = &a->m->arch,
                        .module = module, .site = site, .rows = rows };
}

/* Returns the index of one per-example tensor of the module at this place. */
static int row_value_at(const struct attach *a, int module, const struct site *site) {
    const int *generated = attach_generated_slots(a, module, attach_place_at(a, site));
    int s = 0;
    while (s < SLOT_COUNT && generated[s] < a->p->generated) s++;
    BUG_IF(s == SLOT_COUNT);
    return generated[s] - a->p->generated;
}

/* Returns which block of a tensor of source task each token uses. A batch of one task is a single group,
 * whatever its rows are (in generation, one token per live row). */
static const struct row_groups *token_groups(struct attach *a, const struct forward *f,
                                             const struct tape_rows *rows, int tokens) {
    const struct batch *b = f->batch;
    int ranges = b->ranges ? b->ranges : 1;
    struct groups_room *g = rows == &f->rows ? &a->groups[0] : &a->groups[1];
    GROW(g->start, g->start_room, (size_t)ranges + 1);
    GROW(g->block, g->block_room, (size_t)ranges);
    for (int i = 0; i < ranges; i++) {
        g->start[i] = i ? rows->start[b->range[i].first] : 0;
        g->block[i] = b->ranges ? b->range[i].task : a->task;
    }
    g->start[ranges] = tokens;
    g->groups = (struct row_groups){ ranges, a->p->tasks, g->start, g->block };
    return &g->groups;
}

/* Returns whether the module is active there. If the encoder runs twice, the first pass runs without
 * generated modules; in the second they replace the trained modules at the same tap. */
static bool works_at(const struct attach *a, int module, const struct site *site) {
    const struct method *m = &a->p->method;
    if (!module_covers(&m->module[module], &a->m->arch, site->stack, site->sublayer, site->layer))
        return false;
    if (a->hooks.passes != 2 || site->stack != STACK_ENCODER) return true;
    if (hyper_is_per_example(m, module)) return a->pass == 2;
    for (int i = 0; i < m->count && a->pass == 2; i++)
        if (hyper_is_per_example(m, i) && m->module[i].write == m->module[module].write &&
            module_covers(&m->module[i], &a->m->arch, site->stack, site->sublayer, site->layer))
            return false;
    return true;
}

/* Returns what a module reads, if the tap that it writes currently has the value `value`. */
static node read_of(const struct forward *f, struct site *site, const struct module *m, bool key_side,
                    node value) {
    if (m->read == m->write || m->read == TAP_NONE) return value;
    if (m->read == TAP_F_NORM || m->read == TAP_A_NORM) return site_norm(f, site);
    return m->read == TAP_A_IN && key_side ? site->source : site->value[m->read];
}

static node attach_apply(struct attach *a, struct tape *t, const struct forward *f, struct site *site,
                         int module, node value) {
    const struct module *m = &a->p->method.module[module];
    bool key_side = m->write == TAP_A_K || m->write == TAP_A_V;
    struct use u = use_of(a, module, site, key_side ? site->key_rows : site->rows);
    u.value = value;
    u.fused = &a->fused;
    u.attention_dropout = f->attention_dropout;
    if (site->sublayer == SUB_EMBED)
        u.ids = site->stack == STACK_DECODER ? f->batch->target_in : f->batch->ids;
    if (attach_by_task(a, module)) u.groups = token_groups(a, f, u.rows, tape_rows_of(t, value));
    if (attach_per_example(a, module))
        u.groups = example_weights_groups(a->rows, f, u.rows, tape_rows_of(t, value),
                                          row_value_at(a, module, site));
    u.x = read_of(f, site, m, key_side, value);
    BUG_IF(u.x == NODE_NONE);
    if (m->ending == END_BARE) site->bare = true;
    return function_of(m)->apply(t, &u);
}

static node hook_write(void *self, struct tape *t, const struct forward *f, struct site *site,
                       enum tap tap, enum tap_stage stage, node value) {
    struct attach *a = self;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (m->write != tap || !function_of(m)->apply) continue;
        if (stage != (module_is_map(m) ? TAP_RAW : TAP_DONE)) continue;
        if (!works_at(a, i, site)) continue;
        value = attach_apply(a, t, f, site, i, value);
    }
    return value;
}

/* Returns 0, 1, … n-1: row i uses block i. */
static const int *counted(struct attach *a, int n) {
    GROW(a->counted, a->counted_room, (size_t)n + 1);
    for (int i = 0; i < n; i++) a->counted[i] = i;
    return a->counted;
}

static int hook_keys(void *self, struct tape *t, const struct forward *f, struct site *site,
                     struct kv_set *set, int room) {
    struct attach *a = self;
    int n = 0;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (!function_of(m)->keys_of || !works_at(a, i, site)) continue;
        BUG_IF(n == room);
        struct kv_set *x = &set[n++];
        *x = (struct kv_set){ 0 };
        bool row = attach_per_example(a, i);
        struct use u = use_of(a, i, site, row ? example_weights_of_keys(a->rows, f, i) : &a->prefix[i].rows);
        u.x = site->value[TAP_A_IN];
        function_of(m)->keys_of(t, &u, x);
        x->join = m->comp == COMP_GATED || comp_gates(m->comp) ? KV_CONCAT : KV_ADD;
        x->s = use_factor(&u, &x->scale);
        x->blocks = row ? example_weights_count(a->rows) : attach_by_task(a, i) ? a->p->tasks : 1;
        x->block = row                    ? example_weights_sequences(a->rows, f, site)
                   : attach_by_task(a, i) ? attach_example_tasks(a, f->batch)
                                          : NULL;
        if (comp_gates(m->comp)) {
            x->blocks = site->rows->count;
            x->block = counted(a, site->rows->count);
        }
    }
    return n;
}

/* Returns the module whose rows are added to the encoder's sequences, or -1. */
static int joining(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (function_of(&m->module[i])->form == FORM_ROWS && !attempt_is_source(&m->module[i])) return i;
    return -1;
}

static struct joined_rows joined_rows(const struct method *m) {
    int i = joining(m);
    if (i < 0) return (struct joined_rows){ 0 };
    const struct module *x = &m->module[i];
    return (struct joined_rows){ .count = x->size,
                                 .at_words = x->write == TAP_EMBED_WORDS,
                                 .after_first = x->place == PLACE_AFTER_BOS,
                                 .first_read = x->pool == POOL_ROW0,
                                 .reads_words = m->attempt.on };
}

/* Returns the prompt rows of each sequence: attention over the prompts of other runs and the method's own. */
static node attempted_rows(struct attach *a, struct tape *t, const struct forward *f, node words, int own,
                           const struct site *at) {
    const struct method *m = &a->p->method;
    node prompt[MIX_MOST];
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        const struct use u = use_of(a, i, at, &f->tokens);
        if (attempt_is_source(&m->module[i])) prompt[n++] = use_slot(&u, SLOT_OWN);
    }
    const struct use u = use_of(a, own, at, &f->tokens);
    prompt[n++] = use_slot(&u, SLOT_OWN);
    return attempt_rows(t, a->p, a->leaf, words, &f->tokens, prompt, n);
}

static node hook_rows(void *self, struct tape *t, const struct forward *f, node words, int *each,
                      const int **block) {
    struct attach *a = self;
    int module = joining(&a->p->method);
    const struct site at = {
        .stack = STACK_ENCODER, .sublayer = SUB_EMBED, .layer = -1, .rows = &f->tokens, .key_rows = &f->tokens
    };
    const struct use u = use_of(a, module, &at, &f->tokens);
    if (a->p->method.attempt.on) {
        *each = u.m->size;
        *block = counted(a, f->tokens.count);
        return attempted_rows(a, t, f, words, module, &at);
    }
    node rows = use_slot(&u, function_of(u.m)->slots[0].slot);
    bool several = attach_by_task(a, module);
    *each = tape_rows_of(t, rows) / (several ? a->p->tasks : 1);
    *block = several ? attach_example_tasks(a, f->batch) : NULL;
    return rows;
}

struct hooks attach_hooks(struct attach *a) {
    const struct method *m = &a->p->method;
    return (struct hooks){ a,
                           hook_wants,
                           hook_weight,
                           hook_write,
                           hook_keys,
                           attach_reached,
                           a->rows ? hyper_with_example(m)->passes : 1,
                           joined_rows(m),
                           method_position_shift(m),
                           hook_rows,
                           a->p->precision };
}
