/* The file of settings: what of it is taken, what is told, and what writing keeps. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/settings.h"
#include "core/base/file.h"
#include "core/base/mem.h"

static char *folder, *path;

static int begin(void **state) {
    (void)state;
    folder = test_folder();
    path = file_join(folder, "deep/petri/config");
    return 0;
}

static int end(void **state) {
    (void)state;
    free(folder);
    free(path);
    return 0;
}

static void put(const char *text) {
    struct err e = ERR_INIT;
    char *parent = file_join(folder, "deep/petri");
    assert_int_equal(file_make_folder(parent, &e), 0);
    assert_int_equal(file_write(path, text, strlen(text), &e), 0);
    free(parent);
}

static void wrong_lines_are_told(void **state) {
    (void)state;
    struct settings s;
    struct buf said = BUF_INIT;
    settings_init(&s);
    settings_read(&s, path, &said); /* none there */
    assert_int_equal(said.size, 0);
    put("# mine\n theme = light \nglyps = ascii\n\nmouse = perhaps\nworkers=99\n\xff\x1b[2J\nworkers = 3\nmodel =\nglyphs = as\r\n");
    settings_read(&s, path, &said);
    assert_string_equal(s.value[SETTING_THEME], "light");
    assert_string_equal(s.value[SETTING_MOUSE], "on"); /* as usual */
    assert_string_equal(s.value[SETTING_WORKERS], "3");
    assert_string_equal(s.value[SETTING_GLYPHS], "braille");
    static const char *const told[] = {"config:3: unknown setting \"glyps\"; did you mean glyphs", "config:5: mouse must be on or off, not \"perhaps\"",
                                       "config:6: workers must be an integer between 1 and 64, or cores, not \"99\"", "config:7: ", "config:9: model must be ",
                                       "config:10: glyphs must be braille, blocks or ascii, not \"as\""};
    for (size_t i = 0; i < COUNT_OF(told); i++)
        if (!strstr(buf_text(&said), told[i])) fail_msg("\"%s\" is not in:\n%s", told[i], buf_text(&said));
    assert_null(strchr(buf_text(&said), '\x1b'));
    buf_release(&said);
}

static void writing_keeps_what_is_there(void **state) {
    (void)state;
    struct settings s, again;
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT, said = BUF_INIT;
    settings_init(&s);
    put("# mine\ntheme = mono\n# below\nown = 3\n");
    assert_int_equal(settings_set(&s, "theme", "dark", &e), 0);
    assert_int_equal(settings_set(&s, "theme", "pink", &e), ERR_USAGE);
    assert_int_equal(settings_write(&s, path, &e), 0);
    assert_int_equal(file_read(path, 1 << 16, &text, &e), 0);
    assert_non_null(strstr(buf_text(&text), "# mine\ntheme = dark\n# below\nown = 3\n"));
    assert_non_null(strstr(buf_text(&text), "mouse = on\n"));
    settings_init(&again);
    settings_read(&again, path, &said);
    assert_string_equal(again.value[SETTING_THEME], "dark");
    assert_non_null(strstr(buf_text(&said), "config:4: unknown setting \"own\""));
    buf_clear(&said);
    assert_int_equal(remove(path), 0);
    assert_int_equal(settings_write(&s, path, &e), 0); /* a new one: each with its comment */
    settings_init(&again);
    settings_read(&again, path, &said);
    assert_int_equal(said.size, 0);
    for (int i = 0; i < SETTING_COUNT; i++) assert_string_equal(again.value[i], s.value[i]);
    buf_release(&text);
    buf_release(&said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(wrong_lines_are_told, begin, end),
        cmocka_unit_test_setup_teardown(writing_keeps_what_is_there, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
