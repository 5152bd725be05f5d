#include "views/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/ui_parts.h"
#include "views/write.h"

enum command {
    CMD_TRAIN,
    CMD_METHOD,
    CMD_METHODS,
    CMD_MODELS,
    CMD_TASKS,
    CMD_RUNS,
    CMD_SHOW,
    CMD_WATCH,
    CMD_COMPARE,
    CMD_SWEEP,
    CMD_STOP,
    CMD_RESUME,
    CMD_CLONE,
    CMD_TRASH,
    CMD_RESTORE,
    CMD_PURGE,
    CMD_EXPORT,
    CMD_MAP,
    CMD_UNSEEN,
    CMD_SORT,
    CMD_GO,
    CMD_PAGE,
    CMD_SET,
    CMD_SAVE_SETTINGS,
    CMD_HELP,
    CMD_QUIT,
    CMD_COUNT
};

/* Verbs of the command line that the screens do themselves, and a few of the screens' own.  With more words
 * than `most` or with options a line is the command line's, which prints on a page or trains as a job. */
enum { ANY_WORDS = 1000 };
static const struct ui_command {
    const char *name;
    enum command_takes takes;
    int most;
    const char *help;
} ui_commands[CMD_COUNT] = {
    [CMD_TRAIN] = { "train", TAKES_NOTHING, 0,
                    "train what Compose holds; with options a run of its own, as on the command line" },
    [CMD_METHOD] = { "method", TAKES_METHOD, ANY_WORDS, "a method into Compose: its name or text" },
    [CMD_METHODS] = { "methods", TAKES_NOTHING, ANY_WORDS,
                      "the published methods, to choose from; save NAME, forget NAME, export FILE, import "
                      "FILE: your own" },
    [CMD_MODELS] = { "models", TAKES_MODEL, 1, "another model: a name or folder; alone the list" },
    [CMD_TASKS] = { "tasks", TAKES_TASK, 1,
                    "another task: a name or folder, or several as A,B; alone the list" },
    [CMD_RUNS] = { "runs", TAKES_FILTER, ANY_WORDS, "Runs: all, or those that pass the words of a filter" },
    [CMD_SHOW] = { "show", TAKES_RUN, 1, "a run's page" },
    [CMD_WATCH] = { "watch", TAKES_RUN, 1, "a run's curves on Train, whoever trains it" },
    [CMD_COMPARE] = { "compare", TAKES_RUNS, ANY_WORDS, "Compare: these runs side by side" },
    [CMD_SWEEP] = { "sweep", TAKES_SWEEP, 1,
                    "Sweep: one of them by its number, or the list; with options a new one" },
    [CMD_STOP] = { "stop", TAKES_RUN, 1, "stop a run: asks first" },
    [CMD_RESUME] = { "resume", TAKES_RUN, 1, "go on with a run where it stopped" },
    [CMD_CLONE] = { "clone", TAKES_RUN, 1, "a run's method and options into Compose" },
    [CMD_TRASH] = { "trash", TAKES_RUN, 1,
                    "a run into the trash (u undoes); alone: view the trash, or leave it" },
    [CMD_RESTORE] = { "restore", TAKES_RUN, 1, "a run out of the trash" },
    [CMD_PURGE] = { "purge", TAKES_NOTHING, 0,
                    "delete what is marked in the trash, or all of it, for good: asks twice" },
    [CMD_EXPORT] = { "export", TAKES_FORM, 1,
                     "what is shown, or the run under the cursor, as a file: csv, json, markdown, hf, svg, "
                     "png, text or ansi" },
    [CMD_MAP] = { "map", TAKES_SETS, ANY_WORDS, "Map: of what the cursor is on, or of kept sets" },
    [CMD_UNSEEN] = { "unseen", TAKES_TASK, 1,
                     "Map: rows of tasks that the run was not trained on beside its own" },
    [CMD_SORT] = { "sort", TAKES_COLUMN, 1, "Runs by a column; again: the other way round" },
    [CMD_GO] = { "go", TAKES_SCREEN, 1, "to a screen by its name" },
    [CMD_PAGE] = { "page", TAKES_NOTHING, 0, "what the last command printed" },
    [CMD_SET] = { "set", TAKES_SETTING, ANY_WORDS,
                  "a setting for now: theme, glyphs, mouse; :save-settings keeps them" },
    [CMD_SAVE_SETTINGS] = { "save-settings", TAKES_NOTHING, 0,
                            "write all settings to their file, each with a comment" },
    [CMD_HELP] = { "help", TAKES_NOTHING, 0, "the keys of this screen; of a verb its options" },
    [CMD_QUIT] = { "quit", TAKES_NOTHING, 0, "leave" },
};

