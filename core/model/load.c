#include "core/model/load.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/model/entries.h"
#include "core/model/facts.h"
#include "core/model/gguf.h"
#include "core/model/packings.h"

enum { UNUSED_LISTED = 40 };

struct loading {
    struct model *m;
    struct weights weights;
    struct entries found;
    struct err *e;
};

static struct entry *find_entry(struct loading *l, const char *name) {
    return entries_find(&l->found, name);
}

static bool is_gguf(const struct loading *l) { return l->weights.files && st_gguf(l->weights.file[0].st); }

/* ---- shapes ---- */

static char *shape_text(const struct st_tensor *t) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < t->rank; i++) buf_printf(&b, "%s%zu", i ? "×" : "", t->shape[i]);
    if (!t->rank) buf_puts(&b, "a scalar");
    return buf_take(&b);
}

static int check_shape(struct loading *l, const struct entry *x, int rows, int cols, bool vector) {
    const struct st_tensor *t = x->tensor;
    bool right = vector
                     ? t->rank == 1 && t->shape[0] == (size_t)cols
                     : t->rank == 2 && t->shape[0] == (size_t)rows && t->shape[1] == (size_t)cols;
    if (right) return 0;
    char *found = shape_text(t);
    char *wanted = vector ? xprintf("%d", cols) : xprintf("%d×%d", rows, cols);
    bool gguf = is_gguf(l);
    char *place = weights_path(l->m->folder, x->file);
    int rc = err_set(l->e, ERR_INPUT, "%s: tensor \"%s\" is %s, but %s requires %s", place, t->name, found,
                     gguf ? "the metadata" : "config.json", wanted);
    free(place);
    free(found);
    free(wanted);
    return rc;
}

/* Checks that the required tensors exist and have the right shapes.  A pooler may be absent. */
static int check_tensors(struct loading *l, size_t *values) {
    struct model *m = l->m;
    *values = 0;
    int missing = 0, pooler = 0, pooler_missing = 0;
    const char *first = NULL;
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        bool of_pooler = tensor_is_pooler(t);
        struct entry *x = find_entry(l, t->name);
        pooler += of_pooler;
        if (!x && of_pooler) {
            pooler_missing++;
        } else if (!x) {
            if (!missing++) first = t->name;
        }
        if (!x) continue;
        int rc = check_shape(l, x, t->rows, t->cols, t->vector);
        if (rc) return rc;
        x->used = true;
        *values += x->tensor->count;
    }
    if (pooler_missing && pooler_missing < pooler)
        return err_set(l->e, ERR_INPUT,
                       "%s: incomplete pooler: pooler.dense.weight or .bias is missing",
                       m->folder);
    if (missing == 1)
        return err_set(l->e, ERR_INPUT, "%s: the tensor \"%s\" is missing", m->folder, first);
    if (missing)
        return err_set(l->e, ERR_INPUT, "%s: %d tensors are missing; the first is \"%s\"",
                       m->folder, missing, first);
    return 0;
}

/* ---- the head ---- */

/* Reads a weight and its bias, if there is one, into new memory. */
static int read_pair(struct loading *l, struct entry *w, struct entry *b, int rows, real **to_w,
                     real **to_b) {
    struct model *m = l->m;
    size_t d = (size_t)m->arch.width;
    int rc = check_shape(l, w, rows, m->arch.width, false);
    if (!rc && b) rc = check_shape(l, b, 1, rows, true);
    if (rc) return rc;
    *to_w = mem_try((size_t)rows * d, sizeof(real));
    if (b) *to_b = mem_try((size_t)rows, sizeof(real));
    if (!*to_w || (b && !*to_b))
        return err_set(l->e, ERR_SYSTEM, "%s: out of memory for the head", m->folder);
    w->used = true;
    rc = st_read(w->file->st, w->tensor, *to_w, l->e);
    if (rc || !b) return rc;
    b->used = true;
    return st_read(b->file->st, b->tensor, *to_b, l->e);
}

static int half_a_head(struct loading *l, const char *name, const char *missing) {
    return err_set(l->e, ERR_INPUT, "%s: incomplete head: %s.%s is missing", l->m->folder, name,
                   missing);
}

