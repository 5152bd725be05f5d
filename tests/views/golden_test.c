#include "tests/support/test.h"

#include "tests/method/published.h"
#include "tests/views/golden.h"
#include "tests/views/pressed.h"
#include "tests/views/scenes.h"

/* In colors with what is colored, and without. */
static void draw_all(int w, int h) {
    bool drawn[SCREEN_COUNT] = {false};
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        struct ui ui;
        char name[100];
        scene_open(&ui, &scenes[i], w, h, GLYPHS_BRAILLE, COLORS_256);
        drawn[ui.screen] = true;
        snprintf(name, sizeof name, "%s-%dx%d", scenes[i].name, w, h);
        golden(&ui, name);
        if (!scenes[i].text_alone) golden_as(&ui, RENDER_ANSI, name);
        ui_release(&ui);
        if (scenes[i].text_alone) continue;
        scene_open(&ui, &scenes[i], w, h, GLYPHS_BRAILLE, COLORS_NONE);
        snprintf(name, sizeof name, "%s-%dx%d-mono", scenes[i].name, w, h);
        golden_as(&ui, RENDER_ANSI, name);
        ui_release(&ui);
    }
    for (int s = 0; s < SCREEN_COUNT; s++)
        if (!drawn[s]) fail_msg("%s is in no picture", screen_at((enum screen_id)s)->name);
}

/* A sweep's page, part by part where there is room for one. */
static void sweep_parts(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    for (int part = 0; part < (w < 120 ? (int)PART_COUNT : 1); part++) {
        struct ui ui;
        char name[100];
        scene_init(&ui, w, h, g, k);
        ui.sweep.open = 1;
        ui.sweep.part = (enum sweep_part)part;
        ui_changed(&ui);
        ui_show(&ui, SCREEN_SWEEP);
        snprintf(name, sizeof name, "sweep-part%d-%s", part, suffix);
        golden(&ui, name);
        ui_release(&ui);
    }
}

