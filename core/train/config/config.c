#include "core/train/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/arch.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"

void config_init(struct run_config *c) {
    *c = (struct run_config){
        .method = preset_find("lora")->method,
        .regression = -1,
        .seed = 1,
        .batch = 32,
        .accumulate = 1,
        .epochs = 3,
        .max_len = USUAL_LENGTH,
        .prefix = true,
        .max_target = 128,
        .beams = 1,
        .samples = 6,
        .sample_every = 50,
        .keep = KEEP_BEST | KEEP_LAST,
        .embed_rows = 200,
        .join_memory = 1024,
        .cache_limit = 4096,
        .mix = 0.25,
        .distil_logits = 1,
        .distil_hidden = 1,
        .shards = 4,
        .precision = PRECISION_AUTO,
        .optimizer = OPTIMIZER_ADAMW,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .clip = 1,
        .schedule = SCHEDULE_LINEAR,
        .dropout = -1,
    };
}

/* Copies the tasks; those of `to` are not freed. */
static void copy_tasks(struct run_config *to, const struct run_config *from) {
    to->tasks = from->tasks;
    to->of = from->tasks ? xcalloc((size_t)from->tasks, sizeof *to->of) : NULL;
    for (int i = 0; i < from->tasks; i++) config_copy(&to->of[i], &from->of[i]);
}

void config_copy(struct run_config *to, const struct run_config *from) {
    *to = *from;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (o->kind != OPTION_TEXT) continue;
        *option_member(to, o) = NULL;
        option_copy(to, from, o);
    }
    copy_tasks(to, from);
}

void config_drop_tasks(struct run_config *c) {
    for (int i = 0; i < c->tasks; i++) config_release(&c->of[i]);
    free(c->of);
    c->of = NULL;
    c->tasks = 0;
}

void config_release(struct run_config *c) {
    for (size_t i = 0; i < option_count(); i++)
        if (option_at(i)->kind == OPTION_TEXT) free(*option_member(c, option_at(i)));
    config_drop_tasks(c);
    *c = (struct run_config){ 0 };
}

/* ---- options ---- */

static int config_unknown_option(const char *name, struct err *e) {
    const char *names[256];
    size_t n = 0;
    for (size_t i = 0; i < option_count(); i++)
        option_add_names(option_at(i)->name, option_at(i)->aliases, names, COUNT_OF(names), &n);
    const char *near = text_nearest(name, names, n);
    if (near)
        return err_set(e, ERR_USAGE, "unknown option --%s; did you mean --%s?", name,
                       config_option_name(near));
    return err_set(e, ERR_USAGE, "unknown option --%s", name);
}

/* Returns a hint for a value that looks like a list, a range or a number with a decimal comma; caller
 * frees. */
static char *config_list_hint(const struct option *o, const char *name, const char *value) {
    int64_t whole[64];
    double v;
    char *copy = xstrdup(value), *inside = text_trim(copy), *hint = NULL;
    bool range = strstr(inside, "..") != NULL, braces = *inside == '{' && text_ends(inside, "}");
    bool several = range || braces || strchr(inside, ',');
    if (braces) {
        inside[strlen(inside) - 1] = '\0';
        inside++;
    }
    char *comma = strchr(inside, ',');
    bool point = !braces && comma && comma == inside + 1 && *inside == '0' &&
                 (o->kind == OPTION_DOUBLE || o->kind == OPTION_SHARE);
    if (point && (*comma = '.', text_to_double(inside, &v)))
        hint = xprintf("; use a decimal point: %s", inside);
    else if (several && !strcmp(o->name, "seed")) hint = xprintf("; use --seeds %s", inside);
    else if (several && o->kind != OPTION_TEXT && o->kind != OPTION_METHOD)
        hint = xprintf(
            "; to try several values use petri sweep --%s '{%s%s}'", name, inside,
            range && !strchr(inside, ':') && text_to_ints(inside, whole, COUNT_OF(whole)) < 0 ? ":5" : "");
    free(copy);
    return hint ? hint : xstrdup("");
}

/* Sets *e for an invalid value; `name` is the spelling that was given. */
static int config_refused(const struct option *o, const char *name, const char *value, struct err *e) {
    char *must = option_values(o), *hint = config_list_hint(o, name, value);
    size_t words = 0;
    while (o->word && o->word[words]) words++;
    const char *near = words ? text_nearest(value, o->word, words) : NULL;
    if (!*value) err_set(e, ERR_USAGE, "--%s: empty value; must be %s", name, must);
    else if (near) err_set(e, ERR_USAGE, "--%s %s: must be %s; did you mean %s?", name, value, must, near);
    else err_set(e, ERR_USAGE, "--%s %s: must be %s%s", name, value, must, hint);
    free(must);
    free(hint);
    return e->code;
}

int config_set(struct run_config *c, const char *name, const char *value, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    const struct option *o = option_find(name), *in = option_find("weights-in");
    if (!o) return config_unknown_option(name, e);
    /* --weights file is --weights-in file; other values are weights of tasks */
    if (o->offset == offsetof(struct run_config, weights) && option_take_value(c, in, value)) return 0;
    bool regime = o->offset == offsetof(struct run_config, regime);
    bool own_error = o->parser || o->kind == OPTION_METHOD;
    if (regime && !strcmp(value, "default")) option_reset(c, o);
    else if (!option_take(c, o, value, e))
        return own_error && *value ? e->code : config_refused(o, name, value, e);
    if (regime) stages_tell(c);
    if (o->offset == offsetof(struct run_config, steps)) c->epochs = 0;
    if (o->offset == offsetof(struct run_config, epochs)) c->steps = 0;
    return 0;
}

