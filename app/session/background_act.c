/* What the screens do to runs of the history: take over, go on, train again, stop, put away, mark, export. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/files/png.h"
#include "app/history/export_hf.h"
#include "app/history/moved.h"
#include "app/history/record.h"
#include "app/history/run_table.h"
#include "app/session/background_private.h"
#include "app/session/kept.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"

static int stored_config(struct store *s, int64_t id, struct run_config *c, enum store_state *state,
                         struct err *e) {
    struct run_record r;
    if (record_open(s, id, &r, e)) return e->code;
    if (state) *state = r.row.state;
    store_run_release(&r.row);
    *c = r.config;
    moved_rows(c, store_path(s), NULL);
    return 0;
}

static int act_take_config(const struct background_place *p, const struct background_order *o,
                           struct background_answer *a, struct err *e) {
    a->config = xcalloc(1, sizeof *a->config);
    int rc = stored_config(p->store, o->run[0], a->config, NULL, e);
    if (rc) {
        free(a->config);
        a->config = NULL;
    } else {
        config_reuse(a->config);
        background__say(a, SAY_INFO, "run #%lld is in Compose: change an axis and press Enter",
                        (long long)o->run[0]);
    }
    return rc;
}

/* Goes on with a run, or, where `anew` allows it, trains the config of one that is over for good
 * once more. */
static int act_go_on(const struct background_place *p, int64_t id, bool anew, struct background_answer *a,
                     struct err *e) {
    struct job_request r = { 0 };
    enum store_state state;
    int rc = stored_config(p->store, id, &r.config, &state, e);
    if (rc) return rc;
    if (store_state_is_live(state)) {
        rc = err_set(e, ERR_USAGE, "run #%lld is still at work", (long long)id);
    } else if (state == STORE_STOPPED || state == STORE_INTERRUPTED) {
        jobs_resume_later(p->jobs, id);
        background__say(a, SAY_INFO, "run #%lld goes on", (long long)id);
    } else if (!anew) {
        rc = err_set(e, ERR_USAGE,
                     "run #%lld is %s: nothing is left to resume; R trains its config once more",
                     (long long)id, store_state_name(state));
    } else {
        config_reuse(&r.config);
        r.parent = id;
        jobs_start_later(p->jobs, &r);
        background__say(a, SAY_INFO, "the same config as run #%lld is trained once more", (long long)id);
    }
    config_release(&r.config);
    return rc;
}

/* The largest seed of runs that differ in nothing else from it. */
struct seed_search {
    char key[65];
    uint64_t most;
};
static int seed_row(void *self, int count, const struct store_cell *cells) {
    struct seed_search *s = self;
    struct run_config c;
    struct err ignored = ERR_INIT;
    char key[65];
    (void)count;
    if (record_config_text(cells[0].text, &c, &ignored)) return 0;
    uint64_t seed = c.seed;
    c.seed = 0;
    config_key(&c, key);
    config_release(&c);
    if (!strcmp(key, s->key) && seed > s->most) s->most = seed;
    return 0;
}

static int act_reseed(const struct background_place *p, const struct background_order *o,
                      struct background_answer *a, struct err *e) {
    struct job_request r = { .parent = o->run[0] };
    int rc = stored_config(p->store, o->run[0], &r.config, NULL, e);
    if (rc) return rc;
    struct seed_search found = { .most = r.config.seed };
    r.config.seed = 0;
    config_key(&r.config, found.key);
    char *sql = xprintf(
        "SELECT config FROM run WHERE trashed IS NULL AND method = (SELECT method FROM run WHERE id = %lld)",
        (long long)o->run[0]);
    rc = store_sql(p->store, sql, (struct store_rows){ .self = &found, .row = seed_row }, e);
    free(sql);
    if (!rc) {
        config_reuse(&r.config);
        r.config.seed = found.most + 1;
        a->seed = r.config.seed;
        a->run = xcalloc(1, sizeof *a->run);
        a->run[0] = o->run[0];
        a->moved = 1;
        jobs_start_later(p->jobs, &r);
        background__say(a, SAY_INFO, "run #%lld is trained again with seed %llu", (long long)o->run[0],
                        (unsigned long long)r.config.seed);
    }
    config_release(&r.config);
    return rc;
}

