/* States of every screen for tests: fixed, without a clock or a machine in them. */
#ifndef TESTS_VIEWS_SCENE_H
#define TESTS_VIEWS_SCENE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/data_parts.h"
#include "views/render.h"
#include "views/ui.h"

enum { SCENE_POINTS = 400 };

/* all-MiniLM-L6-v2's shape. */
static struct arch scene_arch = {.family = FAMILY_BERT,
                                 .model_type = "bert",
                                 .width = 384,
                                 .heads = 12,
                                 .head_width = 32,
                                 .inner = 1536,
                                 .encoder_layers = 6,
                                 .vocabulary = 30522,
                                 .positions = 512,
                                 .types = 2,
                                 .norm_eps = 1e-12,
                                 .act = ACT_GELU,
                                 .biases = true,
                                 .scale_scores = true,
                                 .embed_norm = true,
                                 .tied = true,
                                 .dropout = 0.1,
                                 .attention_dropout = 0.1,
                                 .classifier_dropout = 0.1,
                                 .pooler = true};

static double scene_step[SCENE_POINTS], scene_loss[SCENE_POINTS], scene_lr[SCENE_POINTS],
    scene_norm[SCENE_POINTS], scene_tokens[SCENE_POINTS], scene_seconds[SCENE_POINTS];
static const double scene_eval_step[] = {40, 80, 120, 160, 200, 240};
static const double scene_eval[] = {0.702, 0.781, 0.812, 0.829, 0.826, 0.838};

static const struct job_row scene_jobs[] = {
    {3, RUN_RUNNING, "lora(r=8)", "reviews", 1, 241, 320, 1620, 38, 0.838, 0.4312, NULL, false, 0, 0, 0, false, false, NULL},
    {4, RUN_QUEUED, "mam(l=16,r=16)", "reviews", 1, 0, 320, 0, -1, NAN, NAN, NULL, false, 1, 0, 0, false, false, NULL},
    {2, RUN_FAILED, "adapter-pfeiffer(r=48)", "\u597D \U0001F3AC film", 7, 118, 320, 0, -1, NAN, NAN,
     "loss is not finite at step 118 (op cross_entropy)", false, 0, 0, 0, false, false, NULL},
};

