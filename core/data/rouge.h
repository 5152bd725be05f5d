/* ROUGE-1, ROUGE-2 and ROUGE-L of a text and a reference (Lin 2004), as computed by the rouge-score package
 * without a stemmer.
 *
 * Words are runs of a–z and 0–9 after lower-casing; everything else separates them, including letters of
 * other alphabets, so a text without such words scores 0.  Pure function. */
#ifndef CORE_DATA_ROUGE_H
#define CORE_DATA_ROUGE_H

#include <stddef.h>

/* F1 of precision and recall, each 0 … 1; 0 if either text has no n-gram. */
struct rouge {
    double one, two;
    double longest; /* ROUGE-L: of the longest common subsequence of the whole texts */
};

/* Scores a text against its reference; sizes in bytes. */
struct rouge rouge_of(const char *reference, size_t reference_size, const char *text, size_t size);

#endif
