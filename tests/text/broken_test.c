/* Broken vocabularies, merges and tokenizer.json of BPE and Unigram: every one is refused,
 * and the message names the file, the entry, what was found and what would be right. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

struct folder {
    const char *json, *vocab, *merges, *settings; /* NULL: absent */
};

static struct tokenizer *read_files(struct folder f, struct buf *report, struct err *e) {
    char *folder = test_folder();
    if (f.json) free(test_file(folder, "tokenizer.json", f.json, strlen(f.json)));
    if (f.vocab) free(test_file(folder, "vocab.json", f.vocab, strlen(f.vocab)));
    if (f.merges) free(test_file(folder, "merges.txt", f.merges, strlen(f.merges)));
    if (f.settings)
        free(test_file(folder, "tokenizer_config.json", f.settings, strlen(f.settings)));
    struct tokenizer *t = tokenizer_read(folder, report, e);
    free(folder);
    return t;
}

static void refused(struct folder f, const char *part, size_t number) {
    struct err e = ERR_INIT;
    struct tokenizer *t = read_files(f, NULL, &e);
    if (t) fail_msg("broken folder %zu (\"%s\") was read", number, part);
    if (!strstr(e.text, part)) fail_msg("folder %zu: lacks \"%s\": %s", number, part, e.text);
    if (!strchr(e.text, '/')) fail_msg("folder %zu: no file is named: %s", number, e.text);
}

#define BPE(rest) "{\"model\":{\"type\":\"BPE\"," rest "}}"
#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}"
#define UNI(rest) "{\"model\":{\"type\":\"Unigram\"," rest "}}"
#define SCORES "\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"a\",-1.5]]"
#define WITH(part) "{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[]}," part "}"

static void broken_models(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {BPE("\"merges\":[]"), "must have a \"vocab\" object"},
        {BPE("\"vocab\":{},\"merges\":[]"), "must have a \"vocab\" object"},
        {BPE(VOCAB), "\"merges\" must be an array"},
        {BPE(VOCAB ",\"merges\":\"a b\""), "\"merges\" must be an array"},
        {BPE(VOCAB ",\"merges\":[\"a b\",\"a c\"]"),
         "merge 1: the right token \"c\" is not in the vocabulary; it must contain"},
        {BPE(VOCAB ",\"merges\":[[\"c\",\"a\"]]"), "merge 0: the left token \"c\""},
        {BPE(VOCAB ",\"merges\":[\"b a\"]"), "merge 0: the merged token \"ba\""},
        {BPE(VOCAB ",\"merges\":[\"ab\"]"), "merge 0: \"ab\": expected \"a b\" or [\"a\", \"b\"]"},
        {BPE(VOCAB ",\"merges\":[\"a b c\"]"), "merge 0: \"a b c\""},
        {BPE(VOCAB ",\"merges\":[\" b\"]"), "merge 0: \" b\""},
        {BPE(VOCAB ",\"merges\":[\"a \"]"), "merge 0: \"a \""},
        {BPE(VOCAB ",\"merges\":[[\"a\"]]"), "merge 0: [\"a\"]"},
        {BPE(VOCAB ",\"merges\":[[\"a\",2]]"), "merge 0: [\"a\",2]"},
        {BPE(VOCAB ",\"merges\":[{}]"), "merge 0: {}"},
        {BPE(VOCAB ",\"merges\":[7]"), "merge 0: 7"},
        {BPE(VOCAB ",\"merges\":[],\"unk_token\":\"u\""), "unknown token \"u\" is not in"},
        {BPE(VOCAB ",\"merges\":[],\"unk_token\":3"), "\"unk_token\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"fuse_unk\":3"), "\"fuse_unk\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"byte_fallback\":\"x\""), "\"byte_fallback\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"ignore_merges\":0"), "\"ignore_merges\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"dropout\":\"x\""), "\"dropout\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"end_of_word_suffix\":["
             "]"), "\"end_of_word_suffix\" must be"},
        {BPE(VOCAB ",\"merges\":[],\"continuing_subword_prefix\":\""
             "0123456789012345678901234567890123456789012345678901234567890123456789\""),
         "\"continuing_subword_prefix\" is longer than 64 bytes"},
        {BPE("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"), "already belongs to \"a\""},
        {UNI("\"unk_id\":0"), "\"vocab\" must be an array of 1 to"},
        {UNI("\"unk_id\":0,\"vocab\":[]"), "\"vocab\" must be an array of 1 to"},
        {UNI("\"unk_id\":0,\"vocab\":{\"a\":1}"), "\"vocab\" must be an array of 1 to"},
        {UNI("\"vocab\":[[\"a\",0]]"), "\"unk_id\" must be between 0 and 0, not -1"},
        {UNI("\"unk_id\":1,\"vocab\":[[\"a\",0]]"), "\"unk_id\" must be between 0 and 0, not 1"},
        {UNI("\"unk_id\":\"a\",\"vocab\":[[\"a\",0]]"), "\"unk_id\" must be an integer"},
        {UNI("\"unk_id\":0,\"vocab\":[\"a\"]"), "token 0 of \"vocab\": must be [\"text\", score]"},
        {UNI("\"unk_id\":0,\"vocab\":[[\"a\",0],[\"b\"]]"), "token 1 of \"vocab\": must be"},
        {UNI("\"unk_id\":0,\"vocab\":[[\"a\",\"0\"]]"), "token 0 of \"vocab\": must be"},
        {UNI("\"unk_id\":0,\"vocab\":[[1,0]]"), "token 0 of \"vocab\": must be"},
        {UNI("\"unk_id\":0,\"vocab\":[[\"a\",0],[\"a\",0]]"), "token \"a\" with id 1: the token already has"},
        {UNI(SCORES ",\"byte_fallback\":2"), "\"byte_fallback\" must be"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refused((struct folder){.json = bad[i][0]}, bad[i][1], i);
}

