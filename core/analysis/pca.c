#include "core/analysis/tsne.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/engine/blas.h"

/* Block power iteration with GUARD extra directions, so that nearly equal eigenvalues after the second do not
 * slow down convergence. */
enum { GUARD = 8, TURNS = 500 };

/* Orthonormalizes the columns of v (m×g, row-major), with a second pass; a column that vanishes becomes 0. */
static void orthonormalize(real *v, int m, int g) {
    for (int c = 0; c < g; c++) {
        double before = 0, length = 0;
        for (int i = 0; i < m; i++) before += (double)v[i * g + c] * (double)v[i * g + c];
        for (int turn = 0; turn < 2; turn++) {
            for (int b = 0; b < c; b++) {
                double dot = 0;
                for (int i = 0; i < m; i++) dot += (double)v[i * g + b] * (double)v[i * g + c];
                for (int i = 0; i < m; i++) v[i * g + c] -= (real)(dot * (double)v[i * g + b]);
            }
        }
        for (int i = 0; i < m; i++) length += (double)v[i * g + c] * (double)v[i * g + c];
        double scale = length > 1e-10 * before && length > 0 ? 1 / sqrt(length) : 0;
        for (int i = 0; i < m; i++) v[i * g + c] = (real)(scale * (double)v[i * g + c]);
    }
}

/* Computes the eigenvectors (columns of u) of a symmetric g×g matrix by Jacobi rotations; the diagonal of a
 * becomes the eigenvalues. */
static void rotate_all(double a[GUARD][GUARD], double u[GUARD][GUARD], int g) {
    for (int i = 0; i < g; i++)
        for (int j = 0; j < g; j++) u[i][j] = i == j;
    for (int turn = 0; turn < 30; turn++) {
        for (int p = 0; p < g; p++) {
            for (int q = p + 1; q < g; q++) {
                if (fabs(a[p][q]) < 1e-300) continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int i = 0; i < g; i++) {
                    double x = a[i][p], y = a[i][q];
                    a[i][p] = c * x - s * y;
                    a[i][q] = s * x + c * y;
                }
                for (int i = 0; i < g; i++) {
                    double x = a[p][i], y = a[q][i];
                    a[p][i] = c * x - s * y;
                    a[q][i] = s * x + c * y;
                    x = u[i][p];
                    y = u[i][q];
                    u[i][p] = c * x - s * y;
                    u[i][q] = s * x + c * y;
                }
            }
        }
    }
}

/* Rotates v to v·u, with u the eigenvectors of vᵀw (w = C·v), largest eigenvalue first. */
static void ritz(real *v, const real *w, int m, int g, double value[GUARD]) {
    double a[GUARD][GUARD], u[GUARD][GUARD], row[GUARD];
    int order[GUARD];
    for (int p = 0; p < g; p++) {
        for (int q = 0; q < g; q++) {
            a[p][q] = 0;
            for (int i = 0; i < m; i++) a[p][q] += (double)v[i * g + p] * (double)w[i * g + q];
        }
    }
    for (int p = 0; p < g; p++)
        for (int q = 0; q < p; q++) a[p][q] = a[q][p] = (a[p][q] + a[q][p]) / 2;
    rotate_all(a, u, g);
    for (int p = 0; p < g; p++) {
        int at = p;
        while (at > 0 && a[order[at - 1]][order[at - 1]] < a[p][p]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = p;
    }
    for (int p = 0; p < g; p++) value[p] = a[order[p]][order[p]];
    for (int i = 0; i < m; i++) {
        for (int p = 0; p < g; p++) {
            row[p] = 0;
            for (int q = 0; q < g; q++) row[p] += (double)v[i * g + q] * u[q][order[p]];
        }
        for (int p = 0; p < g; p++) v[i * g + p] = (real)row[p];
    }
}

/* Computes the two leading eigenvectors of the m×m matrix c in the first two of the g columns of v. */
static void leading(const real *c, int m, int g, real *v, real *w) {
    struct rng_key key = rng_key(0, RNG_LAYOUT, 0, rng_site("pca"));
    double value[GUARD], last[2] = { 0, 0 };
    for (int i = 0; i < m * g; i++) v[i] = (real)rng_normal(key, (uint64_t)i);
    orthonormalize(v, m, g);
    for (int turn = 0, still = 0; turn < TURNS && still < 5; turn++) {
        blas_gemm(false, false, m, g, m, 1, c, m, v, g, 0, w, g);
        ritz(v, w, m, g, value);
        double off = fabs(value[0] - last[0]) + fabs(value[1] - last[1]);
        still = off <= 1e-7 * fabs(value[0]) ? still + 1 : 0;
        last[0] = value[0];
        last[1] = g > 1 ? value[1] : 0;
        blas_gemm(false, false, m, g, m, 1, c, m, v, g, 0, w, g);
        memcpy(v, w, (size_t)m * (size_t)g * sizeof *v);
        orthonormalize(v, m, g);
    }
    blas_gemm(false, false, m, g, m, 1, c, m, v, g, 0, w, g);
    ritz(v, w, m, g, value);
}

/* Writes column c of v as d loadings: the column itself, or Xᵀv when v is over the points. */
static void loadings(const real *x, int n, int d, const real *v, int g, int c, double *out) {
    double length = 0, largest = 0, sign = 1;
    if (d <= n) {
        for (int j = 0; j < d; j++) out[j] = (double)v[j * g + c];
    } else {
        memset(out, 0, (size_t)d * sizeof *out);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < d; j++)
                out[j] += (double)v[i * g + c] * (double)x[(size_t)i * (size_t)d + (size_t)j];
    }
    for (int j = 0; j < d; j++) {
        length += out[j] * out[j];
        if (fabs(out[j]) > largest) {
            largest = fabs(out[j]);
            sign = out[j] < 0 ? -1 : 1;
        }
    }
    double scale = length > 0 ? sign / sqrt(length) : 0;
    for (int j = 0; j < d; j++) out[j] *= scale;
}

