/* Packed weights replace their float32 values, which are read again when something needs them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

static struct model *mini(void) {
    struct err e = ERR_INIT;
    char *folder = test_path("assets/models/petri-mini");
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    free(folder);
    return m;
}

static size_t size_of(const struct model *m, int i) {
    return (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols * sizeof(real);
}

/* Packs all maps and returns one of them. */
static int pack_all(const struct model *m) {
    int last = -1;
    for (int i = 0; i < m->tensors; i++)
        if (arch_is_map(&m->arch, m->tensor[i].role)) assert_non_null(model_packed(m, last = i));
    assert_true(last >= 0);
    return last;
}

/* What is saved until a backward pass: packed for forward passes, a map has half of its size. */
static size_t saved_by(const struct model *m) {
    size_t all = 0;
    for (int i = 0; i < m->tensors; i++)
        if (arch_is_map(&m->arch, m->tensor[i].role)) all += size_of(m, i);
    return packed_is_native() ? all / 2 : 0;
}

static void packed_values_are_released_and_return(void **state) {
    (void)state;
    struct model *m = mini();
    const size_t before = model_bytes(m);
    real **was = xcalloc((size_t)m->tensors, sizeof *was);
    char hash[65];
    for (int i = 0; i < m->tensors; i++) {
        if (!m->weight[i]) continue;
        was[i] = xmalloc(size_of(m, i));
        memcpy(was[i], m->weight[i], size_of(m, i));
    }
    int map = pack_all(m);
    assert_int_equal(model_bytes(m), before - saved_by(m));
    model_hash(m, hash);
    assert_string_equal(hash, m->sha256);
    assert_memory_equal(model_weight(m, map), was[map], size_of(m, map));
    assert_int_equal(model_bytes(m), before - saved_by(m) + size_of(m, map));
    for (int i = 0; i < m->tensors; i++) {
        if (was[i]) assert_memory_equal(model_weight(m, i), was[i], size_of(m, i));
        free(was[i]);
    }
    model_hash(m, hash);
    assert_string_equal(hash, m->sha256);
    free(was);
    model_release(m);
}

static void values_that_were_read_remain(void **state) {
    (void)state;
    struct model *m = mini();
    const size_t before = model_bytes(m);
    int map = m->tensors;
    while (map-- > 0 && !arch_is_map(&m->arch, m->tensor[map].role)) {}
    const real *w = model_weight(m, map);
    real first = w[0];
    pack_all(m);
    assert_true(w[0] == first && w == m->weight[map]);
    assert_int_equal(model_bytes(m), before - saved_by(m) + size_of(m, map));
    model_release(m);
}

/* Nothing is released that could not be read again. */
static void values_of_a_changed_file_remain(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_folder(), *from = test_path("assets/models/petri-mini"),
         *copy = xprintf("cp '%s'/*.json '%s'/*.safetensors '%s'", from, from, folder),
         *file = file_join(folder, "model.safetensors");
    assert_int_equal(system(copy), 0);
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    const size_t before = model_bytes(m);
    int fd = open(file, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "", 1), 1);
    close(fd);
    pack_all(m);
    assert_true(model_bytes(m) > before);
    for (int i = 0; i < m->tensors; i++) assert_ptr_equal(model_weight(m, i), m->weight[i]);
    model_release(m);
    free(folder), free(from), free(copy), free(file);
}

/* Runs on one model, of which the first releases the values: later ones have the bits that they have on a model of
 * their own. */
static void later_runs_read_them_again(void **state) {
    (void)state;
    static const struct {
        const char *method;
        enum precision precision;
    } runs[] = {
        { "lora(r=2)", PRECISION_BF16 },    { "dora(r=2)", PRECISION_BF16 },    { "full", PRECISION_BF16 },
        { "diff-pruning", PRECISION_BF16 }, { "prefix(l=2)", PRECISION_F32 },
    };
    char *home = test_folder(), *toy = tiny_toy(home), *folder = test_path("assets/models/petri-mini");
    struct ground all;
    ground_open(&all, folder, toy, toy, 16);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        struct trained one, other;
        struct ground own;
        ground_open(&own, folder, toy, toy, 16);
        struct run_config c = ground_config(&own, runs[i].method, 8, 3);
        c.precision = runs[i].precision;
        train(&own, &c, NULL, 1, &other);
        train(&all, &c, NULL, 2, &one);
        assert_int_equal(trained_state(&one), RUN_FINISHED);
        assert_string_equal(one.sha256, other.sha256);
        trained_release(&one);
        trained_release(&other);
        config_release(&c);
        ground_release(&own);
    }
    ground_release(&all);
    free(home), free(toy), free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_values_are_released_and_return),
        cmocka_unit_test(values_that_were_read_remain),
        cmocka_unit_test(values_of_a_changed_file_remain),
        cmocka_unit_test(later_runs_read_them_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
