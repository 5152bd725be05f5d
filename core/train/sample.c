/* Texts told while a run trains: what it gives for the same dev rows again and again. */
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/sample.h"
#include "core/data/text_form.h"
#include "core/train/state.h"

void samples_init(struct run *r, const struct generate_options *how) {
    struct samples *s = &r->samples;
    s->step = -1;
    if (!r->c.samples) return;
    const struct dataset *d = &r->task->dev[0];
    int *pick = xmalloc((d->rows + 1) * sizeof *pick), n = dataset_pick(d, r->c.samples, r->c.seed, pick);
    dataset_view(&s->rows, d, pick, n);
    free(pick);
    text_scoring_init(&s->scoring, r->m, &s->rows, false, how);
}

void samples_release(struct run *r) {
    text_scoring_release(&r->samples.scoring);
    dataset_view_release(&r->samples.rows);
}

bool samples_due(const struct run *r) {
    const struct samples *s = &r->samples;
    if (!s->rows.rows || s->step == r->step) return false;
    return evaluation_due(r) || (r->c.sample_every && r->step % r->c.sample_every == 0);
}

void samples_unit(struct run *r, int index, struct worker *w) {
    uint64_t ignored; /* what is not finite the scores say, or the next step */
    text_scoring_unit(&r->samples.scoring, index, w->tape, w->arena, run_attach(r, w), r->params, r->made,
                      &ignored);
}

void samples_finish(struct run *r) {
    struct samples *s = &r->samples;
    struct event_sample *sample = xcalloc(s->rows.rows, sizeof *sample);
    int n = 0;
    for (size_t i = 0; i < s->rows.rows; i++) {
        const struct dataset_row *row = &s->rows.row[i];
        const char *given = s->scoring.given[i];
        if (!given) continue;
        bool any = r->task->gold == DATA_TEXT;
        sample[n++] = (struct event_sample){
            .row = row->id, .source = text_string(row->a, row->a_size),
            .target = row->target_text ? text_string(row->target_text, row->target_size) : NULL,
            .generated = text_string(given, s->scoring.given_size[i]),
            .valid = any ? -1 : text_parse(r->task, given, s->scoring.given_size[i]).valid,
        };
    }
    const struct event_samples all = { n, sample };
    if (n)
        run_send(r, (struct event){ .kind = EVENT_SAMPLE, .split = r->task->dev_name[0], .samples = &all });
    s->step = r->step;
    for (int i = 0; i < n; i++) {
        free((char *)(uintptr_t)sample[i].source);
        free((char *)(uintptr_t)sample[i].target);
        free((char *)(uintptr_t)sample[i].generated);
    }
    free(sample);
}
