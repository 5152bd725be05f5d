/* Texts that a run gave for rows of a split, beside those it should have given. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

struct sample_set {
    char *split;
    size_t count;
    struct store_sample *sample;
};

static void sample_release(struct store_sample *s) {
    free(s->source);
    free(s->target);
    free(s->generated);
}

void sample_set_free(struct sample_set *set) {
    if (!set) return;
    for (size_t i = 0; i < set->count; i++) sample_release(&set->sample[i]);
    free(set->sample);
    free(set->split);
    free(set);
}

int store_samples_put(struct store *s, int64_t run, int64_t step, const char *split,
                      const struct store_sample *sample, size_t count) {
    struct sample_set *set = xcalloc(1, sizeof *set);
    set->split = xstrdup(split);
    set->count = count;
    set->sample = xcalloc(count ? count : 1, sizeof *set->sample);
    for (size_t i = 0; i < count; i++) {
        set->sample[i] = sample[i];
        set->sample[i].source = xcopy(sample[i].source);
        set->sample[i].target = xcopy(sample[i].target);
        set->sample[i].generated = xcopy(sample[i].generated);
    }
    struct payload *p = xcalloc(1, sizeof *p);
    p->samples = set;
    return writer_put(s, &(struct store_record){ .kind = RECORD_SAMPLES, .run = run, .step = step,
                                           .time = store_now(), .payload = p });
}

int samples_apply(sqlite3 *db, const struct store_record *r, struct err *e) {
    const struct sample_set *set = r->payload->samples;
    int rc = 0;
    for (size_t i = 0; i < set->count && !rc; i++) {
        const struct store_sample *x = &set->sample[i];
        rc = db_run(db, e,
                    "INSERT INTO sample(run,step,split,row,source,target,generated,valid)"
                    " VALUES(?1,?2,?3,?4,?5,?6,?7,iif(?8<0,NULL,?8)) ON CONFLICT DO UPDATE SET"
                    " source=excluded.source, target=excluded.target,"
                    " generated=excluded.generated, valid=excluded.valid",
                    "iitittti", r->run, r->step, set->split, (int64_t)x->row, x->source, x->target,
                    x->generated, (int64_t)x->valid);
    }
    return rc;
}

static void take_sample(void *self, sqlite3_stmt *st) {
    struct store_samples *out = self;
    GROW(out->sample, out->room, out->count + 1);
    out->sample[out->count++] = (struct store_sample){
        .step = sqlite3_column_int64(st, 0),
        .row = (uint64_t)sqlite3_column_int64(st, 1),
        .source = db_text(st, 2, true),
        .target = db_text(st, 3, false),
        .generated = db_text(st, 4, true),
        .valid = sqlite3_column_int(st, 5),
    };
}

int store_samples(struct store *s, int64_t run, struct store_samples *out, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    *out = (struct store_samples){ 0 };
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_sample, out,
                     "SELECT step,row,source,target,generated,coalesce(valid,-1)"
                     " FROM sample WHERE run=? ORDER BY step, split, row",
                     "i", run);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_samples_release(out);
    return rc;
}

void store_samples_release(struct store_samples *s) {
    for (size_t i = 0; i < s->count; i++) sample_release(&s->sample[i]);
    free(s->sample);
    *s = (struct store_samples){ 0 };
}
