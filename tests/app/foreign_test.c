/* Folders of adapters that are not what a run of text classification expects. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/adapter.h"
#include "tests/support/edit.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char WEIGHTS[] = "adapter_model.safetensors";
static char *base;

static int make(void **state) {
    base = test_path("tests/reference/bert-tiny");
    return stage_make(state);
}

static int drop(void **state) {
    free(base);
    return stage_drop(state);
}

/* A copy of the fixture of LoRA on query and value, as it is. */
static char *same(void) { return adapter_copy(stage.folder, "lora", "\"r\": 2", "\"r\": 2"); }

static void values_that_are_not_finite_are_refused(void **state) {
    (void)state;
    struct edit t;
    char *folder = same();
    edit_open_file(&t, folder, WEIGHTS);
    edit_values(&t, "base_model.model.bert.encoder.layer.1.attention.self.query.lora_A.weight")[23] = (real)NAN;
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    edit_release(&t);
    stage_refused(5, "layer.1.attention.self.query.lora_A.weight\" holds nan at row 1, column 3 (from 0), the first of 1 ",
                  "import '%s' --model '%s' --db '%s'", folder, base, stage.db);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
