/* The table of chat templates, private to core/text. */
#ifndef CORE_TEXT_CHAT_FORMS_H
#define CORE_TEXT_CHAT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/text/chat.h"

/* Where a system message is written. */
enum chat_system {
    CHAT_SYSTEM_NONE,  /* refused */
    CHAT_SYSTEM_TURN,  /* as a separate message */
    CHAT_SYSTEM_FIRST, /* before the first user message, within it */
    CHAT_SYSTEM_LAST,  /* before the last user message, within it */
};

/* In texts, "{bos}" and "{eos}" are the model's tokens of these names; added tokens of the tokenizer are
 * control tokens. */
struct chat_form {
    const char *name;
    const char *begin;            /* before the first message */
    const char *head[CHAT_ROLES]; /* before a message; the assistant's also starts an answer to generate */
    const char *foot[CHAT_ROLES]; /* after it; the assistant's ends an answer and is trained */
    const char *lead;             /* before the text of an answer, as a part of it */
    const char *tail;             /* after an answer's foot, if a message follows */
    enum chat_system where;
    const char *opening, *closing; /* around a system message within another one, or its first one */
    const char *system;           /* default system message; NULL: none */
    bool trim, trim_answer;       /* texts, or only answers, are stripped of whitespace at both ends */
    bool alternate;               /* user and assistant must alternate, starting with the user */
    bool thinks;                  /* Qwen3: an empty thought before the last answer, none in earlier ones */
    bool single;                  /* one user message and one answer */
    /* Recognition of a Jinja text, as written by chat_recognize.c: what it must contain and what it must not;
     * each ended by NULL. */
    const char *const *proof, *const *never;
    const char *const *known;     /* SHA-256 of published texts, ended by NULL; or NULL */
};

extern const struct chat_form chat_forms[];
extern const size_t chat_forms_count;

#endif
