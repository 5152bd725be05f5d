#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

bool chats_columns(const struct dataset_options *o, struct dataset *d, struct columns *c) {
    static const char *const lists[] = { "messages", "conversations" };
    bool table = d->format == DATA_TSV || d->format == DATA_CSV;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (table || o->shape == DATA_INSTRUCTIONS || !columns_have(d, lists[i])) continue;
        *c = (struct columns){ .a = lists[i], .target = lists[i], .shape = DATA_MESSAGES };
        text_line(&d->report.notes, "read as chats: the messages of \"%s\"", lists[i]);
        return true;
    }
    if (o->shape == DATA_MESSAGES || !columns_have(d, "instruction") || !columns_have(d, "output"))
        return false;
    *c = (struct columns){ .a = "instruction", .target = "output", .shape = DATA_INSTRUCTIONS };
    c->b = columns_have(d, "input") ? "input" : NULL;
    c->c = columns_have(d, "system") ? "system" : NULL;
    text_line(&d->report.notes,
              "read as chats: \"instruction\"%s is the user message%s, \"output\" the answer",
              c->b ? ", with \"input\" on a new line," : "", c->c ? ", \"system\" the system message" : "");
    return true;
}

bool chats_is_list(const json_t *v) { return json_is_object(json_array_get(v, 0)); }

/* ---- one chat ---- */

struct chat_reading {
    struct import *m;
    size_t line;
    struct chat_turn *turn;
    size_t n, room;
};

static void chats_add(struct chat_reading *k, enum chat_role role, const char *s, size_t n) {
    GROW(k->turn, k->room, k->n + 1);
    k->turn[k->n++] = (struct chat_turn){ role, memory_copy(k->m->d->memory, s, n), n };
}

/* Reports the reason and skips the example. */
__attribute__((format(printf, 3, 4))) static bool chats_skip(const struct chat_reading *k, size_t message,
                                                             const char *format, ...) {
    struct buf b = BUF_INIT;
    char why[200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    if (message) buf_printf(&b, "message %zu: ", message);
    buf_puts(&b, why);
    report_skip(&k->m->d->report, k->line, "%s", buf_text(&b));
    buf_release(&b);
    return false;
}

static const json_t *either_key(const json_t *o, const char *a, const char *b, const char **name) {
    const json_t *v = json_object_get(o, a);
    *name = v ? a : b;
    return v ? v : json_object_get(o, b);
}

static int chats_role(const char *name) {
    static const struct {
        const char *name;
        enum chat_role role;
    } roles[] = { { "system", CHAT_SYSTEM },       { "user", CHAT_USER },     { "human", CHAT_USER },
                  { "assistant", CHAT_ASSISTANT }, { "gpt", CHAT_ASSISTANT }, { "chatgpt", CHAT_ASSISTANT } };
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (!strcmp(roles[i].name, name)) return (int)roles[i].role;
    return -1;
}

/* Joins the texts of a list [{"type": "text", "text": …}]. */
static bool chats_parts(const struct chat_reading *k, size_t message, const json_t *list, struct buf *out) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i), *text = json_object_get(part, "text");
        const char *type = json_string_value(json_object_get(part, "type"));
        if (type && strcmp(type, "text"))
            return chats_skip(k, message, "content of type \"%.40s\" is not supported; expected text", type);
        if (!json_is_string(json_is_string(part) ? part : text))
            return chats_skip(k, message, "item %zu of the content must have a \"text\", a string", i + 1);
        if (json_is_string(part)) text = part;
        buf_add(out, json_string_value(text), json_string_length(text));
    }
    return true;
}

static bool chats_empty(const json_t *v) {
    return !v || json_is_null(v) || (json_is_array(v) && !json_array_size(v)) ||
           (json_is_object(v) && !json_object_size(v)) || (json_is_string(v) && !json_string_length(v));
}

static bool chats_message(struct chat_reading *k, size_t message, const json_t *o) {
    static const char *const calls[] = { "tool_calls", "function_call" };
    const char *role_key, *content_key;
    if (!json_is_object(o)) return chats_skip(k, message, "expected an object, found %s", json_kind(o));
    const json_t *role = either_key(o, "role", "from", &role_key),
                 *content = either_key(o, "content", "value", &content_key);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (!chats_empty(json_object_get(o, calls[i])))
            return chats_skip(k, message, "\"%s\" is not supported; remove chats with tool calls", calls[i]);
    if (!json_is_string(role))
        return chats_skip(k, message, "\"%s\" must be a string, not %s", role ? role_key : "role",
                          json_kind(role));
    int r = chats_role(json_string_value(role));
    if (r < 0)
        return chats_skip(k, message, "role \"%.40s\" is not supported; expected system, user or assistant",
                          json_string_value(role));
    struct buf text = BUF_INIT;
    bool good = true;
    if (json_is_string(content)) buf_add(&text, json_string_value(content), json_string_length(content));
    else if (json_is_array(content)) good = chats_parts(k, message, content, &text);
    else
        good = chats_skip(k, message, "\"%s\" must be a string, not %s", content ? content_key : "content",
                          json_kind(content));
    if (good) chats_add(k, (enum chat_role)r, buf_text(&text), text.size);
    buf_release(&text);
    return good;
}

