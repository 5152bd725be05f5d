#include "app/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { FILE_MOST = 1 << 20 };

/* ---- the file ---- */

/* Reads a text member; *out is NULL when it is absent. */
static int take_text(const json_t *o, const char *file, const char *key, bool needed, char **out,
                     struct err *e) {
    const char *s = NULL;
    e->code = 0;
    if (json_get_string(o, file, key, &s, e)) *out = xstrdup(s);
    else if (e->code) return e->code;
    else if (needed) return err_set(e, ERR_INPUT, "%s: \"%s\" is missing", file, key);
    return 0;
}

static int take_number(const json_t *o, const char *file, const char *key, double usual, double *out,
                       struct err *e) {
    e->code = 0;
    *out = usual;
    json_get_double(o, file, key, out, e);
    return e->code;
}

/* Rejects unknown keys, which would otherwise be ignored silently. */
static int experiment_known_keys(const json_t *o, const char *file, const char *const *known, size_t n,
                                 struct err *e) {
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)o, key, v) {
        bool found = false;
        for (size_t i = 0; i < n; i++) found |= !strcmp(key, known[i]);
        if (found) continue;
        const char *near = text_nearest(key, known, n);
        return err_set(e, ERR_INPUT, "%s: unknown key \"%s\"%s%s%s", file, key,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    return 0;
}

static int find_cell(const struct experiment *x, const char *file, const char *id, int *at, struct err *e) {
    for (*at = 0; *at < x->cells; ++*at)
        if (!strcmp(x->cell[*at].id, id)) return 0;
    return err_set(e, ERR_INPUT, "%s: unknown cell \"%s\" (a cell must be defined before its use)", file,
                   id);
}

static int experiment_read_cell(struct experiment *x, const json_t *o, const char *file, struct err *e) {
    static const char *const known[] = { "id",    "text",      "verb",   "of",     "path",
                                         "scale", "published", "status", "source", "skip" };
    struct experiment_cell *c = &x->cell[x->cells];
    *c = (struct experiment_cell){ .of = -1, .published = NAN };
    x->cells++;
    char *of = NULL;
    int rc = experiment_known_keys(o, file, known, COUNT_OF(known), e);
    if (!rc) rc = take_text(o, file, "id", true, &c->id, e);
    if (!rc) rc = take_text(o, file, "text", true, &c->text, e);
    if (!rc) rc = take_text(o, file, "of", false, &of, e);
    if (!rc) rc = take_text(o, file, "verb", false, &c->verb, e);
    if (!rc) rc = take_text(o, file, "path", of && !c->verb, &c->path, e);
    if (!rc && c->verb && strcmp(c->verb, "fewshot") != 0)
        rc = err_set(e, ERR_INPUT, "%s: cell \"%s\": \"verb\" must be fewshot, or omitted for train", file,
                     c->id);
    if (!rc && c->verb && c->path)
        rc = err_set(e, ERR_INPUT,
                     "%s: cell \"%s\": \"path\" is not allowed: the value of a run is its best score", file,
                     c->id);
    if (!rc) rc = take_text(o, file, "status", false, &c->status, e);
    if (!rc) rc = take_text(o, file, "source", false, &c->source, e);
    if (!rc) rc = take_number(o, file, "scale", c->path ? 1 : 100, &c->scale, e);
    if (!rc) rc = take_number(o, file, "published", NAN, &c->published, e);
    e->code = rc;
    if (!rc) json_get_bool(o, file, "skip", &c->skip, e), rc = e->code;
    for (int i = 0; !rc && i < x->cells - 1; i++)
        if (!strcmp(x->cell[i].id, c->id))
            rc = err_set(e, ERR_INPUT, "%s: duplicate cell id \"%s\"", file, c->id);
    if (!rc && c->path && !of)
        rc = err_set(e, ERR_INPUT, "%s: cell \"%s\" has a \"path\" but no \"of\"", file, c->id);
    if (!rc && of) rc = find_cell(x, file, of, &c->of, e);
    if (!rc && of && x->cell[c->of].path)
        rc = err_set(e, ERR_INPUT, "%s: cell \"%s\": \"of\" must be a run, but cell \"%s\" is a measurement",
                     file, c->id, of);
    if (!rc && of && !strstr(c->text, "{run}"))
        rc = err_set(e, ERR_INPUT, "%s: cell \"%s\": \"text\" must contain {run}, the run to measure",
                     file, c->id);
    free(of);
    return rc;
}

static int read_term(struct experiment *x, const json_t *o, const char *file, struct experiment_contrast *c,
                     struct err *e) {
    char *a = NULL, *b = NULL;
    int at = c->terms, rc = 0;
    if (at == EXPERIMENT_TERMS)
        return err_set(e, ERR_INPUT, "%s: too many terms: at most %d", file, EXPERIMENT_TERMS);
    c->term[at].b = -1;
    rc = take_text(o, file, "a", true, &a, e);
    if (!rc) rc = take_text(o, file, "b", false, &b, e);
    if (!rc) rc = find_cell(x, file, a, &c->term[at].a, e);
    if (!rc && b) rc = find_cell(x, file, b, &c->term[at].b, e);
    if (!rc) rc = take_number(o, file, "x", NAN, &c->term[at].x, e);
    c->terms++;
    free(a);
    free(b);
    return rc;
}

static int read_contrast(struct experiment *x, const json_t *o, const char *file, struct err *e) {
    static const char *const known[] = { "id",        "a",      "b",         "terms", "over",
                                         "direction", "margin", "published", "source" };
    struct experiment_contrast *c = &x->contrast[x->contrasts++];
    *c = (struct experiment_contrast){ .published = NAN };
    char *direction = NULL, *over = NULL;
    int rc = experiment_known_keys(o, file, known, COUNT_OF(known), e);
    if (!rc) rc = take_text(o, file, "id", true, &c->id, e);
    if (!rc) rc = take_text(o, file, "source", false, &c->source, e);
    if (!rc) rc = take_text(o, file, "over", false, &over, e);
    if (!rc && over && strcmp(over, "tasks") != 0)
        rc = err_set(e, ERR_INPUT, "%s: \"over\" must be tasks, or omitted for seeds, not \"%.20s\"", file,
                     over);
    c->over_tasks = over != NULL;
    free(over);
    if (!rc) rc = take_text(o, file, "direction", true, &direction, e);
    if (!rc) rc = take_number(o, file, "margin", 0, &c->margin, e);
    if (!rc) rc = take_number(o, file, "published", NAN, &c->published, e);
    if (!rc && strcmp(direction, ">") && strcmp(direction, "<") && strcmp(direction, "="))
        rc = err_set(e, ERR_INPUT, "%s: \"direction\" must be \">\", \"<\" or \"=\", not \"%.20s\"", file,
                     direction);
    if (!rc) c->direction = *direction == '>' ? 1 : *direction == '<' ? -1 : 0;
    if (!rc && !c->direction && (!(c->margin > 0) || c->over_tasks))
        rc = err_set(e, ERR_INPUT,
                     "%s: contrast \"%s\": \"direction\" \"=\" requires \"margin\" above 0, without \"over\"",
                     file, c->id);
    const json_t *terms = json_object_get(o, "terms");
    if (!rc && !terms) rc = read_term(x, o, file, c, e);
    for (size_t i = 0; !rc && i < json_array_size(terms); i++) {
        rc = read_term(x, json_array_get(terms, i), file, c, e);
        if (!rc && !(c->term[i].x > 0))
            rc = err_set(e, ERR_INPUT, "%s: contrast \"%s\": each term of a slope requires an \"x\" above 0",
                         file, c->id);
    }
    if (!rc && c->over_tasks && (terms || c->term[0].b < 0))
        rc = err_set(e, ERR_INPUT, "%s: contrast \"%s\": over tasks, only \"a\" − \"b\" is supported", file,
                     c->id);
    if (!rc && terms && c->terms < 2)
        rc = err_set(e, ERR_INPUT, "%s: contrast \"%s\": a slope requires at least two terms", file, c->id);
    free(direction);
    return rc;
}

static int experiment_read_seeds(struct experiment *x, const json_t *v, const char *file, struct err *e) {
    size_t n = json_array_size(v);
    if (!n || n > EXPERIMENT_SEEDS)
        return err_set(e, ERR_INPUT, "%s: \"seeds\" must be a list of 1 to %d integers", file,
                       EXPERIMENT_SEEDS);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get(v, i);
        if (!json_is_integer(s) || json_integer_value(s) < 0)
            return err_set(e, ERR_INPUT, "%s: \"seeds\" must contain integers only", file);
        for (int k = 0; k < x->seeds; k++)
            if (x->seed[k] == (uint64_t)json_integer_value(s))
                return err_set(e, ERR_INPUT, "%s: \"seeds\": %lld is listed twice", file,
                               (long long)json_integer_value(s));
        x->seed[x->seeds++] = (uint64_t)json_integer_value(s);
    }
    return 0;
}

