#include "core/text/unicode.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "core/base/mem.h"
#include "core/base/text.h"

struct range {
    uint32_t first, last;
};

/* Signs that the tables of the reference do not classify as punctuation yet. */
static const struct range later_punctuation[] = {
    { 0x61D, 0x61D }, { 0x9FD, 0x9FD }, { 0xA76, 0xA76 }, { 0xC77, 0xC77 }, { 0xC84, 0xC84 },
    { 0x1B7D, 0x1B7E }, { 0x2E43, 0x2E4F }, { 0x2E52, 0x2E5D }, { 0x10EAD, 0x10EAD }, { 0x10F55, 0x10F59 },
    { 0x10F86, 0x10F89 }, { 0x1144B, 0x1144F }, { 0x1145A, 0x1145B }, { 0x1145D, 0x1145D },
    { 0x11660, 0x1166C }, { 0x116B9, 0x116B9 }, { 0x1183B, 0x1183B }, { 0x11944, 0x11946 },
    { 0x119E2, 0x119E2 }, { 0x11A3F, 0x11A46 }, { 0x11A9A, 0x11A9C }, { 0x11A9E, 0x11AA2 },
    { 0x11B00, 0x11B09 }, { 0x11C41, 0x11C45 }, { 0x11C70, 0x11C71 }, { 0x11EF7, 0x11EF8 },
    { 0x11F43, 0x11F4F }, { 0x11FFF, 0x11FFF }, { 0x12FF1, 0x12FF2 }, { 0x16E97, 0x16E9A },
    { 0x16FE2, 0x16FE2 }, { 0x1E95E, 0x1E95F },
};

/* Marks that the reference does not strip yet. */
static const struct range later_marks[] = {
    { 0x7FD, 0x7FD }, { 0x898, 0x89F }, { 0x8CA, 0x8E1 }, { 0x9FE, 0x9FE }, { 0xAFA, 0xAFF },
    { 0xB55, 0xB55 }, { 0xC04, 0xC04 }, { 0xC3C, 0xC3C }, { 0xD00, 0xD00 }, { 0xD3B, 0xD3C },
    { 0xD81, 0xD81 }, { 0xEBA, 0xEBA }, { 0xECE, 0xECE }, { 0x180F, 0x180F }, { 0x1885, 0x1886 },
    { 0x1ABF, 0x1ACE }, { 0x1DF6, 0x1DFB }, { 0xA82C, 0xA82C }, { 0xA8C5, 0xA8C5 }, { 0xA8FF, 0xA8FF },
    { 0xA9BD, 0xA9BD }, { 0x10D24, 0x10D27 }, { 0x10EAB, 0x10EAC }, { 0x10EFD, 0x10EFF },
    { 0x10F46, 0x10F50 }, { 0x10F82, 0x10F85 }, { 0x11070, 0x11070 }, { 0x11073, 0x11074 },
    { 0x110C2, 0x110C2 }, { 0x111C9, 0x111C9 }, { 0x111CF, 0x111CF }, { 0x1123E, 0x1123E },
    { 0x11241, 0x11241 }, { 0x1133B, 0x1133B }, { 0x11438, 0x1143F }, { 0x11442, 0x11444 },
    { 0x11446, 0x11446 }, { 0x1145E, 0x1145E }, { 0x1182F, 0x11837 }, { 0x11839, 0x1183A },
    { 0x1193B, 0x1193C }, { 0x1193E, 0x1193E }, { 0x11943, 0x11943 }, { 0x119D4, 0x119D7 },
    { 0x119DA, 0x119DB }, { 0x119E0, 0x119E0 }, { 0x11A01, 0x11A0A }, { 0x11A33, 0x11A38 },
    { 0x11A3B, 0x11A3E }, { 0x11A47, 0x11A47 }, { 0x11A51, 0x11A56 }, { 0x11A59, 0x11A5B },
    { 0x11A8A, 0x11A96 }, { 0x11A98, 0x11A99 }, { 0x11C30, 0x11C36 }, { 0x11C38, 0x11C3D },
    { 0x11C3F, 0x11C3F }, { 0x11C92, 0x11CA7 }, { 0x11CAA, 0x11CB0 }, { 0x11CB2, 0x11CB3 },
    { 0x11CB5, 0x11CB6 }, { 0x11D31, 0x11D36 }, { 0x11D3A, 0x11D3A }, { 0x11D3C, 0x11D3D },
    { 0x11D3F, 0x11D45 }, { 0x11D47, 0x11D47 }, { 0x11D90, 0x11D91 }, { 0x11D95, 0x11D95 },
    { 0x11D97, 0x11D97 }, { 0x11EF3, 0x11EF4 }, { 0x11F00, 0x11F01 }, { 0x11F36, 0x11F3A },
    { 0x11F40, 0x11F40 }, { 0x11F42, 0x11F42 }, { 0x13440, 0x13440 }, { 0x13447, 0x13455 },
    { 0x16F4F, 0x16F4F }, { 0x16FE4, 0x16FE4 }, { 0x1CF00, 0x1CF2D }, { 0x1CF30, 0x1CF46 },
    { 0x1E000, 0x1E006 }, { 0x1E008, 0x1E018 }, { 0x1E01B, 0x1E021 }, { 0x1E023, 0x1E024 },
    { 0x1E026, 0x1E02A }, { 0x1E08F, 0x1E08F }, { 0x1E130, 0x1E136 }, { 0x1E2AE, 0x1E2AE },
    { 0x1E2EC, 0x1E2EF }, { 0x1E4EC, 0x1E4EF }, { 0x1E944, 0x1E94A },
};

