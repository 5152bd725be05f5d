/* Invalid safetensors headers, one per rule: each is refused, the message names the file and the entry, and
 * nothing outside the file is read. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/safetensors.h"

/* An 8-byte length, a header, and `data` bytes of zeros.  `length` < 0: the header's own. */
struct broken {
    const char *rule;
    const char *header;
    long long length;
    size_t data;
    const char *part; /* of the message */
};

#define ONE(type, shape, range)                                                                    \
    "{\"t\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" range "}}"
#define F32(name, range) "\"" name "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" range "}"

static const struct broken cases[] = {
    {"shape beyond its range", ONE("F32", "[1000,1000]", "[0,4]"), -1, 4,
     "\"t\": data_offsets span 4 bytes, but shape and dtype require 4000000"},
    {"range beyond the file", ONE("F32", "[1000,1000]", "[0,4000000]"), -1, 4,
     "3,999,996 bytes are missing"},
    {"end before begin", ONE("F32", "[1]", "[8,4]"), -1, 4,
     "\"t\": data_offsets: the end 4 is before the start 8"},
    {"three offsets", ONE("F32", "[1]", "[0,4,8]"), -1, 4, "\"t\" needs"},
    {"one offset", ONE("F32", "[1]", "[0]"), -1, 4, "\"t\" needs"},
    {"offsets are no list", ONE("F32", "[1]", "4"), -1, 4, "\"t\" needs"},
    {"negative begin", ONE("F32", "[1]", "[-4,0]"), -1, 4, "\"t\" has data_offsets that are not"},
    {"real offset", ONE("F32", "[1]", "[0,4.0]"), -1, 4, "\"t\" has data_offsets that are not"},
    {"offset beyond 63 bits", ONE("F32", "[1]", "[0,18446744073709551615]"), -1, 4,
     "data_offsets that are not non-negative integers"},
    {"product wraps to zero", ONE("F32", "[4294967296,4294967296]", "[0,0]"), -1, 0,
     "\"t\" has a shape whose product"},
    {"bytes wrap to zero", ONE("F32", "[4611686018427387904]", "[0,0]"), -1, 0,
     "\"t\" has a shape whose size"},
    {"product wraps to small", ONE("F32", "[9223372036854775807,2,1]", "[0,4]"), -1, 4,
     "\"t\" has"},
    {"negative dimension", ONE("F32", "[-1]", "[0,4]"), -1, 4, "\"t\" has a dimension"},
    {"real dimension", ONE("F32", "[1.5]", "[0,4]"), -1, 4, "\"t\" has a dimension"},
    {"dimension is text", ONE("F32", "[\"1\"]", "[0,4]"), -1, 4, "\"t\" has a dimension"},
    {"shape is no list", ONE("F32", "1", "[0,4]"), -1, 4, "\"t\" has no \"shape\" list"},
    {"rank 9", ONE("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), -1, 4, "\"t\": 9 dimensions"},
    {"unknown type", ONE("F33", "[1]", "[0,4]"), -1, 4, "\"t\": unknown type \"F33\""},
    {"type is no text", "{\"t\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4,
     "\"t\" has no \"dtype\""},
    {"no shape", "{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", -1, 4, "\"t\" has no \"shape\""},
    {"no range", "{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", -1, 4, "\"t\" needs"},
    {"entry is no object", "{\"t\":[1]}", -1, 4, "\"t\" must be described"},
    {"overlap", "{" F32("a", "[0,4]") "," F32("b", "[2,6]") "}", -1, 6,
     "\"b\" overlaps tensor \"a\""},
    {"same range twice", "{" F32("a", "[0,4]") "," F32("b", "[0,4]") "}", -1, 4,
     "\"b\" overlaps tensor \"a\""},
    {"hole", "{" F32("a", "[0,4]") "," F32("b", "[8,12]") "}", -1, 12,
     "a gap of 4 bytes before tensor \"b\""},
    {"hole at the start", "{" F32("a", "[4,8]") "}", -1, 8,
     "a gap of 4 bytes before tensor \"a\""},
    {"bytes too many", "{" F32("a", "[0,4]") "}", -1, 5, "1 extra bytes"},
    {"data without tensors", "{}", -1, 4, "4 extra bytes"},
    {"bytes missing", "{" F32("a", "[0,4]") "}", -1, 1, "3 bytes are missing"},
    {"repeated name", "{" F32("a", "[0,4]") "," F32("a", "[4,8]") "}", -1, 8, "duplicate"},
    {"control character in a name", "{" F32("a\\u0007", "[0,4]") "}", -1, 4, "control character"},
    {"NUL in a name", "{" F32("a\\u0000b", "[0,4]") "}", -1, 4, "not valid JSON"},
    {"empty name", "{" F32("", "[0,4]") "}", -1, 4, "empty name"},
    {"lone surrogate", "{" F32("\\ud800", "[0,4]") "}", -1, 4, "not valid JSON"},
    {"invalid UTF-8", "{" F32("\xff", "[0,4]") "}", -1, 4, "not valid JSON"},
    {"metadata is no object", "{\"__metadata__\":[]}", -1, 0, "__metadata__ must be an object"},
    {"metadata holds a number", "{\"__metadata__\":{\"k\":1}}", -1, 0, "\"k\" must be a string"},
    {"header is a list", "[1,2,3]", -1, 0, "does not start with {"},
    {"header begins with a blank", " {}", -1, 0, "does not start with {"},
    {"text after the header", "{} x", -1, 0, "not valid JSON"},
    {"header of nothing", "", 0, 0, "empty header"},
    {"header cut off", "{", 3797, 91, "at least 3,705 bytes are missing"},
    {"header of 2^64 - 1 bytes", "{}", -2, 0, "header of 18446744073709551615 bytes"},
    {"header past 100,000,000", "{}", 100000001, 0, "header of 100000001 bytes"},
    {"header longer than the file", "{}", 100000000, 0, "99,999,998 bytes are missing"},
};

static void open_broken(const char *rule, const void *bytes, size_t n, const char *part) {
    /* A copy of exactly n bytes lets the address checker see any read past its end. */
    unsigned char *copy = xmalloc(n);
    if (n) memcpy(copy, bytes, n);
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("some/model.safetensors", copy, n, &e);
    if (f) fail_msg("%s: was accepted", rule);
    if (e.code != ERR_INPUT || !strstr(e.text, part) || !strstr(e.text, "some/model.safetensors"))
        fail_msg("%s: %d, \"%s\" lacks \"%s\" or the file", rule, e.code, e.text, part);
    free(copy);
}

static void test_headers(void **state) {
    (void)state;
    assert_true(COUNT_OF(cases) >= 40);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct broken *c = &cases[i];
        struct buf file = BUF_INIT;
        uint64_t length = c->length == -1   ? strlen(c->header)
                          : c->length == -2 ? UINT64_MAX
                                            : (uint64_t)c->length;
        buf_add(&file, &length, 8);
        buf_puts(&file, c->header);
        for (size_t k = 0; k < c->data; k++) buf_putc(&file, '\0');
        open_broken(c->rule, file.data, file.size, c->part);
        buf_release(&file);
    }
}

