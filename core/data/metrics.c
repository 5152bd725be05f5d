#include "core/data/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/bleu.h"
#include "core/data/rouge.h"
#include "core/text/unicode.h"

static const struct {
    const char *name, *other;
    int direction;
    enum data_kind of;
} metrics_known[METRIC_COUNT] = {
    [METRIC_LOSS] = { "loss", "dev_loss", -1, DATA_CLASSES },
    [METRIC_ACCURACY] = { "accuracy", "acc", 1, DATA_CLASSES },
    [METRIC_F1] = { "f1", "f1_positive", 1, DATA_CLASSES },
    [METRIC_F1_MACRO] = { "f1_macro", "macro_f1", 1, DATA_CLASSES },
    [METRIC_MATTHEWS] = { "matthews", "mcc", 1, DATA_CLASSES },
    [METRIC_PEARSON] = { "pearson", "pearsonr", 1, DATA_REGRESSION },
    [METRIC_SPEARMAN] = { "spearman", "spearmanr", 1, DATA_REGRESSION },
    [METRIC_ROUGE1] = { "rouge1", "rouge_1", 1, DATA_TEXT },
    [METRIC_ROUGE2] = { "rouge2", "rouge_2", 1, DATA_TEXT },
    [METRIC_ROUGEL] = { "rougeL", "rouge_l", 1, DATA_TEXT },
    [METRIC_BLEU] = { "bleu", "sacrebleu", 1, DATA_TEXT },
    [METRIC_EXACT] = { "exact", "exact_match", 1, DATA_TEXT },
};

const char metric_names[] =
    "loss, accuracy, f1, f1_macro, matthews, pearson, spearman, rouge1, rouge2, rougeL, "
    "bleu or exact";

const char *metric_name(enum metric_id id) {
    BUG_IF((int)id < 0 || id >= METRIC_COUNT);
    return metrics_known[id].name;
}

int metric_find(const char *name) {
    for (int i = 0; i < METRIC_COUNT; i++)
        if (!strcmp(name, metrics_known[i].name) || !strcmp(name, metrics_known[i].other)) return i;
    return -1;
}

bool metric_fits(enum metric_id id, enum data_kind labels) {
    BUG_IF((int)id < 0 || id >= METRIC_COUNT);
    return id == METRIC_LOSS || metrics_known[id].of == labels ||
           (labels == DATA_MASKED && id == METRIC_ACCURACY);
}

bool metrics_have(const struct metrics *m, enum metric_id id, enum data_kind labels) {
    return metric_fits(id, labels) && (id != METRIC_F1 || m->positive >= 0) &&
           (id == METRIC_LOSS || !m->losses_only);
}

int metric_direction(enum metric_id id) {
    BUG_IF((int)id < 0 || id >= METRIC_COUNT);
    return metrics_known[id].direction;
}

bool metric_in_points(const char *name) {
    int id = metric_find(name);
    return id < 0 ? !strcmp(name, "average") : id != METRIC_LOSS && id != METRIC_BLEU;
}

bool metric_better(enum metric_id id, struct metric_value a, struct metric_value b) {
    if (!a.defined || !isfinite(a.value)) return false;
    if (!b.defined || !isfinite(b.value)) return true;
    return metric_direction(id) > 0 ? a.value > b.value : a.value < b.value;
}

static struct metric_value defined(double value) {
    return (struct metric_value){ value, true, NULL };
}

static struct metric_value undefined(const char *why) {
    return (struct metric_value){ 0, false, why };
}

/* An infinite or NaN loss is reported as such, not hidden. */
static struct metric_value mean_loss(const double *loss, const bool *counts, size_t n) {
    if (!loss) return undefined("no losses available");
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (counts[i]) {
            sum += loss[i];
            used++;
        }
    if (!used) return undefined("no labeled examples");
    if (isnan(sum)) return undefined("the loss of at least one example is NaN");
    return defined(sum / (double)used);
}