/* Format characters that the reference does not drop yet. */
static const struct range later_controls[] = {
    { 0x890, 0x891 }, { 0x8E2, 0x8E2 }, { 0x110CD, 0x110CD }, { 0x13430, 0x1343F },
};

/* Marks of any kind that its canonical forms and their stripping do not know yet. */
static const struct range later_any_marks[] = {
    { 0x7FD, 0x7FD },     { 0x898, 0x89F },     { 0x8CA, 0x8D3 },     { 0x9FE, 0x9FE },
    { 0xAFA, 0xAFF },     { 0xB55, 0xB55 },     { 0xC04, 0xC04 },     { 0xC3C, 0xC3C },
    { 0xCF3, 0xD00 },     { 0xD3B, 0xD3C },     { 0xD81, 0xD81 },     { 0xEBA, 0xEBA },
    { 0xECE, 0xECE },     { 0x1715, 0x1715 },   { 0x180F, 0x180F },   { 0x1ABF, 0x1ACE },
    { 0x1CF7, 0x1CF7 },   { 0x1DF6, 0x1DFA },   { 0xA82C, 0xA82C },   { 0xA8FF, 0xA8FF },
    { 0x10D24, 0x10D27 }, { 0x10EAB, 0x10EAC }, { 0x10EFD, 0x10EFF }, { 0x10F46, 0x10F50 },
    { 0x10F82, 0x10F85 }, { 0x11070, 0x11074 }, { 0x110C2, 0x110C2 }, { 0x11145, 0x11146 },
    { 0x111C9, 0x111C9 }, { 0x111CE, 0x111CF }, { 0x11241, 0x11241 }, { 0x1133B, 0x1133B },
    { 0x1145E, 0x1145E }, { 0x1182C, 0x1183A }, { 0x11930, 0x11943 }, { 0x119D1, 0x11A0A },
    { 0x11A33, 0x11A5B }, { 0x11A8A, 0x11A99 }, { 0x11D31, 0x11D47 }, { 0x11D8A, 0x11D97 },
    { 0x11EF3, 0x11F03 }, { 0x11F34, 0x11F42 }, { 0x13440, 0x13455 }, { 0x16F4F, 0x16F4F },
    { 0x16F7F, 0x16F87 }, { 0x16FE4, 0x16FF1 }, { 0x1CF00, 0x1CF46 }, { 0x1E08F, 0x1E08F },
    { 0x1E130, 0x1E136 }, { 0x1E2AE, 0x1E2AE }, { 0x1E2EC, 0x1E2EF }, { 0x1E4EC, 0x1E4EF },
};

