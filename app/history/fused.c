#include "app/history/fused.h"

#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/fusion.h"
#include "core/train/config/config.h"

/* Names that combine modules of other runs. */
static const char *const fused_names[] = { "fusion", "attempt" };

int fused_says(const char *text, struct err *e) {
    int run[MIX_MOST], runs = 0;
    for (size_t i = 0; i < COUNT_OF(fused_names) && !runs; i++) {
        char *rest;
        runs = fusion_runs(fused_names[i], text, run, &rest, e);
        free(rest);
    }
    return runs;
}

/* The prompt of a run, frozen. */
static int fused_add_prompt(const struct run_config *c, int run, struct method *out, struct err *e) {
    struct module *m = &out->module[out->count];
    int prompts = 0;
    for (int i = 0; i < c->method.count; i++) {
        if (function_of(&c->method.module[i])->form != FORM_ROWS ||
            c->method.module[i].source == SOURCE_FUSION)
            continue;
        *m = c->method.module[i];
        prompts++;
    }
    if (!prompts || c->method.count > 1 || c->method.attempt.on)
        return err_set(e, ERR_USAGE,
                       "attempt: run %d cannot be used: its method must be a single prompt and a head",
                       run);
    if (c->tasks || m->source == SOURCE_TASK || m->source == SOURCE_PRODUCT)
        return err_set(
            e, ERR_USAGE,
            "attempt: run %d has one prompt per task; use runs of one task with one prompt", run);
    m->source = SOURCE_FUSION; /* the rows as computed, without their source */
    m->mid = 0;
    m->rows = ROWS_ACTING;
    m->init = INIT_DEFAULT;
    m->from_run = run;
    out->count++;
    return 0;
}

/* The modules of a run, frozen: all must be adapters with weights of their own. */
static int fused_add_run(const struct run_config *c, int run, struct buf *b, struct err *e) {
    struct method m = { .count = c->method.count };
    if (c->tasks)
        return err_set(e, ERR_USAGE, "fusion: run %d was trained on several tasks; use runs of one task",
                       run);
    for (int i = 0; i < m.count; i++) {
        m.module[i] = c->method.module[i];
        if (m.module[i].fn == FN_BOTTLENECK && m.module[i].source == SOURCE_FREE) {
            m.module[i].source = SOURCE_FUSION;
            m.module[i].init = INIT_DEFAULT;
            m.module[i].from_run = run;
            continue;
        }
        char *text = method_text(&c->method);
        err_set(e, ERR_USAGE,
                "fusion: run %d cannot be used: module %d of its method, %s, is not a bottleneck adapter "
                "with "
                "weights of a single task and layer; use runs that trained only such adapters",
                run, i + 1, text);
        free(text);
        return e->code;
    }
    if (!m.count)
        return err_set(e, ERR_USAGE, "fusion: run %d has no adapter; use runs that trained adapters", run);
    char *text = method_text(&m);
    buf_printf(b, "%s + ", text);
    free(text);
    return 0;
}

/* The modules of one run, in the order of the text. */
static int fused_add(bool prompts, struct store *s, int run, struct method *found, struct buf *b,
                     struct err *e) {
    struct run_config c;
    int rc = record_config(s, run, &c, e);
    if (rc) return rc;
    rc = prompts ? fused_add_prompt(&c, run, found, e) : fused_add_run(&c, run, b, e);
    config_release(&c);
    return rc;
}

/* The prompts as text; if the method has no prompt of its own, one of the same length with the default
 * initialization is added. */
static int fused_close_prompts(struct method *found, const char *rest, struct buf *b, struct err *e) {
    struct method own;
    char *text = method_text(found);
    buf_printf(b, "%s + ", text);
    free(text);
    /* The name occurs in the rest only, which is parsed without it. */
    text = xprintf("%s%s", buf_text(b), rest);
    int rc = method_parse(text, &own, e);
    free(text);
    bool has = false;
    for (int i = 0; !rc && i < own.count; i++)
        has |= own.module[i].fn == FN_PROMPT && own.module[i].source != SOURCE_FUSION;
    if (rc || has) return rc;
    struct method one = { .count = 1, .module = { found->module[0] } };
    one.module[0].source = SOURCE_FREE;
    one.module[0].from_run = 0;
    one.module[0].init = INIT_DEFAULT;
    module_normalize(&one.module[0]);
    text = method_text(&one);
    buf_printf(b, "%s + ", text);
    free(text);
    return 0;
}

/* Replaces one of the names by the modules of its runs. */
static char *fused_text_of(const char *name, struct store *s, const char *text, struct err *e) {
    int run[MIX_MOST], rc = 0;
    char *rest;
    bool prompts = name == fused_names[1];
    struct method found = { .count = 0 };
    int n = fusion_runs(name, text, run, &rest, e);
    struct buf b = BUF_INIT;
    if (n <= 0) return n ? NULL : xstrdup(text);
    for (int i = 0; !rc && i < n; i++) rc = fused_add(prompts, s, run[i], &found, &b, e);
    if (!rc && prompts) rc = fused_close_prompts(&found, rest, &b, e);
    buf_puts(&b, rest);
    free(rest);
    if (!rc) return buf_take(&b);
    buf_release(&b);
    return NULL;
}

char *fused_text(struct store *s, const char *text, struct err *e) {
    char *now = xstrdup(text);
    for (size_t i = 0; i < COUNT_OF(fused_names) && now; i++) {
        char *next = fused_text_of(fused_names[i], s, now, e);
        free(now);
        now = next;
    }
    return now;
}
