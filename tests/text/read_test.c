#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

#define VOCAB                                                                                      \
    "\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"cat\":4,\"##s\":5,\"CAT\":6,\"caf\u00e9\":" \
    "7,\"cafe\":8"
#define MODEL "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{" VOCAB "}}"
#define NORMAL "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true}"
#define CUT "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define WHOLE "{" MODEL "," NORMAL "," CUT "}"
#define LINES "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\n##s\nCAT\ncaf\u00e9\ncafe\n"

struct files {
    const char *json, *vocab, *settings; /* NULL: absent */
};

static struct tokenizer *read_files(struct files f, struct buf *report, struct err *e) {
    char *folder = test_folder();
    if (f.json) free(test_file(folder, "tokenizer.json", f.json, strlen(f.json)));
    if (f.vocab) free(test_file(folder, "vocab.txt", f.vocab, strlen(f.vocab)));
    if (f.settings)
        free(test_file(folder, "tokenizer_config.json", f.settings, strlen(f.settings)));
    struct tokenizer *t = tokenizer_read(folder, report, e);
    free(folder);
    return t;
}

/* "4 5": the ids of a text. */
static char *ids_of(const struct tokenizer *t, const char *text) {
    int32_t *ids = NULL;
    size_t room = 0, n = tokenizer_ids(t, text, strlen(text), &ids, &room);
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < n; i++) buf_printf(&b, i ? " %d" : "%d", ids[i]);
    free(ids);
    return b.data ? buf_take(&b) : xstrdup("");
}

static void broken_files(void **state) {
    (void)state;
    static const struct {
        struct files f;
        const char *part;
    } bad[] = {
        {{NULL, NULL, NULL}, "tokenizer files are missing: expected tokenizer.json, vocab.json with merges.txt, or vocab.txt"},
        {{"", NULL, NULL}, "not valid JSON"},
        {{"[]", NULL, NULL}, "must be a JSON object"},
        {{"{", NULL, NULL}, "line 1"},
        {{"{}", NULL, NULL}, "\"model\" is missing"},
        {{"{\"model\":[]}", NULL, NULL}, "\"model\" is missing"},
        {{"{\"model\":{\"type\":\"WordLevel\"}}", NULL, NULL},
         ": WordLevel; supported: WordPiece, BPE and Unigram"},
        {{"{\"model\":{\"type\":5,\"vocab\":{}}}", NULL, NULL}, "\"type\" is missing"},
        {{"{\"model\":{\"type\":\"WordPiece\"}}", NULL, NULL}, "\"vocab\""},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", NULL, NULL}, "\"vocab\""},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":[\"a\"]}}", NULL, NULL}, "\"vocab\""},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}}}", NULL, NULL},
         "token \"a\" with id -1"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":4194304}}}", NULL, NULL},
         "between 0 and 4194303"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":1.5}}}", NULL, NULL},
         "not an integer"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":1,\"b\":1}}}", NULL, NULL},
         "belongs to"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":1,\"a\":2}}}", NULL, NULL},
         "duplicate"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":99999999999999999999}}}", NULL,
          NULL},
         "the id of token \"a\" is not an integer"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", NULL, NULL},
         "\"[UNK]\" is not in"},
        {{"{\"model\":{\"type\":\"WordPiece\",\"max_input_chars_per_word\":0,\"vocab\":{\"a\":0}}}",
          NULL, NULL},
         "max_input_chars_per_word"},
        {{"{" MODEL ",\"normalizer\":{\"type\":\"Nmt\"}," CUT "}", NULL, NULL},
         ": Nmt; supported:"},
        {{"{" MODEL ",\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":1}," CUT "}", NULL,
          NULL},
         "\"lowercase\" must be true or false"},
        {{"{" MODEL "," NORMAL "}", NULL, NULL}, "pre_tokenizer"},
        {{"{" MODEL "," NORMAL ",\"pre_tokenizer\":{\"type\":\"Split\"}}", NULL, NULL}, "pre_tokenizer Split: unsupported behavior"},
        {{"{" MODEL "," CUT ",\"added_tokens\":{}}", NULL, NULL}, "must be an array"},
        {{"{" MODEL "," CUT ",\"added_tokens\":[3]}", NULL, NULL}, "added token 0"},
        {{"{" MODEL "," CUT ",\"added_tokens\":[{\"id\":9}]}", NULL, NULL}, "\"content\""},
        {{"{" MODEL "," CUT ",\"added_tokens\":[{\"id\":4,\"content\":\"x\"}]}", NULL, NULL},
         "belongs to \"cat\""},
        {{"{" MODEL "," CUT ",\"added_tokens\":[{\"id\":-3,\"content\":\"x\"}]}", NULL, NULL},
         "id -3"},
        {{"{" MODEL "," CUT ",\"added_tokens\":[{\"id\":1e99,\"content\":\"x\"}]}", NULL, NULL},
         "\"id\""},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"Other\"}}", NULL, NULL},
         ": Other; supported: TemplateProcessing"},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"TemplateProcessing\"}}", NULL, NULL},
         "\"single\""},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
          "[{\"SpecialToken\":{\"id\":\"x\",\"type_id\":0}}]}}",
          NULL, NULL},
         "\"special_tokens\" has no \"ids\" of x"},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
          "[{\"SpecialToken\":{\"id\":\"x\"}}],\"special_tokens\":{\"x\":{\"ids\":[4000]}}}}",
          NULL, NULL},
         "outside the vocabulary"},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
          "[{\"Sequence\":{\"id\":\"A\",\"type_id\":256}}]}}",
          NULL, NULL},
         "a \"type_id\" not between 0 and 255"},
        {{"{" MODEL "," CUT ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
          "[{\"Sequence\":{\"id\":\"C\"}}]}}",
          NULL, NULL},
         "\"C\""},
        {{WHOLE, NULL, "[]"}, "must be a JSON object"},
        {{WHOLE, NULL, "{\"do_lower_case\":\"yes\"}"}, "\"do_lower_case\""},
        {{NULL, "", NULL}, "the vocabulary is empty"},
        {{NULL, "a\nb\na\n", NULL}, "already has an id"},
        {{NULL, "a\n\xff\n", NULL}, "line 2: not UTF-8"},
        {{NULL, "a\nb\n", NULL}, "\"[UNK]\" is not in"},
        {{NULL, "[UNK]\n[CLS]\n", NULL}, "\"[SEP]\" is not in"},
        {{NULL, LINES, "{\"unk_token\":7}"}, "\"unk_token\""},
        {{NULL, LINES, "{\"added_tokens_decoder\":{\"<0x-1>\":{\"content\":\"x\"}}}"},
         "added_tokens_decoder"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e = ERR_INIT;
        struct tokenizer *t = read_files(bad[i].f, NULL, &e);
        if (t) fail_msg("broken file %zu (\"%s\") was read", i, bad[i].part);
        if (!strstr(e.text, bad[i].part))
            fail_msg("file %zu: lacks \"%s\": %s", i, bad[i].part, e.text);
    }
}

