#include "core/lesson/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void lesson_progress_init(struct lesson_progress *p, const struct lesson *l) {
    *p = (struct lesson_progress){ .steps = l->steps, .of = xcalloc((size_t)l->steps + 1, sizeof *p->of) };
}

void lesson_progress_release(struct lesson_progress *p) {
    for (int i = 0; i < p->steps; i++) free(p->of[i].why), free(p->of[i].note), free(p->of[i].map);
    free(p->of);
    free(p->model);
    free(p->task);
    *p = (struct lesson_progress){ 0 };
}

void lesson_progress_on(struct lesson_progress *p, const char *model, const char *task) {
    xreplace(&p->model, model);
    xreplace(&p->task, task);
}

/* ---- the whole lesson ---- */

static void open_again(struct lesson_result *r) {
    free(r->why);
    free(r->note);
    free(r->map);
    r->why = r->note = NULL;
    r->map = NULL;
    r->state = LESSON_OPEN;
    r->runs = 0;
    r->ok = false;
}

void lesson_progress_restart(struct lesson_progress *p) {
    for (int i = 0; i < p->steps; i++) {
        open_again(&p->of[i]);
        p->of[i].chosen = 0;
    }
    p->at = p->furthest = 0;
}

void lesson_progress_back(struct lesson_progress *p, int step) {
    for (int i = step; i < p->steps; i++) open_again(&p->of[i]);
    if (p->at > step) p->at = step;
}

void lesson_progress_place(struct lesson_progress *to, const struct lesson_progress *from) {
    BUG_IF(to->steps != from->steps);
    to->at = from->at;
    to->furthest = from->furthest;
    to->whole = from->whole;
    for (int i = 0; i < to->steps; i++) {
        to->of[i].chosen = from->of[i].chosen;
        memcpy(to->of[i].given, from->of[i].given, sizeof to->of[i].given);
    }
}

void lesson_progress_results(struct lesson_progress *to, const struct lesson_progress *from) {
    BUG_IF(to->steps != from->steps);
    for (int i = 0; i < to->steps; i++) {
        struct lesson_result *r = &to->of[i], was = *r;
        *r = from->of[i];
        r->chosen = was.chosen;
        memcpy(r->given, was.given, sizeof r->given);
        r->why = xcopy(from->of[i].why);
        r->note = xcopy(from->of[i].note);
        r->map = from->of[i].map ? xmalloc(sizeof *r->map) : NULL;
        if (r->map) *r->map = *from->of[i].map;
        free(was.map);
        free(was.why);
        free(was.note);
    }
}

void lesson_progress_copy(struct lesson_progress *to, const struct lesson_progress *from) {
    lesson_progress_results(to, from);
    lesson_progress_place(to, from);
}

struct lesson_progress *lesson_progress_clone(const struct lesson_progress *p) {
    struct lesson_progress *new = xcalloc(1, sizeof *new);
    *new = (struct lesson_progress){ .steps = p->steps,
                                     .of = xcalloc((size_t)p->steps + 1, sizeof *new->of) };
    lesson_progress_copy(new, p);
    return new;
}

/* ---- steps ---- */

bool lesson_passed(const struct lesson *l, const struct lesson_progress *p, int step) {
    switch (l->step[step].kind) {
    case LESSON_ASK: return p->of[step].chosen != 0;
    case LESSON_RUN: return p->of[step].state == LESSON_DONE;
    default: return !lesson_computes(&l->step[step]) || p->of[step].state == LESSON_DONE;
    }
}

bool lesson_choose(const struct lesson *l, struct lesson_progress *p, int step, char letter) {
    const struct lesson_step *s = &l->step[step];
    struct lesson_result *r = &p->of[step];
    int i = 0;
    while (i < s->choices && s->choice[i].letter != letter) i++;
    if (s->kind != LESSON_ASK || i == s->choices) return false;
    if (r->chosen) r->given[r->chosen - 'a']--;
    r->given[i]++;
    r->chosen = letter;
    return true;
}

