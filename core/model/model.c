#include "core/model/model.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/load.h"

static void free_model(struct model *m) {
    arch_release(&m->arch);
    tokenizer_free(m->tokenizer);
    free(m->tensor);
    free(m->weight);
    free(m->values);
    free(m->head_w);
    free(m->head_b);
    free(m->dense_w);
    free(m->dense_b);
    free(m->logits_bias);
    free(m->bucket[0]);
    free(m->bucket[1]);
    free(m->folder);
    free(m->name);
    buf_release(&m->report);
    free(m);
}

/* The last part of what the user wrote; of the real path for "." and the like. */
static char *name_of(const char *where, const char *folder) {
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

/* Takes `folder` over. */
static struct model *load_folder(const char *where, char *folder, struct err *e) {
    struct err own = ERR_INIT;
    struct model *m = xcalloc(1, sizeof *m);
    m->folder = folder;
    m->name = name_of(where, folder);
    if (!model_fill(m, e ? e : &own)) return m;
    free_model(m);
    return NULL;
}

struct model *model_load(const char *where, struct err *e) {
    char *folder = model_find(where, e);
    return folder ? load_folder(where, folder, e) : NULL;
}

/* ---- one copy in the process ---- */

/* A shared model and what tells that its files are still the same. */
struct shared {
    char *key;
    struct model *model;
    int users;
    struct shared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *list;

static void add_file(struct buf *key, const char *folder, const char *name) {
    char *path = file_join(folder, name);
    struct stat st;
    if (!stat(path, &st))
        buf_printf(key, "\n%s %llu %llu %lld %lld.%09ld", name, (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino, (long long)st.st_size,
                   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    free(path);
}

static char *key_of(const char *folder) {
    static const char *const files[] = {
        "config.json",    "model.safetensors", "model.safetensors.index.json",
        "tokenizer.json", "vocab.txt",         "tokenizer_config.json",
        "vocab.json",     "merges.txt",        "generation_config.json"};
    struct buf key = BUF_INIT;
    char *path = realpath(folder, NULL);
    buf_puts(&key, path ? path : folder);
    for (size_t i = 0; i < COUNT_OF(files); i++) add_file(&key, folder, files[i]);
    free(path);
    return buf_take(&key);
}

static struct shared *find_shared(const char *key) {
    for (struct shared *s = list; s; s = s->next)
        if (!strcmp(s->key, key)) return s;
    return NULL;
}

struct model *model_share(const char *where, struct err *e) {
    char *folder = model_find(where, e);
    if (!folder) return NULL;
    char *key = key_of(folder);
    struct model *m = NULL;
    pthread_mutex_lock(&lock);
    struct shared *s = find_shared(key);
    if (s) {
        s->users++;
        m = s->model;
        free(folder);
    } else if ((m = load_folder(where, folder, e))) {
        s = xmalloc(sizeof *s);
        *s = (struct shared){key, m, 1, list};
        list = s;
        key = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(key);
    return m;
}

/* Takes one user away; true when the model is not, or no longer, shared. */
static bool drop_user(const struct model *m) {
    for (struct shared **at = &list; *at; at = &(*at)->next) {
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
