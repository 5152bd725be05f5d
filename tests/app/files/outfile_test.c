/* What the program writes where the user says: never over what was there, unless asked to; never over the
 * history or what is read. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/files/outfile.h"
#include "app/files/own_methods.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    char *more = xprintf("--steps 4 --dev '%s'", stage.toy);
    json_decref(stage_train(&stage, 0, more));
    free(more);
    return 0;
}

static char *hash_of(const char *path) {
    char hex[65];
    struct err e = ERR_INIT;
    test_ok(file_sha256(path, hex, &e), &e);
    return xstrdup(hex);
}

static void expect_same(const char *path, char *before) {
    char *after = hash_of(path);
    assert_string_equal(after, before);
    free(after);
    free(before);
}

/* Nothing but what was there: no temporary file stays behind. */
static void no_leftover(const char *folder) {
    char *command = xprintf("test -z \"$(find '%s' -name '*.tmp-*')\"", folder);
    assert_int_equal(system(command), 0);
    free(command);
}

/* ---- the rules, one by one ---- */

static void what_exists_stays(void **state) {
    (void)state;
    char *folder = test_folder(), *database = file_join(folder, "h.db"), *there = test_file(folder, "there", "old", 3);
    char *link_to = file_join(folder, "link"), *dangling = file_join(folder, "dangling");
    struct err e = ERR_INIT;
    struct outfile_guard g;
    assert_int_equal(symlink("there", link_to), 0);
    assert_int_equal(symlink("nothing", dangling), 0);
    outfile_guard_init(&g, database, false);
    test_refused(outfile_write(&g, there, "new", 3, &e), ERR_USAGE, &e, "there: already exists; use --overwrite");
    test_refused(outfile_write(&g, link_to, "new", 3, &e), ERR_USAGE, &e, "link: already exists; use --overwrite");
    test_refused(outfile_write(&g, dangling, "new", 3, &e), ERR_USAGE, &e, "broken link");
    test_refused(outfile_write(&g, folder, "new", 3, &e), ERR_USAGE, &e, "is a folder");
    test_refused(outfile_write(&g, "", "new", 3, &e), ERR_USAGE, &e, "empty");
    test_refused(outfile_write(&g, "/dev/null", "new", 3, &e), ERR_USAGE, &e, "not a regular file");
    g.overwrite = true;
    test_refused(outfile_write(&g, "/dev/null", "new", 3, &e), ERR_USAGE, &e, "not a regular file");
    test_ok(outfile_write(&g, link_to, "new", 3, &e), &e);
    struct stat st;
    assert_true(!lstat(link_to, &st) && S_ISLNK(st.st_mode));
    struct buf bytes;
    test_ok(file_read(there, 100, &bytes, &e), &e);
    assert_string_equal(buf_text(&bytes), "new");
    buf_release(&bytes);
    no_leftover(folder);
    outfile_guard_release(&g);
    free(dangling);
    free(link_to);
    free(there);
    free(database);
    free(folder);
}

static void a_newcomer_is_left_alone(void **state) {
    (void)state;
    char *folder = test_folder(), *database = file_join(folder, "h.db"), *path = file_join(folder, "out");
    struct err e = ERR_INIT;
    struct outfile_guard g;
    struct file_atomic f;
    outfile_guard_init(&g, database, false);
    test_ok(outfile_open(&f, &g, path, &e), &e);
    test_ok(file_atomic_add(&f, "mine", 4, &e), &e);
    FILE *newcomer = fopen(path, "wx");
    assert_true(newcomer && fputs("theirs", newcomer) >= 0 && !fclose(newcomer));
    test_refused(file_atomic_commit(&f, &e), ERR_USAGE, &e, "out: already exists");
    struct buf bytes;
    test_ok(file_read(path, 100, &bytes, &e), &e);
    assert_string_equal(buf_text(&bytes), "theirs");
    buf_release(&bytes);
    no_leftover(folder);
    outfile_guard_release(&g);
    free(path);
    free(database);
    free(folder);
}

