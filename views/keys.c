#include "views/keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/screen.h"

static const struct key_entry keys[] = {
    /* starting and opening: Enter acts on the item under the cursor */
    { REQ_TRAIN, PRESS_ENTER, false, KEYS_COMPOSE, 1, "train",
      .help = "train this method (on a number: edit it)" },
    { REQ_OPEN, PRESS_ENTER, false, KEYS_LISTS, 3, "open",
      .help = "open the run, the sweep, the runs of a cell; in Map, maximize the panel or show and hide a "
              "class" },
    { REQ_PAUSE, ' ', false, KEYS_JOBS, 1, "pause", .help = "pause or continue the run or the layout" },
    { REQ_MARK, ' ', false, KEYS_LISTS, 1, "mark",
      .help = "mark the run under the cursor; in Compose, a choice for a sweep" },
    { REQ_MARK_ALL, '*', false, KEYS_LISTS,
      .help = "mark all listed runs, or none; on Train, overlay all; in Compose, edit all modules of the "
              "function, or one" },
    { REQ_STOP, 'K', false, KEYS_JOBS, 2, "stop\u2026", .help = "stop the run or the sweep (asks first)" },
    { REQ_EARLIER, '<', false, KEYS_JOBS,
      .help = "previous: queue position, module, played step, head, grid axis" },
    { REQ_LATER, '>', false, KEYS_JOBS,
      .help = "next: queue position, module, played step, head, grid axis" },

    { REQ_TO_COMPOSE, '1', true, KEYS_EVERYWHERE, .help = "Compose: build a method" },
    { REQ_TO_TRAIN, '2', true, KEYS_EVERYWHERE, .help = "Train: watch running runs" },
    { REQ_TO_RUNS, '3', true, KEYS_EVERYWHERE, .help = "Runs: list all recorded runs" },
    { REQ_TO_COMPARE, '4', true, KEYS_EVERYWHERE,
      .help = "Compare: the marked or filtered runs side by side" },
    { REQ_TO_SWEEP, '5', true, KEYS_EVERYWHERE,
      .help = "Sweep: runs over lists of values, and the main effect of each axis" },
    { REQ_TO_HEATMAP, '6', true, KEYS_EVERYWHERE,
      .help = "Heatmap: similarities in the model and the run under the cursor" },
    { REQ_TO_MAP, '7', true, KEYS_EVERYWHERE,
      .help = "Map: examples as points: model and run, or two marked runs" },
    { REQ_TO_LEARN, '8', true, KEYS_EVERYWHERE,
      .help = "Learn: lessons on the real engine; returns to the open lesson" },
    { REQ_NEXT_PART, PRESS_TAB, false, KEYS_EVERYWHERE, 5, "part",
      .help = "next part: module, panel, legend, matrix; on Train, the next chart" },
    { REQ_PREV_PART, PRESS_BACKTAB, false, KEYS_EVERYWHERE, .help = "previous part" },
    { REQ_LEFT, 'h', false, KEYS_EVERYWHERE, 2, "cursor", .pair = 'l', .alias = { PRESS_LEFT },
      .help = "left: axis, step, column" },
    { REQ_RIGHT, 'l', false, KEYS_EVERYWHERE, .alias = { PRESS_RIGHT }, .help = "right: axis, step, column" },
    { REQ_DOWN, 'j', false, KEYS_EVERYWHERE, 3, "choice", .pair = 'k', .alias = { PRESS_DOWN },
      .help = "down: choice, number, run, line" },
    { REQ_UP, 'k', false, KEYS_EVERYWHERE, .alias = { PRESS_UP }, .help = "up: choice, number, run, line" },
    { REQ_FIRST, 'g', false, KEYS_EVERYWHERE, .alias = { PRESS_HOME }, .help = "first item" },
    { REQ_LAST, 'G', false, KEYS_EVERYWHERE, .alias = { PRESS_END }, .help = "last item" },
    { REQ_PAGE_DOWN, PRESS_CTRL('d'), false, KEYS_EVERYWHERE, .alias = { PRESS_PAGE_DOWN },
      .help = "page down" },
    { REQ_PAGE_UP, PRESS_CTRL('u'), false, KEYS_EVERYWHERE, .alias = { PRESS_PAGE_UP }, .help = "page up" },
    { REQ_SEARCH, '/', false, KEYS_EVERYWHERE, 8, "filter",
      .help = "filter by words; runs as in petri runs: task=x lr<1e-3 word; in Compose, find an axis or option" },
    { REQ_NEXT, 'n', false, KEYS_EVERYWHERE, 6, "notes",
      .help = "next note, text, metric or (in Map, misclassified) example" },
    { REQ_PREV, 'N', false, KEYS_EVERYWHERE, .help = "previous note, text, metric or example" },
    { REQ_COMMAND, ':', true, KEYS_EVERYWHERE, 9, "command", .help = "command line; Tab completes" },
    { REQ_MENU, ',', true, KEYS_EVERYWHERE, .help = "list the actions available here; Enter runs one" },
    { REQ_LINE, 'Y', true, KEYS_EVERYWHERE, .help = "copy the last action as a command line and show it" },
    { REQ_MOUSE, '&', true, KEYS_EVERYWHERE,
      .help = "turn the mouse on or off (when off, the terminal selects text)" },
    { REQ_BACK, PRESS_ESC, true, KEYS_EVERYWHERE, .help = "cancel, or go back" },
    { REQ_QUIT, 'q', true, KEYS_EVERYWHERE, 9, "quit",
      .help = "back one level, then quit (asks only if runs are training)" },
    { REQ_INTERRUPT, PRESS_CTRL('c'), true, KEYS_EVERYWHERE,
      .help = "quit (asks only if runs are training)" },
    { REQ_UNDO, 'u', false, KEYS_EVERYWHERE, 8, "undo",
      .help = "undo a change of the method, or the last trash or rename" },
    { REQ_REDO, PRESS_CTRL('r'), false, KEYS_EVERYWHERE, .help = "redo what was undone" },
    { REQ_GLYPHS, 'B', true, KEYS_EVERYWHERE,
      .help = "change the glyphs: braille, blocks, ASCII (if they look broken)" },
    { REQ_REDRAW, PRESS_CTRL('l'), true, KEYS_EVERYWHERE, .help = "redraw the screen" },
    { REQ_SUSPEND, PRESS_CTRL('z'), true, KEYS_EVERYWHERE,
      .help = "suspend petri (fg in the shell resumes it)" },

    { REQ_SORT, 's', false, KEYS_LISTS, 4, "sort",
      .help = "sort by the column under the cursor; a matrix by name or cluster" },
    { REQ_SORT_REVERSE, 'S', false, KEYS_LISTS, .help = "reverse the order" },
    { REQ_FILTER_CELL, 'f', false, KEYS_LISTS, 5, "filter cell",
      .help = "show only runs with this value, or points of this class" },
    { REQ_FILTER_CLEAR, 'F', false, KEYS_LISTS, .help = "clear the filter: show all runs, all classes" },
    { REQ_CLONE, 'C', false, KEYS_RUNS, 6, "clone",
      .help = "clone the run into Compose; there, copy a module; in Sweep, edit the command line" },
    { REQ_RUN, 'R', false, KEYS_RUNS, 6, "run again",
      .help = "resume an interrupted run, else run again; in Compose, train; in Sweep, train missing runs" },
    { REQ_TRASH, 'd', false, KEYS_RUNS, 7, "trash", .help = "move to the trash, or restore; u undoes" },
    { REQ_TRASH_VIEW, 'V', false, KEYS_RUNS, .help = "view the trash, or leave it" },
    { REQ_EXPORT, 'e', true, KEYS_EVERYWHERE,
      .help = "write to a file: the screen, its table, the points of a run" },
    { REQ_GROUP, 'J', false, KEYS_LISTS,
      .help = "group runs by this column, with mean and sd; again: ungroup" },
    { REQ_BEST, 'X', false, KEYS_RUNS,
      .help = "go to the best finished run of this task, metric and dev set" },
    { REQ_RESEED, 'Z', false, KEYS_RUNS, .help = "run again with the next unused seed" },
    { REQ_WATCH, 'W', false, KEYS_RUNS, .help = "watch: show the run's curves on Train, from any process" },
    { REQ_PIN, 'p', false, KEYS_RUNS, .help = "pin the run or the marked runs to the top; again: unpin" },
    { REQ_TAGS, 't', false, KEYS_RUNS, .help = "edit the tags of the run, or add tags to the marked runs" },
    { REQ_COLUMNS, 'c', false, KEYS_LISTS,
      .help = "choose the columns and their order; an empty line: automatic" },
    { REQ_NAME, 'r', false, KEYS_RUNS,
      .help = "name the run; an empty name removes it; in Compose, the next run" },
    { REQ_NOTE, 'i', false, KEYS_RUNS,
      .help = "edit the run's note; in Compose, the note of the next runs" },
    { REQ_COPY, 'y', false, KEYS_RUNS,
      .help = "copy the method or command line; of a run also its command, row, value or folder" },
    { REQ_SHELL, '!', false, KEYS_RUNS, .help = "open a shell in the folder of the run; exit returns" },

    { REQ_FAST_LEFT, 'H', false, KEYS_CHARTS, .help = "move the cursor ten columns left" },
    { REQ_FAST_RIGHT, 'L', false, KEYS_CHARTS, .help = "move the cursor ten columns right" },
    { REQ_MORE, '+', false, KEYS_CHARTS, 5, "module", .alias = { '=' },
      .help = "zoom in; in Compose, add a module; in Sweep, extend by seeds or values; in Learn, enlarge" },
    { REQ_LESS, '-', false, KEYS_CHARTS, .help = "zoom out; in Compose, remove the module (u undoes)" },
    { REQ_PAN_LEFT, '[', false, KEYS_CHARTS, 4, "layer", .pair = ']',
      .help = "back: half a window of a chart, a layer in Map, a matrix" },
    { REQ_PAN_RIGHT, ']', false, KEYS_CHARTS,
      .help = "forward: half a window of a chart, a layer in Map, a matrix" },
    { REQ_FIT, '0', false, KEYS_CHARTS, .help = "fit everything in the window" },
    { REQ_LOG, 'v', false, KEYS_CHARTS, 5, "log",
      .help = "toggle the scale of the y axis: linear, logarithmic" },
    { REQ_SMOOTH_MORE, 'm', false, KEYS_CHARTS, 4, "smooth", .pair = 'M', .help = "smooth the curve more" },
    { REQ_SMOOTH_LESS, 'M', false, KEYS_CHARTS, .help = "smooth the curve less" },
    { REQ_RAW, 'w', false, KEYS_CHARTS, .help = "show or hide the raw points behind the curve; in Compare, each run or the means of groups" },
    { REQ_TEXTS, 't', false, KEYS_CHARTS, 3, "texts",
      .help = "show generated texts with references, or the chart of the metric" },
    { REQ_TASKS, 'b', false, KEYS_RUNS, 3, "by task",
      .help = "multi-task runs: the next task, all tasks; in Runs, a column each; in Compare, the next tab" },
    { REQ_TERMS, 'o', false, KEYS_CHARTS, 4, "components",
      .help = "total loss or its components; in Compare, losses or metric; in Runs, overlay marked runs" },
    { REQ_FOLLOW, 'a', false, KEYS_CHARTS, 7, "follow", .help = "follow the last step" },

    { REQ_LOG_X, '_', false, KEYS_CHARTS, .help = "toggle the scale of the x axis: linear, logarithmic" },

    { REQ_STEP, '.', false, KEYS_MAP, .help = "advance the layout by one step" },
    { REQ_REWIND, 'z', false, KEYS_MAP, 7, "rewind",
      .help = "restart the layout from its first step, with the same seed" },
    { REQ_COLOUR, 'c', false, KEYS_MAP, 3, "color",
      .help = "color by label, by prediction, by correctness, by task" },
    { REQ_TRAINING, 'p', false, KEYS_MAP, 5, "training",
      .help = "play the embeddings of training (--embed-every); < and > step" },
    { REQ_BESIDE, 'x', false, KEYS_MAP, 4, "exchange",
      .help = "switch the x axis (Train), retriever vectors (Map), examples (Compare) or cost (Sweep)" },
    { REQ_UNSEEN, 'U', false, KEYS_MAP, 6, "unseen",
      .help = "add examples of tasks that the run was not trained on, by name" },
    { REQ_LAYER_LESS, '{', false, KEYS_MAP, 4, "layer", .pair = '}', .help = "attention: previous layer" },
    { REQ_LAYER_MORE, '}', false, KEYS_MAP, .help = "attention: next layer" },
    { REQ_PERPLEXITY_LESS, '(', false, KEYS_MAP, 7, "perplexity", .pair = ')',
      .help = "lower perplexity: fewer neighbors count" },
    { REQ_PERPLEXITY_MORE, ')', false, KEYS_MAP, .help = "higher perplexity: more neighbors count" },

    { REQ_COMPOSE, 'c', false, KEYS_COMPOSE, 2, "compose", .help = "compose a method" },
    { REQ_CHOOSE, 'T', false, KEYS_COMPOSE, 8, "data, model",
      .help = "choose your own data (a file, a folder, a task list), a task or a model" },
    { REQ_PRESETS, 'P', false, KEYS_COMPOSE, 4, "presets",
      .help = "choose a published method to start from; in Runs, saved filters" },
    { REQ_DESCRIBE, 'D', false, KEYS_COMPOSE, 6, "describe",
      .help = "describe this choice, and measure the change of the model at step 0; in Map and Heatmap, show "
              "the text under the cursor in full; on the page of a run, evaluate it" },
    { REQ_SWEEP, 'A', false, KEYS_COMPOSE, 7, "sweep",
      .help = "sweep over the marked choices; the command line is edited first" },
    { REQ_SWITCH, 'O', false, KEYS_COMPOSE, 9, "off",
      .help =
          "switch a module off or on; fold options; in Compare, settings of some groups; on a run, defaults" },
    { REQ_EXPLAIN, 'E', false, KEYS_COMPOSE, .help = "explain the method on a page, or leave the page" },

    { REQ_HELP, '?', true, KEYS_EVERYWHERE, 10, "help", .alias = { PRESS_F1 }, .help = "show this help" },
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
