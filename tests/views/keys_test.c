#include "tests/support/test.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "tests/views/scene.h"
#include "views/ui_parts.h"
#include "views/zone.h"

static void every_request_has_a_key_and_help(void **state) {
    (void)state;
    for (int r = REQ_NONE + 1; r < REQ_COUNT; r++) {
        int found = 0;
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            if ((int)k->request != r) continue;
            found++;
            bool works = false;
            for (int s = 0; s < SCREEN_COUNT; s++) works = works || keys_works((enum screen_id)s, k);
            assert_true(k->help && strlen(k->help) > 3);
            assert_true(works);
            assert_true(!k->rank == !k->hint);
        }
        if (found != 1) fail_msg("request %d is in the table %d times", r, found);
    }
}

/* A sentence is about the screen on which it is shown, alone, and is not cut on 80 columns. */
static void a_key_has_a_sentence_per_screen(void **state) {
    (void)state;
    for (int s = 0; s < SCREEN_COUNT; s++)
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            const char *help = keys_help((enum screen_id)s, k);
            const char *here = screen_at((enum screen_id)s)->name;
            if (k->on[s] && !keys_works((enum screen_id)s, k)) fail_msg("%s has no key for \"%s\"", here, k->on[s]);
            if (!keys_works((enum screen_id)s, k)) continue;
            if (text_width(help) > KEYS_HELP) fail_msg("\"%s\" has %d columns", help, text_width(help));
            for (int other = 0; other < SCREEN_COUNT; other++) {
                char in[40], on[40];
                const char *tab = screen_at((enum screen_id)other)->tab;
                if (!tab) continue;
                snprintf(in, sizeof in, "in %s,", tab + 2);
                snprintf(on, sizeof on, "on %s,", tab + 2);
                if (strstr(help, in) || strstr(help, on)) fail_msg("\"%s\" on %s is about %s", help, here, tab);
            }
        }
}

/* Whether the sentences of all keys of a screen that the list or Help has are drawn. */
static void has_sentences(const struct ui *ui, enum screen_id s, bool help) {
    struct buf b = BUF_INIT;
    render_ui(ui, RENDER_TEXT, &b);
    for (int i = 0; i < (help ? keys_count() : ui->picker.count); i++) {
        const struct key_entry *k = keys_at(help ? i : ui->picker.item[i].tag);
        if (keys_works(s, k) && !strstr(b.data, keys_help(s, k))) fail_msg("%s: \"%s\" is not shown", screen_at(s)->name, keys_help(s, k));
    }
    buf_release(&b);
}

static void sentences_are_shown_whole(void **state) {
    (void)state;
    for (int s = 0; s < SCREEN_HELP; s++) {
        struct ui ui;
        scene_init(&ui, 80, 120, GLYPHS_BRAILLE, COLORS_NONE);
        if (s != SCREEN_FIRST) ui_show(&ui, (enum screen_id)s);
        scene_press(&ui, ',');
        assert_true(ui.picker.count > 10);
        has_sentences(&ui, (enum screen_id)s, false);
        scene_press(&ui, PRESS_ESC);
        scene_press(&ui, '?');
        has_sentences(&ui, (enum screen_id)s, true);
        ui_release(&ui);
    }
}

/* A letter asks for the same thing wherever it asks for anything; but c, which composes on
 * the first page, where there is nothing to color yet, and t, p and c on Runs: tags, pin, columns. */
static void a_letter_has_one_meaning(void **state) {
    (void)state;
    for (uint32_t c = '!'; c < 127; c++) {
        enum request meant = REQ_NONE;
        for (int s = 0; s < SCREEN_COUNT; s++) {
            struct press p = {c, false, 0};
            enum request r = keys_request((enum screen_id)s, &p);
            if (r == REQ_NONE || (c == 'c' && s == SCREEN_FIRST) || (strchr("tpc", (int)c) && s == SCREEN_RUNS)) continue;
            if (meant != REQ_NONE && r != meant) fail_msg("'%c' has two meanings", (int)c);
            meant = r;
        }
    }
}

