#include "core/train/config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum kind { KIND_TEXT, KIND_INT, KIND_INT64, KIND_UINT64, KIND_DOUBLE, KIND_WORD, KIND_SWITCH, KIND_KEEP };

static const char *const schedules[] = { "linear", "cosine", "constant", NULL };
static const char *const optimisers[] = { "adamw", "sgd", NULL };
/* regression is -1 … 1: the words' index less one. */
static const char *const kinds[] = { "auto", "classes", "scores", NULL };
static const char *const forms[] = { "auto", "classes", "text", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const means[] = { "tokens", "rows", "sum", "positions", NULL };
static const char *const keeps[] = { "best", "last", NULL };

/* One member of struct run_config: as an option, as a JSON member, its range. */
struct field {
    const char *key;    /* JSON */
    const char *option; /* NULL: not set from the command line */
    enum kind kind;
    size_t offset;
    double low, high; /* inclusive */
    bool open;        /* low itself is excluded */
    bool decides;     /* part of what a run computes */
    const char *const *word;
    int first; /* value of word[0] */
    const char *values, *help;
};
#define AT(member) offsetof(struct run_config, member)
#define TEXT(member, option, decides, values, help)                                                \
    { #member, option, KIND_TEXT, AT(member), 0, 0, false, decides, NULL, 0, values, help }
#define NUMBER(member, option, kind, low, high, values, help)                                      \
    { #member, option, kind, AT(member), low, high, false, true, NULL, 0, values, help }

static const struct field fields[] = {
    TEXT(method, "method", true, "TEXT", "the method: a preset with sizes, or modules"),
    TEXT(model, "model", false, "DIR|NAME", "a model folder or a name in the cache"),
    TEXT(model_folder, NULL, false, NULL, NULL),
    TEXT(model_sha256, NULL, false, NULL, NULL),
    TEXT(model_facts, NULL, false, NULL, NULL),
    TEXT(task, "task", false, "DIR|NAME", "a task folder (GLUE's are known) or a name"),
    TEXT(task_folder, NULL, false, NULL, NULL),
    TEXT(train_file, "train", false, "FILE", "rows to train on (TSV, CSV, JSON Lines)"),
    TEXT(dev_file, "dev", false, "FILE", "rows to evaluate on"),
    TEXT(train_sha256, NULL, false, NULL, NULL),
    TEXT(dev_sha256, NULL, false, NULL, NULL),
    TEXT(text_column, "text", true, "COLUMN", "column of the text"),
    TEXT(text_b_column, "text-b", true, "COLUMN", "column of the second text of a pair"),
    TEXT(label_column, "label", true, "COLUMN", "column of the label or score"),
    TEXT(source_column, "source", true, "COLUMN", "column of the source text"),
    TEXT(target_column, "target", true, "COLUMN", "column of the target text"),
    { "regression", "kind", KIND_WORD, AT(regression), 0, 0, false, true, kinds, -1,
      "auto|classes|scores", "what the label column holds" },
    TEXT(metric, "metric", true, "NAME", "the metric that decides which checkpoint is best"),
    NUMBER(seed, "seed", KIND_UINT64, 0, 9.0e15, "N", "seed of all random numbers"),
    NUMBER(batch, "batch", KIND_INT, 1, 65536, "N ≥ 1", "rows a step"),
    NUMBER(accumulate, "accumulate", KIND_INT, 1, 65536, "N ≥ 1",
           "micro-batches that a step's rows are taken in"),
    NUMBER(steps, "steps", KIND_INT64, 1, 1e9, "N ≥ 1", "steps to train"),
    NUMBER(epochs, "epochs", KIND_DOUBLE, 0, 1e6, "X > 0",
           "passes over the rows, instead of steps"),
    NUMBER(max_len, "max-len", KIND_INT, 2, 1 << 20, "N ≥ 2",
           "tokens a row, special ones included"),
    { "form", "form", KIND_WORD, AT(form), 0, 0, false, true, forms, 0, "auto|classes|text",
      "labels by a head, or as text to text; auto: as the model can" },
    { "prefix", "prefix", KIND_SWITCH, AT(prefix), 0, 0, false, true, switches, 0, "on|off",
      "a labelled task's name before its text" },
    NUMBER(max_target, "max-target", KIND_INT, 2, 1 << 20, "N ≥ 2",
           "tokens of a target text, its end included"),
    { "loss_mean", "loss-mean", KIND_WORD, AT(loss_mean), 0, 0, false, true, means, 0,
      "tokens|rows|sum|positions", "what a step's text-to-text loss is the mean over" },
    { "smoothing", "smoothing", KIND_DOUBLE, AT(smoothing), 0, 0.999999, false, true, NULL, 0,
      "0 ≤ X < 1", "label smoothing of target tokens" },
    NUMBER(beams, "beams", KIND_INT, 1, 64, "1 … 64", "beams of generated text; 1: greedy"),
    { "samples", "samples", KIND_INT, AT(samples), 0, 1000, false, false, NULL, 0, "0 … 1000",
      "dev rows whose generated texts are kept" },
    { "sample_every", "sample-every", KIND_INT, AT(sample_every), 0, 1e9, false, false, NULL, 0,
      "N ≥ 0", "steps between these; 0: at evaluations" },
    NUMBER(eval_every, "eval-every", KIND_INT, 0, 1e9, "N ≥ 0",
           "steps between evaluations; 0: after each epoch"),
    NUMBER(eval_rows, "eval-rows", KIND_INT, 0, 1e9, "N ≥ 0", "dev rows, drawn once; 0: all"),
    NUMBER(early_stop, "early-stop", KIND_INT, 0, 1e9, "N ≥ 0",
           "stop after N evaluations without a better one; 0: never"),
    { "keep", "keep", KIND_KEEP, AT(keep), 0, 0, false, false, keeps, 1, "best,last",
      "checkpoints to keep" },
    { "embed_every", "embed-every", KIND_INT, AT(embed_every), 0, 1e9, false, false, NULL, 0,
      "N ≥ 0", "steps between sets of dev rows' vectors, for the map; 0: none" },
    { "embed_rows", "embed-rows", KIND_INT, AT(embed_rows), 4, 15000, false, false, NULL, 0,
      "4 … 15000", "rows of such a set, drawn evenly over the classes" },
    NUMBER(shards, "shards", KIND_INT, 1, 64, "1 … 64", "parts that a step is cut into"),
    { "optimiser", "optimiser", KIND_WORD, AT(optimiser), 0, 0, false, true, optimisers, 0,
      "adamw|sgd", "how parameters follow gradients" },
    NUMBER(lr, "lr", KIND_DOUBLE, 0, FLT_MAX, "X ≥ 0", "learning rate; 0: the preset's"),
    { "beta1", "beta1", KIND_DOUBLE, AT(beta1), 0, 0.999999, false, true, NULL, 0, "0 ≤ X < 1",
      "AdamW's decay of the mean" },
    { "beta2", "beta2", KIND_DOUBLE, AT(beta2), 0, 0.99999999, false, true, NULL, 0, "0 ≤ X < 1",
      "AdamW's decay of the square" },
    { "epsilon", "epsilon", KIND_DOUBLE, AT(epsilon), 0, 1, true, true, NULL, 0, "0 < X ≤ 1",
      "AdamW's ε" },
    { "momentum", "momentum", KIND_DOUBLE, AT(momentum), 0, 0.999999, false, true, NULL, 0,
      "0 ≤ X < 1", "SGD's momentum" },
    NUMBER(weight_decay, "weight-decay", KIND_DOUBLE, 0, 1e6, "X ≥ 0",
           "weight decay of matrices, never of vectors"),
    NUMBER(clip, "clip", KIND_DOUBLE, 0, 1e30, "X ≥ 0", "largest gradient norm; 0: not clipped"),
    { "schedule", "schedule", KIND_WORD, AT(schedule), 0, 0, false, true, schedules, 0,
      "linear|cosine|constant", "course of the learning rate after warm-up" },
    NUMBER(warmup, "warmup", KIND_DOUBLE, 0, 1e9, "X ≥ 0",
           "warm-up: below 1 a share of the steps, else steps"),
    { "dropout", "dropout", KIND_DOUBLE, AT(dropout), 0, 0.999999, false, true, NULL, 0,
      "0 ≤ X < 1|published", "dropout of the model; published: as its config says" },
};

/* Other spellings that people type. */
static const char *const also[][2] = {
    { "optimizer", "optimiser" }, { "warm-up", "warmup" },
    { "decay", "weight-decay" },  { "learning-rate", "lr" },
    { "max-length", "max-len" },  { "batch-size", "batch" },
    { "wd", "weight-decay" },     { "early-stopping", "early-stop" },
};

const char *schedule_name(enum schedule s) { return schedules[s]; }
const char *loss_mean_name(enum loss_mean m) { return means[m]; }
const char *optimiser_name(enum optimiser o) { return optimisers[o]; }

void config_init(struct run_config *c) {
    *c = (struct run_config){
        .regression = -1,
        .seed = 1,
        .batch = 32,
        .accumulate = 1,
        .epochs = 3,
        .max_len = 128,
        .prefix = true,
        .max_target = 128,
        .beams = 1,
        .samples = 6,
        .sample_every = 50,
        .keep = KEEP_BEST | KEEP_LAST,
        .embed_rows = 200,
        .shards = 4,
        .optimiser = OPTIMISER_ADAMW,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .clip = 1,
        .schedule = SCHEDULE_LINEAR,
        .dropout = -1,
    };
}

static char **text_at(const struct run_config *c, const struct field *f) {
    return (char **)((char *)(uintptr_t)c + f->offset);
}

void config_copy(struct run_config *to, const struct run_config *from) {
    *to = *from;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (fields[i].kind != KIND_TEXT) continue;
        char *s = *text_at(from, &fields[i]);
        *text_at(to, &fields[i]) = s ? xstrdup(s) : NULL;
    }
}

void config_release(struct run_config *c) {
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].kind == KIND_TEXT) free(*text_at(c, &fields[i]));
    *c = (struct run_config){ 0 };
}