static void sweep_parts_at_all_sizes(void **state) {
    (void)state;
    sweep_parts(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    sweep_parts(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    sweep_parts(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* Models with two stacks, and methods narrowed to places of them. */
static void two_stacks(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    static const struct {
        const char *name, *config, *method;
    } rows[] = {
        {"bart-lora", BART_BASE, "lora"},
        {"bart-mam", BART_BASE, "mam(l=30,r=512,s=4)"},
        {"bart-houlsby", BART_BASE, "adapter-houlsby(site=self)"},
        {"t5-decoder", FLAN_T5_SMALL, "prefix(l=30,site=cross) + lora(stack=decoder,layers=3-)"},
        {"t5-ia3", T5_SMALL, "ia3"},
        {"t5-pha", FLAN_T5_SMALL, "pha"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct ui ui;
        char name[100];
        struct arch a;
        struct err e = ERR_INIT;
        test_ok(arch_parse("config.json", rows[i].config, strlen(rows[i].config), &a, NULL, &e), &e);
        scene_init(&ui, w, h, g, k);
        ui.compose.arch = &a;
        scene_method(&ui, rows[i].method);
        ui_show(&ui, SCREEN_COMPOSE);
        snprintf(name, sizeof name, "compose-%s-%s", rows[i].name, suffix);
        golden(&ui, name);
        ui_release(&ui);
        arch_release(&a);
    }
}

static void two_stacks_at_all_sizes(void **state) {
    (void)state;
    two_stacks(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    two_stacks(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    two_stacks(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* Train with the texts of a text-to-text run: at 80x24 in place of the metric. */
static void texts(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    for (int sentences = 0; sentences < 2; sentences++) {
        struct ui ui;
        char name[100];
        scene_init(&ui, w, h, g, k);
        ui.train.series.sample = sentences ? scene_sentences : scene_digits;
        ui.train.series.samples = sentences ? COUNT_OF(scene_sentences) : COUNT_OF(scene_digits);
        ui_show(&ui, SCREEN_TRAIN);
        if (w < 120) scene_press(&ui, 't');
        snprintf(name, sizeof name, "train-%s-%s", sentences ? "sentences" : "digits", suffix);
        golden(&ui, name);
        ui_release(&ui);
    }
}

static void texts_at_all_sizes(void **state) {
    (void)state;
    texts(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    texts(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    texts(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* A run of several tasks: their average, one, all. */
static void tasks(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    static const char *const shown[] = {"average", "one", NULL, NULL, "all"};
    struct ui ui;
    scene_init(&ui, w, h, g, k);
    scene_tasks(&ui);
    ui_show(&ui, SCREEN_TRAIN);
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        char name[100];
        snprintf(name, sizeof name, "train-tasks-%s-%s", shown[i] ? shown[i] : "", suffix);
        if (shown[i]) golden(&ui, name);
        scene_press(&ui, 'b');
    }
    ui_release(&ui);
}

/* All parts of a loss at once. */
static void terms(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct ui ui;
    char name[100];
    scene_init(&ui, w, h, g, k);
    scene_terms(&ui);
    ui_show(&ui, SCREEN_TRAIN);
    for (int i = 0; i < 4; i++) scene_press(&ui, 'o');
    snprintf(name, sizeof name, "train-terms-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

/* Two runs over one another, over seconds of training. */
static void beside(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct ui ui;
    char name[100];
    scene_init(&ui, w, h, g, k);
    ui_show(&ui, SCREEN_TRAIN);
    scene_beside(&ui);
    scene_press(&ui, 'x');
    scene_press(&ui, 'x');
    scene_press(&ui, 'h');
    snprintf(name, sizeof name, "train-beside-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

static void overlaid_runs_at_all_sizes(void **state) {
    (void)state;
    beside(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    beside(120, 40, GLYPHS_BRAILLE, COLORS_256, "120x40");
    beside(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    beside(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* Runs with a column a task, and the page of such a run. */
static void task_runs(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct ui ui;
    char name[100];
    scene_init(&ui, w, h, g, k);
    scene_task_runs(&ui);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'b');
    scene_press(&ui, 'G');
    for (int i = 0; i < 4; i++) scene_press(&ui, 'l');
    snprintf(name, sizeof name, "runs-tasks-%s", suffix);
    golden(&ui, name);
    static const struct detail_test tests[] = {
        {"mrpc", "accuracy", "test 204 (best checkpoint, step 240)", 0.731, 0.562, 0.674, NULL},
        {"cola", "matthews", "test 522 (best checkpoint, step 240)", NAN, 0.611, NAN, "constant predictions"}};
    ui.detail.test = tests;
    ui.detail.tests = COUNT_OF(tests);
    ui_show(&ui, SCREEN_DETAIL);
    snprintf(name, sizeof name, "detail-tasks-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

static void composed_tasks(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct ui ui;
    struct err e = ERR_INIT;
    char name[100];
    scene_init(&ui, w, h, g, k);
    test_ok(config_take_tasks(&ui.compose.config, "mrpc,rte,\u597D-debates", &e), &e);
    test_ok(config_set(&ui.compose.config, "sampling", "temperature(10)", &e), &e);
    compose_changed(&ui.compose);
    ui_show(&ui, SCREEN_COMPOSE);
    snprintf(name, sizeof name, "compose-tasks-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

static void retriever(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    static const enum screen_id screens[] = {SCREEN_MAP, SCREEN_HEATMAP};
    for (int i = 0; i < 2; i++) {
        struct ui ui;
        char name[100];
        scene_init(&ui, w, h, g, k);
        scene_retriever(&ui);
        ui_show(&ui, screens[i]);
        snprintf(name, sizeof name, "%s-%s", i ? "heatmap-prototypes" : "map-retriever", suffix);
        golden(&ui, name);
        ui_release(&ui);
    }
}

static void retriever_at_all_sizes(void **state) {
    (void)state;
    retriever(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    retriever(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    retriever(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

static void tasks_at_all_sizes(void **state) {
    (void)state;
    tasks(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    tasks(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    tasks(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
    terms(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    terms(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    terms(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
    task_runs(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    task_runs(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    task_runs(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
    composed_tasks(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    composed_tasks(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    composed_tasks(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* The cursor on the run: its options by group, one of them folded; the rate; what it is likely to take; a module off. */
static void composed_run(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    static const struct compose_own own[] = {{"mine", "lora(r=4) + bitfit", NULL}, {"odd\x1b[2J", "lora(", "no such method"}};
    struct ui ui;
    char name[100];
    scene_init(&ui, w, h, g, k);
    struct compose_view *v = &ui.compose;
    v->own = own;
    v->owns = 2;
    v->row_tokens = 27;
    v->workers = 2;
    v->speed.gflops = 70;
    v->config.precision = PRECISION_F32;
    ui_show(&ui, SCREEN_COMPOSE);
    scene_method(&ui, "mam(l=16,r=16)");
    scene_press(&ui, 'O');
    v->part = v->config.method.count;
    v->config.warmup = 0.1;
    compose_changed(v);
    v->option = compose_option_find(v, "eval-rows");
    scene_press(&ui, 'O');
    v->option = compose_option_find(v, "clip");
    snprintf(name, sizeof name, "compose-options-%s", suffix);
    golden(&ui, name);
    v->option = compose_option_find(v, "warmup");
    snprintf(name, sizeof name, "compose-rate-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

static void composed_run_at_all_sizes(void **state) {
    (void)state;
    composed_run(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    composed_run(120, 40, GLYPHS_BRAILLE, COLORS_256, "120x40");
    composed_run(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    composed_run(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* Own data: finding a file, and what is in it. */
static void own_data(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct ui ui;
    char name[100];
    scene_init(&ui, w, h, g, k);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_press(&ui, 'T');
    scene_folder(&ui);
    snprintf(name, sizeof name, "data-files-%s", suffix);
    golden(&ui, name);
    scene_own(&ui);
    scene_press(&ui, 'j');
    snprintf(name, sizeof name, "data-columns-%s", suffix);
    golden(&ui, name);
    ui_release(&ui);
}

static void own_data_at_all_sizes(void **state) {
    (void)state;
    own_data(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    own_data(120, 40, GLYPHS_BRAILLE, COLORS_256, "120x40");
    own_data(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    own_data(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

static void at_80x24(void **state) {
    (void)state;
    draw_all(80, 24);
}
static void at_120x40(void **state) {
    (void)state;
    draw_all(120, 40);
}
static void at_200x60(void **state) {
    (void)state;
    draw_all(200, 60);
}
static void ascii_at_80x24(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        struct ui ui;
        char name[100];
        scene_open(&ui, &scenes[i], 80, 24, GLYPHS_ASCII, COLORS_NONE);
        snprintf(name, sizeof name, "%s-ascii", scenes[i].name);
        golden(&ui, name);
        ui_release(&ui);
    }
}

static void show_own_rows(struct ui *ui) {
    scene_folder(ui);
    scene_own(ui);
}

/* The screen as the first picture of it has it, the cursor away from the first of everything. */
static void begin_screen(struct ui *ui, enum screen_id s) {
    size_t i = 0;
    enum screen_id from = s == SCREEN_EXPLAIN ? SCREEN_COMPOSE : s;
    while (i < COUNT_OF(scenes) && scenes[i].screen != from) i++;
    if (i == COUNT_OF(scenes)) fail_msg("scenes[] has no line of the screen %s", screen_at(from)->name);
    scene_open(ui, &scenes[i], 80, 24, GLYPHS_BRAILLE, COLORS_256);
    if (s == SCREEN_EXPLAIN) scene_press(ui, 'E');
    if (s == SCREEN_DATA) show_own_rows(ui);
    scene_type(ui, "jl");
    assert_int_equal(ui->screen, s);
}

/* Where keys mean something else than at the screen's begin. */
static void open_a_sweep(struct ui *ui) {
    ui->sweep.open = 1;
    ui_changed(ui);
}
static void join_runs(struct ui *ui) { scene_press(ui, 'J'); }
static void to_the_run(struct ui *ui) {
    ui->compose.part = ui->compose.config.method.count;
    compose_changed(&ui->compose);
}
static void to_the_legend(struct ui *ui) { scene_press(ui, PRESS_TAB); }
static void to_differences(struct ui *ui) { scene_press(ui, PRESS_TAB); }
static void of_several_tasks(struct ui *ui) {
    scene_tasks(ui);
    scene_terms(ui);
}

static const struct {
    const char *name;
    enum screen_id screen;
    void (*then)(struct ui *ui);
} further[] = {
    {"a sweep", SCREEN_SWEEP, open_a_sweep}, {"runs joined", SCREEN_RUNS, join_runs}, {"the run's options", SCREEN_COMPOSE, to_the_run},
    {"map's legend", SCREEN_MAP, to_the_legend}, {"differences", SCREEN_COMPARE, to_differences},
    {"tasks, parts", SCREEN_TRAIN, of_several_tasks},
};

static void press_every_key(enum screen_id s, const char *place, void (*then)(struct ui *ui), struct buf *all) {
    struct ui *ui = xmalloc(sizeof *ui);
    for (int i = 0; i < keys_count(); i++) {
        const struct key_entry *k = keys_at(i);
        char name[16];
        if (!keys_works(s, k) || (then && k->everywhere)) continue;
        begin_screen(ui, s);
        if (then) then(ui);
        press_name(k->key, name);
        buf_printf(all, then ? "%-17s %-6s" : "%-8s %-6s", place, name);
        pressed(ui, k->key, all);
        buf_putc(all, '\n');
        ui_release(ui);
    }
    free(ui);
}

/* Key by key, on every screen: what it comes to.  A key that is new has no line yet. */
static void every_key_leads_to_its_state(void **state) {
    (void)state;
    struct buf all = BUF_INIT;
    for (int s = 0; s < SCREEN_COUNT; s++) press_every_key((enum screen_id)s, screen_at((enum screen_id)s)->name, NULL, &all);
    for (size_t i = 0; i < COUNT_OF(further); i++) press_every_key(further[i].screen, further[i].name, further[i].then, &all);
    golden_text("keys.txt", &all);
    buf_release(&all);
}

/* The README's picture of Compose, between its titles and what depends on the machine, is what is drawn. */
static void the_readme_shows_what_is_drawn(void **state) {
    (void)state;
    struct ui ui;
    struct buf drawn = BUF_INIT;
    char *root = test_path("."), *readme = test_text(root, "README.md"), *picture = test_text(root, "docs/pictures/compose.svg");
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    scene_method(&ui, "mam");
    ui_show(&ui, SCREEN_COMPOSE);
    render_ui(&ui, RENDER_SVG, &drawn);
    const char *from = strstr(buf_text(&drawn), ">Method<"), *end = strstr(buf_text(&drawn), ">Run<");
    assert_true(from && end && from < end);
    char *part = xstrndup(from, (size_t)(end - from));
    assert_non_null(strstr(readme, "(docs/pictures/compose.svg)"));
    if (!strstr(picture, part)) fail_msg("docs/pictures/compose.svg shows Compose otherwise than it is drawn: make pictures");
    free(part);
    free(root);
    free(readme);
    free(picture);
    buf_release(&drawn);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_parts_at_all_sizes), cmocka_unit_test(at_80x24),
        cmocka_unit_test(at_120x40),
        cmocka_unit_test(at_200x60),
        cmocka_unit_test(ascii_at_80x24),
        cmocka_unit_test(overlaid_runs_at_all_sizes),
        cmocka_unit_test(texts_at_all_sizes),
        cmocka_unit_test(tasks_at_all_sizes),
        cmocka_unit_test(two_stacks_at_all_sizes),
        cmocka_unit_test(retriever_at_all_sizes),
        cmocka_unit_test(own_data_at_all_sizes),
        cmocka_unit_test(composed_run_at_all_sizes),
        cmocka_unit_test(every_key_leads_to_its_state),
        cmocka_unit_test(the_readme_shows_what_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