static int words_of(const char *line) {
    int n = 0;
    for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
        n++;
        line += strcspn(line, " ");
    }
    return n;
}

/* The screens' command that a line is for; CMD_COUNT: none. */
static enum command command_of(const char *line) {
    line += strspn(line, " ");
    size_t n = strcspn(line, " ");
    for (int i = 0; i < CMD_COUNT; i++) {
        const struct ui_command *k = &ui_commands[i];
        if (strlen(k->name) != n || memcmp(line, k->name, n)) continue;
        bool options = strstr(line, " --") != NULL;
        return words_of(line + n) <= k->most && (!options || k->takes == TAKES_METHOD) ? (enum command)i
                                                                                       : CMD_COUNT;
    }
    return CMD_COUNT;
}

bool ui_command_at(int i, const char **name, const char **help) {
    if (i < 0 || i >= CMD_COUNT) return false;
    *name = ui_commands[i].name;
    *help = ui_commands[i].help;
    return true;
}

const char *ui_command_of(const char *line, enum command_takes *takes) {
    enum command k = command_of(line);
    if (k == CMD_COUNT) return NULL;
    *takes = ui_commands[k].takes;
    return ui_commands[k].help;
}

/* The run that is called so and nobody else is; 0: none. */
static int64_t run_named(const struct runs_view *v, const char *name) {
    int64_t run = 0;
    for (int i = 0; i < v->rows; i++) {
        if (!v->row[i].name || strcmp(v->row[i].name, name)) continue;
        if (run) return 0;
        run = v->row[i].id;
    }
    return run;
}

/* The run a command is about: the number or name given, else the one under the cursor. */
static int64_t run_of(const struct ui *ui, const char *rest) {
    int64_t id;
    if (*rest == '#') rest++;
    if (text_to_int(rest, &id) && id > 0) return id;
    if (*rest) return run_named(&ui->runs, rest);
    const struct screen *s = screen_at(ui->screen);
    return (s->run ? s : &screen_runs)->run(ui);
}

/* What is over is not asked about; of a run that is not listed yet nobody here knows. */
static void stop_run(struct ui *ui, int64_t run) {
    enum run_state state = RUN_RUNNING;
    for (int i = 0; i < ui->runs.rows; i++)
        if (ui->runs.row[i].id == run) state = ui->runs.row[i].state;
    for (int i = 0; i < ui->train.jobs; i++)
        if (ui->train.job[i].id == run) state = ui->train.job[i].state;
    ui_ask_stop(ui, run, state);
}

static void about_run(struct ui *ui, enum command command, const char *rest, struct effect *out) {
    int64_t run = run_of(ui, rest);
    if (run <= 0) {
        ui_say(ui, SAY_ERROR, "%s: which run? give its number or name, as in  :%s 3",
               ui_commands[command].name, ui_commands[command].name);
        return;
    }
    ui->ask.run[0] = run;
    out->run = ui->ask.run;
    out->runs = 1;
    switch (command) {
    case CMD_SHOW:
        out->kind = EFFECT_OPEN_RUN;
        ui_show(ui, SCREEN_DETAIL);
        break;
    case CMD_WATCH: ui_watch(ui, out); break;
    case CMD_STOP: stop_run(ui, run); break;
    case CMD_RESUME: out->kind = EFFECT_RESUME; break;
    case CMD_CLONE: out->kind = EFFECT_CLONE; break;
    case CMD_TRASH: out->kind = EFFECT_TRASH; break;
    case CMD_RESTORE: out->kind = EFFECT_RESTORE; break;
    default: break;
    }
}

/* The numbers of a line, from 1; -1: there is something else, or more than `most`. */
static int numbers_of(const char *rest, int64_t *number, int most) {
    int n = 0;
    char word[32];
    for (const char *at = rest; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", size < sizeof word ? (int)size : 0,
                 at + (*at == '#' && size > 1));
        if (n == most || !text_to_int(word, &number[n]) || number[n] < 1) return -1;
        n++;
        at += size;
    }
    return n;
}

/* ":map 12 13": kept sets. */
static void map_sets(struct ui *ui, const char *rest, struct effect *out) {
    int64_t set[MAP_PANELS];
    int n = numbers_of(rest, set, MAP_PANELS);
    if (n > 0) map_show_sets(ui, set, n, out);
    else if (!n) inspect_show(ui, SCREEN_MAP, out);
    else ui_say(ui, SAY_ERROR, "map: one or two numbers of kept sets, as in  :map 3   (petri embed --list)");
}

