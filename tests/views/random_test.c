/* Random keys, pastes and sizes on the whole interface: nothing crashes, every row stays
 * as wide as the window, and what is drawn in ASCII is ASCII. */
#include "tests/support/test.h"

#include "core/base/text.h"
#include "tests/views/scene.h"

enum { EVENTS = 100000, FEW = 40000 /* outside of make test-slow */ };

static uint64_t seed = 20260101;

static uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static uint32_t any_key(void) {
    static const char letters[] = "hjklhjklhjklgG/:nNquyyyy?123673*.z()ceKKyysSfFCRdVeHL+-[]0vmMwaPDTBcK<> 8.bb";
    if (draw(6) == 0) return keys_at((int)draw((uint32_t)keys_count()))->key; /* whichever there is */
    if (draw(4) == 0) return PRESS_ENTER + draw(PRESS_OTHER - PRESS_ENTER + 1);
    if (draw(30) == 0) return draw(0x3000) + 1;
    if (draw(20) == 0) return draw(26) + 1;
    return (unsigned char)letters[draw(sizeof letters - 1)];
}

static void check(const struct ui *ui, struct canvas *c) {
    ui_draw(ui, c);
    struct buf b = BUF_INIT;
    canvas_to_text(c, &b);
    int rows = 0;
    for (const char *p = buf_text(&b); *p; rows++) {
        size_t n = strcspn(p, "\n");
        char line[8192];
        assert_true(n < sizeof line);
        memcpy(line, p, n);
        line[n] = 0;
        bool control = false, ascii = true; /* a check a byte would take most of the time */
        for (size_t i = 0; i < n; i++) {
            control |= (unsigned char)line[i] < 0x20;
            ascii &= (unsigned char)line[i] < 0x80;
        }
        assert_false(control);
        assert_true(ascii || ui->glyphs != GLYPHS_ASCII);
        assert_true((ascii ? (int)n : text_width(line)) <= ui->w);
        p += n + 1;
    }
    assert_int_equal(rows, ui->h);
    assert_int_equal(c->clips, 1);
    buf_release(&b);
}

/* Whether the walk came by what matters. */
static bool came_by(const int effects[EFFECT_KINDS]) {
    static const enum effect_kind all[] = {EFFECT_TRAIN, EFFECT_TRASH, EFFECT_QUIT, EFFECT_STOP, EFFECT_OPEN_RUN, EFFECT_COPY,
                                           EFFECT_MAP_PLAY, EFFECT_MAP_LAYER, EFFECT_INSPECT, EFFECT_PICTURE, EFFECT_SWEEPS,
                                           EFFECT_LESSONS};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (!effects[all[i]]) return false;
    return true;
}

static void random_events(void **state) {
    (void)state;
    struct ui ui;
    struct canvas c;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    canvas_init(&c, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    scene_tasks(&ui);
    int effects[EFFECT_KINDS] = {0};
    for (int i = 0, n = test_slow() ? EVENTS : FEW; i < n || (i < EVENTS && !came_by(effects)); i++) {
        struct effect out = {0};
        if (draw(50) == 0) ui_resize(&ui, 1 + (int)draw(draw(2) ? 100 : 301), 1 + (int)draw(draw(2) ? 30 : 101));
        else if (draw(200) == 0) ui_paste(&ui, "a\n\x1b[2Jb\xff", 9, &out);
        else if (draw(20) == 0) ui_mouse(&ui, &(struct mouse){(enum mouse_kind)draw(3), (int)draw(310), (int)draw(110), 0}, &out);
        else out = scene_press(&ui, any_key());
        effects[out.kind]++;
        bool may_lack = out.kind == EFFECT_SWEEPS || out.kind == EFFECT_SWEEP_NEW; /* of no sweep that there is */
        for (int r = 0; r < out.runs && r < 3; r++) assert_true(out.run[r] > 0 || may_lack);
        if (out.kind == EFFECT_SWEEPS) { /* as the app fills it */
            scene_sweep(&ui);
            ui_changed(&ui);
        }
        if (i % 8 == 0) check(&ui, &c);
    }
    assert_true(came_by(effects));
    canvas_release(&c);
    ui_release(&ui);
}

/* What lies over a screen, or stands in its place: the list of what works, the ':' line with its palette, published methods,
 * what can be written, a folder and a file of one's own. */
enum over { OVER_NONE, OVER_MENU, OVER_COMMAND, OVER_PRESETS, OVER_WRITE, OVER_FOLDER, OVER_OWN, OVER_COUNT };

static bool lay_over(struct ui *ui, enum screen_id s, enum over o) {
    bool once = s == SCREEN_RUNS; /* these are the same over every screen */
    if (o == OVER_MENU || o == OVER_WRITE) scene_press(ui, o == OVER_MENU ? ',' : 'e');
    if (o == OVER_COMMAND) scene_press(ui, ':');
    if (o == OVER_PRESETS) scene_press(ui, 'P');
    if (o == OVER_FOLDER || o == OVER_OWN) scene_folder(ui);
    if (o == OVER_OWN) scene_own(ui);
    if (o >= OVER_FOLDER) return s == SCREEN_DATA;
    return o == OVER_NONE || (o == OVER_PRESETS ? s == SCREEN_COMPOSE : once);
}

static void draw_sizes(int w_most, int h_most, int more_w, int more_h) {
    for (int s = 0; s < SCREEN_COUNT; s++)
        for (int o = 0; o < OVER_COUNT; o++) {
            struct ui ui;
            struct canvas c;
            scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
            canvas_init(&c, 80, 24, GLYPHS_BRAILLE, COLORS_256);
            ui_show(&ui, (enum screen_id)s);
            bool there = lay_over(&ui, (enum screen_id)s, (enum over)o);
            for (int w = 1; there && w <= w_most; w += 1 + w * more_w / 12)
                for (int h = 1; h <= h_most; h += 1 + (o ? 2 : 0) * more_h) {
                    ui_resize(&ui, w, h);
                    check(&ui, &c);
                }
            canvas_release(&c);
            ui_release(&ui);
        }
}

static void every_small_size(void **state) {
    (void)state;
    draw_sizes(89, 33, 1, 1);
}

static void every_size(void **state) {
    (void)state;
    if (!test_slow()) test_skip("all sizes from 1x1 to 300x100 are drawn in make test-slow");
    draw_sizes(300, 100, 0, 0);
}

static void too_small_says_so(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 40, 3, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_TRAIN);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "#3 241 0.431"));
    assert_non_null(strstr(b.data, "window too small: 20x5 needed"));
    buf_release(&b);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events),
        cmocka_unit_test(every_small_size),
        cmocka_unit_test(every_size),
        cmocka_unit_test(too_small_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
