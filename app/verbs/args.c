#include "app/verbs/args.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/insight/probe.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/kind.h"
#include "core/method/plan.h"
#include "core/train/config/option.h"

enum {
    OPTION_COLUMNS = 22, /* of an option and its value in the help */
    OPTION_WORDS = 16,
    MANY_OPTIONS = 20,   /* more are listed by group */
};

static const struct option_spec COMMON[] = {
    { "json", NULL, "print JSON", GROUP_OUTPUT, AT(json), FILLS_FLAG },
    { "db", "FILE",
      "database file (default: $XDG_DATA_HOME/petri/petri.db)", GROUP_OUTPUT, AT(db), FILLS_TEXT },
    { "help", NULL, "show this help", GROUP_OUTPUT, AT(help), FILLS_FLAG },
    { NULL },
};

/* Options of several verbs; a row of FILLS_SHARED may have its own placeholder or help, and takes the rest
 * from here. */
static const struct option_spec SHARED[] = {
    { "model", "DIR|NAME", "model folder or name (default " DEFAULT_MODEL ", else " OWN_MODEL ")",
      GROUP_METHOD, AT(model), ALIASES_OF_RUN },
    { "run", NULL, NULL, GROUP_METHOD, AT(run) },
    { "method", NULL, NULL, GROUP_METHOD, AT(method) },
    { "regime", "TEXT", "training regime; for meta, also count the parameters adapted to a task",
      GROUP_METHOD, AT(regime) },
    { "classes", "A,B,\u2026|FILE|TASK",
      "class names in output order: a list, a file with one name per line, or a task with the same classes",
      GROUP_METHOD, AT(classes) },
    { "from", NULL, NULL, GROUP_METHOD, AT(from) },
    { "task", "NAME", "for a multi-task run: the task to use", GROUP_DATA, AT(task) },
    { "text", "COLUMN", "column of the text", GROUP_DATA, AT(text) },
    { "text-b", "COLUMN", "column of the second text of a pair", GROUP_DATA, AT(text_b) },
    { "label", "COLUMN", "column of the label or score", GROUP_DATA, AT(label) },
    { "source", "COLUMN", "column of the source text (text-to-text)", GROUP_DATA, AT(source) },
    { "target", "COLUMN", "column of the target text (text-to-text)", GROUP_DATA, AT(target) },
    { "positive", "NAME", "the class for which F1 is computed", GROUP_DATA, AT(positive) },
    { "unlabeled", "LABEL", "label that marks unlabeled examples", GROUP_DATA, AT(no_gold), ALIASES_OF_RUN },
    { "delimiter", "CHAR|tab", "column delimiter (default: inferred from the file name)", GROUP_DATA,
     AT(delimiter) },
    { "template", "NAME|FILE", "chat template (default: that of the run, or of the model for chats)", GROUP_DATA,
     AT(chat_template), ALIASES_OF_RUN },
    { "file", NULL, NULL, GROUP_DATA, AT(file) },
    { "column", NULL, NULL, GROUP_DATA, AT(column) },
    { "split", "dev|train|NAME",
      "validation set (dev), training set, or the name of a validation set (default dev)", GROUP_DATA,
      AT(split) },
    { "unseen", "NAME|FOLDER,\u2026", "add examples of tasks on which a multi-task run was not trained",
      GROUP_DATA, AT(unseen) },
    { "metric", NULL, NULL, GROUP_EVALUATION, AT(metric), ALIASES_OF_RUN },
    { "name", "TEXT", "name of the run (petri name)", GROUP_OUTPUT, AT(name), ALIASES("run-name") },
    { "note", "TEXT", "note stored with the run", GROUP_OUTPUT, AT(note) },
    { "cell", "TEXT", "cell and seed of the experiment that the run belongs to (set by petri replicate)",
      GROUP_OUTPUT, AT(cell) },
    { "out", "FILE", "write to FILE.txt, .ans (ANSI), .svg or .png instead of standard output", GROUP_OUTPUT,
      AT(out) },
    { "size", "WxH", "size in columns and rows (default 80x24)", GROUP_OUTPUT, AT(size) },
    { "by", "AXIS[,AXIS\u2026]",
      "group runs and compute effects by these columns: method, task, model, fn, write, comp, \u2026, or an "
      "option",
      GROUP_OUTPUT, AT(by) },
    { "header", NULL,
      "treat the first line of a table as a header, even if all columns are selected by number", GROUP_DATA,
      AT(header), .excludes = "no-header" },
    { "no-header", NULL, "treat the first line of a table as an example; the columns are #1, #2, \u2026",
      GROUP_DATA, AT(no_header) },
    { "official-dev", NULL, "use dev_official.tsv of a GLUE folder", GROUP_DATA, AT(official_dev) },
    { "csv", NULL, "print the table as CSV", GROUP_OUTPUT, AT(csv), .excludes = "json markdown" },
    { "markdown", NULL, "print the table as Markdown", GROUP_OUTPUT, AT(markdown), .excludes = "json" },
    { "list", NULL, NULL, GROUP_OUTPUT, AT(list), .reads = true },
    { "overwrite", NULL, "allow --out to overwrite an existing file", GROUP_OUTPUT, AT(overwrite) },
    { "ansi", NULL, "print colors as ANSI sequences", GROUP_OUTPUT, AT(ansi), .excludes = "svg" },
    { "svg", NULL, "print an SVG image", GROUP_OUTPUT, AT(svg) },
    { "ascii", NULL, "use only ASCII characters", GROUP_OUTPUT, AT(ascii) },
    { "no-color", NULL, "disable colors (as NO_COLOR does)", GROUP_OUTPUT, AT(no_color) },
    { "kind", "classes|scores", "kind of the label (default: inferred and reported)", GROUP_DATA, AT(kind),
      FILLS_WORD, .first = DATA_KIND_CLASSES },
    { "dtype", "f32|f16", "precision of the stored weights (default f32)", GROUP_CHECKPOINTS, AT(half),
      FILLS_WORD, .default_value = -1 },
    { "precision", "f32|bf16|auto",
      "precision of matrix products with the weights of --model (default f32); a run computes in its own",
      GROUP_PERFORMANCE, AT(precision), FILLS_WORD, .default_value = -1 },
    { "weights-in", "auto|packed|file",
      "weights of a decoder-only model: in memory, or read from its file when they are used", GROUP_PERFORMANCE,
      AT(weights_in), FILLS_WORD, ALIASES("weights") },
    { "workers", "N", "number of worker threads (default: one per core)", GROUP_PERFORMANCE, AT(workers),
      FILLS_INTEGER, 1, 64 },
    { "force", NULL, "start even if the estimated memory is not available", GROUP_PERFORMANCE, AT(force) },
    { "cost", "trained|time|memory", "cost axis of the Pareto front", GROUP_EVALUATION, AT(cost),
      FILLS_WORD },
    { "value", "best|final", "score of a run: best evaluation, selected on the same examples, or final one",
      GROUP_EVALUATION, AT(final), FILLS_WORD },
    { "margin", "X", "also test for equivalence within X, in the unit of the metric", GROUP_EVALUATION,
      AT(margin), FILLS_NUMBER, 0, OPTION_MOST, .above = true },
    { "rows", "N", "maximum number of examples, stratified by task and class", GROUP_DATA, AT(rows),
      FILLS_INTEGER, 1, 1 << 20, PROBE_ROWS },
    { "layer", NULL, NULL, GROUP_METHOD, AT(layer), FILLS_INTEGER, 0, OPTION_MOST, PROBE_ALL_LAYERS,
      PROBE_RETRIEVER },
    { "pool", "cls|mean", "pooling: first token, or mean over all tokens", GROUP_METHOD, AT(pool), FILLS_WORD,
      .default_value = OVER_MEAN },
    { "seed", "N", "random seed for sampling examples", GROUP_DATA, AT(seed), FILLS_INTEGER, 0, OPTION_MOST,
      1 },
    { "max-length", "N", "maximum sequence length in tokens", GROUP_DATA, AT(max_len), FILLS_INTEGER, 2,
      OPTION_MOST, ALIASES_OF_RUN },
    { "tasks", "N", "number of tasks of the run", GROUP_TASKS, AT(tasks), FILLS_INTEGER, 1, RUN_TASKS, 1 },
    { NULL },
};

