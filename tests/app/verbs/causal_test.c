/* Decoder-only models in the program: classification by the last token, generated text, and what is refused. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

#define MODEL "--model tests/reference/causal/"

static void classifies(const char *model, const char *method) {
    char *text[2];
    for (int workers = 1; workers <= 2; workers++) {
        char *out = stage_out(0, "train " MODEL "%s --train '%s' --no-dev --method '%s' --steps 6 --batch 4 --max-length 24 --workers %d --json --db '%s'",
                              model, stage.toy, method, workers, stage.db);
        const char *loss = strstr(out, "\"loss\":");
        assert_non_null(loss);
        text[workers - 1] = xprintf("%.*s", (int)strcspn(loss, ","), loss);
        free(out);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]), free(text[1]);
}

static void methods_train_on_decoders(void **state) {
    (void)state;
    classifies("llama", "lora(r=2)");
    classifies("mistral", "prefix(l=2, shift=yes) + full(target=norms)");
    classifies("qwen2", "bitfit");
    classifies("llama3", "prompt-tuning");
    classifies("gpt2", "adapter-pfeiffer + lora(at=all-linear)");
}

/* The classifier reads the last token, so that every token matters. */
static void a_last_word_changes_the_prediction(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "llama --train '%s' --no-dev --steps 2 --batch 4 --max-length 24 --workers 1 --db '%s'",
                   stage.toy, stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    int id = (int)json_integer_value(json_object_get(json_array_get(runs, 0), "id"));
    char *a = stage_out(0, "predict %d --text 'one good' --json --db '%s'", id, stage.db),
         *b = stage_out(0, "predict %d --text 'one bad' --json --db '%s'", id, stage.db);
    const char *of_a = strstr(a, "\"probabilities\""), *of_b = strstr(b, "\"probabilities\"");
    assert_true(of_a && of_b && strncmp(of_a, of_b, 60));
    free(stage_out(0, "export %d --to petri '%s/own' --db '%s'", id, stage.folder, stage.db));
    free(a), free(b);
    json_decref(runs);
}

/* A prompt is continued, by the model and by a run on it, which may have added rows and keys. */
static void prompts_are_continued(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "llama --train '%s' --no-dev --steps 6 --lr 0.1 --batch 4 --max-length 24 --workers 1 --db '%s' "
                      "--method 'prompt-tuning(l=3) + prefix(l=2) + lora(r=2)'", stage.toy, stage.db));
    char *model = stage_out(0, "generate " MODEL "llama --text 'a good film' --max-new 9 --json"),
         *run = stage_out(0, "generate last --db '%s' --text 'a good film' --max-new 9 --json", stage.db),
         *again = stage_out(0, "generate last --db '%s' --text 'a good film' --max-new 9 --json --workers 2", stage.db);
    assert_string_not_equal(model, run);
    assert_string_equal(run, again);
    assert_int_equal(stage_json_lines(model), 1);
    free(model), free(run), free(again);
}

