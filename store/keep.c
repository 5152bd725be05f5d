/* Changes by users: requests to a run's owner, trash, tags, notes, sweeps. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/internal.h"

/* Returns ERR_NOT_FOUND, or the run's state and when it was moved to the trash. */
static int keep_look_up(struct store *s, sqlite3 *db, int64_t run, enum store_state *state,
                        int64_t *trashed, struct err *e) {
    sqlite3_stmt *st = db_prepare(db, e, "SELECT state, coalesce(trashed,0) FROM run WHERE id=?",
                                  "i", run);
    if (!st) return e->code;
    int rc = db_step(st, e);
    if (rc > 0) {
        const char *name = (const char *)sqlite3_column_text(st, 0);
        int known = name ? store_state_by_name(name) : -1;
        *state = known < 0 ? STORE_INTERRUPTED : (enum store_state)known;
        *trashed = sqlite3_column_int64(st, 1);
        rc = 0;
    } else if (!rc) {
        rc = err_set(e, ERR_NOT_FOUND, "%s: run %lld does not exist", s->path, (long long)run);
    }
    sqlite3_finalize(st);
    return rc;
}

/* ---- requests ---- */

static const char *const controls[] = { "stop", "pause", "resume" };

struct request_call {
    int64_t run;
    enum store_control what;
};

static int keep_ask(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct request_call *c = arg;
    enum store_state state;
    int64_t trashed;
    int rc = keep_look_up(s, db, c->run, &state, &trashed, e);
    if (rc) return rc;
    if (!store_state_is_live(state))
        return err_set(e, ERR_USAGE, "run %lld is %s: nothing to %s", (long long)c->run,
                       store_state_name(state), controls[c->what]);
    return db_run(db, e, "INSERT INTO control(run,what,asked) VALUES(?,?,?)", "iti", c->run,
                  controls[c->what], store_now());
}

int store_request(struct store *s, int64_t run, enum store_control what, struct err *e) {
    struct request_call c = { run, what };
    int rc = store_reap(s, NULL, e);
    return rc ? rc : writer_call(s, keep_ask, &c, e);
}

/* Reads only, as it is called four times per second. */
int store_requests(struct store *s, struct store_request *out, int room, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *st = db_prepare(s->reader, e,
                                  "SELECT id, run, what FROM control WHERE taken IS NULL ORDER BY id", "");
    int rc = st ? 1 : e->code, n = 0;
    while (rc > 0 && n < room && (rc = db_step(st, e)) > 0) {
        int64_t run = sqlite3_column_int64(st, 1);
        if (!store_owns(s, run)) continue;
        const char *what = (const char *)sqlite3_column_text(st, 2);
        enum store_control asked = STORE_STOP;
        if (what && !strcmp(what, "pause")) asked = STORE_PAUSE;
        if (what && !strcmp(what, "resume")) asked = STORE_RESUME;
        out[n++] = (struct store_request){ sqlite3_column_int64(st, 0), run, asked };
    }
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->reading);
    return rc < 0 ? rc : n;
}

static int mark_taken(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    const int64_t *id = arg;
    return db_run(db, e, "UPDATE control SET taken=? WHERE id=?", "ii", store_now(), *id);
}

int store_request_taken(struct store *s, const struct store_request *r, struct err *e) {
    int64_t id = r->id;
    return writer_call(s, mark_taken, &id, e);
}

/* ---- trash ---- */

struct runs_call {
    const int64_t *runs;
    size_t n;
};

/* A run (the value before it) and, of a few-shot run, its draws. */
#define WITH_DRAWS                                                                                           \
    "(id=?2 OR (parent=?2 AND EXISTS(SELECT 1 FROM tag WHERE run=id AND name='" STORE_DRAW_TAG "')))"

static int trash(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct runs_call *c = arg;
    int64_t now = store_now(), trashed;
    for (size_t i = 0; i < c->n; i++) {
        enum store_state state;
        int rc = keep_look_up(s, db, c->runs[i], &state, &trashed, e);
        if (rc) return rc;
        if (store_state_is_live(state))
            return err_set(e, ERR_USAGE, "run %lld is %s; stop it first", (long long)c->runs[i],
                           store_state_name(state));
        rc = db_run(db, e, "UPDATE run SET trashed=coalesce(trashed,?1) WHERE " WITH_DRAWS, "ii", now,
                    c->runs[i]);
        if (rc) return rc;
    }
    return 0;
}

