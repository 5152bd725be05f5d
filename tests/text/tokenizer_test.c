#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"
#include "core/text/tokenizer.h"
#include "tests/text/support.h"

#define MINILM "assets/models/all-MiniLM-L6-v2"

static char *ids_text(const struct encoded *x) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < x->n; i++) buf_printf(&b, i ? " %d" : "%d", x->ids[i]);
    buf_add(&b, "", 0);
    return b.data ? buf_take(&b) : xstrdup("");
}

static size_t check_lines(const struct tokenizer *t, const char *name) {
    struct buf text = fixture(name);
    size_t line = 0;
    char *rest = text.data, *one;
    while ((one = strsep(&rest, "\n")) && *one) {
        char *field[3] = {one, NULL, NULL};
        int fields = 1;
        for (char *p = one; *p; p++)
            if (*p == '\t' && fields < 3) {
                *p = '\0';
                field[fields++] = p + 1;
            }
        size_t a = unescape(field[0]), b = fields == 3 ? unescape(field[1]) : 0;
        struct encoded x;
        struct err e = ERR_INIT;
        line++;
        test_ok(tokenizer_encode(t, field[0], a, fields == 3 ? field[1] : NULL, b, 100000, &x, &e),
                &e);
        char *got = ids_text(&x);
        if (strcmp(got, field[fields - 1]))
            fail_msg("%s line %zu: ids %s, not %s", name, line, got, field[fields - 1]);
        free(got);
        encoded_release(&x);
    }
    buf_release(&text);
    return line;
}

static void odd_lines_tiny(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/wordpiece_tiny");
    assert_int_equal(check_lines(t, "tests/reference/wordpiece_tiny.tsv"), 1500);
    tokenizer_free(t);
}

static void odd_lines_minilm(void **state) {
    (void)state;
    struct tokenizer *t = read_fetched(MINILM);
    assert_int_equal(check_lines(t, "tests/reference/wordpiece_minilm.tsv"), 2000);
    tokenizer_free(t);
}

static void vocabulary_file_gives_the_same(void **state) {
    (void)state;
    tokenizer_free(read_fetched(MINILM));
    char *folder = test_folder();
    char *from = test_path(MINILM "/vocab.txt");
    struct buf vocab;
    struct err e = ERR_INIT;
    test_ok(file_read(from, 1 << 20, &vocab, &e), &e);
    free(test_file(folder, "vocab.txt", vocab.data, vocab.size));
    struct tokenizer *t = read_folder(folder);
    assert_int_equal(check_lines(t, "tests/reference/wordpiece_minilm.tsv"), 2000);
    tokenizer_free(t);
    buf_release(&vocab);
    free(from);
    free(folder);
}

static void every_code_point(void **state) {
    (void)state;
    static const struct bert_normalizer kind[] = {
        {true, true, true, true}, {false, false, false, true}, {true, false, false, false}};
    struct buf want = fixture("tests/reference/wordpiece_unicode.txt"), text = BUF_INIT;
    const char *at = want.data;
    for (uint32_t block = 0; block < 0x110000; block += 0x1000, at += 24) {
        if (passed_over(block)) continue;
        struct sha256 *h = sha256_start();
        for (uint32_t cp = block; cp < block + 0x1000; cp++) {
            if (cp >= 0xD800 && cp < 0xE000) continue;
            char raw[6] = "a";
            size_t n = 1 + utf8_encode(cp, raw + 1), from, to, done;
            raw[n++] = 'b';
            for (size_t k = 0; k < COUNT_OF(kind); k++) {
                buf_clear(&text);
                bert_normalize(&kind[k], raw, n, &text);
                for (done = 0; bert_next_word(text.data, text.size, &done, &from, &to);) {
                    sha256_add(h, text.data + from, to - from);
                    sha256_add(h, "\n", 1);
                }
                sha256_add(h, "\n", 1);
            }
        }
        char hex[65], line[32];
        sha256_finish(h, hex);
        snprintf(line, sizeof line, "%06x %.16s\n", block, hex);
        if (strncmp(at, line, 24)) fail_msg("block %06x differs from the reference", block);
    }
    buf_release(&want);
    buf_release(&text);
}

