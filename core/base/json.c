#include "core/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* jansson itself recurses to 2,048 levels; the limit of petri is checked first. */
static int depth_line(const char *s, size_t n) {
    int depth = 0, line = 1;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '\n') line++;
        if (quoted) {
            if (c == '\\') i++;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_DEPTH) return line;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return 0;
}

/* Returns whether the number of n characters at s is outside the range of json_t. */
static bool overflows(const char *s, size_t n) {
    char *text = xstrndup(s, n);
    int64_t whole;
    double v;
    bool real = strpbrk(text, ".eE") != NULL,
         fits = real ? text_to_double(text, &v) : text_to_int(text, &whole);
    free(text);
    return !fits;
}

/* Appends the n bytes with quotes around each number outside that range. */
static void quote_overflows(const char *s, size_t n, struct buf *out) {
    bool quoted = false;
    for (size_t i = 0, used; i < n; i += used) {
        used = 1;
        if (quoted) used = s[i] == '\\' && i + 1 < n ? 2 : 1;
        if (s[i] == '"') quoted = !quoted;
        if (!quoted && s[i] && strchr("-0123456789", s[i])) {
            while (i + used < n && s[i + used] && strchr("+-.eE0123456789", s[i + used])) used++;
            if (overflows(s + i, used)) {
                buf_putc(out, '"');
                buf_add(out, s + i, used);
                buf_putc(out, '"');
                continue;
            }
        }
        buf_add(out, s + i, used);
    }
}

json_t *json_parse(const char *name, const char *bytes, size_t n, struct err *e) {
    int deep = depth_line(bytes, n);
    if (deep) {
        err_set(e, ERR_INPUT, "%s: line %d: nested deeper than %d levels", name, deep, JSON_DEPTH);
        return NULL;
    }
    json_error_t where;
    json_t *value = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &where);
    if (!value && json_error_code(&where) == json_error_numeric_overflow) {
        struct buf again = BUF_INIT;
        quote_overflows(bytes, n, &again);
        value = json_loadb(again.data, again.size, JSON_REJECT_DUPLICATES, &where);
        buf_release(&again);
    }
    if (!value)
        err_set(e, ERR_INPUT, "%s: line %d, column %d: not valid JSON: %s", name, where.line,
                where.column, where.text);
    return value;
}

json_t *json_read(const char *path, size_t limit, struct err *e) {
    struct buf text;
    if (file_read(path, limit, &text, e)) return NULL;
    size_t skip = text.size >= 3 && !memcmp(text.data, "\xEF\xBB\xBF", 3) ? 3 : 0;
    json_t *value = json_parse(path, buf_text(&text) + skip, text.size - skip, e);
    buf_release(&text);
    return value;
}

static const json_t *json_member(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    return v && !json_is_null(v) ? v : NULL;
}

static bool mismatch(const char *file, const char *key, const char *wanted, struct err *e) {
    err_set(e, ERR_INPUT, "%s: \"%s\" must be %s", file, key, wanted);
    return false;
}

bool json_get_int(const json_t *o, const char *file, const char *key, json_int_t *out, struct err *e) {
    const json_t *v = json_member(o, key);
    if (!v) return false;
    if (!json_is_integer(v)) return mismatch(file, key, "an integer", e);
    *out = json_integer_value(v);
    return true;
}

bool json_get_double(const json_t *o, const char *file, const char *key, double *out, struct err *e) {
    const json_t *v = json_member(o, key);
    if (!v) return false;
    if (!json_is_number(v)) return mismatch(file, key, "a number", e);
    *out = json_number_value(v);
    return true;
}

bool json_get_bool(const json_t *o, const char *file, const char *key, bool *out, struct err *e) {
    const json_t *v = json_member(o, key);
    if (!v) return false;
    if (!json_is_boolean(v)) return mismatch(file, key, "true or false", e);
    *out = json_is_true(v);
    return true;
}

bool json_get_string(const json_t *o, const char *file, const char *key, const char **out, struct err *e) {
    const json_t *v = json_member(o, key);
    if (!v) return false;
    if (!json_is_string(v)) return mismatch(file, key, "a string", e);
    *out = json_string_value(v);
    return true;
}

static void json_add_bytes(struct buf *b, const char *s, size_t n) {
    buf_putc(b, '"');
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        if (cp == '"' || cp == '\\') buf_printf(b, "\\%c", (char)cp);
        else if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0)) buf_printf(b, "\\u%04x", cp);
        else if (cp == 0xFFFD && used == 1) buf_puts(b, "\\ufffd");
        else buf_add(b, s, used);
        s += used;
        n -= used;
    }
    buf_putc(b, '"');
}

