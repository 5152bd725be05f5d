#include "views/ui.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/copy.h"
#include "views/learn_parts.h"
#include "views/data_parts.h"
#include "views/ui_parts.h"
#include "views/write.h"

/* A question opened this recently takes no answer: the key was typed before it was read. */
static const int64_t ask_grace_ms = 250;

#define SCREEN_ROW(NAME, name) [SCREEN_##NAME] = &screen_##name,
static const struct screen *const screens[SCREEN_COUNT] = { SCREENS(SCREEN_ROW) };
#undef SCREEN_ROW

const struct screen *screen_at(enum screen_id id) {
    BUG_IF(id < 0 || id >= SCREEN_COUNT);
    return screens[id];
}

enum screen_id screen_by_name(const char *name) {
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (!strcmp(screens[i]->name, name)) return (enum screen_id)i;
    return SCREEN_COUNT;
}

void ui_init(struct ui *ui, enum glyphs glyphs, enum colors colors) {
    memset(ui, 0, sizeof *ui);
    ui->w = ui->window_w = 80;
    ui->h = ui->window_h = 24;
    ui->glyphs = glyphs;
    ui->colors = colors;
    ui->ascii_only = glyphs == GLYPHS_ASCII;
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->init) screens[i]->init(ui);
    picker_init(&ui->picker);
    ui_changed(ui);
}

void ui_release(struct ui *ui) {
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->release) screens[i]->release(ui);
    picker_release(&ui->picker);
}

/* An open lesson's step lies beside every screen but its own. */
static void share_window(struct ui *ui) {
    struct rect screen, step;
    bool beside = ui->learn.lesson && !ui->learn.notes && ui->screen != SCREEN_LEARN;
    ui->w = ui->window_w;
    ui->h = ui->window_h;
    ui->learn.beside = beside && learn_share(ui->window_w, ui->window_h, &screen, &step);
    if (!ui->learn.beside) return;
    ui->w = screen.w;
    ui->h = screen.h;
}

void ui_resize(struct ui *ui, int w, int h) {
    ui->window_w = w < 0 ? 0 : w > CANVAS_SIDE ? CANVAS_SIDE : w;
    ui->window_h = h < 0 ? 0 : h > CANVAS_SIDE ? CANVAS_SIDE : h;
    ui_changed(ui);
}

void ui_changed(struct ui *ui) {
    share_window(ui);
    int rows = ui_body(ui).h;
    ui->picker.page = rows > 2 ? rows - 1 : 1;
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->changed) screens[i]->changed(ui);
}

static void picker_close(struct ui *ui) {
    ui->picker.open = false;
    if (ui->use == USE_PICK) ui->prompt.open = false;
}

void ui_tip(struct ui *ui) {
    const char *text = screens[ui->screen]->tip.text;
    bool used = ui->tipped >> ui->screen & 1;
    if (ui->tips && text && !used && !*ui->message) ui_say(ui, SAY_INFO, "%s", text);
}

void ui_show(struct ui *ui, enum screen_id screen) {
    enum screen_id from = ui->screen;
    if (from == screen) return;
    if (!screens[from]->back) ui->before = from;
    ui->screen = screen;
    picker_close(ui);
    if (screens[screen]->shown) screens[screen]->shown(ui, from);
    ui_changed(ui);
}

void ui_say(struct ui *ui, enum say say, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(ui->message, sizeof ui->message, format, args);
    va_end(args);
    ui->say = say;
}

void ui_ask(struct ui *ui, enum ask_kind kind, int64_t run, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(ui->ask.text, sizeof ui->ask.text, format, args);
    va_end(args);
    ui->ask.kind = kind;
    ui->ask.since = ui->now;
    ui->ask.run[0] = run;
    ui->flush = true;
}

void ui_watch(struct ui *ui, struct effect *out) {
    out->kind = EFFECT_WATCH;
    ui->train.focus = out->run[0];
    ui->train.cursor = -1;
    ui_show(ui, SCREEN_TRAIN);
}

void ui_ask_stop(struct ui *ui, int64_t run, enum run_state state) {
    if (state > RUN_PAUSED)
        ui_say(ui, SAY_INFO, "#%lld is already %s", (long long)run, run_state_name(state));
    else
        ui_ask(ui, ASK_STOP, run,
               "stop #%lld?   y save a checkpoint   x no checkpoint (asks again)   Esc continue",
               (long long)run);
}

