#include "core/data/peek.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/encoding.h"
#include "core/data/import.h"
#include "core/data/layouts.h"
#include "core/data/task_files.h"

enum { LOOKED_BYTES = 1 << 20, LOOKED_ROWS = 200 };

const char *peek_role_name(enum peek_role r) {
    static const char *const names[PEEK_ROLES] = { "\u2013", "text", "text-b", "label", "source", "target" };
    return names[r];
}

/* Properties of a column in the examined lines. */
struct looked_column {
    size_t rows, bytes, spaced, longest, different; /* different values, of at most LOOKED_ROWS */
    char *value[LOOKED_ROWS];
};

struct peek_at {
    struct peek *p;
    struct looked_column column[PEEK_COLUMNS];
    size_t rows;
};

static void look_add(struct peek_at *k, int column, const char *s, size_t n) {
    struct looked_column *c = &k->column[column];
    char *text = text_string(s, n);
    size_t i = 0;
    c->rows++;
    c->bytes += n;
    c->longest = n > c->longest ? n : c->longest;
    c->spaced += memchr(s, ' ', n) != NULL;
    if (k->rows < PEEK_ROWS)
        k->p->column[column].cell[k->rows] = xstrndup(text, n < PEEK_CELL ? strlen(text) : PEEK_CELL);
    while (i < c->different && strcmp(c->value[i], text)) i++;
    if (i == c->different && i < LOOKED_ROWS) c->value[c->different++] = text;
    else free(text);
}

static int peek_add_column(struct peek *p, const char *name, size_t n) {
    if (p->columns == PEEK_COLUMNS) {
        p->more_columns++;
        return -1;
    }
    p->column[p->columns].name = xstrndup(name, n);
    return p->columns++;
}

/* ---- tables ---- */

/* Names are neither numbers nor long. */
static bool names_columns(const struct records *r) {
    double number;
    for (size_t i = 0; i < r->fields; i++)
        if (r->field[i].n > 60 || text_to_double(r->field[i].s, &number)) return false;
    return true;
}

static void first_record(struct peek_at *k, const struct records *r, const struct peek_how *how) {
    struct peek *p = k->p;
    p->header = how->header == DATA_HEADER_YES || (how->header == DATA_HEADER_AUTO && names_columns(r));
    for (size_t i = 0; i < r->fields; i++) {
        char number[24];
        snprintf(number, sizeof number, "#%zu", i + 1);
        if (p->header) peek_add_column(p, r->field[i].s, r->field[i].n);
        else peek_add_column(p, number, strlen(number));
    }
}

static void add_record(struct peek_at *k, const struct records *r) {
    if (r->fields != (size_t)k->p->columns + (size_t)k->p->more_columns)
        return; /* skipped and reported by the import */
    for (int i = 0; i < k->p->columns; i++) look_add(k, i, r->field[i].s, r->field[i].n);
    k->rows++;
}

/* Without an option, the delimiter that splits the first line into most fields. */
static char likely_separator(enum data_format format, const char *s, const char *end) {
    static const char all[] = "\t,;|";
    char best = format == DATA_CSV ? ',' : '\t';
    size_t most = 0;
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    for (const char *c = all; *c; c++) {
        size_t n = 0;
        for (const char *at = s; at < (stop ? stop : end); at++) n += *at == *c;
        if (n > most || (n && n == most && *c == best)) {
            most = n;
            best = *c;
        }
    }
    return best;
}

static int look_at_table(struct peek_at *k, const char *path, struct buf *file, const struct peek_how *how,
                         struct err *e) {
    struct peek *p = k->p;
    size_t skip = text_starts(buf_text(file), "\xEF\xBB\xBF") ? 3 : 0;
    struct records r = { .path = path, .at = file->data + skip, .end = file->data + file->size };
    enum record_kind kind = RECORD_BLANK;
    struct err cut = ERR_INIT;
    bool names = false; /* the last record was the first, and is the header */
    char usual = p->format == DATA_CSV ? ',' : '\t';
    r.separator = likely_separator(p->format, r.at, r.end);
    if (r.separator != usual) p->delimiter = delimiter_name(r.separator);
    int rc = records_start(&r, how->delimiter, NULL, e);
    while (!rc && kind != RECORD_END && k->rows < LOOKED_ROWS) {
        rc = records_next(&r, &kind, &cut);
        if (rc && (p->whole || !k->rows)) err_set(e, cut.code, "%s", cut.text);
        else if (rc) kind = RECORD_END, rc = 0; /* the last record extends beyond the examined bytes */
        if (rc || kind != RECORD_FIELDS) continue;
        names = !p->columns;
        if (names) first_record(k, &r, how);
        if (!names || !p->header) add_record(k, &r);
    }
    p->whole = p->whole && kind == RECORD_END;
    records_release(&r);
    return rc;
}