/* Reads both tensors of a part of the head, or neither. */
static int load_find_pair(struct loading *l, const char *name, struct entry **w, struct entry **b) {
    char *of_w = xprintf("%s.weight", name), *of_b = xprintf("%s.bias", name);
    *w = find_entry(l, of_w);
    *b = find_entry(l, of_b);
    free(of_w);
    free(of_b);
    if (!*w == !*b) return 0;
    return half_a_head(l, name, *w ? "bias" : "weight");
}

static int load_read_head(struct loading *l) {
    struct model *m = l->m;
    const bool two = m->arch.family == FAMILY_ROBERTA;
    const char *name = two ? "classifier.out_proj" : m->arch.causal ? "score" : "classifier";
    struct entry *w, *b = NULL, *dense_w = NULL, *dense_b = NULL;
    if (arch_class_is_other(m->arch.architecture) || arch_generates(&m->arch)) return 0;
    int rc = 0;
    if (m->arch.causal) w = find_entry(l, "score.weight");
    else rc = load_find_pair(l, name, &w, &b);
    if (!rc && two) rc = load_find_pair(l, "classifier.dense", &dense_w, &dense_b);
    if (!rc && two && !w != !dense_w)
        rc = half_a_head(l, w ? "classifier.dense" : name, "weight");
    if (rc || !w) return rc;
    size_t rows = w->tensor->rank == 2 ? w->tensor->shape[0] : 0;
    if (!rows || rows > 65536) rows = m->arch.labels ? (size_t)m->arch.labels : 2;
    rc = check_shape(l, w, (int)rows, m->arch.width, false);
    if (!rc && m->arch.labels && (size_t)m->arch.labels != rows)
        rc = err_set(l->e, ERR_INPUT,
                     "%s: %s.weight has %zu outputs, but \"id2label\" in config.json has %d labels",
                     m->folder, name, rows, m->arch.labels);
    if (!rc) rc = read_pair(l, w, b, (int)rows, &m->head_w, &m->head_b);
    if (!rc && two) rc = read_pair(l, dense_w, dense_b, m->arch.width, &m->dense_w, &m->dense_b);
    if (!rc) m->head_rows = (int)rows;
    return rc;
}

/* Returns whether a tensor is a matrix, or with one row a vector, of this shape. */
static bool is_shaped(const struct entry *x, int rows, int cols) {
    const struct st_tensor *t = x->tensor;
    if (rows == 1) return t->rank == 1 && t->shape[0] == (size_t)cols;
    return t->rank == 2 && t->shape[0] == (size_t)rows && t->shape[1] == (size_t)cols;
}

/* Discards the head, as if the file had none. */
static void drop_words(struct words_head *h) {
    real *const part[] = { h->w, h->b, h->norm_w, h->norm_b, h->bias };
    for (size_t i = 0; i < COUNT_OF(part); i++) free(part[i]);
    *h = (struct words_head){ 0 };
}

/* Returns whether the output map is tied to the word embeddings, as it is when the file omits it. */
static bool words_are_tied(struct loading *l, struct entry *decoder) {
    const struct model *m = l->m;
    int table = arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    size_t n = (size_t)m->arch.vocabulary * (size_t)m->arch.width;
    if (!decoder) return true;
    real *own = decoder->tensor->count == n ? mem_try(n, sizeof *own) : NULL;
    bool tied = own && !st_read(decoder->file->st, decoder->tensor, own, NULL) &&
                !memcmp(own, m->weight[table], n * sizeof *own);
    free(own);
    return tied;
}

/* Reads BERT's masked language modeling head if it is complete and fits; otherwise it is reported as
 * unused. */