bool ui_run_request(struct ui *ui, enum request r, enum run_state state, struct effect *out) {
    switch (r) {
    case REQ_OPEN:
        out->kind = EFFECT_OPEN_RUN;
        ui_show(ui, SCREEN_DETAIL);
        return true;
    case REQ_CLONE: out->kind = EFFECT_CLONE; return true;
    case REQ_WATCH: ui_watch(ui, out); return true;
    case REQ_STOP: ui_ask_stop(ui, out->run[0], state); return true;
    case REQ_SHELL: out->kind = EFFECT_SHELL; return true;
    default: return false;
    }
}

static void ask_stop_press(struct ui *ui, uint32_t code, struct effect *out) {
    struct ask asked = ui->ask;
    if (asked.kind == ASK_STOP && code == 'x') {
        ui_ask(ui, ASK_DISCARD, asked.run[0],
               "#%lld: all progress will be lost. Stop without a checkpoint?   y yes   N no",
               (long long)asked.run[0]);
        return;
    }
    ui->ask.kind = ASK_NONE;
    if (code != 'y') {
        ui_say(ui, SAY_INFO, "#%lld continues", (long long)asked.run[0]);
        return;
    }
    out->kind = EFFECT_STOP;
    out->run = ui->ask.run;
    out->runs = 1;
    out->keep = asked.kind == ASK_STOP;
}

static void ask_press(struct ui *ui, const struct press *p, struct effect *out) {
    if (p->ms - ui->ask.since < ask_grace_ms && p->ms >= ui->ask.since) return;
    uint32_t code = p->alt ? PRESS_OTHER : p->code; /* Alt and a letter is another key */
    switch (ui->ask.kind) {
    case ASK_STOP:
    case ASK_DISCARD: ask_stop_press(ui, code, out); return;
    case ASK_QUIT:
        ui->ask.kind = ASK_NONE;
        if (code == 'y' || code == 'x' || code == PRESS_CTRL('c')) {
            out->kind = EFFECT_QUIT;
            out->keep = code == 'y';
        }
        return;
    case ASK_PURGE:
        ui->ask.kind = ASK_NONE;
        runs_purge_answer(ui, code, out);
        return;
    case ASK_COPY:
        ui->ask.kind = ASK_NONE;
        if (code == 'y') compose_add_copy(ui);
        else ui_say(ui, SAY_INFO, "not added");
        return;
    case ASK_MEMORY:
        ui->ask.kind = ASK_NONE;
        compose_force(ui, code == 'y', out);
        return;
    case ASK_SWEEP_STOP:
        ui->ask.kind = ASK_NONE;
        if (code != 'y') return;
        out->kind = EFFECT_SWEEP_STOP;
        out->run = ui->ask.run;
        out->runs = 1;
        return;
    case ASK_NONE: return;
    }
}

void ui_quit(struct ui *ui, struct effect *out) {
    int jobs = ui->running + ui->queued;
    if (!jobs) {
        out->kind = EFFECT_QUIT;
        return;
    }
    ui_ask(ui, ASK_QUIT, 0,
           "%d %s training.  y quit (%s)  x stop with checkpoints  Esc stay",
           jobs, jobs == 1 ? "run" : "runs", jobs == 1 ? "it continues" : "they continue");
}

static void go_back(struct ui *ui) {
    if (screens[ui->screen]->back) screens[ui->screen]->back(ui);
}

bool ui_step(enum request r, int page, int *down, int *right) {
    enum { FAR = 100000, FAST = 10 };
    *down = *right = 0;
    switch (r) {
    case REQ_UP: *down = -1; return true;
    case REQ_DOWN: *down = 1; return true;
    case REQ_PAGE_UP: *down = -page; return true;
    case REQ_PAGE_DOWN: *down = page; return true;
    case REQ_LEFT: *right = -1; return true;
    case REQ_RIGHT: *right = 1; return true;
    case REQ_FAST_LEFT: *right = -FAST; return true;
    case REQ_FAST_RIGHT: *right = FAST; return true;
    case REQ_FIRST: *down = *right = -FAR; return true;
    case REQ_LAST: *down = *right = FAR; return true;
    default: return false;
    }
}

bool ui_walk(enum request r, int page, int last, int *at) {
    int down, right;
    if (!ui_step(r, page, &down, &right) || !down) return false;
    *at = ui_into(*at + down, last);
    return true;
}

bool ui_scroll(const struct ui *ui, enum request r, int rows, int *top) {
    int page = ui_body(ui).h;
    return ui_walk(r, page, rows - page, top);
}

