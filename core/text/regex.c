#include "core/text/regex.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define WORDS_OF(numbers)                                                                               \
    "(?i:" CONTRACTIONS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" \
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const char *const regex_texts[] = {
    [REGEX_GPT2] = CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    [REGEX_QWEN2] = WORDS_OF("\\p{N}"),
    [REGEX_LLAMA3] = WORDS_OF("\\p{N}{1,3}"),
};

enum regex regex_find(const char *regex) {
    for (int x = REGEX_GPT2; x < (int)COUNT_OF(regex_texts); x++)
        if (!strcmp(regex, regex_texts[x])) return (enum regex)x;
    return REGEX_NONE;
}

const char *regex_text(enum regex x) { return regex_texts[x]; }

enum class { CLASS_LETTER, CLASS_NUMBER, CLASS_BLANK, CLASS_OTHER };

static enum class class_at(const char *s, size_t n, size_t at, size_t *used) {
    uint32_t cp;
    *used = utf8_decode(s + at, n - at, &cp);
    return unicode_is_letter(cp) ? CLASS_LETTER : unicode_is_space(cp) ? CLASS_BLANK
         : unicode_is_number(cp) ? CLASS_NUMBER : CLASS_OTHER;
}

/* Returns the end of the run of at most `most` code points of a class; *last is the start of its last one. */
static size_t run_of(enum class kind, const char *s, size_t n, size_t at, size_t most, size_t *last) {
    size_t used;
    for (; most && at < n && class_at(s, n, at, &used) == kind; most--) {
        *last = at;
        at += used;
    }
    return at;
}

/* Returns the bytes of a contraction at s, 0 if there is none.  The long s is an s without regard to case. */
static size_t contraction(const char *s, size_t n, bool any_case) {
    static const char *const known[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };
    if (any_case && n >= 3 && !memcmp(s, "'\u017F", 3)) return 3;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t size = strlen(known[i]);
        if (size <= n && (any_case ? !strncasecmp(s, known[i], size) : !memcmp(s, known[i], size)))
            return size;
    }
    return 0;
}

/* The last blank before a word is left to it: \s+(?!\S)|\s+. */
static size_t blanks(const char *s, size_t n, size_t at) {
    size_t last = at, end = run_of(CLASS_BLANK, s, n, at, n, &last);
    return end < n && last > at ? last : end;
}

static size_t regex_gpt2(const char *s, size_t n, size_t at) {
    size_t used, last, next = at + (s[at] == ' ' && at + 1 < n);
    enum class kind = class_at(s, n, next, &used);
    return kind == CLASS_BLANK ? blanks(s, n, at) : run_of(kind, s, n, next, n, &last);
}

static bool line_end(char c) { return c == '\r' || c == '\n'; }

/* Returns the end of the last line end in the run of blanks at s[at], or `at`: \s*[\r\n]+. */
static size_t line_ends(const char *s, size_t n, size_t at) {
    size_t last, end = run_of(CLASS_BLANK, s, n, at, n, &last);
    while (end > at && !line_end(s[end - 1])) end--;
    return end;
}

static size_t regex_words(const char *s, size_t n, size_t at, size_t numbers) {
    size_t used, next_used, last;
    enum class kind = class_at(s, n, at, &used);
    if (kind == CLASS_NUMBER) return run_of(kind, s, n, at, numbers, &last);
    size_t word = kind == CLASS_LETTER ? at : at + used;
    enum class next = word < n ? class_at(s, n, word, &next_used) : CLASS_BLANK;
    if (next == CLASS_LETTER && !line_end(s[at])) return run_of(CLASS_LETTER, s, n, word, n, &last);
    bool signs = kind == CLASS_OTHER || (s[at] == ' ' && next == CLASS_OTHER);
    if (!signs) {
        size_t end = line_ends(s, n, at);
        return end > at ? end : blanks(s, n, at);
    }
    size_t end = run_of(CLASS_OTHER, s, n, at + (s[at] == ' '), n, &last);
    while (end < n && line_end(s[end])) end++;
    return end;
}

size_t regex_next(enum regex x, const char *s, size_t n, size_t at) {
    size_t size = s[at] == '\'' ? contraction(s + at, n - at, x != REGEX_GPT2) : 0;
    if (size) return at + size;
    if (x == REGEX_GPT2) return regex_gpt2(s, n, at);
    return regex_words(s, n, at, x == REGEX_QWEN2 ? 1 : 3);
}