/* Also by another name, and names that are not taken yet. */
static void the_history_is_never_written_over(void **state) {
    (void)state;
    static const char *const beside[] = { "", "-wal", "-shm", "-journal", "-lock", "-files", "-files/new" };
    char *folder = test_folder(), *database = file_join(folder, "h.db"), *other = file_join(folder, "by-link.db");
    char *sub = file_join(folder, "sub"), *same = file_join(folder, "sub/../hard");
    struct err e = ERR_INIT;
    struct outfile_guard g;
    free(test_file(folder, "h.db", "x", 1));
    test_ok(file_make_folder(sub, &e), &e);
    assert_int_equal(symlink("h.db", other), 0);
    assert_int_equal(link(database, same), 0);
    const char *const named[] = { database, other };
    for (size_t k = 0; k < COUNT_OF(named); k++) {
        outfile_guard_init(&g, named[k], true);
        for (size_t i = 0; i < COUNT_OF(beside); i++) {
            char *path = xprintf("%s/../h.db%s", sub, beside[i]);
            test_refused(outfile_check(&g, path, &e), ERR_USAGE, &e, "belongs to the database");
            test_refused(outfile_check_folder(&g, path, &e), ERR_USAGE, &e, "belongs to the database");
            free(path);
        }
        test_refused(outfile_check(&g, other, &e), ERR_USAGE, &e, "belongs to the database");
        test_refused(outfile_check(&g, same, &e), ERR_USAGE, &e, "belongs to the database");
        char *near = xprintf("%s-filesystem", database);
        test_ok(outfile_check(&g, near, &e), &e);
        free(near);
        near = xprintf("%s/not/there/h.db", folder);
        test_ok(outfile_check_folder(&g, near, &e), &e);
        test_refused(outfile_check(&g, near, &e), ERR_NOT_FOUND, &e, "does not exist");
        free(near);
        outfile_guard_release(&g);
    }
    free(same);
    free(sub);
    free(other);
    free(database);
    free(folder);
}

static void names_are_numbered(void **state) {
    (void)state;
    char *folder = test_folder(), *stem = file_join(folder, "petri-map-run3");
    for (int i = 1; i <= 3; i++) {
        char *wanted = i == 1 ? xprintf("%s.svg", stem) : xprintf("%s-%d.svg", stem, i);
        char *name = outfile_new_name(stem, ".svg"), *base = file_base_name(name);
        assert_string_equal(name, wanted);
        free(test_file(folder, base, "x", 1));
        free(base);
        free(name);
        free(wanted);
    }
    char *slug = outfile_slug("  layers: Model by #3, linear CKA (\xc3\xa9)");
    assert_string_equal(slug, "layers-model-by-3-linear-cka");
    free(slug);
    free(stem);
    free(folder);
}

/* ---- the verbs ---- */

static void verbs_write_over_nothing(void **state) {
    (void)state;
    char *weights = file_join(stage.model, "model.safetensors"), *config = file_join(stage.model, "config.json");
    char *best = xprintf("%s-files/1/best.safetensors", stage.db), *by_link = file_join(stage.folder, "hard.tsv");
    char *out = file_join(stage.folder, "out.csv"), *fresh = file_join(stage.folder, "fresh.tsv");
    const char *const kept[] = { stage.db, best, weights, config, stage.toy, by_link };
    assert_int_equal(link(stage.toy, by_link), 0);
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const char *why = i < 2 ? "belongs to the database" : "it is an input file";
        char *before = hash_of(kept[i]);
        stage_refused(2, why, "export 1 --to csv '%s' --db '%s'", kept[i], stage.db);
        stage_refused(2, why, "export 1 --to json '%s' --overwrite --db '%s'", kept[i], stage.db);
        stage_refused(2, why, "eval 1 --wrong '%s' --db '%s'", kept[i], stage.db);
        stage_refused(2, why, "eval 1 --wrong '%s' --overwrite --db '%s'", kept[i], stage.db);
        expect_same(kept[i], before);
    }
    stage_refused(2, "belongs to the database", "export 1 --to hf '%s-files/hf' --db '%s'", stage.db, stage.db);
    stage_refused(2, "belongs to the database", "export 1 --to hf '%s-lock' --db '%s'", stage.db, stage.db);
    stage_refused(2, "--overwrite: requires PATH", "export 1 --to csv --overwrite --db '%s'", stage.db);
    stage_refused(2, "--overwrite: requires --wrong", "eval 1 --overwrite --db '%s'", stage.db);

    free(stage_out(0, "export 1 --to csv '%s' --db '%s'", out, stage.db));
    char *before = hash_of(out);
    stage_refused(2, "already exists; use --overwrite", "export 1 --to json '%s' --db '%s'", out, stage.db);
    expect_same(out, before);
    free(stage_out(0, "export 1 --to json '%s' --overwrite --db '%s'", out, stage.db));
    struct buf bytes;
    struct err e = ERR_INIT;
    test_ok(file_read(out, 1 << 20, &bytes, &e), &e);
    assert_true(stage_json_lines(buf_text(&bytes)) > 1);
    buf_release(&bytes);

    free(stage_out(0, "eval 1 --wrong '%s' --db '%s'", fresh, stage.db));
    stage_refused(2, "already exists; use --overwrite", "eval 1 --wrong '%s' --db '%s'", fresh, stage.db);
    no_leftover(stage.folder);
    free(fresh);
    free(out);
    free(by_link);
    free(best);
    free(config);
    free(weights);
}

