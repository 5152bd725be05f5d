/* Grammar (docs/schema.md): terms separated by blanks, all of which must match.  NAME (a column, an option of
 * the config, a metric) OP VALUE with OP one of = != < <= > >= ~ !~, or a word to be found anywhere; quotes
 * protect blanks, '*' matches any text. */
#include "store/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/internal.h"

enum field_kind {
    FIELD_TEXT, FIELD_NUMBER, FIELD_TIME, FIELD_STATE,
    FIELD_METHOD,      /* the text or the preset */
    FIELD_MODULE,      /* any module of the run */
    FIELD_MODULE_JSON, /* the same, from the method's JSON, which all databases have */
    FIELD_TAG,
};

struct filter_field {
    const char *name;
    enum field_kind kind;
    const char *sql;
};

/* A single layer is "4-4" in older databases. */
#define LAYERS                                                                                               \
    "iif(layers LIKE '%-_%' AND substr(layers, 1, instr(layers, '-') - 1) ="                                 \
    " substr(layers, instr(layers, '-') + 1), substr(layers, 1, instr(layers, '-') - 1), layers)"
/* Present in the JSON if restricted; a tap of the FFN is at the FFN, and encoders have only
 * self-attention. */
#define SITE                                                                                                 \
    "CASE WHEN json_extract(value, '$.write') LIKE 'f.%' THEN 'ffn'"                                         \
    " WHEN json_extract(value, '$.write') = 'embed' THEN 'embed'"                                            \
    " ELSE coalesce(json_extract(value, '$.site'),"                                                          \
    " iif(json_extract(value, '$.stack') = 'encoder', 'self', 'all')) END"

static const struct filter_field fields[] = {
    { "id", FIELD_NUMBER, "r.id" },
    { "state", FIELD_STATE, "r.state" },
    { "method", FIELD_METHOD, "r.method" },
    { "preset", FIELD_TEXT, "r.preset" },
    { "regime", FIELD_TEXT, "r.regime" },
    { "task", FIELD_TEXT, "r.task" },
    { "model", FIELD_TEXT, "r.model" },
    { "metric", FIELD_TEXT, "r.metric" },
    { "best", FIELD_NUMBER, "b.best_value" },
    { "examples", FIELD_NUMBER, FILTER_ROWS },
    { "rows", FIELD_NUMBER, FILTER_ROWS },
    { "seed", FIELD_NUMBER, "r.seed" },
    { "params", FIELD_NUMBER, "r.trained" },
    { "trained", FIELD_NUMBER, "r.trained" },
    { "kept", FIELD_NUMBER, "r.kept" },
    { "head", FIELD_NUMBER, "r.head" },
    { "step", FIELD_NUMBER, "r.step" },
    { "steps", FIELD_NUMBER, "r.steps" },
    { "seconds", FIELD_NUMBER, "r.seconds" },
    { "time", FIELD_NUMBER, "r.seconds" },
    { "created", FIELD_TIME, "r.created" },
    { "started", FIELD_TIME, "r.started" },
    { "ended", FIELD_TIME, "r.ended" },
    { "parent", FIELD_NUMBER, "r.parent" },
    { "sweep", FIELD_NUMBER, "r.sweep" },
    { "reason", FIELD_TEXT, "r.reason" },
    { "name", FIELD_TEXT, "r.name" },
    { "note", FIELD_TEXT, "n.text" },
    { "version", FIELD_TEXT, "r.version" },
    { "weights", FIELD_TEXT, "r.weights_sha256" },
    { "tag", FIELD_TAG, "name" },
    { "fn", FIELD_MODULE, "fn" },
    { "read", FIELD_MODULE, "read" },
    { "write", FIELD_MODULE, "write" },
    { "insertion", FIELD_MODULE, "insertion" },
    { "composition", FIELD_MODULE, "composition" },
    { "source", FIELD_MODULE, "source" },
    { "heads", FIELD_MODULE, "heads" },
    { "size", FIELD_MODULE, "size" },
    { "layers", FIELD_MODULE, LAYERS },
    { "stack", FIELD_MODULE_JSON, "coalesce(json_extract(value, '$.stack'), 'all')" },
    { "site", FIELD_MODULE_JSON, SITE },
    { "init", FIELD_MODULE_JSON, "json_extract(value, '$.init')" },
    { "target", FIELD_MODULE_JSON, "json_extract(value, '$.target')" },
};

static const struct filter_field *find_field(const char *name) {
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (!strcasecmp(fields[i].name, name)) return &fields[i];
    return NULL;
}

