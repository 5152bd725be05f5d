#include "app/verbs/drawing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/files/png.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/text.h"

static int form_of_name(const char *path, enum render_form *form, struct err *e) {
    for (int i = 0; i < RENDER_FORMS; i++) {
        *form = (enum render_form)i;
        if (text_ends(path, render_end(*form))) return 0;
    }
    return err_set(e, ERR_USAGE,
                   "--out %s: unknown format; use a name that ends in .txt, .ans (ANSI colors), .svg or .png",
                       path);
}

int drawing_form(const struct args *a, enum render_form *form, struct err *e) {
    bool ansi = a->ansi, svg = a->svg;
    const char *path = a->out;
    enum render_form asked = svg ? RENDER_SVG : RENDER_ANSI;
    *form = ansi || svg ? asked : RENDER_TEXT;
    if (!path) return 0;
    int rc = form_of_name(path, form, e);
    if (!rc && (ansi || svg) && *form != asked)
        rc = err_set(e, ERR_USAGE, "--out %s: the extension does not match --%s; change one of them", path,
                     svg ? "svg" : "ansi");
    if (!rc && *form == RENDER_PNG && png_ready(e)) rc = err_prefix(e, "--out %s", path);
    return rc;
}

/* Converts to PNG before the file is opened, so that no file remains after an error. */
static int write_drawn(const struct outfile_guard *g, const char *path, const struct buf *drawn,
                       struct err *e) {
    struct buf png = BUF_INIT;
    int rc = outfile_check(g, path, e);
    if (!rc && text_ends(path, render_end(RENDER_PNG))) {
        rc = png_of_svg(drawn, &png, e);
        drawn = &png;
    }
    if (!rc) rc = outfile_write(g, path, drawn->data ? drawn->data : "", drawn->size, e);
    buf_release(&png);
    return rc;
}

int drawing_put(const struct args *a, const struct buf *drawn, struct err *e) {
    const char *path = a->out;
    if (!path) {
        fwrite(buf_text(drawn), 1, drawn->size, stdout);
        return 0;
    }
    struct outfile_guard g;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    outfile_guard_init(&g, database, a->overwrite);
    int rc = write_drawn(&g, path, drawn, e);
    outfile_guard_release(&g);
    free(database);
    if (rc) return rc;
    if (a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{file:%s}", path);
        out_line(&b);
    } else {
        out_text(path);
        puts(": written");
    }
    return 0;
}