/* Combining classes that the reference does not know yet: starters there. */
static const struct range later_classes[] = {
    { 0x7FD, 0x7FD },     { 0x898, 0x89F },     { 0x8CA, 0x8D3 },     { 0x9FE, 0x9FE },
    { 0xC3C, 0xC3C },     { 0xD3B, 0xD3C },     { 0xEBA, 0xEBA },     { 0x1715, 0x1715 },
    { 0x1ABF, 0x1ACE },   { 0x1DF6, 0x1DFA },   { 0xA82C, 0xA82C },   { 0x10D24, 0x10D27 },
    { 0x10EAB, 0x10EAC }, { 0x10EFD, 0x10EFF }, { 0x10F46, 0x10F50 }, { 0x10F82, 0x10F85 },
    { 0x11070, 0x11070 }, { 0x1133B, 0x1133B }, { 0x1145E, 0x1145E }, { 0x11839, 0x1183A },
    { 0x1193D, 0x11943 }, { 0x119E0, 0x119E0 }, { 0x11A34, 0x11A47 }, { 0x11A99, 0x11A99 },
    { 0x11D42, 0x11D45 }, { 0x11D97, 0x11D97 }, { 0x11F41, 0x11F42 }, { 0x16FF0, 0x16FF1 },
    { 0x1E08F, 0x1E08F }, { 0x1E130, 0x1E136 }, { 0x1E2AE, 0x1E2AE }, { 0x1E2EC, 0x1E2EF },
    { 0x1E4EC, 0x1E4EF },
};

/* Compatibility decompositions that the reference does not know yet. */
static const struct range later_decompositions[] = {
    { 0x32FF, 0x32FF }, { 0xA7F2, 0xA7F4 }, { 0xAB69, 0xAB69 }, { 0x10781, 0x107BA }, { 0x11938, 0x11938 },
    { 0x1E030, 0x1E06D }, { 0x1F16C, 0x1F16C }, { 0x1FBF0, 0x1FBF9 },
};

/* Letters and numbers that its regular expressions already know. */
static const struct range sooner_letters[] = {
    { 0x1C89, 0x1C8A }, { 0xA7CB, 0xA7CD }, { 0xA7DA, 0xA7DC }, { 0x105C0, 0x105F3 }, { 0x10D4A, 0x10D65 },
    { 0x10D6F, 0x10D85 }, { 0x10EC2, 0x10EC4 }, { 0x11380, 0x11389 }, { 0x1138B, 0x1138B },
    { 0x1138E, 0x1138E }, { 0x11390, 0x113B5 }, { 0x113B7, 0x113B7 }, { 0x113D1, 0x113D1 },
    { 0x113D3, 0x113D3 }, { 0x11BC0, 0x11BE0 }, { 0x13460, 0x143FA }, { 0x16100, 0x1611D },
    { 0x16D40, 0x16D6C }, { 0x18CFF, 0x18CFF }, { 0x1E5D0, 0x1E5ED }, { 0x1E5F0, 0x1E5F0 },
    { 0x2EBF0, 0x2EE5D },
};
static const struct range sooner_numbers[] = {
    { 0x10D40, 0x10D49 }, { 0x116D0, 0x116E3 }, { 0x11BF0, 0x11BF9 }, { 0x16130, 0x16139 },
    { 0x16D70, 0x16D79 }, { 0x1CCF0, 0x1CCF9 }, { 0x1E5F1, 0x1E5FA },
};

/* Marks that grapheme clusters already include. */
static const struct range sooner_extenders[] = {
    { 0x897, 0x897 }, { 0x1ACF, 0x1ADD }, { 0x1AE0, 0x1AEB },
};

/* Consonants that a virama joins into one cluster (UAX 29, rule GB9c, newer than utf8proc). */
static const struct range conjunct_consonants[] = {
    { 0x915, 0x939 }, { 0x958, 0x95F }, { 0x978, 0x97F }, { 0x995, 0x9A8 }, { 0x9AA, 0x9B0 },
    { 0x9B2, 0x9B2 }, { 0x9B6, 0x9B9 }, { 0x9DC, 0x9DD }, { 0x9DF, 0x9DF }, { 0x9F0, 0x9F1 },
    { 0xA95, 0xAA8 }, { 0xAAA, 0xAB0 }, { 0xAB2, 0xAB3 }, { 0xAB5, 0xAB9 }, { 0xAF9, 0xAF9 },
    { 0xB15, 0xB28 }, { 0xB2A, 0xB30 }, { 0xB32, 0xB33 }, { 0xB35, 0xB39 }, { 0xB5C, 0xB5D },
    { 0xB5F, 0xB5F }, { 0xB71, 0xB71 }, { 0xC15, 0xC28 }, { 0xC2A, 0xC39 }, { 0xC58, 0xC5A },
    { 0xD15, 0xD3A },
};

