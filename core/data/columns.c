#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* Common names of source and target columns. */
static const char *const columns_pair[][2] = {
    { "source", "target" }, { "document", "summary" }, { "article", "highlights" },
    { "input", "output" },  { "text", "summary" },       { "prompt", "completion" },
};

char *names_text(char *const *name, int count, int most) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < count && i < most; i++) {
        struct buf shown = BUF_INIT;
        label_spell(name[i], &shown);
        buf_printf(&b, "%s\"%.60s\"", i ? ", " : "", buf_text(&shown));
        buf_release(&shown);
    }
    if (count > most) buf_printf(&b, " and %d more", count - most);
    if (!b.data) buf_puts(&b, "none");
    return buf_take(&b);
}

bool columns_have(const struct dataset *d, const char *name) {
    for (int i = 0; i < d->columns; i++)
        if (!strcmp(d->column[i], name)) return true;
    return false;
}

static int ambiguous(const struct dataset *d, const char *const *x, const char *const *y,
                     struct err *e) {
    return err_set(e, ERR_USAGE,
                   "%s: ambiguous source and target columns: \"%s\" and \"%s\", or \"%s\" and \"%s\"; "
                   "choose with --source and --target",
                   d->path, x[0], x[1], y[0], y[1]);
}

/* Sets *found to the only pair of names in the split, or NULL. */
static int columns_find_pair(const struct dataset *d, const char *const **found, struct err *e) {
    *found = NULL;
    for (size_t i = 0; i < COUNT_OF(columns_pair); i++) {
        if (!columns_have(d, columns_pair[i][0]) || !columns_have(d, columns_pair[i][1])) continue;
        if (*found) return ambiguous(d, *found, columns_pair[i], e);
        *found = columns_pair[i];
    }
    return 0;
}

static const char *either(const struct dataset *d, const char *name, const char *other) {
    return name && other && !columns_have(d, name) && columns_have(d, other) ? other : name;
}

/* Without labels, a column with a common source name is accepted as the text. */
static const char *columns_default(const struct dataset *d, bool alone) {
    if (columns_have(d, "sentence")) return "sentence";
    for (size_t i = 0; alone && !columns_have(d, "text") && i < COUNT_OF(columns_pair); i++)
        if (columns_have(d, columns_pair[i][0])) return columns_pair[i][0];
    return "text";
}

static int labeled(const struct dataset *d, struct columns *c, const struct dataset_options *o) {
    const char *a = o->text_a;
    if (!a) a = columns_default(d, !o->label);
    *c = (struct columns){ .a = either(d, a, o->other.text_a),
                          .b = either(d, o->text_b, o->other.text_b), .c = o->text_c,
                          .label = either(d, o->label, o->other.label) };
    return 0;
}

/* Selects the only column of a split with texts alone. */
static bool columns_documents(const struct dataset_options *o, struct dataset *d, struct columns *c) {
    bool alone = d->columns == 1 && columns_have(d, "text");
    if (!alone || (!o->guess_texts && o->shape != DATA_DOCUMENTS)) return false;
    *c = (struct columns){ .a = "text", .target = "text", .shape = DATA_DOCUMENTS };
    text_line(&d->report.notes, "column \"text\" is used as text to continue, without labels or targets");
    return true;
}

int columns_choose(const struct dataset_options *o, struct dataset *d, struct columns *c,
                   struct err *e) {
    const char *const *texts;
    if ((o->shape == DATA_MESSAGES || o->shape == DATA_INSTRUCTIONS) && chats_columns(o, d, c)) return 0;
    if (columns_documents(o, d, c)) return 0;
    if (o->target) {
        *c = (struct columns){ .a = o->text_a, .target = o->target };
        return 0;
    }
    if (!o->guess_texts) return labeled(d, c, o);
    bool labels = o->label && columns_have(d, o->label) &&
                  (columns_have(d, "sentence") || columns_have(d, "text"));
    if (!labels && chats_columns(o, d, c)) return 0;
    if (columns_find_pair(d, &texts, labels ? NULL : e) && !labels) return ERR_USAGE;
    if (!texts) return labeled(d, c, o);
    if (labels) {
        text_line(&d->report.notes,
                  "column \"%s\" is used as the label; for text-to-text use --source %s --target %s",
                  o->label, texts[0], texts[1]);
        return labeled(d, c, o);
    }
    text_line(&d->report.notes, "columns \"%s\" and \"%s\" are used as source and target texts", texts[0],
              texts[1]);
    *c = (struct columns){ .a = texts[0], .target = texts[1] };
    return 0;
}

const char *columns_option(const struct dataset_options *o, size_t k) {
    const char *const option[] = { o->target        ? "--source"
                                   : o->text_option ? o->text_option
                                                    : "--text",
                                   "--text-b", NULL, "--label", "--target" };
    return o->text_option && !*o->text_option ? NULL : option[k];
}

static bool same_folded(const char *a, const char *b) {
    char *x = label_fold(a, false), *y = label_fold(b, false);
    bool same = !strcmp(x, y);
    free(x);
    free(y);
    return same;
}

/* A column whose name is equal after label_fold, or starts that way ("Labels"). */
static const char *columns_like(const struct dataset *d, const char *name) {
    for (int i = 0; i < d->columns; i++)
        if (same_folded(d->column[i], name)) return d->column[i];
    for (int i = 0; i < d->columns; i++)
        if (!strncasecmp(d->column[i], name, strlen(name))) return d->column[i];
    return NULL;
}

void columns_advise(const struct dataset *d, const char *name, const char *option, struct buf *out) {
    const char *like = columns_like(d, name);
    if (!option) return;
    if (!like) {
        buf_printf(out, "; choose one with %s", option);
        return;
    }
    buf_printf(out, "; did you mean %s ", option);
    text_shell_word(out, like);
    buf_putc(out, '?');
}

bool columns_missing(const struct dataset_options *o, struct dataset *d, struct err *e) {
    struct columns c;
    if (o->shape != DATA_FLAT || columns_choose(o, d, &c, NULL)) return false;
    const char *const name[] = { c.a, c.b, c.c, c.label, c.target };
    for (size_t k = 0; k < COUNT_OF(name); k++) {
        if (!name[k] || columns_have(d, name[k])) continue;
        struct buf advice = BUF_INIT;
        char *found = names_text(d->column, d->columns, 8);
        columns_advise(d, name[k], columns_option(o, k), &advice);
        err_set(e, ERR_USAGE, "%s: column \"%s\" not found: the keys of the first lines are %s%s", d->path,
                name[k], found, buf_text(&advice));
        buf_release(&advice);
        free(found);
        return true;
    }
    return false;
}

void columns_keep(struct dataset *d, const struct columns *c) {
    d->field[0] = xcopy(c->a);
    d->field[1] = xcopy(c->shape ? NULL : c->b);
    d->field[2] = xcopy(c->shape ? NULL : c->c);
    d->target_field = xcopy(c->target);
    d->shape = c->shape;
    d->pair = d->field[1] != NULL;
    if (c->target) d->kind = DATA_TEXT;
}
