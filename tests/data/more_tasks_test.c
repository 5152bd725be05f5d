/* assets/more-tasks and assets/miniature: what is made of package lists, with an apt of the test's own; and the task that is
 * committed. */
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

/* The scripts in an assets folder of their own. */
static int set_up(void **state) {
    (void)state;
    static const char *const script[] = { "fetch", "more-tasks", "miniature" };
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
    buf_clear(&apt); /* no network, and no long descriptions */
    buf_puts(&apt, "#!/bin/sh\nexit 1\n");
    put(bin, "apt-get", &apt);
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
            buf_printf(&b, "Description: does%dx%d thing %d\n more of does%dx%d: not read\nSection: %ssec%02d\n\n", section, source, p,
                       section, source, p ? "" : "contrib/", section);
        }
    }
    buf_puts(&b, "Package: s0x0-0\nVersion: 2\nDescription: does0x0 thing 0\nSection: sec00\n\n");
    buf_puts(&b, "Package: odd\nDescription: has no section\n\n");
    buf_puts(&b, "Package: bold\nDescription: with a control \x1b[1m character\n\n");
    free(test_file(home, "list", b.data, b.size));
    buf_release(&b);
}

/* Runs a script; its output, the caller's. */
static char *run_script(const char *command) {
    char *line = xprintf("PATH='%s/bin':\"$PATH\" python3 '%s/assets/'%s 2>&1", home, home, command);
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
    test_ok(task_open(t, &(struct task_source){ .where = "sections12", .assets = assets }, &e), &e);
    free(assets);
}

