#include "core/data/dataset.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/encoding.h"
#include "core/data/import.h"
#include "core/data/sample.h"

/* Allocates n bytes and a NUL with the lifetime of the dataset. */
static char *memory_room(struct dataset_memory *m, size_t n) {
    enum { BLOCK = 1 << 20 };
    if (m->used + n + 1 > m->size) {
        GROW(m->block, m->block_room, m->blocks + 1);
        m->size = n + 1 > BLOCK ? n + 1 : BLOCK;
        m->block[m->blocks++] = xmalloc(m->size);
        m->used = 0;
    }
    char *to = m->block[m->blocks - 1] + m->used;
    to[n] = '\0';
    m->used += n + 1;
    return to;
}

char *memory_copy(struct dataset_memory *m, const char *s, size_t n) {
    char *to = memory_room(m, n);
    if (n) memcpy(to, s, n);
    return to;
}

struct chat_turn *memory_turns(struct dataset_memory *m, const struct chat_turn *turn, size_t n) {
    size_t bytes = n * sizeof *turn, align = _Alignof(struct chat_turn);
    uintptr_t at = (uintptr_t)memory_room(m, bytes + align);
    struct chat_turn *to = (struct chat_turn *)((at + align - 1) / align * align);
    if (n) memcpy(to, turn, bytes);
    return to;
}

static bool blank(const struct field *f) {
    size_t i = 0;
    while (i < f->n && isspace((unsigned char)f->s[i])) i++;
    return i == f->n;
}

/* Records an example whose bytes are not valid text. */
static void look_at_bytes(struct import_report *r, size_t line, const struct fields *f) {
    const struct field *const all[] = { &f->a, &f->b, &f->c, &f->label, &f->target };
    bool odd = false, nul = false;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (!all[i]->s) continue;
        odd = odd || !utf8_valid(all[i]->s, all[i]->n);
        nul = nul || memchr(all[i]->s, '\0', all[i]->n);
    }
    if (odd) report_line(&r->not_utf8, line);
    if (nul) report_line(&r->nul, line);
}

/* Returns a label as valid text: invalid UTF-8 becomes U+FFFD. */
static struct field dataset_label_text(struct import *m, const struct field *f) {
    if (!f->s || utf8_valid(f->s, f->n)) return *f;
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < f->n;) {
        uint32_t cp;
        i += utf8_decode(f->s + i, f->n - i, &cp);
        utf8_add(&b, cp);
    }
    struct field out = { memory_copy(m->d->memory, buf_text(&b), b.size), b.size };
    buf_release(&b);
    return out;
}

static struct field with_third(struct import *m, const struct fields *f, size_t *third) {
    size_t n = f->b.n + 1 + f->c.n;
    char *s = memory_room(m->d->memory, n);
    memcpy(s, f->b.s, f->b.n);
    s[f->b.n] = ' ';
    memcpy(s + f->b.n + 1, f->c.s, f->c.n);
    *third = f->b.n + 1;
    return (struct field){ s, n };
}

void import_example(struct import *m, size_t line, const struct fields *f) {
    struct dataset *d = m->d;
    struct import_report *r = &d->report;
    if (f->label.s && strlen(f->label.s) != f->label.n) {
        report_skip(r, line, "the label contains a NUL byte");
        return;
    }
    if (f->target.s && blank(&f->target)) {
        report_skip(r, line, "the target text is empty");
        return;
    }
    if (f->label.n > DATASET_NAME) {
        report_skip(r, line, "the label is longer than %d bytes; check the label column",
                    DATASET_NAME);
        return;
    }
    r->empty_a += !f->a.n;
    r->empty_b += d->pair && !f->b.n;
    look_at_bytes(r, line, f);
    struct field b = f->b;
    size_t third = 0;
    if (f->c.s) b = with_third(m, f, &third);
    GROW(d->example, m->room, d->examples + 1);
    GROW(m->label, m->label_room, d->examples + 1);
    GROW(m->raw_label, m->raw_room, d->examples + 1);
    m->label[d->examples] = dataset_label_text(m, &f->label);
    m->raw_label[d->examples] = f->label;
    d->example[d->examples++] = (struct example){
        .a = f->a.s, .b = b.s, .a_size = f->a.n, .b_size = b.n, .third = third,
        .target_text = f->target.s, .target_size = f->target.n, .label = -1, .line = line,
        .turn = f->turn, .turns = f->turns };
}