static const struct range ideographs[] = {
    { 0x3400, 0x4DBF }, { 0x4E00, 0x9FFF }, { 0xF900, 0xFAFF }, { 0x20000, 0x2A6DF },
    { 0x2A700, 0x2B81F }, { 0x2B920, 0x2CEAF }, { 0x2F800, 0x2FA1F },
};

/* Capitals unknown to utf8proc: every `step`-th of first … last is offset by `by`. */
static const struct {
    uint32_t first, last;
    int step, by;
} later_capitals[] = {
    { 0x1C89, 0x1C89, 1, 1 },         { 0xA7CB, 0xA7CB, 1, 0x264 - 0xA7CB }, { 0xA7CC, 0xA7CE, 2, 1 },
    { 0xA7D2, 0xA7D4, 2, 1 },         { 0xA7DA, 0xA7DA, 1, 1 },
    { 0xA7DC, 0xA7DC, 1, 0x19B - 0xA7DC }, { 0x10D50, 0x10D65, 1, 0x20 },
    { 0x16EA0, 0x16EB8, 1, 0x1B },
};

static bool unicode_within(uint32_t cp, const struct range *r, size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cp > r[middle].last) low = middle + 1;
        else high = middle;
    }
    return low < n && cp >= r[low].first;
}
#define WITHIN(cp, list) unicode_within(cp, list, COUNT_OF(list))

static utf8proc_category_t category(uint32_t cp) {
    return utf8proc_category((utf8proc_int32_t)cp);
}

bool unicode_is_space(uint32_t cp) {
    if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13);
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

bool unicode_is_python_space(uint32_t cp) { return unicode_is_space(cp) || (cp >= 0x1C && cp <= 0x1F); }

size_t unicode_rstrip(const char *s, size_t n) {
    size_t left = 0, at = 0;
    while (at < n) {
        uint32_t cp;
        at += utf8_decode(s + at, n - at, &cp);
        if (!unicode_is_python_space(cp)) left = at;
    }
    return left;
}

void unicode_strip(const char **s, size_t *n) {
    uint32_t cp;
    *n = unicode_rstrip(*s, *n);
    while (*n) {
        size_t used = utf8_decode(*s, *n, &cp);
        if (!unicode_is_python_space(cp)) break;
        *s += used;
        *n -= used;
    }
}

bool unicode_is_control(uint32_t cp) {
    if (cp == '\t' || cp == '\n' || cp == '\r') return false;
    utf8proc_category_t c = category(cp);
    if (c == UTF8PROC_CATEGORY_CF) return !WITHIN(cp, later_controls);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CO;
}

bool unicode_is_punctuation(uint32_t cp) {
    if (cp < 0x80)
        return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) || (cp >= 91 && cp <= 96) ||
               (cp >= 123 && cp <= 126);
    if (cp == 0x166D || cp == 0x111C9) return true; /* were punctuation in the older tables */
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO && !WITHIN(cp, later_punctuation);
}

bool unicode_is_mark(uint32_t cp) {
    if (cp < 0x300) return false;
    if (cp == 0x1734) return true; /* a spacing mark only since Unicode 14 */
    return category(cp) == UTF8PROC_CATEGORY_MN && !WITHIN(cp, later_marks);
}

bool unicode_is_ideograph(uint32_t cp) { return cp >= 0x3400 && WITHIN(cp, ideographs); }

