#include "core/train/run/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* Normalizes vectors and writes their norms; a zero vector stays zero. */
static void normalize(int rows, int width, const real *z, double *unit, double *length) {
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int c = 0; c < width; c++) sum += (double)z[(size_t)i * (size_t)width + (size_t)c] *
                                               (double)z[(size_t)i * (size_t)width + (size_t)c];
        length[i] = sqrt(sum);
        for (int c = 0; c < width; c++)
            unit[i * width + c] = length[i] > 0 ? (double)z[(size_t)i * (size_t)width + (size_t)c] / length[i]
                                                : 0;
    }
}

static double contrast_dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

struct anchor {
    enum instance_loss kind;
    int rows, positives;
    double temperature;
    const double *similar; /* similarity of the anchor with each row */
    const int *task;
    int at;
};

static bool in_denominator(const struct anchor *x, int j) {
    return j != x->at && (x->kind == INSTANCE_SUPCON || x->task[j] != x->task[x->at]);
}

/* Computes log Σ e^{f/τ}; returns false for an empty sum. */
static bool log_sum(const struct anchor *x, double *out) {
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < x->rows; j++)
        if (in_denominator(x, j) && x->similar[j] / x->temperature > top)
            top = x->similar[j] / x->temperature;
    if (top == -INFINITY) return false;
    for (int j = 0; j < x->rows; j++)
        if (in_denominator(x, j)) sum += exp(x->similar[j] / x->temperature - top);
    *out = top + log(sum);
    return true;
}

/* Returns the loss of an anchor; slope[j]: its derivative with respect to the similarity with row j. */
static bool anchor_loss(const struct anchor *x, double *loss, double *slope) {
    double all, mean = 0;
    if (!x->positives || !log_sum(x, &all)) return false;
    for (int j = 0; j < x->rows; j++) {
        bool positive = j != x->at && x->task[j] == x->task[x->at];
        slope[j] = in_denominator(x, j) ? exp(x->similar[j] / x->temperature - all) / x->temperature : 0;
        if (!positive) continue;
        mean += x->similar[j] / x->temperature / x->positives;
        slope[j] -= 1 / (x->temperature * x->positives);
    }
    *loss = all - mean;
    return true;
}

/* Backpropagates the gradient of the unit vectors to the original vectors. */
static void denormalize(int rows, int width, const double *unit, const double *length, double by,
                        const double *du, real *grad) {
    for (int i = 0; i < rows; i++) {
        const double *u = unit + i * width, *d = du + i * width;
        double along = contrast_dot(u, d, width);
        for (int c = 0; c < width; c++)
            grad[(size_t)i * (size_t)width + (size_t)c] =
                (real)(length[i] > 0 ? by * (d[c] - along * u[c]) / length[i] : 0);
    }
}

double contrast_instances(enum instance_loss kind, double temperature, double weight, int rows, int width,
                          const real *z, const int *task, real *grad, int *anchors) {
    size_t size = (size_t)rows * (size_t)width;
    double *unit = xmalloc((2 * size + 3 * (size_t)rows + 1) * sizeof *unit);
    double *du = unit + size, *length = du + size, *similar = length + rows, *slope = similar + rows, sum = 0;
    memset(du, 0, size * sizeof *du);
    normalize(rows, width, z, unit, length);
    *anchors = 0;
    for (int i = 0; i < rows; i++) {
        struct anchor x = { kind, rows, 0, temperature, similar, task, i };
        double loss;
        for (int j = 0; j < rows; j++) {
            similar[j] = contrast_dot(unit + i * width, unit + j * width, width);
            x.positives += j != i && task[j] == task[i];
        }
        if (!anchor_loss(&x, &loss, slope)) continue;
        sum += loss;
        ++*anchors;
        for (int j = 0; j < rows; j++)
            for (int c = 0; c < width && slope[j] != 0; c++) {
                du[i * width + c] += slope[j] * unit[j * width + c];
                du[j * width + c] += slope[j] * unit[i * width + c];
            }
    }
    int n = *anchors ? *anchors : 1;
    denormalize(rows, width, unit, length, weight / n, du, grad);
    free(unit);
    return sum / n;
}

/* Returns the loss of a row; slope[m]: its derivative with respect to the similarity with prototype m. */
static double prototype_loss(enum prototype_loss kind, double temperature, const double *similar, int own,
                             int tasks, double *slope) {
    double top = -INFINITY, sum = 0;
    for (int m = 0; m < tasks; m++)
        if ((kind == PROTOTYPE_SOFTMAX || m != own) && similar[m] / temperature > top)
            top = similar[m] / temperature;
    for (int m = 0; m < tasks; m++) {
        bool counts = kind == PROTOTYPE_SOFTMAX || m != own;
        slope[m] = counts ? exp(similar[m] / temperature - top) : 0;
        sum += slope[m];
    }
    for (int m = 0; m < tasks; m++) slope[m] /= sum * temperature;
    slope[own] -= 1 / temperature;
    return top + log(sum) - similar[own] / temperature;
}

double contrast_prototypes(enum prototype_loss kind, double temperature, double weight, int rows, int width,
                           const real *z, const int *task, int tasks, const real *k, real *grad,
                           real *grad_k) {
    size_t zs = (size_t)rows * (size_t)width, ks = (size_t)tasks * (size_t)width;
    double *zu = xcalloc(2 * (zs + ks) + (size_t)rows + 3 * (size_t)tasks + 1, sizeof *zu), sum = 0;
    double *ku = zu + zs, *dz = ku + ks, *dk = dz + zs, *zl = dk + ks, *kl = zl + rows, *similar = kl + tasks,
           *slope = similar + tasks;
    BUG_IF(tasks < 2);
    normalize(rows, width, z, zu, zl);
    normalize(tasks, width, k, ku, kl);
    for (int i = 0; i < rows; i++) {
        for (int m = 0; m < tasks; m++) similar[m] = contrast_dot(zu + i * width, ku + m * width, width);
        sum += prototype_loss(kind, temperature, similar, task[i], tasks, slope);
        for (int m = 0; m < tasks; m++)
            for (int c = 0; c < width; c++) {
                dz[i * width + c] += slope[m] * ku[m * width + c];
                dk[m * width + c] += slope[m] * zu[i * width + c];
            }
    }
    denormalize(rows, width, zu, zl, weight / rows, dz, grad);
    denormalize(tasks, width, ku, kl, weight / rows, dk, grad_k);
    free(zu);
    return sum / rows;
}
