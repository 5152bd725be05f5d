/* Runs: names, pins, tags, notes, and permanent deletion of runs in the trash (runs.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Edits the tags of the run under the cursor, or adds tags to several marked runs. */
static void ask_tags(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    const struct run_row *row = runs_at_cursor(v);
    char label[32];
    if (v->marks > 1) snprintf(label, sizeof label, "tags for %d runs ", v->marks);
    else snprintf(label, sizeof label, "tags of #%lld ", (long long)row->id);
    char text[400] = "";
    if (v->marks < 2 && row->tags) snprintf(text, sizeof text, "%.380s, ", row->tags);
    prompt_open(&ui->prompt, label, text, false);
    ui->use = USE_TAGS;
}

static void ask_words(struct ui *ui, const char *what, const char *now, enum prompt_use use) {
    char label[32];
    snprintf(label, sizeof label, "%s of #%lld ", what, (long long)runs_at_cursor(&ui->runs)->id);
    prompt_open(&ui->prompt, label, now ? now : "", false);
    ui->use = use;
}

bool runs_keep_request(struct ui *ui, enum request r, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (r == REQ_PRESETS) {
        out->kind = EFFECT_SAVED;
        return true;
    }
    if (r != REQ_PIN && r != REQ_TAGS && r != REQ_NOTE && r != REQ_NAME) return false;
    const struct run_row *row = runs_at_cursor(v);
    if (!row) return true;
    if (r == REQ_TAGS) ask_tags(ui);
    else if (r == REQ_NAME) ask_words(ui, "name", row->name, USE_RUN_NAME);
    else if (r == REQ_NOTE && row->note && strlen(row->note) >= PROMPT_ROOM)
        ui_say(ui, SAY_WARNING, "note too long to edit here: use petri note");
    else if (r == REQ_NOTE) ask_words(ui, "note", row->note, USE_RUN_NOTE);
    else if (runs_choose(v, true, out)) out->kind = EFFECT_PIN;
    return true;
}

void runs_keep_typed(struct ui *ui, const char *text, struct effect *out) {
    bool tags = ui->use == USE_TAGS;
    if (!runs_choose(&ui->runs, tags && ui->runs.marks > 1, out)) return;
    out->kind = tags ? EFFECT_TAGS : ui->use == USE_RUN_NAME ? EFFECT_NAME : EFFECT_NOTE;
    snprintf(out->text, sizeof out->text, "%s", text);
}

/* ---- saved filters ---- */

enum { SAVED_TAKE, SAVED_SAVE, SAVED_FORGET };

void runs_saved(struct ui *ui, const char *const *filter, int filters) {
    const char *now = ui->runs.filter;
    bool saved = false;
    if (ui->screen != SCREEN_RUNS || ui->prompt.open || ui->ask.kind) return;
    if (!filters && !*now) {
        ui_say(ui, SAY_INFO, "no saved filters: filter with /, then P saves it");
        return;
    }
    picker_open(&ui->picker, PICK_SAVED, "saved filters");
    for (int i = 0; i < filters; i++) {
        saved = saved || !strcmp(filter[i], now);
        picker_add(&ui->picker, filter[i], strcmp(filter[i], now) ? "" : "active", false)->tag = SAVED_TAKE;
    }
    if (*now)
        picker_add(&ui->picker, now, saved ? "delete" : "save", false)->tag = saved ? SAVED_FORGET
                                                                                          : SAVED_SAVE;
}

void runs_saved_picked(struct ui *ui, struct effect *out) {
    const struct pick_item *item = &ui->picker.item[ui->picker.cursor];
    if (item->tag == SAVED_TAKE) {
        runs_set_filter(&ui->runs, item->name, out);
        return;
    }
    out->kind = EFFECT_SAVE;
    out->keep = item->tag == SAVED_SAVE;
    snprintf(out->text, sizeof out->text, "%s", item->name);
}

/* ---- permanent deletion ---- */

void runs_purge(struct ui *ui, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (ui->screen != SCREEN_RUNS || !v->trash) {
        ui_say(ui, SAY_INFO,
               "purge: only runs in the trash can be deleted: press V in Runs, then mark runs with Space");
        return;
    }
    int n = v->marks ? v->marks : v->shown;
    if (!n) {
        ui_say(ui, SAY_INFO, "the trash is empty");
        return;
    }
    v->chosen = xrealloc(v->chosen, (size_t)n + 1, sizeof *v->chosen);
    for (int i = 0; i < n; i++) v->chosen[i] = v->marks ? v->marked[i] : v->row[v->order[i]].id;
    v->purging = n;
    out->kind = EFFECT_PURGE_COUNT;
    out->run = v->chosen;
    out->runs = n;
}

void runs_purge_ask(struct ui *ui, int runs, const char *what) {
    struct runs_view *v = &ui->runs;
    if (runs != v->purging || ui->screen != SCREEN_RUNS || ui->prompt.open || ui->ask.kind) return;
    char label[128];
    snprintf(label, sizeof label, "%.80s: type %d to delete permanently ", what, runs);
    snprintf(v->purged, sizeof v->purged, "%s", what);
    prompt_open(&ui->prompt, label, "", false);
    ui->use = USE_PURGE;
}

/* The typed number is the first answer, y the second. */
void runs_purge_typed(struct ui *ui, const char *text) {
    int64_t typed;
    if (!text_to_int(text, &typed) || typed != ui->runs.purging) {
        ui_say(ui, SAY_INFO, "%d was not typed: nothing deleted", ui->runs.purging);
        return;
    }
    ui_ask(ui, ASK_PURGE, 0, "%s: this cannot be undone. Delete?   y yes   N no", ui->runs.purged);
}

void runs_purge_answer(struct ui *ui, uint32_t code, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (code != 'y') {
        ui_say(ui, SAY_INFO, "nothing deleted");
        return;
    }
    out->kind = EFFECT_PURGE;
    out->run = v->chosen;
    out->runs = out->by = v->purging;
    v->marks = 0;
}
