#include "app/history/spot.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/opened.h"
#include "app/history/record.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "core/model/safetensors.h"

enum { SPOT_RUNS = 32 };
static const char *const spot_ways[] = { "mean", "tokens" };

struct spot_options {
    const char *from, *to; /* the item in the text */
    int run[SPOT_RUNS], runs;
    int own;               /* run on the task itself; 0: not given */
    bool tokens;           /* compare pairs of tokens; else their means */
};

/* The prompt of a run. */
struct spot_prompt {
    struct module module;
    real *rows;
    size_t count, width; /* the active rows */
};

/* ---- the item ---- */

static const char *spot_find(const char *text) {
    for (const char *at = text; (at = strstr(at, "spot")); at++) {
        const char *before = at, *open = at + strlen("spot") + strspn(at + strlen("spot"), " \t\r\n");
        while (before > text && isspace((unsigned char)before[-1])) before--;
        if ((before == text || before[-1] == '+') && *open == '(') return at;
    }
    return NULL;
}

bool spot_says(const char *text) { return spot_find(text) != NULL; }

static int spot_take_runs(struct spot_options *x, const char *value, struct err *e) {
    for (const char *at = value; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        char *one = xstrndup(at, strcspn(at, "|"));
        int64_t v = 0;
        bool good = text_to_int(one, &v) && v > 0 && v <= INT32_MAX && x->runs < SPOT_RUNS;
        free(one);
        if (!good)
            return err_set(e, ERR_USAGE,
                           "spot: runs=%s: expected at most %d run ids, for example runs=3|5", value,
                           SPOT_RUNS);
        for (int i = 0; i < x->runs; i++)
            if (x->run[i] == v) return err_set(e, ERR_USAGE, "spot: run %lld is listed twice", (long long)v);
        x->run[x->runs++] = (int)v;
    }
    return 0;
}

static int spot_take_key(struct spot_options *x, const char *key, const char *value, struct err *e) {
    int64_t v = 0;
    if (!strcmp(key, "runs")) return spot_take_runs(x, value, e);
    if (!strcmp(key, "by") && !strcmp(value, spot_ways[1])) x->tokens = true;
    else if (!strcmp(key, "by") && strcmp(value, spot_ways[0]))
        return err_set(e, ERR_USAGE, "spot: by=%s: must be mean or tokens", value);
    else if (!strcmp(key, "run") && text_to_int(value, &v) && v > 0 && v <= INT32_MAX) x->own = (int)v;
    else if (!strcmp(key, "run"))
        return err_set(e, ERR_USAGE, "spot: run=%s: expected a run id", value);
    else if (strcmp(key, "by"))
        return err_set(e, ERR_USAGE, "spot: unknown key '%s'; valid keys: runs, run, by", key);
    return 0;
}

static int spot_parse(const char *text, struct spot_options *x, struct err *e) {
    *x = (struct spot_options){ .from = spot_find(text) };
    const char *open = strchr(x->from, '('), *close = strchr(open, ')');
    if (!close) return err_set(e, ERR_USAGE, "spot: ')' is missing at the end");
    x->to = close + 1;
    for (const char *at = open + 1; at < close;) {
        size_t n = strcspn(at, ",;)");
        char key[16], value[256], *one = xstrndup(at, n);
        int got = sscanf(one, " %15[a-z] = %255[^ \t]", key, value);
        if (got != 2) err_set(e, ERR_USAGE, "spot: '%.40s': expected key=value", one);
        free(one);
        if (got != 2 || spot_take_key(x, key, value, e)) return e->code;
        at += n + (at[n] != ')');
    }
    if (!x->runs)
        return err_set(
            e, ERR_USAGE,
            "spot: runs= is missing: give the runs whose prompts are candidates, for example runs=3|5");
    if (x->runs > 1 && !x->own)
        return err_set(e, ERR_USAGE,
                       "spot: run= is missing: with several candidates, the one most similar to the prompt "
                       "of "
                       "this run is used; train a short run on the target task and give its id");
    return 0;
}

/* ---- a run's prompt ---- */

static int spot_open(struct store *s, int run, struct spot_prompt *out, struct err *e) {
    struct run_config c;
    int rc = record_config(s, run, &c, e);
    if (rc) return rc;
    const struct module *m = NULL;
    for (int i = 0; i < c.method.count; i++)
        if (function_of(&c.method.module[i])->form == FORM_ROWS) m = &c.method.module[i];
    if (m) out->module = *m;
    config_release(&c);
    if (!m) return err_set(e, ERR_USAGE, "spot: run %d has no prompt", run);
    char *path = opened_checkpoint(s, run, NULL, NULL, e);
    struct st_file *f = path ? st_open(path, e) : NULL;
    const struct st_tensor *t = f ? st_find(f, "param/enc.embed/prompt.P") : NULL;
    free(path);
    if (!f) return e->code;
    bool several = out->module.source == SOURCE_TASK || out->module.source == SOURCE_PRODUCT;
    if (several || !t || t->rank != 2 || t->shape[0] < (size_t)out->module.size) {
        rc = err_set(e, ERR_USAGE, "spot: run %d does not have a single prompt: source=%s", run,
                     source_name(out->module.source));
    } else {
        out->rows = xcalloc(t->count, sizeof *out->rows);
        out->count = (size_t)out->module.size;
        out->width = t->shape[1];
        rc = st_read(f, t, out->rows, e);
    }
    st_close(f);
    return rc;
}