/* ---- JSON Lines ---- */

static int peek_column_of(struct peek *p, const char *name) {
    for (int i = 0; i < p->columns; i++)
        if (!strcmp(p->column[i].name, name)) return i;
    return peek_add_column(p, name, strlen(name));
}

static void add_object(struct peek_at *k, json_t *o) {
    const char *key;
    json_t *v;
    json_object_foreach(o, key, v) {
        int at = peek_column_of(k->p, key);
        if (at < 0) continue;
        char *text = json_is_string(v) ? xstrdup(json_string_value(v)) : NULL, *dumped = NULL;
        if (!text) dumped = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        const char *shown = text ? text : dumped ? dumped : "";
        look_add(k, at, shown, strlen(shown));
        free(text);
        free(dumped);
    }
    k->rows++;
}

/* Returns the end of the JSON object at s: after its closing brace, or the end of the bytes. */
static const char *object_end(const char *s, const char *end) {
    int depth = 0;
    bool quoted = false;
    for (; s < end; s++) {
        if (*s == '"') quoted = !quoted;
        else if (quoted && *s == '\\' && s + 1 < end) s++;
        else if (!quoted && *s == '{') depth++;
        else if (!quoted && *s == '}' && !--depth) return s + 1;
    }
    return end;
}

/* Reads JSON Lines, or the objects of an array. */
static int look_at_lines(struct peek_at *k, const char *path, const struct buf *file, struct err *e) {
    const char *at = buf_text(file) + (text_starts(buf_text(file), "\xEF\xBB\xBF") ? 3 : 0);
    const char *end = buf_text(file) + file->size;
    bool array = at[strspn(at, " \t\r\n")] == '[';
    while (at < end && k->rows < LOOKED_ROWS) {
        if (array) at += strcspn(at, "{");
        const char *stop = array ? object_end(at, end) : memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        json_t *o = json_parse("", at, (size_t)(stop - at), NULL);
        if (json_is_object(o)) add_object(k, o);
        json_decref(o);
        at = stop + !array;
    }
    k->p->whole = k->p->whole && at + strspn(at, " \t\r\n]") >= end;
    if (!k->rows) return err_set(e, ERR_INPUT, "%s: no JSON object in the first lines; expected JSON Lines, "
                                               "with one object per line", path);
    return 0;
}

/* ---- probable roles of columns ---- */

static bool is_among(const char *name, const char *const *list) {
    for (; *list; list++)
        if (!strcasecmp(name, *list)) return true;
    return false;
}

static const char *const peek_names[PEEK_ROLES][16] = {
    [PEEK_TEXT] = { "sentence", "text", "sentence1", "premise", "question1", "review", "content", "body",
                    "message", "comment", "tweet", "utterance", "post", NULL },
    [PEEK_TEXT_B] = { "sentence2", "hypothesis", "question2", "text_b", "text2", NULL },
    [PEEK_LABEL] = { "label", "labels", "class", "category", "sentiment", "intent", "topic", "gold_label",
                     "score", "rating", "stars", "polarity", NULL },
    [PEEK_SOURCE] = { "source", "document", "article", "input", "prompt", NULL },
    [PEEK_TARGET] = { "target", "summary", "highlights", "output", "completion", NULL },
};

/* Returns the first column with such a name and no other role. */
static int peek_named(const struct peek *p, enum peek_role role) {
    for (int n = 0; peek_names[role][n]; n++)
        for (int i = 0; i < p->columns; i++)
            if (p->column[i].role == PEEK_NONE && !strcasecmp(p->column[i].name, peek_names[role][n]))
                return i;
    return -1;
}

/* Returns the longest column of words without a role, a text whose values are not all equal. */
static int longest_text(const struct peek_at *k, int but) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < k->p->columns; i++) {
        if (i == but) continue;
        const struct looked_column *c = &k->column[i];
        double mean = c->rows ? (double)c->bytes / (double)c->rows : 0;
        if (k->p->column[i].role != PEEK_NONE || c->different < 2 || 2 * c->spaced < c->rows || mean <= most)
            continue;
        best = i;
        most = mean;
    }
    return best;
}

/* Returns the column with the fewest values, short and repeated on average; of equal ones the shortest. */
static int fewest_values(const struct peek_at *k) {
    int best = -1;
    for (int i = 0; i < k->p->columns; i++) {
        const struct looked_column *c = &k->column[i];
        bool few = c->different >= 2 && 2 * c->different <= c->rows && c->longest <= 40;
        if (k->p->column[i].role != PEEK_NONE || !few) continue;
        const struct looked_column *b = &k->column[best < 0 ? i : best];
        if (best < 0 || c->different < b->different || (c->different == b->different && c->bytes < b->bytes))
            best = i;
    }
    return best;
}