const char *const args_aliases_of_run[] = { NULL };

static const struct option_spec *find_in(const struct option_spec *list, const char *name) {
    for (; list->name; list++)
        if (option_spelling(list->name, list->aliases, name)) return list;
    return NULL;
}

const struct option_spec *args_find_option(const struct verb *v, const char *name) {
    const struct option_spec *o = v->options ? find_in(v->options, name) : NULL;
    return o ? o : find_in(COMMON, name);
}

static int args_unknown_option(const struct verb *v, const char *name, struct err *e) {
    const char *names[256];
    size_t n = 0;
    for (const struct option_spec *o = v->options; o && o->name; o++)
        option_add_names(o->name, o->aliases, names, COUNT_OF(names), &n);
    for (const struct option_spec *o = COMMON; o->name; o++)
        option_add_names(o->name, NULL, names, COUNT_OF(names), &n);
    const char *near = text_nearest(name, names, n);
    const char *space = *v->name ? " " : "";
    if (near)
        return err_set(e, ERR_USAGE, "petri%s%s: unknown option --%s; did you mean --%s?", space, v->name,
                       name, args_find_option(v, near)->name);
    return err_set(e, ERR_USAGE, "petri%s%s: unknown option --%s; see petri%s%s --help", space,
                   v->name, name, space, v->name);
}