static void test_other_files(void **state) {
    (void)state;
    open_broken("no bytes", "", 0, "empty file (0 bytes)");
    open_broken("three bytes", "abc", 3, "3 bytes");
    open_broken("eight zeros", "\0\0\0\0\0\0\0\0", 8, "empty header");
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:0000000000000000000000000000000000000000000000000000000000000000\nsize 10557\n";
    open_broken("pointer", pointer, strlen(pointer),
                "a Git LFS pointer; the weights (10557 bytes) were not");
    open_broken("pickle", "PK\x03\x04 and more bytes", 20, "zip without a directory");
    open_broken("web page", "<!DOCTYPE html><html></html>", 28, "a web page");
}

static void test_deep_header(void **state) {
    (void)state;
    enum { N = 100000 };
    struct buf file = BUF_INIT;
    uint64_t length = N + 5;
    buf_add(&file, &length, 8);
    buf_puts(&file, "{\"t\":");
    for (int i = 0; i < N; i++) buf_putc(&file, '[');
    open_broken("deep", file.data, file.size, "nested deeper than");
    buf_release(&file);
}

static void test_long_name(void **state) {
    (void)state;
    char name[514];
    memset(name, 'n', 513);
    name[513] = '\0';
    char *header =
        xprintf("{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", name);
    struct buf file = BUF_INIT;
    uint64_t length = strlen(header);
    buf_add(&file, &length, 8);
    buf_puts(&file, header);
    buf_add(&file, "\0\0\0\0", 4);
    open_broken("long name", file.data, file.size, ": 513 bytes");
    buf_release(&file);
    free(header);
}

static void test_many_tensors(void **state) {
    (void)state;
    struct buf file = BUF_INIT;
    uint64_t length = 0;
    buf_add(&file, &length, 8);
    for (int i = 0; i <= 100000; i++)
        buf_printf(&file, "%c\"%d\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}",
                   i ? ',' : '{', i);
    buf_putc(&file, '}');
    length = file.size - 8;
    memcpy(file.data, &length, 8);
    open_broken("many tensors", file.data, file.size, ": 100001 tensors");
    buf_release(&file);
}

/* Every proper prefix of a valid file is refused. */
static void test_every_cut(void **state) {
    (void)state;
    struct buf file = BUF_INIT;
    static const char header[] = "{" F32("a", "[0,4]") "," F32("b", "[4,8]") "}  ";
    uint64_t length = strlen(header);
    buf_add(&file, &length, 8);
    buf_puts(&file, header);
    buf_add(&file, "\0\0\0\0\0\0\0\0", 8);
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("m", file.data, file.size, &e);
    assert_non_null(f);
    st_close(f);
    for (size_t n = 0; n < file.size; n++) {
        char *copy = xmalloc(n);
        memcpy(copy, file.data, n);
        f = st_open_memory("m", copy, n, &e);
        if (f) fail_msg("the first %zu bytes were accepted", n);
        free(copy);
    }
    buf_release(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),   cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_deep_header), cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_many_tensors), cmocka_unit_test(test_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
