#include "app/verbs/palette.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/own_methods.h"
#include "app/files/settings.h"
#include "app/jobs/jobs.h"
#include "app/verbs/runs/verb_train.h"
#include "app/verbs/values.h"
#include "app/verbs/verbs.h"
#include "core/base/assets.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"
#include "core/method/space.h"
#include "core/model/model.h"
#include "core/train/config/complete.h"

/* ---- what a line does ---- */

/* Returns the kind of a line; options may override the kind of the verb.  The id or status of a sweep
 * prints. */
static enum line_kind kind_of(const struct args *a) {
    bool reads = a->help, changes = false;
    int64_t id;
    for (int i = 0; i < a->given; i++) {
        reads |= a->option[i].spec->reads;
        changes |= a->option[i].spec->changes;
    }
    if (!strcmp(a->verb->name, "sweep") && a->count)
        changes |= text_to_int(a->positional[0], &id) || !strcmp(a->positional[0], "status");
    return reads ? LINE_READS : changes ? LINE_CHANGES : a->verb->kind;
}

/* The line's words; *n of them. */
static char **palette_split(const char *line, size_t *n) {
    char **word = NULL, *one;
    size_t room = 0;
    *n = 0;
    while ((one = text_word(&line))) {
        GROW(word, room, *n + 4); /* --db and its file follow */
        word[(*n)++] = one;
    }
    return word;
}

static int palette_mean(const char *line, const char *database, struct line_meaning *out, struct err *e) {
    struct args a;
    size_t n;
    *out = (struct line_meaning){ .word = palette_split(line, &n) };
    out->words = n;
    const struct verb *v = n ? verb_find(out->word[0]) : NULL;
    char **room = xcalloc(n + 1, sizeof *room);
    int rc = !n ? err_set(e, ERR_USAGE, "empty command") : !v ? verb_unknown(out->word[0], e) : 0;
    if (!rc) rc = args_parse(&a, v, (int)n - 1, out->word + 1, room, e);
    if (!rc) {
        out->kind = kind_of(&a);
        out->why = out->kind == LINE_ELSEWHERE ? v->why : NULL;
        bool other = a.db != NULL;
        if (other && out->kind == LINE_TRAINS)
            rc = err_set(e, ERR_USAGE,
                         "--db: runs started here are stored in the open database; remove --db");
        if (!rc && !other && database) {
            out->word[out->words++] = xstrdup("--db");
            out->word[out->words++] = xstrdup(database);
        }
    }
    free(room);
    if (rc) line_meaning_release(out);
    return rc;
}

/* Reads the request of a line; `from` has the defaults, and the default learning rate is that of the given
 * method.  differs: the options that differ.  The caller calls config_release(&r->config), except after a
 * failure; room: of args_parse, the caller's. */
static int palette_request(const struct line_meaning *m, const struct run_config *from, char **room,
                           struct job_request *r, uint64_t seed[VERB_SEEDS], int *runs, struct buf *differs,
                           struct err *e) {
    struct args a;
    struct run_config base;
    int rc = args_parse(&a, verb_find("train"), (int)m->words - 1, m->word + 1, room, e);
    if (!rc && (a.workers || a.json))
        rc = err_set(e, ERR_USAGE,
                     "--workers, --json: not available inside the screens");
    if (rc) return rc;
    config_copy(&base, from);
    if (base.lr == config_default_lr(&base.method, NULL)) base.lr = 0;
    rc = verb_train_request(&a, &base, r, seed, runs, e);
    if (!rc) compose_difference(&base, &r->config, differs);
    config_release(&base);
    return rc;
}

static int palette_train(const struct line_meaning *m, const struct run_config *from, struct jobs *j,
                         int *runs, struct err *e) {
    struct job_request r;
    struct buf differs = BUF_INIT;
    uint64_t seed[VERB_SEEDS];
    char **room = xcalloc(m->words + 1, sizeof *room);
    *runs = 0;
    int rc = palette_request(m, from, room, &r, seed, runs, &differs, e);
    for (int i = 0; !rc && i < *runs; i++) {
        r.config.seed = seed[i];
        jobs_start_later(j, &r);
    }
    if (!rc) config_release(&r.config);
    buf_release(&differs);
    free(room);
    return rc;
}

