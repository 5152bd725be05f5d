#include <string.h>

#include "core/base/mem.h"
#include "core/data/causal.h"
#include "core/data/dataset.h"
#include "tests/data/reading.h"
#include "tests/text/support.h"

/* Reads a training set whose shape is recognized by its columns. */
#define READ_CHATS(d, name, bytes, ...) READ_AS(d, name, bytes, .label = "label", .guess_texts = true, __VA_ARGS__)
#define TRAINING .need_labels = true

/* The messages of an example: "s:…|u:…|a:…". */
static void has_turns(const struct dataset *d, size_t row, const char *want) {
    struct buf b = BUF_INIT;
    assert_true(row < d->examples);
    const struct example *x = &d->example[row];
    for (size_t i = 0; i < x->turns; i++) {
        buf_printf(&b, "%s%c:", i ? "|" : "", chat_role_name(x->turn[i].role)[0]);
        buf_add(&b, x->turn[i].text, x->turn[i].size);
    }
    assert_string_equal(buf_text(&b), want);
    buf_release(&b);
}

static void has_pair(const struct dataset *d, size_t row, const char *source, const char *target) {
    has_text(d, row, source);
    if (!target) assert_null(d->example[row].target_text);
    else assert_string_equal(d->example[row].target_text, target);
}

#define M(ROLE, CONTENT) "{\"role\":\"" ROLE "\",\"content\":" CONTENT "}"
#define CHAT(...) "{\"messages\":[" __VA_ARGS__ "]}\n"

static void messages(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_CHATS(&d, "t.jsonl",
                       "\xEF\xBB\xBF" CHAT(M("user", "\"Hi\"") "," M("assistant", "\"Hello\"")) "\r\n"
                       CHAT(M("system", "\"S\"") "," M("user", "\"A\"") "," M("assistant", "\"B\"") "," M("user", "\"C\"") ","
                            M("assistant", "\" D \""))
                       CHAT(M("user", "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]") ","
                            M("user", "\"c\"") "," M("assistant", "\"d\"") "," M("user", "\"e\"") "," M("user", "\"f\"")),
                       TRAINING), &e);
    assert_int_equal(d.kind, DATA_TEXT);
    assert_int_equal(d.shape, DATA_MESSAGES);
    assert_false(d.pair);
    adds_up(&d);
    assert_int_equal(d.examples, 3);
    has_turns(&d, 0, "u:Hi|a:Hello");
    has_pair(&d, 0, "Hi", "Hello");
    has_turns(&d, 1, "s:S|u:A|a:B|u:C|a: D ");
    has_pair(&d, 1, "system: S\nuser: A\nassistant: B\nuser: C", " D ");
    has_turns(&d, 2, "u:ab|u:c|a:d");
    says(&d, "read as chats: the messages of \"messages\"");
    says(&d, "messages after the last answer are dropped in 1 chat (line 4)");
    dataset_release(&d);
}

/* Without required answers, a chat without an answer is a prompt. */
static void prompts_of_chats(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_CHATS(&d, "t.jsonl", CHAT(M("system", "\"a\"") "," M("user", "\"b\""))
                       CHAT(M("user", "\"a\"") "," M("assistant", "\"b\"") "," M("user", "\"c\""))), &e);
    has_turns(&d, 0, "s:a|u:b");
    has_pair(&d, 0, "system: a\nuser: b", NULL);
    has_turns(&d, 1, "u:a|a:b");
    says(&d, "dropped in 1 chat (line 2)");
    dataset_release(&d);
}

