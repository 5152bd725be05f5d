/* petri doctor: checks of the machine, the terminal and the database. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/shelf.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/engine/dnnl.h"
#include "core/engine/packed.h"
#include "core/train/run/frozen.h"
#include "views/term.h"

struct doctor_page {
    bool json;
    struct buf b;
};

static void verb_doctor_part(struct doctor_page *p, const char *name) {
    if (!p->json) {
        printf("%s\n", name);
        return;
    }
    json_open(&p->b, name, '{');
}

static void part_end(struct doctor_page *p) {
    if (p->json) buf_putc(&p->b, '}');
}

static void verb_doctor_text(struct doctor_page *p, const char *key, const char *value) {
    if (p->json) {
        json_member_string(&p->b, key, value);
    } else {
        printf("  %-14s ", key);
        out_text(value ? value : "-");
        putchar('\n');
    }
}

static void verb_doctor_number(struct doctor_page *p, const char *key, double value, const char *unit) {
    if (p->json) json_member_double(&p->b, key, value);
    else printf("  %-14s %.4g %s\n", key, value, unit);
}

static void truth(struct doctor_page *p, const char *key, bool value) {
    if (p->json) json_member_bool(&p->b, key, value);
    else verb_doctor_text(p, key, value ? "yes" : "no");
}

static void verb_doctor_machine(struct doctor_page *p) {
    const struct blas_facts *f = blas_facts();
    verb_doctor_part(p, "processor");
    verb_doctor_text(p, "name", f->processor);
    verb_doctor_text(p, "features", f->features);
    verb_doctor_number(p, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN), "");
    part_end(p);
    verb_doctor_part(p, "blas");
    verb_doctor_text(p, "kernel", f->kernel);
    verb_doctor_text(p, "chosen_by", f->chosen_by);
    verb_doctor_text(p, "version", f->version);
    truth(p, "self_test_passed", f->self_test_passed);
    verb_doctor_text(p, "self_test", f->self_test);
    verb_doctor_number(p, "threads", 1, "(petri parallelizes over its workers)");
    double single = blas_rate(512, 768, 768, 0.2);
    verb_doctor_number(p, "sgemm_gflops", single, "GFLOP/s on one core, 512×768×768");
    part_end(p);
    verb_doctor_part(p, "bfloat16");
    verb_doctor_text(p, "library", dnnl_name() ? dnnl_name() : "none: petri was built without oneDNN");
    truth(p, "native", packed_is_native());
    if (packed_is_native()) {
        double half = packed_rate(512, 768, 768, 0.2);
        verb_doctor_number(p, "gflops", half, "GFLOP/s on one core, 512×768×768");
        verb_doctor_number(p, "speedup", half / single, "times the speed of sgemm (--precision bf16)");
    } else {
        verb_doctor_text(p, "effect",
                         "emulated: --precision bf16 gives the same rounding, but is not faster");
    }
    part_end(p);
}

static void terminal(struct doctor_page *p) {
    struct term_abilities t;
    term_abilities(&t);
    verb_doctor_part(p, "terminal");
    verb_doctor_text(p, "TERM", t.name);
    truth(p, "known", t.known);
    verb_doctor_number(p, "colours", t.colors, "");
    truth(p, "utf8", t.utf8);
    truth(p, "is_terminal", isatty(STDOUT_FILENO));
    part_end(p);
}

static int database(struct doctor_page *p, const struct args *a, struct err *e) {
    char *path = verb_database(a, e);
    verb_doctor_part(p, "database");
    verb_doctor_text(p, "sqlite", store_sqlite_version());
    if (!path) {
        verb_doctor_text(p, "problem", e->text);
        part_end(p);
        return e->code;
    }
    verb_doctor_text(p, "path", path);
    free(path);
    struct store *s;
    struct store_health h;
    int rc = verb_store(a, STORE_READ, &s, e);
    bool there = rc != ERR_NOT_FOUND;
    truth(p, "exists", there);
    if (!there) {
        *e = (struct err)ERR_INIT;
        rc = 0;
    } else if (!rc) {
        rc = store_check(s, &h, e);
        struct err ignored = ERR_INIT;
        store_close(s, &ignored);
        if (!rc) {
            verb_doctor_text(p, "journal", h.journal);
            verb_doctor_number(p, "schema", h.schema, "");
            verb_doctor_number(p, "runs", (double)h.runs, "");
            verb_doctor_number(p, "points", (double)h.points, "");
            verb_doctor_number(p, "bytes", (double)h.bytes, "");
            truth(p, "whole", h.whole);
            if (!h.whole) verb_doctor_text(p, "problem", h.problem);
            if (!h.whole) rc = err_set(e, ERR_DATABASE, "the database is corrupt: %s", h.problem);
        }
    }
    if (rc) verb_doctor_text(p, "problem", e->text);
    part_end(p);
    return rc;
}

static void assets(struct doctor_page *p) {
    verb_doctor_part(p, "assets");
    char **roots, *model = assets_find("models/" DEFAULT_MODEL "/model.safetensors");
    char *task = assets_find("tasks/" DEFAULT_TASK "/train.tsv");
    size_t n = assets_roots(&roots), first = 0;
    while (first < n && !file_exists(roots[first])) first++;
    verb_doctor_text(p, "folder", roots[first < n ? first : 0]);
    assets_free(roots, n);
    truth(p, "default_model", model != NULL);
    truth(p, "default_task", task != NULL);
    char **name;
    n = model_names(&name);
    struct buf all = BUF_INIT;
    for (size_t i = 0; i < n; i++) buf_printf(&all, "%s%s", i ? ", " : "", name[i]);
    verb_doctor_text(p, "models", n ? buf_text(&all) : "none");
    buf_release(&all);
    assets_free(name, n);
    verb_doctor_text(p, "model", paths_model()); /* the defaults */
    verb_doctor_text(p, "task", paths_task());
    if (!model || !task) verb_doctor_text(p, "fetch", paths_fetch());
    free(model);
    free(task);
    part_end(p);
}

/* The cache of --share-frozen. */
static void doctor_cache(struct doctor_page *p) {
    char *folder = frozen_folder();
    size_t files = 0;
    uint64_t bytes = folder ? shelf_usage(folder, &files) : 0;
    verb_doctor_part(p, "cache");
    verb_doctor_text(p, "folder", folder);
    verb_doctor_number(p, "files", (double)files, "");
    if (p->json) verb_doctor_number(p, "bytes", (double)bytes, "");
    else
        printf("  %-14s %.1f MB, used by --share-frozen; the folder can be deleted at any time\n", "size",
               (double)bytes / (1 << 20));
    part_end(p);
    free(folder);
}

int verb_doctor(const struct args *a, struct err *e) {
    struct doctor_page p = { .json = a->json, .b = BUF_INIT };
    if (p.json) buf_putc(&p.b, '{');
    verb_doctor_text(&p, "version", paths_version());
    verb_doctor_machine(&p);
    terminal(&p);
    assets(&p);
    doctor_cache(&p);
    int rc = database(&p, a, e);
    bool self_test = blas_facts()->self_test_passed;
    if (p.json) {
        json_put(&p.b, "ok:%i}", !rc && self_test);
        out_line(&p.b);
    }
    buf_release(&p.b);
    if (rc || self_test) return rc;
    return err_set(e, ERR_FAILED, "the BLAS library failed its self-test: %s", blas_facts()->self_test);
}