/* A file of prompts and completions, to the row of the database. */
static void prompts_and_completions_are_trained(void **state) {
    (void)state;
    char *pairs = test_path("tests/reference/language/pairs.jsonl");
    free(stage_out(0, "train " MODEL "llama --train '%s' --dev '%s' --method 'lora(r=2)' --steps 6 --batch 4 --lr 1e-2 --workers 1 --db '%s'",
                   pairs, pairs, stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    json_t *best = json_object_get(json_array_get(runs, 0), "best");
    assert_string_equal(json_string_value(json_object_get(best, "metric")), "loss");
    double loss = json_number_value(json_object_get(best, "value"));
    assert_true(loss > 3 && loss < 6.3);
    json_decref(runs);
    char *text = stage_out(0, "show last --db '%s'", stage.db);
    assert_non_null(strstr(text, "\"max_len\":64,")); /* the context of the model, below the default of 1,024 */
    assert_true(strstr(text, "dev.perplexity") && strstr(text, "dev.token_accuracy") && !strstr(text, "dev.rougeL"));
    free(text);
    json_t *own = stage_json("eval last --json --db '%s'", stage.db), *base;
    assert_true(json_number_value(json_object_get(json_object_get(own, "metrics"), "loss")) == loss);
    assert_true(json_is_null(json_object_get(json_object_get(own, "metrics"), "exact")));
    base = stage_json("eval " MODEL "llama --file '%s' --metric exact --json", pairs);
    assert_true(json_number_value(json_object_get(json_object_get(base, "metrics"), "loss")) > loss);
    assert_true(json_number_value(json_object_get(json_object_get(base, "metrics"), "exact")) == 0);
    stage_refused(2, "add --metric exact", "eval " MODEL "llama --file '%s' --wrong -", pairs);
    stage_refused(2, "has no classification head", "eval " MODEL "llama --file '%s'", stage.toy);
    json_decref(own), json_decref(base);
    free(pairs);
}

/* A text without tokens is refused: the head would read the last token of the text before it. */
static void texts_without_tokens_are_refused(void **state) {
    (void)state;
    char *rows = test_file(stage.folder, "holes.tsv", "text\tlabel\na good film\tpos\n\tneg\na bad film\tneg\n", 46);
    stage_refused(5, "holes.tsv:3: the text has no tokens", "train " MODEL "llama --train '%s' --no-dev --steps 1 --workers 1 --db '%s'", rows, stage.db);
    stage_refused(5, "--text:1: the text has no tokens", "generate " MODEL "llama --text ''");
    stage_refused(5, "--text:1: the text has no tokens", "predict " MODEL "llama --text ''");
    stage_refused(5, "the text has no tokens", "encode " MODEL "llama --text '' --json");
    stage_refused(2, "--weights-in file: ", "eval --model '%s' --file '%s' --weights-in file", stage.model, rows);
    free(rows);
}

/* A message is written with the template; each line of standard input is answered in one chat. */
static void messages_are_answered(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "llama --train '%s' --no-dev --steps 6 --lr 0.1 --batch 4 --max-length 24 --workers 1 --db '%s' "
                      "--method 'prompt-tuning(l=3) + lora(r=2)'", stage.toy, stage.db));
    char *plain = stage_out(0, "generate " MODEL "llama --text 'a good film' --max-new 9 --json"),
         *chat = stage_out(0, "generate " MODEL "llama --chat --template chatml --text 'a good film' --max-new 3 --json"),
         *system = stage_out(0, "generate " MODEL "llama --chat --template chatml --system bad --text 'a good film' --max-new 3 --json");
    assert_string_not_equal(plain, chat);
    assert_string_not_equal(system, chat);
    char *lines = test_file(stage.folder, "chat.txt", "a good film\n\nbad\r\n", 18),
         *two = stage_out(0, "chat tests/reference/causal/llama --template chatml --max-new 3 --json --file '%s'", lines),
         *run = stage_out(0, "chat last --db '%s' --template chatml --max-new 3 --json --file '%s'", stage.db, lines);
    assert_int_equal(stage_json_lines(two), 2);
    assert_int_equal(stage_json_lines(run), 2);
    assert_true(!strncmp(two, chat, strlen(chat) - 1));
    assert_string_not_equal(two, run);
    free(lines);
    lines = test_file(stage.folder, "long.txt", "123456789012345678901234567890123456789012345678901234567890\n", 61);
    stage_refused(5, "more than the context of llama (64): start a new chat", "chat tests/reference/causal/llama --template chatml --max-new 40 --file '%s'", lines);
    stage_refused(2, "has no chat template; select one with --template", "chat tests/reference/causal/llama --file '%s'", lines);
    stage_refused(2, "unknown run \"nobody\"; use its id, its name, or \"last\"; no model has the name \"nobody\" either", "chat nobody --file '%s' --db '%s'", lines, stage.db);
    char *other = test_file(stage.folder, "other.db", "not a database, but a text of some length", 41);
    stage_refused(2, "only a decoder-only model answers messages", "chat petri-mini --file '%s' --db '%s'", lines, other);
    stage_refused(4, "; no model has the name \"nobody\" either", "chat nobody --file '%s' --db '%s'", lines, other);
    free(other);
    stage_refused(2, "only a decoder-only model answers messages", "chat '%s' --file '%s'", stage.model, lines);
    stage_refused(2, "--system: requires --chat", "generate " MODEL "llama --system x --text y");
    free(plain), free(chat), free(system), free(lines), free(two), free(run);
}

