#include "core/model/entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/gguf.h"

/* ---- names ---- */

/* Returns the prefix that transformers' classes with a head add to the names of the base model. */
static const char *prefix_of(const struct arch *a) {
    return a->family == FAMILY_T5 ? "transformer." : family_prefix(a->family);
}

/* Prefixes that wrappers add to all names: data-parallel training, torch.compile, a base class, an adapter
 * library. */
static const char *const wrappers[] = { "module.", "_orig_mod.", "base_model.", "model." };

static bool all_start(const struct weights *w, const char *prefix) {
    for (size_t i = 0; i < w->files; i++)
        for (size_t k = 0; k < st_count(w->file[i].st); k++)
            if (!text_starts(st_at(w->file[i].st, k)->name, prefix)) return false;
    return w->tensors > 0;
}

/* Returns the wrappers' prefixes shared by all names, nested; the family's own does not count.  Caller
 * frees. */
static char *wrapping(const struct weights *w, const struct arch *a) {
    struct buf all = BUF_INIT;
    bool found = true;
    while (found) {
        found = false;
        for (size_t i = 0; !found && i < COUNT_OF(wrappers); i++) {
            char *longer = xprintf("%s%s", buf_text(&all), wrappers[i]);
            if (strcmp(wrappers[i], prefix_of(a)) && all_start(w, longer)) {
                buf_puts(&all, wrappers[i]);
                found = true;
            }
            free(longer);
        }
    }
    return buf_take(&all);
}

static char *canonical(const struct arch *a, const char *name) {
    const char *prefix = prefix_of(a);
    if (text_starts(name, prefix)) name += strlen(prefix);
    size_t n = strlen(name);
    if (text_ends(name, "LayerNorm.gamma")) return xprintf("%.*sweight", (int)(n - 5), name);
    if (text_ends(name, "LayerNorm.beta")) return xprintf("%.*sbias", (int)(n - 4), name);
    return xstrdup(name);
}

