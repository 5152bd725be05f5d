/* Any bytes as a Jinja text, and as the messages of a chat: refused with a message, or ids in which messages added no control
 * token, and of which the targets continue the prompt. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/text/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { TURNS = 12 };

static const char *const names[] = {"none", "chatml", "smollm2", "qwen3", "llama2", "llama3", "llama3.1", "mistral-v0.1",
                                    "mistral-v1", "mistral-v3", "mistral-tekken", "zephyr"};

static void recognized(const char *text, size_t n) {
    struct chat_template c;
    struct err e = ERR_INIT;
    if (chat_template_recognize(&c, "FILE", text, n, &e) ? !e.text[0] : !c.form) abort();
    chat_template_release(&c);
}

/* Messages: a byte of the role, then its text up to a byte 0x1f. */
static size_t turns_of(const char *s, size_t n, struct chat_turn *turn) {
    size_t count = 0;
    while (n && count < TURNS) {
        const char *end = memchr(s, 0x1f, n);
        size_t size = end ? (size_t)(end - s) : n;
        if (size) turn[count++] = (struct chat_turn){(enum chat_role)((unsigned char)*s % CHAT_ROLES), s + 1, size - 1};
        s += size + (end != NULL);
        n -= size + (end != NULL);
    }
    return count;
}

/* The special tokens among the ids. */
static size_t controls(const struct tokenizer *t, const struct chat_ids *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) n += !tokenizer_is_word(t, x->ids[i]);
    return n;
}

static void check(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn, size_t n, bool all) {
    struct chat_turn bare[TURNS];
    struct chat_ids x, y;
    struct err e = ERR_INIT;
    int rc = chat_encode(t, c, turn, n, all, &x, &e);
    if (rc) {
        if (!e.text[0] || x.ids) abort();
        rc = chat_prompt(t, c, turn, n, &x, &e);
        if (rc) return;
        for (size_t i = 0; i < x.n; i++)
            if (x.trained[i]) abort();
    } else {
        if (x.trained[0] || (x.n > 1 && !x.trained[x.n - 1])) abort();
    }
    for (size_t i = 0; i < n; i++) bare[i] = (struct chat_turn){turn[i].role, "", 0};
    rc = turn[n - 1].role == CHAT_ASSISTANT ? chat_encode(t, c, bare, n, all, &y, &e) : chat_prompt(t, c, bare, n, &y, &e);
    if (rc || controls(t, &x) != controls(t, &y)) abort();
    chat_ids_release(&x);
    chat_ids_release(&y);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static struct tokenizer *t[2];
    struct chat_turn turn[TURNS];
    struct chat_template c;
    struct err e = ERR_INIT;
    if (!t[0]) t[0] = tokenizer_read("tests/reference/chat", NULL, &e);
    if (!t[1]) t[1] = tokenizer_read("tests/reference/chat/sp", NULL, &e);
    if (!t[0] || !t[1]) abort();
    if (n < 3) return 0;
    recognized((const char *)bytes, n);
    size_t turns = turns_of((const char *)bytes + 2, n - 2, turn);
    if (chat_template_by_name(&c, names[bytes[0] % COUNT_OF(names)], &e)) abort();
    if (turns) check(t[bytes[1] & 1], &c, turn, turns, bytes[1] & 2);
    chat_template_release(&c);
    return 0;
}