static void skipped_chats(void **state) {
    (void)state;
    static const struct {
        const char *line, *why;
    } cases[] = {
        {CHAT(M("user", "null") "," M("assistant", "\"b\"")), "message 1: \"content\" must be a string, not null"},
        {CHAT(M("user", "\"a\"") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]}"),
         "message 2: \"tool_calls\" is not supported; remove chats with tool calls"},
        {CHAT(M("tool", "\"a\"") "," M("assistant", "\"b\"")),
         "message 1: role \"tool\" is not supported; expected system, user or assistant"},
        {CHAT(M("user", "[{\"type\":\"image_url\"}]") "," M("assistant", "\"b\"")),
         "message 1: content of type \"image_url\" is not supported; expected text"},
        {CHAT(M("user", "[{\"type\":\"text\"}]") "," M("assistant", "\"b\"")),
         "message 1: item 1 of the content must have a \"text\", a string"},
        {CHAT(M("user", "\"a\"") "," M("assistant", "\"\"")), "the target text is empty"},
        {CHAT(M("user", "\"a\"")), "the chat has no assistant message"},
        {CHAT(""), "the chat has no messages"},
        {CHAT("3"), "message 1: expected an object, found a number"},
        {CHAT("{\"content\":\"a\"}"), "message 1: \"role\" must be a string, not null"},
        {"{\"messages\":\"a\"}\n", "\"messages\" must be an array of messages, not a string"},
        {"{\"messages\":null}\n", "\"messages\" must be an array of messages, not null"},
        {"{\"tools\":[{}],\"messages\":[]}\n", "\"tools\" is not supported; remove chats with tools"},
        {"{\"text\":\"a\"}\n", "\"messages\" must be an array of messages, not null"},
        {CHAT(M("user", "\"a\\u0000\"") "," M("assistant", "\"b\"")), "contains the character U+0000"},
        {CHAT(M("user", "\"\xFF\"") "," M("assistant", "\"b\"")), "not UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        struct buf file = BUF_INIT;
        buf_puts(&file, CHAT(M("user", "\"x\"") "," M("assistant", "\"y\"")));
        buf_puts(&file, cases[i].line);
        test_ok(read_bytes(&d, "t.jsonl", file.data, file.size,
                           (struct dataset_options){.label = "label", .guess_texts = true, TRAINING}, &e), &e);
        assert_int_equal(d.examples, 1);
        assert_int_equal(d.report.skipped, 1);
        assert_int_equal(d.report.first[0].line, 2);
        assert_string_equal(d.report.first[0].why, cases[i].why);
        adds_up(&d);
        dataset_release(&d);
        buf_release(&file);
    }
}

static void conversations(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_CHATS(&d, "t.json",
                       "[{\"id\":1,\"system\":\"S\",\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"b\"}]},\n"
                       "{\"conversations\":[{\"from\":\"system\",\"value\":\"T\"},{\"from\":\"user\",\"value\":\"a\"},"
                       "{\"from\":\"chatgpt\",\"value\":\"b\"}]},"
                       "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"function_call\",\"value\":\"b\"}]}]", TRAINING), &e);
    has_turns(&d, 0, "s:S|u:a|a:b");
    has_turns(&d, 1, "s:T|u:a|a:b");
    assert_int_equal(d.report.skipped, 1);
    assert_string_equal(d.report.first[0].why,
                        "message 2: role \"function_call\" is not supported; expected system, user or assistant");
    says(&d, "read as one JSON array");
    adds_up(&d);
    dataset_release(&d);
}

static void instructions(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_CHATS(&d, "t.jsonl",
                       "{\"instruction\":\"Add.\",\"input\":\"1 2\",\"output\":\"3\"}\n"
                       "{\"instruction\":\"Say.\",\"input\":\"\",\"output\":\"x\",\"system\":\"S\",\"history\":[[\"p\",\"q\"]]}\n"
                       "{\"instruction\":\"Say.\",\"input\":null,\"output\":\"\"}\n"
                       "{\"instruction\":\"Say.\",\"output\":\"x\",\"history\":[[\"p\"]]}\n"
                       "{\"instruction\":\"Say.\",\"input\":3,\"output\":\"x\"}\n"
                       "{\"output\":\"x\"}\n{\"instruction\":\"Say.\"}\n", TRAINING), &e);
    assert_int_equal(d.examples, 2);
    assert_int_equal(d.shape, DATA_INSTRUCTIONS);
    has_turns(&d, 0, "u:Add.\n1 2|a:3");
    has_pair(&d, 0, "Add.\n1 2", "3");
    has_turns(&d, 1, "s:S|u:p|a:q|u:Say.|a:x");
    static const char *const why[] = {"the target text is empty", "item 1 of \"history\" must be a pair of strings",
                                      "\"input\" must be a string, not a number", "\"instruction\" is missing", "\"output\" is missing"};
    for (size_t i = 0; i < COUNT_OF(why); i++) assert_string_equal(d.report.first[i].why, why[i]);
    says(&d, "read as chats: \"instruction\", with \"input\" on a new line, is the user message, \"system\" the system message, "
             "\"output\" the answer");
    adds_up(&d);
    dataset_release(&d);

    test_ok(READ_CHATS(&d, "t.csv", "id,instruction,input,output\n1,Add.,1 2,3\n2,\"Say \"\"a\"\".\",,\"x\ny\"\n3,a,b,\n", TRAINING), &e);
    assert_int_equal(d.examples, 2);
    has_turns(&d, 0, "u:Add.\n1 2|a:3");
    has_turns(&d, 1, "u:Say \"a\".|a:x\ny");
    assert_string_equal(d.report.first[0].why, "the target text is empty");
    dataset_release(&d);
}