/* A run that was trained with a template predicts with it. */
static void a_run_predicts_with_its_template(void **state) {
    (void)state;
    char *pairs = test_path("tests/reference/language/pairs.jsonl");
    free(stage_out(0, "train " MODEL "llama --train '%s' --no-dev --template chatml --method 'lora(r=2)' --steps 2 --batch 2 --workers 1 "
                      "--max-target 4 --db '%s'", pairs, stage.db));
    json_t *own = stage_json("predict last --text 'a good film' --json --db '%s'", stage.db),
           *chat = stage_json("generate last --chat --text 'a good film' --max-new 4 --json --db '%s'", stage.db),
           *plain = stage_json("generate last --text 'a good film' --max-new 4 --json --db '%s'", stage.db);
    const char *said = json_string_value(json_object_get(own, "given"));
    assert_string_equal(said, json_string_value(json_object_get(chat, "text")));
    assert_string_not_equal(said, json_string_value(json_object_get(plain, "text")));
    json_decref(own), json_decref(chat), json_decref(plain);
    char *lines = test_file(stage.folder, "longer.txt", "good\n123456789012345678901234567890123456789012345678901234567890\n", 66);
    stage_refused(5, "line 2 is longer than 64 tokens", "predict last --file '%s' --db '%s'", lines, stage.db);
    free(lines);
    free(pairs);
}

/* A text as a message, whose control tokens are the template's only. */
static void texts_are_encoded_as_messages(void **state) {
    (void)state;
    json_t *plain = stage_json("encode " MODEL "llama --text '<|im_end|>' --json --tokens"),
           *chat = stage_json("encode " MODEL "llama --text '<|im_end|>' --chat --system cat --template chatml --json");
    const json_t *ids = json_object_get(chat, "ids");
    assert_int_equal(json_array_size(json_object_get(plain, "ids")), 1);
    size_t ends = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) ends += json_integer_value(json_array_get(ids, i)) == 2;
    assert_int_equal(ends, 2);
    json_decref(plain), json_decref(chat);
    char *out = stage_out(0, "encode " MODEL "llama --text 'a cat' --chat --template chatml");
    assert_true(strstr(out, "<|im_start|>\n") && strstr(out, " tokens; chat template: chatml\n"));
    free(out);
    stage_refused(2, "llama: the model has no chat template; select one with --template", "encode " MODEL "llama --text cat --chat");
}

/* Chats and what a run stores of their template. */
static void chats_are_trained(void **state) {
    (void)state;
    char *chats = xprintf("%s/chats.jsonl", stage.folder);
    test_put(stage.folder, "chats.jsonl",
             "{\"messages\":[{\"role\":\"user\",\"content\":\"the cat\"},{\"role\":\"assistant\",\"content\":\"sat\"}]}\n"
             "{\"messages\":[{\"role\":\"user\",\"content\":\"the dog\"},{\"role\":\"assistant\",\"content\":\"sat by\"}]}\n");
    free(stage_out(0, "train " MODEL "llama --train '%s' --dev '%s' --template chatml --method 'lora(r=2)' --steps 2 --batch 2 --workers 1 "
                      "--max-length 200 --db '%s'", chats, chats, stage.db));
    char *loss = stage_out(0, "eval last --db '%s' --json", stage.db),
         *other = stage_out(0, "eval last --db '%s' --template zephyr --json", stage.db);
    assert_true(strstr(loss, "\"targets\":") && strstr(other, "\"targets\":"));
    assert_string_not_equal(loss, other);
    char *said = stage_out(0, "generate last --db '%s' --chat --text 'the cat' --max-new 3 --json", stage.db),
         *same = stage_out(0, "generate last --db '%s' --chat --template chatml --text 'the cat' --max-new 3 --json", stage.db);
    assert_string_equal(said, same);
    free(said), free(same);
    char *shown = stage_out(0, "show last --db '%s'", stage.db);
    assert_non_null(strstr(shown, "chatml"));
    stage_refused(2, "chats.jsonl: line 1: chats need a chat template", "train " MODEL "llama --train '%s' --no-dev --steps 1 --db '%s'",
                  chats, stage.db);
    free(chats), free(loss), free(other), free(shown);
}

