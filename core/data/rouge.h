/* ROUGE-1, ROUGE-2 and ROUGE-L of one text against another (Lin 2004), as the rouge-score
 * package counts them without a stemmer.
 *
 * Words are runs of a–z and 0–9 after lower-casing; everything else parts them, letters of other
 * alphabets too, so a text without such words scores 0.  Pure function. */
#ifndef CORE_DATA_ROUGE_H
#define CORE_DATA_ROUGE_H

#include <stddef.h>

/* F1 of precision and recall, each 0 … 1; 0 where either text has no n-gram. */
struct rouge {
    double one, two;
    double longest; /* ROUGE-L: of the longest common subsequence of the whole texts */
};

/* A text beside its reference; sizes in bytes. */
struct rouge rouge_of(const char *gold, size_t gold_size, const char *text, size_t size);

#endif
