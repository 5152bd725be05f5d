/* Settings inside the screens: those that apply immediately, and the file. */
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void session__apply_settings(struct session *s) {
    struct ui *ui = &s->ui;
    for (int i = 0; i < THEME_COUNT; i++)
        if (!strcmp(theme_name((enum theme)i), s->settings.now.value[SETTING_THEME]))
            ui->theme = (enum theme)i;
    if (ui->theme == THEME_SAFE && term_is_console()) ui->theme = THEME_DARK;
    for (int i = 0; i < GLYPHS_COUNT && !ui->ascii_only; i++)
        if (!strcmp(glyphs_name((enum glyphs)i), s->settings.now.value[SETTING_GLYPHS]))
            ui->glyphs = (enum glyphs)i;
    ui->mouse = !strcmp(s->settings.now.value[SETTING_MOUSE], "on");
    term_mouse(ui->mouse);
    ui_changed(ui);
}

static void do_set(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    const char *at = x->text;
    char *name = text_word(&at), *value = name ? text_word(&at) : NULL;
    enum setting k = name ? setting_find(name) : SETTING_COUNT;
    if (!value) {
        ui_say(&s->ui, SAY_INFO, "usage: set NAME VALUE, for example  :set theme light%s%s",
               k < SETTING_COUNT ? "; current value: " : "",
               k < SETTING_COUNT ? s->settings.now.value[k] : "");
    } else if (settings_set(&s->settings.now, name, value, &e)) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    } else {
        s->settings.set[k] = true;
        session__apply_settings(s);
        ui_say(&s->ui, SAY_INFO, "%s %s%s", name, value,
               k > SETTING_HANGUP ? "; takes effect at the next start, after :save-settings"
                                  : "; use :save-settings to save it");
    }
    free(name);
    free(value);
}

/* Returns the value that a setting was given in this session, including by the keys for glyphs and mouse;
 * NULL: none. */
static const char *setting_set(const struct session *s, enum setting k) {
    const char *now = s->settings.now.value[k];
    if (k == SETTING_GLYPHS && !s->ui.ascii_only) now = glyphs_name(s->ui.glyphs);
    if (k == SETTING_MOUSE) now = s->ui.mouse ? "on" : "off";
    return s->settings.set[k] || strcmp(now, s->settings.now.value[k]) ? now : NULL;
}

/* Values of the command line apply to this session only: the file's own values are preserved unless changed
 * here. */
static void do_save(struct session *s) {
    struct err e = ERR_INIT;
    struct settings kept;
    struct buf said = BUF_INIT; /* reported at startup */
    char *path = settings_path();
    int rc = path ? 0 : err_set(&e, ERR_USAGE, "neither XDG_CONFIG_HOME nor HOME is set; set one of them to "
                                               "an absolute path");
    settings_init(&kept);
    if (!rc) settings_read(&kept, path, &said);
    for (int i = 0; !rc && i < SETTING_COUNT; i++) {
        const char *now = setting_set(s, (enum setting)i);
        if (now) rc = settings_set(&kept, setting_name((enum setting)i), now, &e);
    }
    if (!rc) rc = settings_write(&kept, path, &e);
    buf_release(&said);
    if (rc) ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    else ui_say(&s->ui, SAY_GOOD, "wrote %s", path);
    free(path);
}

static void do_mouse(struct session *s) {
    term_mouse(s->ui.mouse);
}

static void line_save(const struct session *s, struct buf *b, const struct effect *x) {
    (void)x;
    line_verb(s, b, "settings");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const char *now = setting_set(s, (enum setting)i);
        if (!now) continue;
        char *word = xprintf("%s=%s", setting_name((enum setting)i), now);
        line_word(b, word);
        free(word);
    }
    buf_puts(b, " --write");
}

const struct action settings_actions[] = {
    { EFFECT_SET, .act = do_set },
    { EFFECT_SAVE_SETTINGS, .plain = do_save, .line = line_save },
    { EFFECT_MOUSE, .plain = do_mouse },
    { .kind = EFFECT_NONE },
};