static void no_key_twice_on_a_screen(void **state) {
    (void)state;
    for (int i = 0; i < keys_count(); i++)
        for (int j = 0; j < i; j++) {
            const struct key_entry *a = keys_at(i), *b = keys_at(j);
            bool both = false;
            for (int s = 0; s < SCREEN_COUNT; s++)
                both = both || (keys_works((enum screen_id)s, a) && keys_works((enum screen_id)s, b));
            if (!both) continue;
            uint32_t ka[] = {a->key, a->alias[0], a->alias[1]}, kb[] = {b->key, b->alias[0], b->alias[1]};
            for (int x = 0; x < 9; x++)
                if (ka[x / 3] && ka[x / 3] == kb[x % 3]) fail_msg("key %u is twice", ka[x / 3]);
        }
}

/* No Ctrl letter does harm. */
static void control_letters_are_harmless(void **state) {
    (void)state;
    for (int i = 0; i < keys_count(); i++) {
        const struct key_entry *k = keys_at(i);
        if (k->key >= 27) continue;
        assert_true(k->request != REQ_TRASH && k->request != REQ_STOP && k->request != REQ_LESS);
    }
}

static void hint_line(enum screen_id screen, char out[400]) {
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui_show(&ui, screen);
    render_ui(&ui, RENDER_TEXT, &b);
    char *last = strrchr(b.data, '\n');
    *last = 0;
    last = strrchr(b.data, '\n') + 1;
    snprintf(out, 400, "%s", last);
    buf_release(&b);
    ui_release(&ui);
}

/* What ranks 1 to 4 is there at 80 columns, and so is help. */
static void hints_fit_80_columns(void **state) {
    (void)state;
    for (int s = 0; s < SCREEN_COUNT; s++) {
        char line[400];
        hint_line((enum screen_id)s, line);
        assert_true(text_width(line) <= 80);
        assert_non_null(strstr(line, "? help"));
    }
    char line[400];
    hint_line(SCREEN_COMPOSE, line);
    assert_non_null(strstr(line, "Enter train  h/l axis  j/k choice  P presets"));
    hint_line(SCREEN_TRAIN, line);
    assert_non_null(strstr(line, "Space pause  K stop"));
    hint_line(SCREEN_RUNS, line);
    assert_non_null(strstr(line, "Space mark  Enter open"));
}

static void runs_of_other_processes_are_not_paused(void **state) {
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct ui ui;
        scene_init(&ui, 200, 60, GLYPHS_BRAILLE, COLORS_NONE);
        ui_show(&ui, SCREEN_TRAIN);
        struct job_row jobs[1] = { { .id = 3, .method = "lora", .seed = 1, .state = RUN_RUNNING, .steps = 9, .elsewhere = elsewhere } };
        ui.train.job = jobs;
        ui.train.jobs = 1;
        assert_true(scene_shows(&ui, "K stop"));
        assert_int_equal(scene_shows(&ui, "Space pause"), !elsewhere);
        ui_release(&ui);
    }
}

static void draws_are_not_resumed_on_sweep(void **state) {
    (void)state;
    for (int draws = 0; draws < 2; draws++) {
        struct ui ui;
        scene_init(&ui, 200, 60, GLYPHS_BRAILLE, COLORS_NONE);
        ui_show(&ui, SCREEN_SWEEP);
        ui.sweep.open = 1;
        ui.sweep.page.live = 0;
        ui.sweep.page.draws = draws;
        assert_true(scene_shows(&ui, "Enter runs"));
        assert_int_equal(scene_shows(&ui, "R resumes"), !draws);
        assert_int_equal(scene_shows(&ui, "R resume  "), !draws);
        assert_int_equal(scene_shows(&ui, "+ extend"), !draws);
        assert_int_equal(scene_shows(&ui, "C edit"), !draws);
        ui_release(&ui);
    }
}

static void nothing_is_promised_that_does_not_work(void **state) {
    (void)state;
    char line[400];
    struct ui ui;
    struct buf b = BUF_INIT;
    hint_line(SCREEN_DETAIL, line); /* the run has finished: there is nothing to stop */
    assert_null(strstr(line, "stop"));
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui.first.model_ready = false;
    ui.first.fetch = "make fetch";
    render_ui(&ui, RENDER_TEXT, &b);
    assert_null(strstr(b.data, "Enter train"));
    assert_non_null(strstr(b.data, "make fetch"));
    struct effect out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_NONE);
    buf_release(&b);
    ui_release(&ui);
}