/* Returns whether `word` is "--NAME" or "--NAME=VALUE" of an option of the verb. */
static bool is_option_of(const struct verb *v, const char *word) {
    if (!text_starts(word, "--")) return false;
    char *name = xstrndup(word + 2, strcspn(word + 2, "="));
    bool found = args_find_option(v, name) != NULL;
    free(name);
    return found;
}

/* The verb is not known yet: searches the options of the program alone and of all verbs. */
static bool takes_value(const char *name) {
    const struct option_spec *o = args_find_option(verb_alone(), name);
    const struct verb *v;
    for (size_t i = 0; !o && (v = verb_at(i)); i++) o = args_find_option(v, name);
    if (!o) o = args_find_option(verb_alone(), name);
    return o && o->value;
}

int args_verb_at(int argc, char *const *argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
        if (strncmp(argv[i], "--", 2)) return i;
        if (!strchr(argv[i], '=') && takes_value(argv[i] + 2)) i++;
    }
    return -1;
}

/* Finds the words that a placeholder lists, "L|retriever" or "name|cluster"; returns their number.  They
 * point into *copy, which the caller frees. */
static size_t words_of(const struct option_spec *o, char **copy, const char *word[OPTION_WORDS]) {
    char *rest = *copy = xstrdup(o->value), *one;
    size_t n = 0;
    while ((one = strsep(&rest, "|")))
        if (islower((unsigned char)*one) && n < OPTION_WORDS) word[n++] = one;
    return n;
}

/* Returns the index of the word that equals the value, or -1. */
static int word_at(const struct option_spec *o, const char *value) {
    const char *word[OPTION_WORDS];
    char *copy;
    int found = -1;
    for (size_t i = words_of(o, &copy, word); i-- > 0;)
        if (!strcmp(word[i], value)) found = (int)i;
    free(copy);
    return found;
}

static void set_number(void *member, enum option_fills fills, double v) {
    if (fills == FILLS_INTEGER) *(int64_t *)member = (int64_t)v;
    else if (fills == FILLS_NUMBER) *(double *)member = v;
    else if (fills == FILLS_WORD) *(int *)member = (int)v;
}

static bool in_range(const struct option_spec *o, double v) {
    return isfinite(v) && v >= o->low && v <= o->high && !(o->above && v == o->low);
}

/* Appends a word of "a, b or c". */
static void add_word(struct buf *b, const char *before, const char *word, bool last) {
    buf_printf(b, "%s%s%s", !b->size ? "" : last ? " or " : ", ", before, word);
}

