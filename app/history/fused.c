#include "app/history/fused.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/fusion.h"
#include "core/train/config.h"

int fused_says(const char *text, struct err *e) {
    int run[MIX_MOST];
    char *rest;
    int n = fusion_runs(text, run, &rest, e);
    free(rest);
    return n;
}

/* A run's modules, frozen: all must be adapters of its own. */
static int fused_add_run(const struct run_config *c, int run, struct buf *b, struct err *e) {
    struct method m = { .count = c->method.count };
    if (c->tasks) return err_set(e, ERR_USAGE, "fusion: run %d is of several tasks: fuse runs of one", run);
    for (int i = 0; i < m.count; i++) {
        m.module[i] = c->method.module[i];
        if (m.module[i].fn == FN_BOTTLENECK && m.module[i].source == SOURCE_FREE) {
            m.module[i].source = SOURCE_FUSION;
            m.module[i].init = INIT_DEFAULT;
            m.module[i].from_run = run;
            continue;
        }
        char *text = method_text(&c->method);
        err_set(e, ERR_USAGE, "fusion: run %d trained %s, of which module %d is no adapter (a bottleneck of its own), and what it has "
                              "learned would be left out", run, text, i + 1);
        free(text);
        return e->code;
    }
    if (!m.count) return err_set(e, ERR_USAGE, "fusion: run %d has no adapter", run);
    char *text = method_text(&m);
    buf_printf(b, "%s + ", text);
    free(text);
    return 0;
}

char *fused_text(struct store *s, const char *text, struct err *e) {
    int run[MIX_MOST], rc = 0;
    char *rest;
    int n = fusion_runs(text, run, &rest, e);
    struct buf b = BUF_INIT;
    if (n <= 0) return n ? NULL : xstrdup(text);
    for (int i = 0; !rc && i < n; i++) {
        struct store_run record;
        struct run_config c;
        rc = store_run(s, run[i], &record, e);
        if (rc) break;
        rc = config_from_json(record.config, strlen(record.config), &c, e);
        store_run_release(&record);
        if (rc) break;
        rc = fused_add_run(&c, run[i], &b, e);
        config_release(&c);
    }
    buf_puts(&b, rest);
    free(rest);
    if (!rc) return buf_take(&b);
    buf_release(&b);
    return NULL;
}