/* ---- tables of published results ---- */

/* A row of a table: name, values, their mean, the printed mean, status. */
static int add_reported_row(struct buf *b, const json_t *o, size_t columns, const char *file, struct err *e) {
    static const char *const known[] = { "name", "status", "values", "printed" };
    const json_t *values = json_object_get(o, "values");
    char *name = NULL, *status = NULL;
    double sum = 0, printed = NAN;
    int rc = experiment_known_keys(o, file, known, COUNT_OF(known), e);
    if (!rc) rc = take_text(o, file, "name", true, &name, e);
    if (!rc) rc = take_text(o, file, "status", true, &status, e);
    if (!rc) rc = take_number(o, file, "printed", NAN, &printed, e);
    if (!rc && json_array_size(values) != columns)
        rc = err_set(e, ERR_INPUT, "%s: \"%s\" has %zu values for %zu columns", file, name,
                     json_array_size(values), columns);
    if (!rc) buf_printf(b, "| %s |", name);
    for (size_t i = 0; !rc && i < columns; i++) {
        const json_t *v = json_array_get(values, i);
        if (!json_is_number(v))
            rc = err_set(e, ERR_INPUT, "%s: \"%s\" must contain numbers only", file, name);
        buf_printf(b, " %g |", json_number_value(v));
        sum += json_number_value(v);
    }
    if (!rc) buf_printf(b, " %.2f |", sum / (double)columns);
    if (!rc && isfinite(printed)) buf_printf(b, " %g |", printed);
    if (!rc) buf_printf(b, "%s %s |\n", isfinite(printed) ? "" : " – |", status);
    free(name);
    free(status);
    return rc;
}