void json_add_string(struct buf *b, const char *s) { json_add_bytes(b, s, strlen(s)); }

static void add_number(struct buf *b, const char *text, bool finite) {
    if (finite) buf_puts(b, text);
    else buf_printf(b, "\"%s\"", text);
}

void json_add_double(struct buf *b, double v) {
    char text[32];
    text_from_double(v, text);
    add_number(b, text, isfinite(v));
}

void json_add_float(struct buf *b, float v) {
    char text[32];
    text_from_float(v, text);
    add_number(b, text, isfinite(v));
}

void json_add_key(struct buf *b, const char *key) {
    char last = b->size ? b->data[b->size - 1] : '{';
    if (!strchr("{[,:", last)) buf_putc(b, ',');
    if (!key) return;
    json_add_string(b, key);
    buf_putc(b, ':');
}

void json_open(struct buf *b, const char *key, char bracket) {
    json_add_key(b, key);
    buf_putc(b, bracket);
}

static void put_int(struct buf *b, const char *key, char flag, intmax_t v) {
    if (v || (flag != '+' && flag != '1')) json_member_int(b, key, v);
    else if (flag == '+') json_member_string(b, key, NULL);
}

/* Appends the value of a conversion; `at` points behind the percent sign.  Returns its end. */
static const char *put_value(struct buf *b, const char *key, const char *at, va_list *args) {
    char flag = strchr("+-1", *at) ? *at++ : 0, kind = *at++;
    const char *s = kind == 's' || kind == 'p' ? va_arg(*args, const char *) : NULL;
    double v = kind == 'g' || kind == 'f' ? va_arg(*args, double) : 0;
    if (s && flag && !*s) s = NULL;
    switch (kind) {
    case 's':
        if (s || flag != '1') json_member_string(b, key, s);
        break;
    case 'd': put_int(b, key, flag, va_arg(*args, int)); break;
    case 'z': put_int(b, key, flag, (intmax_t)va_arg(*args, size_t)), at++; break;
    case 'j':
        if (*at++ == 'd') {
            put_int(b, key, flag, va_arg(*args, intmax_t));
        } else {
            json_add_key(b, key);
            buf_printf(b, "%ju", va_arg(*args, uintmax_t));
        }
        break;
    case 'i': json_member_bool(b, key, va_arg(*args, int)); break;
    case 'g':
        if (!isnan(v) || flag != '1') json_member_measured(b, key, v);
        break;
    case 'f': json_member_double(b, key, v); break;
    default:
        if (!s && flag == '1') break;
        json_add_key(b, key);
        buf_puts(b, s ? s : "null");
    }
    return at;
}

void json_put(struct buf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        size_t n = strcspn(at, ":,%{}[]");
        char *key = at[n] == ':' ? xstrndup(at, n) : NULL;
        at += key ? n + 1 : n;
        if (*at == '%') at = put_value(b, key, at + 1, &args);
        else if (*at == '{' || *at == '[') json_open(b, key, *at++);
        else if (*at++ != ',') buf_putc(b, at[-1]);
        free(key);
    }
    va_end(args);
}

void json_member_strings(struct buf *b, const char *key, char *const *value, size_t n) {
    json_open(b, key, '[');
    for (size_t i = 0; i < n; i++) json_member_string(b, NULL, value[i]);
    buf_putc(b, ']');
}

void json_member_ints(struct buf *b, const char *key, const int64_t *value, size_t n) {
    json_open(b, key, '[');
    for (size_t i = 0; i < n; i++) json_member_int(b, NULL, value[i]);
    buf_putc(b, ']');
}

void json_member_doubles(struct buf *b, const char *key, const double *value, size_t n) {
    json_open(b, key, '[');
    for (size_t i = 0; i < n; i++) json_member_measured(b, NULL, value[i]);
    buf_putc(b, ']');
}

void json_member_string(struct buf *b, const char *key, const char *value) {
    json_add_key(b, key);
    if (value) json_add_string(b, value);
    else buf_puts(b, "null");
}

void json_member_bytes(struct buf *b, const char *key, const char *s, size_t n) {
    json_add_key(b, key);
    json_add_bytes(b, s, n);
}

void json_member_int(struct buf *b, const char *key, long long value) {
    json_add_key(b, key);
    buf_printf(b, "%lld", value);
}

void json_member_double(struct buf *b, const char *key, double value) {
    json_add_key(b, key);
    json_add_double(b, value);
}

void json_member_measured(struct buf *b, const char *key, double v) {
    if (isnan(v)) json_member_string(b, key, NULL);
    else json_member_double(b, key, v);
}

void json_member_bool(struct buf *b, const char *key, bool value) {
    json_add_key(b, key);
    buf_puts(b, value ? "true" : "false");
}
