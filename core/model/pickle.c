#include "core/model/pickle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

enum { STACK_MOST = 1 << 20, MEMO_MOST = 1 << 20, VALUES_MOST = 1 << 20, RANK_MOST = 8 };

struct pickle {
    const char *name;
    const unsigned char *at, *end, *begin;
    struct pickle_value **value; /* all, for release */
    size_t values, values_room;
    struct pickle_value **stack;
    size_t depth, stack_room;
    struct pickle_value **memo;
    size_t memos;
    struct pickle_value *result;
    struct err *e;
    bool failed;
};

/* ---- names ---- */

enum name {
    NAME_TENSOR_2, NAME_TENSOR, NAME_PARAMETER, NAME_DICT, NAME_SIZE, NAME_STORAGES /* and those after it */
};
static const struct {
    const char *module, *name;
    enum st_type type; /* of a storage */
} pickle_names[] = {
    [NAME_TENSOR_2] = { "torch._utils", "_rebuild_tensor_v2", ST_TYPES },
    [NAME_TENSOR] = { "torch._utils", "_rebuild_tensor", ST_TYPES },
    [NAME_PARAMETER] = { "torch._utils", "_rebuild_parameter", ST_TYPES },
    [NAME_DICT] = { "collections", "OrderedDict", ST_TYPES },
    [NAME_SIZE] = { "torch", "Size", ST_TYPES },
    [NAME_STORAGES] = { "torch", "FloatStorage", ST_F32 },
    { "torch", "DoubleStorage", ST_F64 },
    { "torch", "HalfStorage", ST_F16 },
    { "torch", "BFloat16Storage", ST_BF16 },
    { "torch", "LongStorage", ST_I64 },
    { "torch", "IntStorage", ST_I32 },
    { "torch", "ShortStorage", ST_I16 },
    { "torch", "CharStorage", ST_I8 },
    { "torch", "ByteStorage", ST_U8 },
    { "torch", "BoolStorage", ST_BOOL },
};

/* ---- failing ---- */

/* Returns the text nearest to the top: the key of the value being read. */
static char *pickle_key_of(const struct pickle *p) {
    for (size_t i = p->depth; i-- > 0;)
        if (p->stack[i]->kind == PICKLE_TEXT)
            return text_visible((const char *)p->stack[i]->bytes, (size_t)p->stack[i]->number);
    return NULL;
}

static void pickle_fail(struct pickle *p, const char *what) {
    if (p->failed) return;
    char *key = pickle_key_of(p);
    err_set(p->e, ERR_INPUT, "%s: %s%s%.200s%s", p->name, what, key ? " (at \"" : "", key ? key : "",
            key ? "\")" : "");
    free(key);
    p->failed = true;
}

/* ---- bytes and the stack ---- */

/* The next n bytes, or NULL. */
static const unsigned char *take_bytes(struct pickle *p, size_t n) {
    if (p->failed || (size_t)(p->end - p->at) < n) {
        pickle_fail(p, "truncated pickle");
        return NULL;
    }
    p->at += n;
    return p->at - n;
}

static int64_t little(struct pickle *p, size_t n, bool negative) {
    const unsigned char *b = take_bytes(p, n);
    uint64_t v = 0;
    for (size_t i = 0; b && i < n; i++) v |= (uint64_t)b[i] << (8 * i);
    if (b && negative && n < 8 && b[n - 1] & 0x80) v |= ~(uint64_t)0 << (8 * n);
    return (int64_t)v;
}

static void pickle_push(struct pickle *p, struct pickle_value *v) {
    if (p->depth >= STACK_MOST) pickle_fail(p, "invalid pickle: too many nested values");
    if (p->failed) return;
    GROW(p->stack, p->stack_room, p->depth + 1);
    p->stack[p->depth++] = v;
}

static struct pickle_value *push_new(struct pickle *p, enum pickle_kind kind, int64_t number) {
    if (p->values >= VALUES_MOST) pickle_fail(p, "invalid pickle: too many values");
    struct pickle_value *v = xcalloc(1, sizeof *v);
    v->kind = kind;
    v->number = number;
    GROW(p->value, p->values_room, p->values + 1);
    p->value[p->values++] = v;
    pickle_push(p, v);
    return v;
}

/* Pops the value on top; NULL (failed) if there is none. */
static struct pickle_value *pickle_pop(struct pickle *p) {
    if (!p->failed && p->depth && p->stack[p->depth - 1]->kind != PICKLE_MARK) return p->stack[--p->depth];
    pickle_fail(p, "invalid pickle: value missing on the stack");
    return NULL;
}

