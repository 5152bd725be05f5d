#include "app/files/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { FILE_LIMIT = 1 << 16 };

#define MUST_NAME "a folder or name of at most 511 bytes, or auto" /* SETTING_ROOM - 1 */

static const struct {
    const char *name, *values, *usual, *help;
    const char *must; /* what a value must be; NULL: one of `values` */
} settings_table[SETTING_COUNT] = {
    [SETTING_THEME] = { "theme", "safe|dark|light|mono", "safe",
                        "color theme: safe (readable on any background), dark, light, or mono (no colors)" },
    [SETTING_GLYPHS] = { "glyphs", "braille|blocks|ascii", "braille",
                         "characters used for charts (B switches them)" },
    [SETTING_MOUSE] = { "mouse", "on|off", "on",
                        "mouse input; if off, the terminal uses the mouse to select text (& toggles it)" },
    [SETTING_HANGUP] = { "hangup", "finish|stop", "finish",
                         "when the terminal closes: finish runs in the background, or stop them with a "
                         "checkpoint" },
    [SETTING_READONLY] = { "readonly", "on|off", "off",
                           "read-only: nothing can be started or changed, as with --readonly" },
    [SETTING_MODEL] = { "model", "DIR|NAME|auto", "auto",
                        "model selected at startup; auto: the default model, or one that is available",
                        MUST_NAME },
    [SETTING_TASK] = { "task", "NAME|FOLDER|auto", "auto",
                       "task selected at startup; auto: the default task, or one that is available",
                       MUST_NAME },
    [SETTING_WORKERS] = { "workers", "N", "cores", "number of worker threads, 1 to 64; cores: one per core",
                          "an integer between 1 and 64, or cores" },
};

const char *setting_name(enum setting k) { return settings_table[k].name; }
const char *setting_values(enum setting k) { return settings_table[k].values; }
const char *setting_help(enum setting k) { return settings_table[k].help; }

enum setting setting_find(const char *name) {
    for (int i = 0; i < SETTING_COUNT; i++)
        if (!strcmp(settings_table[i].name, name)) return (enum setting)i;
    return SETTING_COUNT;
}

void settings_init(struct settings *s) {
    for (int i = 0; i < SETTING_COUNT; i++)
        snprintf(s->value[i], SETTING_ROOM, "%s", settings_table[i].usual);
}

char *settings_path(void) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/') return xprintf("%s/petri/config", config);
    if (home && home[0] == '/') return xprintf("%s/.config/petri/config", home);
    return NULL;
}

