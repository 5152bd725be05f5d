/* The options of the run in Compose: rows of the table of options (core/train/config/option.h), in the order
 * in which h and l walk them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"
#include "core/text/chat.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"
#include "core/train/config/sampling.h"
#include "views/compose_edit.h"
#include "views/ui_parts.h"

/* How j and k move a number: 1, 2, 5, 10 …; powers of two; by one; by a twentieth or a hundredth. */
enum stride { STRIDE_125, STRIDE_DOUBLE, STRIDE_ONE, STRIDE_TWENTIETH, STRIDE_HUNDREDTH };

/* Those that come first, always shown, with a shorter name and more to say; other rows follow in the table's
 * order, shown where they are not at their default. */
static const struct shown {
    const char *name, *label;
    enum stride stride;
    const char *none; /* shown for 0 or an empty value */
    const char *says; /* NULL: the table's help */
} views_compose_option_shown[] = {
    { "lr", "lr", STRIDE_125, NULL, NULL },
    { "batch", "batch", STRIDE_DOUBLE, NULL, "Batch size: examples per step." },
    { "epochs", "epochs", STRIDE_ONE, "\u2013", "Number of training epochs." },
    { "steps", "steps", STRIDE_125, "\u2013", "Number of training steps; replaces epochs." },
    { "seed", "seed", STRIDE_ONE, NULL,
      "Random seed of initialization, example order and dropout; the same seed gives identical results." },
    { "regime", "regime", STRIDE_ONE, NULL,
      "Training regime: single (one task), multi (several tasks together) or meta (over episodes; "
      "docs/meta.md)." },
    { "max-length", "seq len", STRIDE_DOUBLE, NULL,
      "Maximum sequence length in tokens; longer inputs are truncated." },
    { "schedule", "schedule", STRIDE_ONE, NULL, "Learning rate schedule: linear, cosine or constant." },
    { "warmup", "warmup", STRIDE_HUNDREDTH, NULL,
      "Warm-up: number of steps, or share of all steps if below 1." },
    { "weight-decay", "decay", STRIDE_125, NULL, "Weight decay of the matrices (decoupled)." },
    { "eval-steps", "eval every", STRIDE_125, "epoch", "Steps between evaluations." },
    { "embed-every", "embed", STRIDE_125, "never",
      "Steps between recorded embeddings of validation examples, played in Map (p); 0 disables." },
    { "max-target", "target", STRIDE_DOUBLE, NULL,
      "Maximum target length in tokens, including the end token; longer targets are truncated." },
    { "smoothing", "smoothing", STRIDE_TWENTIETH, NULL,
      "Label smoothing: share of the loss spread over the vocabulary." },
    /* other options with strides other than 1, 2, 5 */
    { "dropout", NULL, STRIDE_TWENTIETH, NULL, NULL },
    { "split", NULL, STRIDE_TWENTIETH, NULL, NULL },
    { "split-seed", NULL, STRIDE_ONE, NULL, NULL },
    { "gradient-accumulation-steps", NULL, STRIDE_ONE, NULL, NULL },
    { "early-stop", NULL, STRIDE_ONE, "never", NULL },
    { "shards", NULL, STRIDE_ONE, NULL, NULL },
    { "beams", NULL, STRIDE_ONE, NULL, NULL },
    { "samples", NULL, STRIDE_ONE, NULL, NULL },
    { "momentum", NULL, STRIDE_HUNDREDTH, NULL, NULL },
    { "beta1", NULL, STRIDE_HUNDREDTH, NULL, NULL },
    { "beta2", NULL, STRIDE_HUNDREDTH, NULL, NULL },
};

static const struct shown *shown_of(const struct option *o) {
    for (size_t i = 0; i < COUNT_OF(views_compose_option_shown); i++)
        if (!strcmp(views_compose_option_shown[i].name, o->name)) return &views_compose_option_shown[i];
    return NULL;
}

static bool comes_first(const struct option *o) {
    const struct shown *s = shown_of(o);
    return s && s->label;
}

const char *option_label(const struct option *o, bool *first) {
    const struct shown *s = shown_of(o);
    *first = s && s->label;
    return *first ? s->label : o->name;
}