/* 2·tp / (2·tp + fp + fn) and its parts for class c. */
static void class_scores(struct metrics *m, int c) {
    size_t k = (size_t)m->classes, tp = m->confusion[(size_t)c * k + (size_t)c], actual = 0,
           predicted = 0;
    for (size_t i = 0; i < k; i++) {
        actual += m->confusion[(size_t)c * k + i];
        predicted += m->confusion[i * k + (size_t)c];
    }
    actual += m->unanswered[c];
    if (k == 2) predicted += m->unanswered[1 - c];
    m->recall[c] = actual ? defined((double)tp / (double)actual)
                          : undefined("no examples of this class");
    m->precision[c] = predicted ? defined((double)tp / (double)predicted)
                                : undefined("no predictions of this class");
    m->f1[c] = actual + predicted ? defined(2.0 * (double)tp / (double)(actual + predicted))
                                  : undefined("no examples and no predictions of this class");
}

/* Gorodkin 2004, in counts: (c·s − Σ p_k t_k) / √((s² − Σ p_k²)(s² − Σ t_k²)).  Invalid answers are a class
 * that is predicted and never a label. */
static struct metric_value matthews(const struct metrics *m) {
    size_t k = (size_t)m->classes;
    double s = 0, right = 0, cross = 0, pp = 0, tt = 0, invalid = 0;
    for (size_t c = 0; c < k; c++) {
        double actual = 0, predicted = 0;
        for (size_t i = 0; i < k; i++) {
            actual += (double)m->confusion[c * k + i];
            predicted += (double)m->confusion[i * k + c];
        }
        actual += (double)m->unanswered[c];
        invalid += (double)m->unanswered[c];
        s += actual;
        right += (double)m->confusion[c * k + c];
        cross += actual * predicted;
        pp += predicted * predicted;
        tt += actual * actual;
    }
    pp += invalid * invalid;
    if (s * s - pp == 0) return undefined("only one class is predicted");
    if (s * s - tt == 0) return undefined("all labels are equal");
    return defined((right * s - cross) / sqrt(s * s - pp) / sqrt(s * s - tt));
}

static void majority(struct metrics *m) {
    size_t k = (size_t)m->classes, best = 0;
    for (size_t c = 0; c < k; c++) {
        size_t count = m->unanswered[c];
        for (size_t i = 0; i < k; i++) count += m->confusion[c * k + i];
        if (count > best) {
            best = count;
            m->majority_class = (int32_t)c;
        }
    }
    m->majority = defined((double)best / (double)m->labeled);
}

/* Counts examples that would be correct if predictions of class i counted as its best partner; classes before
 * `c` already have one (bits of `taken`). */
static size_t best_renaming(const struct metrics *m, int c, unsigned taken) {
    size_t best = 0;
    if (c == m->classes) return 0;
    for (int label = 0; label < m->classes; label++) {
        if (taken >> label & 1) continue;
        size_t right = m->confusion[label * m->classes + c] +
                       best_renaming(m, c + 1, taken | 1u << label);
        if (right > best) best = right;
    }
    return best;
}

bool metrics_look_renamed(const struct metrics *m) {
    return m->renamed.defined && m->renamed.value - m->value[METRIC_ACCURACY].value >= 0.2;
}

static void undefine_all(struct metrics *m, const char *why) {
    for (int i = 0; i < METRIC_COUNT; i++) m->value[i] = undefined(why);
    m->majority = m->renamed = undefined(why);
    m->majority_class = -1;
}

static void score_classes(struct metrics *m) {
    int present = 0;
    double macro = 0;
    size_t right = 0, k = (size_t)m->classes;
    for (int c = 0; c < m->classes; c++) {
        class_scores(m, c);
        if (!m->f1[c].defined) continue;
        present++;
        macro += m->f1[c].value;
    }
    for (size_t c = 0; c < k; c++) right += m->confusion[c * k + c];
    m->value[METRIC_ACCURACY] = defined((double)right / (double)m->labeled);
    m->value[METRIC_F1_MACRO] = defined(macro / present);
    m->value[METRIC_F1] = m->positive >= 0 ? m->f1[m->positive] : undefined("no positive class selected");
    m->value[METRIC_MATTHEWS] = matthews(m);
    majority(m);
    m->renamed = m->classes > METRICS_RENAMED
                     ? undefined("too many classes to try all permutations")
                     : defined((double)best_renaming(m, 0, 0) / (double)m->labeled);
    m->as_majority = m->value[METRIC_ACCURACY].value == m->majority.value;
}

