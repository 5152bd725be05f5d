/* What a user wants of the program each time: a file of "name = value" lines with comments,
 * $XDG_CONFIG_HOME/petri/config or
 * ~/.config/petri/config, written only when that is asked for. */
#ifndef APP_FILES_SETTINGS_H
#define APP_FILES_SETTINGS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum setting {
    SETTING_THEME,
    SETTING_GLYPHS,
    SETTING_MOUSE,
    SETTING_HANGUP,
    SETTING_READONLY,
    SETTING_MODEL,
    SETTING_TASK,
    SETTING_WORKERS,
    SETTING_COUNT
};
enum { SETTING_ROOM = 512 };

struct settings {
    char value[SETTING_COUNT][SETTING_ROOM];
};

const char *setting_name(enum setting k);
/* The values it takes, "a|b|c", or what its value is; one line of help. */
const char *setting_values(enum setting k);
const char *setting_help(enum setting k);
/* SETTING_COUNT: there is none. */
enum setting setting_find(const char *name);

/* All as they are without a file. */
void settings_init(struct settings *s);
/* Caller frees; NULL where neither variable names a folder. */
char *settings_path(void);
/* ERR_USAGE says what would be right. */
int settings_set(struct settings *s, const char *name, const char *value, struct err *e);
/* Over what *s has.  A line that cannot be used is told in *said, a line each: "FILE:3: …", and its setting
 * stays; a file that is not there is no fault. */
void settings_read(struct settings *s, const char *path, struct buf *said);
/* The file's text: `old` (NULL: none) with its comments and order kept, values replaced, settings it lacks
 * added with theirs. */
void settings_text(const struct settings *s, const char *old, struct buf *out);
/* Writes it there; the folder is made. */
int settings_write(const struct settings *s, const char *path, struct err *e);

#endif
