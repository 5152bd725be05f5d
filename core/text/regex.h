/* The regular expressions by which byte-level tokenizers split a text, matched on code points:
 *
 *   gpt2:          's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   qwen2, llama3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 *                  \s*[\r\n]+|\s+(?!\S)|\s+     (llama3: \p{N}{1,3} for \p{N})
 *
 * Pure functions.  Private to core/text. */
#ifndef CORE_TEXT_REGEX_H
#define CORE_TEXT_REGEX_H

#include <stddef.h>

enum regex { REGEX_NONE, REGEX_GPT2, REGEX_QWEN2, REGEX_LLAMA3 };

/* Returns the expression written in `regex`, or REGEX_NONE for any other. */
enum regex regex_find(const char *regex);
/* Returns the text of one. */
const char *regex_text(enum regex x);
/* Returns the end of the match that starts at s[at], at < n; each of them matches every text. */
size_t regex_next(enum regex x, const char *s, size_t n, size_t at);

#endif