static void what_stands_in_is_said_whole(void **state) {
    (void)state;
    const char *said = "petri-mini and sections are built in; `petri fetch` downloads more";
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui.first.stand_in = said;
    render_ui(&ui, false, &b);
    assert_non_null(strstr(b.data, said));
    buf_release(&b);
    ui_release(&ui);
}

static void help_searches(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    scene_type(&ui, "?/smooth");
    scene_press(&ui, PRESS_ENTER);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "smooth the curves more"));
    assert_null(strstr(b.data, "move the run to the trash"));
    buf_clear(&b);
    snprintf(ui.help.search, sizeof ui.help.search, "stop"); /* by screen, each with its own sentence */
    ui_resize(&ui, 200, 100);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_true(scene_shows(&ui, "stop the sweep (asks first)") && scene_shows(&ui, "stop the command") && scene_shows(&ui, "train "));
    buf_release(&b);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_HELP);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_FIRST);
    ui_release(&ui);
}

/* The page of Compose's method, and back. */
static void a_method_is_explained(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 100, 40, GLYPHS_BRAILLE, COLORS_NONE);
    scene_method(&ui, "hyperformer++(r=4)");
    ui_show(&ui, SCREEN_COMPOSE);
    scene_press(&ui, 'E');
    assert_int_equal(ui.screen, SCREEN_EXPLAIN);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "overview"));
    assert_non_null(strstr(b.data, "reads a.out, writes a.out: sequential"));
    assert_non_null(strstr(b.data, "lines 1–"));
    scene_press(&ui, 'G');
    assert_true(ui.explain.top > 0);
    buf_clear(&b);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "differences in the published code"));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    buf_release(&b);
    ui_release(&ui);
}

/* Help lists the keys that work where it was asked for, with what that screen is for, and goes
 * back there. */
static void help_is_of_the_screen(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 60, GLYPHS_BRAILLE, COLORS_NONE);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.screen, SCREEN_DETAIL);
    scene_press(&ui, '?');
    assert_true(scene_shows(&ui, "The page of a run"));
    assert_false(scene_shows(&ui, "A method is a set"));
    assert_false(scene_shows(&ui, "smooth the curves more"));
    assert_true(scene_shows(&ui, "move the run to the trash"));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_DETAIL);
    scene_press(&ui, '1');
    scene_press(&ui, '?');
    assert_true(scene_shows(&ui, "A method is a set"));
    scene_press(&ui, 'q');
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    ui_release(&ui);
}

static void one_press(struct ui *ui, enum screen_id screen, uint32_t code, struct effect *x) {
    scene_init(ui, 120, 40, GLYPHS_BRAILLE, COLORS_256);
    scene_tasks(ui);
    if (screen != SCREEN_FIRST) ui_show(ui, screen);
    scene_type(ui, "jl"); /* away from the first of everything */
    *ui->message = 0;
    *x = scene_press(ui, code);
}

/* Each key of the table on each screen where it works: another state, an effect or a sentence. */
static void every_key_is_answered(void **state) {
    (void)state;
    struct ui *ui = xmalloc(sizeof *ui), *was = xmalloc(sizeof *was);
    for (int s = 0; s < SCREEN_COUNT; s++)
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            uint32_t codes[] = {k->key, k->alias[0], k->alias[1]};
            for (size_t a = 0; a < COUNT_OF(codes) && keys_works((enum screen_id)s, k); a++) {
                struct effect x;
                char name[16];
                if (!codes[a] || k->request == screen_at((enum screen_id)s)->to) continue; /* it is there */
                one_press(ui, (enum screen_id)s, PRESS_NONE, &x);
                *ui->message = 0;
                *was = *ui;
                x = scene_press(ui, codes[a]);
                struct press p = {codes[a], false, 0};
                assert_int_equal(keys_request((enum screen_id)s, &p), k->request);
                press_name(codes[a], name);
                bool answered = x.kind != EFFECT_NONE || *ui->message || memcmp(was, ui, sizeof *ui);
                if (!answered && !ui_moves(k->request)) fail_msg("%s on %s does nothing", name, screen_at((enum screen_id)s)->name);
                ui_release(ui);
            }
        }
    free(ui);
    free(was);
}

