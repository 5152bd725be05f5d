#include "views/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/ui_parts.h"
#include "views/write.h"

/* Verbs of the command line that the screens do themselves, and a few of the screens' own.  With more words
 * than `most` or with options a line is the command line's, which prints on a page or trains as a job. */
enum { ANY_WORDS = 1000 };
struct ui_command {
    const char *name;
    enum command_takes takes;
    int most;
    const char *help;
    enum effect_kind effect, bare; /* asked for, of the words or the run; without words */
    enum screen_id shows;          /* then; 0: stays */
    void (*act)(struct ui *ui, const char *rest, struct effect *out); /* and this; may be NULL, as: */
    void (*plain)(struct ui *ui, struct effect *out);
};

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
static void stop_run(struct ui *ui, const char *rest, struct effect *out) {
    int64_t run = out->run[0];
    enum run_state state = RUN_RUNNING;
    (void)rest;
    for (int i = 0; i < ui->runs.rows; i++)
        if (ui->runs.row[i].id == run) state = ui->runs.row[i].state;
    for (int i = 0; i < ui->train.jobs; i++)
        if (ui->train.job[i].id == run) state = ui->train.job[i].state;
    ui_ask_stop(ui, run, state);
}

/* Puts the run that a command is about into *out, or asks for its number. */
static bool take_run(struct ui *ui, const struct ui_command *k, const char *rest, struct effect *out) {
    int64_t run = run_of(ui, rest);
    if (run <= 0) {
        ui_say(ui, SAY_ERROR, "%s: no run specified: expected a run id or name, for example  :%s 3", k->name,
               k->name);
        return false;
    }
    ui->ask.run[0] = run;
    out->run = ui->ask.run;
    out->runs = 1;
    return true;
}

static void trash(struct ui *ui, const char *rest, struct effect *out) {
    (void)out;
    if (*rest) return;
    ui->runs.trash = !ui->runs.trash;
    ui_show(ui, SCREEN_RUNS);
}

static void export_shown(struct ui *ui, const char *rest, struct effect *out) {
    if (*rest) write_named(ui, rest, out);
    else write_open(ui);
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
    else
        ui_say(ui, SAY_ERROR,
               "map: expected one or two ids of embedding sets, for example  :map 3   (petri embed --list)");
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
               "compare: expected at most %d run ids, for example  :compare 3 5   (without ids: the marked "
               "runs)",
               MOST);
}

/* ":runs task=reviews" filters as the command line does; alone it shows them all. */
static void show_runs(struct ui *ui, const char *rest, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (!*rest && !*v->filter && !v->only.runs) return;
    if (strlen(rest) >= sizeof v->filter) {
        ui_say(ui, SAY_ERROR, "filter too long: at most %zu bytes", sizeof v->filter - 1);
        return;
    }
    v->only.runs = 0;
    runs_set_filter(v, rest, out);
}

static void sort_runs(struct ui *ui, const char *rest, struct effect *out) {
    (void)out;
    int column = runs_column_by_name(rest, strlen(rest));
    if (column < COL_COUNT) {
        runs_sort(&ui->runs, column);
        ui_show(ui, SCREEN_RUNS);
        return;
    }
    const char *near = text_nearest(rest, runs_column_name, COL_COUNT);
    ui_say(ui, SAY_ERROR, "sort: unknown column%s%s",
           near ? "; did you mean  :sort " : "; columns: id, state, method, task, best, …", near ? near : "");
}

static void go_to(struct ui *ui, const char *rest, struct effect *out) {
    enum screen_id id = screen_by_name(rest);
    const struct screen *s = id == SCREEN_COUNT ? NULL : screen_at(id);
    if (!s || s->needs_run)
        ui_say(ui, SAY_ERROR, "go: expected compose, train, runs, compare, sweep, heatmap, map or help");
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

/* The command line's, done by the app: a page, a job, or a reason why not. */
static void as_verb(struct ui *ui, const char *verb, const char *rest, struct effect *out) {
    *out = (struct effect){ .kind = EFFECT_VERB };
    snprintf(out->text, sizeof out->text, "%s%s%s", verb, *rest ? " " : "", rest);
    ui->ask.run[0] = 0;
}

static void show_sweep(struct ui *ui, const char *rest, struct effect *out) {
    int64_t id = 0;
    if (*rest && (!text_to_int(rest, &id) || id < 1)) {
        as_verb(ui, "sweep", rest, out);
        return;
    }
    ui_show(ui, SCREEN_SWEEP);
    sweep_open(&ui->sweep, id);
    sweep_show_list(ui, out);
}

/* ":methods", or with a word more what becomes of those that are kept by name. */
static void own_methods(struct ui *ui, const char *rest, struct effect *out) {
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
        as_verb(ui, "methods", rest, out);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strlen(words[i].word) != n || strncmp(rest, words[i].word, n) || !*what) continue;
        out->kind = words[i].kind;
        out->by = words[i].by;
        snprintf(out->text, sizeof out->text, "%s", what);
        return;
    }
    ui_say(ui, SAY_ERROR,
           "methods: expected save NAME, forget NAME, export FILE or import FILE (without arguments, lists "
           "the methods)");
}

