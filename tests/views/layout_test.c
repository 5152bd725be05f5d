#include "tests/support/test.h"

#include "core/base/mem.h"
#include "views/layout.h"
#include "views/screen.h"

static bool inside(struct rect r, int w, int h) {
    return r.x >= 0 && r.y >= 0 && r.w > 0 && r.h > 0 && r.x + r.w <= w && r.y + r.h <= h;
}

static void check(struct rect *shown, int count, int w, int h) {
    for (int i = 0; i < count; i++) {
        if (!inside(shown[i], w, h))
            fail_msg("%dx%d: %d,%d %dx%d leaves the window", w, h, shown[i].x, shown[i].y, shown[i].w,
                     shown[i].h);
        for (int j = 0; j < i; j++)
            if (!rect_empty(rect_cut(shown[i], shown[j])))
                fail_msg("%dx%d: two rectangles lie over one another", w, h);
    }
}

static void sweep(int w, int h, enum screen_id screen, const struct layout_need *need) {
    struct layout_frame f;
    struct panes p;
    struct rect shown[PANE_COUNT + 4];
    int count = 0, panes = 0;
    layout_frame(w, h, &f);
    struct rect frame[] = {f.tabs, f.readout, f.hints};
    for (int i = 0; i < 3; i++)
        if (!rect_empty(frame[i])) shown[count++] = frame[i];
    layout_panes(screen_at(screen)->panes, f.size, f.body, need, &p);
    for (int i = 0; i < PANE_COUNT; i++) {
        if (rect_empty(p.at[i])) continue;
        struct rect both = rect_cut(p.at[i], f.body);
        if (both.w != p.at[i].w || both.h != p.at[i].h) fail_msg("%dx%d: a pane leaves the body", w, h);
        shown[count++] = p.at[i];
        panes++;
    }
    check(shown, count, w, h);
    assert_false(rect_empty(f.readout));
    assert_true((f.size == LAYOUT_LINE) == (w < 20 || h < 5));
    if (f.size == LAYOUT_LINE) assert_int_equal(panes, 0);
    else assert_true(panes > 0);
    if (w >= 60 && h >= 16) assert_true(f.size >= LAYOUT_PAGE);
}

static void every_size(void **state) {
    (void)state;
    for (int w = 1; w <= 300; w++)
        for (int h = 1; h <= 100; h++)
            for (int s = 0; s < SCREEN_COUNT; s++) {
                struct layout_need need = {.modules = (w + h) % 25, .axis = 3 + (w % 2) * 3,
                                           .facts = 4 + h % 2, .jobs = h % 9, .texts = w % 2, .tasks = w % 5,
                                           .given = w % 3, .panels = h % 3,
                                           .options = (w + h) % 3 == 0};
                sweep(w, h, (enum screen_id)s, &need);
            }
}

/* At the classic size nothing of Compose is missing. */
static void compose_at_80x24(void **state) {
    (void)state;
    struct layout_frame f;
    struct panes p;
    struct layout_need need = {.modules = 3, .axis = 3, .facts = 5};
    layout_frame(80, 24, &f);
    layout_panes(layout_compose, f.size, f.body, &need, &p);
    for (int i = PANE_METHOD; i <= PANE_FACTS; i++) assert_false(rect_empty(p.at[i]));
    assert_int_equal(p.at[PANE_METHOD].h, 6);
    assert_int_equal(p.at[PANE_FACTS].h, 5);
}

/* Whether a pane begins in the row after another one above it. */
static bool touch(const struct panes *p) {
    for (int i = 0; i < PANE_COUNT; i++)
        for (int j = 0; j < PANE_COUNT; j++) {
            struct rect a = p->at[i], b = p->at[j];
            bool above = !rect_empty(a) && !rect_empty(b) && a.y + a.h == b.y;
            if (above && a.x < b.x + b.w && b.x < a.x + a.w) return true;
        }
    return false;
}

/* Panes with titles are apart where there is room, and use all rows where there is not. */
static void panes_are_apart_where_there_is_room(void **state) {
    (void)state;
    static const layout_panes_of screens[] = {layout_compose, layout_train};
    static const int size[][2] = {{80, 24}, {100, 30}, {120, 30}, {200, 60}};
    for (size_t k = 0; k < COUNT_OF(screens); k++)
        for (size_t i = 0; i < COUNT_OF(size); i++) {
            struct layout_frame f;
            struct panes p;
            struct layout_need need = {.modules = 2, .axis = 3, .facts = 5, .jobs = 3};
            layout_frame(size[i][0], size[i][1], &f);
            layout_panes(screens[k], f.size, f.body, &need, &p);
            assert_int_equal(touch(&p), size[i][1] == 24);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),
        cmocka_unit_test(compose_at_80x24),
        cmocka_unit_test(panes_are_apart_where_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