/* ---- what is offered ---- */

static void offer_verbs(struct ui *ui) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++) palette_offer(&ui->palette, v->name, v->help);
}

static void offer_options(struct ui *ui, const struct verb *v) {
    const struct option_spec *lists[] = { v->options, args_common() };
    char word[64];
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct option_spec *o = lists[i]; o && o->name; o++) {
            if (!o->help) continue;
            char *note = xprintf("%s%s%s", o->value ? o->value : "", o->value ? "   " : "", o->help);
            snprintf(word, sizeof word, "--%s", o->name);
            palette_offer(&ui->palette, word, note);
            free(note);
        }
}

/* Offers published and saved methods. */
static void offer_methods_of(struct ui *ui, unsigned kinds) {
    struct own_methods own = { 0 };
    struct err ignored = ERR_INIT;
    char *path = own_methods_path(&ignored);
    for (int i = 0; i < preset_count() && kinds & VALUE_METHOD; i++)
        palette_offer(&ui->palette, preset_at(i)->name, preset_at(i)->title);
    if (path && !own_methods_read(path, &own, &ignored))
        for (int i = 0; i < own.count; i++) palette_offer(&ui->palette, own.of[i].name, own.of[i].text);
    own_methods_release(&own);
    free(path);
}

/* Takes ownership of the names. */
static void offer_assets(struct ui *ui, char **name, size_t n) {
    for (size_t i = 0; i < n; i++) palette_offer(&ui->palette, name[i], "available");
    assets_free(name, n);
}

/* Offers the files in the folder of the typed word. */
static void offer_files(struct ui *ui) {
    enum { MOST = 2000 };
    const char *typed = ui->palette.typed, *slash = strrchr(typed, '/');
    char *folder = slash ? xstrndup(typed, (size_t)(slash - typed) + 1) : xstrdup("");
    DIR *d = opendir(*folder ? folder : ".");
    struct dirent *f;
    for (int i = 0; d && i < MOST && (f = readdir(d)); i++) {
        char *path = f->d_name[0] == '.'
                         ? NULL
                         : xprintf("%s%s%s", folder, f->d_name, f->d_type == DT_DIR ? "/" : "");
        char *shown = path ? text_visible(path, strlen(path)) : NULL;
        if (path && !strcmp(path, shown) && !strpbrk(path, " '\"\\")) palette_offer(&ui->palette, path, "");
        free(path);
        free(shown);
    }
    if (d) closedir(d);
    free(folder);
}

static void offer_asset_files(struct ui *ui, const char *kind, const char *end, const char *note) {
    char **name;
    size_t n = assets_files(kind, end, &name);
    for (size_t i = 0; i < n; i++) palette_offer(&ui->palette, name[i], note);
    assets_free(name, n);
}

static void offer_metrics(struct ui *ui) {
    static const char *const kept[] = { "lr", "grad_norm" };
    for (int i = 0; i < METRIC_COUNT; i++)
        palette_offer(&ui->palette, metric_name((enum metric_id)i), "metric");
    for (size_t i = 0; i < COUNT_OF(kept); i++) palette_offer(&ui->palette, kept[i], "recorded at each step");
}

/* Offers the tags of runs. */
static void offer_tags(struct ui *ui) {
    for (int i = 0; i < ui->runs.rows; i++) {
        char *copy = xcopy(ui->runs.row[i].tags), *rest = copy, *tag;
        while ((tag = text_item(&rest))) {
            if (*tag && !strchr(tag, ' ')) palette_offer(&ui->palette, tag, "tag");
        }
        free(copy);
    }
}