static void deep_and_large_files_are_refused_fast(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    for (int i = 0; i < 100000; i++) buf_putc(&b, '[');
    assert_null(read_files((struct files){.json = b.data}, NULL, &e));
    assert_non_null(strstr(e.text, "nested deeper"));
    buf_clear(&b);
    for (int i = 0; i < 70000; i++) buf_putc(&b, 'a');
    assert_null(read_files((struct files){.vocab = b.data}, NULL, &e));
    assert_non_null(strstr(e.text, "longer than 65535 bytes"));
    buf_release(&b);
}

static void settings_have_the_last_word(void **state) {
    (void)state;
    static const struct {
        struct files f;
        const char *cat, *cafe, *part; /* ids of "CAT" and "café"; part of the report */
    } want[] = {
        {{WHOLE, NULL, NULL}, "4", "8", "no post_processor"},
        {{WHOLE, NULL, "{\"do_lower_case\":false}"}, "6", "7", "tokenizer_config.json is used"},
        {{WHOLE, NULL, "{\"do_lower_case\":true,\"strip_accents\":false}"}, "4", "7", "accents"},
        {{"{" MODEL "," CUT "}", NULL, "{\"do_lower_case\":true}"}, "6", "7", ""},
        {{NULL, LINES, NULL}, "4", "8", "lowercased"},
        {{NULL, LINES, "{\"do_lower_case\":false}"}, "6", "7", "special token mask_token is not in"},
        {{WHOLE, "other\n", NULL}, "4", "8", ""},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct err e = ERR_INIT;
        struct buf report = BUF_INIT;
        struct tokenizer *t = read_files(want[i].f, &report, &e);
        if (!t) fail_msg("%s", e.text);
        char *cat = ids_of(t, "CAT"), *cafe = ids_of(t, "caf\u00e9");
        if (strcmp(cat, want[i].cat) || strcmp(cafe, want[i].cafe) ||
            !strstr(buf_text(&report), want[i].part))
            fail_msg("settings %zu: ids %s and %s, report: %s", i, cat, cafe, buf_text(&report));
        free(cat);
        free(cafe);
        buf_release(&report);
        tokenizer_free(t);
    }
}