/* Returns whether the option is listed: not the method, nor model and data files, which T selects. */
static bool is_here(const struct compose_view *v, const struct option *o) {
    static const char *const of_rows[] = {
        "split", "split-seed", "limit", "limit-seed", "metric", "positive"
    };
    bool rows = false;
    bool texts = compose_targets(v);
    if (o->scope == OPTION_OF_TASKS) return v->config.tasks > 0 || !strcmp(o->name, "tasks");
    if (!o->name || o->kind == OPTION_METHOD || !option_has_say(&v->config, o, texts)) return false;
    if (v->config.tasks && option_of_one_task(o)) return false;
    for (size_t i = 0; i < COUNT_OF(of_rows); i++) rows = rows || !strcmp(o->name, of_rows[i]);
    return rows || !(o->is & (OPTION_MODEL | OPTION_ROWS));
}

static enum option_group group_of(const struct option *o) { return comes_first(o) ? GROUP_RUN : o->group; }

/* Options of multi-task runs that come first. */
static const char *const together[] = { "tasks", "sampling" };

static bool is_first_of_tasks(const struct compose_view *v, const struct option *o) {
    for (size_t k = 0; k < COUNT_OF(together) && v->config.tasks; k++)
        if (!strcmp(o->name, together[k])) return true;
    return false;
}

static void compose_option_add(struct compose_view *v, const struct option *o) {
    BUG_IF(v->options == COMPOSE_OPTIONS);
    v->row[v->options++] = o;
}

void compose_list_options(struct compose_view *v) {
    v->options = 0;
    for (size_t k = 0; k < COUNT_OF(together) && v->config.tasks; k++)
        compose_option_add(v, option_find(together[k]));
    for (size_t k = 0; k < COUNT_OF(views_compose_option_shown); k++) {
        const struct option *o = option_find(views_compose_option_shown[k].name);
        if (views_compose_option_shown[k].label && is_here(v, o)) compose_option_add(v, o);
    }
    for (int g = 0; g < OPTION_GROUPS; g++)
        for (size_t k = 0; k < option_count(); k++) {
            const struct option *o = option_at(k);
            if (!o->name || group_of(o) != (enum option_group)g) continue;
            if (is_here(v, o) && !comes_first(o) && !is_first_of_tasks(v, o)) compose_option_add(v, o);
        }
}

static const struct option *row(const struct compose_view *v, int i) {
    if (i < 0 || i >= v->options) BUG("option row %d does not exist", i);
    return v->row[i];
}

int compose_option_count(const struct compose_view *v) { return v->options; }

const char *compose_option_name(const struct compose_view *v, int i) { return row(v, i)->name; }

int compose_option_find(const struct compose_view *v, const char *name) {
    for (int i = 0; i < v->options; i++)
        if (!strcmp(v->row[i]->name, name)) return i;
    return -1;
}

bool compose_option_shown(const struct compose_view *v, int i) {
    const struct option *o = row(v, i);
    struct run_config usual;
    if (!strcmp(o->name, "epochs")) return v->config.epochs > 0;
    if (!strcmp(o->name, "steps")) return v->config.steps > 0;
    if (comes_first(o) || is_first_of_tasks(v, o)) return true;
    config_init(&usual);
    bool moved = !option_same(&v->config, &usual, o);
    config_release(&usual);
    return moved;
}

enum option_group compose_option_group(const struct compose_view *v, int i) {
    return is_first_of_tasks(v, row(v, i)) ? GROUP_TASKS : group_of(row(v, i));
}

/* Options that differ from their default remain visible. */
bool compose_option_folded(const struct compose_view *v, int i) {
    return v->folded[compose_option_group(v, i)] && !compose_option_shown(v, i);
}

const char *option_name(const struct compose_view *v, int i) {
    bool first;
    return option_label(row(v, i), &first);
}

/* Returns the value of a text option: tasks by their names, and the default of an empty value. */
static struct phrase text_option(const struct run_config *c, const struct option *o) {
    struct buf b = BUF_INIT;
    const char *text = option_text(c, o);
    if (o->offset == offsetof(struct run_config, tasks_given))
        for (int i = 0; i < c->tasks; i++) buf_printf(&b, "%s%s", i ? "," : "", c->of[i].task_name);
    else if (text) buf_puts(&b, text);
    else if (o->offset == offsetof(struct run_config, regime)) /* its parts are separate options */
        buf_puts(&b, regime_kind_name(config_is_meta(c) ? REGIME_META
                                      : c->tasks        ? REGIME_MULTI
                                                        : REGIME_SINGLE));
    else if (o->offset == offsetof(struct run_config, sampling)) buf_puts(&b, "proportional");
    struct phrase out = phrase("%.63s", b.size ? buf_text(&b) : "none");
    if (b.size >= 64) snprintf(out.text + 58, 6, "\u2026"); /* the command line shows all of it */
    buf_release(&b);
    return out;
}