bool unicode_is_word(uint32_t cp) {
    if (cp < 0x80)
        return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') ||
               cp == '_';
    if (cp == 0x200C || cp == 0x200D) return true;
    if (cp >= 0x24B6 && cp <= 0x24E9) return true; /* circled letters are alphabetic */
    utf8proc_category_t c = category(cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
           (c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME) || c == UTF8PROC_CATEGORY_ND ||
           c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_PC;
}

bool unicode_is_any_mark(uint32_t cp) {
    if (cp < 0x300) return false;
    if (cp == 0x1CF2 || cp == 0x1CF3) return true; /* letters only since Unicode 12 */
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_MN && c <= UTF8PROC_CATEGORY_ME && !WITHIN(cp, later_any_marks);
}

bool unicode_is_letter(uint32_t cp) {
    if (cp < 0x80) return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z');
    utf8proc_category_t c = category(cp);
    return c ? c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO : WITHIN(cp, sooner_letters);
}

bool unicode_is_number(uint32_t cp) {
    if (cp < 0x80) return cp >= '0' && cp <= '9';
    utf8proc_category_t c = category(cp);
    return c ? c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO : WITHIN(cp, sooner_numbers);
}

bool unicode_is_numeric(uint32_t cp) {
    return unicode_is_number(cp) || (cp >= 0x11DE0 && cp <= 0x11DE9) || (cp >= 0x16FF4 && cp <= 0x16FF6);
}

int unicode_combining(uint32_t cp) {
    if (cp < 0x300) return 0;
    int combining = utf8proc_get_property((utf8proc_int32_t)cp)->combining_class;
    return combining && WITHIN(cp, later_classes) ? 0 : combining;
}

static size_t text_unicode_decompose(uint32_t cp, bool compatible, uint32_t out[UNICODE_PARTS]) {
    out[0] = cp;
    if (cp < 0xA0 || cp == 0x11938) return 1; /* 0x11938 came with Unicode 13 */
    if (compatible && WITHIN(cp, later_decompositions)) compatible = false;
    utf8proc_int32_t parts[UNICODE_PARTS];
    int last_class = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        (utf8proc_int32_t)cp, parts, UNICODE_PARTS,
        UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0), &last_class);
    if (n < 1 || n > UNICODE_PARTS) return 1;
    for (utf8proc_ssize_t i = 0; i < n; i++) out[i] = (uint32_t)parts[i];
    return (size_t)n;
}

size_t unicode_decompose(uint32_t cp, uint32_t out[UNICODE_PARTS]) {
    return text_unicode_decompose(cp, false, out);
}

size_t unicode_decompose_compatible(uint32_t cp, uint32_t out[UNICODE_PARTS]) {
    return text_unicode_decompose(cp, true, out);
}

uint32_t unicode_compose(uint32_t a, uint32_t b) {
    if (b < 0x300 || (a == 0x11935 && b == 0x11930)) return 0;
    utf8proc_int32_t pair[2] = { (utf8proc_int32_t)a, (utf8proc_int32_t)b };
    utf8proc_ssize_t n = utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    return n == 1 ? (uint32_t)pair[0] : 0;
}

static int by_class(const void *a, const void *b) {
    const struct unicode_point *x = a, *y = b;
    if (x->combining != y->combining) return x->combining < y->combining ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void unicode_order(struct unicode_point *point, size_t n) {
    if (n > 1) qsort(point, n, sizeof *point, by_class);
}

size_t unicode_lower(uint32_t cp, uint32_t out[2]) {
    if (cp < 0x80) {
        out[0] = cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
        return 1;
    }
    if (cp == 0x130) { /* capital I with a dot: i and a combining dot */
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    for (size_t i = 0; i < COUNT_OF(later_capitals); i++)
        if (cp >= later_capitals[i].first && cp <= later_capitals[i].last &&
            (cp - later_capitals[i].first) % (uint32_t)later_capitals[i].step == 0)
            out[0] = (uint32_t)((int)cp + later_capitals[i].by);
    return 1;
}

static bool is_virama(uint32_t cp) {
    return cp == 0x94D || cp == 0x9CD || cp == 0xACD || cp == 0xB4D || cp == 0xC4D || cp == 0xD4D;
}

/* Characters allowed between the consonants of a conjunct besides its virama. */
static bool is_extender(uint32_t cp) {
    int bound = utf8proc_get_property((utf8proc_int32_t)cp)->boundclass;
    return cp != 0x200C && (bound == UTF8PROC_BOUNDCLASS_EXTEND || bound == UTF8PROC_BOUNDCLASS_ZWJ);
}

bool unicode_breaks(struct unicode_cluster *c, uint32_t last, uint32_t cp) {
    if (!c->started) c->consonant = WITHIN(last, conjunct_consonants);
    c->started = true;
    bool breaks = utf8proc_grapheme_break_stateful((utf8proc_int32_t)last, (utf8proc_int32_t)cp,
                                                   &c->state);
    if (WITHIN(cp, sooner_extenders)) return false;
    if (WITHIN(cp, conjunct_consonants)) {
        breaks = breaks && !(c->consonant && c->virama);
        c->consonant = true;
        c->virama = false;
    } else if (is_virama(cp)) {
        c->virama = true;
    } else if (!is_extender(cp)) {
        c->consonant = c->virama = false;
    }
    return breaks;
}
