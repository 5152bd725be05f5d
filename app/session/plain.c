#include "app/session/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/series.h"
#include "app/session/child.h"
#include "app/session/others.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* ---- the prompt ---- */

static void say_what_there_is(void) {
    puts("Type one command per line, as after ':' on the screens:\n"
         "  VERB [OPTIONS]  run a verb of petri (help VERB describes it)\n"
         "  go SCREEN       print a screen: compose, train, runs, compare, sweep, heatmap or map\n"
         "  watch [RUN]     print a line for each point of a run\n"
         "  clone RUN       train with the options of RUN\n"
         "  quit            exit\n"
         "^C stops a command; a run that trains saves a checkpoint.");
}

/* The screens' own commands that do not work here, and their replacement. */
static const struct {
    const char *name;
    bool alone; /* without an argument it is a verb */
    const char *says;
} plain_others[] = {
    { "method", false, "use an option instead, for example  train --method lora" },
    { "models", true,
      "use an option instead, for example  train --model NAME; without an argument, models are listed" },
    { "unseen", false, "use an option instead, for example  map --run RUN --unseen NAME" },
    { "go", false, "missing screen name, for example  go runs" },
    { "clone", false, "missing run id, for example  clone 3" },
    { "page", false, "not available here: the output of each command is printed below it" },
    { "set", false, "applies to the screens only; use settings NAME=VALUE --write" },
};

/* Translates the screens' own commands to the command line: returns a line, or NULL with *said when an
 * answer was printed. */
static char *plain_line(const char *line, bool *said) {
    const char *at = line;
    char *first = text_word(&at), *rest = xstrdup(at + strspn(at, " ")), *out = NULL;
    *said = true;
    if (!strcmp(first, "help") && !*rest) say_what_there_is(), *said = false;
    else if (!strcmp(first, "go") && *rest) /* taller than a window: nothing scrolls here */
        out = xprintf("render --screen %s --size 80x40", rest);
    else if (!strcmp(first, "clone") && *rest) out = xprintf("train --like %s", rest);
    else if (!strcmp(first, "sort")) out = xprintf("runs --sort %s", *rest ? rest : "id");
    else if (!strcmp(first, "save-settings")) out = xstrdup("settings --write");
    else *said = false;
    for (size_t i = 0; i < COUNT_OF(plain_others) && !out; i++) {
        if (strcmp(first, plain_others[i].name) || (plain_others[i].alone && (!*rest || *rest == '-')))
            continue;
        printf("%s: %s\n", first, plain_others[i].says);
        *said = true;
    }
    *said = *said && !out;
    free(first);
    free(rest);
    return out;
}

static void plain_do(const struct session_verbs *verbs, const char *line, const char *database,
                     bool read_only) {
    struct err e = ERR_INIT;
    struct line_meaning m;
    bool said;
    int code = 0;
    char *other = plain_line(line, &said);
    if (said) return;
    int rc = verbs->mean(other ? other : line, database, &m, &e);
    free(other);
    if (rc) {
        printf("%s\n", e.text);
        return;
    }
    bool watches = !strcmp(m.word[0], "watch");
    if (read_only && !watches && m.kind != LINE_READS)
        puts("read-only: nothing can be started or changed");
    else if (child_run(m.word, m.words, &code, &e)) printf("%s\n", e.text);
    else if (code) printf("(exit code %d)\n", code);
    line_meaning_release(&m);
}

int plain_run(const struct session_verbs *verbs, const char *database, bool read_only, struct err *e) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    (void)e;
    puts("This terminal cannot position the cursor, so petri shows no screens. Type one command per line "
         "(help lists them).");
    for (;;) {
        fputs("petri> ", stdout);
        fflush(stdout);
        if ((n = getline(&line, &room, stdin)) < 0) break;
        while (n && strchr(" \t\r\n", line[n - 1])) line[--n] = '\0';
        const char *text = line + strspn(line, " \t:");
        if (!strcmp(text, "quit") || !strcmp(text, "q") || !strcmp(text, "exit")) break;
        if (*text) plain_do(verbs, text, database, read_only);
    }
    if (n < 0) putchar('\n');
    free(line);
    return 0;
}

/* ---- watching a run, one line per point ---- */

static void print_points(const struct series *v, size_t *points, size_t *evals) {
    while (*points < v->count || *evals < v->evals) {
        bool point = *points < v->count && (*evals == v->evals || v->step[*points] <= v->eval_step[*evals]);
        if (point) {
            size_t i = (*points)++;
            printf("step %.0f  loss %.4f  lr %.3g\n", v->step[i], v->loss[i], v->lr[i]);
        } else {
            size_t i = (*evals)++;
            if (isnan(v->eval_value[i])) printf("step %.0f  %s undefined\n", v->eval_step[i], v->metric);
            else printf("step %.0f  %s %.4f\n", v->eval_step[i], v->metric, v->eval_value[i]);
        }
    }
    fflush(stdout);
}

/* Returns the newest active run, or 0. */
static int newest_living(struct store *s, int64_t *run, struct err *e) {
    struct other_runs *o;
    int rc = other_runs_read(s, NULL, 0, &o, e);
    if (rc) return rc;
    *run = o->rows && o->row[0].state <= RUN_PAUSED ? o->row[0].id : 0;
    other_runs_free(o);
    return 0;
}

int plain_watch(struct store *s, int64_t run, struct err *e) {
    enum { LOOK_MS = 500 };
    int rc = 0;
    bool waited = false, over = false;
    while (!rc && !run) {
        rc = newest_living(s, &run, e);
        if (rc || run) break;
        if (!waited) puts("no active run; waiting for one to start (press ^C to exit)");
        waited = true;
        fflush(stdout);
        clock_sleep_ms(LOOK_MS);
    }
    if (rc) return rc;
    struct run_series *series = series_new(run);
    size_t points = 0, evals = 0;
    while (!rc && !over) {
        struct store_run r;
        if ((rc = store_run(s, run, &r, e))) break;
        if (!points && !evals) printf("run %lld: %s\n", (long long)run, r.method);
        over = !store_state_is_live(r.state);
        rc = series_read(series, s, &r, e);
        if (!rc) print_points(&series->view, &points, &evals);
        if (!rc && over)
            printf("run %lld is %s at step %lld\n", (long long)run, store_state_name(r.state),
                   (long long)r.step);
        store_run_release(&r);
        if (!over) clock_sleep_ms(LOOK_MS);
    }
    series_free(series);
    return rc;
}
