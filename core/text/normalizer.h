/* The chain of normalization steps in "normalizer" of tokenizer.json, applied before a text is split.
 * Immutable after reading; private to core/text.
 *
 * In normalizer.c; Unicode normalization forms in forms.c. */
#ifndef CORE_TEXT_NORMALIZER_H
#define CORE_TEXT_NORMALIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/bert.h"
#include "core/text/charsmap.h"
#include "core/text/pattern.h"

enum normalizer_kind {
    NORMALIZER_BERT,
    NORMALIZER_FORM,          /* NFC, NFD, NFKC, NFKD: `compatible`, `compose` */
    NORMALIZER_LOWERCASE,
    NORMALIZER_STRIP_ACCENTS, /* removes marks without decomposition */
    NORMALIZER_STRIP,         /* strips whitespace at the ends: `left`, `right` */
    NORMALIZER_PREPEND,       /* prepends `text` unless empty */
    NORMALIZER_REPLACE,       /* replaces `pattern` by `text` */
    NORMALIZER_CHARSMAP,      /* the map of SentencePiece */
};
struct normalizer_step {
    enum normalizer_kind kind;
    struct bert_normalizer bert;
    bool compatible, compose, left, right;
    char *text;
    size_t size;
    struct pattern pattern;
    struct charsmap map;
};
enum { NORMALIZER_STEPS = 16, NORMALIZER_GROWTH = 256 };
struct normalizer {
    size_t count;
    struct normalizer_step step[NORMALIZER_STEPS];
};

/* Reads the chain; `part` may be NULL or null (text is unchanged).  Unsupported steps are refused by name, as
 * are replacements that could make a text more than 256 times longer. */
int normalizer_read(struct normalizer *z, const char *path, const json_t *part, struct err *e);
void normalizer_release(struct normalizer *z);
/* The position of a part of a text: at its start; after another part; or directly after characters of the same
 * part that are encoded separately, so that nothing is prepended. */
enum text_place { TEXT_START, TEXT_LATER, TEXT_CONTINUED };
/* Appends the normalized form of n bytes of UTF-8 to out.  *place (NULL: not at the start) becomes TEXT_LATER
 * when the first character was removed. */
void normalizer_run(const struct normalizer *z, const char *s, size_t n, enum text_place *place,
                    struct buf *out);

/* Appends a Unicode normalization form (UAX 15) of n bytes of UTF-8. */
void normalizer_form(bool compatible, bool compose, const char *s, size_t n, struct buf *out);

#endif
