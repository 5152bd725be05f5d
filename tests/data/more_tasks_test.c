/* assets/more-tasks: the task that is made of a machine's package lists, with an apt-cache of the test's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/data/support.h"

enum { SECTIONS = 13, SOURCES = 20 }; /* the last section is smaller than the others */

static char *home;

static void put(const char *folder, const char *name, const struct buf *b) {
    char *path = test_file(folder, name, b->data, b->size);
    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

static char *make_folder(const char *name) {
    struct err e = ERR_INIT;
    char *path = file_join(home, name);
    test_ok(file_make_folder(path, &e), &e);
    return path;
}

/* The two scripts in an assets folder of their own. */
static int set_up(void **state) {
    (void)state;
    static const char *const script[] = { "fetch", "more-tasks" };
    struct err e = ERR_INIT;
    home = test_folder();
    char *assets = make_folder("assets"), *bin = make_folder("bin");
    for (size_t i = 0; i < COUNT_OF(script); i++) {
        char *relative = xprintf("assets/%s", script[i]), *from = test_path(relative);
        struct buf b;
        test_ok(file_read(from, 1 << 20, &b, &e), &e);
        put(assets, script[i], &b);
        buf_release(&b);
        free(from);
        free(relative);
    }
    struct buf apt = BUF_INIT;
    buf_printf(&apt, "#!/bin/sh\n[ \"$1\" = dumpavail ] && exec cat '%s/list'\n", home);
    put(bin, "apt-cache", &apt);
    buf_release(&apt);
    free(bin);
    free(assets);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(home);
    return 0;
}

/* Two packages of each source, named after it; a version that repeats one; one without a section. */
static void put_list(bool backwards) {
    struct buf b = BUF_INIT;
    for (int k = 0; k < SECTIONS * SOURCES; k++) {
        int i = backwards ? SECTIONS * SOURCES - 1 - k : k, section = i / SOURCES, source = i % SOURCES;
        if (section == SECTIONS - 1 && source > 2) continue;
        for (int p = 0; p < 2; p++) {
            buf_printf(&b, "Package: s%dx%d-%d\n", section, source, p);
            if (p) buf_printf(&b, "Source: s%dx%d-0 (1.%d)\n", section, source, i);
            buf_printf(&b, "Description: does%dx%d thing %d\n more of it: not read\nSection: %ssec%02d\n\n", section, source, p,
                       p ? "" : "contrib/", section);
        }
    }
    buf_puts(&b, "Package: s0x0-0\nVersion: 2\nDescription: does0x0 thing 0\nSection: sec00\n\n");
    buf_puts(&b, "Package: odd\nDescription: has no section\n\n");
    free(test_file(home, "list", b.data, b.size));
    buf_release(&b);
}

/* Runs the script; its output, the caller's. */
static char *run_script(void) {
    char *line = xprintf("PATH='%s/bin':\"$PATH\" python3 '%s/assets/more-tasks' sections 2>&1", home, home);
    FILE *f = popen(line, "r");
    struct buf b = BUF_INIT;
    char part[256];
    assert_non_null(f);
    while (fgets(part, sizeof part, f)) buf_puts(&b, part);
    int status = pclose(f);
    if (status) fail_msg("the script ended with %d: %s", status, buf_text(&b));
    free(line);
    return buf_take(&b);
}

static void open_sections(struct task *t) {
    struct err e = ERR_INIT;
    char *assets = file_join(home, "assets");
    test_ok(task_open(t, &(struct task_source){ .where = "sections", .assets = assets }, &e), &e);
    free(assets);
}

static void sections_come_out_of_package_lists(void **state) {
    (void)state;
    if (system("command -v python3 >/dev/null")) test_skip("there is no python3");
    struct task t[2];
    char *folder = xprintf("%s/assets/tasks/sections", home), *train = file_join(folder, "train.tsv"),
         *dev = file_join(folder, "dev.tsv");
    for (int i = 0; i < 2; i++) {
        put_list(i);
        char *said = run_script();
        assert_non_null(strstr(said, "12 sections: sec00, sec01"));
        open_sections(&t[i]);
        free(said);
        said = run_script();
        assert_non_null(strstr(said, "tasks/sections is there"));
        free(said);
        assert_int_equal(remove(train) || remove(dev) || remove(folder), 0);
    }
    /* in whatever order apt lists them */
    assert_string_equal(t[0].train.sha256, t[1].train.sha256);
    assert_string_equal(t[0].dev[0].sha256, t[1].dev[0].sha256);
    assert_int_equal(t[0].classes, 12);
    assert_int_equal(t[0].train.rows + t[0].dev[0].rows, 12 * SOURCES * 2);
    assert_true(t[0].dev[0].rows > 12 * SOURCES * 2 / 10);
    /* packages of one source are on one side */
    for (size_t i = 0; i < t[0].dev[0].rows; i++)
        for (size_t k = 0; k < t[0].train.rows; k++) {
            const char *a = t[0].dev[0].row[i].a, *b = t[0].train.row[k].a;
            size_t n = strcspn(a, " ");
            assert_false(n == strcspn(b, " ") && !memcmp(a, b, n));
        }
    for (int i = 0; i < 2; i++) task_release(&t[i]);
    free(dev);
    free(train);
    free(folder);
}

static void without_lists_it_is_left_out(void **state) {
    (void)state;
    if (system("command -v python3 >/dev/null")) test_skip("there is no python3");
    free(test_file(home, "list", "", 0));
    char *said = run_script(), *folder = xprintf("%s/assets/tasks/sections", home);
    assert_non_null(strstr(said, "is left out: this machine has no Debian package lists"));
    assert_false(file_is_folder(folder));
    free(folder);
    free(said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_come_out_of_package_lists),
        cmocka_unit_test(without_lists_it_is_left_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
