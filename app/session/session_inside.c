/* Looking inside a run: requests of Map and Heatmap, and their pictures. */
#include "app/session/session_private.h"
#include "core/base/text.h"

void session__take_pictures(struct session *s) {
    struct insight_map *map = insight_take_map(s->inside.insight);
    struct insight_heat *heat = insight_take_heat(s->inside.insight);
    if (map) {
        s->ui.map.data = map->data;
        insight_map_free(s->inside.map);
        s->inside.map = map;
    }
    if (heat) {
        s->ui.heatmap.data = heat->data;
        insight_heat_free(s->inside.heat);
        s->inside.heat = heat;
    }
    if (map || heat) ui_changed(&s->ui);
}

/* ---- actions ---- */

static void look_inside(struct session *s, const struct effect *x, struct insight_subject *what) {
    const struct run_config *c = &s->ui.compose.config, *rows = config_data_of(c, 0);
    what->model = c->model_folder ? c->model_folder : c->model;
    what->task = rows->task_folder ? rows->task_folder : rows->task;
    insight_open(s->inside.insight, what);
    if (x->keep) insight_matrices(s->inside.insight, -1);
}

static void do_inspect(struct session *s, const struct effect *x) {
    look_inside(s, x, &(struct insight_subject){ .run = x->run, .runs = x->runs, .task_at = x->by,
                                                 .unseen = *x->text ? x->text : NULL });
}

static void do_sets(struct session *s, const struct effect *x) {
    look_inside(s, x, &(struct insight_subject){ .set = x->run, .sets = x->runs });
}

static void do_matrices(struct session *s, const struct effect *x) {
    insight_matrices(s->inside.insight, x->by);
}
static void do_row(struct session *s, const struct effect *x) {
    insight_attention(s->inside.insight, x->by, 0, 0);
}
static void do_attention_layer(struct session *s, const struct effect *x) {
    insight_attention(s->inside.insight, 0, x->by, 0);
}
static void do_head(struct session *s, const struct effect *x) {
    insight_attention(s->inside.insight, 0, 0, x->by);
}
static void do_training(struct session *s) {
    insight_training(s->inside.insight);
}
static void do_moment(struct session *s, const struct effect *x) { insight_moment(s->inside.insight, x->by); }
static void do_play(struct session *s) {
    insight_play(s->inside.insight);
}
static void do_step(struct session *s) {
    insight_step(s->inside.insight);
}
static void do_rewind(struct session *s) {
    insight_rewind(s->inside.insight);
}
static void do_perplexity(struct session *s, const struct effect *x) {
    insight_perplexity(s->inside.insight, x->by);
}
static void do_beside(struct session *s) {
    insight_beside(s->inside.insight);
}
static void do_small(struct session *s) { insight_small(s->inside.insight, map_focus(&s->ui.map)); }
static void do_layer(struct session *s, const struct effect *x) {
    insight_layer(s->inside.insight, map_focus(&s->ui.map), x->by);
}

/* ---- their lines ---- */

static void line_inside(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_config *c = &s->ui.compose.config;
    line_verb(s, b, x->keep ? "similarity" : "map");
    if (x->runs && x->keep) line_runs(b, x->run, x->runs);
    else if (x->runs) buf_printf(b, " --run %lld", (long long)x->run[0]);
    else text_shell_option(b, "model", c->model);
    if (!x->runs) text_shell_option(b, "task", c->task);
    text_shell_option(b, "unseen", x->text);
    if (x->keep) buf_puts(b, " --of classes");
}

/* Appends the command line for one stored set. */
static void line_sets(const struct session *s, struct buf *b, const struct effect *x) {
    if (x->runs != 1) return;
    line_verb(s, b, "map");
    line_runs(b, x->run, 1);
}

/* Appends the command line for the matrices of the subject of Map, or for the attention of an example. */
static void line_matrices(const struct session *s, struct buf *b, const struct effect *x) {
    const struct map_view *v = &s->ui.map;
    if (v->sets) return;
    if (x->by < 0) {
        line_inside(s, b, &(struct effect){ .run = v->subject, .runs = v->subjects, .keep = true });
        return;
    }
    line_verb(s, b, "similarity");
    if (v->subjects) line_runs(b, v->subject, 1);
    else text_shell_option(b, "model", s->ui.compose.config.model);
    buf_puts(b, " --of attention");
}

static void line_training(const struct session *s, struct buf *b, const struct effect *x) {
    (void)x;
    if (!s->ui.map.subjects || s->ui.map.sets) return;
    line_verb(s, b, "map");
    buf_printf(b, " --run %lld --steps", (long long)s->ui.map.subject[0]);
}

const struct action inside_actions[] = {
    { EFFECT_INSPECT, do_inspect, .line = line_inside },
    { EFFECT_SETS, do_sets, .line = line_sets },
    { EFFECT_HEATMAP, do_matrices, .line = line_matrices },
    { EFFECT_ATTENTION_ROW, .act = do_row },
    { EFFECT_ATTENTION_LAYER, .act = do_attention_layer },
    { EFFECT_ATTENTION_HEAD, .act = do_head },
    { EFFECT_MAP_TRAINING, .plain = do_training, .line = line_training },
    { EFFECT_MAP_MOMENT, .act = do_moment },
    { EFFECT_MAP_PLAY, .plain = do_play },
    { EFFECT_MAP_STEP, .plain = do_step },
    { EFFECT_MAP_REWIND, .plain = do_rewind },
    { EFFECT_MAP_PERPLEXITY, .act = do_perplexity },
    { EFFECT_MAP_BESIDE, .plain = do_beside },
    { EFFECT_MAP_SMALL, .plain = do_small },
    { EFFECT_MAP_LAYER, .act = do_layer },
    { .kind = EFFECT_NONE },
};

void session__inside_release(struct session *s) {
    insight_map_free(s->inside.map);
    insight_heat_free(s->inside.heat);
}
