#include "views/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/ui_parts.h"
#include "views/write.h"

enum command { CMD_TRAIN, CMD_METHOD, CMD_METHODS, CMD_MODELS, CMD_TASKS, CMD_RUNS, CMD_SHOW,
               CMD_STOP, CMD_RESUME, CMD_CLONE, CMD_TRASH, CMD_RESTORE, CMD_EXPORT, CMD_MAP, CMD_UNSEEN, CMD_HELP,
               CMD_QUIT, CMD_COUNT };

/* The verbs of the command line that work here, and a few of the screen's own. */
static const char *const ui_command_names[CMD_COUNT] = {
    "train", "method", "methods", "models", "tasks", "runs", "show", "stop", "resume", "clone",
    "trash", "restore", "export", "map", "unseen", "help", "quit"};

const char *ui_command_name(int i) { return ui_command_names[i]; }

int ui_command_best(const char *typed) {
    int best = -1, score = -1;
    if (strchr(typed, ' ')) return -1;
    for (int i = 0; i < CMD_COUNT; i++) {
        int s = !strcmp(typed, ui_command_names[i]) ? 1 << 20 : prompt_match(typed, ui_command_names[i]);
        if (s > score) {
            score = s;
            best = i;
        }
    }
    return best;
}

void ui_command_complete(struct ui *ui) {
    int best = ui_command_best(ui->prompt.text);
    if (best < 0) return;
    char text[32];
    snprintf(text, sizeof text, "%s ", ui_command_names[best]);
    prompt_set(&ui->prompt, text);
}

/* The run a command is about: the number given, else the one under the cursor. */
static int64_t run_of(const struct ui *ui, const char *rest) {
    int64_t id;
    if (*rest == '#') rest++;
    if (text_to_int(rest, &id) && id > 0) return id;
    if (*rest) return 0;
    const struct screen *s = screen_at(ui->screen);
    return (s->run ? s : &screen_runs)->run(ui);
}

static void about_run(struct ui *ui, enum command command, const char *rest, struct effect *out) {
    int64_t run = run_of(ui, rest);
    if (run <= 0) {
        ui_say(ui, SAY_ERROR, "%s: which run? give its number, as in  :%s 3", ui_command_names[command],
               ui_command_names[command]);
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
    case CMD_STOP: ui_ask_stop(ui, run); break;
    case CMD_RESUME: out->kind = EFFECT_RESUME; break;
    case CMD_CLONE: out->kind = EFFECT_CLONE; break;
    case CMD_TRASH: out->kind = EFFECT_TRASH; break;
    case CMD_RESTORE: out->kind = EFFECT_RESTORE; break;
    default: break;
    }
}

/* ":map 12 13": kept sets. */
static void map_sets(struct ui *ui, const char *rest, struct effect *out) {
    int64_t set[MAP_PANELS];
    int sets = 0;
    char word[32];
    for (const char *at = rest; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", n < sizeof word ? (int)n : 0, at);
        if (sets == MAP_PANELS || !text_to_int(word, &set[sets]) || set[sets] < 1) {
            ui_say(ui, SAY_ERROR, "map: one or two numbers of kept sets, as in  :map 3   (petri embed --list)");
            return;
        }
        sets++;
        at += n;
    }
    if (sets) map_show_sets(ui, set, sets, out);
    else inspect_show(ui, SCREEN_MAP, out);
}

static void run_command(struct ui *ui, enum command command, const char *rest,
                        struct effect *out) {
    snprintf(out->text, sizeof out->text, "%s", rest);
    switch (command) {
    case CMD_TRAIN: out->kind = EFFECT_TRAIN; return;
    case CMD_METHOD: out->kind = EFFECT_METHOD_TEXT; return;
    case CMD_METHODS: compose_presets(ui); return;
    case CMD_MODELS: out->kind = *rest ? EFFECT_MODEL : EFFECT_LIST_MODELS; return;
    case CMD_TASKS: out->kind = *rest ? EFFECT_TASK : EFFECT_LIST_TASKS; return;
    case CMD_RUNS: ui_show(ui, SCREEN_RUNS); return;
    case CMD_MAP: map_sets(ui, rest, out); return;
    case CMD_UNSEEN: inspect_unseen(ui, rest, out); return;
    case CMD_HELP: ui_show(ui, SCREEN_HELP); return;
    case CMD_QUIT: ui_quit(ui, out); return;
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
    for (int i = 0; i < CMD_COUNT; i++) {
        if (strcmp(word, ui_command_names[i])) continue;
        run_command(ui, (enum command)i, rest, out);
        return;
    }
    const char *near = text_nearest(word, ui_command_names, CMD_COUNT);
    if (near) ui_say(ui, SAY_ERROR, "no command \"%s\"; %s is one", word, near);
    else ui_say(ui, SAY_ERROR, "no command \"%.40s\"; Tab completes, ? lists the keys", line);
}
