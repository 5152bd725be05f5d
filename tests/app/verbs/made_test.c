/* Runs of made weights from the command line to the history and out again: prompts of tasks and a generated LoRA on
 * a tiny encoder and a tiny model that writes. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/mixed.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/writer.h"

static char *t5, *list;

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    t5 = writer_model(stage.folder, "t5", FAMILY_T5, NULL);
    list = mixed_list(stage.folder);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(t5);
    free(list);
    stage_release(&stage);
    return 0;
}

static json_t *ran(const char *model, const char *method, int workers) {
    struct command c;
    command_run(&c, NULL, "train --model '%s' --tasks '%s' --db '%s' --method '%s' --steps 3 --batch 8 --lr 1e-3 "
                          "--max-length 16 --workers %d --json", model, list, stage.db, method, workers);
    command_expect(&c, 0);
    json_t *run = command_json(&c, 1);
    command_release(&c);
    return run;
}

/* The columns that a run's modules have in the history. */
static void kept_as(int id, const char *source) {
    char *want = xprintf("\"fn\",\"source\",\"size\",\"mid\"\n\"full\",\"free\",,\n\"softmax\",\"%s\",2,3\n", source);
    char *rows = stage_out(0, "sql \"SELECT fn, source, size, mid FROM v_modules WHERE run=%d ORDER BY 1\" --db '%s'", id, stage.db);
    if (strcmp(rows, want)) fail_msg("%s\nnot\n%s", rows, want);
    free(rows);
    free(want);
}

/* What the run says of a text, and the run that its task's modules alone make elsewhere. */
static void used(int id, bool writes) {
    char *path = xprintf("%s/%d.safetensors", stage.folder, id), *other = xprintf("%s/other-%d.db", stage.folder, id);
    free(stage_out(0, "eval %d --task three --db '%s' --json", id, stage.db));
    if (writes) free(stage_out(0, "generate %d --task two --text 'good film' --max-new 3 --db '%s'", id, stage.db));
    char *was = stage_out(0, "predict %d --task two --text 'good film' --db '%s' --json", id, stage.db);
    free(stage_out(0, "export %d --task two --to petri '%s' --db '%s'", id, path, stage.db));
    json_t *run = stage_json("import '%s' --json --db '%s'", path, other);
    assert_non_null(strstr(stage_text(run, "method"), "prefix(l=2"));
    char *now = stage_out(0, "predict 1 --text 'good film' --db '%s' --json", other);
    assert_string_equal(now, was);
    json_decref(run);
    free(path);
    free(other);
    free(was);
    free(now);
}

static void prompts_from_command_to_row(void **state) {
    (void)state;
    static const char *const of[][2] = {
        {"hyperprompt-share(l=2,b=3)", "prompt-share"},
        {"hyperprompt-sep(backbone=norms,l=2,b=3)", "prompt-sep"},
        {"hyperprompt-global(l=2,b=3)", "prompt-global"},
    };
    for (size_t i = 0; i < 2 * COUNT_OF(of); i++) {
        bool writes = i % 2;
        json_t *one = ran(writes ? t5 : stage.model, of[i / 2][0], 1);
        int id = (int)json_integer_value(stage_at(one, "id"));
        assert_string_equal(stage_text(one, "method"), of[i / 2][0]);
        json_t *again = ran(writes ? t5 : stage.model, of[i / 2][0], 2 + writes);
        assert_string_equal(stage_text(again, "weights_sha256"), stage_text(one, "weights_sha256"));
        json_decref(again);
        kept_as(id, of[i / 2][1]);
        used(id, writes);
        json_decref(one);
    }
}

/* Of one task, too, what is made is folded as what it is made for. */
static void a_made_lora_of_one_task_is_a_plain_model(void **state) {
    (void)state;
    char *toy = stage_task(&stage, "alone", 0);
    free(stage_out(0, "train --model '%s' --task '%s' --db '%s/one.db' --steps 3 --batch 4 --lr 1e-2 --method "
                      "'lora(r=2,source=hyper) + hyper(task=3,layer=2,place=2,hidden=4,inner=3,net=site)'",
                   stage.model, toy, stage.folder));
    char *folder = file_join(stage.folder, "plain");
    free(stage_out(0, "export 1 --to hf '%s' --db '%s/one.db'", folder, stage.folder));
    char *was = stage_out(0, "predict 1 --text 'good film' --db '%s/one.db'", stage.folder);
    char *now = stage_out(0, "predict --model '%s' --text 'good film'", folder);
    assert_int_equal(strncmp(was, now, 3), 0);
    free(toy);
    free(folder);
    free(was);
    free(now);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_from_command_to_row),
        cmocka_unit_test(a_made_lora_of_one_task_is_a_plain_model),
    };
    return cmocka_run_group_tests_name("made weights in the history", tests, make, drop);
}
