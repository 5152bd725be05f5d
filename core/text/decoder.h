/* Tokens to text: the chain of steps in "decoder" of tokenizer.json.
 *
 * Every step converts a list of text pieces to another; the result is the concatenation of the last list.
 * Private to core/text. */
#ifndef CORE_TEXT_DECODER_H
#define CORE_TEXT_DECODER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/pattern.h"

/* A list of pieces, stored consecutively in `text`; piece i ends at end[i]. */
struct pieces {
    struct buf text;
    size_t *end, n, room;
};
void pieces_end(struct pieces *p); /* Ends a piece after the text appended so far. */
void pieces_release(struct pieces *p);

enum decoder_kind {
    DECODER_WORDPIECE,     /* removes the prefix `text`, prepends a blank to pieces without it */
    DECODER_BYTE_LEVEL,    /* converts signs to bytes */
    DECODER_METASPACE,     /* converts `text` (one character) to a blank, except in the first piece */
    DECODER_REPLACE,       /* replaces `pattern` by `text` */
    DECODER_STRIP,         /* removes up to `start` and `stop` of the character `text` at the ends */
    DECODER_FUSE,          /* joins all pieces */
    DECODER_BYTE_FALLBACK, /* converts <0x41> to its byte */
    DECODER_SUFFIX,        /* converts `text` to a blank, and removes it in the last piece */
};
struct decoder_step {
    enum decoder_kind kind;
    bool on;       /* WORDPIECE: clean up blanks before punctuation; METASPACE: strip that of the first
                      piece */
    char *text;
    size_t size;
    size_t start, stop;
    struct pattern pattern;
};
enum { DECODER_STEPS = 16, DECODER_GROWTH = 256 };
struct decoder {
    bool given; /* false: tokens are joined with blanks */
    size_t count;
    struct decoder_step step[DECODER_STEPS];
};

/* Reads the chain; `part` may be NULL or null (no decoder).  Unsupported steps are refused by name, as are
 * replacements that could make a text more than 256 times longer. */
int decoder_read(struct decoder *d, const char *path, const json_t *part, struct err *e);
/* Returns BERT's decoder, for folders without tokenizer.json: prefix and clean-up. */
void decoder_wordpiece(struct decoder *d, const char *prefix);
void decoder_byte_level(struct decoder *d);
void decoder_release(struct decoder *d);
/* Appends the text of the pieces; the contents of *in change. */
void decoder_run(const struct decoder *d, struct pieces *in, struct buf *out);

#endif