static void give(struct peek *p, int column, enum peek_role role) {
    if (column >= 0) p->column[column].role = role;
}

static bool peek_has(const struct peek *p, const char *name) {
    for (int i = 0; i < p->columns; i++)
        if (!strcmp(p->column[i].name, name)) return true;
    return false;
}

static void guess(struct peek_at *k) {
    struct peek *p = k->p;
    bool lists = p->format == DATA_JSONL && (peek_has(p, "messages") || peek_has(p, "conversations"));
    if (lists || (peek_has(p, "instruction") && peek_has(p, "output"))) return; /* the import reads chats */
    int source = peek_named(p, PEEK_SOURCE), target = peek_named(p, PEEK_TARGET);
    if (source < 0 && target >= 0) source = peek_named(p, PEEK_TEXT); /* "text" and "summary" */
    int label = peek_named(p, PEEK_LABEL);
    if (source >= 0 && target >= 0 && label < 0) {
        give(p, source, PEEK_SOURCE);
        give(p, target, PEEK_TARGET);
        return;
    }
    if (label < 0) label = fewest_values(k);
    give(p, label, PEEK_LABEL);
    int text = peek_named(p, PEEK_TEXT);
    if (text < 0) text = longest_text(k, -1);
    if (label >= 0 && text >= 0) {
        give(p, text, PEEK_TEXT);
        bool of_two = is_among(p->column[text].name,
                               (const char *const[]){ "sentence1", "premise", "question1", NULL });
        if (of_two) give(p, peek_named(p, PEEK_TEXT_B), PEEK_TEXT_B);
        return;
    }
    int other = longest_text(k, text);
    if (text < 0 || other < 0) { /* which of them exist */
        give(p, text, PEEK_TEXT);
        return;
    }
    give(p, text < other ? text : other, PEEK_SOURCE);
    give(p, text < other ? other : text, PEEK_TARGET);
}

/* ---- files ---- */

bool peek_reads(const char *name) { return format_by_name(name) >= 0; }

static int peek_open(struct peek *p, const char *path, const struct peek_how *how, struct buf *file,
                     struct err *e) {
    int format = format_by_name(path);
    if (format < 0 && how->delimiter) format = DATA_CSV;
    if (format < 0)
        return err_set(e, ERR_USAGE, "%s: unknown file name extension; supported: .tsv, .csv and .jsonl",
                       path);
    if (file_read_start(path, LOOKED_BYTES, file, &p->whole, e) ||
        encoding_check(path, buf_text(file), file->size, e))
        return e->code;
    if (!p->whole) { /* up to the end of a line */
        while (file->size && file->data[file->size - 1] != '\n') file->size--;
        if (file->data) file->data[file->size] = '\0';
    }
    if (!file->size) return err_set(e, ERR_INPUT, "%s: empty file", path);
    p->format = (enum data_format)format;
    if (p->format == DATA_TSV && text_starts(buf_text(file), "{\"")) p->format = DATA_JSONL;
    return 0;
}

int peek_file(struct peek *p, const char *path, const struct peek_how *how, struct err *e) {
    struct buf file = BUF_INIT;
    memset(p, 0, sizeof *p);
    struct peek_at *k = xcalloc(1, sizeof *k);
    k->p = p;
    int rc = peek_open(p, path, how, &file, e);
    if (!rc)
        rc = p->format == DATA_JSONL ? look_at_lines(k, path, &file, e)
                                     : look_at_table(k, path, &file, how, e);
    if (!rc) {
        p->rows = (int)(k->rows < PEEK_ROWS ? k->rows : PEEK_ROWS);
        guess(k);
    } else {
        peek_release(p);
    }
    for (int i = 0; i < PEEK_COLUMNS; i++)
        for (size_t n = 0; n < k->column[i].different; n++) free(k->column[i].value[n]);
    free(k);
    buf_release(&file);
    return rc;
}

void peek_release(struct peek *p) {
    for (int i = 0; i < p->columns; i++) {
        free(p->column[i].name);
        for (int n = 0; n < PEEK_ROWS; n++) free(p->column[i].cell[n]);
    }
    memset(p, 0, sizeof *p);
}

char *peek_train_file(const char *folder, bool *known) {
    char *name = file_base_name(folder);
    *known = layout_find(name) != NULL;
    free(name);
    return task_files_split(folder, "train");
}
