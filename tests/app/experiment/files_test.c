/* The experiments that come with petri: each is read, and each line of it is a run's or a verb's. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "app/experiment/experiment.h"
#include "app/verbs/args.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config.h"
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
            if (c->of >= 0 && !verb_find(word)) fail_msg("%s: %s is no verb", f->d_name, word);
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

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_line_is_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
