#include "core/lesson/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

enum { DEPTH = 40 };

struct expression {
    enum {
        IS_NUMBER,
        IS_VALUE,
        IS_QUANTITY,
        IS_NEGATED,
        IS_SUM,
        IS_DIFFERENCE,
        IS_PRODUCT,
        IS_QUOTIENT
    } kind;
    double number;
    int step; /* of a value: the step that computes it */
    enum quantity quantity;
    int count;
    struct expression_argument argument[EXPRESSION_ARGUMENTS];
    struct expression *a, *b; /* of an operation */
};

void expression_free(struct expression *x) {
    if (!x) return;
    for (int i = 0; i < x->count; i++) {
        free(x->argument[i].text);
        expression_free(x->argument[i].value);
    }
    expression_free(x->a);
    expression_free(x->b);
    free(x);
}

/* ---- reading ---- */

struct expression_reader {
    const char *at;
    int depth;
    const struct expression_names *names;
    struct err *e;
};

static void skip_blanks(struct expression_reader *r) {
    while (*r->at == ' ') r->at++;
}

static int expression_expected(struct expression_reader *r, const char *what) {
    size_t n = strcspn(r->at, " ");
    if (!n) return err_set(r->e, ERR_INPUT, "expected %s, found the end of the line", what);
    return err_set(r->e, ERR_INPUT, "expected %s, found \"%.*s\"", what,
                   (int)(n > 40 ? text_fit(r->at, 40) : n), r->at);
}

static struct expression *new_operation(int kind, struct expression *a, struct expression *b) {
    struct expression *x = xcalloc(1, sizeof *x);
    x->kind = kind;
    x->a = a;
    x->b = b;
    return x;
}

static struct expression *read_sum(struct expression_reader *r);

static char *read_name(struct expression_reader *r) {
    size_t n = 0;
    if (!islower((unsigned char)*r->at)) return NULL;
    while (islower((unsigned char)r->at[n]) || isdigit((unsigned char)r->at[n]) || r->at[n] == '_') n++;
    char *name = xstrndup(r->at, n);
    r->at += n;
    return name;
}

static int read_quoted(struct expression_reader *r, char **out) {
    const char *end = *r->at == '"' ? strchr(r->at + 1, '"') : NULL;
    if (!end) return expression_expected(r, "a quoted string");
    *out = xstrndup(r->at + 1, (size_t)(end - r->at - 1));
    r->at = end + 1;
    return 0;
}

static int expression_unknown(struct expression_reader *r, const char *name, bool run) {
    const char *near = r->names->nearest(r->names->self, name, run);
    if (!near && !run) near = quantity_nearest(name);
    return err_set(r->e, ERR_INPUT, "unknown %s \"%s\"%s%s%s", run ? "run" : "value", name,
                   near ? "; did you mean \"" : "; it must be defined in an earlier step", near ? near : "",
                   near ? "\"?" : "");
}

static int read_run(struct expression_reader *r, struct expression_argument *a) {
    char *name = read_name(r);
    if (!name) return expression_expected(r, "the name of a run");
    a->takes = QUANTITY_RUN;
    a->run = r->names->find(r->names->self, name, true);
    int rc = a->run < 0 ? expression_unknown(r, name, true) : 0;
    free(name);
    return rc;
}

static int read_argument(struct expression_reader *r, enum quantity_takes takes,
                         struct expression_argument *a) {
    skip_blanks(r);
    switch (takes) {
    case QUANTITY_SUBJECT:
        if (*r->at != '"') return read_run(r, a);
        a->takes = QUANTITY_METHOD;
        return read_quoted(r, &a->text);
    case QUANTITY_RUN: return read_run(r, a);
    case QUANTITY_METHOD:
    case QUANTITY_WORD: a->takes = takes; return read_quoted(r, &a->text);
    default:
        a->takes = QUANTITY_NUMBER;
        a->value = read_sum(r);
        return a->value ? 0 : r->e->code;
    }
}

static int read_arguments(struct expression_reader *r, const struct quantity_row *row, struct expression *x) {
    int most = 0;
    while (most < QUANTITY_MOST && row->takes[most] != QUANTITY_NOTHING) most++;
    for (skip_blanks(r); *r->at != ')';) {
        if (x->count == most)
            return err_set(r->e, ERR_INPUT, "%s: wrong number of arguments; expected %s", row->name,
                           row->written);
        if (read_argument(r, row->takes[x->count], &x->argument[x->count])) {
            x->count++; /* its parts are freed */
            return r->e->code;
        }
        x->count++;
        skip_blanks(r);
        if (*r->at == ',') r->at++;
        else if (*r->at != ')') return expression_expected(r, "\",\" or \")\"");
    }
    r->at++;
    return x->count < row->least ? err_set(r->e, ERR_INPUT, "%s: wrong number of arguments; expected %s",
                                           row->name, row->written)
                                 : 0;
}

