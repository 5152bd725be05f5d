#include "app/files/own_methods.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/space.h"

enum { METHODS_BYTES = 1 << 20, NAME_BYTES = 60 };

char *own_methods_path(struct err *e) {
    bool guessed;
    char *database = paths_database(&guessed, e), *slash = database ? strrchr(database, '/') : NULL;
    if (!slash) return database;
    *slash = '\0';
    char *path = file_join(database, "methods");
    free(database);
    return path;
}

/* Splits a line "NAME = TEXT" of n bytes; returns false for another line. */
static bool own_line(const char *line, size_t n, char **name, char **text) {
    const char *sign = memchr(line, '=', n);
    if (!n || *line == '#' || !sign) return false;
    size_t length = (size_t)(sign - line);
    while (length && line[length - 1] == ' ') length--;
    const char *from = sign + 1, *end = line + n;
    while (from < end && *from == ' ') from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\r')) end--;
    *name = xstrndup(line, length);
    *text = xstrndup(from, (size_t)(end - from));
    return length > 0;
}

static int own_check(const char *name, const char *text, struct err *e) {
    struct method m;
    bool good = *name && strlen(name) <= NAME_BYTES && utf8_valid(name, strlen(name));
    for (const char *s = name; *s && good; s++)
        good = (unsigned char)*s > ' ' && *s != 127 && !strchr("=+(),;#'\"", *s);
    char *shown = text_visible(name, strlen(name));
    int rc = 0;
    if (!good)
        rc = err_set(e, ERR_USAGE,
                     "invalid method name \"%.80s\": at most %d bytes, without whitespace, quotes, or any of "
                     "= + ( ) , ; #",
                     shown, NAME_BYTES);
    else if (preset_find(name))
        rc = err_set(e, ERR_USAGE, "%s is the name of a published method; choose another name", shown);
    else if (method_parse(text, &m, e)) rc = err_prefix(e, "method %s", shown);
    free(shown);
    return rc;
}

static int own_read_text(const char *path, struct buf *out, struct err *e) {
    *out = (struct buf)BUF_INIT;
    return file_exists(path) ? file_read(path, METHODS_BYTES, out, e) : 0;
}

static void own_gather(const struct buf *file, struct own_methods *out) {
    for (const char *at = buf_text(file), *end; *at; at = end + (*end == '\n')) {
        struct own_method m = { 0 };
        struct err why = ERR_INIT;
        end = at + strcspn(at, "\n");
        if (!own_line(at, (size_t)(end - at), &m.name, &m.text)) {
            free(m.name), free(m.text);
            continue;
        }
        if (own_check(m.name, m.text, &why)) m.why = xstrdup(why.text);
        GROW(out->of, out->room, out->count + 1);
        out->of[out->count++] = m;
    }
}

int own_methods_read(const char *path, struct own_methods *out, struct err *e) {
    struct buf file;
    *out = (struct own_methods){ 0 };
    int rc = own_read_text(path, &file, e);
    if (!rc) own_gather(&file, out);
    buf_release(&file);
    return rc;
}

void own_methods_release(struct own_methods *m) {
    for (int i = 0; i < m->count; i++) {
        free(m->of[i].name);
        free(m->of[i].text);
        free(m->of[i].why);
    }
    free(m->of);
    *m = (struct own_methods){ 0 };
}

/* Copies the file without the line of that name; returns true if the line existed. */
static bool own_without(const struct buf *file, const char *name, struct buf *out) {
    bool found = false;
    for (const char *at = buf_text(file), *end; *at; at = end + (*end == '\n')) {
        char *has = NULL, *text = NULL;
        end = at + strcspn(at, "\n");
        bool same = own_line(at, (size_t)(end - at), &has, &text) && !strcmp(has, name);
        if (!same) {
            buf_add(out, at, (size_t)(end - at));
            buf_putc(out, '\n');
        }
        found = found || same;
        free(has), free(text);
    }
    return found;
}

/* Adds names and texts to the file, or removes one name (text NULL), under a lock. */
static int own_change(const char *path, const struct own_method *of, int count, bool *found, struct err *e) {
    struct buf file = BUF_INIT;
    char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path)), *lock_path = xprintf("%s-lock", path);
    int fd = -1, rc = file_make_folder(folder, e);
    *found = false;
    if (!rc) rc = file_lock(lock_path, true, &fd, e);
    if (!rc) rc = own_read_text(path, &file, e);
    for (int i = 0; i < count && !rc; i++) {
        struct buf next = BUF_INIT;
        bool there = own_without(&file, of[i].name, &next);
        *found = *found || there;
        if (of[i].text) buf_printf(&next, "%s = %s\n", of[i].name, of[i].text);
        buf_release(&file);
        file = next;
    }
    if (!rc && !of[0].text && !*found)
        rc = err_set(e, ERR_NOT_FOUND, "saved method %s does not exist", of[0].name);
    else if (!rc) rc = file_write(path, buf_text(&file), file.size, e);
    if (fd >= 0) file_unlock(fd);
    buf_release(&file);
    free(lock_path);
    free(folder);
    return rc;
}

int own_methods_save(const char *path, const char *name, const char *text, bool *replaced, struct err *e) {
    const struct own_method one = { (char *)name, (char *)text, NULL };
    return own_check(name, text, e) ? e->code : own_change(path, &one, 1, replaced, e);
}

int own_methods_forget(const char *path, const char *name, struct err *e) {
    const struct own_method one = { (char *)name, NULL, NULL };
    bool found;
    return own_change(path, &one, 1, &found, e);
}

int own_methods_import(const char *path, const char *from, int *count, struct err *e) {
    struct own_methods all;
    struct buf file = BUF_INIT;
    bool found;
    *count = 0;
    int rc = file_read(from, METHODS_BYTES, &file, e);
    all = (struct own_methods){ 0 };
    if (!rc) own_gather(&file, &all);
    if (!rc && !all.count)
        rc = err_set(e, ERR_INPUT, "%s: contains no line of the form \"NAME = TEXT\"", from);
    for (int i = 0; i < all.count && !rc; i++)
        if (all.of[i].why) rc = err_set(e, ERR_INPUT, "%s: %s", from, all.of[i].why);
    if (!rc) rc = own_change(path, all.of, all.count, &found, e);
    if (!rc) *count = all.count;
    own_methods_release(&all);
    buf_release(&file);
    return rc;
}

int own_methods_text(const char *path, struct buf *out, struct err *e) {
    struct own_methods all;
    int rc = own_methods_read(path, &all, e);
    for (int i = 0; i < all.count && !rc; i++) buf_printf(out, "%s = %s\n", all.of[i].name, all.of[i].text);
    own_methods_release(&all);
    return rc;
}
