#include "app/session/run_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/evidence.h"

void run_keys_release(struct run_keys *k) {
    free(k->of);
    *k = (struct run_keys){ 0 };
}

/* ---- one run ---- */

static int run_keys_take_config(void *self, int count, const struct store_cell *cells) {
    struct run_key *k = self;
    struct err ignored = ERR_INIT;
    (void)count;
    evidence_key(cells[0].text, cells[1].integer, EVIDENCE_RUN, k->key, &ignored);
    return 0;
}

/* Returns the key of a run, computed if it is missing; NULL with *e. */
static const char *key_of_run(struct run_keys *k, struct store *s, int64_t run, struct err *e) {
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (k->of[mid].run < run) low = mid + 1;
        else high = mid;
    }
    if (low < k->count && k->of[low].run == run) return k->of[low].key;
    struct run_key found = { .run = run };
    char *sql = xprintf("SELECT config, parent FROM run WHERE id = %lld", (long long)run);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &found, .row = run_keys_take_config }, e);
    free(sql);
    if (rc) return NULL;
    GROW(k->of, k->room, k->count + 1);
    memmove(&k->of[low + 1], &k->of[low], (k->count++ - low) * sizeof *k->of);
    k->of[low] = found;
    return k->of[low].key;
}

/* ---- rows that need a key ---- */

static int order_texts(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : ""); }
static int order_numbers(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

/* Runs with equal keys agree in all of these. */
static int by_listed(const void *pa, const void *pb, void *self) {
    const struct store_runs *runs = self;
    const struct store_run *a = &runs->run[*(const size_t *)pa], *b = &runs->run[*(const size_t *)pb];
    if (a->seed != b->seed) return a->seed < b->seed ? -1 : 1;
    if (a->trained != b->trained) return a->trained < b->trained ? -1 : 1;
    if (a->steps != b->steps) return a->steps < b->steps ? -1 : 1;
    int by = order_numbers(a->lr, b->lr);
    if (!by) by = order_texts(a->decides, b->decides);
    return by ? by : order_texts(a->dev_sha256, b->dev_sha256);
}

int run_keys_fill(struct run_keys *k, struct store *s, const struct store_runs *runs, struct run_row *row,
                  char (**keys)[65], struct err *e) {
    size_t *at = xcalloc(runs->count + 1, sizeof *at), n = 0;
    int rc = 0;
    *keys = xcalloc(runs->count + 1, sizeof **keys);
    for (size_t i = 0; i < runs->count; i++)
        if (runs->run[i].state == STORE_FINISHED && runs->run[i].best.measured) at[n++] = i;
    qsort_r(at, n, sizeof *at, by_listed, (void *)(uintptr_t)runs);
    for (size_t i = 0; i < n && !rc; i++) {
        bool alike = (i && !by_listed(&at[i - 1], &at[i], (void *)(uintptr_t)runs)) ||
                     (i + 1 < n && !by_listed(&at[i], &at[i + 1], (void *)(uintptr_t)runs));
        const char *key = alike ? key_of_run(k, s, runs->run[at[i]].id, e) : NULL;
        if (alike && !key) rc = e->code;
        if (!key) continue;
        memcpy((*keys)[at[i]], key, sizeof **keys);
        row[at[i]].evidence = (*keys)[at[i]];
    }
    free(at);
    return rc;
}