/* Returns the start of the values after the last mark. */
static size_t after_mark(struct pickle *p) {
    for (size_t i = p->depth; !p->failed && i-- > 0;)
        if (p->stack[i]->kind == PICKLE_MARK) return i + 1;
    pickle_fail(p, "invalid pickle: mark missing on the stack");
    return 0;
}

static void add_item(struct pickle_value *v, struct pickle_value *item) {
    GROW(v->item, v->room, v->items + 1);
    v->item[v->items++] = item;
}

static void make_tuple(struct pickle *p, size_t first) {
    if (p->failed || first > p->depth) {
        pickle_fail(p, "invalid pickle: value missing on the stack");
        return;
    }
    size_t n = p->depth - first;
    struct pickle_value **item = n ? xcalloc(n, sizeof *item) : NULL;
    for (size_t i = 0; i < n; i++) {
        item[i] = p->stack[first + i];
        if (item[i]->kind == PICKLE_MARK) pickle_fail(p, "invalid pickle: mark within a tuple");
    }
    p->depth = first;
    struct pickle_value *v = push_new(p, PICKLE_TUPLE, 0);
    v->item = item;
    v->items = v->room = n;
}

/* ---- names and the objects they build ---- */

static size_t pickle_line(struct pickle *p, const unsigned char **text) {
    const unsigned char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
    *text = p->at;
    if (!end) {
        pickle_fail(p, "truncated pickle");
        return 0;
    }
    p->at = end + 1;
    return (size_t)(end - *text);
}

static bool is(const unsigned char *text, size_t n, const char *word) {
    return n == strlen(word) && !memcmp(text, word, n);
}

static void on_name(struct pickle *p) {
    const unsigned char *module, *name;
    size_t modules = pickle_line(p, &module), n = pickle_line(p, &name);
    if (p->failed) return;
    for (size_t i = 0; i < COUNT_OF(pickle_names); i++)
        if (is(module, modules, pickle_names[i].module) && is(name, n, pickle_names[i].name)) {
            push_new(p, PICKLE_NAME, (int64_t)i);
            return;
        }
    char *shown = text_visible((const char *)module, modules), *of = text_visible((const char *)name, n);
    char *what = xprintf("unsafe pickle: it refers to %.100s.%.100s, which is not needed for tensors "
                         "(nothing was executed)",
                         shown, of);
    pickle_fail(p, what);
    free(what);
    free(shown);
    free(of);
}

static bool is_kind(const struct pickle_value *v, size_t i, enum pickle_kind kind) {
    return v->kind == PICKLE_TUPLE && i < v->items && v->item[i]->kind == kind;
}

/* ('storage', class, key, location, count), in old files followed by a view or None. */
static void on_storage(struct pickle *p) {
    struct pickle_value *id = pickle_pop(p);
    if (!id) return;
    bool good = id->kind == PICKLE_TUPLE && (id->items == 5 || id->items == 6) &&
                pickle_text_is(id->item[0], "storage") && is_kind(id, 1, PICKLE_NAME) &&
                id->item[1]->number >= NAME_STORAGES && is_kind(id, 2, PICKLE_TEXT) &&
                is_kind(id, 4, PICKLE_INT) && id->item[4]->number >= 0;
    if (!good) {
        pickle_fail(p, "invalid pickle: not a storage of torch.save");
        return;
    }
    struct pickle_value *s = push_new(p, PICKLE_STORAGE, 0);
    s->type = pickle_names[id->item[1]->number].type;
    s->key = id->item[2]->bytes;
    s->key_size = (size_t)id->item[2]->number;
    s->count = id->item[4]->number;
    if (id->items == 5 || id->item[5]->kind == PICKLE_NONE) return;
    const struct pickle_value *view = id->item[5]; /* (its key, offset, length) */
    if (!is_kind(view, 1, PICKLE_INT) || !is_kind(view, 2, PICKLE_INT) || view->items != 3 ||
        view->item[1]->number < 0 || view->item[2]->number < 0 || view->item[1]->number > s->count ||
        view->item[2]->number > s->count - view->item[1]->number)
        pickle_fail(p, "invalid pickle: a view outside of its storage");
    else s->view = view->item[1]->number;
}

static bool sizes_of(const struct pickle_value *v, int64_t *out, int *rank) {
    if (v->kind != PICKLE_TUPLE || v->items > RANK_MOST) return false;
    for (size_t i = 0; i < v->items; i++) {
        if (v->item[i]->kind != PICKLE_INT || v->item[i]->number < 0) return false;
        out[i] = v->item[i]->number;
    }
    *rank = (int)v->items;
    return true;
}