int store_trash(struct store *s, const int64_t *runs, size_t n, struct err *e) {
    struct runs_call c = { runs, n };
    int rc = store_reap(s, NULL, e);
    return rc ? rc : writer_call(s, trash, &c, e);
}

static int restore(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct runs_call *c = arg;
    for (size_t i = 0; i < c->n; i++) {
        enum store_state state;
        int64_t trashed;
        int rc = keep_look_up(s, db, c->runs[i], &state, &trashed, e);
        if (!rc) rc = db_run(db, e, "UPDATE run SET trashed=nullif(0,?1) WHERE " WITH_DRAWS, "ii", (int64_t)0,
                             c->runs[i]);
        if (rc) return rc;
    }
    return 0;
}

int store_restore(struct store *s, const int64_t *runs, size_t n, struct err *e) {
    struct runs_call c = { runs, n };
    return writer_call(s, restore, &c, e);
}

struct purge_call {
    const int64_t *runs;
    size_t n;
    int64_t typed;
    struct store_paths *paths;
    int64_t *chosen;
    int *locks;
    size_t count, room;
};

static void add_path(struct store_paths *p, char *path) {
    GROW(p->path, p->room, p->count + 1);
    p->path[p->count++] = path;
}

/* A stored path is deleted only if it is in the run's own folder. */
static bool is_inside(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/' && !strstr(path + n, "/../") &&
           strcmp(path + strlen(path) - 3, "/..") != 0;
}

static void keep_choose_one(struct purge_call *c, int64_t run) {
    size_t k = 0;
    while (k < c->count && c->chosen[k] != run) k++;
    if (k < c->count) return;
    GROW(c->chosen, c->room, c->count + 1);
    c->chosen[c->count++] = run;
}

static int choose_all(sqlite3 *db, struct purge_call *c, int64_t run, const char *sql, struct err *e) {
    sqlite3_stmt *st = db_prepare(db, e, sql, "ii", (int64_t)0, run);
    if (!st) return e->code;
    int rc;
    while ((rc = db_step(st, e)) > 0) keep_choose_one(c, sqlite3_column_int64(st, 0));
    sqlite3_finalize(st);
    return rc;
}

static int keep_choose(struct store *s, sqlite3 *db, struct purge_call *c, struct err *e) {
    if (c->runs) {
        for (size_t i = 0; i < c->n; i++) {
            enum store_state state;
            int64_t trashed;
            int rc = keep_look_up(s, db, c->runs[i], &state, &trashed, e);
            if (rc) return rc;
            if (!trashed)
                return err_set(e, ERR_USAGE, "run %lld is not in the trash; only runs in the trash can be "
                                             "purged", (long long)c->runs[i]);
            keep_choose_one(c, c->runs[i]);
        }
        return 0;
    }
    return choose_all(db, c, 0, "SELECT id FROM run WHERE trashed IS NOT NULL AND ?1=?2 ORDER BY id", e);
}

static int purge_one(struct store *s, sqlite3 *db, struct purge_call *c, size_t at, struct err *e) {
    int64_t run = c->chosen[at];
    char *folder = store_run_folder(s, run), *lock = store_lock_of(s, run);
    int rc = 0;
    if (file_is_folder(folder)) {
        rc = file_lock(lock, false, &c->locks[at], e);
        if (!rc && c->locks[at] < 0)
            rc = err_set(e, ERR_USAGE, "run %lld is in use by another process", (long long)run);
    }
    sqlite3_stmt *st = rc ? NULL
                          : db_prepare(db, e, "SELECT path FROM artifact WHERE run=?", "i", run);
    if (!rc && !st) rc = e->code;
    while (st && (rc = db_step(st, e)) > 0) {
        const char *stored = (const char *)sqlite3_column_text(st, 0);
        if (!stored) continue;
        char *path = *stored == '/' ? xstrdup(stored) : file_join(s->folder, stored);
        if (is_inside(path, folder)) add_path(c->paths, path);
        else free(path);
    }
    sqlite3_finalize(st);
    if (!rc) rc = db_run(db, e, "DELETE FROM run WHERE id=?", "i", run);
    free(lock);
    free(folder);
    return rc;
}