static int read_words_head(struct loading *l) {
    struct model *m = l->m;
    struct words_head *h = &m->words;
    const int d = m->arch.width;
    const struct {
        const char *name;
        real **to;
        int rows, cols;
    } part[] = {
        { "cls.predictions.transform.dense.weight", &h->w, d, d },
        { "cls.predictions.transform.dense.bias", &h->b, 1, d },
        { "cls.predictions.transform.LayerNorm.weight", &h->norm_w, 1, d },
        { "cls.predictions.transform.LayerNorm.bias", &h->norm_b, 1, d },
        { "cls.predictions.bias", &h->bias, 1, m->arch.vocabulary },
    };
    struct entry *x[COUNT_OF(part)], *decoder = find_entry(l, "cls.predictions.decoder.weight");
    if (m->arch.family != FAMILY_BERT) return 0;
    for (size_t i = 0; i < COUNT_OF(part); i++)
        if (!(x[i] = find_entry(l, part[i].name)) || !is_shaped(x[i], part[i].rows, part[i].cols)) return 0;
    if (!words_are_tied(l, decoder)) return 0;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        size_t n = x[i]->tensor->count;
        *part[i].to = mem_try(n, sizeof(real));
        if (!*part[i].to)
            return err_set(l->e, ERR_SYSTEM, "%s: out of memory for the masked language modeling head",
                           m->folder);
        struct err why = ERR_INIT;
        if (!st_read(x[i]->file->st, x[i]->tensor, *part[i].to, &why)) continue;
        drop_words(h);
        return why.code == ERR_INPUT ? 0 : err_set(l->e, why.code, "%s", why.text);
    }
    for (size_t i = 0; i < COUNT_OF(part); i++) x[i]->used = true;
    if (decoder) decoder->used = true;
    return 0;
}

/* The logits' bias of BART and mBART: almost always zeros, which are ignored. */
static int read_logits_bias(struct loading *l) {
    struct model *m = l->m;
    struct entry *x = m->arch.logits_bias ? find_entry(l, "final_logits_bias") : NULL;
    if (!x) return 0;
    int rc = check_shape(l, x, 1, m->arch.vocabulary, false);
    if (rc) return rc;
    x->used = true;
    m->logits_bias = mem_try((size_t)m->arch.vocabulary, sizeof(real));
    if (!m->logits_bias)
        return err_set(l->e, ERR_SYSTEM, "%s: out of memory for the logits' bias", m->folder);
    rc = st_read(x->file->st, x->tensor, m->logits_bias, l->e);
    for (int i = 0; !rc && i < m->arch.vocabulary; i++)
        if (m->logits_bias[i] != 0) return 0;
    free(m->logits_bias);
    m->logits_bias = NULL;
    return rc;
}

/* What divides the frequencies of rotary embeddings in GGUF files of Llama 3. */
static int read_rope_divisor(struct loading *l) {
    struct model *m = l->m;
    struct entry *x = is_gguf(l) ? find_entry(l, "rope_freqs.weight") : NULL;
    if (!x) return 0;
    int n = m->arch.head_width / 2, rc = check_shape(l, x, 1, n, true);
    if (rc) return rc;
    x->used = true;
    m->rope_divisor = xcalloc((size_t)n, sizeof *m->rope_divisor);
    rc = st_read(x->file->st, x->tensor, m->rope_divisor, l->e);
    for (int i = 0; !rc && i < n; i++)
        if (!(m->rope_divisor[i] > 0))
            rc = err_set(l->e, ERR_INPUT, "%s: tensor \"%s\": %g at index %d; must be above 0", m->folder,
                         x->tensor->name, (double)m->rope_divisor[i], i);
    return rc;
}

/* Tensors without a use are reported, but refused in a GGUF file. */
static int check_used(const struct loading *l) {
    for (size_t i = 0; is_gguf(l) && i < l->found.n; i++)
        if (!l->found.entry[i].used)
            return entries_refuse_stray(l->m->folder, l->found.entry[i].tensor->name, l->e);
    return 0;
}

void model_fill_buckets(struct model *m) {
    int reach = m->arch.bucket_distance;
    for (int stack = 0; m->arch.buckets && stack < 2; stack++) {
        m->bucket[stack] = xcalloc(2 * (size_t)reach + 1, sizeof **m->bucket);
        for (int i = -reach; i <= reach; i++)
            m->bucket[stack][reach + i] = arch_bucket(&m->arch, i, stack == STACK_DECODER);
    }
}

/* ---- values ---- */

/* Returns the bytes that a model in its file needs: its embeddings, and matrices that are lent. */
static double bytes_in_file(const struct model *m, size_t values) {
    return sizeof(real) * (double)m->arch.vocabulary * m->arch.width + model_lent_bytes((double)values);
}