/* All that were marked; one that cannot go on does not keep the others. */
static int act_again(const struct background_place *p, const struct background_order *o,
                     struct background_answer *a, struct err *e) {
    int rc = 0, begun = 0;
    for (int i = 0; i < o->runs; i++) {
        struct err why = ERR_INIT;
        int one = act_go_on(p, o->run[i], o->kind == BACKGROUND_AGAIN, a, &why);
        begun += !one;
        if (!one || rc) continue;
        rc = one;
        *e = why;
    }
    if (!rc && begun > 1) background__say(a, SAY_INFO, "%d runs go on or are trained once more", begun);
    if (rc && begun) err_prefix(e, "%d of %d go on", begun, o->runs);
    return rc;
}

/* The owner looks every quarter of a second and ends at a step with a checkpoint. */
static int act_stop(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e) {
    int rc = store_request(p->store, o->run[0], STORE_STOP, e);
    if (!rc)
        background__say(a, SAY_INFO,
                        "run #%lld trains in another process, which is asked to stop it with a checkpoint",
                        (long long)o->run[0]);
    return rc;
}

static int act_move(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e) {
    bool trash = o->kind == BACKGROUND_TRASH;
    int rc = (trash ? store_trash : store_restore)(p->store, o->run, (size_t)o->runs, e);
    if (rc) return rc;
    a->run = xcalloc((size_t)o->runs, sizeof *a->run);
    memcpy(a->run, o->run, (size_t)o->runs * sizeof *a->run);
    a->moved = o->runs;
    char what[48];
    if (o->runs == 1) snprintf(what, sizeof what, "run #%lld", (long long)o->run[0]);
    else snprintf(what, sizeof what, "%d runs", o->runs);
    background__say(a, SAY_GOOD, trash ? "%s in the trash; %s brings back" : "%s restored; %s puts back",
                    what, o->text);
    return 0;
}

static int act_save_filter(const struct background_place *p, const struct background_order *o,
                           struct background_answer *a, struct err *e) {
    int rc = store_save_filter(p->store, o->text, !o->trash, e);
    if (!rc)
        background__say(a, SAY_GOOD, o->trash ? "forgotten: %s" : "saved: %s   (P lists the saved ones)",
                        o->text);
    return rc;
}

/* Pins, tags, notes. */
static int act_keep(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e) {
    size_t n = (size_t)o->runs;
    const char *said = "";
    int rc;
    if (o->kind == BACKGROUND_PIN) rc = kept_pin(p->store, o->run, n, &said, e);
    else if (o->kind == BACKGROUND_TAGS) rc = kept_tag(p->store, o->run, n, o->text, e);
    else rc = store_note(p->store, o->run[0], o->text, e);
    if (rc) return rc;
    if (o->kind == BACKGROUND_TAGS) said = n > 1 ? "tags added" : "tags kept";
    else if (o->kind == BACKGROUND_NOTE) said = *o->text ? "note kept" : "without a note";
    if (n == 1) background__say(a, SAY_GOOD, "#%lld %s", (long long)o->run[0], said);
    else background__say(a, SAY_GOOD, "%d runs %s", o->runs, said);
    return 0;
}

static int act_name(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e) {
    int rc = store_rename(p->store, o->run[0], o->name, &a->was, e);
    if (rc) return rc;
    a->name = xstrdup(o->name);
    a->run = xcalloc(1, sizeof *a->run);
    a->run[0] = o->run[0];
    a->moved = 1;
    const char *back = !strcmp(a->was, a->name) ? "" : o->text;
    if (*a->name)
        background__say(a, SAY_GOOD, "#%lld is called %s%s%s%s", (long long)o->run[0], a->name,
                        *back ? " (" : "", back, *back ? " takes it back)" : "");
    else
        background__say(a, SAY_GOOD, "#%lld has no name%s%s%s", (long long)o->run[0], *back ? " (" : "", back,
                        *back ? " brings it back)" : "");
    return 0;
}

static int act_purge(const struct background_place *p, const struct background_order *o,
                     struct background_answer *a, struct err *e) {
    struct purge_sum sum;
    char what[128];
    bool count = o->kind == BACKGROUND_PURGE_COUNT;
    size_t n = (size_t)o->runs;
    int rc = count ? purge_count(p->store, o->run, n, &sum, e)
                   : purge_runs(p->store, o->run, n, o->typed, &sum, e);
    if (rc) return rc;
    kept_sum_words(n, &sum, what);
    background__say(a, count ? SAY_WARNING : SAY_GOOD, count ? "%s" : "%s deleted", what);
    a->moved = o->runs;
    return 0;
}

