/* petri doctor: what this machine, terminal and database can do. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "views/term.h"

struct doctor_page {
    bool json;
    struct buf b;
};

static void part(struct doctor_page *p, const char *name) {
    if (!p->json) {
        printf("%s\n", name);
        return;
    }
    json_add_key(&p->b, name);
    buf_putc(&p->b, '{');
}

static void part_end(struct doctor_page *p) {
    if (p->json) buf_putc(&p->b, '}');
}

static void text(struct doctor_page *p, const char *key, const char *value) {
    if (p->json) {
        json_member_string(&p->b, key, value);
    } else {
        printf("  %-14s ", key);
        out_text(value ? value : "-");
        putchar('\n');
    }
}

static void number(struct doctor_page *p, const char *key, double value, const char *unit) {
    if (p->json) json_member_double(&p->b, key, value);
    else printf("  %-14s %.4g %s\n", key, value, unit);
}

static void truth(struct doctor_page *p, const char *key, bool value) {
    if (p->json) json_member_bool(&p->b, key, value);
    else text(p, key, value ? "yes" : "no");
}

static void machine(struct doctor_page *p) {
    const struct blas_facts *f = blas_facts();
    part(p, "processor");
    text(p, "name", f->processor);
    text(p, "features", f->features);
    number(p, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN), "");
    part_end(p);
    part(p, "blas");
    text(p, "kernel", f->kernel);
    text(p, "chosen_by", f->chosen_by);
    text(p, "version", f->version);
    truth(p, "self_test_passed", f->self_test_passed);
    text(p, "self_test", f->self_test);
    number(p, "threads", 1, "(petri has its own workers)");
    number(p, "sgemm_gflops", blas_rate(512, 768, 768, 0.2), "GF/s on one core, 512×768×768");
    part_end(p);
}

static void terminal(struct doctor_page *p) {
    struct term_abilities t;
    term_abilities(&t);
    part(p, "terminal");
    text(p, "TERM", t.name);
    truth(p, "known", t.known);
    number(p, "colours", t.colours, "");
    truth(p, "utf8", t.utf8);
    truth(p, "is_terminal", isatty(STDOUT_FILENO));
    part_end(p);
}

static int database(struct doctor_page *p, const struct args *a, struct err *e) {
    char *path = verb_database(a, e);
    part(p, "database");
    text(p, "sqlite", store_sqlite_version());
    if (!path) {
        text(p, "problem", e->text);
        part_end(p);
        return e->code;
    }
    text(p, "path", path);
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
            text(p, "journal", h.journal);
            number(p, "schema", h.schema, "");
            number(p, "runs", (double)h.runs, "");
            number(p, "points", (double)h.points, "");
            number(p, "bytes", (double)h.bytes, "");
            truth(p, "whole", h.whole);
            if (!h.whole) text(p, "problem", h.problem);
            if (!h.whole) rc = err_set(e, ERR_DATABASE, "the database is damaged: %s", h.problem);
        }
    }
    if (rc) text(p, "problem", e->text);
    part_end(p);
    return rc;
}

static void assets(struct doctor_page *p) {
    part(p, "assets");
    text(p, "folder", paths_assets());
    char *model = xprintf("%s/models/%s/model.safetensors", paths_assets(), DEFAULT_MODEL);
    char *task = xprintf("%s/tasks/%s/train.tsv", paths_assets(), DEFAULT_TASK);
    truth(p, "default_model", file_exists(model));
    truth(p, "default_task", file_exists(task));
    if (!file_exists(model) || !file_exists(task)) text(p, "fetch", "make fetch");
    free(model);
    free(task);
    part_end(p);
}

int verb_doctor(const struct args *a, struct err *e) {
    struct doctor_page p = { .json = args_flag(a, "json"), .b = BUF_INIT };
    if (p.json) buf_putc(&p.b, '{');
    text(&p, "version", paths_version());
    machine(&p);
    terminal(&p);
    assets(&p);
    int rc = database(&p, a, e);
    bool self_test = blas_facts()->self_test_passed;
    if (p.json) {
        json_member_bool(&p.b, "ok", !rc && self_test);
        buf_putc(&p.b, '}');
        out_line(&p.b);
    }
    buf_release(&p.b);
    if (rc || self_test) return rc;
    return err_set(e, ERR_FAILED, "the matrix library computes wrongly: %s", blas_facts()->self_test);
}