/* Reads the messages of a list, of which `before` were added from elsewhere. */
static bool chats_list(struct chat_reading *k, size_t before, const char *key, const json_t *list) {
    if (!json_is_array(list))
        return chats_skip(k, 0, "\"%s\" must be an array of messages, not %s", key, json_kind(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!chats_message(k, k->n + 1 - before, json_array_get(list, i))) return false;
    return true;
}

/* The source as one text: the user's message, or every message with its role if there are several. */
static struct field chats_source(const struct chat_reading *k, size_t n) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (n > 1) buf_printf(&b, "%s%s: ", i ? "\n" : "", chat_role_name(k->turn[i].role));
        buf_add(&b, k->turn[i].text, k->turn[i].size);
    }
    struct field out = { memory_copy(k->m->d->memory, buf_text(&b), b.size), b.size };
    buf_release(&b);
    return out;
}

/* Completes the fields of an example: the last answer is its target, and messages after it are dropped.  A chat
 * without an answer has no target, unless one is required. */
static bool chats_finish(struct chat_reading *k, struct fields *f) {
    size_t n = k->n;
    while (n && k->turn[n - 1].role != CHAT_ASSISTANT) n--;
    if (!n && !k->m->o->need_labels) n = k->n;
    if (!n && k->n) return chats_skip(k, 0, "the chat has no assistant message");
    if (!n) return chats_skip(k, 0, "the chat has no messages");
    if (n < k->n) report_line(&k->m->open_chats, k->line);
    bool answered = k->turn[n - 1].role == CHAT_ASSISTANT;
    f->a = chats_source(k, n - answered);
    f->turns = n;
    f->turn = memory_turns(k->m->d->memory, k->turn, n);
    if (answered) f->target = (struct field){ (char *)(uintptr_t)k->turn[n - 1].text, k->turn[n - 1].size };
    return true;
}

/* ---- shapes ---- */

static bool chats_prompt(struct chat_reading *k, const json_t *o, const struct columns *c) {
    const json_t *completion = json_object_get(o, c->target);
    if (!chats_list(k, 0, c->a, json_object_get(o, c->a))) return false;
    if (!k->m->o->need_labels && (!completion || json_is_null(completion))) return true;
    if (!json_is_string(completion)) return chats_list(k, 0, c->target, completion);
    chats_add(k, CHAT_ASSISTANT, json_string_value(completion), json_string_length(completion));
    return true;
}

/* Earlier pairs of an instruction and its answer. */
static bool chats_history(struct chat_reading *k, const json_t *list) {
    if (chats_empty(list)) return true;
    if (!json_is_array(list))
        return chats_skip(k, 0, "\"history\" must be an array of pairs, not %s", json_kind(list));
    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t side = 0; side < 2; side++) {
            const json_t *text = json_array_get(json_array_get(list, i), side);
            if (!json_is_string(text))
                return chats_skip(k, 0, "item %zu of \"history\" must be a pair of strings", i + 1);
            chats_add(k, side ? CHAT_ASSISTANT : CHAT_USER, json_string_value(text),
                      json_string_length(text));
        }
    return true;
}

static bool chats_optional(const struct chat_reading *k, const json_t *o, const char *key,
                           struct field *out) {
    const json_t *v = json_object_get(o, key);
    if (chats_empty(v)) return true;
    return json_text(k->m, k->line, o, key, out);
}

static bool chats_instruction(struct chat_reading *k, const json_t *o, struct fields *f) {
    struct buf user = BUF_INIT;
    bool optional = !k->m->o->need_labels;
    if (o && (!json_text(k->m, k->line, o, "instruction", &f->a) || !chats_optional(k, o, "input", &f->b) ||
              !chats_optional(k, o, "system", &f->c) ||
              (optional ? !chats_optional(k, o, "output", &f->target)
                        : !json_text(k->m, k->line, o, "output", &f->target))))
        return false;
    if (f->c.n) chats_add(k, CHAT_SYSTEM, f->c.s, f->c.n);
    if (!chats_history(k, json_object_get(o, "history"))) return false;
    buf_add(&user, f->a.s, f->a.n);
    if (f->b.n) buf_putc(&user, '\n');
    if (f->b.n) buf_add(&user, f->b.s, f->b.n);
    chats_add(k, CHAT_USER, buf_text(&user), user.size);
    if (f->target.n || (f->target.s && !optional)) chats_add(k, CHAT_ASSISTANT, f->target.s, f->target.n);
    buf_release(&user);
    return true;
}

bool chats_fields(struct import *m, size_t line, const json_t *o, const struct columns *c, struct fields *f) {
    struct chat_reading k = { .m = m, .line = line };
    const json_t *system = json_object_get(o, "system");
    bool good = true;
    if (!chats_empty(json_object_get(o, "tools")))
        return chats_skip(&k, 0, "\"tools\" is not supported; remove chats with tools");
    if (c->shape == DATA_MESSAGES && json_is_string(system) && json_string_length(system))
        chats_add(&k, CHAT_SYSTEM, json_string_value(system), json_string_length(system));
    size_t own = k.n;
    if (c->shape == DATA_INSTRUCTIONS) good = chats_instruction(&k, o, f);
    else if (c->shape == DATA_MESSAGES) good = chats_list(&k, own, c->a, json_object_get(o, c->a));
    else good = chats_prompt(&k, o, c);
    if (good) *f = (struct fields){ 0 };
    good = good && chats_finish(&k, f);
    free(k.turn);
    return good;
}