/* Returns whether `value` is one of "a|b|c". */
static bool is_one_of(const char *values, const char *value) {
    size_t n = strlen(value);
    for (const char *at = values; n && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (!strncmp(at, value, n) && (at[n] == '|' || !at[n])) return true;
    return false;
}

static bool settings_fits(enum setting k, const char *value) {
    int64_t n;
    if (k == SETTING_WORKERS) return !strcmp(value, "cores") || (text_to_int(value, &n) && n >= 1 && n <= 64);
    if (k == SETTING_MODEL || k == SETTING_TASK) return *value && strlen(value) < SETTING_ROOM;
    return is_one_of(settings_table[k].values, value);
}

/* "theme must be safe, dark, light or mono, not "red"" */
static int settings_refuse(enum setting k, const char *value, struct err *e) {
    const char *must = settings_table[k].must, *at = settings_table[k].values;
    struct buf words = BUF_INIT;
    for (size_t n; !must && *at; at += n + (at[n] == '|')) {
        n = strcspn(at, "|");
        buf_printf(&words, "%s%.*s", !words.size ? "" : at[n] ? ", " : " or ", (int)n, at);
    }
    err_set(e, ERR_USAGE, "%s must be %s, not \"%.60s\"", settings_table[k].name,
            must ? must : buf_text(&words), value);
    buf_release(&words);
    return e->code;
}

int settings_set(struct settings *s, const char *name, const char *value, struct err *e) {
    const char *names[SETTING_COUNT];
    enum setting k = setting_find(name);
    for (int i = 0; i < SETTING_COUNT; i++) names[i] = settings_table[i].name;
    if (k == SETTING_COUNT) {
        const char *near = text_nearest(name, names, SETTING_COUNT);
        return err_set(e, ERR_USAGE, "unknown setting \"%.60s\"%s%s", name,
                       near ? "; did you mean " : "; list the settings with `petri settings`",
                       near ? near : "");
    }
    if (!settings_fits(k, value))
        return settings_refuse(k, value, e);
    snprintf(s->value[k], SETTING_ROOM, "%s", value);
    return 0;
}

/* Splits a line into name and value without surrounding blanks; returns false for an empty line or a
 * comment.  A line without '=' has a name only. */
static bool split_line(const char *line, size_t n, char name[SETTING_ROOM], char value[SETTING_ROOM]) {
    size_t from = 0, end = n, at;
    while (from < end && (line[from] == ' ' || line[from] == '\t')) from++;
    while (end > from && (line[end - 1] == ' ' || line[end - 1] == '\t' || line[end - 1] == '\r')) end--;
    if (from == end || line[from] == '#') return false;
    for (at = from; at < end && line[at] != '='; at++) {}
    size_t stop = at, begin = at < end ? at + 1 : end;
    while (stop > from && (line[stop - 1] == ' ' || line[stop - 1] == '\t')) stop--;
    while (begin < end && (line[begin] == ' ' || line[begin] == '\t')) begin++;
    snprintf(name, SETTING_ROOM, "%.*s", (int)(stop - from < SETTING_ROOM ? stop - from : SETTING_ROOM - 1),
             line + from);
    snprintf(value, SETTING_ROOM, "%.*s", (int)(end - begin < SETTING_ROOM ? end - begin : SETTING_ROOM - 1),
             line + begin);
    return true;
}

void settings_read(struct settings *s, const char *path, struct buf *notes) {
    struct buf text = BUF_INIT;
    struct err e = ERR_INIT;
    if (!file_exists(path)) return;
    if (file_read(path, FILE_LIMIT, &text, &e)) {
        text_line(notes, "%s", e.text);
        return;
    }
    int number = 1;
    for (const char *at = buf_text(&text); *at; number++) {
        char name[SETTING_ROOM], value[SETTING_ROOM];
        size_t n = strcspn(at, "\n");
        e = (struct err)ERR_INIT;
        if (split_line(at, n, name, value)) {
            if (!memchr(at, '=', n)) err_set(&e, ERR_USAGE, "\"%.60s\": expected name = value", name);
            else settings_set(s, name, value, &e);
        }
        if (e.code) text_line(notes, "%s:%d: %s", path, number, e.text);
        at += n + (at[n] == '\n');
    }
    buf_release(&text);
}

static void settings_add(const struct settings *s, enum setting k, struct buf *out) {
    buf_printf(out, "\n# %s (%s; default: %s)\n%s = %s\n", settings_table[k].help, settings_table[k].values,
               settings_table[k].usual, settings_table[k].name, s->value[k]);
}

void settings_text(const struct settings *s, const char *old, struct buf *out) {
    bool there[SETTING_COUNT] = { false };
    if (!old)
        buf_puts(out, "# petri's settings: name = value. Command-line options override them.\n");
    for (const char *at = old ? old : ""; *at;) {
        char name[SETTING_ROOM], value[SETTING_ROOM];
        size_t n = strcspn(at, "\n");
        enum setting k = split_line(at, n, name, value) ? setting_find(name) : SETTING_COUNT;
        if (k == SETTING_COUNT) buf_add(out, at, n);
        else if (!there[k]) buf_printf(out, "%s = %s", name, s->value[k]);
        if (k == SETTING_COUNT || !there[k]) buf_putc(out, '\n');
        if (k != SETTING_COUNT) there[k] = true;
        at += n + (at[n] == '\n');
    }
    for (int i = 0; i < SETTING_COUNT; i++)
        if (!there[i]) settings_add(s, (enum setting)i, out);
}

int settings_write(const struct settings *s, const char *path, struct err *e) {
    struct buf old = BUF_INIT, text = BUF_INIT;
    const char *slash = strrchr(path, '/');
    char *folder = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    int rc = 0;
    bool is = file_exists(path);
    if (is) rc = file_read(path, FILE_LIMIT, &old, e);
    else if (*folder) rc = file_make_folder(folder, e);
    if (!rc) settings_text(s, is ? buf_text(&old) : NULL, &text);
    if (!rc) rc = file_write(path, buf_text(&text), text.size, e);
    buf_release(&old);
    buf_release(&text);
    free(folder);
    return rc;
}
