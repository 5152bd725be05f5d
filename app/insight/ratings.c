#include "app/insight/ratings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the first labeled zero vector, or -1. */
static int zero_row(const real *x, int n, int d, const int32_t *label) {
    for (int i = 0; i < n; i++) {
        bool zero = label[i] >= 0;
        for (int j = 0; j < d && zero; j++) zero = x[(size_t)i * (size_t)d + (size_t)j] == 0;
        if (zero) return i;
    }
    return -1;
}

static void ratings_without(struct rating *r, const char *why) {
    r->value = NAN;
    snprintf(r->why, sizeof r->why, "%.*s", (int)sizeof r->why - 1, why);
}

static void take_score(struct rating *r, int rc, const struct score *s, const struct err *e) {
    if (rc) ratings_without(r, e->text);
    else if (s->undefined) ratings_without(r, s->undefined);
    else *r = (struct rating){ .value = s->value };
}

void ratings_of(struct ratings *r, const real *x, int n, int d, const int32_t *label, int classes,
                const int64_t *row) {
    struct err e = ERR_INIT;
    struct score s;
    char why[96] = "";
    int zero = classes ? zero_row(x, n, d, label) : -1;
    *r = (struct ratings){ .near = 0 };
    if (!classes) snprintf(why, sizeof why, "no labels");
    else if (zero >= 0)
        snprintf(why, sizeof why, "example %lld is a zero vector: its cosine with others is undefined",
                 (long long)(row ? row[zero] : zero + 1));
    if (*why) {
        ratings_without(&r->silhouette, why);
        ratings_without(&r->purity, why);
        return;
    }
    take_score(&r->silhouette, score_silhouette(x, n, d, label, classes, &s, &e), &s, &e);
    if (!strncmp(r->silhouette.why, "as many", 7))
        snprintf(r->silhouette.why, sizeof r->silhouette.why, "%d classes for %d points", classes, n);
    take_score(&r->purity, score_purity(x, n, d, label, RATINGS_NEAR, &r->near, &s, &e), &s, &e);
}

void make_unit(real *x, int n, int d) {
    for (int i = 0; i < n; i++) {
        real *v = x + (size_t)i * (size_t)d;
        double sum = 0;
        for (int j = 0; j < d; j++) sum += (double)v[j] * (double)v[j];
        for (int j = 0; j < d && sum > 0; j++) v[j] = (real)((double)v[j] / sqrt(sum));
    }
}
