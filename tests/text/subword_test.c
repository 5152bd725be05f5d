/* Byte-level BPE and Unigram beside the tokenizers library: odd lines, lines of real text,
 * every code point.  make_subword.py, make_variants.py and make_bytelevel.py in tests/reference/ make the fixtures. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"
#include "core/text/tokenizer.h"
#include "tests/text/support.h"

enum { BPE, UNIGRAM, T5, KINDS };

static const char *const folder_of[KINDS] = {
    "tests/reference/bpe_tiny", "tests/reference/unigram_tiny", "assets/models/flan-t5-small"};

static void add_numbers(struct buf *b, const int32_t *x, size_t n) {
    for (size_t i = 0; i < n; i++) buf_printf(b, i ? " %d" : "%d", x[i]);
}

/* Ids, types and both decoded texts of a line, a line each. */
static void result(const struct tokenizer *t, const char *a, size_t a_size, const char *b,
                   size_t b_size, struct buf *out) {
    struct encoded x;
    struct err e = ERR_INIT;
    test_ok(tokenizer_encode(t, a, a_size, b, b_size, 100000, &x, &e), &e);
    buf_clear(out);
    add_numbers(out, x.ids, x.n);
    buf_putc(out, '\n');
    add_numbers(out, x.types, x.n);
    for (int skip_special = 0; skip_special < 2; skip_special++) {
        buf_putc(out, '\n');
        tokenizer_decode(t, x.ids, x.n, skip_special, out);
    }
    encoded_release(&x);
}

static void check_digest(const struct buf *got, const char *digest, const char *file, size_t line) {
    char hex[65];
    sha256_hex(buf_text(got), got->size, hex);
    if (strncmp(hex, digest, 16))
        fail_msg("%s line %zu: other than the reference: %s", file, line, buf_text(got));
}

/* ---- odd lines ---- */

static void odd_lines(const struct tokenizer *t, int kind) {
    struct buf lines = fixture("tests/reference/odd_lines.txt"), got = BUF_INIT;
    struct buf digests = fixture("tests/reference/odd_digests.txt");
    char *rest = lines.data, *one;
    size_t line = 0;
    while ((one = strsep(&rest, "\n")) && rest) {
        char *second = strchr(one, '\t');
        if (second) *second++ = '\0';
        size_t a = unescape(one), b = second ? unescape(second) : 0;
        result(t, one, a, second, b, &got);
        check_digest(&got, digests.data + line * 17 * KINDS + 17 * (size_t)kind, "odd_lines.txt",
                     line + 1);
        line++;
    }
    assert_int_equal(line, 2000);
    buf_release(&lines);
    buf_release(&digests);
    buf_release(&got);
}

static void odd_lines_bpe(void **state) {
    (void)state;
    struct tokenizer *t = read_reference(folder_of[BPE]);
    odd_lines(t, BPE);
    tokenizer_free(t);
}

static void odd_lines_unigram(void **state) {
    (void)state;
    struct tokenizer *t = read_reference(folder_of[UNIGRAM]);
    odd_lines(t, UNIGRAM);
    tokenizer_free(t);
}

static void odd_lines_t5(void **state) {
    (void)state;
    struct tokenizer *t = read_fetched(folder_of[T5]);
    odd_lines(t, T5);
    tokenizer_free(t);
}

/* vocab.json and merges.txt give what tokenizer.json gives. */
static void vocabulary_and_merges(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/bpe_tiny/files");
    odd_lines(t, BPE);
    tokenizer_free(t);
}

