#include "tests/bench/bench_made.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/scratch.h"

void bench_fill(real *v, size_t n, uint32_t state, double spread) {
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        v[i] = (real)(((double)(state >> 8) / 16777216.0 - 0.5) * spread);
    }
}

/* Returns the config.json of a shape, which the caller frees. */
static char *config_of(enum family family, int layers, int width, int heads, int inner) {
    static const char base[] =
        "{\"model_type\":\"%s\",\"num_hidden_layers\":%d,\"hidden_size\":%d,\"num_attention_heads\":%d,"
        "\"intermediate_size\":%d,\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,"
        "\"attention_probs_dropout_prob\":0.1,\"vocab_size\":%d,\"max_position_embeddings\":%d,"
        "\"type_vocab_size\":%d,\"layer_norm_eps\":%g,\"pad_token_id\":%d}";
    static const char t5[] =
        "{\"model_type\":\"t5\",\"num_layers\":%d,\"num_decoder_layers\":%d,\"d_model\":%d,\"num_heads\":%d,"
        "\"d_kv\":%d,\"d_ff\":%d,\"feed_forward_proj\":\"relu\",\"vocab_size\":32128,\"dropout_rate\":0.1,"
        "\"relative_attention_num_buckets\":32,\"relative_attention_max_distance\":128,\"layer_norm_epsilon\":1e-6,"
        "\"pad_token_id\":0,\"eos_token_id\":1,\"decoder_start_token_id\":0,\"tie_word_embeddings\":true}";
    bool bert = family == FAMILY_BERT;
    if (family == FAMILY_T5) return xprintf(t5, layers, layers, width, heads, width / heads, inner);
    return xprintf(base, family_name(family), layers, width, heads, inner, bert ? 30522 : 50265, bert ? 512 : 514,
                   bert ? 2 : 1, bert ? 1e-12 : 1e-5, bert ? 0 : 1);
}

/* Folders of the models in use. */
static struct scratch bench_made_at;
static int bench_made_folders, bench_made_last;

static void bench_made_leave(void) {
    if (!--bench_made_folders) scratch_drop(&bench_made_at);
}

/* A folder with this config.json alone, for models that write: how they do is read from there.  Removed by
 * bench_model_free, one thread's at a time. */
static char *made_folder(const char *config, struct err *e) {
    if (!bench_made_folders && scratch_make(&bench_made_at, "bench", e)) return NULL;
    bench_made_folders++;
    char *folder = xprintf("%s/%d", bench_made_at.folder, ++bench_made_last), *file = file_join(folder, "config.json");
    int rc = file_make_folder(folder, e);
    if (!rc) rc = file_write(file, config, strlen(config), e);
    free(file);
    if (!rc) return folder;
    bench_made_leave();
    free(folder);
    return NULL;
}

static bool is_gain(enum tensor_role r) {
    return r == ROLE_EMBED_NORM_W || r == ROLE_A_NORM_W || r == ROLE_F_NORM_W || r == ROLE_FINAL_NORM_W;
}

static int bench_made_make_weights(struct model *m, struct err *e) {
    m->tensors = arch_tensors(&m->arch, &m->tensor);
    m->weight = xcalloc((size_t)m->tensors, sizeof *m->weight);
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        size_t n = (size_t)t->rows * (size_t)t->cols;
        m->weight[i] = mem_try(n, sizeof(real));
        if (!m->weight[i]) return err_set(e, ERR_SYSTEM, "out of memory for the weights of %s", t->name);
        bench_fill(m->weight[i], n, (uint32_t)i + 1, is_gain(t->role) ? 0 : 0.07);
        for (size_t k = 0; is_gain(t->role) && k < n; k++) m->weight[i][k] = 1;
    }
    return 0;
}

struct model *bench_model(enum family family, int layers, int width, int heads, int inner, struct err *e) {
    struct model *m = xcalloc(1, sizeof *m);
    char *config = config_of(family, layers, width, heads, inner);
    if (arch_parse("made", config, strlen(config), &m->arch, NULL, e)) BUG("%s", e->text);
    m->name = xstrdup("made");
    memset(m->sha256, '0', 64);
    m->folder = arch_generates(&m->arch) ? made_folder(config, e) : xstrdup("made");
    free(config);
    model_fill_buckets(m);
    if (m->folder && !bench_made_make_weights(m, e)) {
        model_make_packings(m);
        return m;
    }
    bench_model_free(m);
    return NULL;
}

