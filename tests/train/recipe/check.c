/* What recipe_test runs against the copy of core/train/run that has one objective more, doubled. */
#include <math.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

static void its_loss_is_trained(void **state) {
    (void)state;
    static const char rows[] = "text\tlabel\nthe cat\t0.5\na dog\t1.5\nthe dog\t2.25\na cat\t-1.5\n";
    char *folder = test_folder(), *model = tiny_bert(folder, "tiny", NULL), *path = file_join(folder, "scores.tsv");
    struct err e = ERR_INIT;
    struct ground g;
    struct trained t;
    test_ok(file_write(path, rows, sizeof rows - 1, &e), &e);
    ground_open(&g, model, path, path, 16);
    struct run_config c = ground_config(&g, "full", 4, 30);
    c.eval_every = 1;
    c.lr = 3e-3;
    train(&g, &c, NULL, 2, &t);
    assert_true(trained_state(&t) == RUN_FINISHED && t.loss[29] < t.loss[0]);
    /* the loss of a step is twice the error of the evaluation before it */
    for (int i = 0; i < 5; i++) assert_true(fabs(t.loss[i + 1] - 2 * t.evaluation[i].loss) < 1e-4 * t.loss[i + 1]);
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
    free(path), free(model), free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(its_loss_is_trained) };
    return cmocka_run_group_tests_name("an objective more", tests, NULL, NULL);
}