bool compose_seeds(struct compose_view *v, const char *text, char why[200]) {
    struct err e = ERR_INIT;
    uint64_t seed[COMPOSE_SEEDS];
    int n = config_parse_seeds(text, seed, COMPOSE_SEEDS, &e);
    if (n < 1) {
        snprintf(why, 200, "%.199s", e.text);
        return false;
    }
    compose_push(v, NULL);
    memcpy(v->seed, seed, (size_t)n * sizeof *seed);
    v->seeds = n > 1 ? n : 0;
    v->config.seed = seed[0];
    v->walking = false;
    compose_changed(v);
    return true;
}

/* Returns as many seeds as fit: "1,2,3". */
static struct phrase seeds_value(const struct compose_view *v) {
    struct phrase out = { "" };
    for (int i = 0; i < v->seeds && strlen(out.text) + 24 < 64; i++)
        phrase_add(&out, "%s%llu", i ? "," : "", (unsigned long long)v->seed[i]);
    return out;
}

bool option_enter(struct run_config *c, const char *name, const char *text, char why[200]) {
    const struct option *o = option_find(name);
    if (o && o->kind == OPTION_TEXT && o->scope != OPTION_OF_TASKS && strcmp(name, "regime") &&
        (!*text || !strcmp(text, "default") || !strcmp(text, "none"))) {
        option_reset(c, o);
        return true;
    }
    struct err e = ERR_INIT;
    int rc = 0;
    char sampling[48];
    if (!strcmp(name, "tasks")) rc = config_take_tasks(c, text, &e);
    else if (!strcmp(name, "weights")) rc = config_take_weights(c, text, &e);
    else rc = config_set(c, name, text, &e);
    if (!rc && !strcmp(name, "sampling")) {
        sampling_text(&c->sampling->how, sampling);
        config_put(c, name, sampling);
    }
    if (rc) snprintf(why, 200, "%.199s", e.text);
    else config_copy_each(c);
    return !rc;
}

struct phrase option_value(const struct compose_view *v, int i) {
    const struct option *o = row(v, i);
    return v->seeds && !strcmp(o->name, "seed") ? seeds_value(v) : option_value_of(&v->config, o);
}

struct phrase option_value_of(const struct run_config *c, const struct option *o) {
    const struct shown *s = shown_of(o);
    double number = 0;
    if (o->kind == OPTION_TEXT) return text_option(c, o);
    char *text = option_print(c, o);
    bool is_number = text_to_double(text, &number), short_one = s && s->stride == STRIDE_125;
    bool none = s && s->none && (!*text || (is_number && number == 0));
    bool automatic = o->offset == offsetof(struct run_config, precision) && c->precision == PRECISION_AUTO;
    struct phrase value = none                                                    ? phrase("%s", s->none)
                          : is_number && o->kind == OPTION_DOUBLE && short_one ? show_short(number)
                          : automatic ? phrase("%s (%s)", text, o->word[precision_resolved(c->precision)])
                                                                               : phrase("%.63s", text);
    free(text);
    return value;
}

struct phrase option_says(const struct compose_view *v, int i) {
    const struct option *o = row(v, i);
    const struct shown *s = shown_of(o);
    if (strcmp(o->name, "lr")) return phrase("%s", s && s->says ? s->says : o->help);
    const char *why;
    double lr = config_default_lr(&v->config.method, &why);
    return lr == v->config.lr ? phrase("Learning rate; this is the default (%s).", why)
                              : phrase("Learning rate. The default is %s (%s); enter default to use it.",
                                      show_short(lr).text, why);
}

/* ---- j and k ---- */

/* Returns the next value of 1, 2, 5, 10, … */
static double next_125(double value, bool up) {
    double ten = pow(10, floor(log10(value) + 1e-9)), lead = value / ten;
    if (up) return (lead < 1.99 ? 2 : lead < 4.99 ? 5 : 10) * ten;
    return lead > 5.01 ? 5 * ten : lead > 2.01 ? 2 * ten : lead > 1.01 ? ten : ten / 2;
}

double next_double(double value, bool up) {
    double power = 1;
    if (up) {
        while (power <= value) power *= 2;
        return power;
    }
    while (power * 2 < value) power *= 2;
    return power;
}

