/* Tokenizers from the metadata of GGUF files: equal to tokenizer.json, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/text/tokenizer.h"
#include "tests/text/support.h"

/* ---- the same tokenizer as in tokenizer.json ---- */

/* Returns the rank of the first merge that makes a token, or their number. */
static size_t merge_rank(const json_t *merges, const char *token) {
    size_t i;
    json_t *pair;
    json_array_foreach(merges, i, pair) {
        const char *left = json_string_value(json_array_get(pair, 0)), *right = json_string_value(json_array_get(pair, 1));
        size_t n = strlen(left);
        if (!strncmp(token, left, n) && !strcmp(token + n, right)) break;
    }
    return i;
}

/* Returns the metadata of a GGUF file with the tokens and merges of a tokenizer.json; SentencePiece without `pre`. */
static json_t *meta_of(const json_t *root, const char *pre) {
    json_t *model = json_object_get(root, "model"), *id, *merges = json_array(), *scores = json_array(),
           *tokens = json_array(), *types = json_array(), *pair;
    const char *token;
    size_t i, n = json_object_size(json_object_get(model, "vocab"));
    json_array_foreach(json_object_get(root, "added_tokens"), i, pair) {
        size_t last = (size_t)json_integer_value(json_object_get(pair, "id"));
        if (last >= n) n = last + 1;
    }
    for (i = 0; i < n; i++) {
        json_array_append_new(tokens, json_string(""));
        json_array_append_new(types, json_integer(1));
        json_array_append_new(scores, json_real(0));
    }
    json_object_foreach(json_object_get(model, "vocab"), token, id) {
        i = (size_t)json_integer_value(id);
        json_array_set_new(tokens, i, json_string(token));
        if (strlen(token) == 6 && !strncmp(token, "<0x", 3)) json_array_set_new(types, i, json_integer(6));
        json_array_set_new(scores, i, json_real(-(double)merge_rank(json_object_get(model, "merges"), token)));
    }
    json_array_foreach(json_object_get(root, "added_tokens"), i, pair) {
        size_t at = (size_t)json_integer_value(json_object_get(pair, "id"));
        json_array_set(tokens, at, json_object_get(pair, "content"));
        json_array_set_new(types, at, json_integer(json_is_true(json_object_get(pair, "special")) ? 3 : 4));
    }
    json_array_foreach(json_object_get(model, "merges"), i, pair)
        json_array_append_new(merges, json_sprintf("%s %s", json_string_value(json_array_get(pair, 0)),
                                                   json_string_value(json_array_get(pair, 1))));
    return json_pack("{s:s,s:s*,s:o,s:o,s:o,s:o,s:i,s:i}", "model", pre ? "gpt2" : "llama", "pre", pre, "tokens", tokens,
                     "token_type", types, "scores", scores, "merges", merges, "bos_token_id", pre ? 0 : 1,
                     "unknown_token_id", 0);
}

static struct tokenizer *made(const json_t *meta) {
    struct err e = ERR_INIT;
    json_t *settings, *root = tokenizer_from_gguf("file", meta, &settings, &e);
    if (!root) fail_msg("%s", e.text);
    struct tokenizer *t = tokenizer_make("file", root, settings, NULL, &e);
    if (!t) fail_msg("%s", e.text);
    json_decref(root);
    json_decref(settings);
    return t;
}

static void same_ids(const char *name, const struct tokenizer *t, const struct tokenizer *right, const json_t *pair) {
    const char *a = json_string_value(json_array_get(pair, 0)), *b = json_string_value(json_array_get(pair, 1));
    struct encoded x, y;
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT, wanted = BUF_INIT;
    test_ok(tokenizer_encode(t, a, strlen(a), b, b ? strlen(b) : 0, 10000, &x, &e), &e);
    test_ok(tokenizer_encode(right, a, strlen(a), b, b ? strlen(b) : 0, 10000, &y, &e), &e);
    if (x.n != y.n || memcmp(x.ids, y.ids, x.n * sizeof *x.ids) || memcmp(x.types, y.types, x.n * sizeof *x.types))
        fail_msg("%s: \"%s\" has other ids", name, a);
    tokenizer_decode(t, x.ids, x.n, false, &text);
    tokenizer_decode(right, y.ids, y.n, false, &wanted);
    assert_string_equal(buf_text(&text), buf_text(&wanted));
    encoded_release(&x);
    encoded_release(&y);
    buf_release(&text);
    buf_release(&wanted);
}

