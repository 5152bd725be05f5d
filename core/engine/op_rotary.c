#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/engine/record.h"

struct rotary {
    int head; /* columns of a head */
    const real *turn;
};

node op_rotary(struct tape *t, node x, int head, const real *turn) {
    BUG_IF(head < 2 || head % 2 || tape_cols_of(t, x) % head);
    struct rotary s = { head, turn };
    return record_run(t, OP_rotary, tape_rows_of(t, x), tape_cols_of(t, x), 1, &x, &s, sizeof s);
}

/* Rotates the pairs of x by the angles, or back by them. */
static void rotate(const struct rotary *s, int rows, int cols, bool back, const real *x, real *y) {
    size_t half = (size_t)s->head / 2;
    for (int i = 0; i < rows; i++) {
        const real *cosine = s->turn + (size_t)i * (size_t)s->head, *sine = cosine + half;
        for (int from = 0; from < cols; from += s->head, x += s->head, y += s->head)
            for (size_t j = 0; j < half; j++) {
                real a = x[j], b = x[half + j], turned = back ? -sine[j] : sine[j];
                y[j] = a * cosine[j] - b * turned;
                y[half + j] = b * cosine[j] + a * turned;
            }
    }
}

void rotary_forward(struct tape *t, struct record *r) {
    rotate(r->saved, tape_rows_of(t, r->out), tape_cols_of(t, r->out), false, tape_value(t, r->in[0]),
           record_result(t, r));
}

void rotary_backward(struct tape *t, const struct record *r) {
    real *d = grad_own(t, r);
    rotate(r->saved, tape_rows_of(t, r->out), tape_cols_of(t, r->out), true, d, d);
    grad_pass(t, r, r->in[0]);
}
