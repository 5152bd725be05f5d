/* Corpus BLEU (Papineni et al. 2002) with one reference per text, as computed by sacrebleu: words by mteval's
 * 13a rules, case-sensitive, n-grams up to 4, exponential smoothing.
 *
 * A struct bleu, zeroed, accumulates counts text by text; it owns nothing. */
#ifndef CORE_DATA_BLEU_H
#define CORE_DATA_BLEU_H

#include <stddef.h>
#include <stdint.h>

#include "core/data/words.h"

enum { BLEU_ORDER = 4 };

struct bleu {
    uint64_t correct[BLEU_ORDER]; /* n-grams of the texts that also occur in their references */
    uint64_t total[BLEU_ORDER]; /* n-grams of the texts */
    uint64_t length, reference_length; /* words */
};

/* Adds the counts of one text and its reference; sizes in bytes of UTF-8. */
void bleu_add(struct bleu *b, const char *reference, size_t reference_size, const char *text, size_t size);
/* Returns the score, 0 … 100; 0 when no word matches or the texts are too short for any 4-gram. */
double bleu_value(const struct bleu *b);

#endif