/* What no screen knows is said, whatever it is. */
static void other_keys_are_told(void **state) {
    (void)state;
    for (int s = 0; s < SCREEN_COUNT; s++) {
        struct ui ui;
        struct effect x;
        one_press(&ui, (enum screen_id)s, PRESS_NONE, &x);
        for (uint32_t c = 1; c < 0x180; c++) {
            uint32_t code = c < 0x100 ? c : PRESS_ENTER + c - 0x100;
            struct press p = {code, false, 0};
            if (code > PRESS_OTHER || keys_request((enum screen_id)s, &p) != REQ_NONE) continue;
            x = scene_press(&ui, code);
            assert_non_null(strstr(ui.message, " does nothing here; ? lists the keys"));
            assert_null(strstr(ui.message, "\xef\xbf\xbd")); /* every key has a name */
            assert_int_equal(x.kind, EFFECT_NONE);
        }
        ui_release(&ui);
    }
}

/* What can I do here?  A list that does what is taken from it. */
static void a_list_of_what_works(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, ',');
    assert_true(ui.picker.open);
    assert_true(scene_shows(&ui, "available actions") && scene_shows(&ui, "mark the run; 4 compares"));
    for (int i = 0; i < ui.picker.count; i++) assert_true(keys_works(SCREEN_RUNS, keys_at(ui.picker.item[i].tag)));
    while (strcmp(ui.picker.item[ui.picker.cursor].name, "d")) scene_press(&ui, 'j');
    struct effect x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_TRASH);
    assert_false(ui.picker.open);
    ui_release(&ui);
}

/* The last action as a command line: beside what is said while it is new, and to be copied after. */
static void actions_have_a_line(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui_show(&ui, SCREEN_RUNS);
    struct effect x = scene_press(&ui, 'Y');
    assert_int_equal(x.kind, EFFECT_NONE);
    snprintf(ui.line, sizeof ui.line, "petri trash 7");
    ui.line_new = true;
    ui_say(&ui, SAY_INFO, "#7 is in the trash");
    assert_true(scene_shows(&ui, "#7 is in the trash") && scene_shows(&ui, "petri trash 7"));
    ui_say(&ui, SAY_INFO, "what is said takes most of a line of eighty columns, so that no room is left");
    assert_true(scene_shows(&ui, "no room is left"));
    assert_false(scene_shows(&ui, "petri trash 7")); /* the rows above belong to the screen */
    scene_press(&ui, 'j');
    assert_false(scene_shows(&ui, "petri trash 7"));
    x = scene_press(&ui, 'Y');
    assert_int_equal(x.kind, EFFECT_COPY);
    assert_string_equal(x.text, "petri trash 7");
    ui_release(&ui);
}

static struct effect point(struct ui *ui, enum mouse_kind kind, int x, int y) {
    struct mouse m = {kind, x, y, 0};
    struct effect out;
    ui_mouse(ui, &m, &out);
    return out;
}

static int column_of(const struct ui *ui, int row, const char *part) {
    struct buf b = BUF_INIT;
    render_ui(ui, false, &b);
    const char *at = buf_text(&b);
    for (int i = 0; i < row; i++) at = strchr(at, '\n') + 1;
    const char *hit = strstr(at, part);
    assert_non_null(hit);
    char *head = xstrndup(at, (size_t)(hit - at));
    int x = text_width(head);
    free(head);
    buf_release(&b);
    return x;
}

static bool line_has(const struct ui *ui, int row, const char *part) {
    struct buf b = BUF_INIT;
    render_ui(ui, false, &b);
    const char *at = buf_text(&b);
    for (int i = 0; i < row; i++) at = strchr(at, '\n') + 1;
    char *line = xstrndup(at, strcspn(at, "\n"));
    bool found = strstr(line, part) != NULL;
    if (!*line && !at[1]) fail_msg("no line has %s", part);
    free(line);
    buf_release(&b);
    return found;
}