static int entries_by_name(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void sort(struct entries *x) {
    if (x->n) qsort(x->entry, x->n, sizeof *x->entry, entries_by_name);
}

int entries_refuse_stray(const char *folder, const char *tensor, struct err *e) {
    char *name = text_visible(tensor, strlen(tensor));
    int rc = err_set(e, ERR_INPUT,
                     "%s: tensor \"%s\": not part of this architecture; models that only resemble it are not "
                     "supported",
                     folder, name);
    free(name);
    return rc;
}

/* ---- parts of a tensor ---- */

/* Returns part `i` of `parts` along the outputs of a map or of its bias, transposed if it is stored as inputs ×
 * outputs; NULL when the shape does not fit.  Caller frees; the name belongs to the whole tensor. */
static struct st_tensor *entries_part(const struct st_tensor *t, bool transposed, size_t i, size_t parts) {
    bool matrix = t->rank == 2;
    int out = matrix && transposed;
    if (t->rank < 1 || t->rank > 2 || t->shape[out] % parts) return NULL;
    size_t packed[2] = { matrix ? t->shape[1] : 1, 1 };
    const size_t *stride = t->strided ? t->stride : packed;
    struct st_tensor *p = xmalloc(sizeof *p);
    *p = *t;
    p->count /= parts;
    p->shape[0] = t->shape[out] / parts;
    p->stride[0] = stride[out];
    if (matrix) {
        p->shape[1] = t->shape[!out];
        p->stride[1] = stride[!out];
    }
    p->strided = t->strided || out;
    size_t skip = i * p->shape[0] * stride[out];
    if (p->strided) {
        p->begin += skip * st_type_size(t->type);
    } else { /* whole rows, possibly of blocks */
        p->begin += skip / st_block_values(t->type) * st_block_bytes(t->type);
        p->end = p->begin + p->count / st_block_values(t->type) * st_block_bytes(t->type);
    }
    return p;
}

/* Adds the maps of a GPT-2, which folders store as inputs × outputs, and queries, keys and values as one tensor.
 * Returns false for another tensor. */
static bool add_gpt2_parts(struct entries *x, const struct weights_file *file, const struct st_tensor *t,
                           const char *name) {
    static const char *const maps[] = { "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj" };
    const char *end = strrchr(name, '.');
    size_t before = end ? (size_t)(end - name) : 0, map = 0;
    if (!text_starts(name, "h.")) return false;
    for (size_t n; map < COUNT_OF(maps); map++)
        if ((n = strlen(maps[map])) <= before && !memcmp(end - n, maps[map], n)) break;
    if (map == COUNT_OF(maps)) return false;
    for (size_t i = 0, parts = map ? 1 : 3; i < parts; i++) {
        struct st_tensor *part = entries_part(t, !st_gguf(file->st), i, parts);
        char *own = map ? xstrdup(name) : xprintf("%.*s.%c%s", (int)before, name, "qkv"[i], end);
        x->entry[x->n++] =
            (struct entry){ .name = own, .file = file, .tensor = part ? part : t, .own = part };
    }
    return true;
}

int entries_list(struct entries *x, const struct weights *w, const struct arch *a,
                 const char *folder, struct buf *report, struct err *e) {
    char *wrapped = wrapping(w, a);
    size_t skip = strlen(wrapped);
    if (skip && report)
        buf_printf(report, "the prefix \"%s\" of all tensor names is ignored\n", wrapped);
    free(wrapped);
    bool gpt2 = a->family == FAMILY_GPT2;
    *x = (struct entries){ folder, xcalloc(3 * w->tensors, sizeof *x->entry), 0 };
    for (size_t i = 0; i < w->files; i++)
        for (size_t k = 0; k < st_count(w->file[i].st); k++) {
            const struct st_tensor *t = st_at(w->file[i].st, k);
            bool gguf = st_gguf(w->file[i].st);
            char *name = gguf ? gguf_folder_name(t->name, gpt2) : canonical(a, t->name + skip);
            if (!name) return entries_refuse_stray(folder, t->name, e);
            if (gpt2 && add_gpt2_parts(x, &w->file[i], t, name)) free(name);
            else x->entry[x->n++] = (struct entry){ .name = name, .file = &w->file[i], .tensor = t };
        }
    sort(x);
    for (size_t i = 1; i < x->n; i++)
        if (!strcmp(x->entry[i].name, x->entry[i - 1].name))
            return err_set(e, ERR_INPUT, "%s: \"%s\" and \"%s\": the same tensor is stored twice",
                           folder, x->entry[i - 1].tensor->name, x->entry[i].tensor->name);
    return 0;
}

void entries_release(struct entries *x) {
    for (size_t i = 0; i < x->n; i++) {
        free(x->entry[i].name);
        free(x->entry[i].own);
    }
    free(x->entry);
    *x = (struct entries){ 0 };
}

struct entry *entries_find(struct entries *x, const char *name) {
    struct entry key = { .name = (char *)name };
    return x->n ? bsearch(&key, x->entry, x->n, sizeof key, entries_by_name) : NULL;
}

/* ---- one table under several names ---- */

#define HEAD "lm_head.weight"

/* The name of the word embeddings. */
static const char *table_name(const struct arch *a) {
    return a->family == FAMILY_GPT2 ? "wte.weight" : a->causal ? "embed_tokens.weight" : "shared.weight";
}

static int entries_read_values(const struct entry *x, real **out, struct err *e) {
    *out = mem_try(x->tensor->count, sizeof **out);
    if (!*out)
        return err_set(e, ERR_SYSTEM, "%s: out of memory for \"%s\"", x->file->name, x->tensor->name);
    return st_read(x->file->st, x->tensor, *out, e);
}

static int entries_compare(const struct entry *a, const struct entry *b, bool *equal, struct err *e) {
    real *va = NULL, *vb = NULL;
    *equal = false;
    if (a->tensor->count != b->tensor->count) return 0;
    int rc = entries_read_values(a, &va, e);
    if (!rc) rc = entries_read_values(b, &vb, e);
    *equal = !rc && !memcmp(va, vb, a->tensor->count * sizeof *va);
    free(va);
    free(vb);
    return rc;
}

/* Renames an entry to the name of the table. */
static struct entry *become_shared(struct entries *x, struct entry *from, const char *name) {
    free(from->name);
    from->name = xstrdup(name);
    sort(x);
    return entries_find(x, name);
}

/* Checks that the tables of the two stacks equal the shared one. */
static int tie_stack(struct entries *x, const struct arch *a, const char *name, struct err *e) {
    struct entry *shared = entries_find(x, table_name(a)), *own = entries_find(x, name);
    bool equal;
    if (!own) return 0;
    if (!shared) {
        become_shared(x, own, table_name(a));
        return 0;
    }
    int rc = entries_compare(shared, own, &equal, e);
    if (rc) return rc;
    if (!equal)
        return err_set(
            e, ERR_INPUT,
            "%s: \"%s\" and \"%s\" differ; only models with one word embedding for encoder and decoder are "
            "supported",
            x->folder, shared->tensor->name, own->tensor->name);
    own->used = true;
    return 0;
}

static int tie_head(struct entries *x, struct arch *a, struct buf *report, struct err *e) {
    struct entry *shared = entries_find(x, table_name(a)), *head = entries_find(x, HEAD);
    bool equal;
    if (!head) {
        bool classifies = a->causal && text_ends(a->architecture, "ForSequenceClassification");
        if (a->tied || (a->family != FAMILY_T5 && !classifies)) return 0;
        a->tied = true;
        if (report) buf_puts(report, HEAD " is missing: tied to the word embeddings\n");
        return 0;
    }
    if (!a->tied && a->family != FAMILY_T5) return 0;
    if (!shared) {
        become_shared(x, head, table_name(a));
        return 0;
    }
    int rc = entries_compare(shared, head, &equal, e);
    if (rc) return rc;
    if (a->tied && !equal && report)
        buf_printf(report, "%s differs from %s, so they are not tied, contrary to config.json\n",
                   HEAD, table_name(a));
    a->tied = equal;
    head->used = equal;
    return 0;
}

int entries_tie(struct entries *x, struct arch *a, struct buf *report, struct err *e) {
    if (a->causal) return tie_head(x, a, report, e);
    if (!arch_generates(a)) return 0;
    int rc = tie_stack(x, a, "encoder.embed_tokens.weight", e);
    if (!rc) rc = tie_stack(x, a, "decoder.embed_tokens.weight", e);
    return rc ? rc : tie_head(x, a, report, e);
}