static int purge(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct purge_call *c = arg;
    int rc = keep_choose(s, db, c, e);
    if (rc) return rc;
    if (c->typed != (int64_t)c->count)
        return err_set(
            e, ERR_USAGE,
            "%zu run%s would be deleted permanently, but %lld was entered as confirmation; nothing "
            "was deleted",
            c->count, c->count == 1 ? "" : "s", (long long)c->typed);
    for (size_t i = 0, named = c->count; !rc && i < named; i++)
        rc = choose_all(db, c, c->chosen[i],
                        "SELECT id FROM run WHERE trashed IS NOT NULL AND ?1=0 AND " WITH_DRAWS, e);
    if (rc) return rc;
    c->locks = xmalloc((c->count + 1) * sizeof *c->locks);
    for (size_t i = 0; i < c->count; i++) c->locks[i] = -1;
    for (size_t i = 0; !rc && i < c->count; i++) rc = purge_one(s, db, c, i, e);
    for (size_t i = 0; !rc && i < c->count; i++) {
        char *folder = store_run_folder(s, c->chosen[i]);
        if (file_is_folder(folder)) add_path(c->paths, folder);
        else free(folder);
    }
    return rc;
}

int store_purge(struct store *s, const int64_t *runs, size_t n, int64_t typed,
                struct store_paths *paths, struct err *e) {
    memset(paths, 0, sizeof *paths);
    struct purge_call c = { .runs = runs, .n = n, .typed = typed, .paths = paths };
    int rc = writer_call(s, purge, &c, e);
    for (size_t i = 0; c.locks && i < c.count; i++) file_unlock(c.locks[i]);
    free(c.locks);
    free(c.chosen);
    if (rc) store_paths_release(paths);
    return rc;
}

void store_paths_release(struct store_paths *p) {
    for (size_t i = 0; i < p->count; i++) free(p->path[i]);
    free(p->path);
    memset(p, 0, sizeof *p);
}

/* ---- tags, notes, sweeps ---- */

struct tag_call {
    const int64_t *runs;
    const char *const *tags;
    size_t n, count;
    bool on;
};

static int take_tag(sqlite3 *db, int64_t run, const char *tag, struct err *e) {
    int rc = db_run(db, e, "DELETE FROM tag WHERE run=? AND name=?", "it", run, tag);
    if (rc || sqlite3_changes(db)) return rc;
    return err_set(e, ERR_NOT_FOUND, "run %lld has no tag \"%s\"; no tags were removed", (long long)run,
                   tag);
}

static int set_tags(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct tag_call *c = arg;
    enum store_state state;
    int64_t trashed;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->n; i++) {
        rc = keep_look_up(s, db, c->runs[i], &state, &trashed, e);
        for (size_t k = 0; !rc && k < c->count; k++)
            rc = c->on ? db_run(db, e, "INSERT OR IGNORE INTO tag(run,name) VALUES(?,?)", "it", c->runs[i],
                                c->tags[k])
                       : take_tag(db, c->runs[i], c->tags[k], e);
    }
    return rc;
}

int store_tag(struct store *s, const int64_t *runs, size_t n, const char *const *tags, size_t count, bool on,
              struct err *e) {
    for (size_t i = 0; i < count; i++)
        if (!*tags[i] || strchr(tags[i], ','))
            return err_set(e, ERR_USAGE, "invalid tag \"%s\": a tag must not be empty or contain a comma",
                           tags[i]);
    struct tag_call c = { .runs = runs, .tags = tags, .n = n, .count = count, .on = on };
    return writer_call(s, set_tags, &c, e);
}

struct text_call {
    int64_t run;
    const char *text;
};

int note_set(sqlite3 *db, int64_t run, const char *text, struct err *e) {
    return db_run(db, e, "INSERT OR REPLACE INTO note(run,text,changed) VALUES(?,?,?)", "iti", run, text,
                  store_now());
}

static int set_note(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct text_call *c = arg;
    enum store_state state;
    int64_t trashed;
    int rc = keep_look_up(s, db, c->run, &state, &trashed, e);
    if (rc) return rc;
    if (!c->text || !*c->text) return db_run(db, e, "DELETE FROM note WHERE run=?", "i", c->run);
    return note_set(db, c->run, c->text, e);
}

int store_note(struct store *s, int64_t run, const char *text, struct err *e) {
    struct text_call c = { .run = run, .text = text };
    return writer_call(s, set_note, &c, e);
}

struct rename_call {
    int64_t run;
    const char *name;
    char **before;
};

