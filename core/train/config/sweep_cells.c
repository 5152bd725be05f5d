/* Expansion of a sweep to cells. */
#include "core/train/config/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/train/config/sweep_private.h"

void sweep__put_in(const struct sweep_spec *s, const char *text, sweep_filler *of, void *self,
                   struct buf *out) {
    while (*text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        int axis = end ? sweep__find_axis(s, text + 1, (size_t)(end - text - 1)) : -1;
        if (axis < 0) {
            buf_putc(out, *text++);
            continue;
        }
        of(s, axis, self, out);
        text = end + 1;
    }
}

struct cell_choice {
    int at[SWEEP_AXES]; /* index of the value of each axis */
    bool used[SWEEP_AXES];
    int depth;
};

static void sweep_cells_value_of(const struct sweep_spec *s, int axis, void *self, struct buf *out) {
    struct cell_choice *c = self;
    c->used[axis] = true;
    if (++c->depth <= SWEEP_AXES) sweep__put_in(s, s->axis[axis].value[c->at[axis]], sweep_cells_value_of,
                                                c, out);
    c->depth--;
}

static void cell_release(struct sweep_cell *c, int options, int axes) {
    for (int i = 0; i < options; i++) free(c->text[i]);
    for (int i = 0; i < axes; i++) free(c->value[i]);
    free(c->text);
    free(c->value);
}

void sweep_cells_release(struct sweep_cells *c) {
    for (int i = 0; i < c->count; i++) cell_release(&c->cell[i], c->options, c->axes);
    free(c->cell);
    *c = (struct sweep_cells){ 0 };
}

static struct sweep_cell make_cell(const struct sweep_spec *s, struct cell_choice *c) {
    struct sweep_cell x = { xcalloc((size_t)s->options + 1, sizeof *x.text),
                            xcalloc((size_t)s->axes + 1, sizeof *x.value) };
    memset(c->used, 0, sizeof c->used);
    for (int i = 0; i < s->options; i++) {
        struct buf b = BUF_INIT;
        sweep__put_in(s, s->option[i].text, sweep_cells_value_of, c, &b);
        x.text[i] = buf_take(&b);
    }
    for (int i = 0; i < s->axes; i++) {
        if (!c->used[i]) continue;
        struct buf b = BUF_INIT;
        struct cell_choice copy = *c;
        sweep__put_in(s, s->axis[i].value[c->at[i]], sweep_cells_value_of, &copy, &b);
        x.value[i] = buf_take(&b);
    }
    return x;
}

/* Hash table from texts to cells: index of the cell from 1; 0: free. More than twice as many places as
 * cells. */
struct cell_set {
    int place[1 << 15];
};
_Static_assert(2 * SWEEP_CELLS < 1 << 15, "the table is at most half full");

static bool cells_agree(const struct sweep_cell *a, const struct sweep_cell *b, int options) {
    for (int k = 0; k < options; k++)
        if (strcmp(a->text[k], b->text[k])) return false;
    return true;
}

/* Returns the place of the cell, or a free place for it. */
static int *cell_place(struct cell_set *set, const struct sweep_cells *c, const struct sweep_cell *x) {
    size_t at = 0;
    for (int k = 0; k < c->options; k++) at = at * 31 + rng_site(x->text[k]);
    for (at %= COUNT_OF(set->place); set->place[at]; at = (at + 1) % COUNT_OF(set->place))
        if (cells_agree(&c->cell[set->place[at] - 1], x, c->options)) break;
    return &set->place[at];
}

/* Adds the cell unless there is one with the same texts. */
static void sweep_cells_add_cell(struct sweep_cells *out, struct cell_set *set, struct sweep_cell x) {
    int *place = cell_place(set, out, &x);
    if (*place) {
        cell_release(&x, out->options, out->axes);
        return;
    }
    *place = out->count + 1;
    if (out->count % 64 == 0) out->cell = xrealloc(out->cell, (size_t)out->count + 64, sizeof *out->cell);
    out->cell[out->count++] = x;
}

/* Advances to the next combination, the last axis fastest; returns false after the last. */
static bool next(const struct sweep_spec *s, struct cell_choice *c) {
    for (int i = s->axes; i-- > 0;) {
        if (++c->at[i] < s->axis[i].values) return true;
        c->at[i] = 0;
    }
    return false;
}

/* Returns a permutation of 0 … n − 1 for the axis of that name, or for all cells (""); caller frees. */
static uint32_t *permuted(const struct sweep_spec *s, const char *what, size_t n) {
    uint32_t *order = xcalloc(n + 1, sizeof *order);
    rng_permute(rng_key(s->draw_seed, RNG_DRAW, 0, rng_site(what)), order, n);
    return order;
}

/* Samples cells with equal frequencies of the values of each axis, each axis permuted independently. */
static void draw_latin(const struct sweep_spec *s, struct cell_set *set, struct sweep_cells *out) {
    uint32_t *order[SWEEP_AXES];
    for (int i = 0; i < s->axes; i++) order[i] = permuted(s, s->axis[i].key, (size_t)s->cells);
    for (int k = 0; k < s->cells; k++) {
        struct cell_choice c = { 0 };
        for (int i = 0; i < s->axes; i++) c.at[i] = (int)(order[i][k] % (uint32_t)s->axis[i].values);
        sweep_cells_add_cell(out, set, make_cell(s, &c));
    }
    for (int i = 0; i < s->axes; i++) free(order[i]);
}

/* Samples s->cells of the cells, in grid order. */
static void draw_random(const struct sweep_spec *s, struct sweep_cells *out) {
    if (s->cells >= out->count) return;
    uint32_t *order = permuted(s, "", (size_t)out->count);
    bool *kept = xcalloc((size_t)out->count, sizeof *kept);
    for (int i = 0; i < s->cells; i++) kept[order[i]] = true;
    int n = 0;
    for (int i = 0; i < out->count; i++) {
        if (kept[i])
            out->cell[n++] = out->cell[i];
        else
            cell_release(&out->cell[i], out->options, out->axes);
    }
    out->count = n;
    free(order);
    free(kept);
}

int sweep_expand(const struct sweep_spec *s, struct sweep_cells *out, struct err *e) {
    *out = (struct sweep_cells){ .options = s->options, .axes = s->axes };
    double all = 1;
    for (int i = 0; i < s->axes; i++) all *= s->axis[i].values;
    if (s->draw != SWEEP_GRID && !s->cells)
        return err_set(e, ERR_USAGE, "--draw %s: requires the number of cells; add --cells N",
                       SWEEP_DRAW[s->draw]);
    if (s->draw != SWEEP_LATIN && all > SWEEP_CELLS)
        return err_set(e, ERR_USAGE,
                       "too many cells: the lists have %.0f combinations, and the maximum is %d; use "
                       "--draw latin --cells N",
                       all, SWEEP_CELLS);
    struct cell_set *set = xcalloc(1, sizeof *set);
    if (s->draw == SWEEP_LATIN) {
        draw_latin(s, set, out);
    } else {
        struct cell_choice c = { 0 };
        do sweep_cells_add_cell(out, set, make_cell(s, &c));
        while (next(s, &c));
        if (s->draw == SWEEP_RANDOM) draw_random(s, out);
    }
    free(set);
    return 0;
}