/* Offers "theme=", then "theme=light". */
static void offer_setting_words(struct ui *ui) {
    for (int i = 0; i < SETTING_COUNT; i++) {
        const char *name = setting_name((enum setting)i);
        struct values v;
        char *word = xprintf("%s=", name), *one;
        values_of_option(&(struct option_spec){ .name = name, .value = setting_values((enum setting)i) }, &v);
        palette_offer(&ui->palette, word, setting_help((enum setting)i));
        for (const char *at = buf_text(&v.words);
             text_starts(ui->palette.typed, word) && (one = text_word(&at));) {
            char *whole = xprintf("%s%s", word, one);
            palette_offer(&ui->palette, whole, setting_help((enum setting)i));
            free(whole);
            free(one);
        }
        values_release(&v);
        free(word);
    }
}

/* Completes the part after the last comma of a list. */
static void begin_part(struct palette *p) {
    const char *comma = strrchr(p->typed, ',');
    if (!comma) return;
    size_t n = (size_t)(comma + 1 - p->typed);
    p->from += n;
    memmove(p->typed, comma + 1, strlen(comma + 1) + 1);
}

static void palette_offer_values(struct ui *ui, const struct values *v, const char *note) {
    const char *at = buf_text(&v->words);
    char *one;
    if (v->list) begin_part(&ui->palette);
    while ((one = text_word(&at))) {
        palette_offer(&ui->palette, one, note);
        free(one);
    }
    if (v->kinds & (VALUE_METHOD | VALUE_OWN_METHOD)) offer_methods_of(ui, v->kinds);
    char **name;
    size_t n;
    if (v->kinds & VALUE_MODEL && (n = model_names(&name))) offer_assets(ui, name, n);
    if (v->kinds & VALUE_TASK && (n = assets_names("tasks", "train.tsv", &name))) offer_assets(ui, name, n);
    if (v->kinds & VALUE_LESSON) offer_asset_files(ui, "lessons", ".lesson", "lesson");
    if (v->kinds & VALUE_EXPERIMENT) offer_asset_files(ui, "experiments", ".json", "experiment");
    if (v->kinds & VALUE_VERB) offer_verbs(ui);
    if (v->kinds & VALUE_SETTING) offer_setting_words(ui);
    if (v->kinds & VALUE_RUN) ui_offer_runs(ui);
    if (v->kinds & VALUE_SWEEP) ui_offer_sweeps(ui);
    if (v->kinds & VALUE_TAG) offer_tags(ui);
    if (v->kinds & VALUE_COLUMN) ui_offer_columns(ui, "");
    if (v->kinds & VALUE_METRIC) offer_metrics(ui);
    if (v->kinds & VALUE_FILTER) ui_offer_filter(ui);
    if (v->kinds & VALUE_FILE) offer_files(ui);
}

static void offer_value_of(struct ui *ui, const struct option_spec *o) {
    struct values v;
    values_of_option(o, &v);
    palette_offer_values(ui, &v, o->help);
    values_release(&v);
}

/* Completes ":set": names, then values. */
static void offer_settings(struct ui *ui, const char *name) {
    enum setting k = name ? setting_find(name) : SETTING_COUNT;
    for (int i = 0; !name && i < SETTING_COUNT; i++)
        palette_offer(&ui->palette, setting_name((enum setting)i), setting_help((enum setting)i));
    if (k == SETTING_COUNT) return;
    offer_value_of(
        ui, &(struct option_spec){ .name = name, .value = setting_values(k), .help = setting_help(k) });
}

/* Returns further kinds of arguments of the screens' commands of these names. */
static unsigned own_kinds(const char *word) {
    if (!strcmp(word, "models")) return VALUE_MODEL | VALUE_FILE;
    if (!strcmp(word, "tasks") || !strcmp(word, "unseen")) return VALUE_TASK | VALUE_FILE;
    return !strcmp(word, "compare") ? VALUE_FILTER : !strcmp(word, "method") ? VALUE_OWN_METHOD : 0;
}

