/* Chat templates: how the messages of a chat become the ids that a causal language model was trained on.
 *
 * Templates are rows of a table (chat_forms.c).  A model's Jinja template is not executed but recognized
 * (chat_recognize.c).  Control tokens come from templates only: text that spells one is encoded as ordinary
 * characters.  Encoding: chat.c. */
#ifndef CORE_TEXT_CHAT_H
#define CORE_TEXT_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/tokenizer.h"

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_ROLES };
const char *chat_role_name(enum chat_role r); /* "system", … */

struct chat_turn {
    enum chat_role role;
    const char *text;
    size_t size; /* bytes */
};

struct chat_form;

struct chat_template {
    const struct chat_form *form; /* NULL: none was chosen */
    char *system;  /* the message that is written if a chat does not start with a system message; NULL: none */
    char *place;   /* the file whose Jinja text was recognized; NULL: chosen by name */
    bool known;    /* that text is a published one, not only similar to it */
    int32_t eos;   /* the model's end token, for joined texts and for tokenizers that do not name theirs; -1:
                      unknown */
};

/* Names of the templates: "none, chatml, …". */
extern const char chat_template_names[];
/* Returns the i-th of them; NULL past the last. */
const char *chat_template_at(size_t i);
/* Selects a template by name; a name with a slash, or of a file, is a file with a Jinja text, which is
 * recognized.  ERR_USAGE, naming the templates; ERR_INPUT; ERR_NOT_FOUND.  *c is released with
 * chat_template_release, also after a failure. */
int chat_template_by_name(struct chat_template *c, const char *name, struct err *e);
/* Recognizes a Jinja text: all text that the template would write must occur in it.  `place` names its file
 * in messages.  ERR_INPUT for an unknown one; the message names the option to use. */
int chat_template_recognize(struct chat_template *c, const char *place, const char *text, size_t n,
                            struct err *e);
/* Recognizes the template of a model folder: chat_template.jinja, or "chat_template" of
 * tokenizer_config.json.  Without one, c->form is NULL. */
int chat_template_read(struct chat_template *c, const char *folder, struct err *e);
void chat_template_release(struct chat_template *c);
const char *chat_template_name(const struct chat_template *c);
/* Appends "chatml, recognized in FILE; default system message "…"", for reports. */
void chat_template_describe(const struct chat_template *c, struct buf *out);

/* The ids of a chat. */
struct chat_ids {
    int32_t *ids;      /* n each, owned (chat_ids_release) */
    uint8_t *trained;  /* 1: a target of the loss; never the first */
    size_t n;
    size_t unknown, target_unknown; /* unknown tokens, and those of targets among them */
    size_t spelled;    /* control tokens that are spelled in messages */
    bool blank_start;  /* an answer starts with whitespace, so that its ids differ from those of the whole
                          text: they continue the ids of the prompt */
};
/* Encodes a chat that ends with an answer.  Each answer continues the ids of what precedes it, as in
 * generation.  Targets: the answers with their end-of-turn tokens (the last one only where a template writes
 * earlier answers differently); all ids with `all`.  ERR_INPUT if the template cannot write these messages.
 * *out is empty on failure. */
int chat_encode(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                size_t n, bool all, struct chat_ids *out, struct err *e);
/* Encodes a chat that ends with a user message, and the start of the answer to generate; without targets. */
int chat_prompt(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                size_t n, struct chat_ids *out, struct err *e);
void chat_ids_release(struct chat_ids *x);
/* Returns the id that ends an answer, -1 if it is not a single token. */
int32_t chat_end(const struct tokenizer *t, const struct chat_template *c);

#endif
