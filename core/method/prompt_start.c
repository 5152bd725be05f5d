/* Initializes the rows of a prompt from the model's word embeddings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/init.h"
#include "core/method/prompt_rows.h"

enum { FREQUENT = 5000 };

/* Source of the rows. */
struct words_of {
    const struct model *m;
    const real *table;
    double factor; /* of the scale applied where the rows are inserted */
    int d;
    struct rng_key key;
    uint64_t drawn; /* number of random values used so far */
    int32_t *id;    /* ids to draw from; those already drawn come first */
    int ids, taken;
};

static void take_id(const struct words_of *w, int32_t id, real *out) {
    const real *row = w->table + (size_t)id * (size_t)w->d;
    for (int j = 0; j < w->d; j++) out[j] = (real)(w->factor * (double)row[j]);
}

/* ---- ids to draw from ---- */

/* Excludes special tokens, reserved tokens and single letters. */
static bool is_word(const char *token) {
    static const char *const marks[] = { "##", "\u2581", "\u0120" };
    size_t n = strlen(token);
    bool square = n > 2 && token[0] == '[' && token[n - 1] == ']',
         angle = n > 2 && token[0] == '<' && token[n - 1] == '>';
    int letters = 0;
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (!strncmp(token, marks[i], strlen(marks[i]))) token += strlen(marks[i]);
    for (const char *c = token; *c; c++) letters += ((unsigned char)*c & 0xc0) != 0x80;
    return !square && !angle && letters > 1;
}

static void list_ids(struct words_of *w, bool all) {
    int vocabulary = w->m->arch.vocabulary;
    w->id = xcalloc((size_t)vocabulary, sizeof *w->id);
    for (int32_t i = 0; i < vocabulary && (all || w->ids < FREQUENT); i++)
        if (all || !w->m->tokenizer || is_word(tokenizer_token(w->m->tokenizer, i))) w->id[w->ids++] = i;
    for (int32_t i = 0; i < vocabulary && !w->ids; i++) w->id[w->ids++] = i;
}

/* Returns the next id not drawn yet; after the last one, starts over. */
static int32_t draw_id(struct words_of *w) {
    if (w->taken == w->ids) w->taken = 0;
    int at = w->taken + (int)rng_below(w->key, w->drawn++, (uint64_t)(w->ids - w->taken));
    int32_t id = w->id[at];
    w->id[at] = w->id[w->taken];
    w->id[w->taken++] = id;
    return id;
}

static void draw_rows(struct words_of *w, int rows, real *out) {
    for (int i = 0; i < rows; i++) take_id(w, draw_id(w), out + (size_t)i * (size_t)w->d);
}

/* ---- texts ---- */

/* Computes the mean of a name's token embeddings; returns false if it has no tokens. */
static bool take_name(const struct words_of *w, const char *name, real *out) {
    int32_t *ids = NULL;
    size_t room = 0,
           n = w->m->tokenizer ? tokenizer_ids(w->m->tokenizer, name, strlen(name), &ids, &room) : 0,
           used = 0;
    double *sum = xcalloc((size_t)w->d, sizeof *sum);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= w->m->arch.vocabulary) continue;
        take_id(w, ids[i], out);
        for (int j = 0; j < w->d; j++) sum[j] += (double)out[j];
        used++;
    }
    for (int j = 0; j < w->d && used; j++) out[j] = (real)(sum[j] / (double)used);
    free(sum);
    free(ids);
    return used > 0;
}

/* Fills rows from the class names; returns the number of rows filled. */
static int take_labels(const struct words_of *w, const struct plan_words *words, int task, int rows,
                       real *out) {
    int n = 0;
    for (int i = 0; words && words->label && i < words->labels[task] && n < rows; i++)
        n += take_name(w, words->label[task][i], out + (size_t)n * (size_t)w->d);
    return n;
}

/* Repeats the text with its special tokens, as the libraries do. */
static int take_text(const struct words_of *w, const char *text, int rows, real *out) {
    struct encoded x = { 0 };
    struct err ignored = ERR_INIT;
    int n = 0;
    if (!text || !w->m->tokenizer) return 0;
    if (tokenizer_encode(w->m->tokenizer, text, strlen(text), NULL, 0, (size_t)rows + 16, &x, &ignored))
        return 0;
    for (bool good = x.n && x.greatest < w->m->arch.vocabulary; good && n < rows; n++)
        take_id(w, x.ids[(size_t)n % x.n], out + (size_t)n * (size_t)w->d);
    encoded_release(&x);
    return n;
}

static void start_one(struct words_of *w, const struct module *m, const struct plan_words *words, int task,
                      int rows, real *out) {
    int n = 0;
    if (m->init == INIT_LABELS) n = take_labels(w, words, task, rows, out);
    if (m->init == INIT_PROMPT_TEXT) n = take_text(w, words ? words->text : NULL, rows, out);
    for (; m->init == INIT_FIRST_IDS && n < rows; n++)
        take_id(w, n % w->m->arch.vocabulary, out + (size_t)n * (size_t)w->d);
    draw_rows(w, rows - n, out + (size_t)n * (size_t)w->d);
}

void prompt_rows_start(const struct module *m, const struct plan_tensor *t, const struct model *model,
                       const struct plan_words *words, struct rng_key key, real *out) {
    if (m->init == INIT_UNIFORM) {
        init_uniform(key, out, t->count, 0.5);
        return;
    }
    int word = arch_find(model->tensor, model->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    BUG_IF(word < 0 || model->tensor[word].cols != t->cols);
    struct words_of w = { .m = model, .table = model_weight(model, word), .d = t->cols, .key = key,
                         .factor = model->arch.embed_scale ? sqrt(model->arch.width) : 1 };
    list_ids(&w, m->init == INIT_VOCABULARY_ALL);
    int rows = t->rows / t->blocks;
    for (int k = 0; k < t->blocks; k++)
        start_one(&w, m, words, k, rows, out + (size_t)k * (size_t)rows * (size_t)w.d);
    free(w.id);
}