static int read_reported(struct experiment *x, const json_t *o, const char *file, struct err *e) {
    static const char *const known[] = { "title", "columns", "rows" };
    const json_t *columns = json_object_get(o, "columns"), *rows = json_object_get(o, "rows");
    size_t n = json_array_size(columns);
    struct buf b = BUF_INIT;
    char *title = NULL;
    int rc = experiment_known_keys(o, file, known, COUNT_OF(known), e);
    if (!rc) rc = take_text(o, file, "title", true, &title, e);
    if (!rc && !n) rc = err_set(e, ERR_INPUT, "%s: a table of reported results requires \"columns\"", file);
    if (!rc) buf_printf(&b, "%s\n%s\n\n| method |", x->reported ? x->reported : "", title);
    for (size_t i = 0; !rc && i < n; i++) {
        const char *name = json_string_value(json_array_get(columns, i));
        if (name) buf_printf(&b, " %s |", name);
        else rc = err_set(e, ERR_INPUT, "%s: \"columns\" must be a list of names", file);
    }
    buf_puts(&b, " mean | printed | status |\n|---|");
    for (size_t i = 0; i < n + 3; i++) buf_puts(&b, "---|");
    buf_putc(&b, '\n');
    for (size_t i = 0; !rc && i < json_array_size(rows); i++)
        rc = add_reported_row(&b, json_array_get(rows, i), n, file, e);
    free(title);
    free(x->reported);
    x->reported = buf_take(&b);
    return rc;
}

typedef int reader(struct experiment *x, const json_t *o, const char *file, struct err *e);
static int experiment_read_list(struct experiment *x, const json_t *root, const char *file, const char *key,
                                reader *read, struct err *e) {
    const json_t *list = json_object_get(root, key);
    size_t n = json_array_size(list);
    if (n > EXPERIMENT_CELLS)
        return err_set(e, ERR_INPUT, "%s: too many %s: at most %d", file, key, EXPERIMENT_CELLS);
    for (size_t i = 0; i < n; i++) {
        int rc = read(x, json_array_get(list, i), file, e);
        if (rc) return rc;
    }
    return 0;
}

int experiment_read(struct experiment *x, const char *path, struct err *e) {
    static const char *const known[] = { "version", "paper", "table", "claim",     "about",
                                         "base",    "seeds", "cells", "contrasts", "reported" };
    memset(x, 0, sizeof *x);
    json_t *root = json_read(path, FILE_MOST, e);
    if (!root) return e->code;
    json_int_t version = 0;
    int rc = json_is_object(root) ? 0
                                  : err_set(e, ERR_INPUT, "%s: an experiment must be a JSON object", path);
    if (!rc) rc = experiment_known_keys(root, path, known, COUNT_OF(known), e);
    e->code = rc;
    if (!rc) json_get_int(root, path, "version", &version, e), rc = e->code;
    if (!rc && version != 1)
        rc = err_set(e, ERR_INPUT, "%s: \"version\" must be 1, not %lld", path, (long long)version);
    if (!rc) rc = take_text(root, path, "paper", true, &x->paper, e);
    if (!rc) rc = take_text(root, path, "table", false, &x->table, e);
    if (!rc) rc = take_text(root, path, "claim", true, &x->claim, e);
    if (!rc) rc = take_text(root, path, "about", false, &x->about, e);
    if (!rc) rc = take_text(root, path, "base", true, &x->base, e);
    if (!rc) rc = experiment_read_seeds(x, json_object_get(root, "seeds"), path, e);
    if (!rc) rc = experiment_read_list(x, root, path, "cells", experiment_read_cell, e);
    if (!rc && !x->cells) rc = err_set(e, ERR_INPUT, "%s: \"cells\" must have at least one cell", path);
    if (!rc) rc = experiment_read_list(x, root, path, "contrasts", read_contrast, e);
    if (!rc) rc = experiment_read_list(x, root, path, "reported", read_reported, e);
    json_decref(root);
    if (rc) {
        experiment_release(x);
        return rc;
    }
    x->name = file_base_name(path);
    if (text_ends(x->name, ".json")) x->name[strlen(x->name) - 5] = '\0';
    return 0;
}

void experiment_release(struct experiment *x) {
    for (int i = 0; i < x->cells; i++) {
        struct experiment_cell *c = &x->cell[i];
        free(c->id), free(c->text), free(c->verb), free(c->path), free(c->status), free(c->source);
    }
    for (int i = 0; i < x->contrasts; i++) free(x->contrast[i].id), free(x->contrast[i].source);
    free(x->name), free(x->paper), free(x->table), free(x->claim), free(x->about), free(x->base),
        free(x->reported);
    memset(x, 0, sizeof *x);
}