#define MAP(text)                                                                                  \
    WITH("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":" text "}")

#define SPLIT(behavior, pattern)                                                                   \
    "\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"" behavior "\",\"pattern\":" pattern "}"

static void broken_parts(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {WITH("\"normalizer\":{\"type\":\"Sequence\"}"), "Sequence: \"normalizers\" is missing"},
        {WITH("\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Nmt\"}]}"),
         "unsupported normalizer: Nmt; supported: BertNormalizer, NFC"},
        {WITH("\"normalizer\":{\"type\":\"Strip\",\"strip_left\":1}"), "\"strip_left\" must be"},
        {WITH("\"normalizer\":{\"type\":\"Prepend\"}"), "Prepend: \"prepend\" must be"},
        {WITH("\"normalizer\":{\"type\":\"Replace\",\"content\":\"x\"}"), "\"pattern\" must be"},
        {WITH("\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"}}"),
         "Replace: \"content\" must be"},
        {WITH("\"normalizer\":{\"type\":\"Replace\",\"content\":\"x\",\"pattern\":{\"Regex\":"
              "\"(a|b)\"}}"), "regular expression \"(a|b)\"; supported: plain text"},
        {MAP("null"), "\"precompiled_charsmap\" (base64) is missing"},
        {MAP("\"\""), ": invalid trie size: 0;"},
        {MAP("\"AAA\""), "invalid base64 at character"},
        {MAP("\"AA!A\""), "invalid base64 at character 2"},
        {MAP("\"AAAAAAAAAAA=\""), "invalid trie size: 0;"},
        {MAP("\"BQAAAAAAAAAAAAAA\""), "invalid trie size: 5;"},
        {MAP("\"/////wAAAAAAAAAA\""), "invalid trie size: 4294967295;"},
        {MAP("\"BAAAAAAAAAD/////\""), "are not valid UTF-8"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Punctuation\"}"),
         "unsupported pre_tokenizer: Punctuation; supported: BertPreTokenizer, WhitespaceSplit"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Digits\",\"individual_digits\":1}"),
         "\"individual_digits\" must be"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a|b\"}}"),
         "Split: unsupported behavior: \"behavior\" is missing; supported: Isolated"},
        {WITH(SPLIT("MergedWithPrevious", "{\"String\":\" \"}")),
         "Split: unsupported behavior: MergedWithPrevious; supported: Isolated"},
        {WITH(SPLIT("Isolated", "4")), "Split: \"pattern\" must be"},
        {WITH(SPLIT("Isolated", "{\"Regex\":\"a|b\"}")),
         "unsupported regular expression \"a|b\"; supported: the regular expressions of GPT-2, Qwen2"},
        {WITH(SPLIT("Isolated", "{\"String\":\"ab\"}")), "Split: unsupported text \"ab\"; supported: the"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Sequence\"}"), "Sequence: \"pretokenizers\" is missing"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[4]}"), ": \"type\" is missing"},
        {WITH("\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":3}"),
         "\"add_prefix_space\" must be"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"),
         "Metaspace: \"replacement\" must be one"},
        {WITH("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"last\"}"),
         "\"last\"; must be always, first or never"},
        {WITH("\"post_processor\":{\"type\":\"Sequence\"}"), "Sequence: \"processors\" is missing"},
        {WITH("\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",0]}"),
         "RobertaProcessing: \"cls\" and \"sep\" are required"},
        {WITH("\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",0],\"sep\":[\"z\","
              "1]}"), "the special token \"z\" is not in the vocabulary"},
        {WITH("\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":"
              "\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"b\",1]},{\"type\":"
              "\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"b\",1]}]}"),
         "special tokens are added twice"},
        {WITH("\"decoder\":{\"type\":\"CTC\"}"), "unsupported decoder: CTC"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refused((struct folder){.json = bad[i][0]}, bad[i][1], i);
}