/* Offers positional arguments. */
static void offer_positional(struct ui *ui, const struct verb *v, const char *word) {
    struct values of = { 0 };
    if (v) values_of_verb(v, &of);
    of.kinds |= own_kinds(word);
    palette_offer_values(ui, &of, v ? v->help : "");
    values_release(&of);
}

/* Returns the value of --NAME in a line, or NULL. */
static const char *line_option(const struct line_meaning *m, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 1; i < m->words; i++) {
        const char *word = m->word[i];
        if (!text_starts(word, "--") || strncmp(word + 2, name, n)) continue;
        if (word[2 + n] == '=') return word + 3 + n;
        if (!word[2 + n] && i + 1 < m->words) return m->word[i + 1];
    }
    return NULL;
}

/* Describes the training: the options of another run, or those of Compose and the differences. */
static void describe_training(struct ui *ui, const struct line_meaning *m) {
    const char *like = line_option(m, "like") ? line_option(m, "like") : line_option(m, "from");
    struct palette *p = &ui->palette;
    if (like) {
        snprintf(p->does, sizeof p->does, "trains with the options of run %.60s", like);
        return;
    }
    struct run_config c;
    struct job_request r;
    struct buf differs = BUF_INIT;
    struct err unread = ERR_INIT; /* a word that is still being typed */
    uint64_t seed[VERB_SEEDS];
    int runs;
    char **room = xcalloc(m->words + 1, sizeof *room);
    compose_config(&ui->compose, &c);
    if (!palette_request(m, &c, room, &r, seed, &runs, &differs, &unread)) config_release(&r.config);
    snprintf(p->does, sizeof p->does, "trains as on Compose%s%.200s",
             differs.size ? ", except " : "", buf_text(&differs));
    config_release(&c);
    buf_release(&differs);
    free(room);
}

static void describe_line(struct ui *ui, const char *line) {
    static const char *const words[] = { "prints on a page", "prints on a page", "",
                                         "not available inside the screens" };
    struct palette *p = &ui->palette;
    struct err e = ERR_INIT;
    struct line_meaning m;
    char first[32];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(line, " "), line);
    const struct verb *v = verb_find(first);
    if (!v && !strchr(line, ' ')) return; /* it is still being typed */
    int rc = palette_mean(line, NULL, &m, &e);
    p->refused = rc || m.kind == LINE_ELSEWHERE;
    if (rc) snprintf(p->does, sizeof p->does, "%s", e.text);
    else if (m.kind == LINE_TRAINS) describe_training(ui, &m);
    else snprintf(p->does, sizeof p->does, "%s: %s", words[m.kind], m.why ? m.why : v->help);
    if (!rc) line_meaning_release(&m);
}

static void palette_words(void *self, struct ui *ui, const char *line) {
    (void)self;
    size_t n;
    char **word = palette_split(line, &n);
    bool behind = !*ui->palette.typed; /* a new word begins */
    size_t done = behind ? n : n ? n - 1 : 0;
    const struct verb *v = done ? verb_find(word[0]) : NULL;
    const char *before = done > 1 ? word[done - 1] : "";
    const struct option_spec *o = v && text_starts(before, "--") ? args_find_option(v, before + 2) : NULL;
    if (done && !strcmp(word[0], "set")) offer_settings(ui, done > 1 ? word[1] : NULL);
    else if (!done) offer_verbs(ui);
    else if (o && o->value) offer_value_of(ui, o);
    else {
        if (*ui->palette.typed != '-') offer_positional(ui, v, word[0]);
        if (v && (behind || *ui->palette.typed == '-')) offer_options(ui, v);
    }
    for (size_t i = 0; i < n; i++) free(word[i]);
    free(word);
    describe_line(ui, line);
}

const struct session_verbs palette_verbs = { .offer = palette_words,
                                             .mean = palette_mean,
                                             .train = palette_train };
