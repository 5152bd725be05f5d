#include "views/keys.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/screen.h"

static const struct key_entry keys[] = {
    /* starting and opening: Enter acts on the item under the cursor */
    { REQ_TRAIN, PRESS_ENTER, false, KEYS_COMPOSE, 1, "train",
      .help = "train this method",
      .on = { [SCREEN_FIRST] = "train the run described above",
              [SCREEN_COMPOSE] = "train this method; on a number, edit it" } },
    { REQ_OPEN, PRESS_ENTER, false, KEYS_LISTS, 3, "open",
      .help = "open the item under the cursor",
      .on = { [SCREEN_TRAIN] = "open the page of the run",
              [SCREEN_RUNS] = "open the page of the run; on a group, list its runs",
              [SCREEN_COMPARE] = "list the runs of the group",
              [SCREEN_SWEEP] = "open the sweep; on a cell or a line, list its runs",
              [SCREEN_MAP] = "maximize the panel; in the legend, show or hide the class",
              [SCREEN_LEARN] = "start the lesson; in a lesson, continue",
              [SCREEN_DATA] = "use this data in Compose",
              [SCREEN_TALK] = "write a message" } },
    { REQ_PAUSE, ' ', false, KEYS_JOBS, 1, "pause",
      .help = "pause or resume",
      .on = { [SCREEN_TRAIN] = "pause or resume the run", [SCREEN_MAP] = "pause or resume the layout" } },
    { REQ_MARK, ' ', false, KEYS_LISTS, 1, "mark",
      .help = "mark the item under the cursor",
      .on = { [SCREEN_RUNS] = "mark the run; 4 compares, 7 maps and o overlays the marked runs",
              [SCREEN_COMPOSE] = "mark the value for a sweep (A starts it)" } },
    { REQ_MARK_ALL, '*', false, KEYS_LISTS,
      .help = "mark all, or clear the marks",
      .on = { [SCREEN_RUNS] = "mark all listed runs, or clear the marks",
              [SCREEN_TRAIN] = "overlay the curves of all listed runs",
              [SCREEN_COMPOSE] = "edit all modules with this function, or only this one" } },
    { REQ_STOP, 'K', false, KEYS_JOBS, 2, "stop\u2026",
      .help = "stop the run (asks first)",
      .on = { [SCREEN_SWEEP] = "stop the sweep (asks first)", [SCREEN_PAGE] = "stop the command",
              [SCREEN_TALK] = "stop the answer" } },
    { REQ_EARLIER, '<', false, KEYS_JOBS,
      .help = "previous item",
      .on = { [SCREEN_TRAIN] = "move the queued run up in the queue",
              [SCREEN_RUNS] = "move the column to the left",
              [SCREEN_COMPOSE] = "move the module up", [SCREEN_SWEEP] = "grid: previous pair of axes",
              [SCREEN_HEATMAP] = "attention: previous head",
              [SCREEN_MAP] = "previous recorded training step" } },
    { REQ_LATER, '>', false, KEYS_JOBS,
      .help = "next item",
      .on = { [SCREEN_TRAIN] = "move the queued run down in the queue",
              [SCREEN_RUNS] = "move the column to the right",
              [SCREEN_COMPOSE] = "move the module down", [SCREEN_SWEEP] = "grid: next pair of axes",
              [SCREEN_HEATMAP] = "attention: next head", [SCREEN_MAP] = "next recorded training step" } },

    { REQ_TO_COMPOSE, '1', true, KEYS_EVERYWHERE, .help = "Compose: build a method" },
    { REQ_TO_TRAIN, '2', true, KEYS_EVERYWHERE, .help = "Train: watch runs while they train" },
    { REQ_TO_RUNS, '3', true, KEYS_EVERYWHERE, .help = "Runs: list all recorded runs" },
    { REQ_TO_COMPARE, '4', true, KEYS_EVERYWHERE,
      .help = "Compare: the marked or filtered runs side by side" },
    { REQ_TO_SWEEP, '5', true, KEYS_EVERYWHERE,
      .help = "Sweep: hyperparameter sweeps and main effects" },
    { REQ_TO_HEATMAP, '6', true, KEYS_EVERYWHERE,
      .help = "Heatmap: similarity matrices and attention of model and run" },
    { REQ_TO_MAP, '7', true, KEYS_EVERYWHERE,
      .help = "Map: examples as points, by model and run or two marked runs" },
    { REQ_TO_LEARN, '8', true, KEYS_EVERYWHERE,
      .help = "Learn: interactive lessons; returns to the open lesson" },
    { REQ_TO_TALK, '9', true, KEYS_EVERYWHERE,
      .help = "Talk: chat with a decoder-only model or a run" },
    { REQ_NEXT_PART, PRESS_TAB, false, KEYS_CURSOR, 5, "pane",
      .help = "next pane of the screen",
      .on = { [SCREEN_COMPOSE] = "next module; after the last, the options of the run",
              [SCREEN_TRAIN] = "next large chart: loss, learning rate, gradient norm",
              [SCREEN_COMPARE] = "move between the groups and the settings",
              [SCREEN_SWEEP] = "next pane: grid, parallel coordinates, effects, Pareto front",
              [SCREEN_HEATMAP] = "next matrix", [SCREEN_MAP] = "next panel; after the last, the legend",
              [SCREEN_TALK] = "the other answer" } },
    { REQ_PREV_PART, PRESS_BACKTAB, false, KEYS_CURSOR,
      .help = "previous pane of the screen",
      .on = { [SCREEN_COMPOSE] = "previous module; before the first, the options of the run",
              [SCREEN_TRAIN] = "previous large chart",
              [SCREEN_COMPARE] = "move between the settings and the groups",
              [SCREEN_HEATMAP] = "previous matrix",
              [SCREEN_MAP] = "previous panel; before the first, the legend" } },
    { REQ_LEFT, 'h', false, KEYS_CURSOR, 2, "cursor", .pair = 'l', .alias = { PRESS_LEFT },
      .help = "move left",
      .on = { [SCREEN_COMPOSE] = "previous axis; on the run, previous option",
              [SCREEN_TRAIN] = "move the cursor one point back", [SCREEN_RUNS] = "previous column",
              [SCREEN_SWEEP] = "cell to the left; in a list, the line above",
              [SCREEN_HEATMAP] = "cell to the left", [SCREEN_MAP] = "next point to the left",
              [SCREEN_LEARN] = "previous step of the lesson",
              [SCREEN_DATA] = "previous role of the column or value of the setting",
              [SCREEN_PAGE] = "scroll left",
              [SCREEN_TALK] = "previous token of the last answer" } },
    { REQ_RIGHT, 'l', false, KEYS_CURSOR, .alias = { PRESS_RIGHT },
      .help = "move right",
      .on = { [SCREEN_COMPOSE] = "next axis; on the run, next option",
              [SCREEN_TRAIN] = "move the cursor one point forward", [SCREEN_RUNS] = "next column",
              [SCREEN_SWEEP] = "cell to the right; in a list, the line below",
              [SCREEN_HEATMAP] = "cell to the right", [SCREEN_MAP] = "next point to the right",
              [SCREEN_LEARN] = "next step of the lesson",
              [SCREEN_DATA] = "next role of the column or value of the setting",
              [SCREEN_PAGE] = "scroll right",
              [SCREEN_TALK] = "next token of the last answer" } },
    { REQ_DOWN, 'j', false, KEYS_CURSOR, 3, "choice", .pair = 'k', .alias = { PRESS_DOWN },
      .help = "scroll down one line",
      .on = { [SCREEN_COMPOSE] = "next value of the axis or the option",
              [SCREEN_TRAIN] = "next run of the list", [SCREEN_RUNS] = "next run",
              [SCREEN_COMPARE] = "next group; among the settings, next setting",
              [SCREEN_SWEEP] = "next sweep; in a grid, the cell below", [SCREEN_HEATMAP] = "cell below",
              [SCREEN_MAP] = "next point below; in the legend, next class",
              [SCREEN_LEARN] = "next lesson; in a lesson, scroll down",
              [SCREEN_DATA] = "next column or setting" } },
    { REQ_UP, 'k', false, KEYS_CURSOR, .alias = { PRESS_UP },
      .help = "scroll up one line",
      .on = { [SCREEN_COMPOSE] = "previous value of the axis or the option",
              [SCREEN_TRAIN] = "previous run of the list", [SCREEN_RUNS] = "previous run",
              [SCREEN_COMPARE] = "previous group; among the settings, previous setting",
              [SCREEN_SWEEP] = "previous sweep; in a grid, the cell above",
              [SCREEN_HEATMAP] = "cell above",
              [SCREEN_MAP] = "next point above; in the legend, previous class",
              [SCREEN_LEARN] = "previous lesson; in a lesson, scroll up",
              [SCREEN_DATA] = "previous column or setting" } },
    { REQ_FIRST, 'g', false, KEYS_CURSOR, .alias = { PRESS_HOME },
      .help = "go to the top",
      .on = { [SCREEN_COMPOSE] = "first value", [SCREEN_TRAIN] = "first step",
              [SCREEN_RUNS] = "first run", [SCREEN_COMPARE] = "first group or setting",
              [SCREEN_SWEEP] = "first sweep, cell or line", [SCREEN_HEATMAP] = "first cell",
              [SCREEN_LEARN] = "first lesson; in a lesson, the top", [SCREEN_DATA] = "first column" } },
    { REQ_LAST, 'G', false, KEYS_CURSOR, .alias = { PRESS_END },
      .help = "go to the end",
      .on = { [SCREEN_COMPOSE] = "last value", [SCREEN_TRAIN] = "last step", [SCREEN_RUNS] = "last run",
              [SCREEN_COMPARE] = "last group or setting", [SCREEN_SWEEP] = "last sweep, cell or line",
              [SCREEN_HEATMAP] = "last cell", [SCREEN_LEARN] = "last lesson; in a lesson, the end",
              [SCREEN_DATA] = "last setting" } },
    { REQ_PAGE_DOWN, PRESS_CTRL('d'), false, KEYS_CURSOR, .alias = { PRESS_PAGE_DOWN },
      .help = "one page down",
      .on = { [SCREEN_COMPARE] = "ten groups or settings down",
              [SCREEN_SWEEP] = "ten lines or cells down", [SCREEN_MAP] = "a point further down",
              [SCREEN_DATA] = "scroll the import report down" } },
    { REQ_PAGE_UP, PRESS_CTRL('u'), false, KEYS_CURSOR, .alias = { PRESS_PAGE_UP },
      .help = "one page up",
      .on = { [SCREEN_COMPARE] = "ten groups or settings up", [SCREEN_SWEEP] = "ten lines or cells up",
              [SCREEN_MAP] = "a point further up", [SCREEN_DATA] = "scroll the import report up" } },
    { REQ_SEARCH, '/', false, KEYS_CURSOR, 8, "filter",
      .help = "search",
      .on = { [SCREEN_RUNS] = "filter the runs, for example: task=reviews lr<1e-3 lora",
              [SCREEN_COMPOSE] = "find an axis, a value or an option by typing",
              [SCREEN_PAGE] = "search the output", [SCREEN_HELP] = "search the keys of all screens" } },
    { REQ_NEXT, 'n', false, KEYS_CURSOR, 6, "notes",
      .help = "next item",
      .on = { [SCREEN_COMPOSE] = "next note on the method",
              [SCREEN_TRAIN] = "scroll the generated texts down", [SCREEN_COMPARE] = "next metric",
              [SCREEN_SWEEP] = "grid: next value of the third axis",
              [SCREEN_HEATMAP] = "attention: next example", [SCREEN_MAP] = "next misclassified example",
              [SCREEN_PAGE] = "next match of the search" } },
    { REQ_PREV, 'N', false, KEYS_CURSOR,
      .help = "previous item",
      .on = { [SCREEN_COMPOSE] = "previous note on the method",
              [SCREEN_TRAIN] = "scroll the generated texts up", [SCREEN_COMPARE] = "previous metric",
              [SCREEN_SWEEP] = "grid: previous value of the third axis",
              [SCREEN_HEATMAP] = "attention: previous example",
              [SCREEN_MAP] = "previous misclassified example",
              [SCREEN_PAGE] = "previous match of the search" } },
    { REQ_COMMAND, ':', true, KEYS_EVERYWHERE, 9, "command", .help = "command line; Tab completes" },
    { REQ_MENU, ',', true, KEYS_EVERYWHERE, .help = "list the actions available here; Enter runs one" },
    { REQ_LINE, 'Y', true, KEYS_EVERYWHERE, .help = "copy the last action as a command line and show it" },
    { REQ_WHOLE, 'I', true, KEYS_EVERYWHERE, .help = "show truncated texts (\u2026) in full" },
    { REQ_MOUSE, '&', true, KEYS_EVERYWHERE,
      .help = "turn the mouse on or off (when off, the terminal selects text)" },
    { REQ_BACK, PRESS_ESC, true, KEYS_EVERYWHERE, .help = "cancel, or go back" },
    { REQ_QUIT, 'q', true, KEYS_EVERYWHERE, 9, "quit",
      .help = "back one level, then quit (asks only if runs are training)" },
    { REQ_INTERRUPT, PRESS_CTRL('c'), true, KEYS_EVERYWHERE,
      .help = "quit (asks only if runs are training)" },
    { REQ_UNDO, 'u', false, KEYS_CURSOR, 8, "undo",
      .help = "undo the last rename, move to the trash or restore",
      .on = { [SCREEN_COMPOSE] = "undo the last change of the method or of an option" } },
    { REQ_REDO, PRESS_CTRL('r'), false, KEYS_CURSOR, .help = "redo the last undone change" },
    { REQ_GLYPHS, 'B', true, KEYS_EVERYWHERE,
      .help = "switch to braille, blocks or ASCII, if charts look broken" },
    { REQ_REDRAW, PRESS_CTRL('l'), true, KEYS_EVERYWHERE, .help = "redraw the screen" },
    { REQ_SUSPEND, PRESS_CTRL('z'), true, KEYS_EVERYWHERE,
      .help = "suspend petri (fg in the shell resumes it)" },

    { REQ_SORT, 's', false, KEYS_LISTS, 4, "sort",
      .help = "sort by the column under the cursor; press again to reverse",
      .on = { [SCREEN_HEATMAP] = "order by name or by cluster" } },
    { REQ_SORT_REVERSE, 'S', false, KEYS_LISTS, .help = "reverse the order" },
    { REQ_FILTER_CELL, 'f', false, KEYS_LISTS, 5, "filter cell",
      .help = "list only runs with the value under the cursor",
      .on = { [SCREEN_MAP] = "show only the class under the cursor" } },
    { REQ_FILTER_CLEAR, 'F', false, KEYS_LISTS,
      .help = "clear the filter: list all runs",
      .on = { [SCREEN_MAP] = "show all classes; clear the region" } },
    { REQ_CLONE, 'C', false, KEYS_RUNS, 6, "clone",
      .help = "copy the method and the options of the run to Compose",
      .on = { [SCREEN_COMPOSE] = "copy the module",
              [SCREEN_SWEEP] = "edit the command line of the sweep to start a similar one" } },
    { REQ_RUN, 'R', false, KEYS_RUNS, 6, "run again",
      .help = "resume an interrupted run; train any other run again",
      .on = { [SCREEN_COMPOSE] = "train this method",
              [SCREEN_SWEEP] = "train the missing runs of the sweep",
              [SCREEN_LEARN] = "restart the lesson",
              [SCREEN_TALK] = "another answer, sampled (temperature 0.8)" } },
    { REQ_TRASH, 'd', false, KEYS_RUNS, 7, "trash",
      .help = "move the run to the trash; in the trash, restore it" },
    { REQ_TRASH_VIEW, 'V', false, KEYS_RUNS, .help = "show or leave the trash" },
    { REQ_EXPORT, 'e', true, KEYS_EVERYWHERE,
      .help = "export the screen, its table or the curves of a run to a file",
      .on = { [SCREEN_TALK] = "write the chat to a file" } },
    { REQ_GROUP, 'J', false, KEYS_LISTS,
      .help = "group runs by this column (mean and sd), or ungroup" },
    { REQ_BEST, 'X', false, KEYS_RUNS, .help = "go to the best run of this task, metric and validation set" },
    { REQ_RESEED, 'Z', false, KEYS_RUNS, .help = "train again with the next unused seed" },
    { REQ_WATCH, 'W', false, KEYS_RUNS, .help = "show the curves of the run in Train" },
    { REQ_PIN, 'p', false, KEYS_RUNS, .help = "pin the run or the marked runs to the top, or unpin them" },
    { REQ_TAGS, 't', false, KEYS_RUNS, .help = "edit the tags of the run, or add tags to the marked runs" },
    { REQ_COLUMNS, 'c', false, KEYS_LISTS,
      .help = "choose columns and their order (empty: automatic)" },
    { REQ_NAME, 'r', false, KEYS_RUNS,
      .help = "name the run (empty: remove the name)",
      .on = { [SCREEN_COMPOSE] = "name the next run" } },
    { REQ_NOTE, 'i', false, KEYS_RUNS,
      .help = "edit the note of the run",
      .on = { [SCREEN_COMPOSE] = "edit the note for the next runs",
              [SCREEN_TALK] = "edit the last message" } },
    { REQ_COPY, 'y', true, KEYS_EVERYWHERE,
      .help = "copy a value, a row, the command of a run, or the screen",
      .on = { [SCREEN_COMPOSE] = "copy the command line that trains this method",
              [SCREEN_PAGE] = "copy the command line of this page" } },
    { REQ_SHELL, '!', false, KEYS_RUNS, .help = "open a shell in the folder of the run; exit returns" },

    { REQ_FAST_LEFT, 'H', false, KEYS_CHARTS,
      .help = "move the cursor ten columns left",
      .on = { [SCREEN_MAP] = "a point further to the left" } },
    { REQ_FAST_RIGHT, 'L', false, KEYS_CHARTS,
      .help = "move the cursor ten columns right",
      .on = { [SCREEN_MAP] = "a point further to the right" } },
    { REQ_MORE, '+', false, KEYS_CHARTS, 5, "module", .alias = { '=' },
      .help = "zoom in",
      .on = { [SCREEN_COMPOSE] = "add a module", [SCREEN_RUNS] = "add a column right of this one",
              [SCREEN_SWEEP] = "extend the sweep by seeds or values",
              [SCREEN_HEATMAP] = "enlarge the cells", [SCREEN_LEARN] = "show only the current step" } },
    { REQ_LESS, '-', false, KEYS_CHARTS,
      .help = "zoom out",
      .on = { [SCREEN_COMPOSE] = "remove the module (u undoes)", [SCREEN_RUNS] = "hide the column",
              [SCREEN_HEATMAP] = "shrink the cells",
              [SCREEN_LEARN] = "show the whole lesson" } },
    { REQ_PAN_LEFT, '[', false, KEYS_CHARTS, 4, "layer", .pair = ']',
      .help = "scroll back by half a window",
      .on = { [SCREEN_HEATMAP] = "previous matrix", [SCREEN_MAP] = "previous layer" } },
    { REQ_PAN_RIGHT, ']', false, KEYS_CHARTS,
      .help = "scroll forward by half a window",
      .on = { [SCREEN_HEATMAP] = "next matrix", [SCREEN_MAP] = "next layer" } },
    { REQ_FIT, '0', false, KEYS_CHARTS, .help = "fit everything in the window" },
    { REQ_LOG, 'v', false, KEYS_CHARTS, 5, "log", .help = "y axis: linear or logarithmic scale" },
    { REQ_SMOOTH_MORE, 'm', false, KEYS_CHARTS, 4, "smooth", .pair = 'M', .help = "smooth the curves more" },
    { REQ_SMOOTH_LESS, 'M', false, KEYS_CHARTS, .help = "smooth the curves less" },
    { REQ_RAW, 'w', false, KEYS_CHARTS,
      .help = "show or hide the raw points behind the curve",
      .on = { [SCREEN_COMPARE] = "show each run, or the means of the groups" } },
    { REQ_TEXTS, 't', false, KEYS_CHARTS, 3, "texts",
      .help = "show generated texts with references, or the metric",
      .on = { [SCREEN_MAP] = "list the examples in the region, or all visible examples" } },
    { REQ_TASKS, 'b', false, KEYS_RUNS, 3, "by task",
      .help = "show the examples of the next task (multi-task runs)",
      .on = { [SCREEN_TRAIN] = "multi-task run: next task, all tasks, average",
              [SCREEN_RUNS] = "show a column per task, or hide them", [SCREEN_COMPARE] = "next tab" } },
    { REQ_TERMS, 'o', false, KEYS_CHARTS, 4, "components",
      .help = "next loss component, all components, or the total loss",
      .on = { [SCREEN_COMPARE] = "curves of the loss, or of the metric",
              [SCREEN_MAP] = "small maps of all layers or recorded steps, or one map",
              [SCREEN_RUNS] = "overlay the curves of the marked runs on Train" } },
    { REQ_FOLLOW, 'a', false, KEYS_CHARTS, 7, "follow", .help = "follow the latest step" },

    { REQ_LOG_X, '_', false, KEYS_CHARTS, .help = "x axis: linear or logarithmic scale" },

    { REQ_STEP, '.', false, KEYS_MAP, .help = "advance the layout by one iteration" },
    { REQ_REWIND, 'z', false, KEYS_MAP, 7, "rewind",
      .help = "restart the layout with the same seed",
      .on = { [SCREEN_TALK] = "start a new chat" } },
    { REQ_COLOR, 'c', false, KEYS_MAP, 3, "color",
      .help = "color by label, prediction, correctness or task" },
    { REQ_TRAINING, 'p', false, KEYS_MAP, 5, "training",
      .help = "show the embeddings recorded during training, or the layers" },
    { REQ_BESIDE, 'x', false, KEYS_MAP, 4, "axis",
      .help = "next x axis: steps, tokens, seconds, epochs",
      .on = { [SCREEN_MAP] = "vectors of the retriever, or pooled vectors",
              [SCREEN_COMPARE] = "include runs on other examples, or leave them out",
              [SCREEN_SWEEP] = "Pareto front: next cost (parameters, time, memory)",
              [SCREEN_TALK] = "show or hide the base model next to the run" } },
    { REQ_REGION, '#', false, KEYS_MAP, 6, "region",
      .help = "start a region at the cursor (moving extends it), or clear it" },
    { REQ_UNSEEN, 'U', false, KEYS_MAP, 6, "unseen",
      .help = "add examples of tasks that the run was not trained on" },
    { REQ_LAYER_LESS, '{', false, KEYS_MAP, 4, "layer", .pair = '}', .help = "attention: previous layer" },
    { REQ_LAYER_MORE, '}', false, KEYS_MAP, .help = "attention: next layer" },
    { REQ_PERPLEXITY_LESS, '(', false, KEYS_MAP, 7, "perplexity", .pair = ')',
      .help = "lower the perplexity (fewer neighbors)" },
    { REQ_PERPLEXITY_MORE, ')', false, KEYS_MAP, .help = "raise the perplexity (more neighbors)" },

    { REQ_COMPOSE, 'c', false, KEYS_COMPOSE, 2, "compose", .help = "compose a method" },
    { REQ_CHOOSE, 'T', false, KEYS_COMPOSE, 8, "data, model",
      .help = "choose your own data, a task or a model",
      .on = { [SCREEN_DATA] = "choose another file or folder" } },
    { REQ_PRESETS, 'P', false, KEYS_COMPOSE, 4, "presets",
      .help = "load a published method or one of your saved methods",
      .on = { [SCREEN_RUNS] = "apply a saved filter; save or delete the current one" } },
    { REQ_DESCRIBE, 'D', false, KEYS_COMPOSE, 6, "describe",
      .help = "describe the value; measure the output change at step 0",
      .on = { [SCREEN_MAP] = "show or hide the full text under the cursor",
              [SCREEN_HEATMAP] = "show or hide the full texts under the cursor",
              [SCREEN_DETAIL] = "evaluate the run: confusion matrix, per-class scores, errors" } },
    { REQ_SWEEP, 'A', false, KEYS_COMPOSE, 7, "sweep",
      .help = "edit the command line of a sweep over the marked values",
      .on = { [SCREEN_SWEEP] = "edit the command line of a new sweep and start it" } },
    { REQ_SWITCH, 'O', false, KEYS_COMPOSE, 9, "off",
      .help = "switch the module off or on; in the options, fold a group",
      .on = { [SCREEN_COMPARE] = "show or hide settings that only some groups have",
              [SCREEN_DETAIL] = "show or hide settings at their defaults" } },
    { REQ_EXPLAIN, 'E', false, KEYS_COMPOSE,
      .help = "explain the method on a page",
      .on = { [SCREEN_EXPLAIN] = "return to Compose" } },

    { REQ_HELP, '?', true, KEYS_EVERYWHERE, 10, "help", .alias = { PRESS_F1 }, .help = "show this help" },
};

int keys_count(void) { return (int)COUNT_OF(keys); }

const struct key_entry *keys_at(int i) {
    BUG_IF(i < 0 || i >= keys_count());
    return &keys[i];
}

bool keys_handles(enum screen_id screen, enum request r) {
    const enum request *takes = screen_at(screen)->keys;
    while (*takes && *takes != r) takes++;
    return *takes != REQ_NONE;
}

bool keys_works(enum screen_id screen, const struct key_entry *k) {
    return k->everywhere || keys_handles(screen, k->request);
}

const char *keys_help(enum screen_id screen, const struct key_entry *k) {
    return k->on[screen] ? k->on[screen] : k->help;
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
    static const char *const names[] = { "compose", "lists", "runs", "jobs",
                                        "charts",  "map",   "cursor, search, undo", "everywhere" };
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