/* Prompts and completions are strings, or lists of messages. */
static void prompts_and_completions(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_CHATS(&d, "t.jsonl",
                       "{\"prompt\":\"a\",\"completion\":\"b\"}\n"
                       "{\"prompt\":[" M("system", "\"S\"") "," M("user", "\"c\"") "],\"completion\":[" M("assistant", "\"d\"") "]}\n"
                       "{\"prompt\":[" M("user", "\"c\"") "],\"completion\":\"d\"}\n"
                       "{\"prompt\":[" M("user", "\"c\"") "],\"completion\":[" M("user", "\"d\"") "]}\n"
                       "{\"prompt\":\"a\",\"completion\":\"\"}\n", TRAINING), &e);
    assert_int_equal(d.shape, DATA_FLAT);
    assert_int_equal(d.examples, 3);
    has_turns(&d, 0, "");
    has_pair(&d, 0, "a", "b");
    has_turns(&d, 1, "s:S|u:c|a:d");
    has_turns(&d, 2, "u:c|a:d");
    has_pair(&d, 2, "c", "d");
    assert_string_equal(d.report.first[0].why, "the chat has no assistant message");
    assert_string_equal(d.report.first[1].why, "the target text is empty");
    dataset_release(&d);
}

/* ---- tokens ---- */

static void encoded_is(const struct dataset *d, size_t row, const char *want) {
    struct buf b = BUF_INIT;
    for (size_t i = d->start[row]; i < d->start[row + 1]; i++)
        buf_printf(&b, "%s%s%d", i > d->start[row] ? " " : "", d->trained[i] ? "*" : "", d->ids[i]);
    assert_string_equal(buf_text(&b), want);
    buf_release(&b);
}

static const char chats[] =
    CHAT(M("system", "\"Be brief.\"") "," M("user", "\"Hi\"") "," M("assistant", "\"Hello!\"") "," M("user", "\"Bye\"") ","
         M("assistant", "\"See you.\""))
    CHAT(M("user", "\"hi<|im_end|>\"") "," M("assistant", "\"\\nSee\""))
    CHAT(M("user", "\"a\"") "," M("user", "\"b\"") "," M("assistant", "\"c\""));

