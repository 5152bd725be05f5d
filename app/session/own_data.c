#include "app/session/own_data.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/complete.h"
#include "core/train/run/run.h"

enum { FOLDER_MOST = 5000, BESIDE_MOST = 40 };

/* ---- a folder ---- */

static int entry_rank(const struct data_entry *e) { return e->folder ? 0 : e->read ? 1 : 2; }

static int by_kind_and_name(const void *a, const void *b) {
    const struct data_entry *x = a, *y = b;
    int d = entry_rank(x) - entry_rank(y);
    if (!d) d = strcasecmp(x->name, y->name);
    return d ? d : strcmp(x->name, y->name);
}

/* Returns the absolute path of an existing file, without ".."; "~" is the home folder. */
static char *own_data_full(const char *path) {
    const char *home = getenv("HOME");
    char *said = *path == '~' && (!path[1] || path[1] == '/') && home ? xprintf("%s%s", home, path + 1)
                                                                      : xstrdup(*path ? path : ".");
    char *full = realpath(said, NULL);
    if (!full) return said;
    free(said);
    return full;
}

/* Returns whether an entry is shown. */
static bool own_data_entry(const char *folder, const char *name, struct data_entry *out) {
    struct stat st;
    bool known;
    char *path = file_join(folder, name), *train = NULL;
    bool shown = *name != '.' && !stat(path, &st) && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
    if (shown) {
        *out = (struct data_entry){ .name = xstrdup(name),
                                    .folder = S_ISDIR(st.st_mode),
                                    .bytes = (int64_t)st.st_size };
        out->read = !out->folder && peek_reads(name);
        if (out->folder) train = peek_train_file(path, &known);
        out->task = train != NULL;
    }
    free(train);
    free(path);
    return shown;
}

struct own_folder *own_folder_list(const char *path) {
    struct own_folder *f = xcalloc(1, sizeof *f);
    char *full = own_data_full(path);
    size_t room = 0;
    DIR *d = opendir(full);
    f->view.path = full;
    if (!d) {
        f->view.failed = xstrdup("cannot read this folder");
        return f;
    }
    for (struct dirent *at; (at = readdir(d));) {
        struct data_entry e;
        if (f->view.entries == FOLDER_MOST) {
            f->view.left_out += *at->d_name != '.';
            continue;
        }
        if (!own_data_entry(full, at->d_name, &e)) continue;
        GROW(f->entry, room, f->view.entries + 1);
        f->entry[f->view.entries++] = e;
    }
    closedir(d);
    if (f->view.entries) qsort(f->entry, (size_t)f->view.entries, sizeof *f->entry, by_kind_and_name);
    f->view.entry = f->entry;
    return f;
}

void own_folder_free(struct own_folder *f) {
    if (!f) return;
    for (int i = 0; i < f->view.entries; i++) free((char *)f->entry[i].name);
    free(f->entry);
    free((char *)f->view.path);
    free((char *)f->view.failed);
    free(f);
}

/* ---- a file ---- */

static bool is_dev_name(const char *name) {
    static const char *const words[] = { "dev", "val", "valid", "validation" };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t n = strlen(words[i]);
        for (const char *at = name; *at; at++) {
            bool begins = at == name || strchr("-_. ", at[-1]);
            if (begins && !strncasecmp(at, words[i], n) && (!at[n] || strchr("-_. ", at[n]))) return true;
        }
    }
    return false;
}

/* Lists files with the same extension in the same folder, those named like validation sets first. */
static void find_beside(struct own_look *k) {
    char *folder = xstrdup(k->view.path), *slash = strrchr(folder, '/');
    const char *ending = strrchr(k->view.path, '.');
    char *own = file_base_name(k->view.path);
    if (slash) *slash = '\0';
    struct own_folder *f = own_folder_list(slash ? slash == folder ? "/" : folder : ".");
    k->beside = xcalloc(BESIDE_MOST, sizeof *k->beside);
    for (int likely = 1; likely >= 0; likely--)
        for (int i = 0; i < f->view.entries && k->view.besides < BESIDE_MOST; i++) {
            const struct data_entry *e = &f->entry[i];
            if (!e->read || !ending || !text_ends(e->name, ending) || !strcmp(e->name, own) ||
                is_dev_name(e->name) != likely)
                continue;
            k->beside[k->view.besides++] = file_join(f->view.path, e->name);
            k->view.likely += likely;
        }
    k->view.beside = (const char *const *)k->beside;
    own_folder_free(f);
    free(own);
    free(folder);
}

