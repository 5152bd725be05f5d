#include "core/analysis/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"

#define ROUNDING 1e-9 /* relative tolerance */

int value_order(double a, double b) {
    return fabs(a - b) <= ROUNDING * fmax(fabs(a), fabs(b)) ? 0 : a < b ? -1 : 1;
}

/* `size`: magnitude of the largest input. */
static struct spread spread_at_size(const double *v, size_t n, double size) {
    struct spread s = { n, NAN, NAN };
    if (!n) return s;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (v[i] - s.mean) * (v[i] - s.mean);
    if (n > 1) s.sd = sqrt(squares / (double)(n - 1));
    if (s.sd <= ROUNDING * size) s.sd = 0;
    return s;
}

struct spread spread_of(const double *v, size_t n) {
    double size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(v[i]));
    return spread_at_size(v, n, size);
}

struct spread spread_of_differences(const double *a, const double *b, size_t n) {
    double size = 0, *d = xmalloc((n + 1) * sizeof *d);
    for (size_t i = 0; i < n; i++) {
        d[i] = a[i] - b[i];
        size = fmax(size, fmax(fabs(a[i]), fabs(b[i])));
    }
    struct spread s = spread_at_size(d, n, size);
    free(d);
    return s;
}

/* Evaluates the continued fraction of the incomplete beta function by Lentz's method; converges fast for x <
 * (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    if (fabs(d) < tiny) d = tiny;
    d = 1 / d;
    double product = d;
    for (int m = 1; m <= 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double last = 1;
        for (int k = 0; k < 2; k++) {
            double term = k ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            if (fabs(d) < tiny) d = tiny;
            if (fabs(c) < tiny) c = tiny;
            d = 1 / d;
            last = c * d;
            product *= last;
        }
        if (fabs(last - 1) < 1e-16) break;
    }
    return product;
}

/* Returns the regularized incomplete beta function I_x(a, b); `rest` is 1 − x, passed separately since it may
 * be tiny. */
static double beta_share(double x, double rest, double a, double b) {
    if (x <= 0) return 0;
    if (rest <= 0) return 1;
    bool mirrored = x > (a + 1) / (a + b + 2);
    if (mirrored) {
        double t = x;
        x = rest, rest = t;
        t = a, a = b, b = t;
    }
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    double share = front * beta_fraction(x, a, b) / a;
    return mirrored ? 1 - share : share;
}

/* Returns P(T > t), t ≥ 0: half of I of df / (df + t²) at (df/2, 1/2). */
static double student_tail(double t, double df) {
    if (isinf(t)) return 0;
    double square = t * t;
    return beta_share(df / (df + square), square / (df + square), df / 2, 0.5) / 2;
}

double student_cdf(double t, double df) {
    if (isnan(t)) return NAN;
    double tail = student_tail(fabs(t), df);
    return t < 0 ? tail : 1 - tail;
}

double student_quantile(double p, double df) {
    if (!(p > 0 && p < 1)) return NAN;
    double tail = p < 0.5 ? p : 1 - p, low = 0, high = 1;
    while (student_tail(high, df) > tail && high < 1e300) low = high, high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double mid = low + (high - low) / 2;
        if (student_tail(mid, df) > tail) low = mid;
        else high = mid;
    }
    double t = low + (high - low) / 2;
    return p < 0.5 ? -t : t;
}

struct interval spread_interval(struct spread s, double level) {
    if (s.n < 2 || !(s.sd > 0)) return (struct interval){ NAN, NAN };
    double half = student_quantile(0.5 + level / 2, (double)(s.n - 1)) * s.sd / sqrt((double)s.n);
    return (struct interval){ s.mean - half, s.mean + half };
}

static double tail_of(double t, double df) { return t < 0 ? 1 - student_tail(-t, df) : student_tail(t, df); }

static bool knows(struct spread s) { return s.n > 1 && s.sd > 0; }

double spread_p(struct spread s) {
    return knows(s) ? 2 * student_tail(fabs(s.mean) / (s.sd / sqrt((double)s.n)), (double)(s.n - 1)) : NAN;
}

double spread_p_within(struct spread s, double margin) {
    if (!knows(s)) return NAN;
    double error = s.sd / sqrt((double)s.n), df = (double)(s.n - 1);
    return fmax(tail_of((s.mean + margin) / error, df), tail_of((margin - s.mean) / error, df));
}

double sign_test(size_t up, size_t down) {
    size_t n = up + down, few = up < down ? up : down;
    double sum = 0;
    for (size_t i = 0; i <= few && n; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
                   (double)n * log(2));
    return n && 2 * sum < 1 ? 2 * sum : 1;
}

void holm(const double *p, size_t k, double *out) {
    size_t *order = xcalloc(k + 1, sizeof *order), n = 0;
    double least = 0; /* an adjusted p-value is never below that of a smaller one */
    for (size_t i = 0; i < k; i++) {
        out[i] = NAN;
        if (isnan(p[i])) continue;
        size_t at = n++;
        for (; at && p[order[at - 1]] > p[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; i < n; i++)
        out[order[i]] = least = fmax(least, fmin(1, p[order[i]] * (double)(k - i)));
    free(order);
}