/* ---- numbers of any width ---- */

static double number_at(const struct run_config *c, const struct field *f) {
    const char *p = (const char *)c + f->offset;
    switch (f->kind) {
    case KIND_INT64: return (double)*(const int64_t *)p;
    case KIND_UINT64: return (double)*(const uint64_t *)p;
    case KIND_DOUBLE: return *(const double *)p;
    case KIND_SWITCH: return *(const bool *)p;
    default: return (double)*(const int *)p;
    }
}

static void set_number(struct run_config *c, const struct field *f, double v) {
    char *p = (char *)c + f->offset;
    switch (f->kind) {
    case KIND_INT64: *(int64_t *)p = (int64_t)v; break;
    case KIND_UINT64: *(uint64_t *)p = (uint64_t)v; break;
    case KIND_DOUBLE: *(double *)p = v; break;
    case KIND_SWITCH: *(bool *)p = v != 0; break;
    default: *(int *)p = (int)v; break;
    }
}

static bool is_word(const struct field *f) { return f->kind == KIND_WORD || f->kind == KIND_SWITCH; }
static bool is_whole(const struct field *f) { return f->kind != KIND_DOUBLE; }

static bool in_range(const struct field *f, double v) {
    return isfinite(v) && v >= f->low && v <= f->high && !(f->open && v == f->low) &&
           (!is_whole(f) || v == floor(v));
}