static const struct ui_command ui_commands[] = {
    { "train", TAKES_NOTHING, 0, "train the method in Compose; with options, train as petri train does",
      .effect = EFFECT_TRAIN },
    { "method", TAKES_METHOD, ANY_WORDS, "load a method into Compose: a name, or text such as lora(r=8)",
      .effect = EFFECT_METHOD_TEXT },
    { "methods", TAKES_NOTHING, ANY_WORDS,
      "choose a published method; for your own: save NAME, forget NAME, export FILE, import FILE",
      .act = own_methods },
    { "models", TAKES_MODEL, 1, "change the model (name or folder); without a name, list the models",
      .effect = EFFECT_MODEL, .bare = EFFECT_LIST_MODELS },
    { "tasks", TAKES_TASK, 1,
      "change the task (name or folder, several as A,B); without a name, list the tasks",
      .effect = EFFECT_TASK, .bare = EFFECT_LIST_TASKS },
    { "runs", TAKES_FILTER, ANY_WORDS, "list all runs, or those that match a filter", .shows = SCREEN_RUNS,
      .act = show_runs },
    { "show", TAKES_RUN, 1, "open the page of a run", .effect = EFFECT_OPEN_RUN, .shows = SCREEN_DETAIL },
    { "watch", TAKES_RUN, 1, "show the curves of a run of any process in Train", .plain = ui_watch },
    { "compare", TAKES_RUNS, ANY_WORDS, "compare these runs side by side", .act = compare_named },
    { "sweep", TAKES_SWEEP, 1, "open a sweep by id, or list the sweeps; with options, start a new one",
      .act = show_sweep },
    { "stop", TAKES_RUN, 1, "stop a run (asks first)", .act = stop_run },
    { "resume", TAKES_RUN, 1, "resume an interrupted run", .effect = EFFECT_RESUME },
    { "clone", TAKES_RUN, 1, "clone the method and options of a run into Compose", .effect = EFFECT_CLONE },
    { "trash", TAKES_RUN, 1, "move a run to the trash; without a run, show or leave the trash",
      .effect = EFFECT_TRASH, .bare = EFFECT_TRASH_VIEW, .act = trash },
    { "restore", TAKES_RUN, 1, "restore a run from the trash", .effect = EFFECT_RESTORE },
    { "purge", TAKES_NOTHING, 0,
      "delete the marked runs in the trash, or all of it, permanently (asks twice)", .plain = runs_purge },
    { "export", TAKES_FORM, 1,
      "export the screen or the run under the cursor: csv, json, markdown, hf, svg, png, text, ansi",
      .act = export_shown },
    { "map", TAKES_SETS, ANY_WORDS, "open Map for the run under the cursor, or for embedding sets",
      .act = map_sets },
    { "unseen", TAKES_TASK, 1, "add examples of tasks that the run was not trained on to Map",
      .act = inspect_unseen },
    { "sort", TAKES_COLUMN, 1, "sort Runs by a column; repeat to reverse", .act = sort_runs },
    { "go", TAKES_SCREEN, 1, "go to a screen by name", .act = go_to },
    { "page", TAKES_NOTHING, 0, "show the output of the last command", .shows = SCREEN_PAGE },
    { "set", TAKES_SETTING, ANY_WORDS,
      "change a setting of this session: theme, glyphs, mouse (:save-settings saves)", .effect = EFFECT_SET },
    { "save-settings", TAKES_NOTHING, 0, "write all settings with comments to the settings file",
      .effect = EFFECT_SAVE_SETTINGS },
    { "help", TAKES_NOTHING, 0, "show the keys of this screen, or the options of a verb",
      .shows = SCREEN_HELP },
    { "quit", TAKES_NOTHING, 0, "quit petri", .plain = ui_quit },
};

static int words_of(const char *line) {
    int n = 0;
    for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
        n++;
        line += strcspn(line, " ");
    }
    return n;
}

/* The screens' command that a line is for, or NULL. */
static const struct ui_command *command_of(const char *line) {
    line += strspn(line, " ");
    size_t n = strcspn(line, " ");
    for (size_t i = 0; i < COUNT_OF(ui_commands); i++) {
        const struct ui_command *k = &ui_commands[i];
        if (strlen(k->name) != n || memcmp(line, k->name, n)) continue;
        bool options = strstr(line, " --") != NULL;
        return words_of(line + n) <= k->most && (!options || k->takes == TAKES_METHOD) ? k : NULL;
    }
    return NULL;
}

bool ui_command_at(int i, const char **name, const char **help) {
    if (i < 0 || i >= (int)COUNT_OF(ui_commands)) return false;
    *name = ui_commands[i].name;
    *help = ui_commands[i].help;
    return true;
}

const char *ui_command_of(const char *line, enum command_takes *takes) {
    const struct ui_command *k = command_of(line);
    if (!k) return NULL;
    *takes = k->takes;
    return k->help;
}

static void run_command(struct ui *ui, const struct ui_command *k, const char *rest, struct effect *out) {
    bool bare = !*rest && k->bare;
    snprintf(out->text, sizeof out->text, "%s", rest);
    if (k->takes == TAKES_RUN && !bare && !take_run(ui, k, rest, out)) return;
    out->kind = bare ? k->bare : k->effect;
    if (k->shows) ui_show(ui, k->shows);
    if (k->act) k->act(ui, rest, out);
    if (k->plain) k->plain(ui, out);
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
    const struct ui_command *k = command_of(line);
    if (k) run_command(ui, k, rest, out);
    else if (strcmp(word, "sweep") || !sweep_line(ui, rest, out)) as_verb(ui, line, "", out);
}
