/* What each key does on each screen, as text: what it asks the app for, what it says, and which state it changes. */
#ifndef TESTS_VIEWS_PRESSED_H
#define TESTS_VIEWS_PRESSED_H

#include <stddef.h>

#include "tests/views/scene.h"

/* Effects by name; one that a key asks for and that is not here fails the test. */
#define PRESSED_EFFECTS(_)                                                                                   \
    _(NONE) _(TRAIN) _(TRAIN_FIRST) _(PAUSE) _(STOP) _(RESUME) _(AGAIN) _(RESEED) _(QUEUE) _(TRASH) _(RESTORE) _(COLUMNS) \
    _(SAVED) _(SAVE) _(PIN) _(TAGS) _(NOTE) _(NAME) _(PURGE_COUNT) _(PURGE) _(UNDO) _(REDO) _(WATCH) _(FOCUS) \
    _(BESIDE) _(OPEN_RUN) _(SCORES) _(CLONE) _(TRASH_VIEW) _(FILTER) _(BY_TASK) _(ROWS) _(FOLDER) _(LOOK) _(IMPORT) _(OWN_ROWS) \
    _(LIST_MODELS) _(LIST_TASKS) _(MODEL) _(TASK) _(METHOD_TEXT) _(START) _(METHOD_KEEP) _(METHODS_OUT) _(METHODS_IN) _(EXPORT) \
    _(COPY) _(COPY_RUN) _(SHELL) _(TALK) _(TALK_SAY) _(TALK_AGAIN) _(TALK_STOP) _(TALK_NEW)   \
    _(TALK_WRITE)                                                                             \
    _(INSPECT) _(SETS) _(HEATMAP) _(ATTENTION_ROW) _(ATTENTION_LAYER) _(ATTENTION_HEAD) _(MAP_TRAINING) _(MAP_MOMENT) \
    _(MAP_PLAY) _(MAP_STEP) _(MAP_REWIND) _(MAP_PERPLEXITY) _(MAP_BESIDE) _(MAP_SMALL) _(MAP_LAYER) _(COMPARE) _(SWEEPS) _(SWEEP_NEW) \
    _(SWEEP_GO) _(SWEEP_STOP) _(SWEEP_EXTEND) _(PICTURE) _(TABLE) _(VERB) _(VERB_STOP) _(LESSONS) _(LESSON) _(LESSON_CLOSE) \
    _(LESSON_STEP) _(SET) _(SAVE_SETTINGS) _(MOUSE) _(QUIT) _(SUSPEND) _(REDRAW)
#define PRESSED_NAME(NAME) [EFFECT_##NAME] = #NAME,
static const char *const pressed_effect[EFFECT_KINDS] = {PRESSED_EFFECTS(PRESSED_NAME)};
#undef PRESSED_NAME

/* State by name. */
struct pressed_field {
    const char *name;
    size_t at, size;
};
#define FIELD(member) {#member, offsetof(struct ui, member), sizeof(((struct ui *)NULL)->member)}
static const struct pressed_field pressed_fields[] = {
    FIELD(prompt.open), FIELD(picker.open), FIELD(ask.kind), FIELD(mouse), FIELD(glyphs), FIELD(theme),
    FIELD(compose.part), FIELD(compose.axis), FIELD(compose.key), FIELD(compose.option), FIELD(compose.choice), FIELD(compose.note),
    FIELD(compose.describe), FIELD(compose.swepts), FIELD(compose.off.count),
    FIELD(train.focus), FIELD(train.cursor), FIELD(train.chart), FIELD(train.texts), FIELD(train.text_top), FIELD(train.shown_task),
    FIELD(train.shown_term), FIELD(train.look.x), FIELD(train.look.log_x), FIELD(train.look.log), FIELD(train.look.smooth),
    FIELD(train.look.raw), FIELD(train.look.follow),
    FIELD(runs.trash), FIELD(runs.marks), FIELD(runs.cursor), FIELD(runs.column), FIELD(runs.sort), FIELD(runs.reverse),
    FIELD(runs.by_task), FIELD(runs.grouped), FIELD(runs.group_cursor),
    FIELD(compare.part), FIELD(compare.partial), FIELD(compare.kind), FIELD(compare.cursor), FIELD(compare.key), FIELD(compare.metric),
    FIELD(compare.losses), FIELD(compare.smooth), FIELD(compare.log),
    FIELD(sweep.open), FIELD(sweep.cursor), FIELD(sweep.part), FIELD(sweep.cost), FIELD(sweep.pair), FIELD(sweep.slice),
    FIELD(sweep.look.row), FIELD(sweep.look.column), FIELD(sweep.effect), FIELD(sweep.tile),
    FIELD(heatmap.shown), FIELD(heatmap.cluster), FIELD(heatmap.look.fit), FIELD(heatmap.look.size), FIELD(heatmap.look.row),
    FIELD(heatmap.look.column),
    FIELD(map.whole), FIELD(map.list), FIELD(map.many), FIELD(map.region.on),
    FIELD(map.hidden), FIELD(map.part), FIELD(map.class), FIELD(map.alone), FIELD(map.color), FIELD(map.chosen),
    FIELD(learn.cursor), FIELD(learn.up), FIELD(learn.large), FIELD(detail.top), FIELD(explain.top),
    FIELD(data.cursor), FIELD(data.at), FIELD(data.dev), FIELD(data.first), FIELD(data.report_top),
    FIELD(page.top), FIELD(page.left), FIELD(help.top), FIELD(help.helped),
};
#undef FIELD

static inline long long pressed_value(const struct ui *ui, const struct pressed_field *f) {
    const char *at = (const char *)ui + f->at;
    int64_t wide;
    int narrow;
    if (f->size == 1) return *(const unsigned char *)at;
    if (f->size == sizeof narrow) return memcpy(&narrow, at, sizeof narrow), narrow;
    BUG_IF(f->size != sizeof wide);
    return memcpy(&wide, at, sizeof wide), wide;
}

/* One press, as words. */
static inline void pressed(struct ui *ui, uint32_t code, struct buf *out) {
    long long was[COUNT_OF(pressed_fields)];
    enum screen_id screen = ui->screen;
    char *method = method_text(&ui->compose.config.method);
    size_t begin = out->size;
    *ui->message = 0;
    for (size_t i = 0; i < COUNT_OF(pressed_fields); i++) was[i] = pressed_value(ui, &pressed_fields[i]);
    struct effect x = scene_press(ui, code);
    if (x.kind != EFFECT_NONE) {
        if (!pressed_effect[x.kind]) fail_msg("effect %d has no name in PRESSED_EFFECTS", (int)x.kind);
        buf_printf(out, "  asks %s", pressed_effect[x.kind]);
        for (int i = 0; i < x.runs; i++) buf_printf(out, "%s%lld", i ? "," : " run ", (long long)x.run[i]);
        if (*x.text) buf_printf(out, " \"%.60s\"", x.text);
    }
    if (ui->screen != screen) buf_printf(out, "  to %s", screen_at(ui->screen)->name);
    for (size_t i = 0; i < COUNT_OF(pressed_fields); i++) {
        long long is = pressed_value(ui, &pressed_fields[i]);
        if (is != was[i]) buf_printf(out, "  %s %lld \u2192 %lld", pressed_fields[i].name, was[i], is);
    }
    char *now = method_text(&ui->compose.config.method);
    if (strcmp(method, now)) buf_printf(out, "  %s \u2192 %s", method, now);
    if (*ui->message) buf_printf(out, "  says \"%s\"", ui->message);
    if (out->size == begin) buf_puts(out, "  nothing to do");
    free(method);
    free(now);
}

#endif
