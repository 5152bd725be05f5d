/* Talk in a real terminal: a run and its base model answer the same message, token by token. */
#include "tests/app/session/terminal.h"

#include "core/base/buf.h"

static void a_run_answers_next_to_its_model(void **state) {
    (void)state;
    need_tmux();
    struct buf pairs = BUF_INIT;
    for (int i = 0; i < 8; i++) buf_printf(&pairs, "{\"prompt\": \"say %d\", \"completion\": \"good film\"}\n", i);
    char *path = test_file(stage.folder, "pairs.jsonl", pairs.data, pairs.size);
    buf_release(&pairs);
    char *model = test_path("tests/reference/causal/llama"), *go = xprintf("cd '%s';", stage.folder);
    free(stage_out(0, "train --model '%s' --train '%s' --no-dev --template chatml --method 'lora(r=2)' "
                      "--steps 2 --batch 2 --max-length 40 --workers 1 --db '%s'", model, path, stage.db));
    start(go, "");
    await("1 Compose", true);
    type("3");
    await("finished", true);
    type("9");
    await("llama, without the run", true);
    type("Enter");
    await("Enter accept", true);
    type("hello Enter");
    await("> hello", true);
    await("answering", false);
    await("R again", true);
    type("l Tab h");
    await("most probable:", true);
    type("i");
    await("edit hello", true);
    type("o Enter");
    await("> helloo", true);
    await("R again", true);
    type("e");
    await("wrote petri-talk", true);
    type("x");
    await("llama, without the run", false);
    type("R");
    await("> helloo", true);
    await("R again", true);
    type("z");
    await("Press Enter and write a message", true);
    type("q");
    await("left=0", true);
    free(path);
    free(model);
    free(go);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_answers_next_to_its_model, make, close_shell),
    };
    return cmocka_run_group_tests_name("talk in a terminal", tests, NULL, drop);
}
