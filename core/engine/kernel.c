#include "core/engine/kernel.h"

#include <math.h>
#include <string.h>

void kernel_copy(size_t n, const real *a, real *y) {
    if (n) memcpy(y, a, n * sizeof *y);
}

void kernel_add(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void kernel_add_scaled(size_t n, const real *a, real s, const real *b, real *y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] + s * b[i];
}

void kernel_mul(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

void kernel_scale(size_t n, real s, const real *a, real *y) {
    for (size_t i = 0; i < n; i++) y[i] = s * a[i];
}

void kernel_add_to(size_t n, real s, const real *x, real *y) {
    for (size_t i = 0; i < n; i++) y[i] += s * x[i];
}

void kernel_mul_to(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i++) y[i] += a[i] * b[i];
}

double kernel_dot(size_t n, const real *a, const real *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

void kernel_fill_rows(int rows, int cols, real s, const real *b, real *y) {
    for (int i = 0; i < rows; i++) kernel_scale((size_t)cols, s, b, y + (size_t)i * cols);
}

void kernel_add_rows(int rows, int cols, const real *x, const real *b, real *y) {
    for (size_t i = 0; i < (size_t)rows; i++)
        kernel_add((size_t)cols, x + i * (size_t)cols, b, y + i * (size_t)cols);
}

void kernel_mul_rows(int rows, int cols, const real *x, const real *l, real *y) {
    for (size_t i = 0; i < (size_t)rows; i++)
        kernel_mul((size_t)cols, x + i * (size_t)cols, l, y + i * (size_t)cols);
}

void kernel_col_sum(int rows, int cols, real s, const real *x, const real *z, real beta, real *out,
                    double *sums) {
    for (int j = 0; j < cols; j++) sums[j] = 0;
    for (size_t i = 0; i < (size_t)rows; i++)
        for (size_t j = 0, at = i * (size_t)cols; j < (size_t)cols; j++)
            sums[j] += (double)x[at + j] * (z ? (double)z[at + j] : 1.0);
    for (int j = 0; j < cols; j++)
        out[j] = (real)(s * sums[j]) + (beta == 0 ? 0 : beta * out[j]);
}

static double act_value(enum act act, double x) {
    switch (act) {
    case ACT_RELU: return x > 0 ? x : x == x ? 0 : x;
    case ACT_GELU: return 0.5 * x * (1 + erf(x * M_SQRT1_2));
    case ACT_GELU_TANH: return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case ACT_SILU: return x / (1 + exp(-x));
    case ACT_TANH: return tanh(x);
    case ACT_SIGMOID: return 1 / (1 + exp(-x));
    default: return x;
    }
}

static double act_slope(enum act act, double x) {
    double s;
    switch (act) {
    case ACT_RELU: return x > 0 ? 1 : x == x ? 0 : x;
    case ACT_GELU:
        return 0.5 * (1 + erf(x * M_SQRT1_2)) + x * 0.3989422804014327 * exp(-0.5 * x * x);
    case ACT_GELU_TANH:
        s = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
        return 0.5 * (1 + s) +
               0.5 * x * (1 - s * s) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
    case ACT_SILU: s = 1 / (1 + exp(-x)); return s * (1 + x * (1 - s));
    case ACT_TANH: s = tanh(x); return 1 - s * s;
    case ACT_SIGMOID: s = 1 / (1 + exp(-x)); return s * (1 - s);
    default: return 1;
    }
}

void kernel_act(enum act act, size_t n, const real *x, real *y) {
    for (size_t i = 0; i < n; i++) y[i] = (real)act_value(act, x[i]);
}

void kernel_act_back(enum act act, size_t n, const real *x, const real *dy, real *dx) {
    for (size_t i = 0; i < n; i++) dx[i] = (real)(dy[i] * act_slope(act, x[i]));
}

void kernel_norm(int rows, int cols, bool centre, double eps, const real *x, const real *residual,
                 const real *gamma, const real *beta, real *y, real *normed, real *inverse) {
    for (int i = 0; i < rows; i++) {
        const real *xi = x + (size_t)i * cols, *ri = residual ? residual + (size_t)i * cols : NULL;
        real *yi = y + (size_t)i * cols, *ni = normed ? normed + (size_t)i * cols : NULL;
        double mean = 0, square = 0;
        for (int j = 0; j < cols; j++) {
            yi[j] = ri ? xi[j] + ri[j] : xi[j];
            mean += (double)yi[j];
        }
        mean = centre ? mean / cols : 0;
        for (int j = 0; j < cols; j++) square += ((double)yi[j] - mean) * ((double)yi[j] - mean);
        double inv = 1 / sqrt(square / cols + eps);
        if (inverse) inverse[i] = (real)inv;
        for (int j = 0; j < cols; j++) {
            real h = (real)(((double)yi[j] - mean) * inv);
            if (ni) ni[j] = h;
            yi[j] = h * gamma[j] + (beta ? beta[j] : 0);
        }
    }
}

void kernel_norm_back(int rows, int cols, bool centre, const real *gamma, const real *normed,
                      const real *inverse, const real *dy, real *dz) {
    for (int i = 0; i < rows; i++) {
        const real *di = dy + (size_t)i * cols, *ni = normed + (size_t)i * cols;
        real *zi = dz + (size_t)i * cols;
        double sum = 0, dot = 0;
        for (int j = 0; j < cols; j++) {
            double g = (double)di[j] * (double)gamma[j];
            sum += g;
            dot += g * (double)ni[j];
        }
        sum = centre ? sum / cols : 0;
        dot /= cols;
        for (int j = 0; j < cols; j++)
            zi[j] = (real)((double)inverse[i] *
                           ((double)di[j] * (double)gamma[j] - sum - (double)ni[j] * dot));
    }
}

void kernel_softmax(int rows, int cols, int first, int more, real *s) {
    for (int i = 0; i < rows; i++, s += cols) {
        int live = first + i * more < cols ? first + i * more : cols;
        if (live < 0) live = 0;
        real top = live ? s[0] : 0;
        for (int j = 1; j < live; j++) top = s[j] > top ? s[j] : top;
        double sum = 0;
        for (int j = 0; j < live; j++) {
            s[j] = (real)exp((double)(s[j] - top));
            sum += (double)s[j];
        }
        for (int j = 0; j < live; j++) s[j] = (real)((double)s[j] / sum);
        for (int j = live; j < cols; j++) s[j] = 0;
    }
}

void kernel_softmax_back(int rows, int cols, const real *p, const real *dp, real *ds) {
    for (int i = 0; i < rows; i++, p += cols, dp += cols, ds += cols) {
        double dot = kernel_dot((size_t)cols, p, dp);
        for (int j = 0; j < cols; j++) ds[j] = (real)((double)p[j] * ((double)dp[j] - dot));
    }
}

void kernel_adam(const struct kernel_adam *k, size_t n, real *p, const real *g, real *m, real *v) {
    for (size_t i = 0; i < n; i++) {
        m[i] = k->keep1 * m[i] + k->take1 * g[i];
        v[i] = k->keep2 * v[i] + k->take2 * g[i] * g[i];
        p[i] = k->decay * p[i] - k->step * m[i] / (k->root * (real)sqrt((double)v[i]) + k->eps);
    }
}

/* Two rounds of multiply and shift on (channel, 64-bit row key): every bit of the key and
 * of the channel reaches every bit of the result. */
static uint32_t channel_hash(uint64_t key, uint32_t channel) {
    uint32_t h = channel * 0x9E3779B1u + (uint32_t)key;
    h ^= h >> 16;
    h *= 0x21F0AAADu;
    h ^= (uint32_t)(key >> 32);
    h ^= h >> 15;
    h *= 0xD35A2D97u;
    return h ^ h >> 15;
}

void kernel_dropout(struct rng_key key, uint64_t row, double p, size_t n, const real *x, real *y) {
    uint64_t row_key = rng_bits(key, row);
    uint32_t drop = (uint32_t)(p * 0x1p24 + 0.5);
    real keep = (real)(1 / (1 - p));
    for (size_t i = 0; i < n; i++)
        y[i] = channel_hash(row_key, (uint32_t)i) >> 8 < drop ? 0 : x[i] * keep;
}
