#include "tests/bench/bench_peer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench_episodes.h"
#include "tests/bench/bench_made.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/data/text_form.h"
#include "core/model/generate.h"

enum what { MADE_BERT, MADE_ROBERTA, MADE_TASKS, MADE_WEIGHTS, MADE_EPISODES, CLASSES, TEXT, LANGUAGE, GENERATE };

static const struct peer_work {
    const char *name;
    enum what what;
    int rows, steps, warm;
    int size; /* TEXT: tokens of a target, 0 the class as a digit; LANGUAGE: tokens of an example, 0: of the task; GENERATE:
               * beams */
    const char *method; /* of training; NULL: LoRA */
} works[] = {
    { "lora-bert-base-8x128", MADE_BERT, 8, 5, 2, 0, NULL },
    { "lora-bert-base-sst2", MADE_WEIGHTS, 32, 8, 1, 0, NULL },
    { "lora-minilm-sst2", CLASSES, 32, 40, 8, 0, NULL },
    { "full-minilm-sst2", CLASSES, 32, 40, 8, 0, "full" },
    { "lora-roberta-base-8x128", MADE_ROBERTA, 8, 5, 2, 0, NULL },
    { "lora-t5-sst2-digit", TEXT, 32, 6, 1, 0, NULL },
    { "lora-t5-sst2-30", TEXT, 32, 6, 1, 30, NULL },
    { "generate-t5-1", GENERATE, 1, 12, 2, 1, NULL },
    { "generate-t5-32", GENERATE, 32, 3, 1, 1, NULL },
    { "generate-t5-beam4", GENERATE, 1, 8, 2, 4, NULL },
    { "lora-smol-8x128", LANGUAGE, 8, 5, 1, 128, NULL },
    { "lora-smol-wikisql", LANGUAGE, 8, 16, 2, 0, NULL },
    { "generate-smol-1", GENERATE, 1, 6, 1, 1, NULL },
    { "generate-smol-32", GENERATE, 32, 2, 1, 1, NULL },
    { "hyperformer++-t5-small", MADE_TASKS, BENCH_GLUE, 6, 1, 0, "hyperformer++(r=16)" },
    { "pha-t5-small", MADE_TASKS, BENCH_GLUE, 6, 1, 0, "pha(r=64)" },
    { "hyperdecoder-t5-small", MADE_TASKS, BENCH_GLUE, 6, 1, 0, "hyperdecoder(r=64)" },
    { "meta-adapters-minilm", MADE_EPISODES, 16, 4, 1, 0, NULL },
};

enum { NEW_TOKENS = 20, PROMPT_TOKENS = 32 };

static const struct peer_work *bench_peer_find(const char *name, struct err *e) {
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        if (!strcmp(works[i].name, name)) {
            buf_release(&names);
            return &works[i];
        }
        buf_printf(&names, "%s%s", i ? ", " : "", works[i].name);
    }
    err_set(e, ERR_USAGE, "--peer-work: unknown workload \"%s\"; known are %s", name, buf_text(&names));
    buf_release(&names);
    return NULL;
}

/* ---- data ---- */

/* Returns token k of text i. */
static int32_t token_by_rule(size_t i, size_t k) { return (int32_t)(3 + (i * 131 + k * 7919) % 32000); }

/* Generates targets of `length` tokens by a rule, ending with the end token. */
static void long_targets(struct dataset *d, int length, int32_t end) {
    d->target_ids = xrealloc(d->target_ids, d->examples * (size_t)length, sizeof *d->target_ids);
    for (size_t i = 0; i < d->examples; i++) {
        int32_t *row = d->target_ids + i * (size_t)length;
        for (int k = 0; k < length - 1; k++)
            row[k] = token_by_rule(i, (size_t)k);
        row[length - 1] = end;
        d->target_start[i + 1] = (i + 1) * (size_t)length;
    }
}

