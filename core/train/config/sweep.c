#include "core/train/config/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "core/train/config/sweep_private.h"

const char *const SWEEP_BUDGET[SWEEP_BUDGETS] = { "runs", "steps", "tokens", "trained", "minutes" };
const char *const SWEEP_DRAW[] = { "grid", "random", "latin" };

void sweep_init(struct sweep_spec *s) {
    *s = (struct sweep_spec){ .seeds = 1, .seed = { 1 }, .draw_seed = 1 };
}

static void axis_release(struct sweep_axis *a) {
    for (int i = 0; i < a->values; i++) free(a->value[i]);
    free(a->value);
    free(a->key);
    *a = (struct sweep_axis){ 0 };
}

void sweep_release(struct sweep_spec *s) {
    for (int i = 0; i < s->options; i++) free(s->option[i].name), free(s->option[i].text);
    for (int i = 0; i < s->axes; i++) axis_release(&s->axis[i]);
    free(s->size_of), free(s->note);
    sweep_init(s);
}

/* ---- lists ---- */

/* Returns the position after the bracket that closes the one at `at`; NULL: it is not closed. */
static const char *sweep_closing(const char *at) {
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '{' || *at == '(' || *at == '[';
        depth -= *at == '}' || *at == ')' || *at == ']';
        if (!depth) return at + 1;
    }
    return NULL;
}

/* Returns the key of "key=" directly before `at`, else the option's name; caller frees. */
static char *key_before(const char *text, const char *at, const char *option) {
    const char *end = at;
    if (end > text && end[-1] == '=') {
        const char *start = --end;
        while (start > text && (isalnum((unsigned char)start[-1]) || strchr("_-.", start[-1]))) start--;
        if (start < end) return xstrndup(start, (size_t)(end - start));
    }
    return xstrdup(option);
}

int sweep__find_axis(const struct sweep_spec *s, const char *key, size_t n) {
    for (int i = 0; i < s->axes; i++)
        if (strlen(s->axis[i].key) == n && !memcmp(s->axis[i].key, key, n)) return i;
    return -1;
}

char *sweep__own_key(const struct sweep_spec *s, char *key) {
    if (sweep__find_axis(s, key, strlen(key)) < 0) return key;
    char *other = NULL;
    for (int i = 2;; i++) {
        free(other);
        other = xprintf("%s%d", key, i);
        if (sweep__find_axis(s, other, strlen(other)) < 0) break;
    }
    free(key);
    return other;
}

void sweep__add_value(struct sweep_axis *a, const char *value, size_t n) {
    a->value = xrealloc(a->value, (size_t)a->values + 1, sizeof *a->value);
    a->value[a->values++] = xstrndup(value, n);
}

int sweep__fill_range(struct sweep_axis *a, int n, struct err *e) {
    bool whole = a->log && a->from == floor(a->from) && a->to == floor(a->to) &&
                 fabs(a->to - a->from) >= n - 1;
    if (n < 1 || n > SWEEP_VALUES)
        return err_set(e, ERR_USAGE, "{x..y:n}: n must be between 1 and %d, not %d", SWEEP_VALUES, n);
    if (a->log && !(a->from > 0 && a->to > 0))
        return err_set(e, ERR_USAGE, "{x..y:n log}: x and y must be above 0");
    for (int i = 0; i < n; i++) {
        double t = n > 1 ? (double)i / (n - 1) : 0;
        double v = i && i == n - 1 ? a->to
                   : a->log        ? exp(log(a->from) + t * (log(a->to) - log(a->from)))
                                   : a->from + t * (a->to - a->from);
        char text[32];
        if (!i) v = a->from;
        /* remove floating-point noise of the logarithm */
        if (whole)
            v = round(v);
        else
            snprintf(text, sizeof text, "%.12g", v), text_to_double(text, &v);
        text_from_double(v, text);
        if (a->values && !strcmp(a->value[a->values - 1], text)) continue;
        sweep__add_value(a, text, strlen(text));
    }
    a->range = true;
    a->n = n;
    return 0;
}