char lesson_right(const struct lesson *l, const struct lesson_progress *p, int step) {
    const struct lesson_step *s = &l->step[step];
    const struct lesson_result *r = &p->of[step];
    if (!s->otherwise) return s->right;
    return r->state != LESSON_DONE ? 0 : r->ok ? s->right : s->otherwise;
}

void lesson_set_value(const struct lesson *l, struct lesson_progress *p, int step, double value, double low,
                      double high) {
    struct lesson_result *r = &p->of[step];
    r->state = LESSON_DONE;
    r->value = value;
    r->low = low;
    r->high = high;
    r->ok = l->step[step].strict ? value > low && value < high
                                 : value >= low && value <= high; /* not of NaN */
}

void lesson_set_map(struct lesson_progress *p, int step, struct lesson_map *map) {
    struct lesson_result *r = &p->of[step];
    free(r->map);
    r->map = map;
    r->state = LESSON_DONE;
}

void lesson_set_failed(struct lesson_progress *p, int step, const char *why) {
    p->of[step].state = LESSON_FAILED;
    xreplace(&p->of[step].why, why);
}

void lesson_checks(const struct lesson *l, const struct lesson_progress *p, int *all, int *ok) {
    *all = *ok = 0;
    for (int i = 0; i < l->steps; i++) {
        bool check = l->step[i].kind == LESSON_CHECK;
        *all += check;
        *ok += check && p->of[i].state == LESSON_DONE && p->of[i].ok;
    }
}

/* ---- texts ---- */

/* Formats a value for a text: an integer with thousands separators, otherwise with four digits. */
static void lesson_value_text(double v, char out[32]) {
    if (isfinite(v) && v == floor(v) && fabs(v) < 1e15) text_thousands((int64_t)v, out);
    else snprintf(out, 32, "%.4g", v);
}

void lesson_check_text(const struct lesson_result *r, char out[160]) {
    char value[32], low[32], high[32];
    lesson_value_text(r->value, value);
    lesson_value_text(r->low, low);
    lesson_value_text(r->high, high);
    int n = snprintf(out, 160, "measured %s, expected ", value);
    if (r->low == r->high) text_more(out, 160, n, "%s", low);
    else if (isinf(r->high)) text_more(out, 160, n, "above %s", low);
    else if (isinf(r->low)) text_more(out, 160, n, "below %s", high);
    else text_more(out, 160, n, "%s to %s", low, high);
}

static void add_filled(const struct lesson_result *r, bool run, bool percent, bool verbatim, struct buf *b) {
    char text[32];
    if (run && r->runs) buf_printf(b, "%s%lld", verbatim ? "" : "#", (long long)r->run[0]);
    else if (run || r->state != LESSON_DONE) buf_puts(b, "\u2026");
    else if (percent) buf_printf(b, "%.1f%%", 100 * r->value);
    else lesson_value_text(r->value, text), buf_puts(b, text);
}

/* Appends the model, task or folder. */
static void add_lesson_word(const struct lesson *l, const struct lesson_progress *p, enum lesson_word word,
                            bool verbatim, struct buf *b) {
    const char *end = strrchr(l->path, '/'), *known = word == LESSON_MODEL ? p->model : p->task;
    char *folder = end ? xstrndup(l->path, (size_t)(end - l->path)) : xstrdup(".");
    const char *text = word == LESSON_FOLDER ? folder : known ? known : "\u2026";
    if (verbatim) text_shell_word(b, text);
    else buf_puts(b, text);
    free(folder);
}

char *lesson_fill(const struct lesson *l, const struct lesson_progress *p, int step, const char *text,
                  bool verbatim) {
    struct buf b = BUF_INIT;
    while (*text) {
        char name[LESSON_NAME];
        bool percent;
        size_t n = lesson_placeholder(text, name, &percent);
        enum lesson_word word = n ? lesson_word_named(name) : LESSON_WORDS;
        int of = n ? lesson_named(l, step, name) : -1;
        if (of >= 0) {
            add_filled(&p->of[of], l->step[of].kind == LESSON_RUN, percent, verbatim, &b);
            text += n;
        } else if (word < LESSON_WORDS) {
            add_lesson_word(l, p, word, verbatim, &b);
            text += n;
        } else {
            buf_putc(&b, *text++);
        }
    }
    char *out = xstrdup(buf_text(&b));
    buf_release(&b);
    return out;
}