/* Reads the name of a value, or of a quantity if a parenthesis follows. */
static struct expression *read_named(struct expression_reader *r) {
    struct expression *x = xcalloc(1, sizeof *x);
    char *name = read_name(r);
    int rc = 0;
    if (!name) {
        rc = expression_expected(r, "a number, a name or \"(\"");
    } else if (*r->at == '(') {
        x->kind = IS_QUANTITY;
        x->quantity = quantity_by_name(name);
        r->at++;
        if (x->quantity == QUANTITIES) {
            const char *near = quantity_nearest(name);
            rc = err_set(r->e, ERR_INPUT, "unknown quantity \"%s\"%s%s%s", name,
                         near ? "; did you mean \"" : "", near ? near : "",
                         near ? "\"?" : "; see docs/lessons.md");
        } else {
            rc = read_arguments(r, quantity_row(x->quantity), x);
        }
    } else {
        x->kind = IS_VALUE;
        x->step = r->names->find(r->names->self, name, false);
        if (x->step < 0) rc = expression_unknown(r, name, false);
    }
    free(name);
    if (!rc) return x;
    expression_free(x);
    return NULL;
}

static struct expression *read_number(struct expression_reader *r) {
    size_t n = 0;
    double v;
    while (isdigit((unsigned char)r->at[n]) || r->at[n] == '.' || r->at[n] == 'e' ||
           (n && r->at[n - 1] == 'e' && (r->at[n] == '-' || r->at[n] == '+')))
        n++;
    char *digits = xstrndup(r->at, n);
    bool fine = text_to_double(digits, &v);
    if (!fine) err_set(r->e, ERR_INPUT, "\"%s\" is not a number", digits);
    free(digits);
    if (!fine) return NULL;
    r->at += n;
    struct expression *x = new_operation(IS_NUMBER, NULL, NULL);
    x->number = v;
    return x;
}

static struct expression *read_factor(struct expression_reader *r) {
    struct expression *x;
    skip_blanks(r);
    if (r->depth == DEPTH) {
        err_set(r->e, ERR_INPUT, "parentheses and signs nested deeper than %d", DEPTH);
        return NULL;
    }
    r->depth++;
    if (*r->at == '-') {
        r->at++;
        x = read_factor(r);
        if (x) x = new_operation(IS_NEGATED, x, NULL);
    } else if (*r->at == '(') {
        r->at++;
        x = read_sum(r);
        skip_blanks(r);
        if (x && *r->at != ')') {
            expression_expected(r, "\")\"");
            expression_free(x);
            x = NULL;
        } else if (x) {
            r->at++;
        }
    } else {
        x = isdigit((unsigned char)*r->at) || *r->at == '.' ? read_number(r) : read_named(r);
    }
    r->depth--;
    return x;
}

/* Reads x OP y OP z, left-associative; `next` reads operands of higher precedence. */
static struct expression *read_chain(struct expression_reader *r, const char *signs, int first,
                                     struct expression *(*next)(struct expression_reader *r)) {
    struct expression *x = next(r);
    for (skip_blanks(r); x && *r->at && strchr(signs, *r->at); skip_blanks(r)) {
        int kind = first + (*r->at == signs[1]);
        r->at++;
        struct expression *y = next(r);
        if (!y) {
            expression_free(x);
            return NULL;
        }
        x = new_operation(kind, x, y);
    }
    return x;
}

static struct expression *read_product(struct expression_reader *r) {
    return read_chain(r, "*/", IS_PRODUCT, read_factor);
}
static struct expression *read_sum(struct expression_reader *r) {
    return read_chain(r, "+-", IS_SUM, read_product);
}

int expression_read(struct expression **out, const char *text, const struct expression_names *names,
                    struct err *e) {
    struct expression_reader r = { text, 0, names, e };
    *out = read_sum(&r);
    if (!*out) return e->code;
    skip_blanks(&r);
    if (!*r.at) return 0;
    expression_free(*out);
    *out = NULL;
    return expression_expected(&r, "an operator (+ - * /) or the end of the line");
}

/* ---- values ---- */

static int quantity_value(const struct expression *x, const struct expression_values *from, double *out,
                          struct err *e) {
    double number[EXPRESSION_ARGUMENTS] = { 0 };
    for (int i = 0; i < x->count; i++)
        if (x->argument[i].value && expression_value(x->argument[i].value, from, &number[i], e))
            return e->code;
    return from->quantity(from->self, x->quantity, x->argument, number, x->count, out, e);
}

int expression_value(const struct expression *x, const struct expression_values *from, double *out,
                     struct err *e) {
    double a = 0, b = 0;
    if (x->kind == IS_NUMBER) return *out = x->number, 0;
    if (x->kind == IS_VALUE) return from->value(from->self, x->step, out, e);
    if (x->kind == IS_QUANTITY) return quantity_value(x, from, out, e);
    int rc = expression_value(x->a, from, &a, e);
    if (!rc && x->b) rc = expression_value(x->b, from, &b, e);
    if (rc) return rc;
    switch (x->kind) {
    case IS_NEGATED: *out = -a; break;
    case IS_SUM: *out = a + b; break;
    case IS_DIFFERENCE: *out = a - b; break;
    case IS_PRODUCT: *out = a * b; break;
    default: *out = a / b; break;
    }
    return 0;
}
