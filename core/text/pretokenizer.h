/* Splits a normalized text into the pieces that the model converts to ids: "pre_tokenizer" of tokenizer.json,
 * a chain of steps, each of which splits the pieces of the previous one.
 *
 * Immutable after reading and shared by any number of threads, each with its own struct pretokenizer_work.
 * Private to core/text. */
#ifndef CORE_TEXT_PRETOKENIZER_H
#define CORE_TEXT_PRETOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/normalizer.h"
#include "core/text/regex.h"

enum cut_kind {
    CUT_BERT,       /* at blanks, punctuation alone */
    CUT_BLANKS,     /* at blanks, which are dropped */
    CUT_DIGITS,     /* numbers apart from the rest */
    CUT_MATCHES,    /* the matches of an expression */
    CUT_BYTE_LEVEL, /* GPT-2's expression; bytes become signs (bytes.h) */
    CUT_METASPACE,  /* blanks become a sign that starts a piece */
};
enum cut_prepend { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER };
struct cut {
    enum cut_kind kind;
    bool split;               /* DIGITS: each alone; BYTE_LEVEL: by the expression; METASPACE: at the sign */
    enum regex regex;         /* of MATCHES */
    enum cut_prepend prepend; /* prepend a blank (BYTE_LEVEL) or the sign (METASPACE) */
    char sign[8];
    size_t sign_size;
};
enum { PRETOKENIZER_STEPS = 8 };
struct pretokenizer {
    size_t count;
    struct cut step[PRETOKENIZER_STEPS];
};
/* Intermediate texts; initialized to zero. */
struct pretokenizer_work {
    struct buf text[PRETOKENIZER_STEPS], signs[PRETOKENIZER_STEPS];
};
void pretokenizer_work_release(struct pretokenizer_work *w);

/* Reads the chain; `part` may be NULL or null (the whole text is one piece).  Unsupported steps are refused
 * by name. */
int pretokenizer_read(struct pretokenizer *c, const char *path, const json_t *part, struct err *e);
/* Append GPT-2's split, and Qwen2's. */
void pretokenizer_byte_level(struct pretokenizer *c, bool prefix_space);
void pretokenizer_qwen2(struct pretokenizer *c, bool prefix_space);
/* Calls piece(self, …) for every piece of n bytes of UTF-8, in order. */
void pretokenizer_run(const struct pretokenizer *c, const char *s, size_t n, enum text_place place,
                      struct pretokenizer_work *w, void (*piece)(void *self, const char *s, size_t n),
                      void *self);

#endif