static struct tokenizer *of_folder(const char *folder, json_t **root) {
    char *path = file_join(folder, "tokenizer.json"), *file = test_path(path);
    struct err e = ERR_INIT;
    if (!(*root = json_read(file, 1 << 20, &e))) fail_msg("%s", e.text);
    free(path);
    free(file);
    return read_reference(folder);
}

/* A line of bytelevel_variants.jsonl.  Metadata cannot express that blanks around a token belong to it, or that it is
 * matched after normalization: texts with these tokens are left out. */
static void check_line_of_variants(const json_t *line, const json_t *texts, size_t *count) {
    static const struct {
        const char *name, *pre;
    } kinds[] = { { "gpt2", "gpt-2" }, { "smollm2", "smollm" }, { "qwen2", "qwen2" }, { "llama3", "llama-bpe" },
                  { "llama2", NULL } };
    const char *name = json_string_value(json_object_get(line, "name")),
               *folder = json_string_value(json_object_get(line, "folder"));
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        if (strcmp(kinds[k].name, name)) continue;
        struct err e = ERR_INIT;
        json_t *root = json_incref(json_object_get(line, "tokenizer")), *meta, *pair;
        struct tokenizer *right = folder ? of_folder(folder, &root) : tokenizer_make(name, root, NULL, NULL, &e), *t;
        size_t i;
        t = made(meta = meta_of(root, kinds[k].pre));
        json_array_foreach(texts, i, pair) {
            const char *text = json_string_value(json_array_get(pair, 0));
            if (!strstr(text, "<tool>") && !strstr(text, "Éx")) same_ids(name, t, right, pair);
        }
        *count += i;
        tokenizer_free(t);
        tokenizer_free(right);
        json_decref(root);
        json_decref(meta);
    }
}

static void equal_to_tokenizer_json(void **state) {
    (void)state;
    static const char file[] = "tests/reference/bytelevel_variants.jsonl";
    struct buf text = fixture(file);
    struct err e = ERR_INIT;
    json_t *texts = NULL;
    size_t count = 0;
    for (char *rest = text.data, *one; (one = strsep(&rest, "\n")) && rest;) {
        json_t *line = json_parse(file, one, strlen(one), &e);
        if (!line) fail_msg("%s", e.text);
        if (texts) check_line_of_variants(line, texts, &count);
        else texts = json_incref(json_object_get(line, "texts"));
        json_decref(line);
    }
    assert_int_equal(count, 5 * json_array_size(texts));
    json_decref(texts);
    buf_release(&text);
}

/* ---- small tokenizers ---- */

/* Metadata as JSON with ' for ". */
static json_t *meta_text(const char *text) {
    struct err e = ERR_INIT;
    char *s = xstrdup(text);
    for (char *p = s; *p; p++)
        if (*p == '\'') *p = '"';
    json_t *meta = json_parse("metadata", s, strlen(s), &e);
    if (!meta) fail_msg("%s", e.text);
    free(s);
    return meta;
}

static void ids_are(const char *meta_json, const char *text, size_t n, const int32_t *ids) {
    json_t *meta = meta_text(meta_json);
    struct tokenizer *t = made(meta);
    struct encoded x;
    struct err e = ERR_INIT;
    test_ok(tokenizer_encode(t, text, strlen(text), NULL, 0, 100, &x, &e), &e);
    if (x.n != n || memcmp(x.ids, ids, n * sizeof *ids)) {
        for (size_t i = 0; i < x.n; i++) print_error(" %d", x.ids[i]);
        fail_msg(": the ids of \"%s\"", text);
    }
    encoded_release(&x);
    tokenizer_free(t);
    json_decref(meta);
}
#define IDS_ARE(meta, text, ...)                                         \
    do {                                                                 \
        static const int32_t right[] = { __VA_ARGS__ };                  \
        ids_are(meta, text, sizeof right / sizeof *right, right);        \
    } while (0)

#define BYTES "'model':'gpt2','pre':'smollm','tokens':['<e>','a','b','ab','1','\u0120'],'merges':['a b']"
#define PIECES                                                                                                  \
    "'model':'llama','tokens':['<unk>','<s>','</s>','\u2581','a','b','ab','\u2581a','<0xC3>','<0xA9>','ba']," \
    "'scores':[0,0,0,-9,-9,-9,-2,-3,0,0,-2],'token_type':[2,3,3,1,1,1,1,1,6,6,1],'unknown_token_id':0,"        \
    "'bos_token_id':1,'eos_token_id':2"