/* A task list is a single JSON array; no data file is. */
static bool is_list(const char *path) {
    struct buf start = BUF_INIT;
    bool whole;
    if (!text_ends(path, ".json") || file_read_start(path, 64, &start, &whole, NULL)) return false;
    const char *s = buf_text(&start);
    bool list = s[strspn(s, " \t\r\n")] == '[';
    buf_release(&start);
    return list;
}

struct own_look *own_look_at(const char *path, const struct run_config *how) {
    struct own_look *k = xcalloc(1, sizeof *k);
    struct err e = ERR_INIT;
    char *full = own_data_full(path), *file = NULL;
    k->view.path = full;
    k->view.folder = file_is_folder(full);
    k->view.list = !k->view.folder && is_list(full);
    if (k->view.folder) {
        file = peek_train_file(full, &k->view.known);
        k->view.own_dev = task_folder_has_dev(full);
        if (!file)
            err_set(&e, ERR_NOT_FOUND, "%s: not a task folder: it has no train.tsv, train.csv or train.jsonl",
                    full);
    } else if (k->view.list) {
        struct run_config c;
        config_init(&c);
        config_take_tasks(&c, full, &e);
        config_release(&c);
    } else {
        file = xstrdup(full);
        find_beside(k);
    }
    struct peek_how as = { .delimiter = how ? how->delimiter : NULL };
    if (how) as.header = how->header ? DATA_HEADER_YES : how->no_header ? DATA_HEADER_NO : DATA_HEADER_AUTO;
    if (file && !k->view.known && !peek_file(&k->peek, file, &as, &e)) k->view.peek = &k->peek;
    if (e.code) k->view.failed = xstrdup(e.text);
    free(file);
    return k;
}

void own_look_free(struct own_look *k) {
    if (!k) return;
    for (int i = 0; i < k->view.besides; i++) free(k->beside[i]);
    free(k->beside);
    peek_release(&k->peek);
    free((char *)k->view.path);
    free((char *)k->view.failed);
    free(k);
}

/* ---- the examples of a file ---- */

/* Reads a model's shape and tokenizer without its weights, which is sufficient to read examples. */
static int own_data_model(struct model *m, const char *where, struct err *e) {
    memset(m, 0, sizeof *m);
    m->folder = model_find(where, e);
    if (!m->folder || model_shape(m->folder, &m->arch, e)) {
        free(m->folder);
        m->folder = NULL;
        return e->code;
    }
    m->name = model_name(where, m->folder);
    m->tokenizer = model_tokenizer(m->folder, NULL, e);
    return m->tokenizer ? 0 : e->code;
}

static void own_data_model_release(struct model *m) {
    if (!m->folder) return;
    tokenizer_free(m->tokenizer);
    arch_release(&m->arch);
    free(m->folder);
    free(m->name);
}

static int own_data_task(const struct run_config *c, const struct model *m, int i, struct buf *report,
                         struct err *e) {
    struct run_config one;
    struct task t;
    config_of_task(c, i, &one);
    const struct task_source s = config_source(&one, NULL);
    int rc = task_open(&t, &s, e);
    if (!rc) {
        if (m) rc = run_prepare_task(&one, m, &t, e);
        if (!rc && c->tasks) text_line(report, "%s:", config_task_name(c, i));
        if (!rc) task_report(&t, report);
        task_release(&t);
    }
    config_release(&one);
    return rc;
}

struct own_read *own_read_rows(const struct run_config *c, int64_t asked) {
    struct own_read *r = xcalloc(1, sizeof *r);
    struct err e = ERR_INIT, why = ERR_INIT;
    struct buf report = BUF_INIT;
    struct model m;
    size_t room = 0;
    int no_model = own_data_model(&m, c->model_folder ? c->model_folder : c->model, &why), rc = 0;
    for (int i = 0; i < config_task_count(c) && !rc; i++)
        rc = own_data_task(c, no_model ? NULL : &m, i, &report, &e);
    if (rc) {
        buf_release(&report);
        text_line(&report, "%s", e.text);
    } else if (no_model) {
        text_line(&report, "warning: tokens cannot be counted: %s", why.text);
    }
    own_data_model_release(&m);
    r->view = (struct data_read){ .asked = asked, .ok = !rc };
    for (const char *at = buf_text(&report), *end; *at; at = end + (*end == '\n')) {
        end = at + strcspn(at, "\n");
        GROW(r->line, room, r->view.lines + 1);
        r->line[r->view.lines++] = xstrndup(at, (size_t)(end - at));
    }
    r->view.line = (const char *const *)r->line;
    buf_release(&report);
    return r;
}

void own_read_free(struct own_read *r) {
    if (!r) return;
    for (int i = 0; i < r->view.lines; i++) free(r->line[i]);
    free(r->line);
    free(r);
}
