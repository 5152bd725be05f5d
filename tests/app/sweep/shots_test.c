/* Runs of few shots in the history: taken up again they are what they were. */
#include <stdlib.h>

#include "app/sweep/shots.h"
#include "core/base/mem.h"
#include "core/train/config/config.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

/* One without a run that its draws begin from, none of which is trained yet. */
static int64_t make_row(struct store *store, const char *model) {
    struct run_config base = stage_config(&stage, 2, 2), rows;
    struct err e = ERR_INIT;
    struct shots *x;
    config_take_model(&base, model);
    config_init(&rows);
    rows.train_file = xstrdup(stage.toy);
    rows.dev_file = xstrdup(stage.toy);
    rows.text_column = xstrdup("text");
    rows.label_column = xstrdup("label");
    const struct shots_request r = { .rows = &rows, .base = &base, .how = { .ks = 1, .k = { 1 }, .draws = 2 }, .steps = 2,
                                     .eval_rows = -1, .seed = -1 };
    test_ok(shots_new(store, &r, (struct shots_hook){ 0 }, &x, &e), &e);
    int64_t id = shots_id(x);
    shots_free(x);
    test_ok(store_flush(store, &e), &e);
    config_release(&base);
    config_release(&rows);
    return id;
}

/* Draws of two models would stand in one mean. */
static void another_model_is_not_gone_on_with(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct store *store;
    struct shots *x;
    char *model = tiny_bert(stage.folder, "changing", NULL);
    test_ok(store_open(&store, stage.db, STORE_WRITE, &e), &e);
    int64_t id = make_row(store, model);
    free(tiny_bert(stage.folder, "changing", &(struct tiny){ .mul = 103 }));
    test_refused(shots_resume(store, id, NULL, (struct shots_hook){ 0 }, &x, &e), ERR_INPUT, &e,
                 "changing/model.safetensors: changed since the run was started");
    assert_null(x);
    free(tiny_bert(stage.folder, "changing", NULL));
    test_ok(shots_resume(store, id, NULL, (struct shots_hook){ 0 }, &x, &e), &e);
    test_ok(shots_train(x, 1, false, &e), &e);
    shots_free(x);
    test_ok(store_close(store, &e), &e);
    free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(another_model_is_not_gone_on_with) };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
