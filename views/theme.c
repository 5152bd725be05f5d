#include "views/theme.h"

#include <stdlib.h>

#include "core/base/mem.h"

/* The looks of an ink: of 256 colors for the themes in their order, of 8 colors for dark and light, and
 * without colors.  Bold text of the first 8 colors is bright on xterm, which suits dark grounds alone. */
static const struct ink_look {
    int16_t of_256[THEME_MONO];
    uint8_t attr;
    int16_t of_8[2];
    uint8_t attr_8[2], alone;
} theme_looks[INK_COUNT] = {
#define BOLD ATTR_BOLD
#define DIM ATTR_DIM
#define LINE ATTR_UNDERLINE
#define BACK ATTR_REVERSE
    /*                 safe dark light          dark light        attributes    without */
    [INK_TEXT] = { { -1, -1, -1 }, 0, { -1, -1 }, { 0, 0 }, 0 },
    [INK_DIM] = { { 243, 248, 241 }, 0, { -1, -1 }, { DIM, DIM }, DIM },
    [INK_TITLE] = { { -1, -1, -1 }, BOLD, { -1, -1 }, { BOLD, BOLD }, BOLD },
    [INK_ACCENT] = { { 63, 75, 25 }, BOLD, { 6, 4 }, { BOLD, BOLD }, BOLD },
    [INK_CURSOR] = { { -1, -1, -1 }, BACK, { -1, -1 }, { BACK, BACK }, BACK },
    [INK_TAB] = { { 63, 75, 25 }, BOLD | LINE, { 6, 4 }, { BOLD | LINE, BOLD | LINE }, BOLD | LINE },
    [INK_FOCUS] = { { 63, 75, 25 }, BOLD | BACK, { 6, 4 }, { BOLD | BACK, BOLD | BACK }, BOLD | BACK },
    [INK_KEY] = { { 63, 75, 25 }, BOLD, { 6, 4 }, { BOLD, BOLD }, BOLD },
    [INK_GOOD] = { { 29, 79, 23 }, 0, { 2, 4 }, { 0, 0 }, 0 },
    [INK_WARN] = { { 131, 215, 94 }, 0, { 3, 5 }, { 0, 0 }, LINE },
    [INK_BAD] = { { 163, 204, 125 }, BOLD, { 1, 1 }, { BOLD, LINE }, BOLD | LINE },
    [INK_CURVE] = { { 63, 75, 25 }, BOLD, { 6, 4 }, { BOLD, BOLD }, BOLD },
    [INK_RAW] = { { 243, 250, 241 }, 0, { -1, -1 }, { DIM, DIM }, DIM },
    [INK_METRIC] = { { 131, 215, 94 }, BOLD, { 3, 5 }, { BOLD, 0 }, BOLD },
    [INK_BASELINE] = { { 243, 248, 241 }, 0, { -1, -1 }, { 0, 0 }, 0 },
    [INK_MODULE_1] = { { 63, 75, 25 }, BOLD, { 6, 4 }, { BOLD, BOLD }, BOLD },
    [INK_MODULE_2] = { { 131, 215, 94 }, BOLD, { 3, 5 }, { BOLD, 0 }, BOLD },
    [INK_MODULE_3] = { { 163, 205, 125 }, BOLD, { 5, 1 }, { BOLD, 0 }, BOLD },
#undef BOLD
#undef DIM
#undef LINE
#undef BACK
};

/* Colors of series, the most distinct first. */
static const int16_t series_256[THEME_MONO][THEME_SERIES] = {
    [THEME_SAFE] = { 33, 166, 126, 29, 104, 197, 139, 93 },
    [THEME_DARK] = { 75, 215, 205, 157, 144, 189, 46, 224 },
    [THEME_LIGHT] = { 25, 94, 125, 57, 16, 52, 18, 53 },
};
static const int16_t series_safe_text[] = { 63, 131, 163, 29, 98 };
static const int16_t series_dark_8[] = { 6, 3, 5, 2, 1 }, series_light_8[] = { 4, 5, 1 };

enum colors theme_colors(enum theme theme, enum colors colors) {
    return theme == THEME_MONO || (theme == THEME_SAFE && colors == COLORS_8) ? COLORS_NONE : colors;
}

struct style theme_style(enum ink ink, enum theme theme, enum colors colors) {
    BUG_IF(ink < 0 || ink >= INK_COUNT);
    const struct ink_look *k = &theme_looks[ink];
    colors = theme_colors(theme, colors);
    if (colors == COLORS_NONE) return (struct style){ -1, -1, k->alone };
    if (colors == COLORS_256) return (struct style){ k->of_256[theme], -1, k->attr };
    int light = theme == THEME_LIGHT;
    return (struct style){ k->of_8[light], -1, k->attr_8[light] };
}

int theme_series(enum theme theme, enum colors colors) {
    colors = theme_colors(theme, colors);
    if (colors == COLORS_NONE) return 0;
    if (colors == COLORS_256) return THEME_SERIES;
    return theme == THEME_LIGHT ? (int)COUNT_OF(series_light_8) : (int)COUNT_OF(series_dark_8);
}

struct style theme_series_style(int i, bool text, enum theme theme, enum colors colors) {
    struct style s = { -1, -1, 0 };
    int of = theme_series(theme, colors);
    if (of == THEME_SERIES)
        s.fg = text && theme == THEME_SAFE ? series_safe_text[i % (int)COUNT_OF(series_safe_text)]
                                           : series_256[theme][i % of];
    else if (of) {
        s.fg = (theme == THEME_LIGHT ? series_light_8 : series_dark_8)[i % of];
        if (text && theme == THEME_DARK) s.attr = ATTR_BOLD;
    }
    return s;
}

int theme_rgb(int index) {
    int rgb = 0;
    if (index >= 232) return (8 + 10 * (index - 232)) * 0x010101;
    for (int i = 0, part = 36; i < 3; i++, part /= 6) {
        int level = (index - 16) / part % 6;
        rgb = rgb << 8 | (level ? 55 + 40 * level : 0);
    }
    return rgb;
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
