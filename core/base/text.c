#include "core/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utf8proc.h>

#include "core/base/mem.h"

enum { REPLACEMENT = 0xFFFD };

size_t utf8_decode(const char *s, size_t n, uint32_t *cp) {
    utf8proc_int32_t c;
    utf8proc_ssize_t limit = n > 4 ? 4 : (utf8proc_ssize_t)n;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s, limit, &c);
    if (used <= 0) {
        *cp = REPLACEMENT;
        return 1;
    }
    *cp = (uint32_t)c;
    return (size_t)used;
}

size_t utf8_encode(uint32_t cp, char out[4]) {
    utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)cp, (utf8proc_uint8_t *)out);
    return n > 0 ? (size_t)n : utf8_encode(REPLACEMENT, out);
}

void utf8_add(struct buf *b, uint32_t cp) {
    char bytes[4];
    buf_add(b, bytes, utf8_encode(cp, bytes));
}

bool utf8_is_one(const char *s) {
    uint32_t cp;
    return *s && utf8_decode(s, strlen(s), &cp) == strlen(s);
}

bool utf8_valid(const char *s, size_t n) {
    while (n) {
        utf8proc_int32_t c;
        utf8proc_ssize_t limit = n > 4 ? 4 : (utf8proc_ssize_t)n;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s, limit, &c);
        if (used <= 0) return false;
        s += used;
        n -= (size_t)used;
    }
    return true;
}

static bool is_hidden(uint32_t cp) {
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x200E || cp == 0x200F ||
           (cp >= 0x2028 && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xFEFF;
}

int text_cp_width(uint32_t cp) {
    if (cp >= 0x20 && cp < 0x7F) return 1; /* the most frequent case */
    if (is_hidden(cp)) return 1;
    int w = utf8proc_charwidth((utf8proc_int32_t)cp);
    return w < 0 ? 0 : w > 2 ? 2 : w;
}

int text_width(const char *s) {
    int width = 0;
    size_t n = strlen(s);
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        width += text_cp_width(cp);
        s += used;
        n -= used;
    }
    return width;
}

size_t text_fit(const char *s, int columns) {
    size_t n = strlen(s), at = 0;
    int width = 0;
    while (at < n) {
        uint32_t cp;
        size_t used = utf8_decode(s + at, n - at, &cp);
        width += text_cp_width(cp);
        if (width > columns) break;
        at += used;
    }
    return at;
}

char *text_visible(const char *s, size_t n) {
    struct buf out = BUF_INIT;
    while (n) {
        uint32_t cp;
        size_t plain = 0, used;
        while (plain < n && s[plain] >= 0x20 && s[plain] < 0x7F) plain++;
        buf_add(&out, s, plain);
        s += plain;
        n -= plain;
        if (!n) break;
        used = utf8_decode(s, n, &cp);
        if (cp < 0x20 || cp == 0x7F) {
            /* the block "control pictures" has one sign for each */
            utf8_add(&out, cp == 0x7F ? 0x2421 : 0x2400 + cp);
        } else if (is_hidden(cp) || (cp == REPLACEMENT && used == 1)) {
            buf_puts(&out, "\u00B7");
        } else {
            buf_add(&out, s, used);
        }
        s += used;
        n -= used;
    }
    return buf_take(&out);
}

char *text_visible_lines(const char *s, size_t n) {
    struct buf out = BUF_INIT;
    for (const char *end = s + n, *stop; s < end; s = stop + 1) {
        stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        size_t size = (size_t)(stop - s);
        char *line = text_visible(s, size && stop < end && s[size - 1] == '\r' ? size - 1 : size);
        buf_puts(&out, line);
        if (stop < end) buf_putc(&out, '\n');
        free(line);
    }
    return buf_take(&out);
}

char *text_string(const char *s, size_t n) {
    struct buf b = BUF_INIT;
    for (const char *end = s + n; s < end;) {
        const char *nul = memchr(s, '\0', (size_t)(end - s));
        buf_add(&b, s, (size_t)((nul ? nul : end) - s));
        if (!nul) break;
        buf_puts(&b, "\xE2\x90\x80");
        s = nul + 1;
    }
    return buf_take(&b);
}

void text_line(struct buf *b, const char *format, ...) {
    if (!b) return;
    char line[1024];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    size_t size = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    char *shown = text_visible(line, size);
    buf_printf(b, "%s\n", shown);
    free(shown);
}

bool text_to_double(const char *s, double *out) {
    /* strtod would also accept blanks, hexadecimal, "inf" and "nan" */
    if (!*s || strspn(s, "0123456789+-.eE") != strlen(s)) return false;
    char *end;
    errno = 0;
    double v = strtod(s, &end);
    if (*end || !isfinite(v)) return false;
    *out = v;
    return true;
}

char *text_trim(char *s) {
    static const char blanks[] = " \t\n\r";
    s += strspn(s, blanks);
    size_t n = strlen(s);
    while (n && strchr(blanks, s[n - 1])) s[--n] = '\0';
    return s;
}

char *text_item(char **rest) {
    char *item = *rest ? strsep(rest, ",") : NULL;
    return item ? text_trim(item) : NULL;
}

/* Appends the integers of "3" or "1..3" to the n that are there; returns the new number, or -1. */
static int add_ints(char *item, int64_t *out, int n, int room) {
    int64_t from, to;
    char *dots = strstr(item, "..");
    if (dots) *dots = '\0';
    if (!text_to_int(text_trim(item), &from) || !text_to_int(dots ? text_trim(dots + 2) : item, &to))
        return -1;
    for (;; from += from < to ? 1 : -1) {
        if (n == room) return -1;
        out[n++] = from;
        if (from == to) return n;
    }
}

