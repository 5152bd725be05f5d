#include "core/model/torch.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/pickle.h"
#include "core/model/torch_zip.h"

enum {
    PICKLE_BYTES = 64 << 20,
    NAME_MOST = 512,
    TENSORS_MOST = 100000,
    STORAGES_MOST = 10000,
    TAR_MAGIC = 257
};

/* The magic number of the old format, as a pickle encodes it. */
static const unsigned char old_magic[] = { 0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                           0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.' };

static bool is_zip(const unsigned char *head, size_t n) { return n >= 4 && !memcmp(head, "PK\3\4", 4); }
static bool is_old(const unsigned char *head, size_t n) {
    return n >= sizeof old_magic && !memcmp(head, old_magic, sizeof old_magic);
}
static bool is_tar(const unsigned char *head, size_t n) {
    return n >= TAR_MAGIC + 5 && !memcmp(head + TAR_MAGIC, "ustar", 5);
}

bool torch_is(const unsigned char *head, size_t n) {
    return is_zip(head, n) || is_old(head, n) || is_tar(head, n);
}

/* ---- positions of storages ---- */

struct storage {
    const unsigned char *key;
    size_t key_size, begin, bytes;
};

struct torch_file {
    const struct st_bytes *f;
    struct err *e;
    unsigned char *bytes; /* of the pickles */
    struct pickle *object;
    struct torch_zip zip;
    struct storage *storage; /* of the old format */
    size_t storages, room;
    struct st_tensor *tensor;
    size_t tensors, tensor_room;
};

static int find_storage(struct torch_file *t, const struct pickle_value *v, size_t *begin) {
    size_t need;
    if (!mem_mul((size_t)v->count, st_type_size(v->type), &need)) need = SIZE_MAX;
    char *key = text_visible((const char *)v->key, v->key_size);
    int rc = 0;
    const struct torch_entry *entry = t->storage ? NULL : torch_zip_data(&t->zip, v->key, v->key_size);
    const struct storage *old = NULL;
    for (size_t i = 0; i < t->storages && !old; i++)
        if (t->storage[i].key_size == v->key_size && !memcmp(t->storage[i].key, v->key, v->key_size))
            old = &t->storage[i];
    if (!entry && !old)
        rc = err_set(t->e, ERR_INPUT, "%s: the storage \"%.60s\" is missing from the file", t->f->name, key);
    else if ((entry ? entry->size : old->bytes) != need)
        rc = err_set(t->e, ERR_INPUT, "%s: the storage \"%.60s\" has %zu bytes, but its pickle needs %zu",
                     t->f->name, key, entry ? entry->size : old->bytes, need);
    else *begin = entry ? entry->begin : old->begin;
    free(key);
    return rc;
}

/* ---- the dictionary ---- */

static bool is_packed(const struct pickle_value *v) {
    int64_t step = 1;
    for (int i = v->rank; i-- > 0;) {
        if (v->shape[i] != 1 && v->stride[i] != step) return false;
        step *= v->shape[i];
    }
    return true;
}

static int torch_add_tensor(struct torch_file *t, const struct pickle_value *key,
                            const struct pickle_value *v) {
    size_t begin = 0, size = st_type_size(v->type), count = 1, last = 0;
    if (find_storage(t, v, &begin)) return t->e->code;
    GROW(t->tensor, t->tensor_room, t->tensors + 1);
    struct st_tensor *to = &t->tensor[t->tensors++];
    *to = (struct st_tensor){ .name = xstrndup((const char *)key->bytes, (size_t)key->number),
                              .type = v->type,
                              .rank = v->rank };
    for (int i = 0; i < v->rank; i++) {
        to->shape[i] = (size_t)v->shape[i];
        to->stride[i] = (size_t)v->stride[i];
        if (!mem_mul(count, to->shape[i], &count))
            return err_set(t->e, ERR_INPUT, "%s: \"%s\" is too large", t->f->name, to->name);
        if (to->shape[i]) last += (to->shape[i] - 1) * to->stride[i];
    }
    to->count = count;
    to->strided = count && !is_packed(v);
    /* repeated elements, as in an expanded tensor, must not exceed the expanded size */
    if (count > (size_t)v->count && to->strided)
        return err_set(t->e, ERR_INPUT, "%s: \"%s\" has more elements than its storage", t->f->name,
                       to->name);
    to->begin = to->end = begin;
    if (!count) return 0;
    to->begin += (size_t)(v->offset + v->view) * size;
    to->end = to->begin + (last + 1) * size;
    return 0;
}

static int list_object(struct torch_file *t) {
    const struct pickle_value *all = pickle_result(t->object);
    if (all->kind != PICKLE_DICT)
        return err_set(t->e, ERR_INPUT, "%s: does not contain a dictionary of tensors", t->f->name);
    if (all->items / 2 > TENSORS_MOST)
        return err_set(t->e, ERR_INPUT, "%s: too many tensors", t->f->name);
    for (size_t i = 0; i < all->items; i += 2) {
        const struct pickle_value *key = all->item[i], *v = all->item[i + 1];
        if (key->kind != PICKLE_TEXT || !key->number || key->number > NAME_MOST ||
            memchr(key->bytes, 0, (size_t)key->number))
            return err_set(t->e, ERR_INPUT, "%s: the dictionary of tensors has a key that is not a string",
                           t->f->name);
        char *shown = text_visible((const char *)key->bytes, (size_t)key->number);
        int rc = v->kind == PICKLE_TENSOR
                     ? torch_add_tensor(t, key, v)
                     : err_set(t->e, ERR_INPUT, "%s: \"%.200s\" is not a tensor", t->f->name, shown);
        free(shown);
        if (rc) return rc;
    }
    return 0;
}

/* ---- zip ---- */

static int read_zip(struct torch_file *t) {
    int rc = torch_zip_open(t->f, &t->zip, t->e);
    if (rc) return rc;
    const struct torch_entry *at = t->zip.pickle;
    if (at->size > PICKLE_BYTES) return err_set(t->e, ERR_INPUT, "%s: data.pkl is too large", t->f->name);
    t->bytes = xmalloc(at->size + 1);
    rc = t->f->fetch(t->f->self, at->begin, t->bytes, at->size, t->e);
    size_t used;
    if (!rc) t->object = pickle_read(t->f->name, t->bytes, at->size, &used, t->e);
    if (!rc && !t->object) rc = t->e->code;
    if (!rc && used != at->size)
        rc = err_set(t->e, ERR_INPUT, "%s: extra bytes after the pickle in data.pkl", t->f->name);
    return rc ? rc : list_object(t);
}

/* ---- the old format: pickles of a magic number, a version, the machine, the object and the storage names,
 * then each storage as a count and its values ---- */

/* Returns the description of a storage by its name. */
static const struct pickle_value *torch_storage_of(const struct torch_file *t,
                                                   const struct pickle_value *key) {
    const struct pickle_value *all = pickle_result(t->object);
    for (size_t i = 1; i < all->items; i += 2) {
        const struct pickle_value *v = all->item[i];
        if (v->kind == PICKLE_TENSOR && v->key_size == (size_t)key->number &&
            !memcmp(v->key, key->bytes, v->key_size))
            return v;
    }
    return NULL;
}

static int add_storages(struct torch_file *t, const struct pickle_value *keys, size_t at) {
    if (keys->kind != PICKLE_LIST || pickle_result(t->object)->kind != PICKLE_DICT)
        return err_set(t->e, ERR_INPUT, "%s: not in the format of torch.save", t->f->name);
    if (keys->items > STORAGES_MOST) return err_set(t->e, ERR_INPUT, "%s: too many storages", t->f->name);
    for (size_t i = 0; i < keys->items; i++) {
        const struct pickle_value *key = keys->item[i], *v = key->kind == PICKLE_TEXT
            ? torch_storage_of(t, key) : NULL;
        int64_t count = 0;
        size_t bytes;
        if (!v) return err_set(t->e, ERR_INPUT, "%s: a storage is not used by any tensor", t->f->name);
        if (t->f->size - at < sizeof count)
            return err_set(t->e, ERR_INPUT, "%s: truncated within its storages", t->f->name);
        int rc = t->f->fetch(t->f->self, at, &count, sizeof count, t->e);
        at += sizeof count;
        if (rc) return rc;
        if (count != v->count || !mem_mul((size_t)count, st_type_size(v->type), &bytes) ||
            bytes > t->f->size - at)
            return err_set(t->e, ERR_INPUT, "%s: the size of a storage differs from that in the pickle",
                           t->f->name);
        GROW(t->storage, t->room, t->storages + 1);
        t->storage[t->storages++] = (struct storage){ key->bytes, (size_t)key->number, at, bytes };
        at += bytes;
    }
    return at == t->f->size ? 0
                            : err_set(t->e, ERR_INPUT, "%s: extra bytes after the last storage", t->f->name);
}

/* Returns whether the byte order of the writing machine was the same. */
static int check_machine(struct torch_file *t, const struct pickle_value *v) {
    for (size_t i = 0; v->kind == PICKLE_DICT && i < v->items; i += 2)
        if (pickle_text_is(v->item[i], "little_endian") && v->item[i + 1]->kind == PICKLE_BOOL &&
            !v->item[i + 1]->number)
            return err_set(t->e, ERR_INPUT, "%s: unsupported byte order; must be little-endian",
                           t->f->name);
    return 0;
}

static int read_old(struct torch_file *t) {
    enum { MAGIC, VERSION, MACHINE, OBJECT, KEYS, PICKLES };
    size_t n = t->f->size < PICKLE_BYTES ? t->f->size : PICKLE_BYTES, at = 0;
    t->bytes = xmalloc(n + 1);
    int rc = t->f->fetch(t->f->self, 0, t->bytes, n, t->e);
    for (int i = 0; i < PICKLES && !rc; i++) {
        size_t used = 0;
        struct pickle *p = pickle_read(t->f->name, t->bytes + at, n - at, &used, t->e);
        at += used;
        if (!p) return t->e->code;
        if (i == VERSION && (pickle_result(p)->kind != PICKLE_INT || pickle_result(p)->number != 1001))
            rc = err_set(t->e, ERR_INPUT, "%s: unsupported version of torch.save; must be 1001", t->f->name);
        if (i == MACHINE) rc = check_machine(t, pickle_result(p));
        if (!rc && i == KEYS) rc = add_storages(t, pickle_result(p), at);
        if (i == OBJECT) t->object = p;
        else pickle_free(p);
    }
    return rc ? rc : list_object(t);
}

int torch_list(const struct st_bytes *f, struct st_tensor **list, size_t *n, struct err *e) {
    struct torch_file t = { .f = f, .e = e };
    unsigned char head[TORCH_HEAD];
    size_t heads = f->size < sizeof head ? f->size : sizeof head;
    int rc = f->fetch(f->self, 0, head, heads, e);
    if (!rc && is_zip(head, heads)) rc = read_zip(&t);
    else if (!rc && is_old(head, heads)) rc = read_old(&t);
    else if (!rc)
        rc = err_set(e, ERR_INPUT,
                     "%s: the tar format of PyTorch before 0.1.10 is not supported", f->name);
    pickle_free(t.object);
    torch_zip_close(&t.zip);
    free(t.bytes);
    free(t.storage);
    *list = t.tensor;
    *n = t.tensors;
    if (!rc) return 0;
    for (size_t i = 0; i < t.tensors; i++) free(t.tensor[i].name);
    free(t.tensor);
    *list = NULL;
    *n = 0;
    return rc;
}
