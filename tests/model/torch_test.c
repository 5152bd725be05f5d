/* Files of torch.save: valid ones are read, and nothing in a hostile one is executed or trusted. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/model/pickle.h"
#include "core/model/safetensors.h"
#include "tests/support/test.h"

static struct buf bytes_of(const char *name) {
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    char *inside = xprintf("tests/reference/torch/%s", name), *path = test_path(inside);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    free(inside);
    free(path);
    return b;
}

static void reads_what_was_saved(void **state) {
    (void)state;
    static const char *const files[] = { "zip.bin", "old.bin" };
    struct err e = ERR_INIT;
    struct buf want_bytes = bytes_of("expected.safetensors");
    struct st_file *want = st_open_memory("expected", want_bytes.data, want_bytes.size, &e);
    assert_non_null(want);
    for (size_t k = 0; k < COUNT_OF(files); k++) {
        struct buf b = bytes_of(files[k]);
        struct st_file *f = st_open_memory(files[k], b.data, b.size, &e);
        if (!f) fail_msg("%s", e.text);
        assert_int_equal(st_count(f), 17);
        for (size_t i = 0; i < st_count(want); i++) {
            const struct st_tensor *x = st_at(want, i), *y = st_find(f, x->name);
            if (!y) fail_msg("%s: no %s", files[k], x->name);
            assert_int_equal(x->rank, y->rank);
            assert_memory_equal(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape);
            real *v = xcalloc(x->count + 1, sizeof *v), *w = xcalloc(x->count + 1, sizeof *w);
            test_ok(st_read(want, x, v, &e), &e);
            test_ok(st_read(f, y, w, &e), &e);
            assert_memory_equal(v, w, x->count * sizeof *v);
            free(v);
            free(w);
        }
        int64_t two[2];
        test_ok(st_read_raw(f, st_find(f, "long"), two, &e), &e);
        assert_true(two[0] == 1 && two[1] == -2);
        st_close(f);
        buf_release(&b);
    }
    st_close(want);
    buf_release(&want_bytes);
}

static void refused_bytes(const void *bytes, size_t n, const char *part) {
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("file", bytes, n, &e);
    assert_null(f);
    if (!strstr(e.text, part)) fail_msg("wanted %s in: %s", part, e.text);
}

static void nothing_is_run(void **state) {
    (void)state;
    struct buf b = bytes_of("system.bin");
    refused_bytes(b.data, b.size, "unsafe pickle: it refers to posix.system, which is not needed for tensors (nothing was executed) (at \"code\")");
    buf_release(&b);
}

#define P "\x80\x02"
#define ODICT "ccollections\nOrderedDict\n)R"
#define STORAGE "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" "0X\3\0\0\0cpuK\4tQ"
#define TENSOR "ctorch._utils\n_rebuild_tensor_v2\n("

static void pickles_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *part;
    } cases[] = {
#define CASE(text, part) { text, sizeof(text) - 1, part }
        CASE("", "truncated pickle"),
        CASE(P, "truncated pickle"),
        CASE("\x80\x04N.", "pickle protocol; must be 2"),
        CASE(P "cos\nsystem\n.", "os.system"),
        CASE(P "c__builtin__\neval\n(X\1\0\0\0" "1tR.", "__builtin__.eval"),
        CASE(P "cbuiltins\nexec\n.", "builtins.exec"),
        CASE(P "ctorch\nload\n.", "torch.load"),
        CASE(P "ctorch._utils\n_rebuild_sparse_tensor\n.", "_rebuild_sparse_tensor"),
        CASE(P "ctorch\nUntypedStorage\n.", "torch.UntypedStorage"),
        CASE(P "ctorch", "truncated pickle"),
        CASE(P "\x93.", "opcode 0x93"),  /* STACK_GLOBAL */
        CASE(P "o.", "opcode 0x6f"),     /* OBJ */
        CASE(P "icos\nsystem\n.", "opcode 0x69"), /* INST */
        CASE(P "\x81.", "opcode 0x81"),  /* NEWOBJ */
        CASE(P "\x82\1.", "opcode 0x82"), /* EXT1 */
        CASE(P "V1\n.", "opcode 0x56"),  /* UNICODE */
        CASE(P "2.", "opcode 0x32"),     /* DUP */
        CASE(P "P1\n.", "opcode 0x50"),  /* PERSID */
        CASE(P "B\xff\xff\xff\x7f", "opcode 0x42"), /* BINBYTES */
        CASE(P "X\xff\xff\xff\xff" "a", "truncated pickle"),
        CASE(P "X\1\0\0\0\xff.", "not UTF-8"),
        CASE(P ".", "value missing on the stack"),
        CASE(P "(.", "value missing on the stack"),
        CASE(P "NN.", "more than one value remains"),
        CASE(P "h\0.", "unknown memo index"),
        CASE(P "Nr\xff\xff\xff\xff.", "unknown memo index"),
        CASE(P "q\0.", "unknown memo index"),
        CASE(P "t.", "mark missing on the stack"),
        CASE(P "u.", "mark missing on the stack"),
        CASE(P "\x87.", "value missing on the stack"),
        CASE(P "N(NNu.", "an object other than a dictionary"),
        CASE(P "}(Nu.", "an object other than a dictionary"),
        CASE(P "NNs.", "an object other than a dictionary"),
        CASE(P "NNb.", "sets the state of an object"),
        CASE(P "NNR.", "calls an object"),
        CASE(P "ctorch\nFloatStorage\n)R.", "calls an object"),
        CASE(P "ccollections\nOrderedDict\n(NtR.", "not a dictionary of torch.save"),
        CASE(P "NQ.", "not a storage of torch.save"),
        CASE(P "(X\6\0\0\0" "modulectorch\nFloatStorage\nX\1\0\0\0" "0X\3\0\0\0cpuK\4tQ.", "not a storage of torch.save"),
        CASE(P "(X\7\0\0\0storageccollections\nOrderedDict\nX\1\0\0\0" "0X\3\0\0\0cpuK\4tQ.", "not a storage of torch.save"),
        CASE(P "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" "0X\3\0\0\0cpuJ\xff\xff\xff\xfftQ.", "not a storage of torch.save"),
        CASE(P TENSOR STORAGE "K\0K\4\x85K\2\x85\x89" ODICT "tR.", "a tensor outside of its storage"),
        CASE(P TENSOR STORAGE "K\1K\4\x85K\1\x85\x89" ODICT "tR.", "a tensor outside of its storage"),
        CASE(P TENSOR STORAGE "K\0K\4\x85K\1K\1\x86\x89" ODICT "tR.", "not a tensor of torch.save"),
        CASE(P TENSOR STORAGE "K\0J\xff\xff\xff\xff\x85K\1\x85\x89" ODICT "tR.", "not a tensor of torch.save"),
        CASE(P TENSOR STORAGE "K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85K\2\x85\x89" ODICT "tR.", "a tensor outside of its storage"),
        CASE(P TENSOR "NK\0))\x89" ODICT "tR.", "not a tensor of torch.save"),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        size_t used;
        struct pickle *p = pickle_read("file", (const unsigned char *)cases[i].bytes, cases[i].n, &used, &e);
        if (p) fail_msg("case %zu (%s) was read", i, cases[i].part);
        if (!strstr(e.text, cases[i].part)) fail_msg("case %zu: wanted %s in: %s", i, cases[i].part, e.text);
    }
}