/* A run's model as a new folder. */
static int act_export_folder(const struct background_place *p, int64_t run, const struct outfile_guard *g,
                             const char *path, struct err *e) {
    double worst;
    int rc = outfile_check_folder(g, path, e);
    return rc ? rc : export_hf(p->store, run, NULL, NULL, path, false, jobs_crew(p->jobs), &worst, NULL, e);
}

/* Points, or runs as a table, into a new file. */
static int act_export_text(const struct background_place *p, const struct background_order *o,
                           enum store_format form, const struct outfile_guard *g, const char *path,
                           struct err *e) {
    struct outfile_sink f = { .e = e };
    const struct store_sink sink = { &f, outfile_sink_add };
    int rc = outfile_open(&f.file, g, path, e);
    if (rc) return rc;
    rc = o->kind == BACKGROUND_TABLE
             ? run_table_write(p->store, o->run, (size_t)o->runs, form, sink, e)
             : store_export(p->store, STORE_EXPORT_POINTS, form, o->run, (size_t)o->runs, sink, e);
    return outfile_end(&f.file, rc, e);
}

static int act_export(const struct background_place *p, const struct background_order *o,
                      struct background_answer *a, struct err *e) {
    bool table = o->kind == BACKGROUND_TABLE, folder = !table && !strcmp(o->text, "hf");
    enum store_format form = STORE_CSV;
    for (int i = STORE_CSV; i <= STORE_MARKDOWN && table; i++)
        if (text_ends(o->text, run_table_end((enum store_format)i))) form = (enum store_format)i;
    if (!table) run_table_form(o->text, &form);
    const char *end = folder ? "" : form == STORE_JSON && !table ? ".jsonl" : run_table_end(form);
    char *stem = table ? xstrndup(o->text, strlen(o->text) - strlen(end))
                       : xprintf("petri-run%lld-%s", (long long)o->run[0], folder ? "hf" : "points");
    char *path = outfile_new_name(stem, end);
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(p->store), false);
    int rc = folder ? act_export_folder(p, o->run[0], &g, path, e) : act_export_text(p, o, form, &g, path, e);
    outfile_guard_release(&g);
    free(stem);
    if (!rc) background__say(a, SAY_GOOD, "written: %s", path);
    free(path);
    return rc;
}

/* A picture into a new file. */
static int act_png(const struct background_place *p, const struct background_order *o,
                   struct background_answer *a, struct err *e) {
    const struct buf svg = { .data = (char *)(uintptr_t)o->text, .size = strlen(o->text) };
    struct buf png = BUF_INIT;
    int rc = png_of_svg(&svg, &png, e);
    if (rc) return rc;
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(p->store), false);
    char *path = outfile_new_name(o->name, ".png");
    rc = outfile_write(&g, path, png.data, png.size, e);
    if (!rc) background__say(a, SAY_GOOD, "written: %s", path);
    free(path);
    outfile_guard_release(&g);
    buf_release(&png);
    return rc;
}

int background__act(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e) {
    switch (o->kind) {
    case BACKGROUND_CLONE: return act_take_config(p, o, a, e);
    case BACKGROUND_AGAIN:
    case BACKGROUND_RESUME: return act_again(p, o, a, e);
    case BACKGROUND_RESEED: return act_reseed(p, o, a, e);
    case BACKGROUND_STOP: return act_stop(p, o, a, e);
    case BACKGROUND_TRASH:
    case BACKGROUND_RESTORE: return act_move(p, o, a, e);
    case BACKGROUND_SAVE: return act_save_filter(p, o, a, e);
    case BACKGROUND_PIN:
    case BACKGROUND_TAGS:
    case BACKGROUND_NOTE: return act_keep(p, o, a, e);
    case BACKGROUND_NAME: return act_name(p, o, a, e);
    case BACKGROUND_PURGE_COUNT:
    case BACKGROUND_PURGE: return act_purge(p, o, a, e);
    case BACKGROUND_PNG: return act_png(p, o, a, e);
    case BACKGROUND_TABLE:
    case BACKGROUND_EXPORT: return act_export(p, o, a, e);
    default: BUG("order %d", o->kind);
    }
}