/* Canonical order comes before nonspacing marks are dropped, and stops at starters. */
static void marks_are_ordered(void **state) {
    (void)state;
    static const struct bert_normalizer uncased = {true, true, true, true};
    static const char *const pair[][2] = {
        {"a\u302e\U0001d165b", "a\U0001d165\u302eb"},
        {"a\u302e\u0301\U0001d165", "a\U0001d165\u302e"},
        {"a\u302e\u034f\U0001d165", "a\u302e\U0001d165"},
        {"\u302f\u302e\u302f\U0001d165", "\U0001d165\u302f\u302e\u302f"},
        {"\u302e\u6211\U0001d165", "\u302e \u6211 \U0001d165"},
        {"\u302e\u200d\U0001d165", "\U0001d165\u302e"},
    };
    for (size_t i = 0; i < COUNT_OF(pair); i++) {
        struct buf out = BUF_INIT;
        bert_normalize(&uncased, pair[i][0], strlen(pair[i][0]), &out);
        assert_string_equal(buf_text(&out), pair[i][1]);
        buf_release(&out);
    }
}

/* One line's ids by their digest; the fixture holds only digests of the lines. */
static void check_shared(void *self, const char *line, size_t n, const char *digest,
                         const char *file, size_t number) {
    struct encoded x;
    struct err e = ERR_INIT;
    test_ok(tokenizer_encode(self, line, n, NULL, 0, 100000, &x, &e), &e);
    char *ids = ids_text(&x), hex[65];
    sha256_hex(ids, strlen(ids), hex);
    if (strncmp(hex, digest, 16))
        fail_msg("%s line %zu: other ids for: %.*s", file, number, (int)n, line);
    free(ids);
    encoded_release(&x);
}

static void shared_lines(void **state) {
    (void)state;
    const char *shared = test_shared_data();
    struct tokenizer *t = read_fetched(MINILM);
    shared_lines_of(shared, "tests/reference/wordpiece_shared.txt", 1, check_shared, t);
    tokenizer_free(t);
}

/* V13: the edge words of WordPiece, without special tokens. */
static void edge_words(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/wordpiece_tiny");
    char bs[128] = "a";
    memset(bs + 1, 'b', 100);
    static const struct {
        const char *text;
        int32_t n, id[8];
    } want[] = {
        {"The cat sat on the mat.", 7, {5, 6, 7, 8, 5, 9, 15}},
        {"unaffable", 3, {10, 11, 12}}, {"unaffx", 1, {1}},
        {"Caf\u00e9", 1, {14}}, {"Cafe\u0301", 1, {14}},
        {"CAF\u00c9S", 2, {14, 13}}, {"\u6211\u7231cat", 3, {20, 21, 6}},
        {"don't", 3, {1, 18, 1}}, {"a\u200bb", 2, {22, 23}}, {"a\tb", 2, {22, 1}},
        {"not good!", 3, {25, 26, 17}}, {"   ", 0, {0}}, {"", 0, {0}},
    };
    int32_t *ids = NULL;
    size_t room = 0;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        size_t n = tokenizer_ids(t, want[i].text, strlen(want[i].text), &ids, &room);
        assert_int_equal(n, want[i].n);
        if (n) assert_memory_equal(ids, want[i].id, n * sizeof *ids);
    }
    assert_int_equal(tokenizer_ids(t, bs, 100, &ids, &room), 100);
    assert_int_equal(ids[0], 22);
    for (int i = 1; i < 100; i++) assert_int_equal(ids[i], 23);
    assert_int_equal(tokenizer_ids(t, bs, 101, &ids, &room), 1);
    assert_int_equal(ids[0], 1);
    free(ids);
    tokenizer_free(t);
}

/* "cat cat cat"; caller frees. */
static char *repeat(const char *word, int n) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < n; i++) buf_printf(&b, i ? " %s" : "%s", word);
    return b.data ? buf_take(&b) : xstrdup("");
}

