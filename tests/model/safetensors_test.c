/* Round trips of st_save, and the conversion of each stored type. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"

static void test_round_trip(void **state) {
    (void)state;
    static const real a[6] = {1, -2, 0.5f, 0, 3e-30f, -0.25f};
    static const int64_t b[2] = {-1, INT64_MAX};
    static const double c[1] = {0.1};
    const struct st_write tensors[] = {
        {"enc.\"a\"", ST_F32, 2, {2, 3}, a},
        {"b", ST_I64, 1, {2}, b},
        {"c", ST_F64, 0, {0}, c},
        {"none", ST_F32, 2, {0, 5}, a},
    };
    const struct st_pair meta[] = {{"format", "pt"}, {"line", "one\ntwo"}};
    char *folder = test_folder(), *path = file_join(folder, "é 名.safetensors");
    struct err e = ERR_INIT;
    test_ok(st_save(path, tensors, COUNT_OF(tensors), meta, COUNT_OF(meta), &e), &e);

    struct st_file *f = st_open(path, &e);
    if (!f) fail_msg("%s", e.text);
    assert_int_equal(st_count(f), 4);
    assert_string_equal(st_meta(f, "format"), "pt");
    assert_string_equal(st_meta(f, "line"), "one\ntwo");
    assert_null(st_meta(f, "other"));
    assert_null(st_find(f, "x"));
    const struct st_tensor *t = st_find(f, "enc.\"a\"");
    assert_non_null(t);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->shape[1], 3);
    real got[6];
    test_ok(st_read(f, t, got, &e), &e);
    assert_memory_equal(got, a, sizeof a);
    int64_t whole[2];
    test_ok(st_read_raw(f, st_find(f, "b"), whole, &e), &e);
    assert_memory_equal(whole, b, sizeof b);
    test_ok(st_read(f, st_find(f, "c"), got, &e), &e);
    assert_true(got[0] == (real)0.1);
    assert_int_equal(st_find(f, "none")->count, 0);
    test_refused(st_read(f, st_find(f, "b"), got, &e), ERR_INPUT, &e, "\"b\": type I64");
    st_close(f);
    free(path);
    free(folder);
}

static void test_repeated_save_replaces(void **state) {
    (void)state;
    real v = 1;
    struct st_write w = {"t", ST_F32, 1, {1}, &v};
    char *folder = test_folder(), *path = file_join(folder, "m.safetensors");
    struct err e = ERR_INIT;
    for (int i = 0; i < 2; i++) {
        v = (real)i;
        test_ok(st_save(path, &w, 1, NULL, 0, &e), &e);
    }
    struct st_file *f = st_open(path, &e);
    real got = -1;
    test_ok(st_read(f, st_at(f, 0), &got, &e), &e);
    assert_true(got == 1);
    st_close(f);
    char *elsewhere = file_join(folder, "absent/m.safetensors");
    assert_int_equal(st_save(elsewhere, &w, 1, NULL, 0, &e), ERR_NOT_FOUND);
    free(elsewhere);
    free(path);
    free(folder);
}

/* A file in memory with one tensor. */
static unsigned char *one_tensor(const char *type, size_t count, const void *data, size_t bytes,
                                 size_t *n) {
    char *header = xprintf("{\"t\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                           type, count, bytes);
    uint64_t length = strlen(header);
    *n = 8 + length + bytes;
    unsigned char *file = xmalloc(*n);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    memcpy(file + 8 + length, data, bytes);
    free(header);
    return file;
}

static void read_types(const char *type, size_t count, const void *data, size_t bytes, real *out) {
    size_t n;
    unsigned char *file = one_tensor(type, count, data, bytes, &n);
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("memory", file, n, &e);
    if (!f) fail_msg("%s", e.text);
    test_ok(st_read(f, st_at(f, 0), out, &e), &e);
    st_close(f);
    free(file);
}

/* A tensor with an invalid value is refused, with the position of the value. */
static void refuse_types(const char *type, size_t count, const void *data, size_t bytes, const char *part) {
    size_t n;
    unsigned char *file = one_tensor(type, count, data, bytes, &n);
    real out[10];
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("memory", file, n, &e);
    if (!f) fail_msg("%s", e.text);
    test_refused(st_read(f, st_at(f, 0), out, &e), ERR_INPUT, &e, part);
    st_close(f);
    free(file);
}

static void test_half_types(void **state) {
    (void)state;
    static const uint16_t half[] = {0x3C00, 0xC000, 0x7BFF, 0x0400, 0x0001,
                                    0x83FF, 0x8000, 0x3555};
    static const double of_half[] = {
        1, -2, 65504, 0x1p-14, 0x1p-24, -1023 * 0x1p-24, 0, 1365 * 0x1p-12};
    real got[8];
    read_types("F16", 8, half, sizeof half, got);
    for (int i = 0; i < 8; i++) assert_true((double)got[i] == of_half[i]);
    assert_true(signbit(got[6]));
    static const uint16_t brain[] = {0x3F80, 0xC000, 0x3E80, 0x0001};
    static const double of_brain[] = {1, -2, 0.25, 0x1p-133};
    read_types("BF16", 4, brain, sizeof brain, got);
    for (int i = 0; i < 4; i++) assert_true((double)got[i] == of_brain[i]);
}

static void test_not_finite(void **state) {
    (void)state;
    static const uint16_t half[] = {0x3C00, 0x7C00, 0xFC00, 0x7E01}, brain[] = {0x7F7F, 0x7F80}, small[] = {0xFC00}, odd[] = {0, 0x7E01};
    static const float single[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, -INFINITY};
    static const double wide[] = {1e300, NAN};
    refuse_types("F16", 4, half, sizeof half, "memory: tensor \"t\": inf at index 1 (from 0), the first of 3 ");
    refuse_types("F16", 1, small, sizeof small, "-inf at index 0 (from 0), the first of 1 ");
    refuse_types("F16", 2, odd, sizeof odd, "nan at index 1 (from 0), the first of 1 ");
    refuse_types("BF16", 2, brain, sizeof brain, "inf at index 1 (from 0), the first of 1 ");
    refuse_types("F32", 10, single, sizeof single, "-inf at index 9 (from 0), the first of 1 ");
    refuse_types("F64", 2, wide, sizeof wide, REAL_IS_DOUBLE ? "nan at index 1" : "inf at index 0");
}

/* Types below a byte: four or six bits per value. */
static void test_packed_types(void **state) {
    (void)state;
    static const struct {
        const char *type;
        size_t count, bytes;
        bool good;
    } cases[] = {{"F4", 4, 2, true}, {"F4", 3, 2, false}, {"F6_E2M3", 4, 3, true}, {"F6_E3M2", 5, 4, false},
                 {"F8_E8M0", 3, 3, true}, {"U16", 3, 6, true}, {"U64", 1, 8, true}, {"C64", 1, 8, true}, {"F12", 2, 3, false}};
    static const unsigned char data[8];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t n;
        unsigned char *file = one_tensor(cases[i].type, cases[i].count, data, cases[i].bytes, &n);
        struct err e = ERR_INIT;
        struct st_file *f = st_open_memory("memory", file, n, &e);
        real got[8];
        if (!f != !cases[i].good) fail_msg("%s: %s", cases[i].type, e.text);
        if (f) test_refused(st_read(f, st_at(f, 0), got, &e), ERR_INPUT, &e, "weights must be F32");
        st_close(f);
        free(file);
    }
}

/* More values than one conversion chunk. */
static void test_long_conversion(void **state) {
    (void)state;
    enum { N = 300001 };
    uint16_t *from = xmalloc(N * sizeof *from);
    real *got = xmalloc(N * sizeof *got);
    for (int i = 0; i < N; i++) from[i] = (uint16_t)(0x3C00 + i % 1024);
    read_types("F16", N, from, N * sizeof *from, got);
    for (int i = 0; i < N; i++)
        if (got[i] != 1 + (real)(i % 1024) / 1024) fail_msg("value %d is %g", i, (double)got[i]);
    free(from);
    free(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_repeated_save_replaces),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_packed_types),
        cmocka_unit_test(test_long_conversion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
