/* From tokens back to text: the chain of steps that tokenizer.json's "decoder" names.
 *
 * Every step takes a list of pieces of text and makes another; the result is the last list
 * joined.  Private to core/text. */
#ifndef CORE_TEXT_DECODER_H
#define CORE_TEXT_DECODER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/pattern.h"

/* A list of pieces, one after another in `text`; piece i ends at end[i]. */
struct pieces {
    struct buf text;
    size_t *end, n, room;
};
void pieces_end(struct pieces *p); /* what was added to `text` so far ends a piece */
void pieces_release(struct pieces *p);

enum decoder_kind {
    DECODER_WORDPIECE,     /* `text` (the prefix) taken off, a blank before the others */
    DECODER_BYTE_LEVEL,    /* signs for bytes back to bytes */
    DECODER_METASPACE,     /* `text` (one character) to a blank; none in the first piece */
    DECODER_REPLACE,       /* `pattern` to `text` */
    DECODER_STRIP,         /* up to `start` and `stop` of the character `text` taken off */
    DECODER_FUSE,          /* all pieces become one */
    DECODER_BYTE_FALLBACK, /* <0x41> to its byte */
    DECODER_SUFFIX,        /* `text` to a blank, to nothing in the last piece */
};
struct decoder_step {
    enum decoder_kind kind;
    bool on;       /* WORDPIECE: clean up blanks before signs; METASPACE: the first loses it */
    char *text;
    size_t size;
    size_t start, stop;
    struct pattern pattern;
};
enum { DECODER_STEPS = 16, DECODER_GROWTH = 256 };
struct decoder {
    bool given; /* false: the tokens joined by blanks */
    size_t count;
    struct decoder_step step[DECODER_STEPS];
};

/* `part` may be NULL or null (no decoder).  Steps that are not known are refused by name,
 * and so are replacements that could make a text more than 256 times longer. */
int decoder_read(struct decoder *d, const char *path, const json_t *part, struct err *e);
/* BERT's, for folders without tokenizer.json: prefix and clean-up. */
void decoder_wordpiece(struct decoder *d, const char *prefix);
void decoder_byte_level(struct decoder *d);
void decoder_release(struct decoder *d);
/* Appends the text of the pieces; *in is used up (its contents change). */
void decoder_run(const struct decoder *d, struct pieces *in, struct buf *out);

#endif