static char *number_text(const struct run_config *c, const struct field *f) {
    double v = number_at(c, f);
    char text[32];
    if (is_whole(f)) return xprintf("%.0f", v);
    text_from_double(v, text);
    return xstrdup(text);
}

static int word_find(const struct field *f, const char *word, size_t n) {
    for (int i = 0; f->word[i]; i++)
        if (strlen(f->word[i]) == n && !memcmp(f->word[i], word, n)) return i;
    return -1;
}

static char *keep_text(const struct field *f, int bits) {
    struct buf b = BUF_INIT;
    for (int i = 0; f->word[i]; i++)
        if (bits & (1 << i)) buf_printf(&b, "%s%s", b.size ? "," : "", f->word[i]);
    if (!b.size) buf_puts(&b, "none");
    return buf_take(&b);
}

/* -1 for a word that is not known. */
static int keep_parse(const struct field *f, const char *value) {
    if (!strcmp(value, "none")) return 0;
    int bits = 0;
    for (const char *s = value;; s++) {
        size_t n = strcspn(s, ",");
        int i = word_find(f, s, n);
        if (i < 0) return -1;
        bits |= 1 << i;
        s += n;
        if (!*s) return bits;
    }
}

/* ---- JSON ---- */

char *config_json(const struct run_config *c) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct field *f = &fields[i];
        buf_printf(&b, "%s\"%s\":", i ? "," : "{", f->key);
        char *s = NULL;
        if (f->kind == KIND_TEXT) {
            if (*text_at(c, f)) json_add_string(&b, *text_at(c, f));
            else buf_puts(&b, "null");
        } else if (is_word(f)) {
            json_add_string(&b, f->word[(int)number_at(c, f) - f->first]);
        } else if (f->kind == KIND_KEEP) {
            json_add_string(&b, s = keep_text(f, c->keep));
        } else {
            buf_puts(&b, s = number_text(c, f));
        }
        free(s);
    }
    buf_putc(&b, '}');
    return buf_take(&b);
}

static const char config_name[] = "the run's config";

static int member_from_json(struct run_config *c, const struct field *f, const json_t *o,
                            struct err *e) {
    const char *s = NULL;
    double v;
    e->code = 0;
    if (f->kind == KIND_TEXT || is_word(f) || f->kind == KIND_KEEP) {
        if (!json_get_string(o, config_name, f->key, &s, e)) return e->code;
        if (f->kind == KIND_TEXT) {
            free(*text_at(c, f));
            *text_at(c, f) = xstrdup(s);
            return 0;
        }
        int i = f->kind == KIND_KEEP ? keep_parse(f, s) : word_find(f, s, strlen(s));
        if (i < 0)
            return err_set(e, ERR_INPUT, "%s: \"%s\" is \"%s\", not %s", config_name, f->key, s,
                           f->values);
        set_number(c, f, f->kind == KIND_KEEP ? i : i + f->first);
        return 0;
    }
    if (!json_get_double(o, config_name, f->key, &v, e)) return e->code;
    bool published = f->offset == AT(dropout) && v == -1;
    bool unset = (f->offset == AT(steps) || f->offset == AT(epochs)) && v == 0;
    if (!published && !unset && !in_range(f, v))
        return err_set(e, ERR_INPUT, "%s: \"%s\" is out of its range %s", config_name, f->key,
                       f->values);
    set_number(c, f, v);
    return 0;
}

