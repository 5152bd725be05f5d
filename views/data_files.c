/* Finding a file: the entries of a folder, narrowed by what is typed. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/data_parts.h"

/* Before the folder's entries, where nothing is typed. */
enum { FIXED_MODEL, FIXED_TASK, FIXED_UP, FIXED };

static int fixed(const struct data_view *v) { return *v->filter ? 0 : FIXED; }

static bool fits(const struct data_view *v, int i) {
    return !*v->filter || strchr(v->filter, '/') || prompt_match(v->filter, v->here.entry[i].name) >= 0;
}

static int shown(const struct data_view *v) {
    int n = fixed(v);
    for (int i = 0; i < v->here.entries; i++) n += fits(v, i);
    return n;
}

/* The entry at a place among those shown; NULL: one of the fixed, or none. */
static const struct data_entry *entry_at(const struct data_view *v, int place) {
    place -= fixed(v);
    for (int i = 0; i < v->here.entries && place >= 0; i++)
        if (fits(v, i) && !place--) return &v->here.entry[i];
    return NULL;
}

/* ---- several tasks ---- */

static void data_path(const struct data_view *v, const char *name, char out[DATA_PATH + 300]) {
    const char *here = v->here.path ? v->here.path : "";
    snprintf(out, DATA_PATH + 300, "%s%s%s", here, text_ends(here, "/") ? "" : "/", name);
}

/* Where an entry is in the list of marked paths, or NULL. */
static char *data_mark_of(const struct data_view *v, const struct data_entry *e) {
    char path[DATA_PATH + 300];
    data_path(v, e->name, path);
    size_t n = strlen(path);
    for (const char *at = v->marked; (at = strstr(at, path)); at += n)
        if ((at == v->marked || at[-1] == ',') && (!at[n] || at[n] == ',')) return (char *)at;
    return NULL;
}

static int data_marks(const struct data_view *v) {
    int n = *v->marked != 0;
    for (const char *at = v->marked; (at = strchr(at, ',')); at++) n++;
    return n;
}

static void data_mark(struct ui *ui, const struct data_entry *e) {
    struct data_view *v = &ui->data;
    char path[DATA_PATH + 300], *at = data_mark_of(v, e);
    data_path(v, e->name, path);
    if (at) {
        size_t n = strlen(path);
        if (at[n]) memmove(at, at + n + 1, strlen(at + n + 1) + 1);
        else at[at > v->marked ? -1 : 0] = 0;
    } else if (strchr(path, ',') || strlen(v->marked) + strlen(path) + 2 > sizeof v->marked) {
        ui_say(ui, SAY_WARNING, "cannot be marked: the path contains a comma, or too many tasks are marked");
        return;
    } else {
        snprintf(v->marked + strlen(v->marked), sizeof v->marked - strlen(v->marked), "%s%s",
                 *v->marked ? "," : "", path);
    }
    int n = data_marks(v);
    if (n > 1) ui_say(ui, SAY_INFO, "%d tasks marked; Enter selects them together", n);
    else ui_say(ui, SAY_INFO, n ? "1 task marked; Enter selects it" : "no task is marked");
}

static int data_files_rows(const struct ui *ui) { return ui_body(ui).h - 1; }

static void data_files_settle(struct ui *ui) {
    struct data_view *v = &ui->data;
    v->cursor = ui_into(v->cursor, shown(v) - 1);
    ui_in_sight(&v->top, v->cursor, data_files_rows(ui));
}

void data_listed(struct ui *ui) {
    struct data_view *v = &ui->data;
    *v->filter = 0;
    v->cursor = v->top = 0;
    if (ui->screen != SCREEN_DATA) return;
    prompt_open(&ui->prompt, "file", "", false);
    ui->use = USE_FILES;
}

static void list_folder(struct ui *ui, const char *path, struct effect *out) {
    data_listed(ui);
    out->kind = EFFECT_FOLDER;
    snprintf(out->text, sizeof out->text, "%s", path);
}

void data_find(struct ui *ui, struct effect *out) {
    struct data_view *v = &ui->data;
    *v->marked = 0;
    v->look = (struct data_look){ 0 };
    v->read = (struct data_read){ 0 };
    ui_show(ui, SCREEN_DATA);
    list_folder(ui, v->here.path ? v->here.path : "", out);
}

static void data_files_look_at(struct ui *ui, const char *path, struct effect *out) {
    ui->prompt.open = false;
    ui->data.again = false;
    out->kind = EFFECT_LOOK;
    snprintf(out->text, sizeof out->text, "%s", path);
}

static void go_into(struct ui *ui, const char *name, bool folder, struct effect *out) {
    char path[DATA_PATH + 300];
    if (*name == '/' || *name == '~') snprintf(path, sizeof path, "%s", name);
    else data_path(&ui->data, name, path);
    if (folder) list_folder(ui, path, out);
    else data_files_look_at(ui, path, out);
}

static void go_up(struct ui *ui, struct effect *out) {
    char path[DATA_PATH];
    snprintf(path, sizeof path, "%s", ui->data.here.path ? ui->data.here.path : "");
    char *slash = strrchr(path, '/');
    if (!slash) return;
    slash[slash == path] = 0;
    list_folder(ui, path, out);
}