/* Returns the first or last position of a text in bytes. */
static size_t place_of(const struct buf *b, const char *text, size_t n, bool last) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i + n <= b->size && (last || found == SIZE_MAX); i++)
        if (!memcmp(b->data + i, text, n)) found = i;
    assert_true(found != SIZE_MAX);
    return found;
}

static void zips_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *mark; /* of a record */
        bool last;
        size_t at;        /* from there */
        unsigned char to;
        const char *part;
    } cases[] = {
        { "PK\1\2", false, 10, 8, "compressed zip entry" },
        { "PK\1\2", false, 8, 9, "encrypted zip" },
        { "PK\1\2", false, 20, 1, "compressed zip entry" },
        { "PK\1\2", true, 42, 255, "not at the offset in the directory" },
        { "PK\1\2", true, 45, 127, "beyond the end of the file" },
        { "PK\1\2", false, 29, 255, "damaged" },
        { "PK\1\2", false, 46, '/', "unexpected name of a zip entry" },
        { "PK\1\2", true, 46, 'q', "more than one top folder" },
        { "PK\5\6", true, 0, 'Q', "without a directory" },
        { "PK\6\6", true, 0, 'Q', "damaged" },
        { "PK\6\6", true, 55, 127, "beyond the end of the file" },
        { "PK\6\6", true, 39, 127, "too large" },
        { "data.pklPK\1\2", false, 0, 'd', NULL },
        { "little", false, 0, 'b', "byte order" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf b = bytes_of("zip.bin");
        if (!cases[i].part) { /* the pickle's name in the directory */
            size_t at = place_of(&b, "data.pkl", 8, true);
            b.data[at] = 'x';
            refused_bytes(b.data, b.size, "without data.pkl");
        } else {
            b.data[place_of(&b, cases[i].mark, strlen(cases[i].mark), cases[i].last) + cases[i].at] = (char)cases[i].to;
            refused_bytes(b.data, b.size, cases[i].part);
        }
        buf_release(&b);
    }
    char tar[600] = "";
    memcpy(tar + 257, "ustar", 5);
    refused_bytes(tar, sizeof tar, "the tar form");
}

/* Truncated or modified files are refused, or read within bounds. */
static void damage_is_survived(void **state) {
    (void)state;
    static const char *const files[] = { "zip.bin", "old.bin" };
    for (size_t k = 0; k < COUNT_OF(files); k++) {
        struct buf b = bytes_of(files[k]);
        for (size_t n = 0; n < b.size; n += 7) {
            struct err e = ERR_INIT;
            struct st_file *f = st_open_memory("cut", b.data, n, &e);
            assert_null(f);
        }
        for (uint64_t i = 0; i < 3000; i++) {
            struct err e = ERR_INIT;
            struct rng_key key = rng_key(i, RNG_INIT, 0, 0);
            size_t at = (size_t)(rng_uniform(key, 0) * (double)b.size);
            char was = b.data[at];
            b.data[at] = (char)(rng_uniform(key, 1) * 256);
            struct st_file *f = st_open_memory("changed", b.data, b.size, &e);
            for (size_t j = 0; f && j < st_count(f); j++) {
                const struct st_tensor *t = st_at(f, j);
                real *v = mem_try(t->count + 1, sizeof *v);
                if (v) st_read(f, t, v, &e);
                free(v);
            }
            st_close(f);
            b.data[at] = was;
        }
        buf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_saved),    cmocka_unit_test(nothing_is_run),
        cmocka_unit_test(pickles_that_are_refused), cmocka_unit_test(zips_that_are_refused),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
