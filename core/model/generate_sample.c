#include "core/model/generate_sample.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"

void sampled_release(struct sampled *s) {
    free(s->at);
    *s = (struct sampled){ 0 };
}

static bool is_excluded(const int32_t *banned, int bans, int32_t id) {
    for (int i = 0; i < bans; i++)
        if (banned[i] == id) return true;
    return false;
}

/* ---- the k-th largest logit, by a heap whose first value is the smallest ---- */

static void sift_down(struct sampled_token *heap, int n, int i) {
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1].p < heap[child].p) child++;
        if (heap[i].p <= heap[child].p) return;
        struct sampled_token t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

static double kth_largest(const real *logits, int n, int k, const int32_t *banned, int bans,
                          struct sampled *s) {
    int have = 0;
    GROW(s->at, s->room, (size_t)k);
    for (int32_t id = 0; id < n; id++) {
        double x = (double)logits[id];
        if ((have == k && x <= s->at[0].p) || is_excluded(banned, bans, id)) continue;
        if (have < k) {
            s->at[have++].p = x;
            for (int i = have / 2 - 1; have == k && i >= 0; i--) sift_down(s->at, k, i);
            continue;
        }
        s->at[0].p = x;
        sift_down(s->at, k, 0);
    }
    return have == k ? s->at[0].p : -INFINITY;
}

/* ---- the distribution ---- */

/* Collects the tokens of at least this logit; p is relative to that of the best logit.  Returns the sum. */
static double collect(const struct token_sampling *how, const real *logits, int n, double top, double least,
                      const int32_t *banned, int bans, struct sampled *s) {
    double sum = 0;
    s->count = 0;
    for (int32_t id = 0; id < n; id++) {
        double x = (double)logits[id];
        if (!(x >= least) || is_excluded(banned, bans, id)) continue;
        GROW(s->at, s->room, (size_t)s->count + 1);
        double p = exp((x - top) / how->temperature);
        s->at[s->count++] = (struct sampled_token){ p, id };
        sum += p;
    }
    return sum;
}

static void keep_above(struct sampled *s, double least) {
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->at[i].p >= least) s->at[kept++] = s->at[i];
    s->count = kept;
}

static int by_probability(const void *a, const void *b) {
    const struct sampled_token *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

/* Drops the least probable tokens while their sum is at most 1 - p of all.  Those that are each below their equal
 * share of it are among them and need not be sorted. */
static void keep_top_p(struct sampled *s, double p, double sum) {
    double rest = (1 - p) * sum, dropped = 0, share = rest / s->count;
    int kept = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->at[i].p < share) dropped += s->at[i].p;
        else s->at[kept++] = s->at[i];
    }
    qsort(s->at, (size_t)kept, sizeof *s->at, by_probability);
    while (kept > 1 && dropped + s->at[kept - 1].p <= rest) dropped += s->at[--kept].p;
    s->count = kept;
}

void sample_tokens(const struct token_sampling *how, const real *logits, int n, const int32_t *banned,
                   int bans, struct sampled *out) {
    double top = -INFINITY, least = -INFINITY;
    out->count = 0;
    if (!isfinite(kernel_largest((size_t)n, logits))) return;
    for (int32_t id = 0; id < n; id++)
        if ((double)logits[id] > top && !is_excluded(banned, bans, id)) top = (double)logits[id];
    if (!isfinite(top)) return;
    if (how->top_k > 0 && how->top_k < n) least = kth_largest(logits, n, how->top_k, banned, bans, out);
    double sum = collect(how, logits, n, top, least, banned, bans, out);
    if (how->top_p < 1) keep_top_p(out, how->top_p, sum);
    if (how->min_p > 0) keep_above(out, how->min_p);
    sum = 0;
    for (int i = 0; i < out->count; i++) sum += out->at[i].p;
    for (int i = 0; i < out->count; i++) out->at[i].p /= sum;
}

int32_t sample_at(const struct sampled *s, double u) {
    for (int i = 0; i < s->count; i++) {
        u -= s->at[i].p;
        if (u < 0 || i + 1 == s->count) return s->at[i].id;
    }
    return -1;
}

void sample_penalize(double penalty, const real *logits, real shift, const int32_t *ids, int n,
                     real *copy) {
    for (int i = 0; i < n; i++) {
        double x = (double)(logits[ids[i]] - shift);
        copy[ids[i]] = (real)(x < 0 ? x * penalty : x / penalty);
    }
}
