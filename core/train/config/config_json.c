/* Conversion of a config to and from JSON (config.h), by the table of options. */
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"

static const char config_json_config_name[] = "the run's config";

static bool is_string(const struct option *o) {
    return o->kind == OPTION_METHOD || o->kind == OPTION_TEXT || o->kind == OPTION_KEEP || o->word != NULL;
}

static void add_config(struct buf *b, const struct run_config *c, int only);

static void config_json_add_tasks(struct buf *b, const struct run_config *c) {
    json_open(b, "tasks", '[');
    for (int i = 0; i < c->tasks; i++) {
        if (i) buf_putc(b, ',');
        add_config(b, &c->of[i], OPTION_ROWS);
    }
    buf_putc(b, ']');
}

/* only: OPTION_ bits of the options to write; 0: all. */
static void add_config(struct buf *b, const struct run_config *c, int only) {
    buf_putc(b, '{');
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (only && !(o->is & only)) continue;
        if ((only || !c->tasks) && o->scope == OPTION_OF_TASKS) continue;
        if ((only || !config_has_join(c)) && o->scope == OPTION_OF_JOIN) continue;
        if (o->scope == OPTION_OF_META && (only || !config_is_meta(c))) continue;
        if (option_is_left_out(c, o) || (o->scope == OPTION_OF_SHARED && (only || !c->share_frozen)))
            continue;
        bool none = o->kind == OPTION_TEXT && !option_text(c, o);
        bool off = o->kind == OPTION_FLAG && !option_number(c, o);
        if ((none || off) && (o->is & OPTION_RARE)) continue;
        if (option_is_length(o) && !c->max_len_given && c->max_len == USUAL_LENGTH) continue;
        char *s = option_print(c, o);
        if (is_string(o)) {
            json_member_string(b, o->key, none ? NULL : s);
        } else if (o->kind == OPTION_SHARE || (o->has_unset && option_number(c, o) == o->unset)) {
            json_member_double(b, o->key, option_number(c, o));
        } else {
            json_add_key(b, o->key);
            buf_puts(b, s);
        }
        free(s);
    }
    if (!only && c->tasks) config_json_add_tasks(b, c);
    buf_putc(b, '}');
}

char *config_json(const struct run_config *c) {
    struct buf b = BUF_INIT;
    add_config(&b, c, 0);
    return buf_take(&b);
}

static int config_json_wrong(const struct option *o, const char *value, struct err *e) {
    char *must = option_values(o);
    err_set(e, ERR_INPUT, "%s: \"%s\": invalid value \"%s\"; must be %s", config_json_config_name, o->key,
            value, must);
    free(must);
    return e->code;
}

static int config_json_read_member(struct run_config *c, const struct option *o, const json_t *all,
                                   struct err *e) {
    const char *s = NULL;
    double v;
    e->code = 0;
    if (is_string(o)) {
        if (!json_get_string(all, config_json_config_name, o->key, &s, e)) return e->code;
        if (o->kind == OPTION_TEXT && !*s) return 0;
        if (option_take(c, o, s, e)) return 0;
        return o->kind == OPTION_METHOD || o->parser
            ? err_prefix(e, "%s", config_json_config_name) : config_json_wrong(o, s, e);
    }
    if (!json_get_double(all, config_json_config_name, o->key, &v, e)) return e->code;
    if (!(o->has_unset && v == o->unset) && !option_in_range(o, v)) {
        char *must = option_values(o);
        err_set(e, ERR_INPUT, "%s: \"%s\": out of range: %.10g; must be %s", config_json_config_name, o->key,
                v, must);
        free(must);
        return e->code;
    }
    option_set_number(c, o, v);
    c->max_len_given |= option_is_length(o);
    return 0;
}

/* Sets the rules by which older versions read data: the integer label -1 marked unlabeled examples, and the
 * first line was a header even where all columns were selected by number. */
static void read_rows_as_then(struct run_config *c) {
    const char *const column[] = { c->text_column, c->source_column };
    if (c->regression == 0) c->no_gold = xstrdup("-1");
    for (size_t i = 0; i < COUNT_OF(column); i++) c->header = c->header || (column[i] && column[i][0] == '#');
}

static int config_json_read_tasks(struct run_config *c, const json_t *list, struct err *e) {
    if (!list) return 0;
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n < 2 || n > RUN_TASKS)
        return err_set(e, ERR_INPUT, "%s: \"tasks\" must be an array of 2 to %d tasks",
                       config_json_config_name, RUN_TASKS);
    c->of = xcalloc(n, sizeof *c->of);
    for (size_t k = 0; k < n; k++) {
        struct run_config *of = &c->of[c->tasks++];
        config_init(of);
        for (size_t i = 0; i < option_count(); i++)
            if (option_at(i)->is & OPTION_ROWS &&
                config_json_read_member(of, option_at(i), json_array_get(list, k), e))
                return e->code;
        if (!of->task_name)
            return err_set(e, ERR_INPUT, "%s: \"tasks\": a task has no \"task_name\"",
                           config_json_config_name);
    }
    return 0;
}

int config_from_json(const char *json, size_t n, struct run_config *out, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    config_init(out);
    json_t *all = json_parse(config_json_config_name, json, n, e);
    if (!all) return e->code;
    int rc = json_is_object(all) ? 0 : err_set(e, ERR_INPUT, "%s: not a JSON object",
                                               config_json_config_name);
    out->epochs = 0;
    out->form = FORM_CLASSES; /* older versions had no other form */
    out->precision = PRECISION_F32; /* nor another precision */
    for (size_t i = 0; i < option_count() && !rc; i++)
        rc = config_json_read_member(out, option_at(i), all, e);
    if (!rc) rc = config_json_read_tasks(out, json_object_get(all, "tasks"), e);
    /* older versions did not record this */
    if (!rc && !json_object_get(all, "official_dev"))
        out->official_dev = out->dev_file && text_ends(out->dev_file, "/dev_official.tsv");
    if (!rc && !json_object_get(all, "no_gold")) read_rows_as_then(out);
    json_decref(all);
    if (rc) config_release(out);
    return rc;
}