/* ":compare 3 5". */
static void compare_named(struct ui *ui, const char *rest, struct effect *out) {
    enum { MOST = 64 };
    int64_t run[MOST];
    int n = numbers_of(rest, run, MOST);
    if (n > 0) compare_runs(ui, run, n, out);
    else if (!n) screen_compare.show(ui, out);
    else
        ui_say(ui, SAY_ERROR,
               "compare: numbers of at most %d runs, as in  :compare 3 5   (alone: what is marked)", MOST);
}

/* ":runs task=reviews" filters as the command line does; alone it shows them all. */
static void show_runs(struct ui *ui, const char *rest, struct effect *out) {
    struct runs_view *v = &ui->runs;
    ui_show(ui, SCREEN_RUNS);
    if (!*rest && !*v->filter) return;
    if (strlen(rest) >= sizeof v->filter) {
        ui_say(ui, SAY_ERROR, "a filter has room for %zu bytes", sizeof v->filter - 1);
        return;
    }
    runs_set_filter(v, rest, out);
}

static void sort_runs(struct ui *ui, const char *rest) {
    for (int i = 0; i < COL_COUNT; i++) {
        if (strcmp(rest, runs_column_name[i])) continue;
        runs_sort(&ui->runs, i);
        ui_show(ui, SCREEN_RUNS);
        return;
    }
    const char *near = text_nearest(rest, runs_column_name, COL_COUNT);
    ui_say(ui, SAY_ERROR, "sort: by a column%s%s",
           near ? ", as in  :sort " : ": id, state, method, task, best, …", near ? near : "");
}

static void go_to(struct ui *ui, const char *rest, struct effect *out) {
    enum screen_id id = screen_by_name(rest);
    const struct screen *s = id == SCREEN_COUNT ? NULL : screen_at(id);
    if (!s || s->needs_run) ui_say(ui, SAY_ERROR, "go: to compose, train, runs, compare, sweep, heatmap, map or help");
    else if (s->show) s->show(ui, out);
    else ui_show(ui, id);
}

/* What a sweep's line asks of the screens; false: the command line's own (a plan, results as a table, a
 * file). */
static bool sweep_line(struct ui *ui, const char *rest, struct effect *out) {
    static const char *const printed[] = { " --dry-run",  " --slurm",     " --json",    " --csv",
                                           " --markdown", " --help",      " --at-once", " --workers",
                                           " --by",       " --value",     " --cost",    " --margin",
                                           " --sbatch",   " --max-array", " --db" };
    static const struct {
        const char *word;
        enum effect_kind kind;
    } subs[] = { { "resume ", EFFECT_SWEEP_GO },
                 { "stop ", EFFECT_SWEEP_STOP },
                 { "extend ", EFFECT_SWEEP_EXTEND } };
    char whole[PROMPT_ROOM + 1];
    snprintf(whole, sizeof whole, " %s", rest);
    for (size_t i = 0; i < COUNT_OF(printed); i++)
        if (strstr(whole, printed[i])) return false;
    for (size_t i = 0; i < COUNT_OF(subs); i++) {
        int64_t id;
        char number[24];
        if (!text_starts(rest, subs[i].word)) continue;
        const char *at = rest + strlen(subs[i].word);
        size_t n = strcspn(at, " ");
        snprintf(number, sizeof number, "%.*s", n < sizeof number ? (int)n : 0, at);
        if (!text_to_int(number, &id) || id < 1) return false;
        ui->ask.run[0] = id;
        *out = (struct effect){ .kind = subs[i].kind, .run = ui->ask.run, .runs = 1 };
        snprintf(out->text, sizeof out->text, "%s", at + n + strspn(at + n, " "));
        sweep_open(&ui->sweep, id);
        ui_show(ui, SCREEN_SWEEP);
        return true;
    }
    if (!text_starts(rest, "--")) return false;
    sweep_typed(ui, rest, false, out);
    return true;
}

static bool show_sweep(struct ui *ui, const char *rest, struct effect *out) {
    int64_t id = 0;
    if (*rest && (!text_to_int(rest, &id) || id < 1)) return false;
    ui_show(ui, SCREEN_SWEEP);
    sweep_open(&ui->sweep, id);
    sweep_show_list(ui, out);
    return true;
}