int text_to_ints(const char *text, int64_t *out, int room) {
    char *copy = xstrdup(text), *rest = text_trim(copy), *item;
    size_t size = strlen(rest);
    int n = 0;
    if (size > 1 && *rest == '{' && rest[size - 1] == '}') {
        rest[size - 1] = '\0';
        rest++;
    }
    while (n >= 0 && (item = text_item(&rest))) n = add_ints(item, out, n, room);
    free(copy);
    return n;
}

bool text_to_int(const char *s, int64_t *out) {
    if (!*s || strspn(s, "0123456789+-") != strlen(s)) return false;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (*end || errno) return false;
    *out = v;
    return true;
}

/* Formats `digits` significant digits in plain notation if that is short, otherwise like %g. */
static void write_number(double v, int digits, char out[32]) {
    int exponent = v == 0 ? 0 : (int)floor(log10(fabs(v)));
    int decimals = digits - 1 - exponent;
    if (exponent < -4 || exponent > 14) snprintf(out, 32, "%.*g", digits, v);
    else snprintf(out, 32, "%.*f", decimals > 0 ? decimals : 0, v);
}

void text_from_double(double v, char out[32]) {
    if (isnan(v) || isinf(v)) {
        snprintf(out, 32, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        write_number(v, digits, out);
        if (strtod(out, NULL) == v) return;
    }
}

void text_from_float(float v, char out[32]) {
    if (!isfinite(v)) {
        text_from_double((double)v, out);
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        write_number((double)v, digits, out);
        if (strtof(out, NULL) == v) return;
    }
}

void text_thousands(int64_t v, char out[32]) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)(v < 0 ? -v : v));
    char *o = out;
    if (v < 0) *o++ = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) *o++ = ',';
        *o++ = digits[i];
    }
    *o = '\0';
}

static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 64 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    int row[LONGEST + 1];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            int best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
            corner = row[j];
            row[j] = change < best ? change : best;
        }
    }
    return row[m];
}

const char *text_nearest(const char *s, const char *const *names, size_t count) {
    const char *best = NULL;
    int least = 0;
    for (size_t i = 0; i < count; i++) {
        int d = edit_distance(s, names[i]);
        if (!best || d < least) {
            best = names[i];
            least = d;
        }
    }
    if (!best) return NULL;
    size_t longest = strlen(s) > strlen(best) ? strlen(s) : strlen(best);
    return (size_t)least * 2 <= longest ? best : NULL;
}

bool text_starts(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }

bool text_ends(const char *s, const char *suffix) {
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && !strcmp(s + n - m, suffix);
}

void text_shell_word(struct buf *b, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./:,+=@%";
    if (*word && strspn(word, safe) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_putc(b, '\'');
    for (; *word; word++) {
        if (*word == '\'') buf_puts(b, "'\\''");
        else buf_putc(b, *word);
    }
    buf_putc(b, '\'');
}

void text_shell_option(struct buf *b, const char *name, const char *value) {
    if (!value || !*value) return;
    buf_printf(b, " --%s ", name);
    text_shell_word(b, value);
}

char *text_word(const char **at) {
    const char *s = *at + strspn(*at, " ");
    struct buf b = BUF_INIT;
    bool any = *s != 0;
    for (char quote = 0; *s && (quote || *s != ' '); s++) {
        if (!quote && (*s == '\'' || *s == '"')) quote = *s;
        else if (quote == *s) quote = 0;
        else if (!quote && *s == '\\' && s[1]) buf_putc(&b, *++s);
        else buf_putc(&b, *s);
    }
    *at = s;
    if (!any) return NULL;
    return buf_take(&b);
}

void text_csv(struct buf *b, const char *s) {
    char *shown = text_visible(s, strlen(s));
    bool plain = !shown[strcspn(shown, ",\"")];
    if (!plain) buf_putc(b, '"');
    for (const char *c = shown; *c; c++) {
        if (*c == '"') buf_putc(b, '"');
        buf_putc(b, *c);
    }
    if (!plain) buf_putc(b, '"');
    free(shown);
}

void text_markdown(struct buf *b, const char *s) {
    char *shown = text_visible(s, strlen(s));
    for (const char *c = shown; *c; c++) {
        if (*c == '|') buf_putc(b, '\\');
        buf_putc(b, *c);
    }
    free(shown);
}

void text_markdown_cell(struct buf *b, const char *s) {
    buf_putc(b, ' ');
    text_markdown(b, s);
    buf_puts(b, " |");
}

size_t text_more(char *out, size_t size, size_t used, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + used, size - used, format, args);
    va_end(args);
    if (n < 0) n = 0, out[used] = 0;
    if (used + (size_t)n < size) return used + (size_t)n;
    uint32_t cp;
    size_t end = size - 1, last = end;
    while (last > used && ((unsigned char)out[last - 1] & 0xc0) == 0x80)
        last--; /* the last character's tail … */
    if (last > used && ((unsigned char)out[last - 1] & 0x80)) { /* … and its first byte */
        last--;
        if (last + utf8_decode(out + last, end - last, &cp) < end || cp == REPLACEMENT) end = last;
    }
    out[end] = 0;
    return end;
}

void text_time(int64_t ms, char out[32]) {
    out[0] = '\0';
    if (ms <= 0) return;
    time_t seconds = (time_t)(ms / 1000);
    struct tm t;
    if (!gmtime_r(&seconds, &t)) return;
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(ms % 1000));
}
