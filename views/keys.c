#include "views/keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/screen.h"

static const struct key_entry views_keys_table[] = {
    /* what starts and opens: the same key, Enter, for what the cursor is on */
    { REQ_TRAIN, PRESS_ENTER, { 0 }, false, KEYS_COMPOSE, 0, 1, "train",
     "train this method now (on a number: edit it)" },
    { REQ_OPEN, PRESS_ENTER, { 0 }, false, KEYS_LISTS, 0, 3, "open",
     "open the run's page, the sweep, a cell's runs; in Map, one panel alone, in its legend show or hide the class" },
    { REQ_PAUSE, ' ', { 0 }, false, KEYS_JOBS, 0, 1, "pause",
     "pause what runs (the run, the layout), or let it go on" },
    { REQ_MARK, ' ', { 0 }, false, KEYS_LISTS, 0, 1, "mark", "mark the run under the cursor; in Compose this choice, for a sweep" },
    { REQ_MARK_ALL, '*', { 0 }, false, KEYS_LISTS, 0, 0, NULL,
     "mark all runs shown, or none; on Train all runs of the list over one another" },
    { REQ_STOP, 'K', { 0 }, false, KEYS_JOBS, 0, 2, "stop\u2026",
     "stop the run or the sweep: asks first" },
    { REQ_EARLIER, '<', { 0 }, false, KEYS_JOBS, 0, 0, NULL,
     "earlier: in the queue, among modules, of steps played, of heads, of a grid's axes" },
    { REQ_LATER, '>', { 0 }, false, KEYS_JOBS, 0, 0, NULL, "later: in the queue, among modules, of steps played, of heads, of a grid's axes" },

    { REQ_TO_COMPOSE, '1', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "Compose: make a method" },
    { REQ_TO_TRAIN, '2', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "Train: watch the runs that go" },
    { REQ_TO_RUNS, '3', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "Runs: look back at all of them" },
    { REQ_TO_COMPARE, '4', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "Compare: the marked runs, or those that pass the filter, side by side" },
    { REQ_TO_SWEEP, '5', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "Sweep: runs over lists of values, and what each axis is worth" },
    { REQ_TO_HEATMAP, '6', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "Heatmap: similarities inside the model and the run under the cursor" },
    { REQ_TO_MAP, '7', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "Map: rows as points, the model beside the run under the cursor (or two marked runs)" },
    { REQ_TO_LEARN, '8', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "Learn: lessons that run the real engine; back to the one that is open" },
    { REQ_NEXT_PART, PRESS_TAB, { 0 }, false, KEYS_EVERYWHERE, 0, 5, "part",
     "next part: module, panel, legend, matrix; on Train loss, learning rate, gradient norm" },
    { REQ_PREV_PART, PRESS_BACKTAB, { 0 }, false, KEYS_EVERYWHERE, 0, 0, NULL, "the part before" },
    { REQ_LEFT, 'h', { PRESS_LEFT }, false, KEYS_EVERYWHERE, 'l', 2, "cursor",
     "left: axis, step, column" },
    { REQ_RIGHT, 'l', { PRESS_RIGHT }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "right: axis, step, column" },
    { REQ_DOWN, 'j', { PRESS_DOWN }, false, KEYS_EVERYWHERE, 'k', 3, "choice",
     "down: choice, number, run, line" },
    { REQ_UP, 'k', { PRESS_UP }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "up: choice, number, run, line" },
    { REQ_FIRST, 'g', { PRESS_HOME }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "to the first" },
    { REQ_LAST, 'G', { PRESS_END }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "to the last" },
    { REQ_PAGE_DOWN, PRESS_CTRL('d'), { PRESS_PAGE_DOWN }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "a page down" },
    { REQ_PAGE_UP, PRESS_CTRL('u'), { PRESS_PAGE_UP }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "a page up" },
    { REQ_SEARCH, '/', { 0 }, false, KEYS_EVERYWHERE, 0, 8, "filter",
     "filter by words; runs as the command line: task=x lr<1e-3 word" },
    { REQ_NEXT, 'n', { 0 }, false, KEYS_EVERYWHERE, 0, 6, "notes",
     "next note, text, metric or row: in Map one predicted wrong, in Heatmap whose attention" },
    { REQ_PREV, 'N', { 0 }, false, KEYS_EVERYWHERE, 0, 0, NULL,
     "the note, text, metric or row before" },
    { REQ_COMMAND, ':', { 0 }, true, KEYS_EVERYWHERE, 0, 9, "command", "command line; Tab completes" },
    { REQ_MENU, ',', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "what can I do here? A list of what works now; Enter does it" },
    { REQ_LINE, 'Y', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "the last action as a command line: copied, and shown to be copied" },
    { REQ_MOUSE, '&', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "the mouse on, or off (then the terminal selects text with it)" },
    { REQ_BACK, PRESS_ESC, { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "cancel, or back" },
    { REQ_QUIT, 'q', { 0 }, true, KEYS_EVERYWHERE, 0, 9, "quit",
     "back one level; at the top leave, asking only if runs go" },
    { REQ_INTERRUPT, PRESS_CTRL('c'), { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "leave, asking only if runs go" },
    { REQ_UNDO, 'u', { 0 }, false, KEYS_EVERYWHERE, 0, 8, "undo", "undo: a change of the method, or the last trash or name" },
    { REQ_REDO, PRESS_CTRL('r'), { 0 }, false, KEYS_EVERYWHERE, 0, 0, NULL, "redo what was undone" },
    { REQ_GLYPHS, 'B', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "other marks: braille, blocks, ASCII, if they look broken" },
    { REQ_REDRAW, PRESS_CTRL('l'), { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL, "draw the screen anew" },
    { REQ_SUSPEND, PRESS_CTRL('z'), { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "suspend petri (the shell's fg brings it back)" },

    { REQ_SORT, 's', { 0 }, false, KEYS_LISTS, 0, 4, "sort",
     "sort by the column under the cursor; a matrix: by name or by cluster" },
    { REQ_SORT_REVERSE, 'S', { 0 }, false, KEYS_LISTS, 0, 0, NULL, "the other way round" },
    { REQ_FILTER_CELL, 'f', { 0 }, false, KEYS_LISTS, 0, 5, "filter cell",
     "only what shares this cell's value, or this point's class" },
    { REQ_FILTER_CLEAR, 'F', { 0 }, false, KEYS_LISTS, 0, 0, NULL, "all runs, all classes again" },
    { REQ_CLONE, 'C', { 0 }, false, KEYS_RUNS, 0, 6, "clone",
     "clone the run's method and options into Compose; there, a module; of a sweep its line, to be edited" },
    { REQ_RUN, 'R', { 0 }, false, KEYS_RUNS, 0, 6, "run again",
     "run: resume where it stopped, else run again; in Compose, train; of a sweep what it lacks" },
    { REQ_TRASH, 'd', { 0 }, false, KEYS_RUNS, 0, 7, "trash",
     "to the trash, or back from it; u undoes" },
    { REQ_TRASH_VIEW, 'V', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "view the trash, or leave it" },
    { REQ_EXPORT, 'e', { 0 }, true, KEYS_EVERYWHERE, 0, 0, NULL,
     "write to a file: the screen, its table, a run's points" },
    { REQ_GROUP, 'J', { 0 }, false, KEYS_LISTS, 0, 0, NULL,
     "join runs that share this column's value: n, seeds, mean and deviation; again: each by itself" },
    { REQ_BEST, 'X', { 0 }, false, KEYS_RUNS, 0, 0, NULL,
     "to the best finished run of this task, metric and rows" },
    { REQ_RESEED, 'Z', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "run again with another seed: the next that is not used" },
    { REQ_WATCH, 'W', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "watch: its curves on Train, whoever trains it, or trained it" },
    { REQ_PIN, 'p', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "pin the run, or the marked ones, so that they are listed first; again: no longer" },
    { REQ_TAGS, 't', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "tags of the run, with commas between them; of several marked: tags to add" },
    { REQ_COLUMNS, 'c', { 0 }, false, KEYS_LISTS, 0, 0, NULL,
     "columns, in their order, on a line; none: by what there is a reason and room for" },
    { REQ_NAME, 'r', { 0 }, false, KEYS_RUNS, 0, 0, NULL,
     "rename the run: a name stands for it on the command line; none takes it away (u undoes); in Compose the next run's" },
    { REQ_NOTE, 'i', { 0 }, false, KEYS_RUNS, 0, 0, NULL, "the run's note; in Compose one that the runs to come are kept with" },
    { REQ_COPY, 'y', { 0 }, false, KEYS_RUNS, 0, 0, NULL,
     "copy the method or command line; it is also shown" },

    { REQ_FAST_LEFT, 'H', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "the cursor ten columns left" },
    { REQ_FAST_RIGHT, 'L', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "the cursor ten columns right" },
    { REQ_MORE, '+', { '=' }, false, KEYS_CHARTS, 0, 5, "module",
     "more: zoom in; in Compose, add a module; in Sweep, extend by seeds or values; in Learn, large" },
    { REQ_LESS, '-', { 0 }, false, KEYS_CHARTS, 0, 0, NULL,
     "less: zoom out; in Compose, remove the module (u undoes)" },
    { REQ_PAN_LEFT, '[', { 0 }, false, KEYS_CHARTS, ']', 4, "layer",
     "back: half a window of the chart, a layer of the map, a matrix" },
    { REQ_PAN_RIGHT, ']', { 0 }, false, KEYS_CHARTS, 0, 0, NULL,
     "on: half a window of the chart, a layer of the map, a matrix" },
    { REQ_FIT, '0', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "fit: all in the window" },
    { REQ_LOG, 'v', { 0 }, false, KEYS_CHARTS, 0, 5, "log", "y axis linear or logarithmic" },
    { REQ_SMOOTH_MORE, 'm', { 0 }, false, KEYS_CHARTS, 'M', 4, "smooth", "smooth the curve more" },
    { REQ_SMOOTH_LESS, 'M', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "smooth it less" },
    { REQ_RAW, 'w', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "raw points behind the curve, or not" },
    { REQ_TEXTS, 't', { 0 }, false, KEYS_CHARTS, 0, 3, "texts",
     "texts given for dev rows, beside those wanted, or the metric's chart" },
    { REQ_TASKS, 'b', { 0 }, false, KEYS_RUNS, 0, 3, "by task",
     "of several tasks: in Train and Compare each and all; in Runs a column each; inside the next one" },
    { REQ_TERMS, 'o', { 0 }, false, KEYS_CHARTS, 0, 4, "parts",
     "the loss as a whole, each of its parts, all at once; in Compare losses or the metric; in Runs the marked ones overlaid on Train" },
    { REQ_FOLLOW, 'a', { 0 }, false, KEYS_CHARTS, 0, 7, "follow", "follow the last step" },

    { REQ_LOG_X, '_', { 0 }, false, KEYS_CHARTS, 0, 0, NULL, "x axis linear or logarithmic" },

    { REQ_STEP, '.', { 0 }, false, KEYS_MAP, 0, 0, NULL, "one step of the layout" },
    { REQ_REWIND, 'z', { 0 }, false, KEYS_MAP, 0, 7, "rewind", "the layout from its start, same seed: the same again" },
    { REQ_COLOUR, 'c', { 0 }, false, KEYS_MAP, 0, 3, "colour",
     "colour by label, by prediction, by right and wrong, by task" },
    { REQ_TRAINING, 'p', { 0 }, false, KEYS_MAP, 0, 5, "training",
     "play what the run kept while it trained (--embed-every); < and > one step" },
    { REQ_BESIDE, 'x', { 0 }, false, KEYS_MAP, 0, 4, "beside",
     "exchange: on Train the x axis (steps, tokens, seconds, epochs); a retriever's vectors; in Compare rows; in Sweep the front" },
    { REQ_UNSEEN, 'U', { 0 }, false, KEYS_MAP, 0, 6, "unseen",
     "rows of tasks that the run was not trained on beside its own: their names" },
    { REQ_LAYER_LESS, '{', { 0 }, false, KEYS_MAP, '}', 4, "layer", "attention one layer down" },
    { REQ_LAYER_MORE, '}', { 0 }, false, KEYS_MAP, 0, 0, NULL, "attention one layer up" },
    { REQ_PERPLEXITY_LESS, '(', { 0 }, false, KEYS_MAP, ')', 7, "perplexity", "smaller perplexity: nearer neighbours count" },
    { REQ_PERPLEXITY_MORE, ')', { 0 }, false, KEYS_MAP, 0, 0, NULL, "greater perplexity" },

    { REQ_COMPOSE, 'c', { 0 }, false, KEYS_COMPOSE, 0, 2, "compose", "compose a method of your own" },
    { REQ_CHOOSE, 'T', { 0 }, false, KEYS_COMPOSE, 0, 8, "data, model",
     "choose rows of your own (a file, a folder, a list of tasks), a task by name, or another model" },
    { REQ_PRESETS, 'P', { 0 }, false, KEYS_COMPOSE, 0, 4, "presets",
     "published methods, to start from; in Runs saved filters" },
    { REQ_DESCRIBE, 'D', { 0 }, false, KEYS_COMPOSE, 0, 6, "describe",
     "describe the choice under the cursor, and measure what the method does at step 0" },
    { REQ_SWEEP, 'A', { 0 }, false, KEYS_COMPOSE, 0, 7, "sweep",
     "a sweep over what is marked, or of what is there: its line is edited first" },
    { REQ_SWITCH, 'O', { 0 }, false, KEYS_COMPOSE, 0, 9, "off",
     "off, or on again: a module; a group of options is folded" },
    { REQ_EXPLAIN, 'E', { 0 }, false, KEYS_COMPOSE, 0, 0, NULL,
     "explain the method on a page, or leave it" },

    { REQ_HELP, '?', { PRESS_F1 }, true, KEYS_EVERYWHERE, 0, 10, "help", "this help" },
};

int keys_count(void) { return (int)COUNT_OF(views_keys_table); }

const struct key_entry *keys_at(int i) {
    BUG_IF(i < 0 || i >= keys_count());
    return &views_keys_table[i];
}

bool keys_works(enum screen_id screen, const struct key_entry *k) {
    if (k->everywhere) return true;
    const enum request *takes = screen_at(screen)->keys;
    while (*takes && *takes != k->request) takes++;
    return *takes != REQ_NONE;
}

enum request keys_request(enum screen_id screen, const struct press *p) {
    if (p->alt || !p->code) return REQ_NONE;
    for (size_t i = 0; i < COUNT_OF(views_keys_table); i++) {
        const struct key_entry *k = &views_keys_table[i];
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
