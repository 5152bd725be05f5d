#include "views/theme.h"

#include <stdlib.h>

#include "core/base/mem.h"

static const struct style looks[INK_COUNT][3] = {
    /*                  256 colours            8 colours             none */
    [INK_TEXT] = { { -1, -1, 0 }, { -1, -1, 0 }, { -1, -1, 0 } },
    [INK_DIM] = { { 244, -1, 0 }, { -1, -1, ATTR_DIM }, { -1, -1, ATTR_DIM } },
    [INK_TITLE] = { { -1, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_ACCENT] = { { 33, -1, ATTR_BOLD }, { 6, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_CURSOR] = { { -1, -1, ATTR_REVERSE }, { -1, -1, ATTR_REVERSE }, { -1, -1, ATTR_REVERSE } },
    [INK_TAB] = { { 33, -1, ATTR_BOLD | ATTR_UNDERLINE },
                 { 6, -1, ATTR_BOLD | ATTR_UNDERLINE },
                 { -1, -1, ATTR_BOLD | ATTR_UNDERLINE } },
    [INK_FOCUS] = { { 33, -1, ATTR_BOLD | ATTR_REVERSE },
                   { 6, -1, ATTR_BOLD | ATTR_REVERSE },
                   { -1, -1, ATTR_BOLD | ATTR_REVERSE } },
    [INK_KEY] = { { 33, -1, ATTR_BOLD }, { 6, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_GOOD] = { { 36, -1, 0 }, { 2, -1, 0 }, { -1, -1, 0 } },
    [INK_WARN] = { { 172, -1, 0 }, { 3, -1, 0 }, { -1, -1, ATTR_UNDERLINE } },
    [INK_BAD] = { { 166, -1, ATTR_BOLD }, { 1, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD | ATTR_UNDERLINE } },
    [INK_CURVE] = { { 33, -1, ATTR_BOLD }, { 6, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_RAW] = { { 246, -1, 0 }, { -1, -1, ATTR_DIM }, { -1, -1, ATTR_DIM } },
    [INK_METRIC] = { { 172, -1, ATTR_BOLD }, { 3, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_BASELINE] = { { 244, -1, 0 }, { -1, -1, 0 }, { -1, -1, 0 } },
    [INK_MODULE_1] = { { 33, -1, ATTR_BOLD }, { 6, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_MODULE_2] = { { 172, -1, ATTR_BOLD }, { 3, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
    [INK_MODULE_3] = { { 169, -1, ATTR_BOLD }, { 5, -1, ATTR_BOLD }, { -1, -1, ATTR_BOLD } },
};

/* What a dark and a light ground ask for in place of that: of 256 colours, and of 8 on a light one; 0:
 * nothing. */
static const struct {
    int16_t dark, light, light_8;
} theme_grounds[INK_COUNT] = {
    [INK_DIM] = { 248, 241, 0 },    [INK_ACCENT] = { 75, 25, 4 },     [INK_TAB] = { 75, 25, 4 },
    [INK_FOCUS] = { 75, 25, 4 },    [INK_KEY] = { 75, 25, 4 },        [INK_GOOD] = { 79, 29, 0 },
    [INK_WARN] = { 215, 130, 5 },   [INK_BAD] = { 209, 124, 0 },      [INK_CURVE] = { 75, 25, 4 },
    [INK_RAW] = { 250, 245, 0 },    [INK_METRIC] = { 215, 130, 5 },   [INK_BASELINE] = { 248, 241, 0 },
    [INK_MODULE_1] = { 75, 25, 4 }, [INK_MODULE_2] = { 215, 130, 5 }, [INK_MODULE_3] = { 176, 125, 1 },
};

struct style theme_style(enum ink ink, enum theme theme, enum colours colours) {
    BUG_IF(ink < 0 || ink >= INK_COUNT);
    struct style s = looks[ink][colours];
    int16_t other = 0;
    if (theme == THEME_DARK && colours == COLOURS_256) other = theme_grounds[ink].dark;
    if (theme == THEME_LIGHT && colours == COLOURS_256) other = theme_grounds[ink].light;
    if (theme == THEME_LIGHT && colours == COLOURS_8) other = theme_grounds[ink].light_8;
    if (other) s.fg = other;
    return s;
}

const char *theme_name(enum theme t) {
    static const char *const names[THEME_COUNT] = { "safe", "dark", "light", "mono" };
    return names[t];
}

/* In code point order, for bsearch. */
static const struct ascii_spelling {
    uint32_t cp;
    const char *ascii;
} theme_spellings[] = {
    { 0x00B0, "o" },     { 0x00B7, "." },     { 0x00B9, "1" },      { 0x00D7, "x" },
    { 0x0394, "d" },     { 0x03B2, "b" },     { 0x03B7, "eta" },    { 0x03BB, "lambda" },
    { 0x03C3, "sd" },    { 0x03C6, "phi" },   { 0x1D40, "'" },      { 0x2013, "-" },
    { 0x2014, "-" },     { 0x2016, "|" },     { 0x2018, "'" },      { 0x2019, "'" },
    { 0x201C, "\"" },    { 0x201D, "\"" },    { 0x2026, "..." },      { 0x207B, "-" },
    { 0x2080, "0" },     { 0x2081, "1" },     { 0x2082, "2" },      { 0x2083, "3" },
    { 0x2084, "4" },     { 0x2085, "5" },     { 0x2086, "6" },      { 0x2087, "7" },
    { 0x2088, "8" },     { 0x2089, "9" },     { 0x2190, "<-" },      { 0x2191, "^" },
    { 0x2192, "->" },     { 0x2193, "v" },     { 0x2212, "-" },      { 0x221A, "sqrt " },
    { 0x221E, "inf" },   { 0x2248, "~" },     { 0x2260, "!=" },     { 0x2264, "<=" },
    { 0x2265, ">=" },    { 0x2295, "+" },     { 0x2299, "*" },      { 0x229E, "+" },
    { 0x2500, "-" },     { 0x2501, "=" },     { 0x2502, "|" },      { 0x2504, "-" },
    { 0x2506, ":" },     { 0x250C, "+" },     { 0x2510, "+" },      { 0x2514, "+" },
    { 0x2518, "+" },     { 0x251C, "+" },     { 0x2524, "+" },      { 0x252C, "+" },
    { 0x2534, "+" },     { 0x253C, "+" },     { 0x2550, "=" },      { 0x256D, "+" },
    { 0x256E, "+" },     { 0x256F, "+" },     { 0x2570, "+" },      { 0x2575, "|" },
    { 0x2577, "|" },     { 0x2580, "\"" },    { 0x2584, "_" },      { 0x2588, "#" },
    { 0x2591, "." },     { 0x2592, ":" },     { 0x2593, "#" },      { 0x25A0, "#" },
    { 0x25AA, "#" },     { 0x25B2, "^" },     { 0x25B4, "^" },      { 0x25B6, ">" },
    { 0x25B8, ">" },     { 0x25BC, "v" },     { 0x25BE, "v" },      { 0x25C0, "<" },
    { 0x25C2, "<" },     { 0x25C6, "*" },     { 0x25CB, "o" },      { 0x25CF, "*" },
    { 0x2691, "!" },     { 0x26A0, "!" },     { 0x2713, "ok" },     { 0x2717, "x" },
};

static int by_cp(const void *key, const void *entry) {
    uint32_t a = *(const uint32_t *)key, b = ((const struct ascii_spelling *)entry)->cp;
    return a < b ? -1 : a > b;
}

const char *theme_ascii(uint32_t cp) {
    const struct ascii_spelling *s =
        bsearch(&cp, theme_spellings, COUNT_OF(theme_spellings), sizeof *theme_spellings, by_cp);
    return s ? s->ascii : NULL;
}