static int load_read_values(struct loading *l, size_t values) {
    struct model *m = l->m;
    /* Each tensor begins at a multiple of 64 bytes. */
    size_t room = values + (size_t)m->tensors * (64 / sizeof(real));
    const struct room left = room_left("", true);
    double bytes = (double)(room * sizeof(real));
    if (m->weights_in == WEIGHTS_FILE && !m->arch.causal)
        return err_set(l->e, ERR_USAGE, "--weights-in file: %s is not a decoder-only model; use --weights-in packed",
                       m->folder);
    if (m->weights_in == WEIGHTS_AUTO)
        m->weights_in = m->arch.causal && bytes > left.bytes ? WEIGHTS_FILE : WEIGHTS_PACKED;
    if (m->weights_in == WEIGHTS_FILE) bytes = bytes_in_file(m, values);
    if (bytes > left.bytes)
        return err_set(
            l->e, ERR_USAGE,
            "%s: not enough memory for its %zu parameters: %.0f MB needed, %.0f MB available (%s); "
            "use %sa smaller model",
            m->folder, values, bytes / 1e6, left.bytes / 1e6, left.limit,
            m->arch.causal && m->weights_in == WEIGHTS_PACKED ? "--weights-in file or " : "");
    for (int i = 0; m->weights_in == WEIGHTS_FILE && i < m->tensors; i++)
        if (find_entry(l, m->tensor[i].name)) m->weight[i] = packings_elsewhere();
    if (m->weights_in == WEIGHTS_FILE) return 0;
    m->values = mem_try(room, sizeof(real));
    if (!m->values)
        return err_set(l->e, ERR_SYSTEM, "%s: out of memory for its %zu parameters", m->folder, values);
    madvise((void *)(((uintptr_t)m->values + 4095) & ~(uintptr_t)4095),
            room * sizeof(real) > 8192 ? room * sizeof(real) - 8192 : 0, MADV_HUGEPAGE);
    real *at = m->values;
    for (int i = 0; i < m->tensors; i++) {
        struct entry *x = find_entry(l, m->tensor[i].name);
        if (!x) continue;
        int rc = st_read(x->file->st, x->tensor, at, l->e);
        if (rc) return rc;
        m->weight[i] = at;
        size_t step = 64 / sizeof(real);
        at += (x->tensor->count + step - 1) / step * step;
    }
    return 0;
}

enum { PIECE = 4096 };