/* "must be an integer between 1 and 64 or retriever" */
static int refuse(const struct option_spec *o, const char *found, struct err *e) {
    const char *word[OPTION_WORDS], *kind = o->fills == FILLS_NUMBER    ? "a number"
                                            : o->fills == FILLS_INTEGER ? "an integer"
                                                                        : NULL;
    char *copy;
    struct buf must = BUF_INIT;
    size_t n = words_of(o, &copy, word);
    if (kind && o->high < OPTION_MOST && !o->above)
        buf_printf(&must, "%s between %.12g and %.12g", kind, o->low, o->high);
    else if (kind) buf_printf(&must, "%s %s %.12g", kind, o->above ? "above" : "of at least", o->low);
    if (o->above && o->high < OPTION_MOST) buf_printf(&must, " and at most %.12g", o->high);
    for (size_t i = 0; i < n; i++) add_word(&must, "", word[i], i + 1 == n);
    const char *near = text_nearest(found, word, n);
    err_set(e, ERR_USAGE, "--%s: must be %s, found \"%s\"%s%s%s", o->name, buf_text(&must), found,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    buf_release(&must);
    free(copy);
    return e->code;
}

int args_within(const char *name, int64_t value, int64_t low, int64_t high, struct err *e) {
    const struct option_spec o = { name, "N", .fills = FILLS_INTEGER, .low = (double)low,
                                   .high = (double)high };
    char found[32];
    if (in_range(&o, (double)value)) return 0;
    snprintf(found, sizeof found, "%lld", (long long)value);
    return refuse(&o, found, e);
}

/* Stores the value in the option's member. */
static int fill(struct args *a, const struct option_spec *o, const char *value, struct err *e) {
    void *member = (char *)a + o->member;
    struct option_texts *texts = member;
    int64_t whole;
    double v;
    if (!o->member) return 0;
    if (o->fills == FILLS_FLAG) *(bool *)member = strcmp(value, "off") != 0;
    else if (o->fills == FILLS_TEXT || o->fills == FILLS_CONFIG) *(const char **)member = value;
    else if (o->fills == FILLS_TEXTS && texts->count < OPTION_TEXTS) texts->at[texts->count++] = value;
    if (o->fills < FILLS_INTEGER || o->fills > FILLS_WORD) return 0;
    int word = word_at(o, value);
    bool good = word >= 0;
    if (good) v = o->first + word;
    else if (o->fills == FILLS_INTEGER) good = text_to_int(value, &whole) && in_range(o, v = (double)whole);
    else if (o->fills == FILLS_NUMBER) good = text_to_double(value, &v) && in_range(o, v);
    if (!good) return refuse(o, value, e);
    set_number(member, o->fills, v);
    return 0;
}

/* Refuses names that count micro-batches in transformers and mlx-lm: they equal a whole batch or step only
 * without gradient accumulation. */
static int args_check_micro_batches(const struct args *a, struct err *e) {
    static const char *const of_micro[][2] = {
        { "per-device-train-batch-size", "batch" }, { "batch-size", "batch" }, { "iters", "steps" }
    };
    for (int k = 0; k < a->given; k++) {
        bool several = !strcmp(a->option[k].spec->name, "gradient-accumulation-steps") &&
                       strcmp(a->option[k].value, "1");
        for (int i = 0; i < a->given && several; i++)
            for (size_t at = 0; at < COUNT_OF(of_micro); at++)
                if (!strcmp(a->option[i].name, of_micro[at][0]))
                    return err_set(
                        e, ERR_USAGE,
                        "--%s: ambiguous with --%s; use --%s, which applies to an optimizer step, not to its "
                        "micro-batches",
                        a->option[i].name, a->option[k].name, of_micro[at][1]);
    }
    return 0;
}

/* Returns the index of an option among those given, or -1 where it is missing or off.  In capitals: of the
 * last positional argument. */
static int given_at(const struct args *a, const char *name) {
    if (isupper((unsigned char)*name)) return a->count - 1;
    for (int i = 0; i < a->given; i++)
        if (!strcmp(a->option[i].spec->name, name) &&
            (a->option[i].spec->value || strcmp(a->option[i].value, "off")))
            return i;
    return -1;
}

static const char *dashes(const char *name) { return isupper((unsigned char)*name) ? "" : "--"; }

static int check_excluded(const struct args *a, const char *name, const char *other, struct err *e) {
    if (given_at(a, other) < 0) return 0;
    return err_set(e, ERR_USAGE, "--%s: cannot be combined with %s%s", name, dashes(other), other);
}

/* `need`: "screen=runs|compare"; it is changed. */
static int check_needed(const struct args *a, const char *name, char *need, struct err *e) {
    const char *word[OPTION_WORDS];
    char *other = strsep(&need, "="), *copy = NULL;
    struct buf words = BUF_INIT;
    const struct option_spec of = { .value = need };
    int at = given_at(a, other);
    size_t n = need ? words_of(&of, &copy, word) : 0;
    for (size_t i = 0; i < n; i++) add_word(&words, i ? "" : " ", word[i], i + 1 == n);
    if (at < 0 || (need && word_at(&of, a->option[at].value) < 0))
        err_set(e, ERR_USAGE, "--%s: requires %s%s%s", name, dashes(other), other, buf_text(&words));
    buf_release(&words);
    free(copy);
    return e->code;
}

/* Checks `excludes` and `needs` of the given options. */
static int check_together(const struct args *a, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < a->given; i++) {
        const struct option_spec *o = a->option[i].spec;
        if (given_at(a, o->name) != i) continue;
        char *copy[] = { xcopy(o->excludes), xcopy(o->needs) }, *rest[] = { copy[0], copy[1] }, *one;
        while (!rc && (one = strsep(&rest[0], " "))) rc = check_excluded(a, o->name, one, e);
        while (!rc && (one = strsep(&rest[1], " "))) rc = check_needed(a, o->name, one, e);
        free(copy[0]), free(copy[1]);
    }
    return rc;
}

