/* What recipe_test runs against the copy of views that has one screen more, queue. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "tests/support/test.h"
#include "views/render.h"
#include "views/ui.h"

static void press(struct ui *ui, uint32_t key) {
    struct press p = {key, false, 0};
    struct effect out;
    ui_press(ui, &p, &out);
    assert_int_equal(out.kind, EFFECT_NONE);
}

static void expect(const struct ui *ui, const char *text) {
    struct buf b = BUF_INIT;
    render_ui(ui, RENDER_TEXT, &b);
    if (!strstr(buf_text(&b), text)) fail_msg("no \"%s\" in\n%s", text, buf_text(&b));
    buf_release(&b);
}

static struct ui *begin(void) {
    static const struct job_row job[] = {{.id = 3, .method = "lora", .task = "t"}, {.id = 4, .method = "ia3", .task = "t"}};
    struct ui *ui = malloc(sizeof *ui);
    ui_init(ui, GLYPHS_BRAILLE, COLORS_NONE);
    ui->train.job = job;
    ui->train.jobs = 2;
    ui_changed(ui);
    press(ui, 'Q');
    assert_int_equal(ui->screen, SCREEN_QUEUE);
    return ui;
}

static void end(struct ui *ui) {
    ui_release(ui);
    free(ui);
}

static void it_is_drawn_with_its_tab_and_state(void **state) {
    (void)state;
    struct ui *ui = begin();
    expect(ui, "Q Queue");
    expect(ui, "\u25B8 3 waits");
    press(ui, 'j');
    assert_int_equal(ui->queue.cursor, 1);
    expect(ui, "\u25B8 4 waits");
    end(ui);
}

static void help_has_its_text_and_its_key(void **state) {
    (void)state;
    struct ui *ui = begin();
    press(ui, '?');
    expect(ui, "Queue lists the runs that wait.");
    expect(ui, "Q          Queue: the runs that wait");
    press(ui, PRESS_ESC);
    assert_int_equal(ui->screen, SCREEN_QUEUE);
    end(ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_drawn_with_its_tab_and_state),
                                       cmocka_unit_test(help_has_its_text_and_its_key)};
    return cmocka_run_group_tests_name("the screen that was added", tests, NULL, NULL);
}
