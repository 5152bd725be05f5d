#include "views/keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/screen.h"

static const struct key_entry keys[] = {
    /* what starts and opens: the same key, Enter, for what the cursor is on */
    { REQ_TRAIN, PRESS_ENTER, false, KEYS_COMPOSE, 1, "train",
      .help = "train this method now (on a number: edit it)" },
    { REQ_OPEN, PRESS_ENTER, false, KEYS_LISTS, 3, "open",
      .help = "open the run's page, the sweep, a cell's runs; in Map, one panel alone, in its legend show "
              "or hide the class" },
    { REQ_PAUSE, ' ', false, KEYS_JOBS, 1, "pause",
      .help = "pause what runs (the run, the layout), or let it go on" },
    { REQ_MARK, ' ', false, KEYS_LISTS, 1, "mark",
      .help = "mark the run under the cursor; in Compose this choice, for a sweep" },
    { REQ_MARK_ALL, '*', false, KEYS_LISTS,
      .help = "mark all runs shown, or none; on Train all runs of the list over one another" },
    { REQ_STOP, 'K', false, KEYS_JOBS, 2, "stop\u2026", .help = "stop the run or the sweep: asks first" },
    { REQ_EARLIER, '<', false, KEYS_JOBS,
      .help = "earlier: in the queue, among modules, of steps played, of heads, of a grid's axes" },
    { REQ_LATER, '>', false, KEYS_JOBS,
      .help = "later: in the queue, among modules, of steps played, of heads, of a grid's axes" },

    { REQ_TO_COMPOSE, '1', true, KEYS_EVERYWHERE, .help = "Compose: make a method" },
    { REQ_TO_TRAIN, '2', true, KEYS_EVERYWHERE, .help = "Train: watch the runs that go" },
    { REQ_TO_RUNS, '3', true, KEYS_EVERYWHERE, .help = "Runs: look back at all of them" },
    { REQ_TO_COMPARE, '4', true, KEYS_EVERYWHERE,
      .help = "Compare: the marked runs, or those that pass the filter, side by side" },
    { REQ_TO_SWEEP, '5', true, KEYS_EVERYWHERE,
      .help = "Sweep: runs over lists of values, and what each axis is worth" },
    { REQ_TO_HEATMAP, '6', true, KEYS_EVERYWHERE,
      .help = "Heatmap: similarities inside the model and the run under the cursor" },
    { REQ_TO_MAP, '7', true, KEYS_EVERYWHERE,
      .help = "Map: rows as points, the model beside the run under the cursor (or two marked runs)" },
    { REQ_TO_LEARN, '8', true, KEYS_EVERYWHERE,
      .help = "Learn: lessons that run the real engine; back to the one that is open" },
    { REQ_NEXT_PART, PRESS_TAB, false, KEYS_EVERYWHERE, 5, "part",
      .help = "next part: module, panel, legend, matrix; on Train loss, learning rate, gradient norm" },
    { REQ_PREV_PART, PRESS_BACKTAB, false, KEYS_EVERYWHERE, .help = "the part before" },
    { REQ_LEFT, 'h', false, KEYS_EVERYWHERE, 2, "cursor", .pair = 'l', .alias = { PRESS_LEFT },
      .help = "left: axis, step, column" },
    { REQ_RIGHT, 'l', false, KEYS_EVERYWHERE, .alias = { PRESS_RIGHT }, .help = "right: axis, step, column" },
    { REQ_DOWN, 'j', false, KEYS_EVERYWHERE, 3, "choice", .pair = 'k', .alias = { PRESS_DOWN },
      .help = "down: choice, number, run, line" },
    { REQ_UP, 'k', false, KEYS_EVERYWHERE, .alias = { PRESS_UP }, .help = "up: choice, number, run, line" },
    { REQ_FIRST, 'g', false, KEYS_EVERYWHERE, .alias = { PRESS_HOME }, .help = "to the first" },
    { REQ_LAST, 'G', false, KEYS_EVERYWHERE, .alias = { PRESS_END }, .help = "to the last" },
    { REQ_PAGE_DOWN, PRESS_CTRL('d'), false, KEYS_EVERYWHERE, .alias = { PRESS_PAGE_DOWN },
      .help = "a page down" },
    { REQ_PAGE_UP, PRESS_CTRL('u'), false, KEYS_EVERYWHERE, .alias = { PRESS_PAGE_UP }, .help = "a page up" },
    { REQ_SEARCH, '/', false, KEYS_EVERYWHERE, 8, "filter",
      .help = "filter by words; runs as the command line: task=x lr<1e-3 word" },
    { REQ_NEXT, 'n', false, KEYS_EVERYWHERE, 6, "notes",
      .help = "next note, text, metric or row: in Map one predicted wrong, in Heatmap whose attention" },
    { REQ_PREV, 'N', false, KEYS_EVERYWHERE, .help = "the note, text, metric or row before" },
    { REQ_COMMAND, ':', true, KEYS_EVERYWHERE, 9, "command", .help = "command line; Tab completes" },
    { REQ_MENU, ',', true, KEYS_EVERYWHERE,
      .help = "what can I do here? A list of what works now; Enter does it" },
    { REQ_LINE, 'Y', true, KEYS_EVERYWHERE,
      .help = "the last action as a command line: copied, and shown to be copied" },
    { REQ_MOUSE, '&', true, KEYS_EVERYWHERE,
      .help = "the mouse on, or off (then the terminal selects text with it)" },
    { REQ_BACK, PRESS_ESC, true, KEYS_EVERYWHERE, .help = "cancel, or back" },
    { REQ_QUIT, 'q', true, KEYS_EVERYWHERE, 9, "quit",
      .help = "back one level; at the top leave, asking only if runs go" },
    { REQ_INTERRUPT, PRESS_CTRL('c'), true, KEYS_EVERYWHERE, .help = "leave, asking only if runs go" },
    { REQ_UNDO, 'u', false, KEYS_EVERYWHERE, 8, "undo",
      .help = "undo: a change of the method, or the last trash or name" },
    { REQ_REDO, PRESS_CTRL('r'), false, KEYS_EVERYWHERE, .help = "redo what was undone" },
    { REQ_GLYPHS, 'B', true, KEYS_EVERYWHERE,
      .help = "other marks: braille, blocks, ASCII, if they look broken" },
    { REQ_REDRAW, PRESS_CTRL('l'), true, KEYS_EVERYWHERE, .help = "draw the screen anew" },
    { REQ_SUSPEND, PRESS_CTRL('z'), true, KEYS_EVERYWHERE,
      .help = "suspend petri (the shell's fg brings it back)" },

    { REQ_SORT, 's', false, KEYS_LISTS, 4, "sort",
      .help = "sort by the column under the cursor; a matrix: by name or by cluster" },
    { REQ_SORT_REVERSE, 'S', false, KEYS_LISTS, .help = "the other way round" },
    { REQ_FILTER_CELL, 'f', false, KEYS_LISTS, 5, "filter cell",
      .help = "only what shares this cell's value, or this point's class" },
    { REQ_FILTER_CLEAR, 'F', false, KEYS_LISTS, .help = "all runs, all classes again" },
    { REQ_CLONE, 'C', false, KEYS_RUNS, 6, "clone",
      .help = "clone the run's method and options into Compose; there, a module; of a sweep its line, to "
              "be edited" },
    { REQ_RUN, 'R', false, KEYS_RUNS, 6, "run again",
      .help = "run: resume where it stopped, else run again; in Compose, train; of a sweep what it lacks" },
    { REQ_TRASH, 'd', false, KEYS_RUNS, 7, "trash", .help = "to the trash, or back from it; u undoes" },
    { REQ_TRASH_VIEW, 'V', false, KEYS_RUNS, .help = "view the trash, or leave it" },
    { REQ_EXPORT, 'e', true, KEYS_EVERYWHERE,
      .help = "write to a file: the screen, its table, a run's points" },
    { REQ_GROUP, 'J', false, KEYS_LISTS,
      .help = "join runs that share this column's value: n, seeds, mean and deviation; again: each by "
              "itself" },
    { REQ_BEST, 'X', false, KEYS_RUNS, .help = "to the best finished run of this task, metric and rows" },
    { REQ_RESEED, 'Z', false, KEYS_RUNS, .help = "run again with another seed: the next that is not used" },
    { REQ_WATCH, 'W', false, KEYS_RUNS,
      .help = "watch: its curves on Train, whoever trains it, or trained it" },
    { REQ_PIN, 'p', false, KEYS_RUNS,
      .help = "pin the run, or the marked ones, so that they are listed first; again: no longer" },
    { REQ_TAGS, 't', false, KEYS_RUNS,
      .help = "tags of the run, with commas between them; of several marked: tags to add" },
    { REQ_COLUMNS, 'c', false, KEYS_LISTS,
      .help = "columns, in their order, on a line; none: by what there is a reason and room for" },
    { REQ_NAME, 'r', false, KEYS_RUNS,
      .help = "rename the run: a name stands for it on the command line; none takes it away (u undoes); in "
              "Compose the next run's" },
    { REQ_NOTE, 'i', false, KEYS_RUNS,
      .help = "the run's note; in Compose one that the runs to come are kept with" },
    { REQ_COPY, 'y', false, KEYS_RUNS, .help = "copy the method or command line; it is also shown" },

    { REQ_FAST_LEFT, 'H', false, KEYS_CHARTS, .help = "the cursor ten columns left" },
    { REQ_FAST_RIGHT, 'L', false, KEYS_CHARTS, .help = "the cursor ten columns right" },
    { REQ_MORE, '+', false, KEYS_CHARTS, 5, "module", .alias = { '=' },
      .help = "more: zoom in; in Compose, add a module; in Sweep, extend by seeds or values; in Learn, "
              "large" },
    { REQ_LESS, '-', false, KEYS_CHARTS, .help = "less: zoom out; in Compose, remove the module (u undoes)" },
    { REQ_PAN_LEFT, '[', false, KEYS_CHARTS, 4, "layer", .pair = ']',
      .help = "back: half a window of the chart, a layer of the map, a matrix" },
    { REQ_PAN_RIGHT, ']', false, KEYS_CHARTS,
      .help = "on: half a window of the chart, a layer of the map, a matrix" },
    { REQ_FIT, '0', false, KEYS_CHARTS, .help = "fit: all in the window" },
    { REQ_LOG, 'v', false, KEYS_CHARTS, 5, "log", .help = "y axis linear or logarithmic" },
    { REQ_SMOOTH_MORE, 'm', false, KEYS_CHARTS, 4, "smooth", .pair = 'M', .help = "smooth the curve more" },
    { REQ_SMOOTH_LESS, 'M', false, KEYS_CHARTS, .help = "smooth it less" },
    { REQ_RAW, 'w', false, KEYS_CHARTS, .help = "raw points behind the curve, or not" },
    { REQ_TEXTS, 't', false, KEYS_CHARTS, 3, "texts",
      .help = "texts given for dev rows, beside those wanted, or the metric's chart" },
    { REQ_TASKS, 'b', false, KEYS_RUNS, 3, "by task",
      .help = "of several tasks: in Train and Compare each and all; in Runs a column each; inside the next "
              "one" },
    { REQ_TERMS, 'o', false, KEYS_CHARTS, 4, "parts",
      .help = "the loss as a whole, each of its parts, all at once; in Compare losses or the metric; in "
              "Runs the marked ones overlaid on Train" },
    { REQ_FOLLOW, 'a', false, KEYS_CHARTS, 7, "follow", .help = "follow the last step" },

    { REQ_LOG_X, '_', false, KEYS_CHARTS, .help = "x axis linear or logarithmic" },

    { REQ_STEP, '.', false, KEYS_MAP, .help = "one step of the layout" },
    { REQ_REWIND, 'z', false, KEYS_MAP, 7, "rewind",
      .help = "the layout from its start, same seed: the same again" },
    { REQ_COLOUR, 'c', false, KEYS_MAP, 3, "colour",
      .help = "colour by label, by prediction, by right and wrong, by task" },
    { REQ_TRAINING, 'p', false, KEYS_MAP, 5, "training",
      .help = "play what the run kept while it trained (--embed-every); < and > one step" },
    { REQ_BESIDE, 'x', false, KEYS_MAP, 4, "beside",
      .help = "exchange: on Train the x axis (steps, tokens, seconds, epochs); a retriever's vectors; in "
              "Compare rows; in Sweep the front" },
    { REQ_UNSEEN, 'U', false, KEYS_MAP, 6, "unseen",
      .help = "rows of tasks that the run was not trained on beside its own: their names" },
    { REQ_LAYER_LESS, '{', false, KEYS_MAP, 4, "layer", .pair = '}', .help = "attention one layer down" },
    { REQ_LAYER_MORE, '}', false, KEYS_MAP, .help = "attention one layer up" },
    { REQ_PERPLEXITY_LESS, '(', false, KEYS_MAP, 7, "perplexity", .pair = ')',
      .help = "smaller perplexity: nearer neighbours count" },
    { REQ_PERPLEXITY_MORE, ')', false, KEYS_MAP, .help = "greater perplexity" },

    { REQ_COMPOSE, 'c', false, KEYS_COMPOSE, 2, "compose", .help = "compose a method of your own" },
    { REQ_CHOOSE, 'T', false, KEYS_COMPOSE, 8, "data, model",
      .help = "choose rows of your own (a file, a folder, a list of tasks), a task by name, or another "
              "model" },
    { REQ_PRESETS, 'P', false, KEYS_COMPOSE, 4, "presets",
      .help = "published methods, to start from; in Runs saved filters" },
    { REQ_DESCRIBE, 'D', false, KEYS_COMPOSE, 6, "describe",
      .help = "describe the choice under the cursor, and measure what the method does at step 0" },
    { REQ_SWEEP, 'A', false, KEYS_COMPOSE, 7, "sweep",
      .help = "a sweep over what is marked, or of what is there: its line is edited first" },
    { REQ_SWITCH, 'O', false, KEYS_COMPOSE, 9, "off",
      .help = "off, or on again: a module; a group of options is folded" },
    { REQ_EXPLAIN, 'E', false, KEYS_COMPOSE, .help = "explain the method on a page, or leave it" },

    { REQ_HELP, '?', true, KEYS_EVERYWHERE, 10, "help", .alias = { PRESS_F1 }, .help = "this help" },
};

