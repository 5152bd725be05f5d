#include "app/session/overlay.h"

#include <stdlib.h>

#include "app/history/run_table.h"
#include "core/base/mem.h"

static int overlay_add(struct overlay_runs *b, struct store *s, int64_t id, struct err *e) {
    struct store_run r;
    int rc = store_run(s, id, &r, e);
    if (rc == ERR_NOT_FOUND) return 0; /* purged in the meantime */
    if (rc) return rc;
    int at = b->rows++;
    b->series[at] = series_new(id);
    b->name[at] = run_table_title(&r);
    b->live |= store_state_is_live(r.state);
    rc = series_read(b->series[at], s, &r, e);
    b->row[at] = (struct train_run){ id, b->name[at], &b->series[at]->view };
    store_run_release(&r);
    return rc;
}

int overlay_read(struct store *s, const int64_t *run, int runs, struct overlay_runs **out, struct err *e) {
    struct overlay_runs *b = xcalloc(1, sizeof *b);
    int rc = 0;
    b->row = xcalloc(TRAIN_BESIDE, sizeof *b->row);
    b->series = xcalloc(TRAIN_BESIDE, sizeof *b->series);
    b->name = xcalloc(TRAIN_BESIDE, sizeof *b->name);
    for (int i = 0; i < runs && b->rows < TRAIN_BESIDE && !rc; i++) rc = overlay_add(b, s, run[i], e);
    if (rc) overlay_free(b);
    else *out = b;
    return rc;
}

void overlay_free(struct overlay_runs *b) {
    if (!b) return;
    for (int i = 0; i < b->rows; i++) {
        series_free(b->series[i]);
        free(b->name[i]);
    }
    free(b->row);
    free(b->series);
    free(b->name);
    free(b);
}