/* Values that cannot be read again give another hash.  `read`: the values of a tensor in the file, or NULL. */
static void hash_values(struct sha256 *h, const struct model *m, int i, const real *read) {
    real room[PIECE];
    float single[PIECE];
    size_t all = (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols;
    for (size_t at = 0, n; at < all; at += n) {
        n = all - at < PIECE ? all - at : PIECE;
        const real *v = read ? read + at : packings_look(m, i, at, n, room);
        if (!v) return;
        for (size_t j = 0; REAL_IS_DOUBLE && j < n; j++) single[j] = (float)v[j];
        sha256_add(h, REAL_IS_DOUBLE ? (const void *)single : v, n * sizeof *single);
    }
}

/* Hashes a tensor in the file, whose values are checked as they are when they are read into memory. */
static int hash_in_file(struct sha256 *h, const struct model *m, int i, struct err *e) {
    const struct tensor_info *t = &m->tensor[i];
    size_t n = (size_t)t->rows * (size_t)t->cols;
    real *room = mem_try(n, sizeof *room);
    if (!room) return err_set(e, ERR_SYSTEM, "%s: out of memory for \"%s\"", m->folder, t->name);
    int rc = packings_read(m, i, room, e);
    if (!rc) hash_values(h, m, i, room);
    free(room);
    return rc;
}

/* Hashes name, shape and 32-bit values of each tensor in the order of the list. */
static int hash_tensors(const struct model *m, char out[65], struct err *e) {
    struct sha256 *h = sha256_start();
    int rc = 0;
    for (int i = 0; !rc && i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        if (!m->weight[i]) continue;
        char *line = xprintf("%s %d %d\n", t->name, t->rows, t->cols);
        sha256_add(h, line, strlen(line));
        free(line);
        if (m->weights_in == WEIGHTS_FILE) rc = hash_in_file(h, m, i, e);
        else hash_values(h, m, i, NULL);
    }
    sha256_finish(h, out);
    return rc;
}

void model_hash(const struct model *m, char out[65]) {
    struct err ignored = ERR_INIT;
    hash_tensors(m, out, &ignored);
}

/* ---- the report ---- */

static const char stray[] = "not part of this architecture";

static const char *why_unused(const struct arch *a, const char *name) {
    if (text_ends(name, "position_ids")) return "position ids are computed";
    if (text_ends(name, "rotary_emb.inv_freq")) return "frequencies are computed";
    if (text_ends(name, ".attn.bias") || text_ends(name, ".attn.masked_bias"))
        return "the causal mask is computed";
    if (text_starts(name, "cls.") || text_starts(name, "lm_head.")) return "pretraining head";
    if (text_starts(name, "pooler.")) return "not used by the classification head";
    if (text_ends(name, "EncDecAttention.relative_attention_bias.weight"))
        return "also ignored by transformers";
    if (text_starts(name, "classification_head.")) return "classification head, not used for text generation";
    if (text_starts(name, "qa_outputs.")) return "question answering head";
    if (text_starts(name, "classifier.") && arch_class_is_other(a->architecture))
        return "head for another task type";
    return stray;
}

static void report_tensors(struct loading *l, size_t values) {
    struct model *m = l->m;
    struct buf *out = &m->report;
    size_t used = 0;
    for (size_t i = 0; i < l->found.n; i++) used += l->found.entry[i].used;
    char count[32];
    text_thousands((int64_t)values, count);
    buf_printf(out, "tensors: %zu used, %zu unused, 0 missing; %s parameters\n", used,
               l->found.n - used, count);
    size_t listed = 0;
    for (size_t i = 0; i < l->found.n; i++) {
        if (l->found.entry[i].used || listed++ >= UNUSED_LISTED) continue;
        char *name = text_visible(l->found.entry[i].tensor->name, strlen(l->found.entry[i].tensor->name));
        const char *why = why_unused(&m->arch, l->found.entry[i].name);
        buf_printf(out, "unused: %s (%s)\n", name, why);
        if (why == stray) buf_printf(&m->caution, "unused: %s (%s)\n", name, why);
        free(name);
    }
    if (listed > UNUSED_LISTED) buf_printf(out, "unused: %zu more\n", listed - UNUSED_LISTED);
    if (m->head_rows)
        buf_printf(out, "head: classification head of the checkpoint, %d output%s\n", m->head_rows,
                   m->head_rows == 1 ? "" : "s");
    if (m->words.w) buf_puts(out, "head: masked language modeling\n");
    if (m->arch.pooler_absent)
        buf_puts(out, "initialized: pooler (missing from the checkpoint; trained and counted with the "
                      "head)\n");
}

struct tokenizer *model_tokenizer(const char *folder, struct buf *report, struct err *e) {
    if (file_is_folder(folder)) return tokenizer_read(folder, report, e);
    struct st_file *f = st_open(folder, e);
    if (!f) return NULL;
    json_t *meta = gguf_tokenizer(st_gguf(f), e), *settings = NULL,
           *root = meta ? tokenizer_from_gguf(folder, meta, &settings, e) : NULL;
    struct tokenizer *t = root ? tokenizer_make(folder, root, settings, report, e) : NULL;
    if (!meta && !e->code)
        err_set(e, ERR_NOT_FOUND, "%s: metadata \"tokenizer.ggml.model\" is missing", folder);
    json_decref(meta);
    json_decref(root);
    json_decref(settings);
    st_close(f);
    return t;
}

int model_chat_template(const char *folder, struct chat_template *c, struct err *e) {
    if (file_is_folder(folder)) return chat_template_read(c, folder, e);
    memset(c, 0, sizeof *c);
    struct st_file *f = st_open(folder, e);
    if (!f) return e->code;
    e->code = 0;
    json_t *text = gguf_value(st_gguf(f), "tokenizer.chat_template", e);
    if (json_is_string(text))
        chat_template_recognize(c, folder, json_string_value(text), json_string_length(text), e);
    json_decref(text);
    st_close(f);
    return e->code;
}

static int read_tokenizer(struct loading *l) {
    struct model *m = l->m;
    struct err why = ERR_INIT, *e = l->e;
    m->tokenizer = model_tokenizer(m->folder, &m->report, &why);
    if (!m->tokenizer && why.code != ERR_NOT_FOUND) {
        *e = why;
        return why.code;
    }
    if (!m->tokenizer) {
        buf_puts(&m->report, "tokenizer: missing; text cannot be encoded\n");
        return 0;
    }
    int tokens = tokenizer_size(m->tokenizer), rows = m->arch.vocabulary;
    if (tokens > rows) {
        const char *raw = tokenizer_token(m->tokenizer, rows);
        char *name = text_visible(raw, strlen(raw));
        buf_printf(&m->report,
                   "tokenizer: ids up to %d, but the embedding has %d rows: texts with \"%s\" (id %d) or "
                   "higher ids are refused\n",
                   tokens - 1, rows, name, rows);
        free(name);
    } else if (tokens < rows) {
        buf_printf(&m->report, "tokenizer: %d tokens; %d of the %d embedding rows are unused\n",
                   tokens, rows - tokens, rows);
    }
    return 0;
}

/* ---- loading ---- */

/* Reads the headers of the weights, and from them what config.json does not contain: a tied output map, an
 * absent pooler. */
static int load_shape(struct loading *l) {
    struct model *m = l->m;
    int rc = weights_open(m->folder, &l->weights, &m->report, l->e);
    size_t before = m->report.size;
    if (!rc) rc = entries_list(&l->found, &l->weights, &m->arch, m->folder, &m->report, l->e);
    if (!rc) buf_puts(&m->caution, buf_text(&m->report) + before); /* a removed prefix */
    if (!rc) rc = entries_tie(&l->found, &m->arch, &m->report, l->e);
    if (rc) return rc;
    m->tensors = arch_tensors(&m->arch, &m->tensor);
    for (int i = 0; i < m->tensors; i++)
        m->arch.pooler_absent |= tensor_is_pooler(&m->tensor[i]) && !find_entry(l, m->tensor[i].name);
    return 0;
}

static void load_close(struct loading *l) {
    entries_release(&l->found);
    weights_close(&l->weights);
}

int model_shape(const char *folder, struct arch *out, struct err *e) {
    struct err ignored = ERR_INIT;
    struct model m = { .folder = (char *)(uintptr_t)folder };
    struct loading l = { .m = &m, .e = &ignored };
    int rc = arch_read(folder, &m.arch, NULL, e);
    if (!rc) load_shape(&l);
    load_close(&l);
    buf_release(&m.report);
    buf_release(&m.caution);
    free(m.tensor);
    *out = m.arch;
    return rc;
}

static int load(struct loading *l) {
    struct model *m = l->m;
    int rc = arch_read(m->folder, &m->arch, &m->report, l->e);
    if (!rc) rc = load_shape(l);
    if (rc) return rc;
    m->weight = xcalloc((size_t)m->tensors, sizeof *m->weight);
    model_make_packings(m);
    size_t values = 0;
    rc = check_tensors(l, &values);
    if (!rc) rc = read_rope_divisor(l);
    if (!rc) rc = check_used(l);
    if (!rc) rc = load_read_values(l, values);
    if (!rc) rc = load_read_head(l);
    if (!rc) rc = read_words_head(l);
    if (!rc) rc = read_logits_bias(l);
    if (rc) return rc;
    model_fill_buckets(m);
    report_tensors(l, values);
    if (m->weights_in == WEIGHTS_FILE) packings_read_from(m, &l->weights, &l->found);
    rc = hash_tensors(m, m->sha256, l->e);
    if (!rc) rc = read_tokenizer(l);
    return rc ? rc : facts_fill(m, l->e);
}

int model_fill(struct model *m, struct err *e) {
    struct loading l = { .m = m, .e = e };
    int rc = load(&l);
    if (!rc && m->weights_in == WEIGHTS_PACKED) packings_read_from(m, &l.weights, &l.found);
    load_close(&l);
    return rc;
}