static int check_required(const struct args *a, struct err *e) {
    const char *name[OPTION_WORDS];
    size_t n = 1;
    for (int group = 1; n && !e->code; group++) {
        struct buf list = BUF_INIT;
        bool given = false;
        n = 0;
        for (const struct option_spec *o = a->verb->options; o && o->name; o++) {
            if (o->required != group) continue;
            given |= given_at(a, o->name) >= 0;
            name[n++] = o->name;
        }
        for (size_t i = 0; i < n; i++) add_word(&list, "--", name[i], i + 1 == n);
        if (n && !given) err_set(e, ERR_USAGE, "petri %s: requires %s", a->verb->name, buf_text(&list));
        buf_release(&list);
    }
    return e->code;
}

int args_parse(struct args *a, const struct verb *v, int argc, char **argv, char **room,
               struct err *e) {
    *a = (struct args){ .verb = v, .positional = room };
    for (const struct option_spec *o = v->options; o && o->name; o++)
        if (o->member) set_number((char *)a + o->member, o->fills, o->default_value);
    bool plain = false;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (!plain && !strcmp(word, "--")) {
            plain = true;
            continue;
        }
        if (plain || strncmp(word, "--", 2)) {
            if (!plain && word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9'))
                return err_set(e, ERR_USAGE, "%s: not an option; options begin with --", word);
            room[a->count++] = word;
            continue;
        }
        char *equals = strchr(word, '=');
        char *name = equals ? xstrndup(word + 2, (size_t)(equals - word - 2)) : xstrdup(word + 2);
        const struct option_spec *o = args_find_option(v, name);
        int rc = 0;
        const char *value = "";
        if (!o) rc = args_unknown_option(v, name, e);
        else if (!o->value && equals && strcmp(equals + 1, "on") && strcmp(equals + 1, "off"))
            rc = err_set(e, ERR_USAGE,
                         "--%s: does not accept a value; only =off is allowed, to disable it with --like",
                         name);
        else if (!o->value && equals) value = equals + 1;
        else if (o->value && equals) value = equals + 1;
        else if (o->value && i + 1 < argc && !is_option_of(v, argv[i + 1])) value = argv[++i];
        else if (o->value) rc = err_set(e, ERR_USAGE, "--%s: requires a value: %s", name, o->value);
        for (int k = 0; !rc && k < a->given; k++)
            if (a->option[k].spec == o && o->fills != FILLS_TEXTS)
                rc = !strcmp(a->option[k].name, name)
                         ? err_set(e, ERR_USAGE, "--%s: given twice", name)
                         : err_set(e, ERR_USAGE, "--%s: the same option as --%s; use one of them",
                             a->option[k].name,
                                   name);
        if (!rc && a->given == ARGS_OPTIONS) rc = err_set(e, ERR_USAGE, "too many options");
        if (!rc) rc = fill(a, o, value, e);
        const char *spelling = o ? option_spelling(o->name, o->aliases, name) : NULL;
        free(name);
        if (rc) return rc;
        a->option[a->given].spec = o;
        a->option[a->given].name = spelling;
        a->option[a->given++].value = value;
    }
    if (a->help) return 0;
    if (args_check_micro_batches(a, e)) return e->code;
    if (a->count < v->least || (v->most >= 0 && a->count > v->most))
        return err_set(e, ERR_USAGE, "petri%s%s: %s: found %d; usage: petri%s%s %s", *v->name ? " " : "",
                       v->name, a->count < v->least ? "missing arguments" : "too many arguments", a->count,
                       *v->name ? " " : "", v->name, v->synopsis);
    return check_together(a, e) ? e->code : check_required(a, e);
}