int config_from_json(const char *json, size_t n, struct run_config *out, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    config_init(out);
    json_t *o = json_parse(config_name, json, n, e);
    if (!o) return e->code;
    int rc = json_is_object(o) ? 0 : err_set(e, ERR_INPUT, "%s: not a JSON object", config_name);
    out->epochs = 0;
    out->form = FORM_CLASSES; /* a config that does not say: there was no other form */
    for (size_t i = 0; i < COUNT_OF(fields) && !rc; i++)
        rc = member_from_json(out, &fields[i], o, e);
    json_decref(o);
    if (rc) config_release(out);
    return rc;
}

/* ---- options ---- */

static const struct field *find_option(const char *option) {
    for (size_t i = 0; i < COUNT_OF(also); i++)
        if (!strcmp(also[i][0], option)) option = also[i][1];
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].option && !strcmp(fields[i].option, option)) return &fields[i];
    return NULL;
}

static int unknown_option(const char *option, struct err *e) {
    const char *names[COUNT_OF(fields)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].option) names[n++] = fields[i].option;
    const char *near = text_nearest(option, names, n);
    if (near) return err_set(e, ERR_USAGE, "no option --%s; did you mean --%s?", option, near);
    return err_set(e, ERR_USAGE, "no option --%s", option);
}

static int refused(const struct field *f, const char *value, struct err *e) {
    size_t words = 0;
    while (f->word && f->word[words]) words++;
    const char *near = words ? text_nearest(value, f->word, words) : NULL;
    if (near)
        return err_set(e, ERR_USAGE, "--%s %s: must be %s; did you mean %s?", f->option, value,
                       f->values, near);
    return err_set(e, ERR_USAGE, "--%s %s: must be %s", f->option, value, f->values);
}

int config_set(struct run_config *c, const char *option, const char *value, struct err *e) {
    const struct field *f = find_option(option);
    if (!f) return unknown_option(option, e);
    if (f->kind == KIND_TEXT) {
        if (!*value)
            return err_set(e, ERR_USAGE, "--%s: is empty, must be %s", f->option, f->values);
        char *copy = xstrdup(value);
        free(*text_at(c, f));
        *text_at(c, f) = copy;
        return 0;
    }
    if (is_word(f) || f->kind == KIND_KEEP) {
        int i = f->kind == KIND_KEEP ? keep_parse(f, value) : word_find(f, value, strlen(value));
        if (i < 0) return refused(f, value, e);
        set_number(c, f, f->kind == KIND_KEEP ? i : i + f->first);
        return 0;
    }
    if (f->offset == AT(dropout) && !strcmp(value, "published")) {
        c->dropout = -1;
        return 0;
    }
    double v;
    if (!text_to_double(value, &v) || !in_range(f, v) || (f->offset == AT(epochs) && v <= 0))
        return refused(f, value, e);
    set_number(c, f, v);
    if (f->offset == AT(steps)) c->epochs = 0;
    if (f->offset == AT(epochs)) c->steps = 0;
    return 0;
}

char *config_get(const struct run_config *c, const char *option) {
    const struct field *f = find_option(option);
    if (!f) return NULL;
    switch (f->kind) {
    case KIND_TEXT: return xstrdup(*text_at(c, f) ? *text_at(c, f) : "");
    case KIND_WORD:
    case KIND_SWITCH: return xstrdup(f->word[(int)number_at(c, f) - f->first]);
    case KIND_KEEP: return keep_text(f, c->keep);
    default:
        if (f->offset == AT(dropout) && c->dropout == -1) return xstrdup("published");
        return number_text(c, f);
    }
}

int config_option_count(void) {
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(fields); i++) n += fields[i].option != NULL;
    return n;
}

struct config_option config_option_at(int at) {
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].option && !at--)
            return (struct config_option){ fields[i].option, fields[i].values, fields[i].help };
    BUG("no such option");
}

const char *config_difference(const struct run_config *a, const struct run_config *b) {
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct field *f = &fields[i];
        if (!f->decides) continue;
        if (f->kind == KIND_TEXT) {
            const char *x = *text_at(a, f), *y = *text_at(b, f);
            if (strcmp(x ? x : "", y ? y : "")) return f->option;
        } else if (number_at(a, f) != number_at(b, f)) {
            return f->option;
        }
    }
    return NULL;
}