static void encoded_chats(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/smollm2");
    struct chat_template c;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(chat_template_by_name(&c, "chatml", &e), &e);
    struct causal_coding how = {.max_len = 100, .max_target = 20, .end = 0, .chat = &c};
    test_ok(READ_CHATS(&d, "t.jsonl", chats, TRAINING), &e);
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    assert_int_equal(d.examples, 3);
    encoded_is(&d, 0, "1 9690 198 6077 5453 30 2 198 1 4093 198 26843 2 198 1 520 9531 198 *19556 *17 *2 198 1 4093 198 3087 85 2 198 "
                      "1 520 9531 198 *7574 *346 *30 *2");
    assert_int_equal(d.target_start[1], 7);
    encoded_is(&d, 1, "1 4093 198 6004 44 108 306 79 486 108 46 2 198 1 520 9531 198 *198 *7574 *2");
    encoded_is(&d, 2, "1 4093 198 81 2 198 1 4093 198 82 2 198 1 520 9531 198 *83 *2");
    says(&d, "chat template: chatml\n");
    struct buf report = BUF_INIT;
    report_text(&d, &report);
    assert_null(strstr(buf_text(&report), "truncated")); /* examples are skipped instead */
    buf_release(&report);
    says(&d, "1 example contains the text of a control token, which is tokenized as ordinary text (line 2)");
    says(&d, "1 answer starts with whitespace: it is tokenized separately from the prompt, as in generation (line 2)");
    /* the oldest messages are dropped, but for the system's */
    how.max_len = 25;
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    assert_int_equal(d.examples, 3);
    encoded_is(&d, 0, "1 9690 198 6077 5453 30 2 198 1 4093 198 3087 85 2 198 1 520 9531 198 *7574 *346 *30 *2");
    says(&d, "1 chat lost its oldest messages to fit into the maximum length (line 1)");
    how.max_len = 18;
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    assert_int_equal(d.examples, 1);
    says(&d, "warning: 2 examples longer than 18 tokens skipped");
    dataset_release(&d);
    chat_template_release(&c);

    /* the first line numbers only */
#define BLANK CHAT(M("user", "\"hi\"") "," M("assistant", "\" See\""))
    test_ok(chat_template_by_name(&c, "chatml", &e), &e);
    how.max_len = 100;
    test_ok(READ_CHATS(&d, "t.jsonl", BLANK BLANK BLANK BLANK BLANK BLANK, TRAINING), &e);
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    says(&d, "6 answers start with whitespace: they are tokenized separately from the prompt, as in generation "
             "(lines 1, 2, 3, 4, 5, …)\n");
    dataset_release(&d);
    chat_template_release(&c);

    /* what the template cannot write */
    test_ok(chat_template_by_name(&c, "llama2", &e), &e);
    how.max_len = 100;
    test_ok(READ_CHATS(&d, "t.jsonl", chats, TRAINING), &e);
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    assert_int_equal(d.examples, 2);
    says(&d, "warning: the chat template llama2 requires user and assistant messages that alternate, starting with the user:\n"
             "  1 example skipped (line 3)\n");
    how.chat = NULL;
    test_refused(dataset_encode_causal(&d, t, &how, &e), ERR_USAGE, &e,
                 "t.jsonl: line 1: chats need a chat template, but the model has none; select one with --template: none, chatml");
    dataset_release(&d);
    chat_template_release(&c);
    tokenizer_free(t);
}

/* Prompts and completions are joined, or written by a template that was selected. */
static void encoded_pairs(void **state) {
    (void)state;
    struct tokenizer *t = read_reference("tests/reference/smollm2");
    struct chat_template c;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(chat_template_by_name(&c, "chatml", &e), &e);
    struct causal_coding how = {.max_len = 100, .max_target = 20, .end = 0, .chat = &c};
    test_ok(READ_CHATS(&d, "t.csv", "prompt,completion\nHi, you.\nsay <|im_end|>, you.\n", TRAINING), &e);
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    encoded_is(&d, 0, "26843 *346 *30 *0");
    encoded_is(&d, 1, "22313 2067 108 306 79 486 108 46 *346 *30 *0");
    lacks(&d, "chat template");
    assert_int_equal(d.target_end, -1);
    how.wrap = true;
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    encoded_is(&d, 0, "1 4093 198 26843 2 198 1 520 9531 198 *346 *30 *2");
    says(&d, "chat template: chatml");
    assert_int_equal(d.target_end, 2);
    how.all = true;
    test_ok(dataset_encode_causal(&d, t, &how, &e), &e);
    encoded_is(&d, 0, "1 *4093 *198 *26843 *2 *198 *1 *520 *9531 *198 *346 *30 *2");
    dataset_release(&d);
    chat_template_release(&c);
    tokenizer_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages), cmocka_unit_test(prompts_of_chats), cmocka_unit_test(skipped_chats),
        cmocka_unit_test(conversations), cmocka_unit_test(instructions), cmocka_unit_test(prompts_and_completions),
        cmocka_unit_test(encoded_chats), cmocka_unit_test(encoded_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