static double stepped(const struct option *o, enum stride how, double v, bool up) {
    double most = how == STRIDE_TWENTIETH ? 0.05 : 0.01;
    switch (how) {
    case STRIDE_DOUBLE: return next_double(v, up);
    case STRIDE_ONE: return v + (up ? 1 : -1);
    case STRIDE_TWENTIETH:
    case STRIDE_HUNDREDTH: return floor(v / 0.01 + 0.5) * 0.01 + (up ? most : -most);
    case STRIDE_125: break;
    }
    if (o->kind == OPTION_DOUBLE) return v <= 0 ? (up ? 0.01 : 0) : next_125(v, up);
    double next = v < 1 ? 20 : next_125(v, up);
    return next < 1 ? 0 : next;
}

/* Writes the next word for j or k; for checkpoints, the next of their four combinations. */
static void step_word(const struct compose_view *v, const struct option *o, bool up, char out[64]) {
    static const char *const keeps[] = { "best,last", "best", "last", "none", NULL };
    const char *const *word = o->kind == OPTION_KEEP ? keeps : o->word;
    char *now = option_print(&v->config, o);
    int n = 0, at = 0;
    for (; word[n]; n++)
        if (!strcmp(word[n], now)) at = n;
    if (o->offset == offsetof(struct run_config, form))
        n = FORM_MASKED; /* masked words need a text file instead of a task */
    snprintf(out, 64, "%s", word[(at + (up ? n - 1 : 1)) % n]);
    free(now);
}

/* Writes the next sampling rule, regime, metric or chat template; tasks and weights can only be typed. */
static void compose_option_step_text(const struct compose_view *v, const struct option *o, bool up,
                                     char out[FIELD_ROOM]) {
    char *now = option_print(&v->config, o), text[48];
    struct sampling how = config_sampling(&v->config);
    snprintf(out, FIELD_ROOM, "%s", now);
    if (o->offset == offsetof(struct run_config, sampling)) {
        if (how.rule == SAMPLING_PROPORTIONAL) how.temperature = 10;
        how.rule = (enum sampling_rule)(((int)how.rule + (up ? SAMPLING_RULES - 1 : 1)) % SAMPLING_RULES);
        sampling_text(&how, text);
        snprintf(out, FIELD_ROOM, "%s", text);
    }
    if (o->offset == offsetof(struct run_config, regime))
        snprintf(out, FIELD_ROOM, "%s", *now ? "default" : regime_kind_name(REGIME_META));
    if (o->offset == offsetof(struct run_config, metric)) {
        int at = -1;
        for (int m = 0; m < METRIC_COUNT; m++)
            if (!strcmp(now, metric_name((enum metric_id)m))) at = m;
        at = at < 0 ? (up ? METRIC_COUNT - 1 : 0) : at + (up ? -1 : 1);
        snprintf(out, FIELD_ROOM, "%s",
                 at < 0 || at >= METRIC_COUNT ? "default" : metric_name((enum metric_id)at));
    }
    if (o->offset == offsetof(struct run_config, chat_template)) {
        size_t n = 0, at = 0; /* the default comes after the last one */
        while (chat_template_at(n)) n++;
        while (at < n && strcmp(now, chat_template_at(at))) at++;
        at = (at + (up ? n : 1)) % (n + 1);
        snprintf(out, FIELD_ROOM, "%s", at < n ? chat_template_at(at) : "default");
    }
    free(now);
}

void option_step(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM]) {
    const struct option *o = row(v, i);
    const struct shown *s = shown_of(o);
    char number[32];
    if (o->kind == OPTION_TEXT) {
        compose_option_step_text(v, o, up, out);
        return;
    }
    if (o->word) {
        step_word(v, o, up, out);
        return;
    }
    enum stride how = s ? s->stride : o->kind == OPTION_DOUBLE && o->high < 1 ? STRIDE_HUNDREDTH : STRIDE_125;
    double was = option_number(&v->config, o), value;
    if (o->has_unset && was == o->unset) was = 0;
    value = stepped(o, how, was, up);
    bool back = o->unset_word && o->low == 0 && value < 0.005 && how == STRIDE_TWENTIETH;
    if (value < o->low || (o->above && value <= o->low)) value = how == STRIDE_ONE && o->above ? 1 : o->low;
    if (value > o->high) value = o->high;
    if (back && (!up || o->above)) { /* below the minimum: unset */
        snprintf(out, 64, "%s", o->unset_word);
        return;
    }
    text_from_double(value < 1e-6 ? value : floor(value * 1e9 + 0.5) / 1e9, number);
    snprintf(out, 64, "%s", number);
}
