#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/text/decoder.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

static void of_wordpiece(void **state) {
    (void)state;
    static const struct {
        int32_t id[12];
        size_t n;
        const char *all, *plain;
    } want[] = {
        {{2, 5, 6, 13, 15, 3, 16, 6, 17}, 9, "[CLS] the cats. [SEP], cat!", "the cats., cat!"},
        {{5, 10, 11, 12, 18, 13, 24, 18, 6, 3, 9, 30}, 12,
         "the unaffable 'sc ' cat [SEP] matly", "the unaffable 'sc ' cat matly"},
        {{13, 5, 13}, 3, "##s thes", "##s thes"},
        {{0, 32, 33, 20, 21, 22, 23, 999, -1, 36, 39}, 11,
         "[PAD] <x1> <x2> \u6211 \u7231 ab ion ure", "<x1> \u6211 \u7231 ab ion ure"},
        {{35, 6, 35}, 3, "ea cat ea", "ea cat ea"},
        {{0}, 0, "", ""},
    };
    char *folder = test_path("tests/reference/wordpiece_tiny");
    struct err e = ERR_INIT;
    struct tokenizer *t = tokenizer_read(folder, NULL, &e);
    if (!t) fail_msg("%s", e.text);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct buf all = BUF_INIT, plain = BUF_INIT;
        tokenizer_decode(t, want[i].id, want[i].n, false, &all);
        tokenizer_decode(t, want[i].id, want[i].n, true, &plain);
        assert_string_equal(buf_text(&all), want[i].all);
        assert_string_equal(buf_text(&plain), want[i].plain);
        buf_release(&all);
        buf_release(&plain);
    }
    tokenizer_free(t);
    free(folder);
}

#define META "{\"type\":\"Metaspace\",\"replacement\":\"\u2581\""
#define FALLBACK                                                                                   \
    "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"\u2581\"}," \
    "\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\","       \
    "\"content\":\" \",\"start\":1,\"stop\":0}]}"

/* What the reference's decoders make of pieces ('|' between them). */
static void of_every_kind(void **state) {
    (void)state;
    static const struct {
        const char *decoder, *pieces, *want;
    } c[] = {
        {META "}", "\u2581a\u2581b|\u2581c|\u2581", "ab c "},
        {META ",\"prepend_scheme\":\"never\"}", "\u2581a\u2581b|\u2581c", " a b c"},
        {META ",\"add_prefix_space\":false}", "\u2581a\u2581b|\u2581c", " a b c"},
        {META ",\"prepend_scheme\":\"first\"}", "\u2581a|\u2581c", "a c"},
        {"{\"type\":\"ByteLevel\"}",
         "\u0120a|\u00C3|\u00A9x\u20AC|\u00E9|\u00F0|\u0141", " a\uFFFD\u00A9x\u20AC\uFFFD\uFFFD"},
        {FALLBACK, "\u2581a\u2581b|<0xC3>|<0xA9>|<0xff>|\u2581", "a b\uFFFD\uFFFD\uFFFD "},
        {FALLBACK, "\u2581a|<0xC3>|<0xA9>|b|<0x4g>|<0x41>", "a\u00E9b<0x4g>A"},
        {"{\"type\":\"BPEDecoder\"}", "a</w>|b</w>", "a b"},
        {"{\"type\":\"WordPiece\",\"prefix\":\"##\"}", "do|##n't| not|n't|.| ' ",
         "don't  notn't. '"},
        {"{\"type\":\"WordPiece\",\"cleanup\":false}", "a|.|##b", "a .b"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s{2,}\"},\"content\":\"_\"}",
         "a  b c\u00A0 |  ", "a_b c__"},
        {"{\"type\":\"Strip\",\"content\":\"x\",\"start\":2,\"stop\":1}", "xxxaxx|x", "xax"},
        {"{\"type\":\"Sequence\",\"decoders\":[]}", "a|b", "ab"},
        {"null", "a|b", "a b"},
        {"null", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct err e = ERR_INIT;
        struct decoder d = {0};
        struct pieces p = {0};
        struct buf out = BUF_INIT;
        char *text = xprintf("[%s]", c[i].decoder), *rest = xstrdup(c[i].pieces), *one, *own = rest;
        json_t *root = json_parse("decoder", text, strlen(text), &e);
        if (!root) fail_msg("%s", e.text);
        test_ok(decoder_read(&d, "decoder", json_array_get(root, 0), &e), &e);
        while (*c[i].pieces && (one = strsep(&rest, "|"))) {
            buf_puts(&p.text, one);
            pieces_end(&p);
        }
        decoder_run(&d, &p, &out);
        if (strcmp(buf_text(&out), c[i].want))
            fail_msg("case %zu: \"%s\", not \"%s\"", i, buf_text(&out), c[i].want);
        json_decref(root);
        decoder_release(&d);
        pieces_release(&p);
        buf_release(&out);
        free(text);
        free(own);
    }
}

static void broken_decoders(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"{}", ": \"type\" is missing; supported: WordPiece"},
        {"{\"type\":\"CTC\"}", ": CTC; supported: WordPiece"},
        {"{\"type\":\"WordPiece\",\"prefix\":3}", "\"prefix\" must be"},
        {"{\"type\":\"WordPiece\",\"cleanup\":3}", "\"cleanup\" must be"},
        {"{\"type\"", "not valid JSON"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"\"}", "must be one character"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"ab\"}", "must be one character"},
        {"{\"type\":\"Strip\",\"content\":\"ab\"}", "\"content\" must be one character"},
        {"{\"type\":\"Strip\",\"content\":\" \",\"start\":-1}", "between 0 and 1000"},
        {"{\"type\":\"Strip\"}", "\"content\" must be"},
        {"{\"type\":\"BPEDecoder\",\"suffix\":\"\"}", "BPEDecoder: \"suffix\" is empty"},
        {"{\"type\":\"Replace\",\"content\":\" \"}", "\"pattern\" must be"},
        {"{\"type\":\"Replace\",\"content\":\" \",\"pattern\":{\"String\":\"\"}}", "of 1 to 512"},
        {"{\"type\":\"Replace\",\"content\":\" \",\"pattern\":{\"Regex\":\"a|b\"}}",
         "expression \"a|b\"; supported:"},
        {"{\"type\":\"Replace\",\"content\":\" \",\"pattern\":{\"Regex\":\" {2}\"}}", "{2}"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}}", "\"content\" must be"},
        {"{\"type\":\"Sequence\"}", "\"decoders\" is missing"},
        {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},3]}", "\"type\" is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e = ERR_INIT;
        struct decoder d = {0};
        json_t *root = json_parse("file", bad[i][0], strlen(bad[i][0]), &e);
        if (root && !decoder_read(&d, "file", root, &e)) fail_msg("broken decoder %zu was read", i);
        if (!strstr(e.text, bad[i][1])) fail_msg("%zu: lacks \"%s\": %s", i, bad[i][1], e.text);
        json_decref(root);
        decoder_release(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_wordpiece),
        cmocka_unit_test(of_every_kind),
        cmocka_unit_test(broken_decoders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