/* The command line's, done by the app: a page, a job, or a reason why not. */
static void as_verb(struct ui *ui, const char *line, struct effect *out) {
    *out = (struct effect){ .kind = EFFECT_VERB };
    snprintf(out->text, sizeof out->text, "%s", line);
    ui->ask.run[0] = 0;
}

/* ":methods", or with a word more what becomes of those that are kept by name. */
static void own_methods_command(struct ui *ui, const char *line, const char *rest, struct effect *out) {
    static const struct {
        const char *word;
        enum effect_kind kind;
        int by;
    } words[] = { { "save", EFFECT_METHOD_KEEP, 0 },
                  { "forget", EFFECT_METHOD_KEEP, -1 },
                  { "export", EFFECT_METHODS_OUT, 0 },
                  { "import", EFFECT_METHODS_IN, 0 } };
    size_t n = strcspn(rest, " ");
    const char *what = rest + n + strspn(rest + n, " ");
    if (!*rest) {
        compose_presets(ui);
        return;
    }
    if (*rest == '-') {
        as_verb(ui, line, out);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strlen(words[i].word) != n || strncmp(rest, words[i].word, n) || !*what) continue;
        out->kind = words[i].kind;
        out->by = words[i].by;
        snprintf(out->text, sizeof out->text, "%s", what);
        return;
    }
    ui_say(ui, SAY_ERROR, "methods: save NAME, forget NAME, export FILE or import FILE; alone it lists them");
}

static void run_command(struct ui *ui, enum command command, const char *line, const char *rest,
                        struct effect *out) {
    snprintf(out->text, sizeof out->text, "%s", rest);
    switch (command) {
    case CMD_TRAIN: out->kind = EFFECT_TRAIN; return;
    case CMD_METHOD: out->kind = EFFECT_METHOD_TEXT; return;
    case CMD_METHODS: own_methods_command(ui, line, rest, out); return;
    case CMD_MODELS: out->kind = *rest ? EFFECT_MODEL : EFFECT_LIST_MODELS; return;
    case CMD_TASKS: out->kind = *rest ? EFFECT_TASK : EFFECT_LIST_TASKS; return;
    case CMD_RUNS: show_runs(ui, rest, out); return;
    case CMD_COMPARE: compare_named(ui, rest, out); return;
    case CMD_SWEEP:
        if (!show_sweep(ui, rest, out)) as_verb(ui, line, out);
        return;
    case CMD_SORT: sort_runs(ui, rest); return;
    case CMD_GO: go_to(ui, rest, out); return;
    case CMD_SET: out->kind = EFFECT_SET; return;
    case CMD_SAVE_SETTINGS: out->kind = EFFECT_SAVE_SETTINGS; return;
    case CMD_PAGE: ui_show(ui, SCREEN_PAGE); return;
    case CMD_MAP: map_sets(ui, rest, out); return;
    case CMD_UNSEEN: inspect_unseen(ui, rest, out); return;
    case CMD_HELP: ui_show(ui, SCREEN_HELP); return;
    case CMD_QUIT: ui_quit(ui, out); return;
    case CMD_PURGE: runs_purge(ui, out); return;
    case CMD_EXPORT:
        if (*rest) write_named(ui, rest, out);
        else write_open(ui);
        return;
    case CMD_TRASH:
        if (*rest) break;
        ui->runs.trash = !ui->runs.trash;
        out->kind = EFFECT_TRASH_VIEW;
        ui_show(ui, SCREEN_RUNS);
        return;
    default: break;
    }
    about_run(ui, command, rest, out);
}

void ui_command_open(struct ui *ui, const char *command, const char *words) {
    char text[PROMPT_ROOM];
    snprintf(text, sizeof text, "%s%s", command, words);
    prompt_open(&ui->prompt, ":", text, false);
    ui->use = USE_COMMAND;
    ui_palette_changed(ui);
}

void ui_command(struct ui *ui, const char *line, struct effect *out) {
    char word[32] = "";
    line += strspn(line, " ");
    size_t n = strcspn(line, " ");
    if (!n) return;
    if (n < sizeof word) {
        memcpy(word, line, n);
        word[n] = 0;
    }
    char rest[PROMPT_ROOM];
    snprintf(rest, sizeof rest, "%s", line + n + strspn(line + n, " "));
    for (size_t end = strlen(rest); end && rest[end - 1] == ' '; end--) rest[end - 1] = 0;
    enum command command = command_of(line);
    if (command != CMD_COUNT) run_command(ui, command, line, rest, out);
    else if (strcmp(word, "sweep") || !sweep_line(ui, rest, out)) as_verb(ui, line, out);
}