void config_take_length(struct run_config *c, const struct arch *a) {
    if (!c->max_len_given && (c->max_len == USUAL_LENGTH || c->max_len == USUAL_CAUSAL_LENGTH))
        c->max_len = a->causal ? USUAL_CAUSAL_LENGTH : USUAL_LENGTH;
}

void config_put(struct run_config *c, const char *name, const char *value) {
    const struct option *o = option_find(name);
    if (!value) option_reset(c, o);
    else if (!option_take(c, o, value, NULL)) BUG("--%s: invalid value \"%s\"", name, value);
}

char *config_get(const struct run_config *c, const char *name) {
    const struct option *o = option_find(name);
    return o ? option_print(c, o) : NULL;
}

const char *config_option_name(const char *spelling) {
    const struct option *o = option_find(spelling);
    return o ? o->name : NULL;
}

/* ---- comparing and copying ---- */

const char *config_difference(const struct run_config *a, const struct run_config *b) {
    for (size_t i = 0; i < option_count(); i++)
        if ((option_at(i)->is & OPTION_DECIDES) && !option_same(a, b, option_at(i)))
            return option_at(i)->name;
    if (a->tasks != b->tasks) return "tasks";
    for (int i = 0; i < a->tasks; i++) {
        bool named = !strcmp(a->of[i].task_name, b->of[i].task_name);
        if (!named || a->of[i].task_weight != b->of[i].task_weight || config_difference(&a->of[i], &b->of[i]))
            return "tasks";
    }
    return NULL;
}

static void key_text(const struct run_config *c, struct buf *b) {
    const char *const hash[] = { c->model_sha256, c->model_facts, c->train_sha256, c->dev_sha256,
                                 c->task_name };
    for (size_t i = 0; i < COUNT_OF(hash); i++) buf_printf(b, "%s\n", hash[i] ? hash[i] : "");
    for (size_t i = 0; i < option_count(); i++) {
        if (!(option_at(i)->is & OPTION_DECIDES) || option_is_left_out(c, option_at(i))) continue;
        char *value = option_print(c, option_at(i));
        buf_printf(b, "%s %zu:%s\n", option_at(i)->key, strlen(value), value);
        free(value);
    }
    buf_printf(b, "%d %.17g\n", c->official_dev, c->task_weight);
    if (c->second_dev_sha256) buf_printf(b, "second dev %s\n", c->second_dev_sha256);
    if (c->episodes_sha256) buf_printf(b, "episodes %s\n", c->episodes_sha256);
    for (int i = 0; i < c->tasks; i++) key_text(&c->of[i], b);
}

void config_key(const struct run_config *c, char out[65]) {
    struct buf b = BUF_INIT;
    key_text(c, &b);
    sha256_hex(buf_text(&b), b.size, out);
    buf_release(&b);
}

char *config_data_key(const struct run_config *c) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < option_count(); i++) {
        if (!(option_at(i)->is & (OPTION_ROWS | OPTION_READ))) continue;
        char *value = option_print(c, option_at(i));
        buf_printf(&b, "%s %zu:%s\n", option_at(i)->key, strlen(value), value);
        free(value);
    }
    return buf_take(&b);
}

static void reset(struct run_config *c, int which) {
    for (size_t i = 0; i < option_count(); i++)
        if (option_at(i)->is & which) option_reset(c, option_at(i));
    if (which & OPTION_ROWS) config_drop_tasks(c);
}

void config_take_task(struct run_config *c, const char *task) {
    char *copy = xstrdup(task);
    reset(c, OPTION_ROWS);
    c->task = copy;
    if (c->form == FORM_MASKED) c->form = FORM_AUTO; /* the form follows from the data */
}

void config_take_model(struct run_config *c, const char *model) {
    char *copy = xstrdup(model);
    reset(c, OPTION_MODEL);
    c->model = copy;
    if (c->form != FORM_MASKED) c->form = FORM_AUTO;
}

static void config_take_part(struct run_config *c, const struct run_config *from, int which) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (o->is & which) option_copy(c, from, o);
    }
}

void config_take_data(struct run_config *c, const struct run_config *from) {
    config_take_part(c, from, OPTION_ROWS);
    if (from->form == FORM_MASKED) c->form = FORM_MASKED;
    else if (c->form == FORM_MASKED) c->form = FORM_AUTO;
    config_drop_tasks(c);
    copy_tasks(c, from);
}

void config_take_source(struct run_config *c, const struct run_config *from) {
    config_take_part(c, from, OPTION_MODEL);
    c->form = from->form;
    config_take_data(c, from);
}

bool config_same_source(const struct run_config *a, const struct run_config *b) {
    for (size_t i = 0; i < option_count(); i++)
        if ((option_at(i)->is & (OPTION_MODEL | OPTION_ROWS)) && !option_same(a, b, option_at(i)))
            return false;
    if (a->tasks != b->tasks) return false;
    for (int i = 0; i < a->tasks; i++)
        if (!config_same_source(&a->of[i], &b->of[i])) return false;
    return true;
}

int config_parse_seeds(const char *text, uint64_t *seed, int room, struct err *e) {
    int64_t *v = xcalloc((size_t)room, sizeof *v), twice = -1;
    int n = text_to_ints(text, v, room);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            if (v[i] == v[k]) twice = v[i];
        seed[i] = (uint64_t)v[i];
        if (v[i] < 0) n = -1;
    }
    free(v);
    if (n > 0 && twice >= 0)
        return err_set(e, ERR_USAGE, "--seeds %s: duplicate seed %lld: the same seed gives the same run",
                       text, (long long)twice);
    if (n < 1)
        return err_set(e, ERR_USAGE, "--seeds %s: must be up to %d non-negative integers, for example 1,2,3 "
                                     "or 1..3", text,
                       room);
    return n;
}