/* Returns whether every element is within the storage. */
static bool pickle_within(const struct pickle_value *t) {
    int64_t last = t->offset + t->view;
    for (int i = 0; i < t->rank; i++)
        if (!t->shape[i]) return true;
    if (last < 0 || last >= t->count) return false;
    for (int i = 0; i < t->rank; i++) {
        int64_t step;
        if (__builtin_mul_overflow(t->shape[i] - 1, t->stride[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
        if (last >= t->count) return false;
    }
    return true;
}

/* (storage, offset, size, stride, …) */
static void build_tensor(struct pickle *p, const struct pickle_value *args) {
    int ranks = 0;
    struct pickle_value *t = push_new(p, PICKLE_TENSOR, 0);
    bool good = is_kind(args, 0, PICKLE_STORAGE) && is_kind(args, 1, PICKLE_INT) && args->items >= 4 &&
                sizes_of(args->item[2], t->shape, &t->rank) && sizes_of(args->item[3], t->stride, &ranks) &&
                ranks == t->rank && args->item[1]->number >= 0;
    if (!good) {
        pickle_fail(p, "invalid pickle: not a tensor of torch.save");
        return;
    }
    const struct pickle_value *s = args->item[0];
    t->type = s->type;
    t->key = s->key;
    t->key_size = s->key_size;
    t->count = s->count;
    t->view = s->view;
    t->offset = args->item[1]->number;
    if (!pickle_within(t)) pickle_fail(p, "invalid pickle: a tensor outside of its storage");
}

static void on_reduce(struct pickle *p) {
    struct pickle_value *args = pickle_pop(p), *f = args ? pickle_pop(p) : NULL;
    if (!f) return;
    if (f->kind != PICKLE_NAME || args->kind != PICKLE_TUPLE || f->number >= NAME_STORAGES) {
        pickle_fail(p, "unsafe pickle: it calls an object that is not needed for tensors");
        return;
    }
    switch ((enum name)f->number) {
    case NAME_TENSOR_2:
    case NAME_TENSOR: build_tensor(p, args); return;
    case NAME_PARAMETER:
        if (is_kind(args, 0, PICKLE_TENSOR)) pickle_push(p, args->item[0]);
        else pickle_fail(p, "invalid pickle: a parameter without a tensor");
        return;
    case NAME_DICT:
        if (args->items) pickle_fail(p, "invalid pickle: not a dictionary of torch.save");
        push_new(p, PICKLE_DICT, 0);
        return;
    case NAME_SIZE:
        if (is_kind(args, 0, PICKLE_TUPLE)) pickle_push(p, args->item[0]);
        else pickle_fail(p, "invalid pickle: a tensor size is not an integer");
        return;
    default: BUG("unknown callable %lld in a pickle", (long long)f->number);
    }
}

/* ---- adding items ---- */

static void set_items(struct pickle *p, size_t first, enum pickle_kind kind) {
    if (p->failed) return;
    size_t n = p->depth - first;
    size_t to = p->depth - n - (first && p->stack[first - 1]->kind == PICKLE_MARK ? 2 : 1);
    if (to >= p->depth || p->stack[to]->kind != kind || (kind == PICKLE_DICT && n % 2)) {
        pickle_fail(p, "invalid pickle: items are added to an object other than a dictionary or list");
        return;
    }
    for (size_t i = 0; i < n; i++) add_item(p->stack[to], p->stack[first + i]);
    p->depth = to + 1;
}

static void on_memo(struct pickle *p, int64_t i, bool put) {
    if (p->failed) return;
    if (i < 0 || i >= MEMO_MOST || (put ? !p->depth : (size_t)i >= p->memos || !p->memo[i])) {
        pickle_fail(p, "invalid pickle: unknown memo index");
        return;
    }
    if (!put) {
        pickle_push(p, p->memo[i]);
        return;
    }
    if ((size_t)i >= p->memos) {
        size_t room = (size_t)i + 1 > 2 * p->memos ? (size_t)i + 1 : 2 * p->memos;
        p->memo = xrealloc(p->memo, room, sizeof *p->memo);
        memset(p->memo + p->memos, 0, (room - p->memos) * sizeof *p->memo);
        p->memos = room;
    }
    p->memo[i] = p->stack[p->depth - 1];
}

static void on_text(struct pickle *p) {
    int64_t n = little(p, 4, false);
    const unsigned char *b = take_bytes(p, (size_t)n);
    if (b && !utf8_valid((const char *)b, (size_t)n)) pickle_fail(p, "invalid pickle: text is not UTF-8");
    if (!p->failed) push_new(p, PICKLE_TEXT, n)->bytes = b;
}

static void on_long(struct pickle *p) {
    int64_t n = little(p, 1, false);
    const unsigned char *b = take_bytes(p, (size_t)n);
    if (p->failed) return;
    if (n > 8) {
        push_new(p, PICKLE_LONG, n)->bytes = b;
        return;
    }
    p->at = b;
    int64_t v = n ? little(p, (size_t)n, true) : 0;
    push_new(p, PICKLE_INT, v);
}

/* Attributes of an OrderedDict (versions of modules) are read and dropped. */
static void on_build(struct pickle *p) {
    if (!pickle_pop(p)) return;
    if (!p->depth || p->stack[p->depth - 1]->kind != PICKLE_DICT)
        pickle_fail(p, "invalid pickle: it sets the state of an object that is not a tensor");
}

static void refuse_opcode(struct pickle *p, unsigned char op) {
    char what[96];
    snprintf(what, sizeof what, "unsupported opcode 0x%02x in the pickle",
             op);
    pickle_fail(p, what);
}

/* Executes one opcode; false: it was the last. */
static bool pickle_step(struct pickle *p) {
    const unsigned char *op = take_bytes(p, 1);
    if (!op) return false;
    switch (*op) {
    case 0x80:
        if (little(p, 1, false) != 2) pickle_fail(p, "unsupported pickle protocol; must be 2");
        return true;
    case '.': p->result = pickle_pop(p); return false;
    case '(': push_new(p, PICKLE_MARK, 0); return true;
    case '}': push_new(p, PICKLE_DICT, 0); return true;
    case ']': push_new(p, PICKLE_LIST, 0); return true;
    case ')': make_tuple(p, p->depth); return true;
    case 't': {
        size_t first = after_mark(p);
        make_tuple(p, first);
        if (p->failed) return true;
        p->stack[p->depth - 2] = p->stack[p->depth - 1]; /* over the mark */
        p->depth--;
        return true;
    }
    case 0x85: make_tuple(p, p->depth - 1); return true;
    case 0x86: make_tuple(p, p->depth - 2); return true;
    case 0x87: make_tuple(p, p->depth - 3); return true;
    case 'X': on_text(p); return true;
    case 'c': on_name(p); return true;
    case 'q': on_memo(p, little(p, 1, false), true); return true;
    case 'r': on_memo(p, little(p, 4, false), true); return true;
    case 'h': on_memo(p, little(p, 1, false), false); return true;
    case 'j': on_memo(p, little(p, 4, false), false); return true;
    case 'J': push_new(p, PICKLE_INT, little(p, 4, true)); return true;
    case 'K': push_new(p, PICKLE_INT, little(p, 1, false)); return true;
    case 'M': push_new(p, PICKLE_INT, little(p, 2, false)); return true;
    case 0x8a: on_long(p); return true;
    case 'N': push_new(p, PICKLE_NONE, 0); return true;
    case 0x88: push_new(p, PICKLE_BOOL, 1); return true;
    case 0x89: push_new(p, PICKLE_BOOL, 0); return true;
    case 'Q': on_storage(p); return true;
    case 'R': on_reduce(p); return true;
    case 'u': set_items(p, after_mark(p), PICKLE_DICT); return true;
    case 's':
        if (p->depth < 3) pickle_fail(p, "invalid pickle: items are added to an object other than a "
                                         "dictionary or list");
        set_items(p, p->depth - 2, PICKLE_DICT);
        return true;
    case 'e': set_items(p, after_mark(p), PICKLE_LIST); return true;
    case 'a':
        if (p->depth < 2) pickle_fail(p, "invalid pickle: items are added to an object other than a "
                                         "dictionary or list");
        set_items(p, p->depth - 1, PICKLE_LIST);
        return true;
    case 'b': on_build(p); return true;
    default: refuse_opcode(p, *op); return true;
    }
}

struct pickle *pickle_read(const char *name, const unsigned char *bytes, size_t n, size_t *used,
                           struct err *e) {
    struct pickle *p = xcalloc(1, sizeof *p);
    p->name = name;
    p->at = p->begin = bytes;
    p->end = bytes + n;
    p->e = e;
    while (!p->failed && pickle_step(p)) continue;
    if (!p->failed && (!p->result || p->depth)) pickle_fail(p, "invalid pickle: more than one value remains");
    *used = (size_t)(p->at - p->begin);
    if (!p->failed) return p;
    pickle_free(p);
    return NULL;
}

void pickle_free(struct pickle *p) {
    if (!p) return;
    for (size_t i = 0; i < p->values; i++) {
        free(p->value[i]->item);
        free(p->value[i]);
    }
    free(p->value);
    free(p->stack);
    free(p->memo);
    free(p);
}

const struct pickle_value *pickle_result(const struct pickle *p) { return p->result; }

bool pickle_text_is(const struct pickle_value *v, const char *text) {
    return v->kind == PICKLE_TEXT && (size_t)v->number == strlen(text) &&
           !memcmp(v->bytes, text, strlen(text));
}