/* Parses "x..y:n" or "x..y:n log"; *n is -1 for "x..y". Returns false for other texts. */
static bool sweep_read_range(const char *inside, struct sweep_axis *a, int *n) {
    char *copy = xstrdup(inside), *dots = strstr(copy, ".."), *colon = dots ? strchr(dots, ':') : NULL;
    bool is = dots != NULL;
    int64_t v = -1;
    if (dots) *dots = '\0';
    if (colon) *colon = '\0';
    if (colon && (a->log = text_ends(colon + 1, " log"))) colon[strlen(colon + 1) - 3] = '\0';
    is = is && text_to_double(text_trim(copy), &a->from) && text_to_double(text_trim(dots + 2), &a->to) &&
         (!colon || (text_to_int(text_trim(colon + 1), &v) && v >= 0 && v < 1 << 30));
    free(copy);
    *n = (int)v;
    return is;
}

/* Parses "1..3" or "1..3,8" as values; returns false for texts without a range or with values that are not
 * integers. */
static bool take_integers(const char *inside, struct sweep_axis *a) {
    int64_t *v = xcalloc(SWEEP_VALUES, sizeof *v);
    int n = strstr(inside, "..") ? text_to_ints(inside, v, SWEEP_VALUES) : 0;
    for (int i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)v[i]);
        sweep__add_value(a, text, strlen(text));
    }
    free(v);
    return n > 0;
}

/* Parses the word of "{1e-4,1e-3,1e-2 log}" where all values are numbers above 0. */
static void take_log(struct sweep_axis *a) {
    char *last = a->value[a->values - 1], *number = xstrdup(last);
    double v;
    bool all = text_ends(number, " log");
    if (all) number[strlen(number) - 4] = '\0';
    for (int i = 0; all && i < a->values; i++)
        all = text_to_double(i + 1 < a->values ? a->value[i] : number, &v) && v > 0;
    if (all) xreplace(&a->value[a->values - 1], number), a->log = true;
    free(number);
}

static int take_lists(struct sweep_spec *s, const char *option, const char *text, char **out, struct err *e);

/* Adds the list from `at` to `end` as an axis; its items may contain lists. */
static int take_list(struct sweep_spec *s, const char *option, const char *text, const char *at,
                     const char *end, int *index, struct err *e) {
    if (s->axes == SWEEP_AXES)
        return err_set(e, ERR_USAGE, "--%s: too many lists: a sweep has at most %d", option, SWEEP_AXES);
    char *copy = xstrndup(at + 1, (size_t)(end - at - 2)), *inside = text_trim(copy);
    char *key = sweep__own_key(s, key_before(text, at, option));
    int n, rc = 0;
    struct sweep_axis *a = &s->axis[*index = s->axes++];
    *a = (struct sweep_axis){ .key = key };
    if (take_integers(inside, a)) {
        a->log = false;
    } else if (sweep_read_range(inside, a, &n)) {
        rc = n >= 0
                 ? sweep__fill_range(a, n, e)
                 : err_set(
                       e, ERR_USAGE,
                       "--%s %s: {%s}: missing number of values; use {%s:5}, or {%s:5 log} for a logarithmic "
                       "scale",
                       option, text, inside, inside, inside);
    } else {
        const char *item = inside;
        a->log = false;
        for (const char *c = inside; !rc; c++) {
            if (*c && strchr("{([", *c) && sweep_closing(c)) c = sweep_closing(c);
            if (*c && *c != ',') continue;
            if (a->values == SWEEP_VALUES)
                rc = err_set(e, ERR_USAGE, "--%s: too many values: a list has at most %d", option,
                             SWEEP_VALUES);
            char *own = xstrndup(item, (size_t)(c - item)), *one = text_trim(own), *taken = NULL;
            if (!rc && !*one)
                rc = err_set(e, ERR_USAGE, "--%s %s: {%s}: empty value", option, text,
                             inside);
            if (!rc) rc = take_lists(s, option, one, &taken, e);
            if (!rc) sweep__add_value(a, taken, strlen(taken));
            free(own), free(taken);
            item = c + 1;
            if (!*c) break;
        }
        if (!rc) take_log(&s->axis[*index]);
    }
    free(copy);
    return rc;
}