static void add_command_option(struct buf *b, const char *option, const char *value) {
    buf_printf(b, " %s ", option);
    text_shell_word(b, value);
}

char *lesson_command(const struct lesson *l, const struct lesson_progress *p, int step) {
    const struct lesson_step *s = &l->step[step];
    char *head = lesson_fill(l, p, step, s->head, true);
    const char *at = head;
    struct buf b = BUF_INIT;
    buf_puts(&b, "petri train");
    if (s->of >= 0 && p->of[s->of].runs) buf_printf(&b, " --like %lld", (long long)p->of[s->of].run[0]);
    else if (s->of >= 0) buf_printf(&b, " --like %s", l->step[s->of].name);
    bool data = strstr(at, "--task") || strstr(at, "--train") || strstr(at, "--episodes");
    if (s->of < 0 && p->model && !strstr(at, "--model")) add_command_option(&b, "--model", p->model);
    if (s->of < 0 && p->task && !data) add_command_option(&b, "--task", p->task);
    for (char *word; (word = text_word(&at)); free(word)) {
        buf_putc(&b, ' ');
        text_shell_word(&b, word);
    }
    if (s->of < 0 && !strstr(s->head, "--precision")) add_command_option(&b, "--precision", LESSON_PRECISION);
    free(head);
    return buf_take(&b);
}

/* ---- stored progress ---- */

static void read_result(struct lesson_result *r, const struct lesson_step *s, const json_t *v) {
    const json_t *runs = json_object_get(v, "runs"), *given = json_object_get(v, "given");
    const char *chosen = json_string_value(json_object_get(v, "chosen")),
               *note = json_string_value(json_object_get(v, "note"));
    if (s->kind == LESSON_RUN && note) xreplace(&r->note, note);
    if (s->kind == LESSON_RUN && json_array_size(runs) <= LESSON_SEEDS)
        for (size_t i = 0; i < json_array_size(runs); i++)
            r->run[r->runs++] = json_integer_value(json_array_get(runs, i));
    if (s->kind == LESSON_RUN && r->runs) r->state = LESSON_DONE;
    for (size_t i = 0; s->kind == LESSON_ASK && i < json_array_size(given) && i < (size_t)s->choices; i++) {
        json_int_t n = json_integer_value(json_array_get(given, i));
        r->given[i] = n > 0 && n < 1000000 ? (int)n : 0;
    }
    if (s->kind == LESSON_ASK && chosen && chosen[0] >= 'a' && chosen[0] < 'a' + s->choices && !chosen[1] &&
        r->given[chosen[0] - 'a'] > 0)
        r->chosen = chosen[0];
}

/* Reads a computed value and its range; infinite limits are absent. */
static void read_value(const struct lesson *l, struct lesson_progress *p, int step, const json_t *v) {
    const json_t *value = json_object_get(v, "value"), *low = json_object_get(v, "low"),
                 *high = json_object_get(v, "high");
    if (!json_is_number(value)) return;
    lesson_set_value(l, p, step, json_number_value(value),
                     json_is_number(low) ? json_number_value(low) : -INFINITY,
                     json_is_number(high) ? json_number_value(high) : INFINITY);
}

/* The key of the lesson played last; no lesson file has this name. */
static const char key_last[] = "/last";

char *lesson_played_last(const char *json, size_t n) {
    struct err unused = ERR_INIT;
    json_t *all = n ? json_parse("", json, n, &unused) : NULL;
    char *path = xcopy(json_string_value(json_object_get(json_object_get(all, key_last), "file")));
    json_decref(all);
    return path;
}

static int limited(const json_t *v, int most) {
    json_int_t n = json_integer_value(v);
    return n < 0 ? 0 : n > most ? most : (int)n;
}

static bool same_or_unknown(const char *a, const char *b) { return !a || !b || !strcmp(a, b); }

