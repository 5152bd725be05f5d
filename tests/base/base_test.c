#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/scratch.h"
#include "core/base/text.h"
#include "tests/support/test.h"

static void sha256_of_known_text(void **state) {
    (void)state;
    char hex[65];
    sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void control_characters_become_visible(void **state) {
    (void)state;
    static const char raw[] = "a\x1b]0;X\x07" "b\xc2\x9b" "31m\xff";
    char *shown = text_visible(raw, sizeof raw - 1);
    for (const char *p = shown; *p; p++) assert_true((unsigned char)*p >= 0x20);
    assert_null(strstr(shown, "\xc2\x9b"));
    assert_int_equal(text_width(shown), 13);
    free(shown);
}

static void widths_are_columns(void **state) {
    (void)state;
    assert_int_equal(text_width("好"), 2);
    assert_int_equal(text_width("e\u0301"), 1);
    assert_int_equal(text_fit("a好b", 2), 1);
    assert_int_equal(text_fit("a好b", 3), 4);
}

static void numbers_are_whole_strings(void **state) {
    (void)state;
    double v;
    assert_true(text_to_double("1e-12", &v) && v == 1e-12);
    assert_false(text_to_double("2,6", &v));
    assert_false(text_to_double("1.0 ", &v));
    assert_false(text_to_double("nan", &v));
    assert_false(text_to_double("0x10", &v));
    assert_false(text_to_double("", &v));
    int64_t n;
    assert_true(text_to_int("-12", &n) && n == -12);
    assert_false(text_to_int("99999999999999999999", &n));
    static const struct {
        const char *text, *is; /* "-": no list of at most five integers */
    } lists[] = {
        {"1,2,3", "1 2 3 "}, {" 1 , 2 ", "1 2 "}, {"{1, 2}", "1 2 "}, {"1..3", "1 2 3 "}, {"{ 3 .. 1 , 8 }", "3 2 1 8 "},
        {"-1..1", "-1 0 1 "}, {"7", "7 "}, {"1..5", "1 2 3 4 5 "}, {"1..6", "-"}, {"1,2,3,4,5,6", "-"}, {"", "-"}, {"1,,2", "-"},
        {"1..", "-"}, {"..3", "-"}, {"1.5", "-"}, {"1..2.5", "-"}, {"{1", "-"}, {"a", "-"}, {"1..9223372036854775807", "-"},
    };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        int64_t out[5];
        struct buf b = BUF_INIT;
        int count = text_to_ints(lists[i].text, out, 5);
        for (int k = 0; k < count; k++) buf_printf(&b, "%lld ", (long long)out[k]);
        if (count < 0) buf_puts(&b, "-");
        assert_string_equal(buf_text(&b), lists[i].is);
        buf_release(&b);
    }
    char shown[32];
    text_from_double(0.1, shown);
    assert_string_equal(shown, "0.1");
    static const struct {
        double v;
        const char *text;
    } plain[] = { { 20, "20" }, { 0, "0" }, { 1234.5, "1234.5" }, { 1e-5, "1e-05" }, { 0.0001, "0.0001" },
                  { 1e15, "1e+15" }, { 123456789012345, "123456789012345" }, { -3e-3, "-0.003" },
                  { 0.1 + 0.2, "0.30000000000000004" }, { 999.9999999999999, "999.9999999999999" } };
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        text_from_double(plain[i].v, shown);
        assert_string_equal(shown, plain[i].text);
    }
    text_from_float(0.1f, shown);
    assert_string_equal(shown, "0.1");
    text_thousands(-1234567, shown);
    assert_string_equal(shown, "-1,234,567");
}

static void arrays_take_what_has_room(void **state) {
    (void)state;
    char out[8] = "";
    size_t n = text_more(out, sizeof out, 0, "%s", "abc");
    assert_int_equal(n, 3);
    n = text_more(out, sizeof out, n, "%s%d", "de", 123456);
    assert_string_equal(out, "abcde12");
    assert_int_equal(n, 7);
    assert_int_equal(text_more(out, sizeof out, n, "more"), 7);
    assert_string_equal(out, "abcde12");
    n = text_more(out, sizeof out, 4, "\u2026\u2026"); /* no part of a character */
    assert_string_equal(out, "abcd\u2026");
    assert_int_equal(n, 7);
    assert_int_equal(text_more(out, sizeof out, 5, "\u2026"), 5);
    assert_int_equal(text_more(out, sizeof out, 5, "\u00E9"), 7);
}

