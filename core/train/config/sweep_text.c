/* Conversion of a sweep to text, and to and from JSON. */
#include "core/train/config/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/sweep_private.h"

static void sweep_text_list_of(const struct sweep_spec *s, int axis, void *self, struct buf *out) {
    const struct sweep_axis *a = &s->axis[axis];
    char from[32], to[32];
    buf_putc(out, '{');
    if (a->range) {
        text_from_double(a->from, from);
        text_from_double(a->to, to);
        buf_printf(out, "%s..%s:%d%s", from, to, a->n, a->log ? " log" : "");
    }
    for (int i = 0; !a->range && i < a->values; i++) {
        if (i) buf_putc(out, ',');
        sweep__put_in(s, a->value[i], sweep_text_list_of, self, out);
    }
    if (!a->range && a->log) buf_puts(out, " log");
    buf_putc(out, '}');
}

char *sweep_option_text(const struct sweep_spec *s, int option) {
    struct buf b = BUF_INIT;
    sweep__put_in(s, s->option[option].text, sweep_text_list_of, NULL, &b);
    return buf_take(&b);
}

char *sweep_text(const struct sweep_spec *s) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "petri sweep");
    for (int i = 0; i < s->options; i++) {
        char *text = sweep_option_text(s, i);
        buf_printf(&b, " --%s ", s->option[i].name);
        text_shell_word(&b, text);
        free(text);
    }
    buf_puts(&b, " --seeds ");
    for (int i = 0; i < s->seeds; i++) buf_printf(&b, "%s%llu", i ? "," : "", (unsigned long long)s->seed[i]);
    if (s->draw) buf_printf(&b, " --draw %s", SWEEP_DRAW[s->draw]);
    if (s->cells) buf_printf(&b, " --cells %d", s->cells);
    if (s->draw_seed != 1) buf_printf(&b, " --draw-seed %llu", (unsigned long long)s->draw_seed);
    bool first = true;
    for (int i = 0; i < SWEEP_BUDGETS; i++) {
        char number[32];
        if (!(s->budget[i] > 0)) continue;
        text_from_double(s->budget[i], number);
        buf_printf(&b, "%s%s=%s", first ? " --budget " : ",", SWEEP_BUDGET[i], number);
        first = false;
    }
    if (s->halving) buf_puts(&b, " --halving");
    if (s->size_of) {
        buf_puts(&b, " --size-of ");
        text_shell_word(&b, s->size_of);
    }
    if (s->note) {
        buf_puts(&b, " --note ");
        text_shell_word(&b, s->note);
    }
    return buf_take(&b);
}

/* ---- JSON ---- */

static void axis_json(const struct sweep_axis *a, struct buf *out) {
    json_put(out, "{key:%s", a->key);
    if (a->range) {
        json_put(out, "from:%f,to:%f,n:%d,log:%i", a->from, a->to, a->n, a->log);
    } else {
        json_member_strings(out, "values", a->value, a->values);
        if (a->log) json_member_bool(out, "log", true);
    }
    buf_putc(out, '}');
}

void sweep_json(const struct sweep_spec *s, struct buf *out) {
    buf_puts(out, "{\"version\":1,\"base\":{");
    for (int i = 0; i < s->options; i++) json_member_string(out, s->option[i].name, s->option[i].text);
    buf_puts(out, "},\"axes\":[");
    for (int i = 0; i < s->axes; i++) axis_json(&s->axis[i], out);
    buf_puts(out, "],\"seeds\":[");
    for (int i = 0; i < s->seeds; i++)
        buf_printf(out, "%s%llu", i ? "," : "", (unsigned long long)s->seed[i]);
    buf_puts(out, "],\"draw\":{");
    json_put(out, "rule:%s,cells:%d,seed:%ju", SWEEP_DRAW[s->draw], s->cells, s->draw_seed);
    buf_puts(out, "},\"stop\":{");
    for (int i = 0; i < SWEEP_BUDGETS; i++)
        if (s->budget[i] > 0) json_member_double(out, SWEEP_BUDGET[i], s->budget[i]);
    if (s->halving) json_member_bool(out, "halving", true);
    buf_putc(out, '}');
    if (s->size_of) json_member_string(out, "size_of", s->size_of);
    if (s->note) json_member_string(out, "note", s->note);
    buf_putc(out, '}');
}