void lesson_progress_read(struct lesson_progress *p, const struct lesson *l, const char *json, size_t n) {
    struct err unused = ERR_INIT;
    json_t *all = n ? json_parse("", json, n, &unused) : NULL,
           *own = json_object_get(all, l->name);
    const char *sha256 = json_string_value(json_object_get(own, "sha256"));
    if (sha256 && !strcmp(sha256, l->sha256)) {
        const json_t *steps = json_object_get(own, "steps");
        const char *model = json_string_value(json_object_get(own, "model")),
                   *task = json_string_value(json_object_get(own, "task"));
        bool same = same_or_unknown(p->model, model) && same_or_unknown(p->task, task);
        if (same) lesson_progress_on(p, p->model ? p->model : model, p->task ? p->task : task);
        p->at = same ? limited(json_object_get(own, "at"), l->steps - 1) : 0;
        p->furthest = same ? limited(json_object_get(own, "furthest"), l->steps - 1) : 0;
        p->whole = json_is_true(json_object_get(own, "whole"));
        for (int i = 0; i < l->steps; i++) {
            char key[16];
            snprintf(key, sizeof key, "%d", i + 1);
            const json_t *v = json_object_get(steps, key);
            if (!json_is_object(v)) continue;
            if (same || l->step[i].kind == LESSON_ASK) read_result(&p->of[i], &l->step[i], v);
            if (!same) p->of[i].chosen = 0;
            if (same && l->step[i].value) read_value(l, p, i, v);
        }
    }
    json_decref(all);
}

static json_t *result_json(const struct lesson_result *r, const struct lesson_step *s) {
    json_t *v = json_object();
    if (s->kind == LESSON_ASK) {
        json_t *given = json_array();
        for (int i = 0; i < s->choices; i++) json_array_append_new(given, json_integer(r->given[i]));
        json_object_set_new(v, "given", given);
        if (r->chosen) json_object_set_new(v, "chosen", json_stringn(&r->chosen, 1));
    }
    if (r->state != LESSON_DONE) return v;
    if (s->kind == LESSON_RUN) {
        json_t *runs = json_array();
        for (int i = 0; i < r->runs; i++) json_array_append_new(runs, json_integer(r->run[i]));
        json_object_set_new(v, "runs", runs);
        if (r->note) json_object_set_new(v, "note", json_string(r->note));
    } else if (s->value && isfinite(r->value)) {
        json_object_set_new(v, "value", json_real(r->value));
        if (isfinite(r->low)) json_object_set_new(v, "low", json_real(r->low));
        if (isfinite(r->high)) json_object_set_new(v, "high", json_real(r->high));
    }
    return v;
}

void lesson_progress_write(const struct lesson_progress *p, const struct lesson *l, const char *json,
                           size_t n, struct buf *out) {
    struct err unused = ERR_INIT;
    json_t *all = n ? json_parse("", json, n, &unused) : NULL, *own = json_object(),
           *steps = json_object();
    if (!json_is_object(all)) {
        json_decref(all);
        all = json_object();
    }
    for (int i = 0; i < l->steps; i++) {
        char key[16];
        json_t *v = result_json(&p->of[i], &l->step[i]);
        snprintf(key, sizeof key, "%d", i + 1);
        if (json_object_size(v)) json_object_set(steps, key, v);
        json_decref(v);
    }
    json_object_set_new(own, "sha256", json_string(l->sha256));
    if (p->model) json_object_set_new(own, "model", json_string(p->model));
    if (p->task) json_object_set_new(own, "task", json_string(p->task));
    json_object_set_new(own, "at", json_integer(p->at));
    json_object_set_new(own, "furthest", json_integer(p->furthest));
    json_object_set_new(own, "whole", json_boolean(p->whole));
    json_object_set_new(own, "steps", steps);
    json_object_set_new(all, l->name, own);
    json_t *last = json_object();
    char *path = realpath(l->path, NULL); /* the reader may have another working directory */
    json_object_set_new(last, "file", json_string(path ? path : l->path));
    free(path);
    json_object_set_new(all, key_last, last);
    char *text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
    buf_puts(out, text ? text : "{}");
    free(text);
    json_decref(all);
}