#define ENDED(post)                                                                                \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"</s>\":1,\"a\":2,\"\u0120a\":3,\"\u0120\":4}," \
    "\"merges\":[[\"\u0120\",\"a\"]]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["       \
    "{\"type\":\"Digits\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]},"                  \
    "\"post_processor\":" post "}"
#define STARTED                                                                                    \
    ENDED("{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"           \
          "{\"Sequence\":{\"id\":\"A\"}}],\"pair\":[{\"Sequence\":{\"id\":\"A\"}},"                   \
          "{\"Sequence\":{\"id\":\"B\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[0]}}}")
#define NAMES "\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"},"

/* The token at the start comes from the template or from add_bos_token, and is added once. */
static void start_token_is_added_once(void **state) {
    (void)state;
    static const struct {
        const char *json, *settings, *one, *two, *part; /* ids of a text and of a pair; part of the report */
    } want[] = {
        {ENDED("null"), NULL, "2", "2 2", "no special tokens are added"},
        {STARTED, NULL, "0 2", "2 2", ""},
        {STARTED, "{" NAMES "\"add_prefix_space\":true}", "0 2", "2 2", ""},
        {STARTED, "{" NAMES "\"add_bos_token\":true}", "0 2", "0 2 0 2", ""},
        {ENDED("{\"type\":\"ByteLevel\"}"), "{" NAMES "\"add_bos_token\":true}", "0 2", "0 2 0 2",
         "has 0, "},
        {STARTED, "{" NAMES "\"add_bos_token\":false,\"add_eos_token\":true}", "2 1", "2 1 2 1", ""},
        {STARTED, "{" NAMES "\"add_bos_token\":false}", "2", "2 2", "has 0; "},
        {STARTED, "{\"bos_token\":null,\"add_bos_token\":true}", "2", "2 2", "has 0; "},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct err e = ERR_INIT;
        struct buf report = BUF_INIT;
        struct tokenizer *t =
            read_files((struct files){.json = want[i].json, .settings = want[i].settings}, &report, &e);
        if (!t) fail_msg("%zu: %s", i, e.text);
        for (int pair = 0; pair < 2; pair++) {
            struct encoded x;
            struct buf got = BUF_INIT;
            test_ok(tokenizer_encode(t, "a", 1, pair ? "a" : NULL, pair, 64, &x, &e), &e);
            for (size_t k = 0; k < x.n; k++) buf_printf(&got, k ? " %d" : "%d", x.ids[k]);
            if (strcmp(got.data, pair ? want[i].two : want[i].one) || !strstr(buf_text(&report), want[i].part))
                fail_msg("%zu: %s, report: %s", i, got.data, buf_text(&report));
            encoded_release(&x);
            buf_release(&got);
        }
        buf_release(&report);
        tokenizer_free(t);
    }
}

static void baked_truncation_is_ignored(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    struct tokenizer *t = read_files(
        (struct files){.json = "{" MODEL "," NORMAL "," CUT
                               ",\"truncation\":{\"max_length\":3},\"padding\":{}}"},
        &report, &e);
    if (!t) fail_msg("%s", e.text);
    assert_non_null(strstr(report.data, "\"truncation\" is ignored"));
    assert_non_null(strstr(report.data, "\"padding\" is ignored"));
    struct encoded x;
    test_ok(tokenizer_encode(t, "cat cat cat", 11, NULL, 0, 64, &x, &e), &e);
    assert_int_equal(x.n, 5);
    encoded_release(&x);
    buf_release(&report);
    assert_int_equal(tokenizer_size(t), 9);
    assert_string_equal(tokenizer_token(t, 4), "cat");
    assert_string_equal(tokenizer_token(t, 99), "?");
    assert_int_equal(tokenizer_id(t, "##s"), 5);
    assert_int_equal(tokenizer_id(t, "dog"), -1);
    tokenizer_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files),
        cmocka_unit_test(deep_and_large_files_are_refused_fast),
        cmocka_unit_test(settings_have_the_last_word),
        cmocka_unit_test(start_token_is_added_once),
        cmocka_unit_test(baked_truncation_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
