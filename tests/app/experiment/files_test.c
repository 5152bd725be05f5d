/* The experiments that come with petri: each is read, and each line of it is a run's or a verb's. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "app/experiment/experiment.h"
#include "app/verbs/args.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "tests/support/test.h"

/* The method of a line, up to its end or the next option. */
static void check_method(const char *line) {
    const char *at = strstr(line, "--method ");
    if (!at) return;
    at += 9;
    char end = *at == '\'' ? '\'' : ' ';
    at += *at == '\'';
    char *text = xstrndup(at, strcspn(at, end == '\'' ? "'" : " "));
    struct run_config c;
    struct err e = ERR_INIT;
    config_init(&c);
    if (config_set(&c, "method", text, &e)) fail_msg("%s: %s", text, e.text);
    config_release(&c);
    free(text);
}

static void every_line_is_one(void **state) {
    (void)state;
    char *folder = test_path("assets/experiments");
    DIR *d = opendir(folder);
    assert_non_null(d);
    int files = 0;
    struct experiment *x = xcalloc(1, sizeof *x);
    for (struct dirent *f; (f = readdir(d));) {
        if (!text_ends(f->d_name, ".json")) continue;
        struct err e = ERR_INIT;
        char *path = file_join(folder, f->d_name);
        test_ok(experiment_read(x, path, &e), &e);
        for (int i = 0; i < x->cells; i++) {
            const struct experiment_cell *c = &x->cell[i];
            check_method(c->text);
            char *word = xstrndup(c->text, strcspn(c->text, " "));
            if (c->path && !verb_find(word)) fail_msg("%s: %s is no verb", f->d_name, word);
            free(word);
        }
        experiment_release(x);
        free(path);
        files++;
    }
    assert_true(files >= 4);
    closedir(d);
    free(x);
    free(folder);
}

/* A page of docs/ holds no number that its results do not. */
static void check_page(const char *page_name, const char *results_name, const char *const *name, size_t names) {
    char *results = test_path(results_name), *page = test_path(page_name);
    struct buf made = BUF_INIT, kept = BUF_INIT;
    struct err e = ERR_INIT;
    struct experiment *x = xcalloc(1, sizeof *x);
    struct experiment_result *r = xcalloc(1, sizeof *r);
    buf_puts(&made, EXPERIMENT_PAGE);
    for (size_t i = 0; i < names; i++) {
        char *part = xprintf("assets/experiments/%s.json", name[i]), *path = test_path(part);
        test_ok(experiment_read(x, path, &e), &e);
        test_ok(experiment_result_read(x, results, r, &e), &e);
        experiment_page(x, r, &made);
        experiment_release(x);
        free(part);
        free(path);
    }
    test_ok(file_read(page, 1 << 20, &kept, &e), &e);
    assert_string_equal(buf_text(&made), buf_text(&kept));
    buf_release(&made), buf_release(&kept);
    experiment_result_release(r);
    free(x), free(r), free(results), free(page);
}

static void pages_are_made_of_their_results(void **state) {
    (void)state;
    static const char *const hyper[] = { "pha-low-data", "pha-parts", "hyperformer", "hyperprompt" };
    static const char *const unified[] = { "unified-generation", "unified-classification" };
    static const char *const meta[] = { "meta-adapters" };
    check_page("docs/claims-meta.md", "docs/claims-meta.json", meta, COUNT_OF(meta));
    check_page("docs/claims-hyper.md", "docs/claims-hyper.json", hyper, COUNT_OF(hyper));
    check_page("docs/claims-unified.md", "docs/claims-unified.json", unified, COUNT_OF(unified));
}

/* Equality is claimed by two one-sided tests, and refuted only outside the margin. */
static void equality_is_shown_within_a_margin(void **state) {
    (void)state;
    const struct experiment_contrast c = { .margin = 1 };
    const struct experiment_shown near = { .spread = { 3, 0.1, 0.2 } }, wide = { .spread = { 3, 0.1, 2 } };
    const struct experiment_shown off = { .spread = { 3, 5, 0.2 } };
    assert_string_equal(experiment_verdict(&c, &near), "as claimed");
    assert_string_equal(experiment_verdict(&c, &wide), "not shown");
    assert_string_equal(experiment_verdict(&c, &off), "contradicted");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_line_is_one),
                                       cmocka_unit_test(pages_are_made_of_their_results),
                                       cmocka_unit_test(equality_is_shown_within_a_margin) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