static void sections_come_out_of_package_lists(void **state) {
    (void)state;
    if (system("command -v python3 >/dev/null")) test_skip("there is no python3");
    struct task t[2];
    char *folder = xprintf("%s/assets/tasks/sections12", home), *train = file_join(folder, "train.tsv"),
         *dev = file_join(folder, "dev.tsv");
    for (int i = 0; i < 2; i++) {
        put_list(i);
        char *said = run_script("more-tasks sections12");
        assert_non_null(strstr(said, "12 sections: sec00, sec01"));
        open_sections(&t[i]);
        free(said);
        said = run_script("more-tasks sections12");
        assert_non_null(strstr(said, "tasks/sections12 is there"));
        free(said);
        assert_int_equal(remove(train) || remove(dev) || remove(folder), 0);
    }
    /* in whatever order apt lists them */
    assert_string_equal(t[0].train.sha256, t[1].train.sha256);
    assert_string_equal(t[0].dev[0].sha256, t[1].dev[0].sha256);
    assert_int_equal(t[0].classes, 12);
    assert_int_equal(t[0].train.examples + t[0].dev[0].examples, 12 * SOURCES * 2);
    assert_true(t[0].dev[0].examples > 12 * SOURCES * 2 / 10);
    /* packages of one source are on one side */
    for (size_t i = 0; i < t[0].dev[0].examples; i++)
        for (size_t k = 0; k < t[0].train.examples; k++) {
            const char *a = t[0].dev[0].example[i].a, *b = t[0].train.example[k].a;
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
    char *said = run_script("more-tasks sections12"), *folder = xprintf("%s/assets/tasks/sections12", home);
    assert_non_null(strstr(said, "is left out: this machine has no Debian package lists"));
    assert_false(file_is_folder(folder));
    free(folder);
    free(said);
}

/* The side of a source package. */
static bool in_dev(const char *source) {
    char hex[65];
    sha256_hex(source, strlen(source), hex);
    return strncmp(hex, "33", 2) < 0; /* the first byte below 51 */
}

/* Three packages of each source, the last of them with a short description only. */
static void put_described(int sources) {
    struct buf b = BUF_INIT;
    for (int s = 0; s < sources; s++)
        for (int p = 0; p < 3; p++) {
            buf_printf(&b, "Package: s%d-%d\n", s, p);
            if (p) buf_printf(&b, "Source: s%d-0\n", s);
            buf_printf(&b, "Description: does thing %d of %d\n", s, p);
            if (p < 2)
                buf_printf(&b, " The first paragraph of %d has enough characters to say what the package\n is for.\n .\n"
                               " The second %d.\n", s, p);
            buf_puts(&b, "Section: misc\n\n");
        }
    free(test_file(home, "list", b.data, b.size));
    buf_release(&b);
}

enum { DESCRIBED = 2800 };

/* One line of each source in all three files, of its package with the name of the source, on its side. */
static void check_synopses(const char *folder) {
    static const char *const file[] = { "train.jsonl", "dev.jsonl", "test.jsonl" };
    static const char start[] = "{\"prompt\": \"The first paragraph of ";
    bool *seen = xcalloc(DESCRIBED, sizeof *seen);
    for (int i = 0; i < 3; i++) {
        char *text = test_text(folder, file[i]), *rest = text, *line;
        int lines = 0;
        for (; (line = strsep(&rest, "\n")) && *line; lines++) {
            assert_memory_equal(line, start, strlen(start));
            int number = atoi(line + strlen(start));
            assert_in_range(number, 0, DESCRIBED - 1);
            assert_false(seen[number]);
            seen[number] = true;
            char *source = xprintf("s%d-0", number),
                 *whole = xprintf("%s%d has enough characters to say what the package is for.\\nThe second 0.\\nSynopsis:\", "
                                  "\"completion\": \" does thing %d of 0\", \"package\": \"%s\"}", start, number, number, source);
            assert_string_equal(line, whole);
            assert_int_equal(in_dev(source), i > 0);
            free(whole);
            free(source);
        }
        assert_int_equal(lines, i ? 200 : 2000);
        free(text);
    }
    free(seen);
}

/* Long descriptions and synopses are read as prompts and completions; too few of them are left out. */
static void synopses_have_one_package_of_a_source(void **state) {
    (void)state;
    if (system("command -v python3 >/dev/null")) test_skip("there is no python3");
    char *folder = xprintf("%s/assets/tasks/synopses", home), *assets = file_join(home, "assets"), *said;
    put_described(200);
    said = run_script("more-tasks synopses");
    assert_non_null(strstr(said, "tasks/synopses is left out: apt has not enough long descriptions"));
    assert_false(file_is_folder(folder));
    free(said);
    put_described(DESCRIBED);
    free(run_script("more-tasks synopses"));
    check_synopses(folder);
    struct err e = ERR_INIT;
    struct task t;
    test_ok(task_open(&t, &(struct task_source){ .where = "synopses", .assets = assets }, &e), &e);
    assert_int_equal(t.kind, DATA_TEXT);
    assert_int_equal(t.train.examples, 2000);
    assert_int_equal(t.dev[0].examples, 200);
    task_release(&t);
    said = run_script("more-tasks synopses");
    assert_non_null(strstr(said, "tasks/synopses is there"));
    free(said);
    free(assets);
    free(folder);
}

/* The text to pretrain on: each line once, and nothing of what is on dev's side. */
static void the_corpus_keeps_dev_out(void **state) {
    (void)state;
    if (system("command -v python3 >/dev/null")) test_skip("there is no python3");
    char *text[2];
    for (int i = 0; i < 2; i++) {
        struct err e = ERR_INIT;
        put_list(i);
        char *command = xprintf("miniature corpus '%s/corpus' '%s/held'", home, home),
             *said = run_script(command), *path = file_join(home, "corpus");
        assert_non_null(strstr(said, "this machine's own lists serve"));
        struct buf b;
        test_ok(file_read(path, 1 << 20, &b, &e), &e);
        text[i] = buf_take(&b);
        free(path);
        free(said);
        free(command);
    }
    assert_string_equal(text[0], text[1]);
    struct err e = ERR_INIT;
    struct buf held;
    char *held_path = file_join(home, "held");
    test_ok(file_read(held_path, 1 << 20, &held, &e), &e);
    int out = 0;
    for (int section = 0; section < SECTIONS - 1; section++)
        for (int source = 0; source < SOURCES; source++) {
            char *name = xprintf("s%dx%d-0", section, source), *line = xprintf("does%dx%d thing 0\n", section, source),
                 *more = xprintf("more of does%dx%d:", section, source);
            char *first = strstr(text[0], line);
            assert_int_equal(!first, in_dev(name));
            assert_int_equal(!strstr(text[0], more), in_dev(name));
            assert_int_equal(!strstr(buf_text(&held), more), !in_dev(name));
            assert_true(!first || !strstr(first + 1, line));
            out += !first;
            free(more);
            free(line);
            free(name);
        }
    assert_true(out > 12 * SOURCES / 10);
    assert_null(strchr(text[0], '\x1b')); /* put_list has one in a synopsis */
    assert_non_null(strstr(text[0], "with a control [1m character\n"));
    buf_release(&held);
    free(held_path);
    for (int i = 0; i < 2; i++) free(text[i]);
}

/* assets/tasks/sections: as large as its card says, each class as often, each source package once and on its side. */
static void the_committed_task(void **state) {
    (void)state;
    static const char *const file[] = { "assets/tasks/sections/train.tsv", "assets/tasks/sections/dev.tsv" };
    char *assets = test_path("assets");
    struct err e = ERR_INIT;
    struct task t;
    test_ok(task_open(&t, &(struct task_source){ .where = "sections", .assets = assets }, &e), &e);
    assert_int_equal(t.classes, 8);
    assert_int_equal(t.train.examples, 2401);
    assert_int_equal(t.dev[0].examples, 599);
    int of_class[8] = { 0 };
    for (int i = 0; i < 2; i++) {
        const struct dataset *s = i ? &t.dev[0] : &t.train;
        for (size_t r = 0; r < s->examples; r++) of_class[s->example[r].label]++;
    }
    for (int c = 0; c < 8; c++) assert_int_equal(of_class[c], 375);
    task_release(&t);
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        struct buf b;
        char *path = test_path(file[i]), *before = NULL, *save = NULL;
        test_ok(file_read(path, 1 << 20, &b, &e), &e);
        bytes += b.size;
        strtok_r((char *)buf_text(&b), "\n", &save);
        for (char *line; (line = strtok_r(NULL, "\n", &save));) {
            char *source = strrchr(line, '\t') + 1;
            if (in_dev(source) != (i == 1)) fail_msg("%s has %s", file[i], source);
            if (before && strcmp(before, source) >= 0) fail_msg("%s: %s does not come after %s", file[i], source, before);
            before = source;
        }
        buf_release(&b);
        free(path);
    }
    assert_true(bytes < 300000);
    free(assets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_come_out_of_package_lists),
        cmocka_unit_test(without_lists_it_is_left_out),
        cmocka_unit_test(synopses_have_one_package_of_a_source),
        cmocka_unit_test(the_corpus_keeps_dev_out),
        cmocka_unit_test(the_committed_task),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
