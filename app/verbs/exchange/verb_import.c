/* import: an adapter trained elsewhere, or in another database, becomes a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/backbone.h"
#include "app/history/ready_run.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/exchange/import.h"

/* ---- what is imported ---- */

/* Reads a file in petri's format on its base model. */
static int read_petri(const struct args *a, const char *file, struct imported *x, struct err *e) {
    struct run_config c;
    struct buf said = BUF_INIT;
    int rc = import_petri_config(file, &c, e);
    if (rc) return rc;
    struct model *m = backbone_open(&c, &(struct backbone_hint){ .given = a->model }, &said, e);
    config_release(&c);
    rc = m ? import_petri(file, m, x, e) : e->code;
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    return rc;
}

/* Finds the base model of an adapter folder: --model, else the name in its config as a path, then as a model
 * name. */
static struct model *find_base(const struct args *a, const char *folder, struct err *e) {
    const char *given = a->model;
    if (given) return model_share(given, e);
    char *base = import_is_fusion(folder) ? import_fusion_base(folder) : import_base(folder),
         *last = base ? file_base_name(base) : NULL;
    struct err first = ERR_INIT;
    struct model *m = base ? model_share(base, &first) : NULL;
    if (!m && base && first.code == ERR_NOT_FOUND) m = model_share(last, e);
    else if (!m) *e = first;
    if (!m && (!base || e->code == ERR_NOT_FOUND))
        err_set(e, ERR_NOT_FOUND, "%s: base model not found: %s; specify it with --model DIR", folder,
                base ? base : "unnamed");
    free(base);
    free(last);
    return m;
}

static int read_adapter(const struct args *a, const char *folder, struct imported *x, struct err *e) {
    bool hub = import_is_hub(folder);
    if (!hub && !import_is_peft(folder))
        return err_set(e, ERR_INPUT,
                       "%s/adapter_config.json: has neither \"peft_type\" nor \"model_type\": not a PEFT or "
                       "AdapterHub folder",
                       folder);
    struct model *m = find_base(a, folder, e);
    return m ? (hub ? import_hub : import_peft)(folder, m, x, e) : e->code;
}

static int read_fusion(const struct args *a, const char *folder, struct imported *x, struct err *e) {
    struct model *m = find_base(a, folder, e);
    return m ? import_fusion(folder, a->adapter.at, a->adapter.count, m, x, e) : e->code;
}

static int verb_import_read_any(const struct args *a, const char *path, struct imported *x, struct err *e) {
    if (!file_exists(path)) return err_set(e, ERR_NOT_FOUND, "%s: no such file or folder", path);
    bool fusion = import_is_fusion(path);
    if (a->adapter.count && !fusion)
        return err_set(e, ERR_USAGE,
                       "--adapter: only allowed for fused adapters: %s has no adapter_fusion_config.json",
                       path);
    struct notes aside = { 0 };
    char *own = import_petri_file(path),
         *adapter = own || fusion ? NULL : import_adapter_folder(path, &aside, e);
    int rc = e->code;
    if (fusion) rc = read_fusion(a, path, x, e);
    else if (own) rc = read_petri(a, own, x, e);
    else if (adapter) rc = read_adapter(a, adapter, x, e);
    else if (!rc)
        rc = err_set(e, ERR_INPUT,
                     "%s: unknown format: expected a file written by `petri export --to petri`, or a "
                     "folder that contains such a file or adapter_config.json", path);
    for (size_t i = 0; !rc && i < aside.count; i++) notes_add(&x->ignored, "%s", aside.line[i]);
    notes_release(&aside);
    free(own);
    free(adapter);
    return rc;
}

static void tell_notes(const char *what, const struct notes *n) {
    for (size_t i = 0; i < n->count; i++) {
        printf("  %s ", what);
        out_text(n->line[i]);
        putchar('\n');
    }
}

static int verb_import_tell(const struct args *a, struct store *s, int64_t id, const struct imported *x,
                            struct err *e) {
    char *ending = xprintf("imported from %s", x->format);
    int rc = verb_report_run(a, s, id, ending, e);
    free(ending);
    if (rc || a->json) return rc;
    tell_notes("read", &x->read);
    tell_notes("ignored:", &x->ignored);
    tell_notes("assumed:", &x->assumed);
    return 0;
}

static void add_class(char ***names, int *n, const char *s, size_t size) {
    while (size && (*s == ' ' || *s == '\t')) s++, size--;
    while (size && strchr(" \t\r", s[size - 1])) size--;
    *names = xrealloc(*names, (size_t)*n + 1, sizeof **names);
    (*names)[(*n)++] = xstrndup(s, size);
}

static void add_classes(char ***names, int *n, const char *s, char end) {
    for (const char *next; *s; s = *next ? next + 1 : next) {
        next = strchr(s, end);
        if (!next) next = s + strlen(s);
        add_class(names, n, s, (size_t)(next - s));
    }
}

int verb_classes(const struct args *a, char ***names, int *n, struct err *e) {
    const char *given = a->classes;
    struct buf bytes = BUF_INIT;
    struct task t;
    int rc = 0;
    *names = NULL;
    *n = 0;
    if (!given) return 0;
    if (strchr(given, ',')) {
        add_classes(names, n, given, ',');
    } else if (file_exists(given) && !file_is_folder(given)) {
        rc = file_read(given, 1 << 20, &bytes, e);
        if (!rc) add_classes(names, n, buf_text(&bytes), '\n');
        buf_release(&bytes);
    } else if (!(rc = task_open(&t, &(struct task_source){ .where = given, .no_dev = true }, e))) {
        for (int i = 0; i < t.classes; i++) add_class(names, n, t.class_name[i], strlen(t.class_name[i]));
        if (!t.classes) rc = err_set(e, ERR_USAGE, "--classes: task %s has no classes", given);
        task_release(&t);
    } else {
        err_prefix(e, "--classes: must be a list (a,b), a file or a task");
    }
    return rc;
}

void verb_classes_free(char **names, int n) {
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
}

int verb_import(const struct args *a, struct err *e) {
    struct imported x = { 0 };
    struct store *s;
    int64_t id;
    struct history_row row = { .note = a->note };
    char **name;
    int names;
    int rc = verb_run_name(a, &row.name, e);
    if (rc || (rc = verb_classes(a, &name, &names, e))) return rc;
    rc = verb_import_read_any(a, a->positional[0], &x, e);
    if (!rc && names && (rc = import_name_classes(&x, (const char *const *)name, names, e)))
        import_release(&x);
    verb_classes_free(name, names);
    if (!rc) {
        rc = verb_store(a, STORE_WRITE, &s, e);
        if (!rc) {
            rc = ready_run(s, &x, &row, &id, e);
            if (!rc) rc = verb_import_tell(a, s, id, &x, e);
            rc = verb_close(s, rc, e);
        }
        import_release(&x);
    }
    return rc;
}