int keys_count(void) { return (int)COUNT_OF(keys); }

const struct key_entry *keys_at(int i) {
    BUG_IF(i < 0 || i >= keys_count());
    return &keys[i];
}

bool keys_works(enum screen_id screen, const struct key_entry *k) {
    if (k->everywhere) return true;
    const enum request *takes = screen_at(screen)->keys;
    while (*takes && *takes != k->request) takes++;
    return *takes != REQ_NONE;
}

enum request keys_request(enum screen_id screen, const struct press *p) {
    if (p->alt || !p->code) return REQ_NONE;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct key_entry *k = &keys[i];
        if (!keys_works(screen, k)) continue;
        if (p->code == k->key || p->code == k->alias[0] || p->code == k->alias[1])
            return k->request;
    }
    return REQ_NONE;
}

const char *key_group_name(enum key_group g) {
    static const char *const names[] = { "everywhere", "lists", "runs", "charts", "jobs", "map",
                                        "compose" };
    return names[g];
}

void press_name(uint32_t key, char out[16]) {
    static const struct {
        uint32_t key;
        const char *name;
    } names[] = {
        { PRESS_ENTER, "Enter" }, { PRESS_ESC, "Esc" },     { PRESS_TAB, "Tab" },
        { PRESS_BACKTAB, "S-Tab" }, { ' ', "Space" },       { PRESS_UP, "Up" },
        { PRESS_DOWN, "Down" },   { PRESS_LEFT, "Left" },   { PRESS_RIGHT, "Right" },
        { PRESS_HOME, "Home" },   { PRESS_END, "End" },     { PRESS_PAGE_UP, "PgUp" },
        { PRESS_PAGE_DOWN, "PgDn" }, { PRESS_F1, "F1" },    { PRESS_DELETE, "Delete" },
        { PRESS_INSERT, "Insert" }, { PRESS_BACKSPACE, "Backspace" },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (names[i].key == key) {
            snprintf(out, 16, "%s", names[i].name);
            return;
        }
    }
    if (key < 27) {
        snprintf(out, 16, "^%c", (int)key + 'a' - 1);
    } else {
        char bytes[4];
        size_t n = utf8_encode(key, bytes);
        memcpy(out, bytes, n);
        out[n] = 0;
    }
}