static void near_names_are_found(void **state) {
    (void)state;
    const char *names[] = { "lora", "prefix", "full" };
    assert_string_equal(text_nearest("lroa", names, 3), "lora");
    assert_null(text_nearest("xyzxyz", names, 3));
}

/* What is quoted for a shell is read again as it was. */
static void quoted_words_are_read_again(void **state) {
    (void)state;
    static const char *const words[] = { "plain", "", "it's", "a \"b\" 'c'", "\\", "d\\e", " f" };
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        buf_putc(&b, ' ');
        text_shell_word(&b, words[i]);
    }
    const char *at = buf_text(&b);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        char *word = text_word(&at);
        assert_string_equal(word, words[i]);
        free(word);
    }
    assert_null(text_word(&at));
    buf_release(&b);
}

static void a_written_file_is_whole_or_absent(void **state) {
    (void)state;
    char *folder = test_folder();
    struct err e = ERR_INIT;
    char *path = test_file(folder, "a", "hello", 5);
    struct file_atomic f;
    test_ok(file_atomic_open(&f, path, &e), &e);
    test_ok(file_atomic_add(&f, "half", 4, &e), &e);
    file_atomic_abandon(&f);
    struct buf text;
    test_ok(file_read(path, 100, &text, &e), &e);
    assert_string_equal(buf_text(&text), "hello");
    buf_release(&text);
    test_refused(file_read(path, 3, &text, &e), ERR_INPUT, &e, "5 bytes");
    test_refused(file_read(folder, 3, &text, &e), ERR_INPUT, &e, "not a regular file");
    free(path);
    path = file_join(folder, "absent");
    test_refused(file_read(path, 3, &text, &e), ERR_NOT_FOUND, &e, "absent");
    free(path);
    free(folder);
}

static void a_lock_is_held_once(void **state) {
    (void)state;
    char *folder = test_folder();
    char *path = file_join(folder, "lock");
    struct err e = ERR_INIT;
    int first, second;
    test_ok(file_lock(path, false, &first, &e), &e);
    assert_true(first >= 0);
    test_ok(file_lock(path, false, &second, &e), &e);
    assert_int_equal(second, -1);
    file_unlock(first);
    test_ok(file_lock(path, false, &second, &e), &e);
    assert_true(second >= 0);
    file_unlock(second);
    free(path);
    free(folder);
}

static void json_has_limits(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    assert_null(json_parse("f", "{\"a\":1,\"a\":2}", 13, &e));
    assert_non_null(strstr(e.text, "line 1"));
    char *deep = xmalloc(200000);
    memset(deep, '[', 200000);
    assert_null(json_parse("f", deep, 200000, &e));
    assert_non_null(strstr(e.text, "deeper"));
    free(deep);
    assert_null(json_parse("f", "[\"\\ud800\"]", 10, &e));
    assert_null(json_parse("f", "[NaN]", 5, &e));
    json_int_t whole;
    static const char big[] = "{\"max\":1000000000000000019884624838656,\"n\":9223372036854775807,\"s\":\"99999999999999999999\"}";
    json_t *o = json_parse("f", big, sizeof big - 1, &e);
    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "max")), "1000000000000000019884624838656");
    assert_true(json_get_int(o, "f", "n", &whole, &e) && whole == INT64_MAX);
    assert_string_equal(json_string_value(json_object_get(o, "s")), "99999999999999999999");
    assert_false(json_get_int(o, "f", "max", &whole, &e));
    test_refused(e.code, ERR_INPUT, &e, "\"max\" must be an integer");
    json_decref(o);
    struct buf b = BUF_INIT;
    json_add_string(&b, "a\"\n\x1b好");
    assert_string_equal(buf_text(&b), "\"a\\\"\\u000a\\u001b好\"");
    buf_clear(&b);
    json_add_double(&b, NAN);
    assert_string_equal(buf_text(&b), "\"nan\"");
    buf_release(&b);
}

static void random_numbers_depend_on_key_and_counter_only(void **state) {
    (void)state;
    struct rng_key a = rng_key(1, RNG_DROPOUT, 7, rng_site("x")), b = rng_key(1, RNG_DROPOUT, 8, rng_site("x"));
    assert_true(rng_bits(a, 5) == rng_bits(a, 5));
    assert_true(rng_bits(a, 5) != rng_bits(b, 5));
    double sum = 0, squares = 0, uniform = 0;
    enum { N = 100000 };
    for (uint64_t i = 0; i < N; i++) {
        double v = rng_normal(a, i);
        sum += v;
        squares += v * v;
        uniform += rng_uniform(b, i);
    }
    assert_true(fabs(sum / N) < 0.02 && fabs(squares / N - 1) < 0.03 && fabs(uniform / N - 0.5) < 0.005);
    uint32_t order[100], seen[100] = { 0 };
    rng_permute(a, order, 100);
    for (int i = 0; i < 100; i++) seen[order[i]]++;
    for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);
}