/* Generates texts of `length` tokens, all but the first of which are targets. */
static void language_rows(struct task *t, const struct peer_work *w, int length, int vocabulary) {
    bench_task(t, w->rows * (w->steps + w->warm), length, vocabulary);
    struct dataset *d = &t->train;
    t->kind = t->label_kind = d->kind = DATA_TEXT;
    t->metric = METRIC_EXACT;
    d->max_target = (size_t)length;
    d->trained = xcalloc(d->start[d->examples], 1);
    d->target_start = xcalloc(d->examples + 1, sizeof *d->target_start);
    d->target_ids = xcalloc(d->examples, (size_t)length * sizeof *d->target_ids);
    for (size_t i = 0; i < d->examples; i++) {
        size_t targets = d->target_start[i];
        for (size_t k = 0; k < (size_t)length; k++) {
            d->ids[d->start[i] + k] = token_by_rule(i, k);
            d->trained[d->start[i] + k] = k > 0;
            if (k) d->target_ids[targets++] = token_by_rule(i, k);
        }
        d->target_start[i + 1] = targets;
        d->example[i].target_text = "";
    }
    t->dev[0] = *d;
}

/* Reads the first examples of SST-2, encoded for the model, in text form for text-to-text models. */
static int open_rows(struct task *t, const struct bench_peer *p, const struct peer_work *w,
                     const struct model *m, struct err *e) {
    if (!p->task)
        return err_set(e, ERR_USAGE, "--peer-work %s needs --task with a folder of SST-2", w->name);
    int rc = task_open(t, &(struct task_source){ .where = p->task }, e);
    if (rc) return rc;
    bool text = arch_generates(&m->arch);
    for (int i = 0; i < t->devs; i++) dataset_release(&t->dev[i]);
    t->devs = 0;
    size_t most = (size_t)w->rows * (size_t)(w->steps + w->warm);
    if (t->train.examples > most) t->train.examples = most;
    if (text) rc = task_as_text(t, &(struct text_form){ .prefix = true }, e);
    if (!rc) rc = task_encode(t, m->tokenizer, 128, text ? 128 : 0, m->arch.vocabulary, e);
    if (!rc && w->what == TEXT && w->size) long_targets(&t->train, w->size, m->arch.eos_id);
    if (rc) task_release(t);
    return rc;
}

/* Opens the texts of a workload of causal language models. */
static int open_texts(struct task *t, const struct bench_peer *p, const struct peer_work *w, const struct model *m,
                      struct err *e) {
    if (w->what == GENERATE) language_rows(t, w, PROMPT_TOKENS, m->arch.vocabulary);
    if (w->what == LANGUAGE && w->size) language_rows(t, w, w->size, m->arch.vocabulary);
    if (w->what == GENERATE || w->size) return 0;
    if (!p->task)
        return err_set(e, ERR_USAGE, "--peer-work %s needs --task with a file of prompts and completions", w->name);
    int rc = task_open(t, &(struct task_source){ .train = p->task }, e);
    if (rc) return rc;
    size_t most = (size_t)w->rows * (size_t)(w->steps + w->warm);
    if (t->train.examples > most) t->train.examples = most;
    const struct language_coding by = { .max_len = BENCH_LONGEST, .max_target = BENCH_LONGEST };
    rc = run_encode_language(m, t, &by, e);
    if (rc) task_release(t);
    return rc;
}

/* ---- generation ---- */

/* The pretrained model in the precision at `self`. */
static void *generate_open(void *self) { return self; }

static const struct hooks *generate_begin(void *self, struct tape *t) {
    const enum precision *p = self;
    (void)t;
    return hooks_plain(*p);
}

/* A step is one group of sources with exactly NEW_TOKENS new tokens each. */
static int bench_peer_generate(const struct model *m, const struct dataset *d, const struct peer_work *w,
                               const struct bench_peer *p, struct bench_times *out, struct err *e) {
    enum precision precision = p->precision && !strcmp(p->precision, "bf16") ? PRECISION_BF16 : PRECISION_F32;
    const struct generate_method plain = { .self = &precision, .open = generate_open, .begin = generate_begin };
    int threads = p->threads;
    struct generate_options o;
    int rc = generate_defaults(m, &o, NULL, e);
    if (rc) return rc;
    o.beams = w->size;
    o.min_new = o.max_new = NEW_TOKENS;
    double cpu = 0;
    struct crew *crew = threads > 1 ? crew_new(threads, NULL) : NULL;
    struct generated *made = xcalloc((size_t)w->rows, sizeof *made);
    for (int step = 0; step < w->warm + w->steps && !rc; step++) {
        const struct generate_sources some = { (size_t)w->rows, d->start + step * w->rows, d->ids };
        struct generation g;
        double begin = clock_seconds();
        generation_init(&g, m, &o, &some);
        rc = generate_rows(&g, &plain, crew, NULL, made, e);
        if (step >= w->warm) out->second[out->steps++] = clock_seconds() - begin;
        if (step == w->warm - 1) cpu = clock_process_seconds();
        generation_release(&g);
        generated_release(made, (size_t)w->rows);
    }
    crew_free(crew);
    free(made);
    out->cpu = clock_process_seconds() - cpu;
    out->tokens = (double)w->rows * NEW_TOKENS;
    bench_median(out);
    return rc;
}