int ui_into(int cursor, int last) { return cursor > last ? (last < 0 ? 0 : last) : cursor < 0 ? 0 : cursor; }

void ui_in_sight(int *top, int cursor, int rows) {
    if (*top > cursor) *top = cursor;
    if (rows > 0 && cursor >= *top + rows) *top = cursor - rows + 1;
}

static void ui_picked(struct ui *ui, struct effect *out) {
    struct picker *p = &ui->picker;
    const struct pick_item *item = picker_at(p);
    struct buf marked = BUF_INIT;
    picker_close(ui);
    if (!item) return;
    if (picker_marked(p, &marked) && marked.size < sizeof out->text) {
        out->kind = EFFECT_TASK;
        snprintf(out->text, sizeof out->text, "%s", buf_text(&marked));
    }
    buf_release(&marked);
    if (out->kind != EFFECT_NONE) return;
    if (item->dim) {
        ui_say(ui, SAY_WARNING, "%.150s: %.150s", item->name, item->note);
        return;
    }
    if (p->kind == PICK_KEYS) {
        ui_menu_take(ui, out);
        return;
    }
    if (p->kind == PICK_PRESET && item->tag > 0 && item->tag <= ui->compose.owns) {
        out->kind = EFFECT_METHOD_TEXT;
        snprintf(out->text, sizeof out->text, "%s", ui->compose.own[item->tag - 1].text);
        ui_say(ui, SAY_INFO, "%.150s loaded; u undoes", item->name);
        return;
    }
    if (p->kind == PICK_PRESET) {
        compose_take_preset(&ui->compose, item->name);
        ui_say(ui, SAY_INFO, "%.150s loaded; u undoes", item->name);
        return;
    }
    if (p->kind == PICK_SAVED) {
        runs_saved_picked(ui, out);
        return;
    }
    if (p->kind == PICK_PLACE) {
        compose_go_to(&ui->compose, item->tag);
        return;
    }
    if (p->kind == PICK_WRITE) {
        write_picked(ui, out);
        return;
    }
    if (p->kind == PICK_COLUMN) {
        runs_column_picked(ui, out);
        return;
    }
    if (p->kind == PICK_COPY) {
        copy_picked(ui, out);
        return;
    }
    out->kind = p->kind == PICK_MODEL ? EFFECT_MODEL : EFFECT_TASK;
    snprintf(out->text, sizeof out->text, "%s", item->name);
}

/* Marks a task, to train on several, and goes on to the next. */
static void mark_picked(struct ui *ui) {
    struct picker *k = &ui->picker;
    struct buf names = BUF_INIT;
    struct pick_item *item = picker_at(k);
    if (!item || item->dim) return;
    item->marked = !item->marked;
    int n = picker_marked(k, &names);
    picker_move(k, 1);
    ui_say(ui, SAY_INFO, n ? "marked: %s (%d); Enter selects %s" : "no task is marked", buf_text(&names), n,
           n == 1 ? "it" : "them together");
    buf_release(&names);
}

void ui_find(struct ui *ui, const char *typed) {
    prompt_open(&ui->prompt, "find", typed, false);
    ui->use = USE_PICK;
    picker_filter(&ui->picker, typed);
}

/* Any letter that is not a key of lists begins the search. */
static void picker_press(struct ui *ui, const struct press *p, struct effect *out) {
    struct picker *k = &ui->picker;
    enum request r = keys_request(SCREEN_HELP, p); /* of a list alone */
    int down, right;
    char typed[8] = "";
    if (p->code == PRESS_ENTER) ui_picked(ui, out);
    else if (p->code == ' ' && k->kind == PICK_TASK) mark_picked(ui);
    else if (r == REQ_BACK || r == REQ_QUIT) picker_close(ui);
    else if (r == REQ_INTERRUPT) ui_quit(ui, out);
    else if (r == REQ_SEARCH) ui_find(ui, "");
    else if (ui_step(r, k->page, &down, &right)) picker_move(k, down);
    else if (p->code > ' ' && p->code < 0x110000 && p->code != 0x7F && !p->alt) {
        utf8_encode(p->code, typed);
        ui_find(ui, typed);
    }
}

