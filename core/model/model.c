#include "core/model/model.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/load.h"

static void free_model(struct model *m) {
    model_free_packings(m);
    arch_release(&m->arch);
    tokenizer_free(m->tokenizer);
    free(m->tensor);
    free(m->weight);
    free(m->values);
    free(m->head_w);
    real *const words[] = { m->words.w, m->words.b, m->words.norm_w, m->words.norm_b, m->words.bias };
    for (size_t i = 0; i < COUNT_OF(words); i++) free(words[i]);
    free(m->head_b);
    free(m->dense_w);
    free(m->dense_b);
    free(m->logits_bias);
    free(m->rope_divisor);
    free(m->bucket[0]);
    free(m->bucket[1]);
    free(m->folder);
    free(m->name);
    free(m->facts);
    buf_release(&m->caution);
    buf_release(&m->report);
    free(m);
}

char *model_config_file(const struct model *m) {
    return file_is_folder(m->folder) ? file_join(m->folder, "config.json") : xstrdup(m->folder);
}

char *model_name(const char *where, const char *folder) {
    char *name = file_base_name(where);
    if (strcmp(name, ".") && strcmp(name, "..")) return name;
    char *path = realpath(folder, NULL);
    if (path) {
        free(name);
        name = file_base_name(path);
        free(path);
    }
    return name;
}

/* Takes ownership of `folder`. */
static struct model *load_folder(const char *where, char *folder, enum weights_in in, struct err *e) {
    struct err own = ERR_INIT;
    struct model *m = xcalloc(1, sizeof *m);
    m->folder = folder;
    m->weights_in = in;
    m->name = model_name(where, folder);
    if (!model_fill(m, e ? e : &own)) return m;
    free_model(m);
    return NULL;
}

struct model *model_load_as(const char *where, enum weights_in in, struct err *e) {
    char *folder = model_find(where, e);
    return folder ? load_folder(where, folder, in, e) : NULL;
}

struct model *model_load(const char *where, struct err *e) { return model_load_as(where, WEIGHTS_AUTO, e); }

int model_needs_tokenizer(const struct model *m, struct err *e) {
    if (m->tokenizer) return 0;
    if (!file_is_folder(m->folder))
        return err_set(e, ERR_INPUT,
                       "%s: the file has no tokenizer (metadata \"tokenizer.ggml.model\"), so the model cannot encode "
                       "text; use a file that has one",
                       m->folder);
    return err_set(e, ERR_INPUT,
                   "%s: the model has no tokenizer (tokenizer.json or vocab.txt), so it cannot encode text; add "
                   "the tokenizer files of the model",
                   m->folder);
}

/* ---- sharing within the process ---- */

/* A shared model and the state of its files. */
struct shared {
    char *key;
    struct model *model;
    int users;
    struct shared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *model_list;

/* Files that a model is read from; changes to other files of the folder do not matter. */
static int is_part(const struct dirent *x) {
    return text_ends(x->d_name, ".json") || text_ends(x->d_name, ".safetensors") ||
           text_ends(x->d_name, ".txt") || text_ends(x->d_name, ".model");
}

/* Appends the folder and the state of every file that a model can be read from, shards included. */
static char *model_key_of(const char *folder) {
    struct buf key = BUF_INIT;
    struct dirent **part = NULL;
    char *path = realpath(folder, NULL);
    buf_puts(&key, path ? path : folder);
    if (!file_is_folder(folder)) file_stamp(folder, &key);
    int n = scandir(folder, &part, is_part, alphasort);
    for (int i = 0; i < n; i++) {
        char *file = file_join(folder, part[i]->d_name);
        buf_printf(&key, "\n%s", part[i]->d_name);
        file_stamp(file, &key);
        free(file);
        free(part[i]);
    }
    free(part);
    free(path);
    return buf_take(&key);
}

static struct shared *find_shared(const char *key, enum weights_in in) {
    for (struct shared *s = model_list; s; s = s->next)
        if (!strcmp(s->key, key) && (in == WEIGHTS_AUTO || in == s->model->weights_in)) return s;
    return NULL;
}

struct model *model_share(const char *where, struct err *e) { return model_share_as(where, WEIGHTS_AUTO, e); }

struct model *model_share_as(const char *where, enum weights_in in, struct err *e) {
    char *folder = model_find(where, e);
    if (!folder) return NULL;
    char *key = model_key_of(folder);
    struct model *m = NULL;
    pthread_mutex_lock(&lock);
    struct shared *s = find_shared(key, in);
    if (s) {
        s->users++;
        m = s->model;
        free(folder);
    } else if ((m = load_folder(where, folder, in, e))) {
        s = xmalloc(sizeof *s);
        *s = (struct shared){ key, m, 1, model_list };
        model_list = s;
        key = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(key);
    return m;
}

/* Removes one user; true when the model is not, or no longer, shared. */
static bool drop_user(const struct model *m) {
    for (struct shared **at = &model_list; *at; at = &(*at)->next) {
        struct shared *s = *at;
        if (s->model != m) continue;
        if (--s->users) return false;
        *at = s->next;
        free(s->key);
        free(s);
        return true;
    }
    return true;
}

void model_release(struct model *m) {
    if (!m) return;
    pthread_mutex_lock(&lock);
    bool last = drop_user(m);
    pthread_mutex_unlock(&lock);
    if (last) free_model(m);
}

void model_rope(const struct model *m, double *frequency) {
    arch_rope(&m->arch, frequency);
    for (int i = 0; m->rope_divisor && i < m->arch.head_width / 2; i++)
        frequency[i] /= (double)m->rope_divisor[i];
}