int format_by_name(const char *path) {
    static const struct {
        const char *end;
        enum data_format format;
    } known[] = { { ".tsv", DATA_TSV },     { ".txt", DATA_TSV },     { ".csv", DATA_CSV },
                 { ".jsonl", DATA_JSONL }, { ".ndjson", DATA_JSONL }, { ".json", DATA_JSONL } };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(known); i++)
        if (!strcasecmp(dot, known[i].end)) return (int)known[i].format;
    return -1;
}

/* A .txt may be a table or JSON Lines; the first byte decides. */
static bool txt_of_json(const struct dataset *d) {
    const struct buf *file = &d->memory->file;
    const char *dot = strrchr(d->path, '.');
    return dot && !strcasecmp(dot, ".txt") && text_starts(buf_text(file) + (d->report.bom ? 3 : 0), "{\"");
}

/* JSON files may be one array of objects. */
static bool array_of_objects(const struct dataset *d) {
    const struct buf *file = &d->memory->file;
    const char *s = buf_text(file) + (d->report.bom ? 3 : 0);
    s += strspn(s, " \t\r\n");
    return *s == '[' && s[1 + strspn(s + 1, " \t\r\n")] == '{';
}

static int open_file(struct dataset *d, struct err *e) {
    struct buf *file = &d->memory->file;
    if (file_read(d->path, DATASET_FILE, file, e)) return e->code;
    sha256_hex(buf_text(file), file->size, d->sha256);
    const char *s = buf_text(file);
    if (encoding_check(d->path, s, file->size, e)) return e->code;
    d->report.bom = text_starts(s, "\xEF\xBB\xBF");
    if (file->size == (d->report.bom ? 3u : 0u))
        return err_set(e, ERR_INPUT, "%s: empty file", d->path);
    return 0;
}

/* Reports that no line of the file could be read, and the first reason. */
static int no_rows(const struct import *m, struct err *e) {
    struct dataset *d = m->d;
    const struct report_skip *first = &d->report.first[0];
    const struct buf *file = &d->memory->file;
    size_t bom = d->report.bom ? 3 : 0;
    bool list = d->format == DATA_LIST;
    if (d->format != DATA_JSONL && !list)
        return err_set(e, ERR_INPUT, "%s: no examples could be read: line %zu: %s", d->path, first->line,
                       first->why);
    json_t *whole = list ? NULL : json_parse("", buf_text(file) + bom, file->size - bom, NULL);
    if (whole && (d->report.lines > 1 || json_is_object(json_array_get(whole, 0))))
        err_set(
            e, ERR_INPUT,
            "%s: a single JSON document (%s with %zu items); expected JSON Lines, with one object per line",
            d->path, json_kind(whole),
            json_is_array(whole) ? json_array_size(whole) : json_object_size(whole));
    else if (!d->columns || !columns_missing(m->o, d, e))
        err_set(e, ERR_INPUT, "%s: no examples could be read: line %zu: %s", d->path, first->line,
                first->why);
    json_decref(whole);
    return e->code;
}

/* Determines the format by option or name; with --delimiter any name is a table. */
static int find_format(struct import *m, struct err *e) {
    const struct dataset_options *o = m->o;
    struct dataset *d = m->d;
    int format = o->format ? (int)o->format : format_by_name(d->path);
    if (format < 0 && o->delimiter) format = DATA_CSV;
    if (format < 0)
        return err_set(e, ERR_USAGE,
                       "%s: unknown file name extension; supported: .tsv, .csv and .jsonl; for other "
                       "tables, set the column delimiter with --delimiter",
                       d->path);
    d->format = (enum data_format)format;
    if (!o->format && txt_of_json(d)) {
        d->format = DATA_JSONL;
        text_line(&d->report.notes, "read as JSON Lines, because the file starts with an object");
    }
    if (!o->format && d->format == DATA_JSONL && array_of_objects(d)) {
        d->format = DATA_LIST;
        text_line(&d->report.notes, "read as one JSON array: lines are the positions of its items");
    }
    if ((d->format == DATA_JSONL || d->format == DATA_LIST) && (o->delimiter || o->header == DATA_HEADER_NO))
        text_line(&d->report.notes, "JSON Lines files have neither a delimiter nor a header; %s is ignored",
                  o->delimiter ? "--delimiter" : "--no-header");
    return 0;
}