/* Returns a list item, a string or a number, as text; caller frees. NULL for other types. */
static char *item_text(const json_t *v) {
    char number[32];
    if (json_is_string(v)) return xstrdup(json_string_value(v));
    if (!json_is_number(v)) return NULL;
    text_from_double(json_number_value(v), number);
    return xstrdup(number);
}

static int read_axis(const char *name, const json_t *o, struct sweep_spec *s, struct err *e) {
    const char *key = json_string_value(json_object_get(o, "key"));
    if (!key || !*key) return err_set(e, ERR_INPUT, "%s: an axis has no \"key\"", name);
    if (s->axes == SWEEP_AXES)
        return err_set(e, ERR_INPUT, "%s: too many axes: the maximum is %d", name, SWEEP_AXES);
    for (int i = 0; i < s->axes; i++)
        if (!strcmp(s->axis[i].key, key))
            return err_set(e, ERR_INPUT, "%s: duplicate axis \"%s\"", name, key);
    struct sweep_axis *a = &s->axis[s->axes++];
    *a = (struct sweep_axis){ .key = xstrdup(key) };
    const json_t *values = json_object_get(o, "values"), *from = json_object_get(o, "from"),
                 *to = json_object_get(o, "to"), *n = json_object_get(o, "n");
    if (json_is_number(from) && json_is_number(to) && json_is_integer(n)) {
        a->from = json_number_value(from);
        a->to = json_number_value(to);
        a->log = json_is_true(json_object_get(o, "log"));
        return sweep__fill_range(a, (int)json_integer_value(n), e)
                   ? err_prefix(e, "%s: axis \"%s\"", name, key)
                   : 0;
    }
    if (!json_array_size(values) || json_array_size(values) > SWEEP_VALUES)
        return err_set(e, ERR_INPUT,
                       "%s: axis \"%s\": must have \"values\" (1 to %d), or \"from\", \"to\" and \"n\"", name,
                       key, SWEEP_VALUES);
    for (size_t i = 0; i < json_array_size(values); i++) {
        char *text = item_text(json_array_get(values, i));
        if (!text)
            return err_set(e, ERR_INPUT, "%s: axis \"%s\": a value must be a string or a number", name, key);
        sweep__add_value(a, text, strlen(text));
        free(text);
    }
    a->log = json_is_true(json_object_get(o, "log"));
    for (int i = 0; a->log && i < a->values; i++) {
        double v;
        if (!text_to_double(a->value[i], &v) || !(v > 0))
            return err_set(e, ERR_INPUT,
                           "%s: axis \"%s\": values of a logarithmic scale must be numbers above 0: \"%s\"",
                           name, key, a->value[i]);
    }
    return 0;
}

static int sweep_text_read_base(const char *name, const json_t *root, struct sweep_spec *s, struct err *e) {
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(root, "base"), key, v) {
        char *text = json_is_true(v) ? xstrdup("on") : item_text(v);
        if (!text)
            return err_set(e, ERR_INPUT, "%s: \"base\": option \"%s\" must be a string or a number", name,
                           key);
        if (s->options == SWEEP_OPTIONS)
            return free(text), err_set(e, ERR_INPUT, "%s: too many options: the maximum is %d", name,
                                       SWEEP_OPTIONS);
        s->option[s->options].name = xstrdup(key);
        s->option[s->options++].text = text;
    }
    /* an axis that no text mentions sets the option of that name */
    for (int i = 0; i < s->axes; i++) {
        char *mention = xprintf("{%s}", s->axis[i].key);
        bool found = false;
        for (int k = 0; k < s->options; k++) found |= strstr(s->option[k].text, mention) != NULL;
        for (int k = 0; k < s->axes; k++)
            for (int j = 0; k != i && !s->axis[k].range && j < s->axis[k].values; j++)
                found |= strstr(s->axis[k].value[j], mention) != NULL;
        if (found || s->options == SWEEP_OPTIONS) {
            free(mention);
            continue;
        }
        s->option[s->options].name = xstrdup(s->axis[i].key);
        s->option[s->options++].text = mention;
    }
    return 0;
}

