/* Settings inside the screens: what of them holds at once, and the file. */
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void session__apply_settings(struct session *s) {
    struct ui *ui = &s->ui;
    for (int i = 0; i < THEME_COUNT; i++)
        if (!strcmp(theme_name((enum theme)i), s->settings.value[SETTING_THEME])) ui->theme = (enum theme)i;
    for (int i = 0; i < GLYPHS_COUNT && !ui->ascii_only; i++)
        if (!strcmp(glyphs_name((enum glyphs)i), s->settings.value[SETTING_GLYPHS]))
            ui->glyphs = (enum glyphs)i;
    ui->mouse = !strcmp(s->settings.value[SETTING_MOUSE], "on");
    term_mouse(ui->mouse);
    ui_changed(ui);
}

void session__set(struct session *s, const char *text) {
    struct err e = ERR_INIT;
    const char *at = text;
    char *name = text_word(&at), *value = name ? text_word(&at) : NULL;
    enum setting k = name ? setting_find(name) : SETTING_COUNT;
    if (!value) {
        ui_say(&s->ui, SAY_INFO, "set: a setting and its value, as in  :set theme light%s%s",
               k < SETTING_COUNT ? "; now " : "", k < SETTING_COUNT ? s->settings.value[k] : "");
    } else if (settings_set(&s->settings, name, value, &e)) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    } else {
        s->set[k] = true;
        session__apply_settings(s);
        ui_say(&s->ui, SAY_INFO, "%s %s%s", name, value,
               k > SETTING_HANGUP ? ": from the next start on, once :save-settings has written it"
                                  : "; :save-settings keeps it");
    }
    free(name);
    free(value);
}

/* Keys change glyphs and the mouse too. */
const char *session__setting_set(const struct session *s, enum setting k) {
    const char *now = s->settings.value[k];
    if (k == SETTING_GLYPHS && !s->ui.ascii_only) now = glyphs_name(s->ui.glyphs);
    if (k == SETTING_MOUSE) now = s->ui.mouse ? "on" : "off";
    return s->set[k] || strcmp(now, s->settings.value[k]) ? now : NULL;
}

/* What the command line says is for this time: beside what was changed here the file's own values stay. */
void session__save_settings(struct session *s) {
    struct err e = ERR_INIT;
    struct settings kept;
    struct buf said = BUF_INIT; /* told when petri started */
    char *path = settings_path();
    int rc = path ? 0 : err_set(&e, ERR_USAGE, "neither XDG_CONFIG_HOME nor HOME names a folder");
    settings_init(&kept);
    if (!rc) settings_read(&kept, path, &said);
    for (int i = 0; !rc && i < SETTING_COUNT; i++) {
        const char *now = session__setting_set(s, (enum setting)i);
        if (now) rc = settings_set(&kept, setting_name((enum setting)i), now, &e);
    }
    if (!rc) rc = settings_write(&kept, path, &e);
    buf_release(&said);
    if (rc) ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    else ui_say(&s->ui, SAY_GOOD, "written: %s", path);
    free(path);
}