static void filter_add_value(struct filter *f, char *text, double number) {
    GROW(f->value, f->room, f->count + 1);
    f->value[f->count++] = (struct filter_value){ text, number };
}

/* '*' matches any text; special characters of LIKE are escaped.  Caller frees. */
static char *pattern(const char *s, bool anywhere) {
    struct buf out = BUF_INIT;
    if (anywhere) buf_putc(&out, '%');
    for (; *s; s++) {
        if (*s == '*') {
            buf_putc(&out, '%');
            continue;
        }
        if (strchr("%_\\", *s)) buf_putc(&out, '\\');
        buf_putc(&out, *s);
    }
    if (anywhere) buf_putc(&out, '%');
    return out.data ? buf_take(&out) : xstrdup("");
}

/* ---- metric names ---- */

struct metric_name {
    char key[256]; /* SQL of the id of the point's name, over key d; "" when not found */
    bool best;     /* compare its best value, otherwise its last */
};

/* A metric without a split refers to the split that decides the run's best. */
static void set_key(struct metric_name *m, int64_t id, bool bare) {
    static const char decides[] =
        "(SELECT k.id FROM key k JOIN key x ON k.metric=x.metric WHERE x.id=%lld AND"
        " k.split=coalesce(d.split,'%s'))";
    if (bare) snprintf(m->key, sizeof m->key, decides, (long long)id, first_split);
    else snprintf(m->key, sizeof m->key, "%lld", (long long)id);
}

static int key_like(sqlite3 *db, const char *name, struct metric_name *m, struct err *e) {
    char *like = pattern(name, false);
    char *prefix = xprintf("%s%%", like);
    /* exact, exact as a metric of an evaluation, then a unique prefix */
    sqlite3_stmt *st = db_prepare(
        db, e,
        "SELECT min(id), max(abs(direction)), rank FROM (SELECT id, direction, metric,"
        " CASE WHEN name=?1 THEN 0 WHEN split IS NULL THEN 3 WHEN metric=?1 THEN 1"
        " WHEN metric LIKE ?2 ESCAPE '\\' THEN 2 ELSE 3 END AS rank"
        " FROM key WHERE rank<3 OR name LIKE ?2 ESCAPE '\\')"
        " GROUP BY rank, iif(rank IN (1,2), metric, id) ORDER BY rank, min(id)",
        "tt", name, prefix);
    int rc = st ? db_step(st, e) : e->code;
    int rank = 0;
    if (rc > 0) {
        rank = sqlite3_column_int(st, 2);
        set_key(m, sqlite3_column_int64(st, 0), rank == 1 || rank == 2);
        m->best = sqlite3_column_int(st, 1) != 0;
        rc = db_step(st, e);
    }
    if (rc > 0 && rank >= 2 && sqlite3_column_int(st, 2) == rank) {
        rc = err_set(e, ERR_USAGE, "\"%s\" is ambiguous: several metrics start with it; use the full name",
                     name);
    }
    sqlite3_finalize(st);
    free(like);
    free(prefix);
    return rc < 0 ? rc : 0;
}

/* ---- options of a run's config ---- */

/* Options whose config member has another name; otherwise it is the option's with '_' for '-'. */
static const char *const option_members[][2] = {
    { "decay", "weight_decay" },
    { "kind", "regression" },
    { "train", "train_file" },
    { "dev", "dev_file" },
    { "text", "text_column" },
    { "text_b", "text_b_column" },
    { "label", "label_column" },
    { "optimizer", "optimiser" },
    { "max_length", "max_len" },
    { "eval_steps", "eval_every" },
    { "gradient_accumulation_steps", "accumulate" },
    { "unlabeled", "no_gold" },
};

/* The type of a config member is that in the newest runs. */
struct filter_option {
    char member[64]; /* "": unknown name */
    bool number;
};

