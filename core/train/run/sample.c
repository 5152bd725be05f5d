/* Generated texts saved during training, for the same validation examples of each task. */
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/sample.h"
#include "core/data/text_form.h"
#include "core/train/run/state.h"

/* The number of samples is for all tasks together, but at least one per task. */
static int rows_each(const struct run *r) {
    int each = r->c.samples / r->tasks;
    return r->c.samples && !each ? 1 : each;
}

void samples_init(struct run *r, int task, const struct generate_options *how) {
    struct samples *s = &r->of[task].samples;
    s->step = -1;
    if (!rows_each(r)) return;
    const struct dataset *d = &r->of[task].task->dev[0];
    int *pick = xmalloc((d->examples + 1) * sizeof *pick), n = dataset_pick(d, rows_each(r), r->c.seed, pick);
    dataset_view(&s->data, d, pick, n);
    free(pick);
    text_scoring_init(&s->scoring, r->m, &s->data, false, how);
    s->scoring.task = task;
}

void samples_release(struct run *r) {
    for (int i = 0; i < r->tasks; i++) {
        text_scoring_release(&r->of[i].samples.scoring);
        dataset_view_release(&r->of[i].samples.data);
    }
}

/* All tasks are sampled at the same steps. */
bool samples_due(const struct run *r) {
    const struct samples *s = &r->of[0].samples;
    if (!s->data.examples || s->step == r->step) return false;
    return evaluation_due(r) || (r->c.sample_every && r->step % r->c.sample_every == 0);
}

int samples_units(const struct run *r) {
    int units = 0;
    for (int i = 0; i < r->tasks; i++)
        if (r->of[i].samples.now) units += text_scoring_units(&r->of[i].samples.scoring);
    return units;
}

/* Returns the task of a unit, and sets *index to its number there. */
static int sample_task_of(const struct run *r, int *index) {
    int t = 0;
    while (*index >= text_scoring_units(&r->of[t].samples.scoring))
        *index -= text_scoring_units(&r->of[t++].samples.scoring);
    return t;
}

int64_t samples_examples(const struct run *r, int index) {
    int t = sample_task_of(r, &index);
    return text_scoring_examples(&r->of[t].samples.scoring, index);
}

void samples_unit(struct run *r, int index, struct worker *w) {
    uint64_t ignored; /* NaN or infinity is reported by the evaluation or the next step */
    int t = sample_task_of(r, &index);
    text_scoring_unit(&r->of[t].samples.scoring, index, w->tape, w->arena, run_attach(r, w), r->values.params,
                      r->values.generated, &ignored);
}

static void finish_task(struct run *r, const struct run_task *of) {
    const struct samples *s = &of->samples;
    struct event_sample *sample = xcalloc(s->data.examples, sizeof *sample);
    int n = 0;
    for (size_t i = 0; i < s->data.examples; i++) {
        const struct example *row = &s->data.example[i];
        const char *given = s->scoring.text[i];
        if (!given) continue;
        bool any = of->task->label_kind == DATA_TEXT;
        sample[n++] = (struct event_sample){
            .row = row->id, .source = text_string(row->a, row->a_size),
            .target = row->target_text ? text_string(row->target_text, row->target_size) : NULL,
            .generated = text_string(given, s->scoring.text_size[i]),
            .valid = any ? -1 : text_parse(of->task, given, s->scoring.text_size[i]).valid,
        };
    }
    const struct event_samples all = { n, sample };
    if (n)
        run_send(r, (struct event){ .kind = EVENT_SAMPLE,
                                    .task = run_is_single(r) ? NULL : of->name,
                                    .split = task_split(of->task, 0),
                                    .samples = &all });
    for (int i = 0; i < n; i++) {
        free((char *)(uintptr_t)sample[i].source);
        free((char *)(uintptr_t)sample[i].target);
        free((char *)(uintptr_t)sample[i].generated);
    }
    free(sample);
}

void samples_finish(struct run *r) {
    for (int i = 0; i < r->tasks; i++) {
        if (!r->of[i].samples.now) continue;
        finish_task(r, &r->of[i]);
        r->of[i].samples.step = r->step;
    }
}
