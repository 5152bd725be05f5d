/* The user's own data: the list of a folder, the selected file, and its import; each replaces the one
 * before. */
#include "app/session/session_private.h"
#include "views/data_parts.h"

static int import_rows(struct background_work *w) {
    w->made = own_read_rows(&w->config, w->number);
    return 0;
}

static void take_read(struct session *s, struct background_work *w) {
    struct data_view *v = &s->ui.data;
    struct own_read *read = w->made;
    if (read->view.asked != v->asked) return;
    w->made = s->data.read;
    s->data.read = read;
    v->read = read->view;
    v->report_top = 0;
}

static void drop_read(struct background_work *w) { own_read_free(w->made); }

static void do_import(struct session *s) {
    static const struct work_kind kind = { LANE_FILES, import_rows, take_read, .drop = drop_read };
    const struct data_view *v = &s->ui.data;
    if (v->look.failed) return;
    struct background_work *w = work_new(&kind, NULL, 0, NULL);
    config_copy(&w->config, &v->config);
    w->number = v->asked;
    background_do(s->background, w);
}

static int list_folder(struct background_work *w) {
    w->made = own_folder_list(w->text);
    return 0;
}

static void take_folder(struct session *s, struct background_work *w) {
    struct own_folder *folder = w->made;
    w->made = s->data.folder;
    s->data.folder = folder;
    s->ui.data.here = folder->view;
}

static void drop_folder(struct background_work *w) { own_folder_free(w->made); }

static const struct work_kind folder_work = {
    LANE_FILES, list_folder, take_folder, .drop = drop_folder, .alone = true
};

/* A folder that is not a task is listed (flag).  number: the config sets how it is read. */
static int look_at(struct background_work *w) {
    struct own_look *look = own_look_at(w->text, w->number ? &w->config : NULL);
    w->flag = look->view.folder && look->view.failed;
    if (!w->flag) w->made = look;
    else own_look_free(look);
    return w->flag ? list_folder(w) : 0;
}

static void take_look(struct session *s, struct background_work *w) {
    struct data_view *v = &s->ui.data;
    struct own_look *look = w->made;
    if (w->flag) {
        take_folder(s, w);
        data_listed(&s->ui);
        return;
    }
    w->made = s->data.look;
    s->data.look = look;
    v->look = look->view;
    data_looked(v, &s->ui.compose.config);
    v->asked++;
    do_import(s);
}

static void drop_look(struct background_work *w) {
    if (w->flag) own_folder_free(w->made);
    else own_look_free(w->made);
}

static void do_look(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_FILES, look_at, take_look, .drop = drop_look };
    struct background_work *w = work_new(&kind, NULL, 0, x->text);
    w->number = s->ui.data.again;
    if (w->number) config_copy(&w->config, &s->ui.data.config);
    background_do(s->background, w);
}

static void do_own_rows(struct session *s) {
    struct run_config c;
    config_copy(&c, &s->ui.compose.config);
    config_take_data(&c, &s->ui.data.config);
    session__ask_source(s, &c);
    config_release(&c);
    ui_show(&s->ui, SCREEN_COMPOSE);
    ui_say(&s->ui, SAY_GOOD, "data selected; press Enter to train on it");
}

const struct action data_actions[] = {
    { EFFECT_FOLDER, .work = &folder_work },
    { EFFECT_LOOK, .act = do_look },
    { EFFECT_IMPORT, .plain = do_import },
    { EFFECT_OWN_ROWS, .plain = do_own_rows },
    { .kind = EFFECT_NONE },
};

void session__data_release(struct session *s) {
    own_folder_free(s->data.folder);
    own_look_free(s->data.look);
    own_read_free(s->data.read);
}
