/* Settings of the user: a file of "name = value" lines with comments, $XDG_CONFIG_HOME/petri/config or
 * ~/.config/petri/config, written only on request. */
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
/* Returns the allowed values, "a|b|c", or a placeholder of the value. */
const char *setting_values(enum setting k);
const char *setting_help(enum setting k);
/* Returns SETTING_COUNT when the name is unknown. */
enum setting setting_find(const char *name);

/* Sets all settings to their defaults. */
void settings_init(struct settings *s);
/* Returns the path of the file; caller frees.  NULL when neither variable names a folder. */
char *settings_path(void);
/* Sets one setting; ERR_USAGE names the allowed values. */
int settings_set(struct settings *s, const char *name, const char *value, struct err *e);
/* Reads the file over the values in *s.  An invalid line adds a warning to *notes, "FILE:3: …", and leaves
 * its setting unchanged; a missing file is not an error. */
void settings_read(struct settings *s, const char *path, struct buf *notes);
/* Writes the text of the file: `old` (NULL: none) with its comments and order preserved, values replaced,
 * and missing settings appended. */
void settings_text(const struct settings *s, const char *old, struct buf *out);
/* Writes the file and creates its folder. */
int settings_write(const struct settings *s, const char *path, struct err *e);

#endif