static int filter_find_option(sqlite3 *db, const char *name, struct filter_option *o, struct err *e) {
    memset(o, 0, sizeof *o);
    if (strlen(name) >= sizeof o->member || strchr(name, '.')) return 0;
    for (size_t i = 0; name[i]; i++)
        o->member[i] = name[i] == '-' ? '_' : (char)tolower((unsigned char)name[i]);
    for (size_t i = 0; i < COUNT_OF(option_members); i++)
        if (!strcmp(o->member, option_members[i][0])) strcpy(o->member, option_members[i][1]);
    char *path = xprintf("$.%s", o->member);
    sqlite3_stmt *st = db_prepare(
        db, e,
        "SELECT json_type(config, ?1) AS type FROM (SELECT config FROM run WHERE json_valid(config)"
        " ORDER BY id DESC LIMIT 200) WHERE type IS NOT NULL ORDER BY type = 'null' LIMIT 1",
        "t", path);
    free(path);
    int rc = st ? db_step(st, e) : e->code;
    const char *type = rc > 0 ? (const char *)sqlite3_column_text(st, 0) : NULL;
    o->number = type && (!strcmp(type, "real") || !strcmp(type, "integer"));
    if (!type) *o->member = '\0';
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}

static char *option_sql(const struct filter_option *o) {
    return xprintf(FILTER_OPTION("%s"), o->member);
}

/* ---- unknown names ---- */

struct name_list {
    char **name;
    size_t count, room;
};

static void filter_add_names(struct name_list *n, sqlite3 *db, const char *sql) {
    struct err ignored = ERR_INIT;
    sqlite3_stmt *st = db_prepare(db, &ignored, sql, "");
    while (st && db_step(st, &ignored) > 0 && n->count < 300) {
        GROW(n->name, n->room, n->count + 1);
        n->name[n->count++] = db_text(st, 0, true);
    }
    sqlite3_finalize(st);
}

/* Replaces the name of a member ("max-len") by that of its option ("max-length"). */
static void option_of_member(char **name) {
    for (size_t i = 1; i < COUNT_OF(option_members); i++) { /* the first is an alias */
        size_t n = 0;
        const char *member = option_members[i][1];
        while (member[n] && ((*name)[n] == member[n] || (member[n] == '_' && (*name)[n] == '-'))) n++;
        if (member[n] || (*name)[n]) continue;
        xreplace(name, option_members[i][0]);
        for (char *at = *name; *at; at++) *at = *at == '_' ? '-' : *at;
        return;
    }
}

static int unknown_name(sqlite3 *db, const char *term, const char *name, struct err *e) {
    struct name_list n = { 0 };
    struct buf columns = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        GROW(n.name, n.room, n.count + 1);
        n.name[n.count++] = xstrdup(fields[i].name);
        buf_printf(&columns, "%s%s", i ? ", " : "", fields[i].name);
    }
    filter_add_names(&n, db, "SELECT metric FROM key");
    size_t first = n.count;
    filter_add_names(&n, db, "SELECT replace(j.key, '_', '-') FROM run r, json_each(r.config) j"
                      " WHERE r.id = (SELECT max(id) FROM run WHERE json_valid(config))");
    for (size_t i = first; i < n.count; i++) option_of_member(&n.name[i]);
    const char *near = text_nearest(name, (const char *const *)n.name, n.count);
    int rc = near ? err_set(e, ERR_USAGE,
                            "\"%s\": unknown column, option or metric \"%s\"; did you mean \"%s\"?",
                            term, name, near)
                  : err_set(e, ERR_USAGE,
                            "\"%s\": unknown column, option or metric \"%s\"; columns are %s; options are "
                            "those of training (lr, batch, max-length, ...)",
                            term, name, buf_text(&columns));
    while (n.count) free(n.name[--n.count]);
    free(n.name);
    buf_release(&columns);
    return rc;
}

/* "acc", "dev.accuracy", "last.accuracy", "best.loss". */
static int filter_find_metric(sqlite3 *db, const char *term, const char *name, struct metric_name *m,
                              struct err *e) {
    m->key[0] = '\0';
    int forced = text_starts(name, "last.") ? 0 : text_starts(name, "best.") ? 1 : -1;
    const char *bare = forced < 0 ? name : name + 5;
    int rc = *bare ? key_like(db, bare, m, e) : 0;
    if (rc) return rc;
    if (!m->key[0]) return unknown_name(db, term, name, e);
    if (forced >= 0) m->best = forced;
    return 0;
}

/* ---- terms ---- */

static const char *const ops[] = { "!=", "<=", ">=", "!~", "=", "<", ">", "~" };