/* The same of Qwen2, in the files that its class saves. */
static void vocabulary_and_merges_of_qwen2(void **state) {
    (void)state;
    struct buf file = fixture("tests/reference/causal/qwen2/tokenizer.json"), lines = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
    struct err e = ERR_INIT;
    json_t *root = json_parse("tokenizer.json", file.data, file.size, &e), *model = json_object_get(root, "model"), *x;
    json_t *settings = json_pack("{s:s,s:{}}", "tokenizer_class", "Qwen2Tokenizer", "added_tokens_decoder");
    char *folder = test_folder(), id[16], *text;
    size_t i;
    json_array_foreach(json_object_get(model, "merges"), i, x)
        buf_printf(&lines, "%s %s\n", json_string_value(json_array_get(x, 0)), json_string_value(json_array_get(x, 1)));
    json_array_foreach(json_object_get(root, "added_tokens"), i, x) {
        snprintf(id, sizeof id, "%d", (int)json_integer_value(json_object_get(x, "id")));
        json_object_set(json_object_get(settings, "added_tokens_decoder"), id, x);
    }
    test_put(folder, "merges.txt", lines.data);
    test_put(folder, "vocab.json", text = json_dumps(json_object_get(model, "vocab"), 0));
    free(text);
    test_put(folder, "tokenizer_config.json", text = json_dumps(settings, 0));
    free(text);
    struct tokenizer *t = read_folder(folder), *whole = read_reference("tests/reference/causal/qwen2");
    struct buf odd = fixture("tests/reference/odd_lines.txt");
    for (char *rest = odd.data, *line; (line = strsep(&rest, "\n")) && rest;) {
        size_t n = unescape(line);
        result(t, line, n, NULL, 0, &one);
        result(whole, line, n, NULL, 0, &two);
        assert_string_equal(one.data, two.data);
    }
    tokenizer_free(t);
    tokenizer_free(whole);
    json_decref(root);
    json_decref(settings);
    free(folder);
    buf_release(&file);
    buf_release(&lines);
    buf_release(&odd);
    buf_release(&one);
    buf_release(&two);
}

/* ---- real text ---- */

/* By each of the KINDS that is there. */
static void check_kinds(void *self, const char *line, size_t n, const char *digests,
                        const char *file, size_t number) {
    struct tokenizer *const *t = self;
    struct buf got = BUF_INIT;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!t[kind]) continue;
        result(t[kind], line, n, NULL, 0, &got);
        check_digest(&got, digests + 17 * kind, file, number);
    }
    buf_release(&got);
}

static void shared_lines(void **state) {
    (void)state;
    const char *shared = test_shared_data();
    struct tokenizer *t[KINDS] = {read_reference(folder_of[BPE]), read_reference(folder_of[UNIGRAM])};
    shared_lines_of(shared, "tests/reference/shared_digests.txt", KINDS, check_kinds, t);
    for (int kind = 0; kind < KINDS; kind++) tokenizer_free(t[kind]);
}

static void shared_lines_t5(void **state) {
    (void)state;
    const char *shared = test_shared_data();
    struct tokenizer *t[KINDS] = {[T5] = read_fetched(folder_of[T5])};
    shared_lines_of(shared, "tests/reference/shared_digests.txt", KINDS, check_kinds, t);
    tokenizer_free(t[T5]);
}

/* ---- every code point ---- */

static void pieces_of(void *self, const char *s, size_t n) {
    struct buf *out = self;
    if (out->size) buf_putc(out, '\n');
    buf_add(out, s, n);
}

static void add_cut(struct sha256 *h, const struct pretokenizer *c, const char *s, size_t n) {
    struct pretokenizer_work w = {0};
    struct buf out = BUF_INIT;
    pretokenizer_run(c, s, n, true, &w, pieces_of, &out);
    buf_putc(&out, '\n');
    sha256_add(h, out.data, out.size);
    pretokenizer_work_release(&w);
    buf_release(&out);
}

static void add_forms(struct sha256 *h, const struct normalizer *form, size_t forms, uint32_t cp) {
    struct buf text = BUF_INIT;
    char raw[32] = "a\u0345";
    size_t n = 3 + utf8_encode(cp, raw + 3);
    memcpy(raw + n, "\u0301\u0327b", 5);
    for (size_t i = 0; i < forms; i++) {
        buf_clear(&text);
        normalizer_run(&form[i], raw, n + 5, NULL, &text);
        buf_putc(&text, '\n');
        sha256_add(h, text.data, text.size);
    }
    buf_release(&text);
}

/* The map of sentencepiece, where clusters are looked up as a whole. */
static void add_mapped(struct sha256 *h, const struct normalizer *z, uint32_t cp) {
    static const char *const around[][2] = {{"\u00aa", ""}, {"\u0915\u094d", "\u0301"}};
    for (size_t i = 0; i < COUNT_OF(around); i++) {
        struct buf text = BUF_INIT, out = BUF_INIT;
        char bytes[4];
        buf_puts(&text, around[i][0]);
        buf_add(&text, bytes, utf8_encode(cp, bytes));
        buf_puts(&text, around[i][1]);
        normalizer_run(z, text.data, text.size, NULL, &out);
        buf_putc(&out, '\n');
        sha256_add(h, out.data, out.size);
        buf_release(&text);
        buf_release(&out);
    }
}