char *args_words(const struct args *a) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < a->count; i++) buf_printf(&b, "%s%s", i ? " " : "", a->positional[i]);
    return buf_take(&b);
}

const char *args_typed(const struct args *a, int given) {
    const char *value = a->option[given].value;
    return a->option[given].spec->value || *value ? value : "on";
}

int args_config(const struct args *a, struct run_config *c, struct err *e) {
    int rc = 0;
    for (int i = 0; i < a->given && !rc; i++)
        if (a->option[i].spec->fills == FILLS_CONFIG)
            rc = config_set(c, a->option[i].name, args_typed(a, i), e);
    return rc;
}

/* ---- tables ---- */

/* Returns the default as it is typed, which the caller frees, or NULL where there is none. */
static char *default_text(const struct option_spec *o, const struct run_config *c) {
    const char *word[OPTION_WORDS];
    if (o->required) return NULL;
    if (o->fills == FILLS_CONFIG)
        return o->help || !option_find(o->name)->values ? NULL : config_get(c, o->name);
    if (o->fills == FILLS_WORD) {
        char *copy;
        size_t n = words_of(o, &copy, word), i = (size_t)((int)o->default_value - o->first);
        char *text = i < n ? xstrdup(word[i]) : NULL;
        free(copy);
        return text;
    }
    bool number = o->fills == FILLS_INTEGER || o->fills == FILLS_NUMBER;
    return number && in_range(o, o->default_value) ? xprintf("%.12g", o->default_value) : NULL;
}

static bool has(const struct option_spec *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name)) return true;
    return false;
}

struct growing {
    struct option_spec *at;
    size_t n, room;
    const struct run_config *defaults;
};

static void add_row(struct growing *g, struct option_spec o) {
    const struct option_spec *shared = o.fills == FILLS_SHARED && !o.member ? find_in(SHARED, o.name) : NULL;
    if (shared) {
        const struct option_spec own = o;
        o = *shared;
        if (own.value) o.value = own.value;
        if (own.help) o.help = own.help;
        if (own.excludes) o.excludes = own.excludes;
        if (own.needs) o.needs = own.needs;
        o.required = own.required;
    }
    if (o.fills == FILLS_SHARED) o.fills = o.value ? FILLS_TEXT : FILLS_FLAG;
    char *shown = default_text(&o, g->defaults);
    const struct option *run = o.fills == FILLS_CONFIG ? option_find(o.name) : NULL;
    if (run || o.aliases == args_aliases_of_run) o.aliases = option_find(o.name)->aliases;
    if (run && !o.value) o.value = run->values;
    if (run && !o.help) o.help = run->help;
    if (run && !o.group) o.group = run->group;
    if (shown && *shown && strcmp(shown, "default") && strcmp(shown, "auto"))
        o.help = xprintf("%s (default %s)", o.help, shown);
    free(shown);
    GROW(g->at, g->room, g->n + 1);
    g->at[g->n++] = o;
}

/* Adds a row, or a row for each of the names in it. */
static void add_rows(struct growing *g, const struct option_spec *o) {
    bool rest = !strcmp(o->name, ARGS_REST);
    if (!rest && !strchr(o->name, ' ')) {
        add_row(g, *o);
        return;
    }
    for (size_t i = 0; i < option_count() && rest; i++)
        if (option_at(i)->name && !has(g->at, g->n, option_at(i)->name))
            add_row(g, (struct option_spec){ .name = option_at(i)->name, .fills = FILLS_CONFIG });
    char *copy = xstrdup(rest ? "" : o->name), *names = copy, *name;
    while (*copy && (name = strsep(&names, " "))) {
        const struct option_spec *shared = find_in(SHARED, name);
        const char *known = o->fills == FILLS_CONFIG ? config_option_name(name)
                            : shared                 ? shared->name
                                                     : NULL;
        BUG_IF(!known);
        add_row(g, (struct option_spec){ .name = known, .fills = o->fills, .needs = o->needs });
    }
    free(copy);
}

struct option_spec *args_table(const struct verb *v, const struct run_config *defaults) {
    struct growing g = { .defaults = defaults };
    for (const struct option_spec *o = v->options; o && o->name; o++) add_rows(&g, o);
    GROW(g.at, g.room, g.n + 1);
    g.at[g.n] = (struct option_spec){ NULL };
    return g.at;
}

