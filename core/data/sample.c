#include "core/data/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/data/import.h"

/* Returns the maximum per group such that all together give at most `most`. */
static size_t share_of(const size_t *count, int groups, size_t most) {
    size_t lo = 0, hi = most;
    while (lo < hi) {
        size_t mid = lo + (hi - lo + 1) / 2, sum = 0;
        for (int c = 0; c < groups; c++) sum += count[c] < mid ? count[c] : mid;
        if (sum <= most) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}

int sample_evenly(const int32_t *label, int n, int classes, int most, uint64_t seed, int *pick) {
    size_t *count = xcalloc((size_t)classes + 1, sizeof *count);
    int kept = 0;
    uint32_t *order = xmalloc(((size_t)n + 1) * sizeof *order);
    bool *in = xcalloc((size_t)n + 1, sizeof *in);
    for (int i = 0; i < n; i++) count[label[i] < 0 ? classes : label[i]]++;
    size_t share = share_of(count, classes + 1, (size_t)most), left = (size_t)most;
    for (int c = 0; c <= classes; c++) left -= count[c] < share ? count[c] : share;
    memset(count, 0, ((size_t)classes + 1) * sizeof *count);
    rng_permute(rng_key(seed, RNG_DRAW, 0, rng_site("evenly")), order, (size_t)n);
    for (int i = 0; i < n; i++) {
        int at = (int)order[i], c = label[at] < 0 ? classes : label[at];
        if (count[c] < share) in[at] = true;
        else if (count[c] == share && left > 0) {
            in[at] = true; /* the remainder goes to the first groups */
            left--;
        }
        count[c]++;
    }
    for (int i = 0; i < n; i++)
        if (in[i]) pick[kept++] = i;
    free(count);
    free(order);
    free(in);
    return kept;
}

void sample_shares(const size_t *rows, int n, size_t most, size_t *share) {
    size_t each = share_of(rows, n, most), left = most;
    for (int i = 0; i < n; i++) left -= share[i] = rows[i] < each ? rows[i] : each;
    for (int i = 0; i < n && left; i++) {
        left -= rows[i] > each;
        share[i] += rows[i] > each;
    }
}

int dataset_pick(const struct dataset *d, int most, uint64_t seed, int *pick) {
    int n = (int)d->examples, labeled = 0;
    int32_t *label = xmalloc(((size_t)n + 1) * sizeof *label);
    int *from = xmalloc(((size_t)n + 1) * sizeof *from);
    for (int i = 0; i < n; i++) {
        if (!d->example[i].labeled || d->example[i].label < 0 || d->example[i].label >= d->classes) continue;
        from[labeled] = i;
        label[labeled++] = d->example[i].label;
    }
    for (int i = 0; !labeled && i < n; i++) {
        from[i] = i;
        label[i] = -1;
    }
    int kept = sample_evenly(label, labeled ? labeled : n, d->classes, most, seed, pick);
    for (int i = 0; i < kept; i++) pick[i] = from[pick[i]];
    free(label);
    free(from);
    return kept;
}

size_t dataset_hold_out(const struct dataset *d, double share, uint64_t seed, bool *held) {
    size_t *seen = xcalloc((size_t)d->classes + 1, sizeof *seen), n = 0;
    uint32_t *order = xmalloc((d->examples + 1) * sizeof *order);
    rng_permute(rng_key(seed, RNG_DRAW, 0, rng_site("hold out")), order, d->examples);
    for (size_t i = 0; i < d->examples; i++) {
        int32_t label = d->example[order[i]].label;
        size_t *of = &seen[label < 0 ? d->classes : label];
        double before = floor(share * (double)*of + 0.5);
        held[order[i]] = floor(share * (double)++*of + 0.5) > before;
        n += held[order[i]];
    }
    free(order);
    free(seen);
    return n;
}

void sample_examples(size_t rows, size_t n, uint64_t seed, const char *what, bool *chosen) {
    uint32_t *order = xmalloc((rows + 1) * sizeof *order);
    rng_permute(rng_key(seed, RNG_DRAW, 0, rng_site(what)), order, rows);
    memset(chosen, 0, rows * sizeof *chosen);
    for (size_t i = 0; i < n && i < rows; i++) chosen[order[i]] = true;
    free(order);
}

void dataset_keep_chosen(struct dataset *d, const bool *chosen, bool those) {
    int *pick = xmalloc((d->examples + 1) * sizeof *pick), n = 0;
    for (size_t i = 0; i < d->examples; i++)
        if (chosen[i] == those) pick[n++] = (int)i;
    dataset_keep(d, pick, n);
    free(pick);
}

void dataset_keep(struct dataset *d, const int *pick, int n) {
    BUG_IF(d->max_len);
    struct dataset_memory *m = d->memory;
    if (d->class_examples) memset(d->class_examples, 0, (size_t)d->classes * sizeof *d->class_examples);
    d->report.unlabeled = 0;
    for (int i = 0; i < n; i++) {
        d->example[i] = d->example[pick[i]];
        if (m && m->exact) m->exact[i] = m->exact[pick[i]];
        if (m && m->folded) m->folded[i] = m->folded[pick[i]];
        if (d->class_examples && d->example[i].label >= 0) d->class_examples[d->example[i].label]++;
        d->report.unlabeled += !d->example[i].labeled;
    }
    d->examples = d->split_examples = (size_t)n;
    if (m && m->exact) repeats_count(d);
}

static void view_targets(struct dataset *view, const struct dataset *from, const int *pick, int n) {
    size_t tokens = 0, at = 0;
    for (int i = 0; i < n; i++) tokens += from->target_start[pick[i] + 1] - from->target_start[pick[i]];
    view->target_start = xmalloc(((size_t)n + 1) * sizeof *view->target_start);
    view->target_ids = xmalloc((tokens + 1) * sizeof *view->target_ids);
    for (int i = 0; i < n; i++) {
        size_t first = from->target_start[pick[i]], count = from->target_start[pick[i] + 1] - first;
        view->target_start[i] = at;
        memcpy(view->target_ids + at, from->target_ids + first, count * sizeof *view->target_ids);
        at += count;
    }
    view->target_start[n] = at;
}

void dataset_view(struct dataset *view, const struct dataset *from, const int *pick, int n) {
    size_t tokens = 0;
    *view = *from;
    for (int i = 0; i < n; i++) tokens += from->start[pick[i] + 1] - from->start[pick[i]];
    view->examples = (size_t)n;
    view->example = xmalloc((size_t)n * sizeof *view->example);
    view->start = xmalloc(((size_t)n + 1) * sizeof *view->start);
    view->ids = xmalloc(tokens * sizeof *view->ids);
    view->types = xmalloc(tokens * sizeof *view->types);
    view->start[0] = 0;
    if (from->trained) view->trained = xmalloc(tokens + 1);
    if (from->target_start) view_targets(view, from, pick, n);
    for (int i = 0; i < n; i++) {
        size_t at = view->start[i], first = from->start[pick[i]];
        size_t count = from->start[pick[i] + 1] - first;
        view->example[i] = from->example[pick[i]];
        memcpy(view->ids + at, from->ids + first, count * sizeof *view->ids);
        memcpy(view->types + at, from->types + first, count * sizeof *view->types);
        if (from->trained) memcpy(view->trained + at, from->trained + first, count);
        view->start[i + 1] = at + count;
    }
}

void dataset_view_release(struct dataset *view) {
    free(view->example);
    free(view->start);
    free(view->ids);
    free(view->types);
    free(view->target_start);
    free(view->target_ids);
    free(view->trained);
    memset(view, 0, sizeof *view);
}