/* A condition and its deadline go by the same clock: else the wait ends at once, or when the day is set. */
static void a_deadline_is_waited_for(void **state) {
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never;
    clock_cond_init(&never);
    double from = clock_seconds();
    int64_t ms = clock_ms();
    struct timespec until = clock_after(0.03);
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&never, &lock, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&lock);
    double took = clock_seconds() - from;
    assert_true(took >= 0.03 && took < 20);
    assert_true(clock_ms() - ms >= 30);
    struct timespec later = clock_after(1.75);
    assert_true(later.tv_sec >= until.tv_sec + 1 && later.tv_nsec >= 0 && later.tv_nsec < 1000000000);
    pthread_cond_destroy(&never);
}

/* What a killed process left goes with the next of its kind; what is held, is young or of another kind stays. */
static void left_folders_are_removed(void **state) {
    (void)state;
    char *home = test_folder(), *left = file_join(home, "petri-kind-aaaaaa"), *young = file_join(home, "petri-kind-bbbbbb"),
         *other = file_join(home, "petri-others-aaaaaa");
    struct scratch held, s;
    struct err e = ERR_INIT;
    setenv("TMPDIR", home, 1);
    test_ok(scratch_make(&held, "kind", &e), &e);
    test_put(held.folder, "used", "");
    const char *const made[] = {left, other, young};
    for (size_t i = 0; i < COUNT_OF(made); i++) test_ok(file_make_folder(made[i], &e), &e);
    test_put(left, "big", "rows");
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    const char *const old[] = {left, other, held.folder};
    for (size_t i = 0; i < COUNT_OF(old); i++) assert_int_equal(utimensat(AT_FDCWD, old[i], long_ago, 0), 0);
    test_ok(scratch_make(&s, "kind", &e), &e);
    assert_false(file_exists(left));
    assert_true(file_exists(other) && file_exists(young) && file_exists(held.folder) && file_exists(s.folder));
    scratch_drop(&s);
    scratch_drop(&held);
    assert_true(file_exists(other));
    unsetenv("TMPDIR");
    free(home), free(left), free(young), free(other);
}

/* ---- guards ---- */

struct guarded {
    int reached;
    size_t inner;
};

static void lacks_seven(void *self) {
    struct guarded *x = self;
    x->reached++;
    mem_lack(7);
}

static void guards_again(void *self) {
    struct guarded *x = self;
    x->inner = mem_guard(lacks_seven, x);
    x->reached++;
    struct mem_guard *guard = mem_guard_pause();
    free(xmalloc(16)); /* not refused: the guard is lifted */
    mem_guard_resume(guard);
    free(xmalloc(1000));
    x->reached++;
}

static bool refuse_all(size_t bytes) { return bytes > 0; }

static void a_guard_ends_what_lacks_memory(void **state) {
    (void)state;
    struct guarded x = { 0 };
    assert_int_equal(mem_guard(guards_again, &x), 0);
    assert_int_equal(x.inner, 7);
    assert_int_equal(x.reached, 3);
    mem_on_request(refuse_all);
    free(xmalloc(16)); /* no guard, not refused */
    assert_int_equal(mem_guard(guards_again, &x), 1000);
    mem_on_request(NULL);
    assert_int_equal(x.reached, 5);
}

int main(void) {
    setlocale(LC_CTYPE, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guard_ends_what_lacks_memory),
        cmocka_unit_test(sha256_of_known_text),
        cmocka_unit_test(control_characters_become_visible),
        cmocka_unit_test(widths_are_columns),
        cmocka_unit_test(numbers_are_whole_strings),
        cmocka_unit_test(arrays_take_what_has_room),
        cmocka_unit_test(near_names_are_found),
        cmocka_unit_test(quoted_words_are_read_again),
        cmocka_unit_test(a_written_file_is_whole_or_absent),
        cmocka_unit_test(a_lock_is_held_once),
        cmocka_unit_test(json_has_limits),
        cmocka_unit_test(random_numbers_depend_on_key_and_counter_only),
        cmocka_unit_test(a_deadline_is_waited_for),
        cmocka_unit_test(left_folders_are_removed),
    };
    return cmocka_run_group_tests_name("core/base", tests, NULL, NULL);
}
