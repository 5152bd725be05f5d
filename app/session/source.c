#include "app/session/source.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/train/config/complete.h"

/* Estimates the length of its examples from a sample spread over the file; with several tasks, of the
 * first. */
static void source_tokens(struct source_facts *s, const struct run_config *c, const struct tokenizer *words,
                          const struct task *t) {
    enum { LOOKED = 200 };
    const struct dataset *d = &t->train;
    size_t every = d->examples / LOOKED + 1, rows = 0, tokens = 0, targets = 0;
    if (s->tokens > 0) return;
    for (size_t i = 0; i < d->examples; i += every, rows++) {
        const struct example *r = &d->example[i];
        struct encoded x;
        struct err ignored = ERR_INIT;
        if (tokenizer_encode(words, r->a, r->a_size, d->pair ? r->b : NULL, r->b_size, (size_t)c->max_len, &x,
                             &ignored))
            return;
        tokens += x.n;
        s->squares += (double)x.n * (double)x.n;
        if ((double)x.n > s->longest) s->longest = (double)x.n;
        encoded_release(&x);
        if (!r->target_text || tokenizer_encode(words, r->target_text, r->target_size, NULL, 0,
                                                (size_t)c->max_target, &x, &ignored))
            continue;
        targets += x.n;
        encoded_release(&x);
    }
    if (s->arch.causal) tokens += targets; /* one sequence */
    if (!rows) return;
    s->tokens = (double)tokens / (double)rows;
    s->targets = (double)targets / (double)rows;
    s->squares /= (double)rows;
    if (s->arch.decoder_layers && !s->targets) s->targets = 3; /* a class: a digit and the end token */
}

/* Reads examples, classes and name of one of the config's tasks. */
static int source_add_rows(struct source_facts *s, const struct run_config *c, int i,
                           const struct tokenizer *words, struct err *e) {
    struct run_config one;
    struct task t;
    config_of_task(c, i, &one);
    struct task_source rows = config_source(&one, NULL);
    rows.dev_rows = 0; /* all of them */
    int rc = task_open(&t, &rows, e);
    if (!rc) {
        char *before = s->task;
        s->task = before ? xprintf("%s+%s", before, config_task_name(c, i))
                         : xstrdup(c->tasks ? config_task_name(c, i) : t.name);
        free(before);
        s->outputs[i] = t.kind == DATA_REGRESSION ? 1 : t.classes;
        s->classes = s->outputs[0];
        s->of[i] = config_data_known(NULL, &t);
        for (int k = 0; k < 2; k++) {
            s->of[i].split[k].path = xcopy(s->of[i].split[k].path);
            s->of[i].split[k].empty = xcopy(s->of[i].split[k].empty);
        }
        s->texts = s->texts || t.label_kind == DATA_TEXT;
        s->train_rows += t.train.examples;
        s->dev_rows += t.devs ? t.dev[0].examples : 0;
        if (words) source_tokens(s, &one, words, &t);
        s->data_bytes += (double)task_bytes(&t);
        task_release(&t);
    }
    config_release(&one);
    return rc && c->tasks ? err_prefix(e, "task %s", config_task_name(c, i)) : rc;
}

/* Opens a model's tokenizer, or returns NULL, which is not an error here. */
static struct tokenizer *source_words(const char *model) {
    struct err ignored = ERR_INIT;
    char *folder = model ? model_find(model, &ignored) : NULL;
    struct tokenizer *words = folder ? model_tokenizer(folder, NULL, &ignored) : NULL;
    free(folder);
    return words;
}

int source_facts_read(const struct run_config *c, struct source_facts **out, struct err *e) {
    struct source_facts *s = *out = xcalloc(1, sizeof *s);
    const char *model = c->model_folder ? c->model_folder : c->model;
    config_copy(&s->config, c);
    char *folder = model_find(model, e);
    int rc = folder ? model_shape(folder, &s->arch, e) : e->code;
    s->ok = !rc;
    s->model = folder ? model_name(c->model ? c->model : model, folder) : xcopy(model);
    free(folder);
    struct err why = ERR_INIT;
    int task_rc = 0;
    struct tokenizer *words = source_words(s->ok ? model : NULL);
    for (int i = 0; i < config_task_count(c) && !task_rc; i++)
        task_rc = source_add_rows(s, c, i, words, &why);
    tokenizer_free(words);
    s->rows = !task_rc;
    if (task_rc) {
        free(s->task);
        s->task = xcopy(c->task ? c->task : c->tasks_given);
        s->train_rows = s->dev_rows = 0;
        if (!rc) *e = why;
    }
    return rc ? rc : task_rc;
}

void source_facts_free(struct source_facts *s) {
    if (!s) return;
    if (s->ok) arch_release(&s->arch);
    for (int i = 0; i < 2 * RUN_TASKS; i++) {
        free((char *)s->of[i / 2].split[i % 2].path);
        free((char *)s->of[i / 2].split[i % 2].empty);
    }
    config_release(&s->config);
    free(s->model);
    free(s->task);
    free(s);
}