/* While a list is narrowed by typing; false: the press belongs to the prompt. */
static bool picker_typed(struct ui *ui, const struct press *p, struct effect *out) {
    struct picker *k = &ui->picker;
    switch (p->code) {
    case PRESS_DOWN:
    case PRESS_CTRL('n'): picker_move(k, 1); return true;
    case PRESS_UP:
    case PRESS_CTRL('p'): picker_move(k, -1); return true;
    case PRESS_PAGE_DOWN: picker_move(k, k->page); return true;
    case PRESS_PAGE_UP: picker_move(k, -k->page); return true;
    case PRESS_ENTER: ui_picked(ui, out); return true;
    case PRESS_ESC:
        ui->prompt.open = false;
        picker_filter(k, "");
        return true;
    case ' ':
        if (k->kind != PICK_TASK) return false;
        mark_picked(ui);
        ui_find(ui, ""); /* the next one is typed anew */
        return true;
    default: return false;
    }
}

static void prompt_changed(struct ui *ui, struct effect *out) {
    if (ui->use == USE_FILTER) {
        runs_set_filter(&ui->runs, ui->prompt.text, out);
    } else if (ui->use == USE_COMMAND) {
        ui_palette_changed(ui);
    } else if (ui->use == USE_SEARCH && ui->screen == SCREEN_PAGE) {
        snprintf(ui->page.search, sizeof ui->page.search, "%.127s", ui->prompt.text);
        page_searched(ui);
    } else if (ui->use == USE_SEARCH) {
        snprintf(ui->help.search, sizeof ui->help.search, "%.127s", ui->prompt.text);
        ui->help.top = 0;
    } else if (ui->use == USE_FILES) {
        data_files_typed(ui);
    } else if (ui->use == USE_PICK) {
        picker_filter(&ui->picker, ui->prompt.text);
    }
}

static void prompt_feed(struct ui *ui, const struct press *p, struct effect *out) {
    if (ui->use == USE_FILES && data_files_press(ui, p, out)) return;
    if (ui->use == USE_PICK && picker_typed(ui, p, out)) return;
    if (ui->use == USE_COMMAND && ui_palette_press(ui, p)) return;
    if (ui->use == USE_FILTER && runs_filter_press(ui, p, out)) return;
    enum prompt_result r = prompt_press(&ui->prompt, p);
    if (r == PROMPT_CANCELLED && ui->use == USE_SEARCH) prompt_set(&ui->prompt, "");
    if (r == PROMPT_COMPLETE && ui->use == USE_COMMAND) ui_palette_take(ui);
    if (ui->use == USE_FILTER && (r == PROMPT_DONE || r == PROMPT_CANCELLED))
        runs_filter_done(ui, r == PROMPT_CANCELLED, out);
    else if (r == PROMPT_CHANGED || r == PROMPT_CANCELLED) prompt_changed(ui, out);
    if (r != PROMPT_DONE || ui->use == USE_FILTER) return;
    if (ui->use == USE_COMMAND) {
        ui_command(ui, ui->prompt.text, out);
    } else if (ui->use == USE_SWEEP || ui->use == USE_MORE) {
        sweep_typed(ui, ui->prompt.text, ui->use == USE_MORE, out);
    } else if (ui->use == USE_NOTE) {
        snprintf(ui->compose.run_note, sizeof ui->compose.run_note, "%.199s", ui->prompt.text);
        ui_say(ui, SAY_INFO,
               *ui->compose.run_note ? "the next runs get this note" : "the next runs get no note");
    } else if (ui->use == USE_NEXT_NAME) {
        out->kind = EFFECT_NAME;
        snprintf(out->text, sizeof out->text, "%s", ui->prompt.text);
    } else if (ui->use == USE_TAGS || ui->use == USE_RUN_NOTE || ui->use == USE_RUN_NAME) {
        runs_keep_typed(ui, ui->prompt.text, out);
    } else if (ui->use == USE_COLUMNS) {
        runs_columns_typed(ui, ui->prompt.text, out);
    } else if (ui->use == USE_TALK || ui->use == USE_TALK_EDIT) {
        talk_typed(ui, ui->prompt.text, ui->use == USE_TALK_EDIT, out);
    } else if (ui->use == USE_PURGE) {
        runs_purge_typed(ui, ui->prompt.text);
    } else if (ui->use == USE_NUMBER) {
        char why[200];
        if (!compose_edit(&ui->compose, ui->prompt.text, why)) ui_say(ui, SAY_ERROR, "%s", why);
        compose_tell_rows(ui, out);
    }
}