static bool name_byte(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* Parses "2026-11-28", "2026-11-28T10:00" …, UTC, as milliseconds. */
static bool read_time(sqlite3 *db, const char *value, double *ms) {
    struct err ignored = ERR_INIT;
    sqlite3_stmt *st = db_prepare(db, &ignored, "SELECT strftime('%s',?) * 1000", "t", value);
    bool ok = st && isdigit((unsigned char)*value) && db_step(st, &ignored) > 0 &&
              sqlite3_column_type(st, 0) != SQLITE_NULL;
    if (ok) *ms = sqlite3_column_double(st, 0);
    sqlite3_finalize(st);
    return ok;
}

static int need_number(const char *term, const char *value, double *out, struct err *e) {
    if (text_to_double(value, out)) return 0;
    return err_set(e, ERR_USAGE, "\"%s\": \"%s\" is not a number", term, value);
}

static int compare_number(struct filter *f, const char *term, const char *sql, const char *op,
                          double number, struct err *e) {
    if (strchr(op, '~'))
        return err_set(e, ERR_USAGE, "\"%s\": %s is not applicable to numbers; use = != < <= > or >=", term,
                       op);
    filter_add_value(f, NULL, number);
    buf_printf(&f->where, "%s %s ?%zu", sql, op, f->count);
    return 0;
}

/* "id=3,5,9": one of several. */
static int compare_numbers(struct filter *f, const char *term, const char *sql, const char *op,
                           const char *value, struct err *e) {
    bool is_not = !strcmp(op, "!=");
    if (!strchr(value, ',') || (strcmp(op, "=") && !is_not)) {
        double number;
        int rc = need_number(term, value, &number, e);
        return rc ? rc : compare_number(f, term, sql, op, number, e);
    }
    char *copy = xstrdup(value), *rest = copy, *part;
    int rc = 0;
    buf_printf(&f->where, "%s %sIN (", sql, is_not ? "NOT " : "");
    for (bool first = true; !rc && (part = text_item(&rest)); first = false) {
        double number;
        rc = need_number(term, part, &number, e);
        if (rc) break;
        filter_add_value(f, NULL, number);
        buf_printf(&f->where, "%s?%zu", first ? "" : ",", f->count);
    }
    buf_putc(&f->where, ')');
    free(copy);
    return rc;
}

/* Numbers of the config are equal up to the rounding of their decimals. */
static int compare_option_number(struct filter *f, const char *term, const char *sql, const char *op,
                                 double number, struct err *e) {
    if (strcmp(op, "=") && strcmp(op, "!=")) return compare_number(f, term, sql, op, number, e);
    filter_add_value(f, NULL, number);
    buf_printf(&f->where, "abs(%s - ?%zu) %s 1e-12 * abs(?%zu)", sql, f->count, *op == '=' ? "<=" : ">",
               f->count);
    return 0;
}

static int compare_text(struct filter *f, const char *term, const char *sql, const char *op,
                        const char *value, struct err *e) {
    if (*op == '<' || *op == '>')
        return err_set(e, ERR_USAGE, "\"%s\": %s is not applicable to text; use = != ~ or !~", term, op);
    filter_add_value(f, pattern(value, strchr(op, '~') != NULL), 0);
    buf_printf(&f->where, "coalesce(%s,'') %sLIKE ?%zu ESCAPE '\\'", sql, *op == '!' ? "NOT " : "",
               f->count);
    return 0;
}

/* "4-4" is layer 4, as older databases store it. */
static char *filter_layers_value(const char *value) {
    const char *dash = strchr(value, '-');
    size_t n = dash ? (size_t)(dash - value) : 0;
    bool one = n && strlen(dash + 1) == n && !memcmp(value, dash + 1, n);
    return one ? xstrndup(value, n) : xstrdup(value);
}

/* "tag!=a": no tag equals a; "fn=linear": any module does. */
static int compare_member(struct filter *f, const struct filter_field *d, const char *term, const char *op,
                          const char *value, struct err *e) {
    bool size = !strcmp(d->sql, "size");
    const char *not = *op == '!' ? "NOT " : "";
    if (d->kind == FIELD_TAG && *op != '!' && !strcmp(value, STORE_LESSON_TAG)) f->lessons = true;
    if (d->kind == FIELD_TAG && *op != '!' && !strcmp(value, STORE_DRAW_TAG)) f->draws = true;
    if (d->kind == FIELD_MODULE_JSON)
        buf_printf(&f->where, "%sEXISTS(SELECT 1 FROM json_each(iif(json_valid(r.method_json),"
                              " r.method_json, '{}'), '$.modules') WHERE ", not);
    else
        buf_printf(&f->where, "%sEXISTS(SELECT 1 FROM %s WHERE run=r.id AND ", not,
                   d->kind == FIELD_TAG ? "tag" : "run_module");
    if (*op == '!') op = op[1] == '~' ? "~" : "=";
    double number = 0;
    int rc = size ? need_number(term, value, &number, e) : 0;
    char *text = strcmp(d->name, "layers") ? xstrdup(value) : filter_layers_value(value);
    if (!rc)
        rc = size ? compare_number(f, term, d->sql, op, number, e)
                  : compare_text(f, term, d->sql, op, text, e);
    free(text);
    buf_putc(&f->where, ')');
    return rc;
}

static int compare_option(struct filter *f, const struct filter_option *o, const char *term, const char *op,
                          const char *value, struct err *e) {
    char *sql = option_sql(o);
    double number;
    int rc = o->number ? need_number(term, value, &number, e) : 0;
    if (!rc)
        rc = o->number ? compare_option_number(f, term, sql, op, number, e)
                       : compare_text(f, term, sql, op, value, e);
    free(sql);
    return rc;
}

static int compare_state(struct filter *f, const char *term, const char *op, const char *value,
                         struct err *e) {
    if (strchr(value, '*') || strchr(op, '~') || store_state_by_name(value) >= 0)
        return compare_text(f, term, "r.state", op, value, e);
    return err_set(e, ERR_USAGE, "\"%s\": unknown state; must be queued, running, paused, finished, "
                                 "stopped, failed or interrupted", term);
}

static int compare_metric(struct filter *f, sqlite3 *db, const char *term, const char *name,
                          const char *op, const char *value, struct err *e) {
    struct metric_name m = { 0 };
    double number;
    int rc = filter_find_metric(db, term, name, &m, e);
    if (!rc) rc = need_number(term, value, &number, e);
    if (rc) return rc;
    buf_printf(&f->where, "EXISTS(SELECT 1 FROM summary s WHERE s.run=r.id AND s.key=%s AND ",
               m.key);
    rc = compare_number(f, term, m.best ? "s.best_value" : "s.last_value", op, number, e);
    buf_putc(&f->where, ')');
    return rc;
}

static int filter_compare(struct filter *f, sqlite3 *db, const char *term, const char *name,
                          const char *op, const char *value, struct err *e) {
    const struct filter_field *d = find_field(name);
    struct filter_option o = { .member = "" };
    int rc = d ? 0 : filter_find_option(db, name, &o, e);
    if (rc) return rc;
    if (*o.member) return compare_option(f, &o, term, op, value, e);
    if (!d) return compare_metric(f, db, term, name, op, value, e);
    double number;
    bool is_named = !strcmp(d->name, "id") && !strcmp(op, "=");
    f->lessons |= is_named;
    f->draws |= is_named || (*op != '!' && (!strcmp(d->name, "sweep") || !strcmp(d->name, "parent")));
    switch (d->kind) {
    case FIELD_NUMBER: return compare_numbers(f, term, d->sql, op, value, e);
    case FIELD_TIME:
        if (!read_time(db, value, &number))
            return err_set(e, ERR_USAGE,
                           "\"%s\": invalid time; use 2026-11-28 or 2026-11-28T10:00 (UTC)", term);
        return compare_number(f, term, d->sql, op, number, e);
    case FIELD_MODULE:
    case FIELD_MODULE_JSON:
    case FIELD_TAG: return compare_member(f, d, term, op, value, e);
    case FIELD_STATE: return compare_state(f, term, op, value, e);
    case FIELD_METHOD:
        buf_putc(&f->where, '(');
        rc = compare_text(f, term, "r.method", op, value, e);
        buf_puts(&f->where, *op == '!' ? " AND " : " OR ");
        if (!rc) rc = compare_text(f, term, "r.preset", op, value, e);
        buf_putc(&f->where, ')');
        return rc;
    case FIELD_TEXT: return compare_text(f, term, d->sql, op, value, e);
    }
    BUG("unknown kind of field");
}

static void filter_find_word(struct filter *f, const char *word) {
    static const char *const places[] = { "r.method", "r.preset", "r.task", "r.model", "r.state",
                                          "r.reason", "n.text",   "r.name" };
    filter_add_value(f, pattern(word, true), 0);
    buf_puts(&f->where, "(");
    for (size_t i = 0; i < COUNT_OF(places); i++)
        buf_printf(&f->where, "%s LIKE ?%zu ESCAPE '\\' OR ", places[i], f->count);
    buf_printf(&f->where,
               "EXISTS(SELECT 1 FROM tag WHERE run=r.id AND name LIKE ?%zu ESCAPE '\\'))",
               f->count);
}

/* One term without its quotes; `quoted` when it started with one. */
static int add_term(struct filter *f, sqlite3 *db, const char *term, bool quoted, struct err *e) {
    size_t n = 0;
    while (name_byte(term[n])) n++;
    const char *op = NULL;
    for (size_t i = 0; i < COUNT_OF(ops) && !op && n && !quoted; i++)
        if (text_starts(term + n, ops[i])) op = ops[i];
    buf_puts(&f->where, " AND ");
    if (!op) {
        filter_find_word(f, term);
        return 0;
    }
    char *name = xstrndup(term, n);
    int rc = filter_compare(f, db, term, name, op, term + n + strlen(op), e);
    free(name);
    return rc;
}

static int filter_read_terms(struct filter *f, sqlite3 *db, const char *s, struct err *e) {
    int rc = 0;
    while (!rc) {
        while (isspace((unsigned char)*s)) s++;
        if (!*s) break;
        bool quoted = *s == '"' || *s == '\'';
        struct buf term = BUF_INIT;
        char quote = 0;
        for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
            if (quote ? *s == quote : *s == '"' || *s == '\'') quote = quote ? 0 : *s;
            else buf_putc(&term, *s);
        }
        if (quote) rc = err_set(e, ERR_USAGE, "the closing %c is missing in the filter", quote);
        else if (term.size) rc = add_term(f, db, term.data, quoted, e);
        buf_release(&term);
    }
    return rc;
}