/* Both ends of each tab's name, however far apart the tabs stand. */
static void tabs_are_clicked_where_they_are(void **state) {
    (void)state;
    static const int width[] = {80, 99, 100, 200};
    for (size_t w = 0; w < COUNT_OF(width); w++) {
        struct ui ui;
        scene_init(&ui, width[w], 24, GLYPHS_BRAILLE, COLORS_NONE);
        for (int i = 0; i < 2 * SCREEN_COUNT; i++) {
            const struct screen *s = screen_at((enum screen_id)(i / 2));
            if (!s->tab) continue;
            ui_show(&ui, s == &screen_runs ? SCREEN_COMPOSE : SCREEN_RUNS);
            char number[3] = {' ', s->tab[0], 0}; /* of a tab without a name */
            int at = line_has(&ui, 0, s->tab) ? column_of(&ui, 0, s->tab) + (i % 2 ? text_width(s->tab) - 1 : 0)
                                              : column_of(&ui, 0, number) + 1;
            point(&ui, MOUSE_CLICK, at, 0);
            if (ui.screen != (enum screen_id)(i / 2)) fail_msg("%d columns: %s leads to %s", width[w], s->tab, screen_at(ui.screen)->name);
        }
        ui_release(&ui);
    }
}

/* Tabs, rows, hints, the wheel and the curves; a question is not answered by it. */
static void the_mouse_points(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    ui_show(&ui, SCREEN_COMPOSE);
    point(&ui, MOUSE_CLICK, column_of(&ui, 0, "3 Runs") + 2, 0);
    assert_int_equal(ui.screen, SCREEN_RUNS);
    point(&ui, MOUSE_CLICK, 10, 5);
    assert_int_equal(ui.runs.cursor, 2);
    point(&ui, MOUSE_DOWN, 10, 5);
    assert_int_equal(ui.runs.cursor, 5);
    point(&ui, MOUSE_UP, 10, 5);
    assert_int_equal(ui.runs.cursor, 2);
    assert_int_equal(point(&ui, MOUSE_CLICK, 10, 5).kind, EFFECT_OPEN_RUN); /* where the cursor is */
    ui_show(&ui, SCREEN_RUNS);
    point(&ui, MOUSE_CLICK, column_of(&ui, 23, "mark"), 23);
    assert_int_equal(ui.runs.marks, 1);
    scene_press(&ui, ',');
    assert_true(ui.picker.open);
    point(&ui, MOUSE_CLICK, column_of(&ui, 23, "Esc back"), 23);
    assert_false(ui.picker.open);
    point(&ui, MOUSE_CLICK, column_of(&ui, 23, "? help"), 23);
    assert_int_equal(ui.screen, SCREEN_HELP);
    ui_show(&ui, SCREEN_TRAIN);
    point(&ui, MOUSE_CLICK, 40, 4);
    int64_t step = ui.train.cursor;
    assert_true(step > 0);
    point(&ui, MOUSE_CLICK, 60, 4);
    assert_true(ui.train.cursor > step);
    scene_press(&ui, 'K');
    assert_int_equal(ui.ask.kind, ASK_STOP);
    assert_int_equal(point(&ui, MOUSE_CLICK, 5, 22).kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_STOP);
    ui_release(&ui);
}

/* Presses y and takes item i of the list; false: past its end. */
static bool copies(struct ui *ui, int i, bool mouse, struct effect *x) {
    *x = scene_press(ui, 'y');
    if (!ui->picker.open) return !i; /* with one text: at once */
    if (i == ui->picker.count) scene_press(ui, PRESS_ESC);
    if (!ui->picker.open) return false;
    for (int k = 0; k < i && !mouse; k++) scene_press(ui, 'j');
    if (i && mouse) point(ui, MOUSE_CLICK, 5, ui_body(ui).y + 1 + i);
    *x = mouse ? point(ui, MOUSE_CLICK, 5, ui_body(ui).y + 1 + i) : scene_press(ui, PRESS_ENTER);
    assert_false(ui->picker.open);
    return true;
}

