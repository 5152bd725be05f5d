/* Every screen, and what is drawn over them, as rows of a table. */
#ifndef TESTS_VIEWS_SCENES_H
#define TESTS_VIEWS_SCENES_H

#include "tests/views/scene.h"

static void open_palette(struct ui *ui) {
    for (const char *p = ":sho"; *p; p++) scene_press(ui, (unsigned char)*p);
}
static void open_menu(struct ui *ui) { scene_press(ui, ','); }
static void open_presets(struct ui *ui) { scene_press(ui, 'P'); }
static void ask_to_stop(struct ui *ui) { scene_press(ui, 'K'); }
static void search_help(struct ui *ui) {
    for (const char *p = "/run"; *p; p++) scene_press(ui, (unsigned char)*p);
    scene_press(ui, PRESS_ENTER);
}
static void find_a_file(struct ui *ui) {
    ui_show(ui, SCREEN_COMPOSE);
    scene_press(ui, 'T');
    scene_folder(ui);
}
static void explain_it(struct ui *ui) { scene_press(ui, 'E'); }
static void print_a_page(struct ui *ui) {
    static const char *line[40] = {"id   task     method   best", "3    reviews  lora     0.8380"};
    for (size_t i = 2; i < COUNT_OF(line); i++) line[i] = "2    reviews  bitfit   0.8012";
    ui->page = (struct page_view){.command = "petri runs", .line = line, .lines = COUNT_OF(line)};
}
static void list_lessons(struct ui *ui) {
    static const struct learn_row row[] = {{"rate", "What a rate is", "A sentence about it.", "", "done", 3, 20, false},
                                           {"own", "Own \x1b[2J", "Short.", "tiny, toys", "started", 12, 5, false},
                                           {"third", "Third", NULL, "", "", 4, 60, false}};
    ui->learn.row = row;
    ui->learn.rows = COUNT_OF(row);
    ui->learn.listed = true;
}

/* A run next to its base model, with the cursor on a token. */
static void talk_to_it(struct ui *ui) {
    static struct talk_token token[2][3] = { { { .end = 4 }, { .end = 11 }, { .end = 18 } }, { { .end = 4 } } };
    static char long_text[] =
        "An answer with several words, of which some are in the next row of its half.\n\nAnd \x1b[2J";
    static struct talk_round round[] = {
        { "Hello", { { .text = { (char *)"Hi there, friend.", 17 }, .tokens = 3, .token = token[0], .ended = true },
                     { .text = { long_text, sizeof long_text - 1 }, .tokens = 1, .token = token[1], .ended = true,
                       .end = GENERATED_FULL } },
          { NULL, NULL } },
        { "And now?", { { .text = { (char *)"The second word", 15 }, .tokens = 3, .token = token[0] }, { .tokens = 0 } },
          { NULL, (char *)"the chat has 71 tokens, more than the context of llama (64): start a new chat" } },
    };
    static const struct talk_page page = { .sides = 2, .name = { "#3 lora", "SmolLM2, without the run" },
                                           .round = round, .rounds = COUNT_OF(round) };
    ui->talk.page = &page;
    ui->talk.run[0] = 3;
    ui->talk.runs = 1;
}

static void evaluate_it(struct ui *ui) {
    scene_scores(ui, 8);
    detail_scored(ui);
}

/* Every screen, and what lies over them. */
struct scene {
    const char *name;
    enum screen_id screen;
    const char *method;
    void (*then)(struct ui *ui);
    bool text_alone; /* another has the screen's colors */
};
static const struct scene scenes[] = {
    {"first", SCREEN_FIRST, NULL, NULL, false},
    {"compose-lora", SCREEN_COMPOSE, "lora", NULL, true},
    {"compose-mam", SCREEN_COMPOSE, "mam(l=16,r=16)", NULL, false},
    {"compose-houlsby", SCREEN_COMPOSE, "adapter-houlsby", NULL, true},
    {"compose-pfeiffer", SCREEN_COMPOSE, "adapter-pfeiffer", NULL, true},
    {"compose-ia3", SCREEN_COMPOSE, "ia3", NULL, true},
    {"compose-bitfit", SCREEN_COMPOSE, "bitfit", NULL, true},
    {"compose-hyperformer", SCREEN_COMPOSE, "hyperformer++", NULL, true},
    {"train", SCREEN_TRAIN, NULL, NULL, false},
    {"runs", SCREEN_RUNS, NULL, NULL, false},
    {"compare", SCREEN_COMPARE, NULL, NULL, false},
    {"sweep", SCREEN_SWEEP, NULL, NULL, false},
    {"heatmap", SCREEN_HEATMAP, NULL, NULL, false},
    {"map", SCREEN_MAP, NULL, NULL, false},
    {"learn", SCREEN_LEARN, NULL, list_lessons, false},
    {"talk", SCREEN_TALK, NULL, talk_to_it, false},
    {"detail", SCREEN_DETAIL, NULL, NULL, false},
    {"detail-scores", SCREEN_DETAIL, NULL, evaluate_it, false},
    {"explain", SCREEN_COMPOSE, "lora", explain_it, false},
    {"data-find", SCREEN_DATA, NULL, find_a_file, false},
    {"page", SCREEN_PAGE, NULL, print_a_page, false},
    {"help", SCREEN_HELP, NULL, NULL, false},
    {"help-found", SCREEN_HELP, NULL, search_help, false},
    {"over-palette", SCREEN_RUNS, NULL, open_palette, false},
    {"over-menu", SCREEN_TRAIN, NULL, open_menu, false},
    {"over-presets", SCREEN_COMPOSE, NULL, open_presets, false},
    {"over-question", SCREEN_TRAIN, NULL, ask_to_stop, false},
};

static inline void scene_open(struct ui *ui, const struct scene *s, int w, int h, enum glyphs g, enum colors k) {
    scene_init(ui, w, h, g, k);
    if (s->method) scene_method(ui, s->method);
    ui_show(ui, s->screen);
    if (s->then) s->then(ui);
}

#endif