/* Enter, with what was typed. */
static void data_files_take(struct ui *ui, struct effect *out) {
    struct data_view *v = &ui->data;
    const struct data_entry *e = entry_at(v, v->cursor);
    if (*v->marked) {
        ui->prompt.open = false;
        ui_show(ui, SCREEN_COMPOSE);
        out->kind = EFFECT_TASK;
        snprintf(out->text, sizeof out->text, "%s", v->marked);
        *v->marked = 0;
        return;
    }
    if (strchr(v->filter, '/') || *v->filter == '~') { /* a path: what it is the app knows */
        go_into(ui, v->filter, false, out);
        return;
    }
    if (e && !e->folder && !e->read) {
        ui_say(ui, SAY_WARNING,
               "not a supported format: expected .tsv, .csv, .jsonl, .json or .txt");
        return;
    }
    if (e) {
        go_into(ui, e->name, e->folder && !e->task, out);
        return;
    }
    if (*v->filter) {
        ui_say(ui, SAY_INFO, "no file matches \"%.80s\"", v->filter);
        return;
    }
    if (v->cursor == FIXED_UP) {
        go_up(ui, out);
        return;
    }
    ui->prompt.open = false;
    enum screen_id back = ui->before;
    ui_show(ui, back);
    out->kind = v->cursor == FIXED_MODEL ? EFFECT_LIST_MODELS : EFFECT_LIST_TASKS;
}

void data_files_typed(struct ui *ui) {
    snprintf(ui->data.filter, sizeof ui->data.filter, "%.255s", ui->prompt.text);
    ui->data.cursor = ui->data.top = 0;
    data_files_settle(ui);
}

bool data_files_press(struct ui *ui, const struct press *p, struct effect *out) {
    struct data_view *v = &ui->data;
    int page = data_files_rows(ui);
    const struct data_entry *e = entry_at(v, v->cursor);
    switch (p->code) {
    case PRESS_DOWN: v->cursor++; break;
    case PRESS_UP: v->cursor--; break;
    case PRESS_PAGE_DOWN: v->cursor += page; break;
    case PRESS_PAGE_UP: v->cursor -= page; break;
    case PRESS_ENTER: data_files_take(ui, out); return true;
    case ' ':
        if (e && e->task) data_mark(ui, e);
        else if (e || *v->filter || v->cursor != FIXED_TASK) return false;
        else data_files_take(ui, out);
        return true;
    case PRESS_RIGHT: /* into a folder, also one that is a task */
        if (*v->filter && ui->prompt.at < ui->prompt.length) return false;
        if (e && e->folder) go_into(ui, e->name, true, out);
        return true;
    case PRESS_LEFT:
        if (*v->filter) return false;
        go_up(ui, out);
        return true;
    case PRESS_BACKSPACE:
        if (*v->filter) return false;
        go_up(ui, out);
        return true;
    case PRESS_CTRL('c'): ui_quit(ui, out); return true;
    case PRESS_ESC:
        ui->prompt.open = false;
        ui_show(ui, ui->before);
        return true;
    default: return false;
    }
    data_files_settle(ui);
    return true;
}

/* ---- drawing ---- */

static void size_words(int64_t bytes, char out[32]) {
    if (bytes < 1000) snprintf(out, 32, "%lld B", (long long)bytes);
    else if (bytes < 1000000) snprintf(out, 32, "%.1f kB", (double)bytes / 1e3);
    else snprintf(out, 32, "%.1f MB", (double)bytes / 1e6);
}

static void fixed_row(const struct ui *ui, struct canvas *c, struct rect r, int y, int i) {
    static const char *const names[FIXED] = { "model", "task", "../" };
    const struct compose_view *v = &ui->compose;
    char says[200];
    if (i == FIXED_MODEL)
        snprintf(says, sizeof says, "%.80s; Enter lists the available models",
                 v->model ? v->model : "none");
    else if (i == FIXED_TASK)
        snprintf(says, sizeof says, "%.80s; Enter lists the available tasks (Space marks several)",
                 v->task ? v->task : "none");
    else snprintf(says, sizeof says, "parent folder");
    canvas_text(c, r.x + 3, y, ui->data.cursor == i ? INK_ACCENT : INK_TEXT, names[i]);
    canvas_fit(c, r.x + 12, y, r.w - 13, INK_DIM, says);
}

static void entry_row(const struct data_entry *e, bool here, bool marked, struct canvas *c, struct rect r,
                      int y) {
    char name[300], size[32] = "";
    int right = 24;
    snprintf(name, sizeof name, "%.280s%s", e->name, e->folder ? "/" : "");
    enum ink ink = here ? INK_ACCENT : e->folder || e->read ? INK_TEXT : INK_DIM;
    if (marked) canvas_text(c, r.x + 2, y, INK_ACCENT, "\u25CF");
    canvas_fit(c, r.x + 3, y, r.w - right - 5, ink, name);
    if (!e->folder) size_words(e->bytes, size);
    else if (e->task) snprintf(size, sizeof size, "task");
    canvas_right(c, r.x + r.w - right - 1, y, right, INK_DIM, size);
}

void data_files_draw(const struct data_view *v, const struct ui *ui, struct canvas *c, struct rect r) {
    char right[64] = "";
    const struct data_folder *f = &v->here;
    int n = shown(v);
    if (f->left_out)
        snprintf(right, sizeof right, "first %d of %d", f->entries, f->entries + f->left_out);
    canvas_title(c, r, f->path ? f->path : "your data", right);
    for (int i = v->top; i < n && i - v->top < r.h - 1; i++) {
        int y = r.y + 1 + i - v->top;
        const struct data_entry *e = entry_at(v, i);
        bool here = ui_row(c, r, y, i - v->cursor);
        if (e) entry_row(e, here, e->task && data_mark_of(v, e), c, r, y);
        else fixed_row(ui, c, r, y, i);
    }
    int y = r.y + 1 + n - v->top;
    if (y >= r.y + r.h) return;
    if (f->failed) canvas_wrap(c, rect_in(r, 3, y - r.y), INK_BAD, f->failed);
    else if (!f->path) canvas_text(c, r.x + 3, y, INK_DIM, "reading the folder\u2026");
    else if (!n) canvas_text(c, r.x + 3, y, INK_DIM, "no matching files");
}