/* Another history is no more to be written over than the one in use. */
static void another_database_stays(void **state) {
    (void)state;
    char *other = file_join(stage.folder, "other.db");
    json_decref(stage_json("runs --db '%s' --json", stage.db));
    char *copy = xprintf("cp '%s' '%s'", stage.db, other);
    assert_int_equal(system(copy), 0);
    stage_refused(2, "is an SQLite database", "export 1 --to csv '%s' --overwrite --db '%s'", other, stage.db);
    free(copy);
    free(other);
}

/* Methods kept by name: comments stay, a name is one method's, a file of another is taken whole or not at all. */
static void methods_are_kept_by_name(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct own_methods m;
    bool replaced;
    int count;
    char *folder = test_folder(), *path = xprintf("%s/data/methods", folder);
    test_ok(own_methods_read(path, &m, &e), &e); /* none yet */
    assert_int_equal(m.count, 0);
    own_methods_release(&m);
    test_ok(own_methods_save(path, "mine", "lora(r=4)+bitfit", &replaced, &e), &e);
    assert_false(replaced);
    char *text = test_text(folder, "data/methods"), *more = xprintf("# the talk's\n%sother=ia3\nodd = lora(\n", text);
    test_ok(file_write(path, more, strlen(more), &e), &e);
    free(text), free(more);
    test_ok(own_methods_save(path, "mine", "lora(r=16)", &replaced, &e), &e);
    assert_true(replaced);
    test_ok(own_methods_read(path, &m, &e), &e);
    assert_int_equal(m.count, 3);
    assert_string_equal(m.of[0].text, "ia3");
    assert_non_null(m.of[1].why); /* a text that cannot be read is told, not lost */
    assert_string_equal(m.of[2].text, "lora(r=16)");
    own_methods_release(&m);
    text = test_text(folder, "data/methods");
    assert_non_null(strstr(text, "# the talk's\n"));
    free(text);
    static const char *const wrong[][2] = {{"lora", "ia3"}, {"a b", "ia3"}, {"", "ia3"}, {"x(y)", "ia3"}, {"x", "lora(r=0)"}, {"x", ""}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_not_equal(own_methods_save(path, wrong[i][0], wrong[i][1], &replaced, &e), 0);
    char *from = test_file(folder, "theirs", "a = lora(r=2)\nb = nonsense\n", 27);
    e = (struct err)ERR_INIT;
    test_refused(own_methods_import(path, from, &count, &e), ERR_INPUT, &e, "theirs");
    free(test_file(folder, "theirs", "a = lora(r=2)\nmine = bitfit\n", 29));
    test_ok(own_methods_import(path, from, &count, &e), &e);
    assert_int_equal(count, 2);
    test_refused(own_methods_forget(path, "nobody", &e), ERR_NOT_FOUND, &e, "nobody");
    e = (struct err)ERR_INIT;
    test_ok(own_methods_forget(path, "a", &e), &e);
    struct buf all = BUF_INIT;
    test_ok(own_methods_text(path, &all, &e), &e);
    assert_string_equal(buf_text(&all), "other = ia3\nodd = lora(\nmine = bitfit\n");
    buf_release(&all);
    free(from), free(path), free(folder);
    /* the verb, in a home of its own */
    char *before = getenv("XDG_DATA_HOME") ? xstrdup(getenv("XDG_DATA_HOME")) : NULL, *to = file_join(stage.folder, "kept.txt");
    setenv("XDG_DATA_HOME", stage.folder, 1);
    free(stage_out(0, "methods --save fine --method 'lora(r=3)'"));
    char *list = stage_out(0, "methods");
    assert_non_null(strstr(list, "lora(r=3)"));
    free(list);
    free(stage_out(0, "methods --export '%s'", to));
    free(stage_out(0, "methods --forget fine"));
    free(stage_out(0, "methods --import '%s'", to));
    stage_refused(2, "--save: requires --method", "methods --save alone");
    if (before) setenv("XDG_DATA_HOME", before, 1);
    else unsetenv("XDG_DATA_HOME");
    free(before), free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_exists_stays),
        cmocka_unit_test(a_newcomer_is_left_alone),
        cmocka_unit_test(the_history_is_never_written_over),
        cmocka_unit_test(names_are_numbered),
        cmocka_unit_test(verbs_write_over_nothing),
        cmocka_unit_test(another_database_stays),
        cmocka_unit_test(methods_are_kept_by_name),
    };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