static int read_draw(const char *name, const json_t *o, struct sweep_spec *s, struct err *e) {
    const char *rule = json_string_value(json_object_get(o, "rule"));
    json_int_t cells = json_integer_value(json_object_get(o, "cells")), seed = 1;
    if (rule && sweep_set(s, "draw", rule, e)) return err_prefix(e, "%s", name);
    if (cells < 0 || cells > SWEEP_CELLS)
        return err_set(e, ERR_INPUT, "%s: \"cells\" must be between 0 and %d", name, SWEEP_CELLS);
    s->cells = (int)cells;
    if (json_is_integer(json_object_get(o, "seed"))) seed = json_integer_value(json_object_get(o, "seed"));
    s->draw_seed = (uint64_t)seed;
    return 0;
}

static int sweep_text_read_stop(const char *name, json_t *o, struct sweep_spec *s, struct err *e) {
    const char *key;
    json_t *v;
    json_object_foreach(o, key, v) {
        int i = 0;
        if (sweep_is_flag(key) && json_is_boolean(v)) {
            s->halving = json_is_true(v);
            continue;
        }
        while (i < SWEEP_BUDGETS && strcmp(SWEEP_BUDGET[i], key) != 0) i++;
        if (i == SWEEP_BUDGETS || !json_is_number(v) || !(json_number_value(v) > 0))
            return err_set(
                e, ERR_INPUT,
                "%s: \"stop\": invalid member \"%s\"; must be runs, steps, tokens, trained or minutes with a "
                "number above 0, or halving with true or false",
                name, key);
        s->budget[i] = json_number_value(v);
    }
    return 0;
}

static int sweep_text_read_seeds(const char *name, const json_t *list, struct sweep_spec *s, struct err *e) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)json_integer_value(json_array_get(list, i)));
    int rc = b.size && sweep_set(s, "seeds", buf_text(&b), e) ? err_prefix(e, "%s", name) : 0;
    buf_release(&b);
    return rc;
}

int sweep_from_json(const char *name, const char *json, size_t n, struct sweep_spec *s, struct err *e) {
    sweep_init(s);
    json_t *root = json_parse(name, json, n, e);
    if (!root) return e->code;
    int rc = 0;
    if (json_integer_value(json_object_get(root, "version")) != 1)
        rc = err_set(e, ERR_INPUT, "%s: a sweep must be a JSON object with \"version\" 1", name);
    const json_t *axes = json_object_get(root, "axes");
    for (size_t i = 0; !rc && i < json_array_size(axes); i++)
        rc = read_axis(name, json_array_get(axes, i), s, e);
    if (!rc) rc = sweep_text_read_base(name, root, s, e);
    if (!rc) rc = sweep_text_read_seeds(name, json_object_get(root, "seeds"), s, e);
    if (!rc) rc = read_draw(name, json_object_get(root, "draw"), s, e);
    const char *size_of = json_string_value(json_object_get(root, "size_of")),
               *note = json_string_value(json_object_get(root, "note"));
    if (!rc && note) rc = sweep_set(s, "note", note, e);
    if (!rc && size_of && sweep_set(s, "size-of", size_of, e)) rc = err_prefix(e, "%s", name);
    if (!rc) rc = sweep_text_read_stop(name, json_object_get(root, "stop"), s, e);
    json_decref(root);
    if (rc) sweep_release(s);
    return rc;
}