/* ---- verbs and help ---- */

const struct verb *verb_find(const char *name) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++)
        if (!strcmp(v->name, name)) return v;
    return NULL;
}

int verb_unknown(const char *word, struct err *e) {
    const char *names[64];
    size_t n = 0;
    for (const struct verb *v; n < COUNT_OF(names) && (v = verb_at(n)); n++) names[n] = v->name;
    const char *near = text_nearest(word, names, n);
    if (!strcmp(word, "bench"))
        return err_set(e, ERR_USAGE,
                       "unknown verb \"bench\"; run the benchmarks with \"make bench\" in a clone of the "
                       "project, or measure one core with \"petri doctor\"");
    if (near) return err_set(e, ERR_USAGE, "unknown verb \"%s\"; did you mean %s?", word, near);
    return err_set(e, ERR_USAGE, "unknown verb \"%s\"; see petri --help", word);
}

const struct option_spec *args_common(void) { return COMMON; }

static void print_option(const struct option_spec *o) {
    char left[128];
    snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    /* padded by columns, not bytes; a long name has a line of its own */
    int gap = OPTION_COLUMNS - text_width(left);
    if (gap < 0) printf("  %s\n%*s%s\n", left, OPTION_COLUMNS + 3, "", o->help);
    else printf("  %s%*s %s\n", left, gap, "", o->help);
}

/* Long tables are printed with a heading for each group. */
void args_help_verb(const struct verb *v) {
    const struct option_spec *lists[] = { v->options, COMMON };
    size_t n = 0;
    printf("petri%s%s %s\n%s\n", *v->name ? " " : "", v->name, v->synopsis, v->help);
    while (v->options && v->options[n].name) n++;
    for (int g = n > MANY_OPTIONS ? GROUP_RUN : OPTION_GROUPS; g <= OPTION_GROUPS; g++) {
        bool any = false;
        for (size_t i = 0; i < COUNT_OF(lists); i++)
            for (const struct option_spec *o = lists[i]; o && o->name; o++) {
                if (g < OPTION_GROUPS ? (int)o->group != g : n > MANY_OPTIONS) continue;
                if (!any && g < OPTION_GROUPS) printf("\n%s:\n", option_group_name((enum option_group)g));
                else if (!any) putchar('\n');
                any = true;
                print_option(o);
            }
    }
}

/* The overview: related verbs share a line, so that it fits on a screen. */
static const struct {
    const char *verbs, *help;
} OVERVIEW[] = {
    { "train, stop, resume", "Train a method on a task and record the run" },
    { "pretrain, fetch", "Pretrain a small model; fetch a published one" },
    { "adapt, fewshot", "Few-shot adaptation to new tasks" },
    { "runs, show, watch, sql", "List runs, inspect one, watch its curves, query SQL" },
    { "name, tag, note", "Name, tag and annotate runs" },
    { "trash, restore, purge", "Move runs to the trash, restore them, delete them" },
    { "eval, predict", "Evaluate or predict with a run or a model" },
    { "generate, chat, encode", "Generate text; chat with a model; encode a text" },
    { "count, methods", "Count the parameters of a method; list methods" },
    { "explain, learn", "Explain a method; learn with interactive lessons" },
    { "tasks, models, settings", "List tasks and models; show or change settings" },
    { "embed, map, similarity", "Embed examples, map them, compare representations" },
    { "export, import", "Export runs and adapters; import adapters" },
    { "merge, merge-adapters", "Merge databases; merge the adapters of runs" },
    { "sweep, compare", "Sweep over lists of values; compare runs" },
    { "replicate", "Replicate an experiment of a paper" },
    { "plot, render", "Plot curves of runs, or render a screen, as SVG" },
    { "doctor", "Check processor, kernels, terminal and database" },
};

void args_help(void) {
    printf("petri: compose, train, watch and compare parameter-efficient fine-tuning.\n"
           "petri alone opens the terminal workbench; petri VERB:\n");
    for (size_t i = 0; i < COUNT_OF(OVERVIEW); i++)
        printf("  %-26s %s\n", OVERVIEW[i].verbs, OVERVIEW[i].help);
    printf("\nAlone:");
    for (const struct option_spec *o = verb_alone()->options; o->name; o++) printf(" --%s", o->name);
    printf(".\npetri help VERB|WORD shows or searches help.  Common options: --db FILE, --json.\n");
}
