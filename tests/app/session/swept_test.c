/* Pages of Compare and Sweep from a database: tabs, the best cell, its runs, and what is left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/compared.h"
#include "app/session/swept.h"
#include "core/base/mem.h"
#include "tests/store/support.h"
#include "tests/support/stage.h"

/* Three of four runs of a sweep; a run of another task; without evaluations one of the sweep's task and one of a file. */
static int make(void **state) {
    (void)state;
    stage_init(&stage);
    free(stage_task(&stage, "toys", 12));
    free(stage_task(&stage, "others", 9));
    const char *more = "--batch 2 --workers 2 --steps 4 --eval-steps 2";
    json_decref(stage_json("sweep --model '%s' --task '%s/toys' --db '%s' %s --method '{lora(r=2),bitfit}' --lr 3e-2 --seeds 1,2 "
                           "--budget runs=3 --json", stage.model, stage.folder, stage.db, more));
    free(stage_out(0, "train --model '%s' --task '%s/others' --db '%s' %s --method bitfit", stage.model, stage.folder, stage.db, more));
    for (int i = 0; i < 2; i++) {
        char *data = xprintf(i ? "--train '%s/toys/train.tsv'" : "--task '%s/toys' --no-dev", stage.folder);
        free(stage_out(0, "train --model '%s' %s --db '%s' --batch 2 --workers 2 --steps 2 --method %s", stage.model, data, stage.db,
                       i ? "bitfit" : "ia3"));
        free(data);
    }
    return 0;
}

static void a_page_has_the_best_cell_and_what_is_left(void **state) {
    (void)state;
    struct store *s = open_at(stage.db, STORE_READ);
    struct swept_page *p;
    struct err e = ERR_INIT;
    test_ok(swept_page_read(s, 1, NULL, &p, &e), &e);
    const struct sweep_page *page = &p->page;
    assert_int_equal(p->items, 1);
    assert_int_equal(p->item[0].finished, 3);
    assert_int_equal(page->tiles, 2);
    assert_true(page->wanted == 4 && page->over == 3);
    int best = 0, open = -1;
    bool named = false;
    for (int i = 0; i < 2; i++) {
        const struct sweep_tile *t = &page->tile[i];
        best += t->best;
        named |= t->best && strstr(page->leader, t->name);
        if (t->runs == 1) open = i;
        assert_int_equal(strncmp(t->evidence, "mean ", 5), 0);
        assert_int_equal(strncmp(t->list, t->runs == 1 ? "run #" : "runs #", 5), 0);
        assert_non_null(strstr(t->difference, "paired difference from "));
    }
    assert_true(best == 1 || (best == 2 && page->tile[0].mean == page->tile[1].mean));
    assert_true(named && strstr(page->leader, " of 3"));
    assert_true(open >= 0);
    struct store_run run; /* the missing run takes as long as the finished one of its cell */
    test_ok(store_run(s, page->tile[open].run[0], &run, &e), &e);
    assert_true(fabs(page->tile[open].seconds_left - run.seconds) < 1e-9);
    assert_true(page->tile[!open].seconds_left == 0);
    assert_true(fabs(page->seconds_left - run.seconds) < 1e-9);
    store_run_release(&run);
    swept_page_free(p);
    close_it(s);
}

/* One tab for each task and metric; a group without a value is on that of its task, or has its own. */
static void groups_have_the_tab_of_their_task(void **state) {
    (void)state;
    struct store *s = open_at(stage.db, STORE_READ);
    struct compared_page *p;
    struct err e = ERR_INIT;
    static const int64_t run[] = { 1, 2, 3, 4, 5, 6 };
    test_ok(compared_page_read(s, run, 6, "", false, &p, &e), &e);
    const struct compare_data *d = &p->data;
    assert_int_equal(d->groups, 5);
    assert_int_equal(d->kinds, 3);
    assert_string_equal(d->kind[0].name, "toys accuracy");
    assert_string_equal(d->kind[1].name, "others accuracy");
    assert_null(d->kind[2].metric);
    for (int i = 0; i < d->groups; i++) {
        const struct compare_group *g = &d->group[i];
        assert_int_equal(g->kind, g->run[0] < 4 || g->run[0] == 5 ? 0 : g->run[0] == 4 ? 1 : 2);
        assert_true(!g->evidence == (g->run[0] > 4));
    }
    compared_page_free(p);
    close_it(s);
}

/* A group's curve is the mean over its seeds at the steps that all have. */
static void a_group_has_mean_curves(void **state) {
    (void)state;
    struct store *s = open_at(stage.db, STORE_READ);
    struct compared_page *p;
    struct err e = ERR_INIT;
    static const int64_t run[] = { 1, 2, 3, 4 };
    test_ok(compared_page_read(s, run, 4, "", false, &p, &e), &e);
    const struct compare_data *d = &p->data;
    assert_true(d->curves == 4 && d->means == 3);
    const char *of_method = NULL; /* the only setting of two groups of the sweep */
    for (int i = 0; i < d->differences; i++) {
        if (!strcmp(d->difference[i].key, "method")) of_method = d->difference[i].effect[0];
        else assert_null(d->difference[i].effect[0]);
    }
    assert_int_equal(strncmp(of_method, "main effect of method: ", 23), 0);
    for (int i = 0; i < d->means; i++) {
        const struct compare_curve *mean = &d->mean[i], *of[2];
        int n = 0;
        for (int k = 0; k < d->curves; k++)
            if (d->curve[k].group == mean->group) of[n++] = &d->curve[k];
        assert_int_equal(mean->n, n);
        assert_int_equal(mean->loss.count, 4);
        assert_int_equal(mean->metric.count, 2);
        for (size_t k = 0; k < 4; k++) {
            double sum = of[0]->loss.value[k] + (n == 2 ? of[1]->loss.value[k] : 0);
            assert_true(fabs(mean->loss.value[k] - sum / n) < 1e-12 && mean->loss.step[k] == of[0]->loss.step[k]);
        }
        for (size_t k = 0; k < 2; k++) {
            double sum = of[0]->metric.value[k] + (n == 2 ? of[1]->metric.value[k] : 0);
            assert_true(fabs(mean->metric.value[k] - sum / n) < 1e-12);
        }
    }
    compared_page_free(p);
    close_it(s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_page_has_the_best_cell_and_what_is_left),
                                        cmocka_unit_test(groups_have_the_tab_of_their_task),
                                        cmocka_unit_test(a_group_has_mean_curves) };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