static int keep_rename(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    const struct rename_call *c = arg;
    sqlite3_stmt *st = db_prepare(db, e, "SELECT coalesce(name,'') FROM run WHERE id=?", "i", c->run);
    if (!st) return e->code;
    int rc = db_step(st, e);
    char *before = rc > 0 ? db_text(st, 0, true) : NULL;
    sqlite3_finalize(st);
    if (rc >= 0 && !before)
        rc = err_set(e, ERR_NOT_FOUND, "%s: run %lld does not exist", s->path, (long long)c->run);
    if (rc > 0)
        rc = db_run(db, e, "UPDATE run SET name=? WHERE id=?", "ti", *c->name ? c->name : NULL, c->run);
    if (rc || !c->before) free(before);
    else *c->before = before;
    return rc;
}

/* Rejects names that could not be used as RUN or shown in a list. */
int store_check_name(const char *name, struct err *e) {
    double number;
    if (strlen(name) > STORE_NAME_MOST)
        return err_set(e, ERR_USAGE, "a run's name may have at most %d bytes, not %zu", STORE_NAME_MOST,
                       strlen(name));
    char *shown = text_visible(name, strlen(name));
    bool plain = !strcmp(shown, name);
    free(shown);
    if (!plain)
        return err_set(e, ERR_USAGE, "a run's name must not contain line breaks or control characters");
    if (*name == ' ' || (*name && name[strlen(name) - 1] == ' '))
        return err_set(e, ERR_USAGE, "\"%s\": a run's name must not start or end with a space", name);
    if (*name && (strchr("#-", *name) || text_to_double(name, &number) ||
                  !name[strspn(name, "0123456789,.| ")] || !strcmp(name, "last")))
        return err_set(
            e, ERR_USAGE,
            "invalid run name \"%s\": a name must not be a number, look like an option, or be \"last\"",
            name);
    return 0;
}

int store_rename(struct store *s, int64_t run, const char *name, char **before, struct err *e) {
    struct err unused = ERR_INIT;
    struct rename_call c = { run, name ? name : "", before };
    if (!e) e = &unused;
    int rc = store_check_name(c.name, e);
    return rc ? rc : writer_call(s, keep_rename, &c, e);
}

/* Rows of `meta`, whose other names have no colon. */
static const char saved_mark[] = "filter:";

struct filter_call {
    const char *filter;
    bool on;
};

static int set_filter(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    const struct filter_call *c = arg;
    (void)s;
    return db_run(db, e,
                  c->on ? "INSERT OR REPLACE INTO meta(name,value) VALUES(?1||?2,?2)"
                        : "DELETE FROM meta WHERE name=?1||?2",
                  "tt", saved_mark, c->filter);
}

int store_save_filter(struct store *s, const char *filter, bool on, struct err *e) {
    struct filter_call c = { filter, on };
    return writer_call(s, set_filter, &c, e);
}

static void take_filter(void *self, sqlite3_stmt *st) {
    struct store_filters *f = self;
    GROW(f->filter, f->room, f->count + 1);
    f->filter[f->count++] = db_text(st, 0, true);
}

int store_filters(struct store *s, struct store_filters *out, struct err *e) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_filter, out,
                     "SELECT value FROM meta WHERE substr(name,1,length(?1))=?1 ORDER BY value", "t",
                     saved_mark);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_filters_release(out);
    return rc;
}

void store_filters_release(struct store_filters *f) {
    for (size_t i = 0; i < f->count; i++) free(f->filter[i]);
    free(f->filter);
    memset(f, 0, sizeof *f);
}

struct saved_text {
    const char *name, *text;
};

static int save_text(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    const struct saved_text *t = arg;
    (void)s;
    if (!*t->text) return db_run(db, e, "DELETE FROM meta WHERE name=?", "t", t->name);
    return db_run(db, e, "INSERT OR REPLACE INTO meta(name,value) VALUES(?,?)", "tt", t->name, t->text);
}

int store_save_text(struct store *s, const char *name, const char *text, struct err *e) {
    return writer_call(s, save_text, &(struct saved_text){ name, text }, e);
}

static void take_text(void *self, sqlite3_stmt *st) { *(char **)self = db_text(st, 0, true); }

int store_saved_text(struct store *s, const char *name, char **text, struct err *e) {
    *text = NULL;
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_text, text, "SELECT value FROM meta WHERE name=?", "t", name);
    pthread_mutex_unlock(&s->reading);
    if (!rc && !*text) *text = xstrdup("");
    return rc;
}