static void ends_and_types(void **state) {
    (void)state;
    IDS_ARE("{" BYTES "}", "ab1a", 3, 4, 1);
    IDS_ARE("{" BYTES ",'bos_token_id':0,'add_bos_token':true,'eos_token_id':0,'add_eos_token':true}", "a", 0, 1, 0);
    IDS_ARE("{" BYTES ",'token_type':[3,1,1,1,1,1],'bos_token_id':0}", "b<e>ab", 2, 0, 3);
    /* an unused token is not in the vocabulary */
    IDS_ARE("{'model':'gpt2','pre':'llama-bpe','tokens':['a','b','ab'],'token_type':[1,1,5],'merges':[],"
            "'add_bos_token':false}", "ab", 0, 1);
    IDS_ARE("{'model':'gpt2','pre':'llama-bpe','tokens':['a','b','ab'],'merges':[],'bos_token_id':1}", "ab", 1, 2);
    /* the higher score first, the left one of equal scores; a space at the start; bytes of other characters */
    IDS_ARE("{" PIECES "}", "ab", 1, 3, 6);
    IDS_ARE("{" PIECES "}", "aba", 1, 3, 6, 4);
    IDS_ARE("{" PIECES "}", "é", 1, 3, 8, 9);
    IDS_ARE("{" PIECES ",'add_space_prefix':false,'add_bos_token':false}", "ab a", 6, 7);
    IDS_ARE("{" PIECES "}", "a</s>a", 1, 7, 2, 7);
}

static void refused_metadata(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "{'model':'bert'}", "tokenizer.ggml.model\": bert; not supported; supported: gpt2" },
        { "{'model':3}", "model\": missing" },
        { "{'model':'gpt2','tokens':['a']}", "pre\": missing; not supported" },
        { "{'model':'gpt2','pre':'default','tokens':['a']}", "pre\": default; not supported; supported: gpt-2, smollm" },
        { "{'model':'gpt2','pre':'gpt-2'}", "tokens\": missing" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':7}", "tokens\": no elements" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a',7],'merges':[]}", "tokens\": element 1: not a text" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a','b','a'],'merges':[]}", "element 2: a; the token occurs twice" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a'],'token_type':[1,1],'merges':[]}",
          "token_type\": 2 elements; must be 1, one per token" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a'],'token_type':[9],'merges':[]}", "token_type\": element 0" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a']}", "merges\": missing; required" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a'],'merges':[],'add_bos_token':1}", "add_bos_token\": wrong type" },
        { "{'model':'gpt2','pre':'llama-bpe','tokens':['a'],'merges':[]}", "bos_token_id\": missing; required" },
        { "{'model':'gpt2','pre':'gpt-2','tokens':['a'],'merges':[],'eos_token_id':1}", "eos_token_id\": no token has" },
        { "{'model':'llama','tokens':['a'],'bos_token_id':0}", "scores\": missing" },
        { "{'model':'llama','tokens':['a'],'scores':[1,2],'bos_token_id':0}", "scores\": 2 elements; must be 1" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        json_t *meta = meta_text(cases[i][0]), *settings;
        if (tokenizer_from_gguf("file", meta, &settings, &e)) fail_msg("accepted: %s", cases[i][0]);
        test_refused(e.code, ERR_INPUT, &e, cases[i][1]);
        json_decref(meta);
    }
}

/* These are found when the tokenizer is made. */
static void refused_merges(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "'a'", "merge 0: \"a\": expected \"a b\"" }, { "'a a b'", "expected \"a b\"" }, { "' a'", "expected \"a b\"" },
        { "'a '", "expected \"a b\"" }, { "'a a'", "the merged token \"aa\" is not in the vocabulary" },
        { "'a b','a c'", "merge 1: the right token \"c\" is not in the vocabulary" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        char *text = xprintf("{'model':'gpt2','pre':'gpt-2','tokens':['a','b','ab'],'merges':[%s]}", cases[i][0]);
        json_t *meta = meta_text(text), *settings, *root = tokenizer_from_gguf("file", meta, &settings, &e);
        if (!root) fail_msg("%s", e.text);
        if (tokenizer_make("file", root, settings, NULL, &e)) fail_msg("accepted: %s", text);
        test_refused(e.code, ERR_INPUT, &e, cases[i][1]);
        json_decref(meta);
        json_decref(root);
        json_decref(settings);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_tokenizer_json),
        cmocka_unit_test(ends_and_types),
        cmocka_unit_test(refused_metadata),
        cmocka_unit_test(refused_merges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