static int dataset_read_all(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    int rc = open_file(d, e);
    if (!rc) rc = find_format(m, e);
    if (!rc)
        rc = d->format == DATA_LIST    ? json_list_read(m, e)
             : d->format == DATA_LINES ? lines_read(m, e)
             : d->format == DATA_JSONL ? jsonl_read(m, e)
                                       : table_read(m, e);
    if (!rc) rc = labels_read(m, e);
    if (rc) return rc;
    if (!d->examples && d->report.first_count) return no_rows(m, e);
    if (!d->examples) return err_set(e, ERR_INPUT, "%s: the file has no examples", d->path);
    d->report.examples = d->split_examples = d->examples;
    repeats_digest(d);
    repeats_count(d);
    return 0;
}

int dataset_read(struct dataset *d, const struct dataset_options *o, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    memset(d, 0, sizeof *d);
    d->path = xstrdup(o->path);
    d->memory = xcalloc(1, sizeof *d->memory);
    struct import m = { .o = o, .d = d };
    int rc = dataset_read_all(&m, e);
    free(m.label);
    free(m.raw_label);
    if (rc) dataset_release(d);
    return rc;
}

bool dataset_has_chats(const struct dataset *d) {
    bool any = d->shape == DATA_MESSAGES || d->shape == DATA_INSTRUCTIONS;
    for (size_t i = 0; !any && i < d->examples; i++) any = d->example[i].turn != NULL;
    return any;
}

static void memory_free(struct dataset_memory *m) {
    if (!m) return;
    buf_release(&m->file);
    for (size_t i = 0; i < m->blocks; i++) free(m->block[i]);
    free(m->block);
    free(m->exact);
    free(m->folded);
    free(m);
}

void dataset_release(struct dataset *d) {
    for (int i = 0; i < d->columns; i++) free(d->column[i]);
    for (int i = 0; i < DATASET_FIELDS; i++) free(d->field[i]);
    free(d->target_field);
    for (int i = 0; i < d->classes; i++) free(d->class_name[i]);
    free(d->path);
    free(d->column);
    free(d->class_name);
    free(d->class_examples);
    free(d->example);
    free(d->start);
    free(d->ids);
    free(d->types);
    free(d->target_start);
    free(d->target_ids);
    free(d->trained);
    report_release(&d->report);
    memory_free(d->memory);
    memset(d, 0, sizeof *d);
}

int tokens_past_embedding(const struct dataset *d, const struct tokenizer *t, size_t i, int32_t id,
                          int embedding_rows, struct err *e) {
    const struct example *r = &d->example[i];
    return err_set(
        e, ERR_INPUT,
        "%s: example %llu (line %zu): token \"%s\" has id %d, outside the vocabulary of the model (%d "
        "tokens); the tokenizer does not match the model",
        d->path, (unsigned long long)r->id + 1, r->line, tokenizer_token(t, id), id, embedding_rows);
}

int tokens_missing(const struct dataset *d, size_t i, struct err *e) {
    return err_set(e, ERR_INPUT, "%s:%zu: the text has no tokens, and the tokenizer adds none; remove the example",
                   d->path, d->example[i].line);
}

void tokens_count(struct import_report *r, const struct encoded *x, size_t line) {
    r->tokens += x->plain;
    r->unknown += x->unknown;
    r->cut_examples += x->cut_a || x->cut_b;
    r->cut_examples_a += x->cut_a > 0;
    r->cut_examples_b += x->cut_b > 0;
    r->cut_tokens_a += x->cut_a;
    r->cut_tokens_b += x->cut_b;
    r->vanished += x->vanished;
    if (x->special_in_text) report_line(&r->special, line);
}

void tokens_forget(struct dataset *d) {
    struct import_report *r = &d->report;
    r->cut_examples = r->cut_examples_a = r->cut_examples_b = r->cut_tokens_a = r->cut_tokens_b = 0;
    r->vanished = r->tokens = r->unknown = r->special.examples = 0;
    r->cut_targets = r->cut_tokens_target = r->target_tokens = r->target_unknown = 0;
    r->target_longest = r->unwritten = 0;
    r->unwritten_signs = 0;
    r->too_long.examples = r->unfit.examples = r->spelled.examples = r->blank_start.examples = 0;
    r->shortened.examples = r->windowed.examples = r->windows = 0;
    buf_clear(&r->preview);
    free(r->chat_template);
    r->chat_template = NULL;
    r->max_len = d->max_len = r->max_target = d->max_target = 0;
    free(d->start);
    free(d->ids);
    free(d->types);
    free(d->target_start);
    free(d->target_ids);
    free(d->trained);
    d->start = d->target_start = NULL;
    d->ids = d->target_ids = NULL;
    d->types = d->trained = NULL;
}