static const struct run_row scene_rows[] = {
    {7, RUN_FINISHED, 320, 320, "mam(l=16,r=16)", "reviews", "all-MiniLM-L6-v2", "accuracy", false, 0.851,
     320, 0.578, 0.3312, 298466, 102, 1, "2026-01-02 10:07", NULL, false, true, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {3, RUN_FINISHED, 320, 320, "lora(r=8)", "reviews", "all-MiniLM-L6-v2", "accuracy", false, 0.838, 240,
     0.578, 0.4107, 222338, 72, 1, "2026-01-02 10:03", NULL, false, true, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {5, RUN_FINISHED, 320, 320, "full", "reviews", "all-MiniLM-L6-v2", "accuracy", false, 0.859, 280, 0.578,
     0.2904, 22713986, 151, 1, "2026-01-02 10:05", NULL, false, true, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {6, RUN_STOPPED, 64, 320, "bitfit", "reviews", "all-MiniLM-L6-v2", "accuracy", false, 0.578, 64, 0.578,
     0.6801, 174722, 8, 1, "2026-01-02 10:06", NULL, true, true, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {2, RUN_INTERRUPTED, 118, 320, "adapter-pfeiffer(r=48)", "\u597D \U0001F3AC film", "\u6A21\u578B \u00E9 'x' -n",
     "accuracy", false, 0.701, 100, 0.5, 0.5523, 372290,
    41, 7, "2026-01-02 09:12", NULL, false, true, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {8, RUN_RUNNING, 108, 320, "ia3", "a\x1b[2Jb.tsv", "all-MiniLM-L6-v2", "accuracy", false, 0.64, 100, 0.578,
     0.6112, 162434, 22, 2, "2026-01-02 10:08", NULL, false, false, 2538, 0.003, false,
     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
    {1, RUN_FAILED, 12, 320, "prefix(l=30)", "reviews", "all-MiniLM-L6-v2", NULL, false, NAN, 0, NAN, NAN,
     286850, 3, 1, "2026-01-02 09:01", "loss is not finite at step 12", false, false, 2538, 0.003, false,

     NULL, 0, false, NULL, NULL, false, NULL, NULL, NULL, false, -1, NULL, 0, NULL, NULL, 0, false},
};

static const struct detail_setting scene_settings[] = {
    {"lr", "0.003", GROUP_RUN, false, true}, {"batch", "32", GROUP_RUN, true, true},
    {"steps", "320", GROUP_RUN, false, true}, {"seed", "1", GROUP_RUN, true, true},
    {"seq len", "128", GROUP_RUN, true, true}, {"schedule", "linear", GROUP_RUN, true, true},
    {"split", "0.1", GROUP_DATA, false, false}, {"text", "/a/folder/whose/name/is/long/reviews/train.tsv", GROUP_DATA, false, false},
    {"optimizer", "adamw", GROUP_OPTIMIZATION, true, false}, {"clip", "1", GROUP_OPTIMIZATION, true, false}};
static const struct detail_pair scene_record[] = {
    {"modules", "linear(r=8,write=a.q)+linear(r=8,write=a.v)"}, {"version", "1.0"}, {"created", "2026-11-28 10:00:00"}};
static const struct detail_pair scene_counts[] = {
    {"trainable, without head", "73,728"}, {"head", "148,610"}, {"model", "22,713,216"}};
static const struct detail_eval scene_evals[] = {
    {80, 0.4812, 0.781, false}, {160, 0.4211, 0.829, false}, {240, 0.4033, 0.838, true}, {320, 0.401, 0.836, false}};
static const struct detail_pair scene_files[] = {{"best", "runs/3/best.safetensors"}};

/* What a text-to-text run gave: digits for classes, or sentences. */
static const struct train_sample scene_digits[] = {
    {0, "sst2 sentence: a film of quiet power", "1", "film", 0},
    {0, "sst2 sentence: no way to tell who is who", "0", "0", 1},
    {200, "sst2 sentence: a film of quiet power", "1", "1", 1},
    {200, "sst2 sentence: no way to tell\x1b[2J who is who, and long enough to be cut at the line's end", "0", "1", 1},
    {200, "sst2 sentence: nobody has said what this one is", NULL, "1", 1},
};
static const struct train_sample scene_sentences[] = {
    {200, "name[The Eagle], food[French], area[riverside]", "The Eagle serves French food by the river.",
     "The Eagle serves French food by the river.", -1},
    {200, "name[\u597D], food[Indian], priceRange[cheap], near[the station]",
     "\u597D is a cheap Indian place near the station, and people who like it come back to it.",
     "\u597D is a cheap\nplace.", -1},
};

/* A second run's curve, and both over one another. */
static double scene_other[SCENE_POINTS];
static const double scene_other_eval[] = {0.65, 0.70, 0.74, 0.79, 0.85, 0.86};
static struct series scene_second;
static struct train_run scene_overlay[2];

static inline void scene_beside(struct ui *ui) {
    struct train_view *v = &ui->train;
    for (int i = 0; i < SCENE_POINTS; i++) scene_other[i] = scene_loss[i] + 0.08 * exp(-i / 120.0);
    v->series.tokens = scene_tokens;
    v->series.seconds = scene_seconds;
    v->series.epoch = 80;
    scene_second = v->series;
    scene_second.run = 5;
    scene_second.loss = scene_other;
    scene_second.count = 160;
    scene_second.evals = 4;
    scene_second.eval_value = scene_other_eval;
    scene_second.best = 0.79;
    scene_second.best_step = 160;
    scene_overlay[0] = (struct train_run){3, "#3 lora(r=8) \u00B7 reviews \u00B7 seed 1", &v->series};
    scene_overlay[1] = (struct train_run){5, "#5 mam(l=16,r=16) \u00B7 reviews \u00B7 seed 1", &scene_second};
    v->beside = scene_overlay;
    v->besides = 2;
    ui_changed(ui);
}

static inline void scene_series(void) {
    uint32_t noise = 1;
    for (int i = 0; i < SCENE_POINTS; i++) {
        noise = noise * 1664525u + 1013904223u;
        double u = (double)(noise >> 8) / (1 << 24) - 0.5;
        scene_step[i] = i + 1;
        scene_loss[i] = 0.38 + 0.32 * exp(-i / 70.0) + 0.09 * u;
        scene_lr[i] = 0.003 * (1 - i / 320.0);
        scene_tokens[i] = 320.0 * (i + 1);
        scene_seconds[i] = 0.25 * (i + 1);
        scene_norm[i] = 0.6 + 0.4 * exp(-i / 50.0) + 0.2 * u;
    }
}

enum { SCENE_ROWS = 120, SCENE_SIDE = 24 };
static double scene_xy[2][2 * SCENE_ROWS], scene_matrix[SCENE_SIDE * SCENE_SIDE];
static int32_t scene_label[SCENE_ROWS], scene_predicted[SCENE_ROWS], scene_near[SCENE_ROWS * MAP_NEIGHBORS];
static const char *scene_text[SCENE_ROWS], *scene_name[SCENE_SIDE];
static int scene_cluster[SCENE_SIDE];
static const char *const scene_classes[] = {"negative", "positive"};
static const char *const scene_layers[] = {"embed", "layer 1", "layer 2", "layer 3"};
static const double scene_cka[] = {1, 0.83, 0.61, 0.32, 0.83, 1, 0.77, 0.41, 0.61, 0.77, 1, NAN, 0.32, 0.41, NAN, -0.55};

static const struct heat_matrix scene_matrices[] = {
    {"layers: model by #3, linear CKA", "linear CKA over 120 examples; 1: equal up to rotation and scale",
     NULL, NULL, "an update is zero", 4, 4, scene_cka, scene_layers, scene_layers, false, NULL, NULL, NULL},
    {"examples of #3, cosine", "cosine of 24 examples, layer 6, mean of tokens", NULL, NULL, NULL, SCENE_SIDE, SCENE_SIDE,
     scene_matrix, scene_name, scene_name, true, scene_cluster, scene_cluster, NULL},
};

/* Rows by prototypes: with what stands beside a matrix. */
static const double scene_cosines[] = {0.92, 0.11, 0.05, 0.62, 0.41, 0.68};
static const char *const scene_seen[] = {"cola", "mrpc (unseen)"}, *const scene_prototypes[] = {"cola", "qqp", "rte"};
static const char *const scene_notes[] = {"64 of 64 examples to its own, margin 0.81 \u00b1 0.02 sd",
                                          "40 of 64 examples to rte, margin 0.06 \u00b1 0.04 sd"};
static const struct heat_matrix scene_prototype_matrix = {
    .title = "examples by prototypes of #3, cosine", .what = "mean cosine of each task's retrieved vectors with the prototypes, 128 examples",
    .beside = "nearest prototype correct 64 of 64 (1.000)   margin 0.81 \u00b1 0.02 sd", .row_note = scene_notes,
    .rows = 2, .columns = 3, .value = scene_cosines, .row_name = scene_seen, .column_name = scene_prototypes};

/* Two classes: mixed in the first layout, apart in the second. */
static inline void scene_inside(struct ui *ui) {
    static char names[SCENE_SIDE][16];
    for (int i = 0; i < SCENE_ROWS; i++) {
        double angle = i * 2.399963, far = sqrt(i + 0.5);
        scene_label[i] = i % 2;
        scene_predicted[i] = i % 17 == 3 ? 1 - i % 2 : i % 2;
        for (int p = 0; p < 2; p++) {
            scene_xy[p][2 * i] = far * cos(angle) + (p && i % 2 ? 30 : 0);
            scene_xy[p][2 * i + 1] = far * sin(angle) + (p && i % 2 ? 9 : 0);
        }
        for (int k = 0; k < MAP_NEIGHBORS; k++) scene_near[i * MAP_NEIGHBORS + k] = (i + k + 1) % SCENE_ROWS;
        scene_text[i] = i % 3 ? "no way to tell who is who" : "a\x1b[2J \u597D film, and long enough that it has to "
                                                              "be cut where the line ends";
    }
    for (int i = 0; i < SCENE_SIDE; i++) {
        snprintf(names[i], sizeof names[i], "%d pos", i);
        scene_name[i] = names[i];
        scene_cluster[i] = (i % 2) * SCENE_SIDE / 2 + i / 2;
        for (int j = 0; j < SCENE_SIDE; j++)
            scene_matrix[i * SCENE_SIDE + j] = i == 5 ? NAN : i == j ? 1 : cos(i - j) * 0.8;
    }
    struct map_panel model = {.title = "model", .layer = 6, .layers = 6, .xy = scene_xy[0],
                              .neighbor = scene_near, .silhouette = {0.0123, NULL}, .purity = {0.581, NULL},
                              .purity_k = 10, .kl = 1.213, .kept = 0.418};
    struct map_panel run = {.title = "#3 lora(r=8)", .layer = 6, .layers = 6, .xy = scene_xy[1],
                            .predicted = scene_predicted, .neighbor = scene_near,
                            .silhouette = {0, "1 class"}, .purity = {0.934, NULL}, .purity_k = 10, .kl = 0.764, .kept = 0.512};
    ui->map.data = (struct map_data){.n = SCENE_ROWS, .text = scene_text, .label = scene_label, .classes = 2,
                                     .class_name = scene_classes, .rows = "120 of 2,538 dev examples", .pool = "mean",
                                     .perplexity = 30, .asked = 30, .tasks = 1, .iteration = 310, .iterations = 750, .seed = 1,
                                     .panels = 2, .panel = {model, run}, .playing = true};
    ui->map.asked = true;
    ui->map.subject[0] = 3;
    ui->map.subjects = 1;
    ui->map.part = 1;
    ui->heatmap.data = (struct heatmap_data){.matrix = scene_matrices, .matrices = COUNT_OF(scene_matrices), .attention = 1};
}

/* Map and Heatmap of a run of two tasks with a retriever: what it reads, and what it makes of that. */
static inline void scene_retriever(struct ui *ui) {
    static const char *const tasks[] = {"cola", "rte"};
    struct map_data *d = &ui->map.data;
    d->of_task = scene_label;
    d->tasks = 2;
    d->task_name = tasks;
    d->run_task = "all tasks";
    d->run_task_at = d->run_tasks = 2;
    d->retriever = true;
    for (int i = 0; i < 2; i++) {
        struct map_panel *p = &d->panel[i];
        p->title = "#3 pha";
        p->predicted = NULL;
        p->task_silhouette = (struct map_score){i ? 0.583 : 0.112, NULL};
        p->task_purity = (struct map_score){i ? 0.971 : 0.634, NULL};
        p->retriever = i == 1;
    }
    ui->heatmap.data = (struct heatmap_data){.matrix = &scene_prototype_matrix, .matrices = 1, .attention = 1,
                                             .run_task = "all tasks", .run_task_at = 2, .run_tasks = 2};
    ui->map.fresh = true;
    ui_changed(ui);
}

/* Compare: two methods on one task, one on another, and an import. */
static inline void scene_compare(struct ui *ui) {
    static const struct compare_kind kinds[] = {
        {"reviews accuracy", "accuracy", "reviews", "dev.accuracy of reviews (sha256 01234567\u2026), 2538 examples", true},
        {"cola matthews", "matthews", "cola", "dev.matthews of cola (sha256 89abcdef\u2026), 1043 examples", true},
        {"b\x1b[2J.tsv", NULL, "b\x1b[2J.tsv", "not evaluated", false}};
    static const int64_t lora[] = {3, 4, 9}, mam[] = {7}, other[] = {5, 6}, import[] = {8};
    static const struct compare_group groups[] = {
        {"lora(r=8) #3", "finished", "1, 2, 3",
         "mean 83.81 \u00B1 0.42 sd of 3 seeds (1, 2, 3), 95% CI [82.77, 84.85]",
         "paired difference from mam(l=16,r=16) #7: -1.29 percentage points, 1 shared seed; no test: needs at least 2 shared seeds",
         "No conclusion about lora(r=8) #3 and mam(l=16,r=16) #7 from one shared seed: train both with more seeds.",
         0, false, 3, 0.8381, 0.0042,
         0.8277, 0.8485, 2, 72, 73728, lora, 3, NULL, 0},
        {"mam(l=16,r=16) #7", "finished", "1", "mean 85.10 of 1 seed (1)",
         "paired difference from lora(r=8) #3: +1.29 percentage points, 1 shared seed; no test: needs at least 2 shared seeds",
         "No conclusion about mam(l=16,r=16) #7 and lora(r=8) #3 from one shared seed: train both with more seeds.",
         0, true, 1, 0.851, NAN, NAN, NAN, 1, 102, 149856, mam, 1, NULL, 0},
        {"bitfit\x1b[2J #5", "running", "1, 2", "mean 41.27 \u00B1 3.11 sd of 2 seeds (1, 2), 95% CI [13.33, 69.21]", NULL, NULL,
         1, false, 2, 0.4127, 0.0311, 0.1333, 0.6921, 1, 30, 26112, other, 2, NULL, 0},
        {"lora(r=4) \u597D #8", "finished", "", NULL, NULL, NULL, 2, false, 0, NAN, NAN, NAN, NAN, NAN, NAN, 36864, import, 1, NULL, 0},
    };
    static const char *const lr[] = {"0.003", "0.001", "0.003", NULL}, *const fn[] = {"linear", "softmax+bottleneck", "bias", "linear"},
        *const task[] = {"reviews", "reviews", "cola", "b\x1b[2J.tsv"}, *const init[] = {"lora", NULL, NULL, "lora"};
    static const char *const effects[] = {
        "main effect of lr: 0.003 83.81 [82.40, 85.22], 0.001 85.10 [82.66, 87.54]; 95% CI, 4 runs; blocked by seed 1", NULL, NULL};
    static const struct compare_difference differences[] = {
        {"task", task, NULL}, {"lr", lr, effects}, {"axis fn", fn, NULL}, {"axis init", init, NULL}};
    static const char *const metrics[] = {"loss", "accuracy"};
    static double second[SCENE_POINTS];
    for (int i = 0; i < SCENE_POINTS; i++) second[i] = scene_loss[i] - 0.05;
    static double third[SCENE_POINTS], eval[6];
    for (int i = 0; i < SCENE_POINTS; i++) third[i] = scene_loss[i] + 0.04;
    for (int i = 0; i < 6; i++) eval[i] = scene_eval[i] - 0.01;
    static const struct compare_curve curves[] = {
        {0, 1, {scene_step, scene_loss, 240}, {scene_eval_step, scene_eval, 6}},
        {0, 1, {scene_step, third, 240}, {scene_eval_step, eval, 6}},
        {1, 1, {scene_step, second, 160}, {scene_eval_step, scene_eval + 1, 4}},
    };
    static const struct compare_curve means[] = {
        {0, 2, {scene_step, scene_loss, 240}, {scene_eval_step, scene_eval, 6}},
        {1, 1, {scene_step, second, 160}, {scene_eval_step, scene_eval + 1, 4}},
    };
    ui->compare.data = (struct compare_data){
        .kind = kinds, .group = groups, .difference = differences, .curve = curves, .kinds = 3, .groups = 4, .differences = 4,
        .curves = 3, .mean = means, .means = 2, .runs = 7, .curves_left = 4, .metric = metrics, .metrics = 2};
}

/* Sweep: methods by rates, some cells without a value, one that is no run. */
static inline void scene_sweep(struct ui *ui) {
    static const char *const axes[] = {"method", "r", "lr"};
    static const int shown[] = {0, 2};
    static const char *const value[6][3] = {{"lora(r=2)", "2", "0.001"}, {"lora(r=2)", "2", "0.01"}, {"lora(r=8)", "8", "0.001"},
                                            {"lora(r=8)", "8", "0.01"}, {"bitfit\x1b[2J", NULL, "0.001"}, {"bitfit\x1b[2J", NULL, "0.01"}};
    static const char *const names[] = {"lora(r=2) lr=0.001", "lora(r=2) lr=0.01", "lora(r=8) lr=0.001", "lora(r=8) lr=0.01",
                                        "bitfit\x1b[2J lr=0.001", "bitfit\x1b[2J lr=0.01"};
    static const double means[] = {0.8112, 0.8034, 0.8291, 0.8107, 0.7742, NAN};
    static const int64_t runs[6][3] = {{1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 16}, {5, 11, 17}, {0, 0, 0}};
    static struct sweep_tile tiles[6];
    for (int i = 0; i < 6; i++) {
        bool valid = i < 5;
        tiles[i] = (struct sweep_tile){
            .name = names[i], .state = valid ? "finished" : "invalid", .seeds = "1, 2, 3",
            .reason = valid ? NULL : "bitfit: no such bias", .axis = value[i], .valid = valid,
            .front = {i == 0 || i == 2, i == 1 || i == 2, false}, .best = i == 2, .kind = valid ? 0 : -1, .n = valid ? 3 : 0,
            .mean = means[i], .sd = valid ? 0.0104 : NAN, .low = means[i] - 0.0258, .high = means[i] + 0.0258,
            .rank = valid ? i + 1 : NAN,
            .cost = {i < 2 ? 18432 : i < 4 ? 73728 : 26112, valid ? 30 - i : NAN, valid ? 64e6 + 1e6 * i : NAN},
            .run = runs[i], .runs = valid ? 3 : 0, .seconds_left = i == 3 ? 54 : 0};
    }
    tiles[0].evidence = "mean 81.12 \u00B1 1.04 sd of 3 seeds (1, 2, 3), 95% CI [78.54, 83.70]";
    tiles[0].difference = "paired difference from lora(r=8) lr=0.001: -1.79 percentage points, 95% CI [-4.02, 0.44], 3 shared seeds; "
                          "adjusted p 0.31 (Holm, 10 comparisons)";
    tiles[0].follows = "No difference is shown: differences from -4.02 to 0.44 percentage points are compatible with these runs; more "
                       "seeds narrow the interval.";
    tiles[0].list = "runs #1 80.10, #7 81.09, #13 82.17";
    static const struct sweep_effect effects[] = {{"method", "lora(r=2)", NULL, 0, 6, 0.8073, 0.7951, 0.8195},
                                                {"method", "lora(r=8)", NULL, 0, 6, 0.8199, 0.8077, 0.8321},
                                                {"lr", NULL, NULL, 2, 15, -0.0124, -0.0301, 0.0053},
                                                {"method", "bitfit\x1b[2J", "lr", 0, 3, NAN, NAN, NAN}};
    static const struct sweep_item items[] = {{2, "petri sweep --lr '{0.001,0.01}'", 2, 1, 1},
        {1, "petri sweep --method '{lora(r={2,8}),bitfit}' --lr '{0.001,0.01}' --seeds 1,2,3", 15, 0, 15}};
    ui->sweep.item = items;
    ui->sweep.items = 2;
    ui->sweep.page = (struct sweep_page){
        .id = 1, .text = items[1].text, .metric = "accuracy", .rows = "dev.accuracy of reviews, 2538 examples", .points = true,
        .leader = "best: lora(r=8) lr=0.001, mean 82.91 \u00B1 1.04 sd; has led since run 6 of 12", .axis = axes,
        .shown_axis = shown, .axes = 3, .shown_axes = 2, .tile = tiles, .tiles = 6, .effect = effects, .effects = 4,
        .no_cost = {NULL, NULL, "lora(r=2) lr=0.001 ran on \"Zen\", lora(r=8) lr=0.001 on \"Haswell\": their memory is not compared"},
        .effects_of = "15 runs; blocked by seed 1, 2, 3", .wanted = 15, .over = 12, .live = 2, .failed = 1, .seconds_left = 94};
}

/* The interface with every screen filled. */
static inline void scene_init(struct ui *ui, int w, int h, enum glyphs g, enum colors k) {
    scene_series();
    ui_init(ui, g, k);
    ui->database = "runs.db";
    ui->running = 1;
    ui->queued = 1;
    ui->total_runs = COUNT_OF(scene_rows);
    ui->first = (struct first_view){"all-MiniLM-L6-v2", "reviews", true, true, NULL, 18, 2, "Zen", 76, 256, NULL};
    struct compose_view *c = &ui->compose;
    c->arch = &scene_arch;
    c->model = "all-MiniLM-L6-v2";
    c->task = "reviews";
    config_take_model(&c->config, c->model);
    config_take_task(&c->config, c->task);
    c->classes = 2;
    c->train_rows = 10214;
    c->dev_rows = 2538;
    compose_changed(c);
    struct train_view *t = &ui->train;
    t->job = scene_jobs;
    t->jobs = COUNT_OF(scene_jobs);
    t->focus = 3;
    t->series = (struct series){.run = 3, .count = 241, .step = scene_step, .loss = scene_loss, .lr = scene_lr,
                                .grad_norm = scene_norm, .evals = 6, .eval_step = scene_eval_step,
                                .eval_value = scene_eval, .metric = "accuracy", .majority = 0.578,
                                .best = 0.838, .best_step = 240, .eval_rows = "dev 2,538 rows"};
    ui->runs.row = scene_rows;
    ui->runs.rows = COUNT_OF(scene_rows);
    struct detail_view *d = &ui->detail;
    d->run = scene_rows[1];
    d->setting = scene_settings;
    d->settings = COUNT_OF(scene_settings);
    d->record = scene_record;
    d->records = COUNT_OF(scene_record);
    d->count = scene_counts;
    d->counts = COUNT_OF(scene_counts);
    d->eval = scene_evals;
    d->evals = COUNT_OF(scene_evals);
    d->artifact = scene_files;
    d->artifacts = COUNT_OF(scene_files);
    d->series = t->series;
    scene_inside(ui);
    scene_compare(ui);
    scene_sweep(ui);
    ui_resize(ui, w, h);
}

/* The run on the page was evaluated. */
static inline void scene_scores(struct ui *ui, int classes) {
    enum { MOST = 30 };
    static char name[MOST][12];
    static struct detail_class class[MOST];
    static size_t confusion[MOST * MOST];
    static const struct detail_error error[] = {
        {17, "a film that \xe2\x90\x9b[2J is more than the sum of its parts, although none of them is new to those who have seen it before",
         "class-2", "class-0", 0.012, 0.871},
        {4, "short", "class-0", "class-1", 0.104, 0.523}};
    static struct detail_scores s;
    memset(confusion, 0, sizeof confusion);
    for (int i = 0; i < classes; i++) {
        snprintf(name[i], sizeof name[i], "class-%d", i);
        class[i] = (struct detail_class){name[i], 60, i == 3 ? 0 : 50 + i, i == 3 ? NAN : 0.7, 0.9, 0.8};
        confusion[i * classes + i] = 18 + (size_t)i;
    }
    confusion[2 * classes] = 40;
    confusion[1] = 7;
    s = (struct detail_scores){.run = 3, .step = 240, .task = "reviews", .split = "dev", .examples = 2538, .labeled = 2538,
                               .wrong = 738, .metric = "accuracy", .score = 0.709, .class = class, .classes = classes,
                               .confusion = confusion, .error = error, .errors = COUNT_OF(error)};
    ui->detail.scores = &s;
}

/* The focused run has three tasks: one without an evaluation that counts, one not evaluated yet. */
static inline void scene_tasks(struct ui *ui) {
    static double loss[3][SCENE_POINTS];
    static const double value[] = {0.612, 0.655, 0.702, 0.698, 0.731, 0.744}, none[] = {NAN, 0.041, 0.113, 0.187, 0.187, NAN};
    for (int i = 0; i < SCENE_POINTS; i++)
        for (int k = 0; k < 3; k++) loss[k][i] = scene_loss[i] + 0.25 * (k - 1);
    static struct series_task task[3];
    task[0] = (struct series_task){"mrpc", "accuracy", 241, scene_step, loss[0], 6, scene_eval_step, value, 0.684, 0.744, 240,
                                   "dev 408", 0.2501};
    task[1] = (struct series_task){"cola", "matthews", 241, scene_step, loss[1], 6, scene_eval_step, none, NAN, 0.187, 160,
                                   "dev 256 of 1043 (seed 0)", 0.5833};
    task[2] = (struct series_task){"\u597D\x1b[2J-debates", "f1", 241, scene_step, loss[2], 0, NULL, NULL, NAN, NAN, 0, NULL, NAN};
    struct series *s = &ui->train.series;
    s->task = task;
    s->tasks = 3;
    s->metric = "average";
    s->majority = NAN;
    s->eval_rows = "3 metrics of 3 tasks, undefined as 0";
    ui_changed(ui);
}

/* Its loss has three parts, one of them below 0. */
static inline void scene_terms(struct ui *ui) {
    static double loss[3][SCENE_POINTS];
    static struct series_term term[3];
    static const char *const name[] = {"loss.task", "loss.instance", "loss.prototype"};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < SCENE_POINTS; i++)
            loss[k][i] = k == 0 ? scene_loss[i] + 0.05 : k == 1 ? 0.4 * scene_loss[i] : 0.1 - 0.004 * i;
        term[k] = (struct series_term){name[k], 241, scene_step, loss[k]};
    }
    scene_tasks(ui);
    ui->train.series.term = term;
    ui->train.series.terms = 3;
    ui_changed(ui);
}

/* Runs of several tasks beside those of one, and the page of one of them. */
static const struct task_row scene_results[] = {
    {"mrpc", "accuracy", 0.744, NULL, 240, 0.684, 408},
    {"cola", "matthews", NAN, "constant predictions", 240, NAN, 1043},
    {"\u597D\x1b[2J-debates", "f1", 0.512, NULL, 160, NAN, 0},
};
static const struct task_row scene_results_2[] = {{"mrpc", "accuracy", 0.651, NULL, 80, 0.684, 408},
                                                  {"rte", "accuracy", 0.583, NULL, 80, 0.527, 277}};
static struct run_row scene_task_rows[3];
static inline void scene_task_runs(struct ui *ui) {
    for (int i = 0; i < 3; i++) scene_task_rows[i] = scene_rows[i];
    scene_task_rows[0].task = "mrpc+cola+\u597D\x1b[2J-debates";
    scene_task_rows[1].task = "mrpc+rte";
    for (int i = 0; i < 2; i++) {
        scene_task_rows[i].metric = "average";
        scene_task_rows[i].rows = 0;
        scene_task_rows[i].best = 0.419 + 0.2 * i;
        scene_task_rows[i].majority = NAN;
    }
    scene_task_rows[0].task_result = scene_results;
    scene_task_rows[0].task_results = 3;
    scene_task_rows[1].task_result = scene_results_2;
    scene_task_rows[1].task_results = 2;
    ui->runs.row = scene_task_rows;
    ui->runs.rows = 3;
    ui->detail.run = scene_task_rows[0];
    ui_changed(ui);
}

static inline void scene_method(struct ui *ui, const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    if (method_parse(text, &m, &e)) BUG("%s", e.text);
    compose_take_method(&ui->compose, &m);
}

/* Shows Compose with a method. */
static inline void scene_runs(struct ui *ui) {
    scene_init(ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(ui, SCREEN_RUNS);
}

static inline void scene_compose(struct ui *ui, const char *method) {
    scene_init(ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(ui, SCREEN_COMPOSE);
    scene_method(ui, method);
}

/* Returns the index of a choice of the current axis. */
static inline int scene_choice(const struct compose_view *v, const char *name) {
    for (int i = 0; i < v->choice_count; i++)
        if (!strcmp(v->choices[i].name, name)) return i;
    fail_msg("no choice %s", name);
    return 0;
}

/* One key, as typed a second after the one before. */
static inline struct effect scene_press(struct ui *ui, uint32_t code) {
    static int64_t clock;
    struct effect out;
    struct press p = {code, false, clock += 1000};
    ui_press(ui, &p, &out);
    ui->flush = false;
    return out;
}

/* Whether the text stands on the screen as it is drawn now. */
/* A folder to find a file in. */
static inline void scene_folder(struct ui *ui) {
    static const struct data_entry entries[] = {
        {"folk", true, true, false, 0}, {"old\x1b[2J", true, false, false, 0}, {"dev.csv", false, false, true, 812},
        {"mine.csv", false, false, true, 1234567}, {"\u597D.tsv", false, false, true, 93}, {"notes.pdf", false, false, false, 48211}};
    ui->data.here = (struct data_folder){.path = "/home/ada/data", .entry = entries, .entries = COUNT_OF(entries)};
}

/* A file that was looked at and read. */
static inline void scene_own(struct ui *ui) {
    static const char *const beside[] = {"/home/ada/data/dev.csv", "/home/ada/data/other.csv"};
    static const char *const lines[] = {"mine: single texts, classes, scored by accuracy",
                                        "train: /home/ada/data/mine.csv (sha256 01234567\u2026)",
                                        "38 rows from 41 lines, 1 of them the header", "2 rows skipped:", "  line 12: 2 fields, not 3",
                                        "  line 30: no label", "class 0: down, 20 rows", "class 1: up, 18 rows",
                                        "warning: 1 duplicate with a different label (line 9)",
                                        "412 tokens, 0.24 % unknown", "3 rows cut to 128 tokens: 61 tokens"};
    static struct peek peek;
    static char *names[] = {"n", "remark\x1b[2J", "mood"}, *cells[] = {"0", "a good film", "up", "1",
                                                                       "no way to tell who is who, and long enough to be cut",
                                                                     "down", "2", "\u597D", "up"};
    peek = (struct peek){.format = DATA_CSV, .header = true, .columns = 3, .rows = 3};
    for (int i = 0; i < 3; i++) {
        peek.column[i].name = names[i];
        peek.column[i].role = i == 1 ? PEEK_TEXT : i == 2 ? PEEK_LABEL : PEEK_NONE;
        for (int r = 0; r < 3; r++) peek.column[i].cell[r] = cells[3 * r + i];
    }
    ui->data.look = (struct data_look){.path = "/home/ada/data/mine.csv", .peek = &peek, .beside = beside, .besides = 2, .likely = 1};
    data_looked(&ui->data, &ui->compose.config);
    ui->data.asked = 1;
    ui->data.read = (struct data_read){.asked = 1, .ok = true, .line = lines, .lines = COUNT_OF(lines)};
    ui->prompt.open = false;
}

static inline bool scene_shows(const struct ui *ui, const char *text) {
    struct buf b = BUF_INIT;
    render_ui(ui, false, &b);
    bool found = strstr(b.data, text) != NULL;
    buf_release(&b);
    return found;
}

static inline void scene_type(struct ui *ui, const char *text) {
    for (; *text; text++) scene_press(ui, (unsigned char)*text);
}

/* A click on the first place on the screen with this text. */
static inline struct effect scene_click(struct ui *ui, const char *text) {
    struct buf b = BUF_INIT;
    struct effect out;
    render_ui(ui, false, &b);
    const char *line = buf_text(&b), *hit = strstr(line, text);
    if (!hit) fail_msg("nothing on the screen to click: %s", text);
    int y = 0;
    for (const char *end; (end = strchr(line, '\n')) && end < hit; line = end + 1) y++;
    char *head = xstrndup(line, (size_t)(hit - line));
    struct mouse m = {MOUSE_CLICK, text_width(head), y, 0};
    ui_mouse(ui, &m, &out);
    free(head);
    buf_release(&b);
    return out;
}

#endif