/* Returns x minus the column means, times 2^-*power so that the largest magnitude is about 1 and squares do
 * not overflow (a power of two is exact); NULL when out of memory. */
static real *centered(const real *x, int n, int d, int *power) {
    real *out = mem_try((size_t)n * (size_t)d, sizeof *out);
    double *mean = xcalloc((size_t)d, sizeof *mean), most = 0;
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t j = 0; j < (size_t)d; j++) mean[j] += (double)x[i * (size_t)d + j] / n;
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t j = 0; j < (size_t)d; j++)
            most = fmax(most, fabs((double)x[i * (size_t)d + j] - mean[j]));
    frexp(most, power);
    for (size_t i = 0; out && i < (size_t)n; i++)
        for (size_t j = 0; j < (size_t)d; j++)
            out[i * (size_t)d + j] = (real)ldexp((double)x[i * (size_t)d + j] - mean[j], -*power);
    free(mean);
    return out;
}

int pca_two(const real *x, int n, int d, real *out, struct err *e) {
    BUG_IF(n < 1 || d < 1);
    for (size_t i = 0; i < (size_t)n * (size_t)d; i++)
        if (!isfinite(x[i]))
            return err_set(e, ERR_INPUT, "example %zu: the vector contains NaN or infinite values",
                           i / (size_t)d + 1);
    /* Σ: XᵀX or XXᵀ, whichever is smaller; both have the same nonzero eigenvalues */
    int m = d <= n ? d : n, g = m < GUARD ? m : GUARD;
    int power = 0;
    real *at = centered(x, n, d, &power), *c = mem_try((size_t)m * (size_t)m, sizeof *c);
    real *v = mem_try((size_t)m * GUARD, sizeof *v), *w = mem_try((size_t)m * GUARD, sizeof *w);
    double *load = mem_try((size_t)d, sizeof *load);
    int rc = at && c && v && w && load ? 0 : err_set(e, ERR_SYSTEM, "out of memory for a %d×%d matrix", m, m);
    if (!rc) {
        if (d <= n) blas_gemm(true, false, m, m, n, (real)1 / (real)n, at, d, at, d, 0, c, m);
        else blas_gemm(false, true, m, m, d, (real)1 / (real)n, at, d, at, d, 0, c, m);
        leading(c, m, g, v, w);
    }
    for (int k = 0; k < 2 && !rc; k++) {
        if (k < g) loadings(at, n, d, v, g, k, load);
        for (size_t i = 0; i < (size_t)n; i++) {
            double sum = 0;
            for (size_t j = 0; k < g && j < (size_t)d; j++) sum += (double)at[i * (size_t)d + j] * load[j];
            out[2 * i + (size_t)k] = (real)ldexp(sum, power);
        }
    }
    free(at);
    free(c);
    free(v);
    free(w);
    free(load);
    return rc;
}