/* ---- similarity ---- */

static double spot_cosine(const double *a, const double *b, size_t n) {
    double dot = 0, x = 0, y = 0;
    for (size_t i = 0; i < n; i++) dot += a[i] * b[i], x += a[i] * a[i], y += b[i] * b[i];
    return x > 0 && y > 0 ? dot / sqrt(x * y) : 0;
}

static double *spot_row(const struct spot_prompt *p, size_t row, bool mean) {
    double *out = xcalloc(p->width, sizeof *out);
    for (size_t r = mean ? 0 : row; r < (mean ? p->count : row + 1); r++)
        for (size_t i = 0; i < p->width; i++) out[i] += (double)p->rows[r * p->width + i];
    return out;
}

/* Returns the cosine of the mean rows, or the mean cosine over all pairs of rows. */
static double spot_alike(const struct spot_prompt *a, const struct spot_prompt *b, bool tokens) {
    double sum = 0;
    for (size_t i = 0; i < (tokens ? a->count : 1); i++)
        for (size_t k = 0; k < (tokens ? b->count : 1); k++) {
            double *x = spot_row(a, i, !tokens), *y = spot_row(b, k, !tokens);
            sum += spot_cosine(x, y, a->width);
            free(x);
            free(y);
        }
    return tokens ? sum / (double)(a->count * b->count) : sum;
}

/* Returns the index of the most similar prompt; writes a note with all similarities. */
static int spot_choose(const struct spot_options *x, const struct spot_prompt *prompt,
                       const struct spot_prompt *own, struct buf *notes) {
    int best = 0;
    double alike[SPOT_RUNS] = { 0 };
    for (int i = 0; i < x->runs; i++) {
        alike[i] = spot_alike(&prompt[i], own, x->tokens);
        if (alike[i] > alike[best]) best = i;
    }
    buf_printf(
        notes,
        "spot: the prompt is initialized from run %d, the most similar to run %d by the cosine of %s: %.4f",
        x->run[best], x->own, x->tokens ? "all pairs of prompt tokens" : "their mean vectors", alike[best]);
    for (int i = 0, n = 0; i < x->runs; i++)
        if (i != best) buf_printf(notes, "%srun %d %.4f", n++ ? ", " : " (", x->run[i], alike[i]);
    buf_puts(notes, x->runs > 1 ? ")\n" : "\n");
    return best;
}

static int spot_retrieve(struct store *s, const struct spot_options *x, struct spot_prompt *prompt,
                         struct buf *notes, struct err *e) {
    struct spot_prompt own = { .rows = NULL };
    int rc = 0, best = 0;
    for (int i = 0; !rc && i < x->runs; i++) rc = spot_open(s, x->run[i], &prompt[i], e);
    if (!rc && x->own) rc = spot_open(s, x->own, &own, e);
    for (int i = 0; !rc && x->own && i < x->runs; i++)
        if (prompt[i].width != own.width)
            rc = err_set(e, ERR_USAGE,
                         "spot: the prompts of runs %d and %d have different widths: %zu and %zu; use runs "
                         "of the same model",
                         x->run[i], x->own, prompt[i].width, own.width);
    if (!rc && x->own) best = spot_choose(x, prompt, &own, notes);
    free(own.rows);
    return rc ? rc : best;
}

char *spot_text(struct store *s, const char *text, struct buf *notes, struct err *e) {
    struct spot_options x;
    if (!spot_says(text)) return xstrdup(text);
    if (spot_parse(text, &x, e)) return NULL;
    struct spot_prompt *prompt = xcalloc((size_t)x.runs, sizeof *prompt);
    char *out = NULL;
    int best = spot_retrieve(s, &x, prompt, notes, e);
    if (best >= 0) {
        struct method one = { .count = 1, .module = { prompt[best].module } };
        if (source_width(one.module[0].source))
            one.module[0].source = SOURCE_FREE; /* the rows as computed, without their source */
        one.module[0].from_run = x.run[best];
        char *module = method_text(&one);
        out = xprintf("%.*s%s%s", (int)(x.from - text), text, module, x.to);
        free(module);
    }
    for (int i = 0; i < x.runs; i++) free(prompt[i].rows);
    free(prompt);
    return out;
}