void metrics_of_classes(struct metrics *m, const int32_t *label, const int32_t *pred,
                        const double *loss, size_t n, int classes, int positive) {
    BUG_IF(classes < 1 || positive >= classes);
    memset(m, 0, sizeof *m);
    size_t k = (size_t)classes;
    m->examples = n;
    m->classes = classes;
    m->positive = positive;
    m->confusion = xcalloc(k * k, sizeof *m->confusion);
    m->unanswered = xcalloc(k, sizeof *m->unanswered);
    m->f1 = xcalloc(k, sizeof *m->f1);
    m->precision = xcalloc(k, sizeof *m->precision);
    m->recall = xcalloc(k, sizeof *m->recall);
    bool *counts = xcalloc(n + 1, sizeof *counts);
    m->constant = n > 1 && pred[0] >= 0; /* answers that do not name a class are not predictions */
    for (size_t i = 0; i < n; i++) {
        BUG_IF(pred[i] < -1 || pred[i] >= classes || label[i] >= classes);
        if (pred[i] != pred[0]) m->constant = false;
        m->invalid += pred[i] < 0;
        if (label[i] < 0) continue;
        counts[i] = true;
        m->labeled++;
        if (pred[i] < 0) m->unanswered[label[i]]++;
        else m->confusion[(size_t)label[i] * k + (size_t)pred[i]]++;
    }
    undefine_all(m, m->labeled ? "not defined for classes" : "no labeled examples");
    for (size_t c = 0; c < k; c++)
        m->f1[c] = m->precision[c] = m->recall[c] = undefined("no labeled examples");
    if (m->labeled) score_classes(m);
    m->value[METRIC_LOSS] = mean_loss(loss, counts, n);
    free(counts);
}

/* Pearson's r with means subtracted first and both sides scaled to unit length, since the sums of a long
 * split would lose digits otherwise. */
static struct metric_value pearson(const double *x, const double *y, size_t n) {
    if (n < 2) return undefined("fewer than two examples");
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    bool same_x = true, same_y = true;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) return undefined("a prediction or a label is NaN or "
                                                                 "infinite");
        if (x[i] != x[0]) same_x = false;
        if (y[i] != y[0]) same_y = false;
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    if (same_y) return undefined("all predictions are equal");
    if (same_x) return undefined("all labels are equal");
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    if (!(xx > 0 && yy > 0 && isfinite(xx) && isfinite(yy))) return undefined("out of range");
    for (size_t i = 0; i < n; i++) xy += (x[i] - mx) / sqrt(xx) * ((y[i] - my) / sqrt(yy));
    return defined(xy > 1 ? 1 : xy < -1 ? -1 : xy);
}

struct ranked_value {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b) {
    double x = ((const struct ranked_value *)a)->value, y = ((const struct ranked_value *)b)->value;
    return x < y ? -1 : x > y;
}

/* rank[i]: rank of v[i] in ascending order from 1; ties get their mean rank. */
static void ranks(const double *v, double *rank, size_t n) {
    struct ranked_value *order = xmalloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = (struct ranked_value){ v[i], i };
    qsort(order, n, sizeof *order, by_value);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && order[to].value == order[from].value;) to++;
        for (size_t i = from; i < to; i++)
            rank[order[i].at] = 0.5 * ((double)(from + 1) + (double)to);
    }
    free(order);
}

static struct metric_value spearman(const double *x, const double *y, size_t n) {
    struct metric_value direct = pearson(x, y, n);
    if (!direct.defined && strcmp(direct.why, "out of range")) return direct;
    double *rx = xmalloc((n + 1) * sizeof *rx), *ry = xmalloc((n + 1) * sizeof *ry);
    ranks(x, rx, n);
    ranks(y, ry, n);
    struct metric_value r = pearson(rx, ry, n);
    free(rx);
    free(ry);
    return r;
}