/* ---- */

static struct bench_work bench_peer_work_of(const struct bench_peer *p, const struct peer_work *w, struct model *m,
                                            struct task *const *task, int tasks) {
    return (struct bench_work){ .model = m, .tasks = { tasks, task }, .method = w->method ? w->method : "lora(r=8)",
                                .precision = p->precision, .sampling = "stratified(10)",
                                .batch = w->rows, .warm = w->warm, .steps = w->steps };
}

static int work_made(const struct bench_peer *p, const struct peer_work *w, struct bench_times *out, struct err *e) {
    enum family family = w->what == MADE_ROBERTA ? FAMILY_ROBERTA : FAMILY_BERT;
    struct model *m = bench_model(family, 12, 768, 12, 3072, e);
    if (!m) return e->code;
    struct task t, *const all[] = { &t };
    bench_task(&t, 64, 128, m->arch.vocabulary);
    struct bench_work x = bench_peer_work_of(p, w, m, all, 1);
    int rc = bench_train(&x, p->threads, out, e);
    bench_task_free(&t);
    bench_model_free(m);
    return rc;
}

/* Eight tasks in every batch, T5-small shapes. */
static int work_tasks(const struct bench_peer *p, const struct peer_work *w, struct bench_times *out, struct err *e) {
    struct model *m = bench_model(FAMILY_T5, 6, 512, 8, 2048, e);
    if (!m) return e->code;
    struct task t[BENCH_TASKS], *all[BENCH_TASKS];
    bench_glue(t, &m->arch);
    for (int i = 0; i < BENCH_TASKS; i++) all[i] = &t[i];
    struct bench_work x = bench_peer_work_of(p, w, m, all, BENCH_TASKS);
    int rc = bench_train(&x, p->threads, out, e);
    for (int i = 0; i < BENCH_TASKS; i++) bench_task_free(&t[i]);
    bench_model_free(m);
    return rc;
}

int bench_peer(const struct bench_peer *p, struct bench_times *out, struct err *e) {
    *out = (struct bench_times){ 0 };
    const struct peer_work *w = bench_peer_find(p->name, e);
    if (!w) return e->code;
    if (p->precision && strcmp(p->precision, "f32") && w->what == MADE_EPISODES)
        return err_set(e, ERR_USAGE, "--precision: %s is computed in f32", w->name);
    if (w->what == MADE_BERT || w->what == MADE_ROBERTA) return work_made(p, w, out, e);
    if (w->what == MADE_EPISODES) return bench_episodes(p->threads, w->warm, w->steps, out, e);
    if (w->what == MADE_TASKS) return work_tasks(p, w, out, e);
    struct model *reader = model_load(p->model, e);
    if (!reader) return e->code;
    struct task t, *const all[] = { &t };
    int rc = reader->arch.causal ? open_texts(&t, p, w, reader, e) : open_rows(&t, p, w, reader, e);
    if (rc) {
        model_release(reader);
        return rc;
    }
    struct model *made = w->what == MADE_WEIGHTS ? bench_model(FAMILY_BERT, 12, 768, 12, 3072, e) : NULL;
    if (w->what == MADE_WEIGHTS && !made) rc = e->code;
    struct bench_work x = bench_peer_work_of(p, w, made ? made : reader, all, 1);
    if (w->what == GENERATE) rc = bench_peer_generate(reader, &t.train, w, p, out, e);
    else if (!rc) rc = bench_train(&x, p->threads, out, e);
    if (made) bench_model_free(made);
    if (strcmp(t.train.path, "made")) task_release(&t);
    else bench_task_free(&t);
    model_release(reader);
    return rc;
}