static int read_sort(struct filter *f, sqlite3 *db, const char *sort, struct err *e) {
    if (!sort || !*sort) {
        buf_puts(&f->order, "r.id DESC");
        return 0;
    }
    const char *down = *sort == '-' ? " DESC" : "", *name = *sort == '-' ? sort + 1 : sort;
    const struct filter_field *d = find_field(name);
    if (d && (d->kind == FIELD_MODULE || d->kind == FIELD_MODULE_JSON || d->kind == FIELD_TAG))
        return err_set(e, ERR_USAGE,
                       "runs may have several values of %s and cannot be sorted by it", name);
    if (d && !strcmp(d->name, "best")) {
        /* values of other tasks, metrics or validation sets are not comparable */
        buf_printf(&f->order,
                   "b.best_value IS NULL, r.task COLLATE NOCASE, r.metric, " FILTER_ROWS
                   " DESC, b.best_value%s, r.id DESC",
                   down);
        return 0;
    }
    if (d) {
        buf_printf(&f->order, "%s IS NULL, %s%s%s, r.id DESC", d->sql, d->sql,
                   d->kind == FIELD_NUMBER || d->kind == FIELD_TIME ? "" : " COLLATE NOCASE", down);
        return 0;
    }
    struct filter_option o;
    struct metric_name m = { 0 };
    int rc = filter_find_option(db, name, &o, e);
    if (!rc && *o.member) {
        char *sql = option_sql(&o);
        buf_printf(&f->order, "%s IS NULL, %s%s%s, r.id DESC", sql, sql, o.number ? "" : " COLLATE NOCASE",
                   down);
        free(sql);
        return 0;
    }
    if (!rc) rc = filter_find_metric(db, sort, name, &m, e);
    if (rc) return rc;
    const char *column = m.best ? "o.best_value" : "o.last_value";
    memcpy(f->sort_key, m.key, sizeof m.key);
    f->sort_best = m.best;
    buf_printf(&f->order, "%s IS NULL, %s%s, r.id DESC", column, column, down);
    return 0;
}

int filter_read(struct filter *f, sqlite3 *db, const char *filter, const char *sort,
                struct err *e) {
    memset(f, 0, sizeof *f);
    buf_puts(&f->where, "1");
    strcpy(f->sort_key, "0");
    int rc = filter ? filter_read_terms(f, db, filter, e) : 0;
    if (!rc) rc = read_sort(f, db, sort, e);
    if (rc) filter_release(f);
    return rc;
}

bool filter_is_any(const struct filter *f) { return !strcmp(f->where.data, "1"); }

void filter_bind(const struct filter *f, sqlite3_stmt *st) {
    for (size_t i = 0; i < f->count; i++) {
        if (f->value[i].text) db_bind_text(st, (int)i + 1, f->value[i].text);
        else sqlite3_bind_double(st, (int)i + 1, f->value[i].number);
    }
}

void filter_release(struct filter *f) {
    for (size_t i = 0; i < f->count; i++) free(f->value[i].text);
    free(f->value);
    buf_release(&f->where);
    buf_release(&f->order);
    memset(f, 0, sizeof *f);
}