/* Replaces each list of the text by {AXIS}. */
static int take_lists(struct sweep_spec *s, const char *option, const char *text, char **out, struct err *e) {
    struct buf b = BUF_INIT;
    int rc = 0, index = 0;
    *out = NULL;
    for (const char *at = text; !rc && *at;) {
        if (*at == '}') rc = err_set(e, ERR_USAGE, "--%s %s: unmatched }", option, text);
        if (*at != '{') {
            buf_putc(&b, *at++);
            continue;
        }
        const char *end = sweep_closing(at);
        if (!end) {
            rc = err_set(e, ERR_USAGE, "--%s %s: unmatched { at %s", option, text, at);
            break;
        }
        rc = take_list(s, option, text, at, end, &index, e);
        if (!rc) buf_printf(&b, "{%s}", s->axis[index].key);
        at = end;
    }
    if (!rc) *out = buf_take(&b);
    buf_release(&b);
    return rc;
}

/* ---- options ---- */

static int set_seeds(struct sweep_spec *s, const char *text, struct err *e) {
    uint64_t seed[SWEEP_SEEDS];
    int n = config_parse_seeds(text, seed, SWEEP_SEEDS, e);
    if (n < 0) return n;
    memcpy(s->seed, seed, (size_t)n * sizeof *seed);
    s->seeds = n;
    return 0;
}

static int set_draw(struct sweep_spec *s, const char *text, struct err *e) {
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, SWEEP_DRAW[i])) continue;
        s->draw = (enum sweep_draw)i;
        return 0;
    }
    return err_set(e, ERR_USAGE, "--draw %s: must be grid, random or latin", text);
}

static int set_budget(struct sweep_spec *s, const char *text, struct err *e) {
    char *copy = xstrdup(text), *rest = copy, *part;
    double budget[SWEEP_BUDGETS] = { 0 };
    int rc = 0;
    while (!rc && (part = text_item(&rest))) {
        char *equals = strchr(part, '=');
        int i = 0;
        while (equals && i < SWEEP_BUDGETS &&
               (strncmp(SWEEP_BUDGET[i], part, (size_t)(equals - part)) || SWEEP_BUDGET[i][equals - part]))
            i++;
        bool read = equals && i < SWEEP_BUDGETS && text_to_double(equals + 1, &budget[i]);
        if (!read || !(budget[i] > 0) || !isfinite(budget[i]))
            rc = err_set(e, ERR_USAGE,
                         "--budget %s: must be runs, steps, tokens, trained or minutes with a number above "
                         "0, for example runs=10,minutes=30",
                         part);
    }
    free(copy);
    if (!rc) memcpy(s->budget, budget, sizeof budget);
    return rc;
}

bool sweep_is_flag(const char *option) { return !strcmp(option, "halving"); }

bool sweep_is_seeds(const char *option) { return !strcmp(option, "seeds") || !strcmp(option, "seed"); }

int sweep_set(struct sweep_spec *s, const char *option, const char *text, struct err *e) {
    int64_t v;
    if (sweep_is_seeds(option)) return set_seeds(s, text, e);
    if (!strcmp(option, "draw")) return set_draw(s, text, e);
    if (!strcmp(option, "budget")) return set_budget(s, text, e);
    if (sweep_is_flag(option)) return s->halving = true, 0;
    if (!strcmp(option, "size-of")) {
        struct method m;
        if (method_parse(text, &m, e)) return err_prefix(e, "--size-of");
        xreplace(&s->size_of, text);
        return 0;
    }
    if (!strcmp(option, "note")) return xreplace(&s->note, text), 0;
    if (!strcmp(option, "cells") || !strcmp(option, "draw-seed")) {
        bool cells = *option == 'c';
        if (!text_to_int(text, &v) || v < cells || v > (cells ? SWEEP_CELLS : INT64_MAX))
            return cells ? err_set(e, ERR_USAGE, "--cells %s: must be an integer between 1 and %d", text,
                                   SWEEP_CELLS)
                         : err_set(e, ERR_USAGE, "--draw-seed %s: must be an integer of at least 0", text);
        if (cells)
            s->cells = (int)v;
        else
            s->draw_seed = (uint64_t)v;
        return 0;
    }
    if (s->options == SWEEP_OPTIONS) return err_set(e, ERR_USAGE,
                                                    "too many options: a sweep has at most %d",
                                                    SWEEP_OPTIONS);
    bool json = text_starts(text, "{\"") || text_starts(text, "{}");
    char *taken = json ? xstrdup(text) : NULL;
    int rc = json ? 0 : take_lists(s, option, text, &taken, e);
    if (rc) return rc;
    s->option[s->options].name = xstrdup(option);
    s->option[s->options++].text = taken;
    return 0;
}