void metrics_of_scores(struct metrics *m, const double *target, const bool *has, const double *pred,
                       const double *loss, size_t n) {
    memset(m, 0, sizeof *m);
    m->examples = n;
    m->positive = -1;
    undefine_all(m, "not defined for scores");
    double *x = xmalloc((n + 1) * sizeof *x), *y = xmalloc((n + 1) * sizeof *y);
    bool *counts = xcalloc(n + 1, sizeof *counts);
    m->constant = n > 1;
    for (size_t i = 0; i < n; i++) {
        if (pred[i] != pred[0]) m->constant = false;
        if (has && !has[i]) continue;
        counts[i] = true;
        x[m->labeled] = target[i];
        y[m->labeled++] = pred[i];
    }
    if (!m->labeled) undefine_all(m, "no labeled examples");
    else {
        m->value[METRIC_PEARSON] = pearson(x, y, m->labeled);
        m->value[METRIC_SPEARMAN] = spearman(x, y, m->labeled);
    }
    m->value[METRIC_LOSS] = mean_loss(loss, counts, n);
    free(x);
    free(y);
    free(counts);
}

/* Returns whether the texts are equal after Python's str.strip(). */
static bool metrics_same_text(struct metric_text a, struct metric_text b) {
    unicode_strip(&a.s, &a.n);
    unicode_strip(&b.s, &b.n);
    return a.n == b.n && (!a.n || !memcmp(a.s, b.s, a.n));
}

void metrics_of_texts(struct metrics *m, const struct metric_text *reference,
                      const struct metric_text *text, const double *loss, size_t n) {
    memset(m, 0, sizeof *m);
    m->examples = n;
    m->positive = -1;
    m->constant = n > 1;
    struct rouge sum = { 0 };
    struct bleu bleu = { 0 };
    size_t exact = 0;
    bool *counts = xcalloc(n + 1, sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        if (!metrics_same_text(text[i], text[0])) m->constant = false;
        if (!reference[i].s) continue;
        counts[i] = true;
        m->labeled++;
        struct rouge r = rouge_of(reference[i].s, reference[i].n, text[i].s, text[i].n);
        sum.one += r.one;
        sum.two += r.two;
        sum.longest += r.longest;
        bleu_add(&bleu, reference[i].s, reference[i].n, text[i].s, text[i].n);
        exact += metrics_same_text(reference[i], text[i]);
    }
    undefine_all(m, m->labeled ? "not defined for texts" : "no target texts");
    if (m->labeled) {
        double rows = (double)m->labeled;
        m->value[METRIC_ROUGE1] = defined(sum.one / rows);
        m->value[METRIC_ROUGE2] = defined(sum.two / rows);
        m->value[METRIC_ROUGEL] = defined(sum.longest / rows);
        m->value[METRIC_BLEU] = defined(bleu_value(&bleu));
        m->value[METRIC_EXACT] = defined((double)exact / rows);
    }
    m->value[METRIC_LOSS] = mean_loss(loss, counts, n);
    free(counts);
}

void metrics_of_losses(struct metrics *m, size_t n) {
    memset(m, 0, sizeof *m);
    m->examples = n;
    m->positive = -1;
    m->losses_only = true;
    undefine_all(m, "no texts were generated");
}

void metrics_of_masked(struct metrics *m, size_t n, size_t masks, size_t right, double loss) {
    memset(m, 0, sizeof *m);
    m->examples = m->labeled = n;
    m->positive = -1;
    undefine_all(m, masks ? "not defined for masked words" : "no token could be masked");
    if (!masks) return;
    m->value[METRIC_ACCURACY] = defined((double)right / (double)masks);
    m->value[METRIC_LOSS] = defined(loss / (double)masks);
}

void metrics_release(struct metrics *m) {
    free(m->confusion);
    free(m->unanswered);
    free(m->f1);
    free(m->precision);
    free(m->recall);
    memset(m, 0, sizeof *m);
}
