/* Extension of a sweep by further values and seeds. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "core/train/config/sweep_private.h"

/* Returns the axis mentioned at `at` and sets *end to the position after it; -1: none, *end is at + 1. */
static int mention_at(const struct sweep_spec *s, const char *at, const char **end) {
    const char *close = *at == '{' ? strchr(at, '}') : NULL;
    int axis = close ? sweep__find_axis(s, at + 1, (size_t)(close - at - 1)) : -1;
    *end = axis < 0 ? at + 1 : close + 1;
    return axis;
}

/* Returns whether two texts are equal outside of their lists; *lists is set to the number of lists. */
static bool same_words(const struct sweep_spec *s, const char *text, const struct sweep_spec *more,
                       const char *other, int *lists) {
    *lists = 0;
    while (*text && *other) {
        const char *end, *end2;
        int a = mention_at(s, text, &end), b = mention_at(more, other, &end2);
        if ((a < 0) != (b < 0) || (a < 0 && *text != *other)) return false;
        *lists += a >= 0;
        text = end;
        other = end2;
    }
    return !*text && !*other;
}

static int join_axes(struct sweep_spec *s, int axis, const struct sweep_spec *more, int other, struct err *e);

/* Merges the lists of `other` into those at the same places of `text`; the texts are equal otherwise. */
static int join_lists(struct sweep_spec *s, const char *text, const struct sweep_spec *more,
                      const char *other, struct err *e) {
    while (*text) {
        const char *end, *end2;
        int a = mention_at(s, text, &end), b = mention_at(more, other, &end2);
        if (a >= 0 && join_axes(s, a, more, b, e)) return e->code;
        text = end;
        other = end2;
    }
    return 0;
}

/* Adds an empty list with that key, or with a number appended; returns its axis, or -1 with *e. */
static int new_list(struct sweep_spec *s, const char *key, struct err *e) {
    if (s->axes == SWEEP_AXES)
        return err_set(e, ERR_USAGE, "too many lists: a sweep has at most %d", SWEEP_AXES), -1;
    char *own = sweep__own_key(s, xstrdup(key));
    s->axis[s->axes] = (struct sweep_axis){ .key = own };
    return s->axes++;
}

/* Copies a text of `more`, with its lists added as axes of *s. */
static int bring_text(struct sweep_spec *s, const struct sweep_spec *more, const char *text, char **out,
                      struct err *e) {
    struct buf b = BUF_INIT;
    int rc = 0;
    while (!rc && *text) {
        const char *end;
        int at = mention_at(more, text, &end);
        if (at < 0) {
            buf_putc(&b, *text++);
            continue;
        }
        int axis = new_list(s, more->axis[at].key, e);
        rc = axis < 0 ? e->code : join_axes(s, axis, more, at, e);
        if (!rc) buf_printf(&b, "{%s}", s->axis[axis].key);
        text = end;
    }
    *out = rc ? NULL : buf_take(&b);
    buf_release(&b);
    return rc;
}

/* Adds a value to the axis, unless it exists; a value that differs from one only in its lists is merged. */
static int join_value(struct sweep_spec *s, int axis, const struct sweep_spec *more, const char *value,
                      struct err *e) {
    int lists;
    for (int i = 0; i < s->axis[axis].values; i++)
        if (same_words(s, s->axis[axis].value[i], more, value, &lists))
            return join_lists(s, s->axis[axis].value[i], more, value, e);
    if (s->axis[axis].values == SWEEP_VALUES)
        return err_set(e, ERR_USAGE, "%s: too many values: a list has at most %d", s->axis[axis].key,
                       SWEEP_VALUES);
    char *text;
    if (bring_text(s, more, value, &text, e)) return e->code;
    struct sweep_axis *a = &s->axis[axis];
    a->range = false; /* the values are no longer evenly spaced; `log` is preserved */
    sweep__add_value(a, text, strlen(text));
    free(text);
    return 0;
}

static int join_axes(struct sweep_spec *s, int axis, const struct sweep_spec *more, int other,
                     struct err *e) {
    const struct sweep_axis *b = &more->axis[other];
    if (!s->axis[axis].values) s->axis[axis].log = b->log;
    for (int i = 0; i < b->values; i++)
        if (join_value(s, axis, more, b->value[i], e)) return e->code;
    return 0;
}