/* Replacements of replacements would fill any memory. */
static void growth_is_bounded(void **state) {
    (void)state;
    static const struct {
        const char *part, *list, *what;
    } chain[] = {{"normalizer", "normalizers", "normalizer: the replacements"},
                 {"decoder", "decoders", "decoder: the replacements"}};
    static const char step[] = "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},"
                               "\"content\":\"aaaa\"}";
    for (size_t i = 0; i < COUNT_OF(chain); i++)
        for (int steps = 4; steps <= 5; steps++) {
            struct buf b = BUF_INIT;
            buf_printf(&b, "{\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[]},\"%s\":{\"type\":"
                       "\"Sequence\",\"%s\":[", chain[i].part, chain[i].list);
            for (int k = 0; k < steps; k++) buf_printf(&b, "%s%s", k ? "," : "", step);
            buf_puts(&b, "]}}");
            struct err e = ERR_INIT;
            struct tokenizer *t = read_files((struct folder){.json = b.data}, NULL, &e);
            if (!t != (steps == 5)) fail_msg("%s, %d steps: %s", chain[i].part, steps, e.text);
            if (!t) assert_non_null(strstr(e.text, chain[i].what));
            tokenizer_free(t);
            buf_release(&b);
        }
}

#define IDS "{\"<s>\":0,\"</s>\":1,\"<unk>\":2,\"a\":3,\"b\":4,\"ab\":5}"

