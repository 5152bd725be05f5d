/* petri settings: shows and writes the settings. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/settings.h"
#include "app/verbs/output.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"

static void settings_json(const struct settings *s, const char *path) {
    struct buf b = BUF_INIT;
    json_put(&b, "{path:%s", path);
    for (int i = 0; i < SETTING_COUNT; i++)
        json_member_string(&b, setting_name((enum setting)i), s->value[i]);
    buf_putc(&b, '}');
    out_line(&b);
}

int verb_settings(const struct args *a, struct err *e) {
    struct settings s;
    struct buf said = BUF_INIT, text = BUF_INIT;
    char *path = settings_path();
    if (!path) return err_set(e, ERR_USAGE,
        "petri settings: neither XDG_CONFIG_HOME nor HOME is set; set one of them to an absolute path");
    settings_init(&s);
    settings_read(&s, path, &said);
    out_report(buf_text(&said));
    int rc = 0;
    for (int i = 0; !rc && i < a->count; i++) { /* name=value */
        char *name = xstrdup(a->positional[i]), *equals = strchr(name, '=');
        if (equals) *equals = 0;
        rc = equals ? settings_set(&s, name, equals + 1, e)
                    : err_set(e, ERR_USAGE, "petri settings: expected NAME=VALUE, found \"%s\"",
                        a->positional[i]);
        free(name);
    }
    bool write = a->flag;
    if (!rc && a->count && !write)
        rc = err_set(e, ERR_USAGE, "petri settings: nothing was changed; use --write to write to %s", path);
    if (!rc && write) rc = settings_write(&s, path, e);
    if (!rc && a->json) settings_json(&s, path);
    else if (!rc && write) printf("written: %s\n", path);
    else if (!rc) {
        settings_text(&s, NULL, &text);
        printf("# %s%s\n", path, file_exists(path) ? "" : " does not exist; --write creates it");
        out_lines(buf_text(&text));
    }
    buf_release(&said);
    buf_release(&text);
    free(path);
    return rc;
}