/* Matches "lora(r=16)" with "lora(r={r})": returns the axis and sets the value, which the caller frees; -1:
 * no match. */
static int fits_list(const struct sweep_spec *s, const char *text, const char *other, char **value) {
    const char *end, *at = text;
    int axis = -1, depth = 0;
    while (*at && (axis = mention_at(s, at, &end)) < 0) at++;
    if (axis < 0) return -1;
    size_t before = (size_t)(at - text), after = strlen(end), n = strlen(other);
    if ( n <= before + after || strncmp(text, other, before) || strcmp(other + n - after, end)) return -1;
    for (const char *c = other + before; c < other + n - after; c++) {
        depth += *c == '(' || *c == '[';
        depth -= *c == ')' || *c == ']';
        if (depth < 0 || (!depth && before + after && (*c == ',' || *c == '+'))) return -1;
    }
    *value = xstrndup(other + before, n - before - after);
    return axis;
}

/* Replaces the option's text by a list with the text as its first value. */
static int list_of_text(struct sweep_spec *s, int option, struct err *e) {
    int axis = new_list(s, s->option[option].name, e);
    char *text = s->option[option].text;
    if (axis < 0) return e->code;
    sweep__add_value(&s->axis[axis], text, strlen(text));
    s->option[option].text = xprintf("{%s}", s->axis[axis].key);
    free(text);
    return 0;
}

static int extend_option(struct sweep_spec *s, int option, const struct sweep_spec *more, struct err *e) {
    const char *text = s->option[option].text, *other = more->option[0].text, *end;
    int lists, axis;
    char *value = NULL;
    if (same_words(s, text, more, other, &lists)) return join_lists(s, text, more, other, e);
    if (!more->axes && (axis = fits_list(s, text, other, &value)) >= 0) {
        int rc = join_value(s, axis, more, value, e);
        free(value);
        return rc;
    }
    axis = mention_at(s, text, &end);
    if (axis < 0 || *end) {
        if (list_of_text(s, option, e)) return e->code;
        axis = s->axes - 1;
    }
    int further = mention_at(more, other, &end);
    return further >= 0 && !*end ? join_axes(s, axis, more, further, e) : join_value(s, axis, more, other, e);
}

static int extend_seeds(struct sweep_spec *s, const struct sweep_spec *more, struct err *e) {
    for (int i = 0; i < more->seeds; i++) {
        bool there = false;
        for (int k = 0; k < s->seeds; k++) there |= s->seed[k] == more->seed[i];
        if (there) continue;
        if (s->seeds == SWEEP_SEEDS)
            return err_set(e, ERR_USAGE, "too many seeds: a sweep has at most %d", SWEEP_SEEDS);
        s->seed[s->seeds++] = more->seed[i];
    }
    return 0;
}

static bool same_option(const char *a, const char *b) {
    const char *x = config_option_name(a), *y = config_option_name(b);
    return !strcmp(x ? x : a, y ? y : b);
}

int sweep_extend(struct sweep_spec *s, const char *option, const char *text, struct err *e) {
    struct sweep_spec more;
    int at = -1;
    sweep_init(&more);
    int rc = sweep_set(&more, option, text, e);
    if (!rc && !more.options) {
        if (sweep_is_seeds(option)) rc = extend_seeds(s, &more, e);
        else
            rc = err_set(e, ERR_USAGE, "--%s: cannot be extended; a sweep can be extended by --seeds and by "
                                       "values of its options",
                         option);
    } else if (!rc && s->draw != SWEEP_GRID) {
        rc = err_set(
            e, ERR_USAGE,
            "--%s: the cells of this sweep were sampled, and further values would change them; start a new "
            "sweep, which reuses equal runs",
            option);
    } else if (!rc) {
        for (int i = 0; i < s->options; i++)
            if (same_option(s->option[i].name, option)) at = i;
        rc = at < 0
                 ? err_set(
                       e, ERR_USAGE,
                       "--%s: not an option of this sweep; start a new sweep, which reuses equal runs",
                       option)
                 : extend_option(s, at, &more, e);
    }
    sweep_release(&more);
    return rc;
}