void bench_model_free(struct model *m) {
    if (m->folder && arch_generates(&m->arch)) {
        char *file = file_join(m->folder, "config.json");
        unlink(file);
        rmdir(m->folder);
        free(file);
        bench_made_leave();
    }
    model_free_packings(m);
    for (int i = 0; i < m->tensors && m->weight; i++) free(m->weight[i]);
    free(m->weight);
    for (int i = 0; i < 2; i++) free(m->bucket[i]);
    free(m->tensor);
    free(m->folder);
    free(m->name);
    arch_release(&m->arch);
    free(m);
}

/* Allocates examples of these lengths, with generated ids. */
static void bench_made_rows_of(struct dataset *d, int rows, const int *length, int vocabulary) {
    uint32_t state = 1;
    d->path = xstrdup("made");
    memset(d->sha256, '0', 64);
    d->examples = (size_t)rows;
    d->example = xcalloc((size_t)rows, sizeof *d->example);
    d->start = xcalloc((size_t)rows + 1, sizeof *d->start);
    for (int i = 0; i < rows; i++) d->start[i + 1] = d->start[i] + (size_t)length[i];
    d->ids = xcalloc(d->start[rows], sizeof *d->ids);
    d->types = xcalloc(d->start[rows], 1);
    for (size_t k = 0; k < d->start[rows]; k++) {
        state = state * 1664525u + 1013904223u;
        d->ids[k] = (int32_t)((state >> 8) % (uint32_t)vocabulary);
    }
    for (int i = 0; i < rows; i++)
        d->example[i] = (struct example){ .a = "", .label = i % 2, .labeled = true, .id = (uint64_t)i };
}

/* Multi-task runs need validation examples: the training examples again. */
static void as_dev(struct task *t) {
    t->devs = 1;
    t->dev[0] = t->train;
}

void bench_task(struct task *t, int rows, int length, int vocabulary) {
    int *all = xcalloc((size_t)rows, sizeof *all);
    for (int i = 0; i < rows; i++) all[i] = length;
    *t = (struct task){ .name = xstrdup("made"), .kind = DATA_CLASSES, .classes = 2, .positive = 1,
                        .metric = METRIC_ACCURACY, .has_train = true };
    t->class_name = xcalloc(2, sizeof *t->class_name);
    t->class_name[0] = xstrdup("0");
    t->class_name[1] = xstrdup("1");
    bench_made_rows_of(&t->train, rows, all, vocabulary);
    t->train.kind = DATA_CLASSES;
    t->train.classes = 2;
    t->train.max_len = BENCH_LONGEST;
    as_dev(t);
    free(all);
}

void bench_texts(struct task *t, int rows, const int *length, int target, int vocabulary, int32_t end) {
    struct dataset *d = &t->train;
    *t = (struct task){ .name = xstrdup("made"), .kind = DATA_TEXT, .label_kind = DATA_TEXT, .positive = -1,
                        .metric = METRIC_EXACT, .has_train = true };
    bench_made_rows_of(d, rows, length, vocabulary);
    d->kind = DATA_TEXT;
    d->max_len = d->max_target = BENCH_LONGEST;
    d->target_start = xcalloc((size_t)rows + 1, sizeof *d->target_start);
    d->target_ids = xcalloc((size_t)rows * (size_t)target, sizeof *d->target_ids);
    for (int i = 0; i < rows; i++) {
        d->target_start[i + 1] = (size_t)((i + 1) * target);
        for (int k = 0; k < target; k++)
            d->target_ids[i * target + k] = k == target - 1 ? end : 3 + (i * 131 + k * 7919) % 32000;
    }
    as_dev(t);
}

void bench_task_free(struct task *t) {
    free(t->name);
    for (int i = 0; i < t->classes; i++) free(t->class_name[i]);
    free(t->class_name);
    free(t->train.path);
    free(t->train.example);
    free(t->train.start);
    free(t->train.ids);
    free(t->train.types);
    free(t->train.trained);
    free(t->train.target_start);
    free(t->train.target_ids);
}

/* Lengths in tokens of flan-t5-small, the task's name before them, cut to 128: the 1st, 3rd, 5th and 7th eighth of each
 * task's first 1000 dev rows. */
static const int glue[BENCH_TASKS][BENCH_OF_TASK] = {
    { 11, 13, 16, 20 }, { 21, 31, 41, 54 }, { 52, 68, 77, 90 }, { 27, 32, 38, 62 }, /* cola sst2 mrpc stsb */
    { 28, 33, 40, 55 }, { 30, 42, 54, 72 }, { 42, 54, 64, 82 }, { 46, 63, 87, 128 }, /* qqp mnli qnli rte */
};

void bench_glue(struct task t[BENCH_TASKS], const struct arch *a) {
    for (int i = 0; i < BENCH_TASKS; i++) bench_texts(&t[i], BENCH_OF_TASK, glue[i], 2, a->vocabulary, a->eos_id);
}