/* y on every screen, by keys on 80x24 and by mouse on 200x60: the item under the cursor, the table, the screen. */
static void every_screen_is_copied(void **state) {
    (void)state;
    for (int s = 0; s < 2 * SCREEN_COUNT; s++) {
        struct ui ui;
        struct effect x;
        bool mouse = s >= SCREEN_COUNT, screen = false, line = false, table = false;
        enum screen_id id = (enum screen_id)(s % SCREEN_COUNT);
        scene_init(&ui, mouse ? 200 : 80, mouse ? 60 : 24, GLYPHS_BRAILLE, COLORS_256);
        if (id != SCREEN_FIRST) ui_show(&ui, id);
        if (id == SCREEN_SWEEP) ui.sweep.open = 1;
        if (id == SCREEN_PAGE) ui.page.command = "petri runs";
        if (id == SCREEN_DATA) {
            scene_press(&ui, 'T');
            scene_folder(&ui);
            scene_own(&ui);
        }
        ui_changed(&ui);
        for (int i = 0; copies(&ui, i, mouse, &x); i++) {
            if (!*x.text) fail_msg("%s: item %d copies nothing", screen_at(id)->name, i);
            screen = screen || (x.kind == EFFECT_PICTURE && x.keep) || id == SCREEN_COMPOSE || id == SCREEN_PAGE;
            table = table || (x.kind == EFFECT_TABLE && x.keep);
            line = line || x.kind == EFFECT_COPY;
        }
        if (!screen) fail_msg("%s is not copied", screen_at(id)->name);
        if (table != (screen_at(id)->table_of != TABLE_NONE)) fail_msg("table of %s", screen_at(id)->name);
        if (line != (screen_at(id)->copies || id == SCREEN_COMPOSE || id == SCREEN_PAGE)) fail_msg("line of %s", screen_at(id)->name);
        ui_release(&ui);
    }
}

static void values_and_texts_are_copied_whole(void **state) {
    (void)state;
    struct ui ui;
    struct effect x;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_HEATMAP);
    ui.heatmap.look.row = 1;
    assert_true(copies(&ui, ui.ask.run[0] > 0 ? 3 : 0, false, &x));
    char shown[40];
    snprintf(shown, sizeof shown, " = %.4f", strtod(x.text, NULL));
    assert_true(*x.text && scene_shows(&ui, shown));
    ui_show(&ui, SCREEN_MAP);
    scene_press(&ui, 'l');
    int at = 0;
    while (copies(&ui, at, false, &x) && x.kind != EFFECT_COPY) at++;
    assert_string_equal(x.text, ui.map.data.text[ui.map.chosen]);
    ui_release(&ui);
}

/* A window that is resized while a list, a line or a question is open shows what it shows when opened at that size. */
static void dialogs_are_resized(void **state) {
    (void)state;
    static const struct {
        enum screen_id screen;
        const char *keys, *shown;
    } dialog[] = {{SCREEN_RUNS, ",jjjj", "available actions"}, {SCREEN_RUNS, "yj", "copy of run"}, {SCREEN_COMPOSE, "Pj", "methods"},
                  {SCREEN_RUNS, "/lo", "lo"}, {SCREEN_RUNS, ":sho", ":sho"}, {SCREEN_TRAIN, "K", "Esc"}, {SCREEN_TRAIN, "q", "Esc"}};
    static const int size[][2] = {{80, 24}, {200, 60}, {60, 20}, {120, 30}, {80, 24}};
    for (size_t i = 0; i < COUNT_OF(dialog); i++) {
        struct ui ui, fresh;
        scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
        ui_show(&ui, dialog[i].screen);
        for (const char *k = dialog[i].keys; *k; k++) scene_press(&ui, (unsigned char)*k);
        for (size_t n = 0; n < COUNT_OF(size); n++) {
            struct buf a = BUF_INIT, b = BUF_INIT;
            ui_resize(&ui, size[n][0], size[n][1]);
            scene_init(&fresh, size[n][0], size[n][1], GLYPHS_BRAILLE, COLORS_256);
            ui_show(&fresh, dialog[i].screen);
            for (const char *k = dialog[i].keys; *k; k++) scene_press(&fresh, (unsigned char)*k);
            render_ui(&ui, RENDER_ANSI, &a);
            render_ui(&fresh, RENDER_ANSI, &b);
            assert_string_equal(buf_text(&a), buf_text(&b));
            if (!scene_shows(&ui, dialog[i].shown)) fail_msg("%d columns: no \"%s\"", size[n][0], dialog[i].shown);
            if (ui.ask.kind) assert_true(scene_shows(&ui, strrchr(ui.ask.text, ' ') + 1)); /* to its last word */
            buf_release(&a), buf_release(&b);
            ui_release(&fresh);
        }
        ui_release(&ui);
    }
}