/* Cutting pairs: the longer side first, both end tokens kept, never past the limit. */
static void pairs_are_cut(void **state) {
    (void)state;
    static const struct {
        int a, b;
        size_t limit;
        const char *ids;
        size_t cut_a, cut_b;
    } want[] = {
        {0, 20, 8, "2 3 9 9 9 9 9 3", 0, 15}, {20, 0, 8, "2 6 6 6 6 6 3 3", 15, 0},
        {12, 2, 8, "2 6 6 6 3 9 9 3", 9, 0}, {6, 6, 8, "2 6 6 3 9 9 9 3", 4, 3},
        {3, 9, 8, "2 6 6 3 9 9 9 3", 1, 6}, {2, 3, 8, "2 6 6 3 9 9 9 3", 0, 0},
        {0, 0, 8, "2 3 3", 0, 0}, {2, 2, 4, "2 3 9 3", 2, 1}, {9, 3, 8, "2 6 6 6 3 9 9 3", 6, 1},
        {2, 2, 3, "2 3 3", 2, 2},
    };
    struct tokenizer *t = read_reference("tests/reference/wordpiece_tiny");
    struct err e = ERR_INIT;
    struct encoded x;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        char *a = repeat("cat", want[i].a), *b = repeat("mat", want[i].b);
        test_ok(tokenizer_encode(t, a, strlen(a), b, strlen(b), want[i].limit, &x, &e), &e);
        char *ids = ids_text(&x);
        assert_string_equal(ids, want[i].ids);
        assert_int_equal(x.cut_a, want[i].cut_a);
        assert_int_equal(x.cut_b, want[i].cut_b);
        assert_int_equal(x.vanished, want[i].limit <= 4);
        int seps = 0;
        for (size_t k = 0; k < x.n; k++) {
            assert_int_equal(x.types[k], seps > 0);
            seps += x.ids[k] == 3;
        }
        free(a);
        free(b);
        free(ids);
        encoded_release(&x);
    }
    test_refused(tokenizer_encode(t, "cat", 3, "mat", 3, 2, &x, &e), ERR_USAGE, &e,
                 "3 special tokens");
    test_refused(tokenizer_encode(t, "cat", 3, NULL, 0, 1, &x, &e), ERR_USAGE, &e,
                 "2 special tokens");
    test_ok(tokenizer_encode(t, "cat cat cat", 11, NULL, 0, 4, &x, &e), &e);
    assert_int_equal(x.n, 4);
    assert_int_equal(x.ids[3], 3);
    assert_int_equal(x.cut_a, 1);
    encoded_release(&x);
    tokenizer_free(t);
}

static void special_tokens_in_text(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/wordpiece_tiny");
    struct err e = ERR_INIT;
    struct encoded x;
    test_ok(tokenizer_encode(t, "cat [SEP] mat", 13, "the mat", 7, 64, &x, &e), &e);
    char *ids = ids_text(&x);
    assert_string_equal(ids, "2 6 3 9 3 5 9 3");
    for (size_t i = 0; i < 8; i++) assert_int_equal(x.types[i], i >= 5);
    assert_true(x.special_in_text);
    free(ids);
    encoded_release(&x);
    test_ok(tokenizer_encode(t, "cat [sep] \u00c9a", 13, NULL, 0, 64, &x, &e), &e);
    assert_false(x.special_in_text);
    assert_int_equal(x.unknown, 3);
    assert_int_equal(x.plain, 5);
    assert_int_equal(x.greatest, 35);
    encoded_release(&x);
    tokenizer_free(t);
}

static void million_byte_words_stay_linear(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/wordpiece_tiny");
    enum { SIZE = 1 << 20 };
    char *s = xmalloc(SIZE);
    int32_t *ids = NULL;
    size_t room = 0;
    static const char *const unit[] = {"a",
                                       "\xCC\x81\xCC\xA7",
                                       "\xE3\x80\xAE\xE3\x80\xAF",
                                       "<x",
                                       "\xFF",
                                       "\xE6\x88\x91",
                                       "[",
                                       " ",
                                       "\xF0\x9D\x85\xA5\xE3\x80\xAE"};
    for (size_t u = 0; u < COUNT_OF(unit); u++) {
        size_t size = strlen(unit[u]);
        for (size_t i = 0; i + size <= SIZE; i += size) memcpy(s + i, unit[u], size);
        size_t n = tokenizer_ids(t, s, SIZE / size * size, &ids, &room);
        assert_true(n <= SIZE);
    }
    free(ids);
    free(s);
    tokenizer_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_lines_tiny),
        cmocka_unit_test(odd_lines_minilm),
        cmocka_unit_test(vocabulary_file_gives_the_same),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(marks_are_ordered),
        cmocka_unit_test(shared_lines),
        cmocka_unit_test(edge_words),
        cmocka_unit_test(pairs_are_cut),
        cmocka_unit_test(special_tokens_in_text),
        cmocka_unit_test(million_byte_words_stay_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