static void every_code_point(void **state) {
    (void)state;
    static const struct normalizer form[] = {
        {1, {{.kind = NORMALIZER_FORM, .compose = true}}},
        {1, {{.kind = NORMALIZER_FORM}}},
        {1, {{.kind = NORMALIZER_FORM, .compatible = true, .compose = true}}},
        {1, {{.kind = NORMALIZER_FORM, .compatible = true}}},
        {1, {{.kind = NORMALIZER_LOWERCASE}}},
        {1, {{.kind = NORMALIZER_STRIP_ACCENTS}}},
    };
    static const struct pretokenizer blanks = {1, {{.kind = CUT_BLANKS}}};
    struct pretokenizer bytes = {0};
    pretokenizer_byte_level(&bytes, false);
    struct tokenizer *t = read_reference(folder_of[UNIGRAM]);
    struct buf want = fixture("tests/reference/subword_unicode.txt");
    const char *at = want.data;
    for (uint32_t block = 0; block < 0x110000; block += 0x1000, at += 24) {
        if (passed_over(block)) continue;
        struct sha256 *h = sha256_start();
        for (uint32_t cp = block; cp < block + 0x1000; cp++) {
            char raw[8];
            if (cp >= 0xD800 && cp < 0xE000) continue;
            add_forms(h, form, COUNT_OF(form), cp);
            add_mapped(h, &t->normalizer, cp);
            size_t n = 1 + utf8_encode(cp, raw + 1);
            for (const char *before = "a1!"; *before; before++) {
                raw[0] = *before;
                add_cut(h, &bytes, raw, n);
            }
            raw[0] = 'a';
            raw[n++] = 'b';
            add_cut(h, &blanks, raw, n);
        }
        char hex[65], line[32];
        sha256_finish(h, hex);
        snprintf(line, sizeof line, "%06x %.16s\n", block, hex);
        if (strncmp(at, line, 24)) fail_msg("block %06x differs from the reference", block);
    }
    tokenizer_free(t);
    buf_release(&want);
}

/* What the splits of decoder-only models do to it after and before other characters. */
static void every_code_point_split(void **state) {
    (void)state;
    static const char *const before[] = {"a", "12", "!", " ", "\n", "'"};
    static const struct pretokenizer cut[] = {
        {1, {{.kind = CUT_MATCHES, .regex = REGEX_QWEN2}}},
        {1, {{.kind = CUT_MATCHES, .regex = REGEX_LLAMA3}}},
        {1, {{.kind = CUT_DIGITS, .split = true}}},
        {1, {{.kind = CUT_DIGITS}}},
    };
    struct buf want = fixture("tests/reference/bytelevel_unicode.txt");
    const char *at = want.data;
    for (uint32_t block = 0; block < 0x110000; block += 0x1000, at += 24) {
        if (passed_over(block)) continue;
        struct sha256 *h = sha256_start();
        for (uint32_t cp = block; cp < block + 0x1000; cp++) {
            if (cp >= 0xD800 && cp < 0xE000) continue;
            for (size_t i = 0; i < COUNT_OF(before); i++) {
                char raw[8];
                size_t n = strlen(before[i]);
                memcpy(raw, before[i], n);
                n += utf8_encode(cp, raw + n);
                raw[n++] = 'x';
                for (size_t c = 0; c < COUNT_OF(cut); c++) add_cut(h, &cut[c], raw, n);
            }
        }
        char hex[65], line[32];
        sha256_finish(h, hex);
        snprintf(line, sizeof line, "%06x %.16s\n", block, hex);
        if (strncmp(at, line, 24)) fail_msg("block %06x differs from the reference", block);
    }
    buf_release(&want);
}

/* ---- other parts of tokenizer.json ---- */

/* Of a file in it, or of a folder. */
static struct tokenizer *read_variant(const json_t *variant) {
    const char *named = json_string_value(json_object_get(variant, "folder"));
    if (named) return read_reference(named);
    char *root = json_dumps(json_object_get(variant, "tokenizer"), JSON_COMPACT);
    char *folder = test_folder();
    test_put(folder, "tokenizer.json", root);
    struct tokenizer *t = read_folder(folder);
    free(folder);
    free(root);
    return t;
}