/* A click leads to what is drawn there, on every screen, as keys would. */
static void what_is_drawn_is_clicked(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 140, 40, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_method(&ui, "mam");
    struct compose_view *v = &ui.compose;
    int row = 0;
    while (!line_has(&ui, row, "add a module")) row++;
    point(&ui, MOUSE_CLICK, 36, row - 1); /* the second module, its insertion */
    assert_int_equal(v->part, 1);
    assert_int_equal(v->axis, AXIS_INSERTION);
    point(&ui, MOUSE_CLICK, 8, row - 2);
    assert_int_equal(v->part, 0);
    assert_int_equal(v->axis, AXIS_FUNCTION);
    for (row = 0; !line_has(&ui, row, "decomposed"); row++) continue;
    assert_int_equal(v->config.method.module[0].fn, FN_SOFTMAX);
    point(&ui, MOUSE_CLICK, column_of(&ui, row, "bottleneck   "), row); /* those between are left alone */
    assert_int_equal(v->config.method.module[0].fn, FN_BOTTLENECK);
    scene_press(&ui, 'u');
    assert_int_equal(v->config.method.module[0].fn, FN_SOFTMAX);
    for (row = 0; !line_has(&ui, row, "lora-ffn"); row++) continue;
    point(&ui, MOUSE_CLICK, column_of(&ui, row, "lora-ffn"), row);
    assert_int_equal(v->config.method.count, 2);
    ui_show(&ui, SCREEN_HEATMAP);
    ui.heatmap.shown = 1;
    ui_changed(&ui);
    struct heat_look *look = &ui.heatmap.look;
    point(&ui, MOUSE_CLICK, 60, 10);
    int r = look->row, column = look->column;
    assert_true(r > 0 && column > 0);
    point(&ui, MOUSE_CLICK, 60, 10); /* nothing more to do there */
    assert_true(look->row == r && look->column == column);
    point(&ui, MOUSE_CLICK, 60, 11);
    assert_true(look->row > r && look->column == column);
    ui_show(&ui, SCREEN_MAP);
    struct rect pane = ui.map.pane[0];
    int x, y;
    point(&ui, MOUSE_CLICK, pane.x + 7, pane.y + 4);
    assert_int_equal(ui.map.part, 0);
    scatter_cell(pane, &ui.map.look[0], &x, &y);
    assert_true(x == 7 && y == 4 && ui.map.chosen >= 0);
    ui_show(&ui, SCREEN_COMPARE);
    for (row = 0; !line_has(&ui, row, "\u25B8 2 mam"); row++) continue;
    point(&ui, MOUSE_CLICK, 10, row + 1);
    assert_int_equal(ui.compare.cursor, 1);
    for (row = 0; !line_has(&ui, row, "settings differ"); row++) continue;
    point(&ui, MOUSE_CLICK, 5, row + 2);
    assert_int_equal(ui.compare.part, 1);
    assert_int_equal(ui.compare.key, 1);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, ','); /* a list */
    point(&ui, MOUSE_CLICK, 5, 5);
    assert_int_equal(ui.picker.cursor, 2);
    point(&ui, MOUSE_CLICK, 5, 5);
    assert_false(ui.picker.open);
    scene_press(&ui, PRESS_ESC);
    ui_show(&ui, SCREEN_RUNS);
    scene_folder(&ui);
    ui_show(&ui, SCREEN_DATA);
    ui_release(&ui);
}

/* The first place that leads to `pick`. */
static void place_of(const struct ui *ui, int pick, int *x, int *y) {
    struct zones *all = xcalloc(1, sizeof *all);
    struct canvas c;
    canvas_init(&c, ui->w, ui->h, GLYPHS_BRAILLE, COLORS_256);
    c.zones = all;
    ui_draw(ui, &c);
    *x = -1;
    for (int i = 0; i < all->count && *x < 0; i++) {
        struct rect at = all->of[i].at;
        if (all->of[i].pick == pick && zone_at(all, at.x, at.y)->pick == pick) *x = at.x, *y = at.y; /* nothing lies over it */
    }
    assert_true(all->count < ZONES && *x >= 0);
    canvas_release(&c);
    free(all);
}