void ui_paste(struct ui *ui, const char *text, size_t n, struct effect *out) {
    memset(out, 0, sizeof *out);
    if (!ui->prompt.open) {
        ui_say(ui, SAY_INFO, "pasted text is not interpreted as keys; open a prompt with : or / first");
        return;
    }
    prompt_paste(&ui->prompt, text, n);
    prompt_changed(ui, out);
}

/* Requests that mean the same everywhere; false: the screen's. */
static bool everywhere(struct ui *ui, enum request r, struct effect *out) {
    for (int i = 0; i < SCREEN_COUNT; i++) {
        if (screens[i]->to != r) continue;
        if (screens[i]->show) screens[i]->show(ui, out);
        else ui_show(ui, (enum screen_id)i);
        ui_tip(ui); /* only here: what another key opened is described on its line */
        return true;
    }
    switch (r) {
    case REQ_COMMAND:
        ui_command_open(ui, "", "");
        return true;
    case REQ_QUIT:
        if (screens[ui->screen]->back) {
            *ui->help.search = 0;
            go_back(ui);
        } else {
            ui_quit(ui, out);
        }
        return true;
    case REQ_INTERRUPT: ui_quit(ui, out); return true;
    case REQ_MENU: ui_menu_open(ui); return true;
    case REQ_LINE:
        if (*ui->line) out->kind = EFFECT_COPY;
        else ui_say(ui, SAY_INFO, "no action so far has a command line");
        snprintf(out->text, sizeof out->text, "%s", ui->line);
        return true;
    case REQ_WHOLE: ui_show_whole(ui); return true;
    case REQ_MOUSE:
        ui->mouse = !ui->mouse;
        out->kind = EFFECT_MOUSE;
        ui_say(ui, SAY_INFO, ui->mouse ? "mouse on: petri uses it; & turns it off"
                                       : "mouse off: the terminal selects text; & turns it on");
        return true;
    case REQ_EXPORT:
        if (keys_handles(ui->screen, r)) return false;
        write_open(ui);
        return true;
    case REQ_COPY:
        if (keys_handles(ui->screen, r)) return false; /* with one text, copied at once */
        copy_open(ui);
        return true;
    case REQ_GLYPHS:
        if (!ui->ascii_only) ui->glyphs = (enum glyphs)((ui->glyphs + 1) % GLYPHS_COUNT);
        ui_say(ui, SAY_INFO, "glyphs: %s%s", glyphs_name(ui->glyphs),
               ui->ascii_only ? " (a UTF-8 terminal and locale can show more)" : "");
        return true;
    case REQ_REDRAW: out->kind = EFFECT_REDRAW; return true;
    case REQ_SUSPEND: out->kind = EFFECT_SUSPEND; return true;
    case REQ_CHOOSE:
        data_find(ui, out);
        return true;
    default: return false;
    }
}

void ui_press(struct ui *ui, const struct press *p, struct effect *out) {
    memset(out, 0, sizeof *out);
    ui->now = p->ms;
    if (ui->ask.kind) {
        ask_press(ui, p, out);
        return;
    }
    bool offered = ui->offers_undo;
    *ui->message = 0;
    ui->line_new = ui->offers_undo = false;
    if (ui->prompt.open) {
        prompt_feed(ui, p, out);
        return;
    }
    if (ui->picker.open) {
        picker_press(ui, p, out);
        return;
    }
    if (learn_press(ui, p, out)) return;
    enum request move = keys_request(SCREEN_RUNS, p);
    if (offered && (move == REQ_UNDO ||
                    move == REQ_REDO)) { /* also where the screen has something else to undo, or nothing */
        out->kind = move == REQ_UNDO ? EFFECT_UNDO : EFFECT_REDO;
        ui->offers_undo = true;
        return;
    }
    enum request r = keys_request(ui->screen, p);
    if (r != REQ_NONE && r == screens[ui->screen]->tip.used) ui->tipped |= UINT32_C(1) << ui->screen;
    if (r != REQ_NONE && everywhere(ui, r, out)) return;
    struct ui *before = xmalloc(sizeof *before);
    memcpy(before, ui, sizeof *before); /* with its padding, for the comparison */
    bool taken = r != REQ_NONE && screens[ui->screen]->request(ui, r, out);
    if (!taken && r == REQ_BACK) go_back(ui);
    bool same = !*ui->message && out->kind == EFFECT_NONE &&
                !memcmp(before, ui, sizeof *ui); /* NOLINT(bugprone-suspicious-memory-comparison) */
    free(before);
    if (same && !ui_moves(r)) ui_answer(ui, p, r);
}