static void check_variant(const json_t *variant, const json_t *texts) {
    const char *name = json_string_value(json_object_get(variant, "name"));
    struct tokenizer *t = read_variant(variant);
    const json_t *digests = json_object_get(variant, "digests");
    struct buf got = BUF_INIT;
    assert_int_equal(json_array_size(digests), json_array_size(texts));
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *a = json_array_get(json_array_get(texts, i), 0);
        const json_t *b = json_array_get(json_array_get(texts, i), 1);
        result(t, json_string_value(a), json_string_length(a), json_string_value(b),
               json_string_length(b), &got);
        check_digest(&got, json_string_value(json_array_get(digests, i)), name, i + 1);
    }
    buf_release(&got);
    tokenizer_free(t);
}

/* Every tokenizer of a file of make_variants.py and make_bytelevel.py. */
static void check_variants(const char *file, size_t tokenizers) {
    struct buf text = fixture(file);
    struct err e = ERR_INIT;
    json_t *texts = NULL;
    size_t count = 0;
    for (char *rest = text.data, *one; (one = strsep(&rest, "\n")) && rest;) {
        json_t *line = json_parse(file, one, strlen(one), &e);
        if (!line) fail_msg("%s", e.text);
        if (!texts) {
            texts = json_incref(json_object_get(line, "texts"));
        } else {
            check_variant(line, texts);
            count++;
        }
        json_decref(line);
    }
    assert_int_equal(count, tokenizers);
    json_decref(texts);
    buf_release(&text);
}

static void variants(void **state) {
    (void)state;
    check_variants("tests/reference/subword_variants.jsonl", 22);
}

static void byte_level_variants(void **state) {
    (void)state;
    check_variants("tests/reference/bytelevel_variants.jsonl", 8);
}

/* Every byte that is no UTF-8 is read as U+FFFD. */
static void invalid_bytes(void **state) {
    (void)state;
    static const char *const pair[][2] = {
        {"a\xFF" "b", "a\uFFFDb"}, {"\xE4\xB8", "\uFFFD\uFFFD"},
        {"the \xC0\x80 cat", "the \uFFFD\uFFFD cat"},
        {"\xED\xA0\x80<s>\x80", "\uFFFD\uFFFD\uFFFD<s>\uFFFD"}, {"\xF5", "\uFFFD"},
    };
    for (int kind = BPE; kind <= UNIGRAM; kind++) {
        struct tokenizer *t = read_reference(folder_of[kind]);
        for (size_t i = 0; i < COUNT_OF(pair); i++) {
            struct buf raw = BUF_INIT, mended = BUF_INIT;
            result(t, pair[i][0], strlen(pair[i][0]), NULL, 0, &raw);
            result(t, pair[i][1], strlen(pair[i][1]), NULL, 0, &mended);
            assert_string_equal(raw.data, mended.data);
            buf_release(&raw);
            buf_release(&mended);
        }
        tokenizer_free(t);
    }
}

/* ---- length ---- */

/* Words of a quarter megabyte of every sort end soon, and none is lost. */
static void long_words(void **state) {
    (void)state;
    enum { SIZE = 1 << 18 };
    static const char *const unit[] = {"a", "ab", "the", " ", "\u0301", "\u4e2d", "\xFF", "'",
                                       "\u2581", "ing", "\n", "\U0001f3ac", "<x", "\u00aa\u0301"};
    char *s = xmalloc(SIZE);
    int32_t *ids = NULL;
    size_t room = 0;
    for (int kind = BPE; kind <= UNIGRAM; kind++) {
        struct tokenizer *t = read_reference(folder_of[kind]);
        for (size_t u = 0; u < COUNT_OF(unit); u++) {
            size_t size = strlen(unit[u]);
            for (size_t i = 0; i + size <= SIZE; i += size) memcpy(s + i, unit[u], size);
            size_t n = tokenizer_ids(t, s, SIZE / size * size, &ids, &room);
            /* T5's chain drops blanks at the end */
            bool blank = unit[u][0] == ' ' || unit[u][0] == '\n';
            if ((n < 1 && !blank) || n > 3 * SIZE)
                fail_msg("kind %d, unit %zu: %zu ids", kind, u, n);
        }
        tokenizer_free(t);
    }
    free(ids);
    free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_lines_bpe),
        cmocka_unit_test(odd_lines_unigram),
        cmocka_unit_test(odd_lines_t5),
        cmocka_unit_test(vocabulary_and_merges),
        cmocka_unit_test(vocabulary_and_merges_of_qwen2),
        cmocka_unit_test(shared_lines),
        cmocka_unit_test(shared_lines_t5),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(every_code_point_split),
        cmocka_unit_test(variants),
        cmocka_unit_test(byte_level_variants),
        cmocka_unit_test(invalid_bytes),
        cmocka_unit_test(long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