/* Curves lead to whom they are of, cells of a sweep's grid and rows of its lists to these, from any part; a network's line
 * to the network, a job's row to its curves. */
static void curves_and_cells_are_clicked(void **state) {
    (void)state;
    struct ui ui;
    int x, y, row = 0;
    scene_init(&ui, 200, 60, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPARE);
    scene_press(&ui, PRESS_TAB);
    place_of(&ui, PICK_GROUP + 1, &x, &y);
    point(&ui, MOUSE_CLICK, x, y);
    assert_int_equal(ui.compare.part, 0);
    assert_ptr_equal(compare_at_cursor(&ui.compare), &ui.compare.data.group[1]);
    point(&ui, MOUSE_CLICK, x, y);
    assert_int_equal(ui.screen, SCREEN_RUNS);
    ui.sweep.open = 1;
    ui_show(&ui, SCREEN_SWEEP);
    struct sweep_view *v = &ui.sweep;
    v->part = PART_LINES;
    place_of(&ui, PICK_TILE + 1, &x, &y);
    point(&ui, MOUSE_CLICK, x, y);
    assert_int_equal(sweep_at_cursor(v), 1);
    while (!line_has(&ui, row, "main effect of each axis")) row++;
    x = column_of(&ui, row, "main effect");
    point(&ui, MOUSE_CLICK, x + 5, row + 3);
    assert_true(v->part == PART_EFFECTS && v->effect == 1);
    for (row = 0; !line_has(&ui, row, "lora(r=8)               \u25B2"); row++) continue;
    x = column_of(&ui, row, "lora(r=8)");
    point(&ui, MOUSE_CLICK, x + 14, row); /* the grid's */
    assert_true(v->part == PART_GRID && v->look.row == 1);
    point(&ui, MOUSE_CLICK, x + 14, row); /* where the cursor is: its runs */
    assert_int_equal(ui.screen, SCREEN_RUNS);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_method(&ui, "hyperformer");
    place_of(&ui, PICK_PART + ui.compose.config.method.count, &x, &y);
    point(&ui, MOUSE_CLICK, x + 20, y);
    assert_non_null(compose_network(&ui.compose));
    ui_show(&ui, SCREEN_TRAIN);
    place_of(&ui, PICK_RUN + 2, &x, &y);
    struct effect out = point(&ui, MOUSE_CLICK, x + 3, y);
    assert_true(out.kind == EFFECT_FOCUS && out.run[0] == scene_jobs[2].id);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_has_a_key_and_help),
        cmocka_unit_test(a_key_has_a_sentence_per_screen),
        cmocka_unit_test(sentences_are_shown_whole),
        cmocka_unit_test(a_letter_has_one_meaning),
        cmocka_unit_test(no_key_twice_on_a_screen),
        cmocka_unit_test(control_letters_are_harmless),
        cmocka_unit_test(hints_fit_80_columns),
        cmocka_unit_test(what_stands_in_is_said_whole),
        cmocka_unit_test(runs_of_other_processes_are_not_paused),
        cmocka_unit_test(draws_are_not_resumed_on_sweep),
        cmocka_unit_test(nothing_is_promised_that_does_not_work),
        cmocka_unit_test(help_searches),
        cmocka_unit_test(a_method_is_explained),
        cmocka_unit_test(help_is_of_the_screen),
        cmocka_unit_test(every_key_is_answered),
        cmocka_unit_test(other_keys_are_told),
        cmocka_unit_test(a_list_of_what_works),
        cmocka_unit_test(actions_have_a_line),
        cmocka_unit_test(tabs_are_clicked_where_they_are),
        cmocka_unit_test(the_mouse_points),
        cmocka_unit_test(what_is_drawn_is_clicked),
        cmocka_unit_test(dialogs_are_resized),
        cmocka_unit_test(every_screen_is_copied),
        cmocka_unit_test(values_and_texts_are_copied_whole),
        cmocka_unit_test(curves_and_cells_are_clicked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