/* Capacity of the id arrays while a split is encoded. */
struct rooms {
    size_t ids, types, target;
};

static int dataset_encode_row(struct dataset *d, size_t i, const struct tokenizer *t, size_t max_len,
                              int embedding_rows, struct rooms *room, struct err *e) {
    const struct example *r = &d->example[i];
    size_t n = d->start[i];
    struct encoded x;
    int rc = tokenizer_encode(t, r->a, r->a_size, d->pair ? r->b : NULL, r->b_size, max_len, &x, e);
    if (!rc && !x.n) rc = tokens_missing(d, i, e);
    if (!rc && embedding_rows && x.greatest >= embedding_rows)
        rc = tokens_past_embedding(d, t, i, x.greatest, embedding_rows, e);
    if (!rc) {
        GROW(d->ids, room->ids, n + x.n);
        GROW(d->types, room->types, n + x.n);
        memcpy(d->ids + n, x.ids, x.n * sizeof *x.ids);
        for (size_t k = 0; k < x.n; k++) d->types[n + k] = (uint8_t)x.types[k];
        d->start[i + 1] = n + x.n;
        tokens_count(&d->report, &x, r->line);
    }
    encoded_release(&x);
    return rc;
}

static int encode_target(struct dataset *d, size_t i, const struct tokenizer *t, size_t max_target,
                         int embedding_rows, struct rooms *room, struct err *e) {
    const struct example *r = &d->example[i];
    struct import_report *report = &d->report;
    size_t n = d->target_start[i];
    d->target_start[i + 1] = n;
    if (!r->target_text) return 0;
    struct encoded x;
    int rc = tokenizer_encode(t, r->target_text, r->target_size, NULL, 0, max_target, &x, e);
    if (!rc && embedding_rows && x.greatest >= embedding_rows)
        rc = tokens_past_embedding(d, t, i, x.greatest, embedding_rows, e);
    if (!rc) {
        GROW(d->target_ids, room->target, n + x.n);
        memcpy(d->target_ids + n, x.ids, x.n * sizeof *x.ids);
        d->target_start[i + 1] = n + x.n;
        report->target_tokens += x.plain;
        report->target_unknown += x.unknown;
        if (x.unknown) unwritten_count(report, t, r->target_text, r->target_size);
        report->cut_targets += x.cut_a > 0;
        report->cut_tokens_target += x.cut_a;
        if (x.n + x.cut_a > report->target_longest) report->target_longest = x.n + x.cut_a;
    }
    encoded_release(&x);
    return rc;
}

int dataset_encode(struct dataset *d, const struct tokenizer *t, size_t max_len,
                   size_t max_target, int embedding_rows, struct err *e) {
    struct err own = ERR_INIT;
    struct rooms room = { 0 };
    int rc = 0;
    if (!e) e = &own;
    tokens_forget(d);
    d->start = xcalloc(d->examples + 1, sizeof *d->start);
    if (max_target) d->target_start = xcalloc(d->examples + 1, sizeof *d->target_start);
    for (size_t i = 0; !rc && i < d->examples; i++) {
        rc = dataset_encode_row(d, i, t, max_len, embedding_rows, &room, e);
        if (!rc && max_target) rc = encode_target(d, i, t, max_target, embedding_rows, &room, e);
    }
    if (rc) {
        tokens_forget(d);
        return rc;
    }
    d->max_len = d->report.max_len = max_len;
    d->max_target = d->report.max_target = max_target;
    return 0;
}

void dataset_draw(struct dataset *d, size_t n) {
    BUG_IF(d->start != NULL);
    size_t all = d->examples;
    if (!n || n >= all) return;
    bool *drawn = xcalloc(all, sizeof *drawn);
    sample_examples(all, n, 0, "dataset", drawn);
    dataset_keep_chosen(d, drawn, true);
    d->split_examples = all;
    text_line(&d->report.notes, "a random sample (seed 0) of %zu of the %zu examples", d->examples, all);
    free(drawn);
}