static void broken_files(void **state) {
    (void)state;
    static const struct {
        struct folder f;
        const char *part;
    } bad[] = {
        {{.vocab = IDS}, "vocab.json alone is not supported"},
        {{.merges = "a b\n"}, "merges.txt alone is not supported"},
        {{.vocab = "", .merges = ""}, "not valid JSON"},
        {{.vocab = "[]", .merges = ""}, "must be an object with tokens and their ids"},
        {{.vocab = "{}", .merges = ""}, "must be an object with tokens and their ids"},
        {{.vocab = "{\"a\":\"0\"}", .merges = ""}, "the id of token \"a\" is not an integer"},
        {{.vocab = "{\"a\":-1}", .merges = ""}, "token \"a\" with id -1"},
        {{.vocab = "{\"a\":1,\"a\":2}", .merges = ""}, "duplicate"},
        {{.vocab = IDS, .merges = "#version: 0.2\na b\nab\n"}, "line 3: \"ab\": expected two tokens"},
        {{.vocab = IDS, .merges = "a b c\n"}, "line 1: \"a b c\""},
        {{.vocab = IDS, .merges = "a b\r\na  b\r\n"}, "line 2: \"a  b\""},
        {{.vocab = IDS, .merges = " b\n"}, "line 1: \" b\""},
        {{.vocab = IDS, .merges = "a \n"}, "line 1: \"a \""},
        {{.vocab = IDS, .merges = "a b\nb a"}, "line 2: the merged token \"ba\""},
        {{.vocab = IDS, .merges = "a \xff\n"}, "line 1: the right token \"\u00b7\""},
        {{.vocab = "{\"a\":0}", .merges = ""}, "the special token \"<s>\" is not in"},
        {{.vocab = IDS, .merges = "", .settings = "{\"add_prefix_space\":1}"},
         "\"add_prefix_space\" must be"},
        {{.vocab = IDS, .merges = "", .settings = "{\"sep_token\":7}"}, "\"sep_token\" must be"},
        {{.vocab = IDS, .merges = "", .settings = "{\"sep_token\":\"x\"}"},
         "the special token \"x\" is not in"},
        {{.vocab = IDS, .merges = "", .settings = "[]"}, "must be a JSON object"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) refused(bad[i].f, bad[i].part, i);
}

static char *ids_of(const struct tokenizer *t, const char *a, const char *b) {
    struct encoded x;
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT;
    test_ok(tokenizer_encode(t, a, strlen(a), b, b ? strlen(b) : 0, 64, &x, &e), &e);
    for (size_t i = 0; i < x.n; i++) buf_printf(&text, i ? " %d" : "%d", x.ids[i]);
    encoded_release(&x);
    return buf_take(&text);
}

/* What the folder says, and what is said about it. */
static void whole_files(void **state) {
    (void)state;
    static const struct {
        struct folder f;
        const char *a, *b, *ids, *said;
    } good[] = {
        {{.vocab = IDS, .merges = "#version: 0.2\r\na b\r\n"}, "ab<s>b", NULL, "0 5 0 4 1",
         "special token pad_token is not in"},
        {{.vocab = IDS, .merges = "a b\n\n"}, "ab", "ba", "0 5 1 1 4 3 1", "special token mask_token is not in"},
        {{.vocab = IDS, .merges = "a b", .settings = "{\"tokenizer_class\":\"GPT2Tokenizer\","
          "\"unk_token\":\"<unk>\"}"}, "ab", "c", "5 2", "special token bos_token is not in"},
        {{.vocab = "{\"<|endoftext|>\":0,\"a\":1}", .merges = ""}, "a<|endoftext|>", NULL, "1 0", ""},
        {{.json = "{\"model\":{" VOCAB ",\"merges\":[\"a b\"],\"dropout\":0.1},\"truncation\":{},"
                  "\"padding\":{}}"}, "abc", "b", "2 1", "BPE \"dropout\" is ignored"},
        {{.json = WITH("\"truncation\":{\"max_length\":1},\"padding\":{}")}, "ab", "b", "0 1 1",
         "\"truncation\" is ignored"},
        {{.json = "{\"model\":{" SCORES "},\"padding\":{}}"}, "aza", NULL, "1 0 1",
         "\"padding\" is ignored"},
        {{.json = WITH("\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true}"),
          .settings = "{\"add_prefix_space\":false}"}, "a", NULL, "0",
         "add_prefix_space: "},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct err e = ERR_INIT;
        struct buf report = BUF_INIT;
        struct tokenizer *t = read_files(good[i].f, &report, &e);
        if (!t) fail_msg("folder %zu: %s", i, e.text);
        char *ids = ids_of(t, good[i].a, good[i].b);
        if (strcmp(ids, good[i].ids) || !strstr(buf_text(&report), good[i].said))
            fail_msg("folder %zu: ids %s, said: %s", i, ids, buf_text(&report));
        free(ids);
        buf_release(&report);
        tokenizer_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_models),
        cmocka_unit_test(broken_parts),
        cmocka_unit_test(growth_is_bounded),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(whole_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
