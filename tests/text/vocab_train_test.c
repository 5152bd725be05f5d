/* Vocabularies made of texts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/text/vocab_train.h"
#include "tests/support/test.h"

/* The vocabulary of some lines; caller frees. */
static char *vocabulary_of(const char *const *line, size_t n, int size, struct err *e) {
    struct vocab_trainer *t = vocab_trainer_new();
    struct buf out = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) rc = vocab_trainer_add(t, line[i], strlen(line[i]), e);
    if (!rc) rc = vocab_trainer_run(t, size, &out, NULL, e);
    vocab_trainer_free(t);
    if (!rc) return buf_take(&out);
    buf_release(&out);
    return NULL;
}

#define SPECIAL "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

static void commonest_neighbors_are_joined(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    static const char *const line[] = { "hug hug hug hug hug hug hug hug hug hug", "pug pug pug pug pug", "PUN pun pun p\xC3\xBAn pun "
                                        "pun pun pun pun pun pun pun", "bun bun bun bun", "hugs hugs hugs hugs hugs" };
    /* by hand: u+g 20, u+n 16, h+ug 15, p+un 12, p+ug and hug+s 5: "hugs" comes before "pug" */
    char *v = vocabulary_of(line, COUNT_OF(line), 18, &e);
    if (!v) fail_msg("%s", e.text);
    assert_string_equal(v, SPECIAL "##g\n##n\n##s\n##u\nb\nh\np\n##ug\n##un\nhug\npun\nhugs\npug\n");
    free(v);
    v = vocabulary_of(line, COUNT_OF(line), 100, &e); /* until nothing occurs twice */
    assert_string_equal(v, SPECIAL "##g\n##n\n##s\n##u\nb\nh\np\n##ug\n##un\nhug\npun\nhugs\npug\nbun\n");
    free(v);
}

static void the_order_of_lines_changes_nothing(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    static const char *const line[] = { "the server of the network", "a network library", "serves images; the library", "imaging" };
    static const char *const turned[] = { "imaging", "a network library", "the server of the network", "serves images; the library" };
    char *a = vocabulary_of(line, COUNT_OF(line), 60, &e), *b = vocabulary_of(turned, COUNT_OF(turned), 60, &e);
    assert_non_null(a);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void too_few_tokens_and_no_words_are_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    static const char *const line[] = { "some words of many letters" }, *const none[] = { "", " \t " };
    assert_null(vocabulary_of(line, 1, 12, &e));
    test_refused(e.code, ERR_USAGE, &e, "--vocab 12: too small for the 16 symbols");
    assert_null(vocabulary_of(none, 2, 100, &e));
    test_refused(e.code, ERR_INPUT, &e, "the text contains no words");
}

static void rare_signs_and_long_words_are_left_out(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    for (int i = 0; i < 1500; i++) buf_puts(&b, "ab ");
    buf_puts(&b, "\xE6\xBC\xA2 "); /* one sign of 3001 */
    for (int i = 0; i < 101; i++) buf_putc(&b, 'c');
    const char *const line[] = { buf_text(&b) };
    char *v = vocabulary_of(line, 1, 100, &e);
    assert_string_equal(v, SPECIAL "##b\na\nab\n");
    free(v);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commonest_neighbors_are_joined),
        cmocka_unit_test(the_order_of_lines_changes_nothing),
        cmocka_unit_test(too_few_tokens_and_no_words_are_refused),
        cmocka_unit_test(rare_signs_and_long_words_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