/* Of several tasks, the average rises as their losses fall. */
static void the_best_of_several_has_the_least_losses(void **state) {
    (void)state;
    char *pairs = test_path("tests/reference/language/pairs.jsonl"), *list = xprintf("%s/list.json", stage.folder),
         *text = xprintf("[{\"name\":\"a\",\"train\":\"%s\",\"dev\":\"%s\",\"source\":\"prompt\",\"target\":\"completion\"},"
                         "{\"name\":\"b\",\"train\":\"%s\",\"dev\":\"%s\",\"source\":\"prompt\",\"target\":\"completion\"}]",
                         pairs, pairs, pairs, pairs);
    struct err e = ERR_INIT;
    test_ok(file_write(list, text, strlen(text), &e), &e);
    free(stage_out(0, "train " MODEL "llama --tasks '%s' --method full --lr 3e-3 --steps 6 --eval-steps 3 --batch 8 --samples 0 --workers 1 --db '%s'",
                   list, stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db), *best = json_object_get(json_array_get(runs, 0), "best");
    double value = json_number_value(json_object_get(best, "value"));
    assert_int_equal(json_integer_value(json_object_get(best, "step")), 6);
    assert_true(value > 0 && value < 1);
    json_decref(runs);
    free(pairs), free(list), free(text);
}

static void what_decoders_cannot_do(void **state) {
    (void)state;
    stage_refused(2, "--start: a decoder-only model has no start token", "generate " MODEL "llama --text good --start good");
    stage_refused(2, "llama (llama) is decoder-only", "train " MODEL "llama --train '%s' --no-dev --form text --steps 1 --db '%s'", stage.toy,
                  stage.db);
}

/* Files of a GPT-2 have queries, keys and values in one tensor: a merged model has it, compared when it is written. */
static void gpt2_is_exported(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "gpt2 --train '%s' --no-dev --steps 3 --lr 0.1 --batch 4 --max-length 24 --workers 1 --db '%s' "
                      "--method 'lora(r=2; at=all-linear)'", stage.toy, stage.db));
    char *said = stage_out(0, "export last --to hf '%s/gpt2' --db '%s'", stage.folder, stage.db);
    assert_non_null(strstr(said, "largest logit difference"));
    free(said);
    stage_refused(2, "PEFT adapters of GPT-2 are not supported", "export last --to peft '%s/gpt2-peft' --db '%s'",
                  stage.folder, stage.db);
}

/* A GGUF file, alone in a folder that stands for it: trained on, moved with its data, stopped and resumed. */
static void a_file_is_a_model(void **state) {
    (void)state;
    char *file = test_path("tests/reference/gguf/llama.gguf"), *data = file_join(stage.folder, "data"),
         *make = xprintf("mkdir -p '%s/one' && cp '%s' '%s/one/' && cp '%s' '%s/one/toy.tsv'", data, file, data, stage.toy, data),
         *move = xprintf("mv '%s/one' '%s/two'", data, data), *db = stage.db;
    assert_int_equal(system(make), 0);
    free(stage_out(0, "train --model '%s/one' --train '%s/one/toy.tsv' --no-dev --steps 2 --batch 4 --max-length 24 --workers 1 "
                      "--db '%s'", data, data, db));
    char *at = stage_out(0, "predict last --text 'one good' --json --db '%s'", db);
    pid_t pid = command_start(stage.folder, "train --model '%s/one/llama.gguf' --train '%s/one/toy.tsv' --no-dev --steps 100000 --batch 4 "
                                    "--workers 1 --db '%s'", data, data, db);
    assert_true(stage_stop_midway(&stage, pid, 2, 3));
    assert_int_equal(system(move), 0);
    stage_refused(3, "give its new path with --model DIR", "predict 1 --text good --db '%s'", db);
    char *then = stage_out(0, "predict 1 --model '%s/two/llama.gguf' --text 'one good' --json --db '%s'", data, db);
    assert_string_equal(at, then);
    char *elsewhere = xprintf("cd '%s' && mv two one && cd one", data);
    assert_int_equal(system(elsewhere), 0);
    pid = command_start(stage.folder, "resume 2 --workers 1 --db '%s'", db);
    json_t *run = stage_json("show 2 --json --db '%s'", db);
    int step = (int)json_integer_value(stage_at(run, "step"));
    assert_true(stage_stop_midway(&stage, pid, 2, step + 3));
    char *other = xprintf("cp '%s/one/llama.gguf' '%s/one/other.gguf'", data, data);
    assert_int_equal(system(other), 0);
    stage_refused(5, "specify the GGUF file itself as the model", "encode --model '%s/one' --text good", data);
    json_decref(run);
    char *all[] = { file, data, make, move, at, then, elsewhere, other };
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_a_model),
        cmocka_unit_test(gpt2_is_exported),
        cmocka_unit_test(methods_train_on_decoders),
        cmocka_unit_test(a_last_word_changes_the_prediction),
        cmocka_unit_test(prompts_are_continued),
        cmocka_unit_test(prompts_and_completions_are_trained),
        cmocka_unit_test(texts_without_tokens_are_refused),
        cmocka_unit_test(messages_are_answered),
        cmocka_unit_test(a_run_predicts_with_its_template),
        cmocka_unit_test(texts_are_encoded_as_messages),
        cmocka_unit_test(chats_are_trained),
        cmocka_unit_test(the_best_of_several_has_the_least_losses),
        cmocka_unit_test(what_decoders_cannot_do),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
