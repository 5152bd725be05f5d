#include "app/verbs/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

enum { OPTION_COLUMNS = 22 }; /* of an option and its value in the help */

static const struct option_spec COMMON[] = {
    { "json", NULL, "print JSON" },
    { "db", "FILE", "the database (default: $XDG_DATA_HOME/petri/petri.db)" },
    { "help", NULL, "this help" },
    { NULL, NULL, NULL },
};

/* "DIR, again and again" */
static bool args_repeats(const struct option_spec *o) { return o->value && text_ends(o->value, ARGS_AGAIN); }

static const struct option_spec *find_in(const struct option_spec *list, const char *name) {
    for (; list->name; list++)
        if (!strcmp(list->name, name)) return list;
    return NULL;
}

static const struct option_spec *args_find_option(const struct verb *v, const char *name) {
    const struct option_spec *o = v->options ? find_in(v->options, name) : NULL;
    return o ? o : find_in(COMMON, name);
}

static int args_unknown_option(const struct verb *v, const char *name, struct err *e) {
    const char *names[ARGS_OPTIONS];
    size_t n = 0;
    for (const struct option_spec *o = v->options; o && o->name && n < ARGS_OPTIONS; o++)
        names[n++] = o->name;
    for (const struct option_spec *o = COMMON; o->name && n < ARGS_OPTIONS; o++) names[n++] = o->name;
    const char *near = text_nearest(name, names, n);
    const char *space = *v->name ? " " : "";
    if (near)
        return err_set(e, ERR_USAGE, "petri%s%s has no option --%s; did you mean --%s?", space, v->name,
                       name, near);
    return err_set(e, ERR_USAGE, "petri%s%s has no option --%s; petri%s%s --help lists them", space,
                   v->name, name, space, v->name);
}

/* Before the verb is known: the options of all are looked through. */
static bool takes_value(const char *name) {
    const struct option_spec *o = find_in(COMMON, name);
    const struct verb *v;
    for (size_t i = 0; !o && (v = verb_at(i)); i++) o = v->options ? find_in(v->options, name) : NULL;
    return o && o->value;
}

int args_verb_at(int argc, char *const *argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
        if (strncmp(argv[i], "--", 2)) return i;
        if (!strchr(argv[i], '=') && takes_value(argv[i] + 2)) i++;
    }
    return -1;
}

int args_parse(struct args *a, const struct verb *v, int argc, char **argv, char **room,
               struct err *e) {
    *a = (struct args){ .verb = v, .positional = room };
    bool plain = false;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (!plain && !strcmp(word, "--")) {
            plain = true;
            continue;
        }
        if (plain || strncmp(word, "--", 2)) {
            if (!plain && word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9'))
                return err_set(e, ERR_USAGE, "options begin with two dashes: %s", word);
            room[a->count++] = word;
            continue;
        }
        char *equals = strchr(word, '=');
        char *name = equals ? xstrndup(word + 2, (size_t)(equals - word - 2)) : xstrdup(word + 2);
        const struct option_spec *o = args_find_option(v, name);
        int rc = 0;
        const char *value = "";
        if (!o) rc = args_unknown_option(v, name, e);
        else if (!o->value && equals && strcmp(equals + 1, "on") && strcmp(equals + 1, "off"))
            rc = err_set(e, ERR_USAGE, "--%s takes no value (or =off, where a run that is like another has it)", name);
        else if (!o->value && equals) value = equals + 1;
        else if (o->value && equals) value = equals + 1;
        else if (o->value && i + 1 < argc) value = argv[++i];
        else if (o->value) rc = err_set(e, ERR_USAGE, "--%s needs a value: %s", name, o->value);
        if (!rc && !args_repeats(o) && args_get(a, name)) rc = err_set(e, ERR_USAGE, "--%s is given twice", name);
        if (!rc && a->given == ARGS_OPTIONS) rc = err_set(e, ERR_USAGE, "too many options");
        free(name);
        if (rc) return rc;
        a->option[a->given].spec = o;
        a->option[a->given++].value = value;
    }
    if (args_flag(a, "help")) return 0;
    if (a->count < v->least || (v->most >= 0 && a->count > v->most))
        return err_set(e, ERR_USAGE, "usage: petri%s%s %s", *v->name ? " " : "", v->name, v->synopsis);
    return 0;
}

const char *args_get(const struct args *a, const char *name) {
    for (int i = 0; i < a->given; i++)
        if (!strcmp(a->option[i].spec->name, name)) return a->option[i].value;
    return NULL;
}

int args_all(const struct args *a, const char *name, const char *value[ARGS_OPTIONS]) {
    int n = 0;
    for (int i = 0; i < a->given; i++)
        if (!strcmp(a->option[i].spec->name, name)) value[n++] = a->option[i].value;
    return n;
}

bool args_flag(const struct args *a, const char *name) {
    for (int i = 0; i < a->given; i++)
        if (!strcmp(a->option[i].spec->name, name)) return a->option[i].spec->value || strcmp(a->option[i].value, "off");
    return false;
}

int args_int(const struct args *a, const char *name, int64_t lo, int64_t hi, int64_t *out,
             struct err *e) {
    const char *text = args_get(a, name);
    if (!text) return 0;
    int64_t v;
    if (!text_to_int(text, &v) || v < lo || v > hi)
        return err_set(e, ERR_USAGE, "--%s must be a whole number from %lld to %lld, not \"%s\"", name,
                       (long long)lo, (long long)hi, text);
    *out = v;
    return 0;
}

const struct verb *verb_find(const char *name) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++)
        if (!strcmp(v->name, name)) return v;
    return NULL;
}

int verb_unknown(const char *word, struct err *e) {
    const char *names[64];
    size_t n = 0;
    for (const struct verb *v; n < COUNT_OF(names) && (v = verb_at(n)); n++) names[n] = v->name;
    const char *near = text_nearest(word, names, n);
    if (!strcmp(word, "bench"))
        return err_set(e, ERR_USAGE, "bench is not a verb; in a clone of the project, run \"make bench\" (build/bench); "
                       "\"petri doctor\" measures one core");
    if (near) return err_set(e, ERR_USAGE, "no verb \"%s\"; did you mean %s?", word, near);
    return err_set(e, ERR_USAGE, "no verb \"%s\"; petri --help lists them", word);
}

const struct option_spec *args_common(void) { return COMMON; }

static void print_options(const struct option_spec *o) {
    for (; o && o->name; o++) {
        char left[128];
        if (!o->help) continue;
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        /* padded by columns, not bytes; a long name has a line of its own */
        int gap = OPTION_COLUMNS - text_width(left);
        if (gap < 0) printf("  %s\n%*s%s\n", left, OPTION_COLUMNS + 3, "", o->help);
        else printf("  %s%*s %s\n", left, gap, "", o->help);
    }
}

void args_help_verb(const struct verb *v) {
    printf("petri%s%s %s\n%s\n\n", *v->name ? " " : "", v->name, v->synopsis, v->help);
    print_options(v->options);
    print_options(COMMON);
}

/* The overview: verbs that belong together share a line, so that it fits a screen. */
static const struct {
    const char *verbs, *help;
} OVERVIEW[] = {
    { "train, stop, resume", "train a method on a task; the run is kept" },
    { "pretrain, fetch", "train a model of texts alone; bring a published one" },
    { "adapt, fewshot", "a new task, or many, from few rows" },
    { "runs, show, watch, sql", "the history, one run of it, its curves, SQL" },
    { "name, tag, note", "words of your own on runs" },
    { "trash, restore, purge", "runs into the trash, out of it, and gone for good" },
    { "eval, predict, generate", "score, label, write: a run or a model on rows" },
    { "encode", "token ids and vectors of a text" },
    { "count, methods", "parameters of a method; the published ones" },
    { "explain, learn", "a method on a page; lessons that the engine runs" },
    { "tasks, models, settings", "what is at hand; colours, marks and mouse" },
    { "embed, map, similarity", "vectors, their plane, matrices of likeness" },
    { "export, import", "points, records and weights, out and in" },
    { "merge, merge-adapters", "databases into one; adapters of runs into one" },
    { "sweep, compare", "runs over lists of values; runs side by side" },
    { "replicate", "a paper's experiment beside what it published" },
    { "plot, render", "curves of runs, or a screen, as text or SVG" },
    { "doctor", "check processor, kernels, terminal and database" },
};

void args_help(void) {
    printf("petri: compose, train, watch and compare parameter-efficient fine-tuning.\n"
           "petri alone opens the terminal workbench; petri VERB:\n");
    for (size_t i = 0; i < COUNT_OF(OVERVIEW); i++) printf("  %-26s %s\n", OVERVIEW[i].verbs, OVERVIEW[i].help);
    printf("\nAlone:");
    for (const struct option_spec *o = verb_alone()->options; o->name; o++) printf(" --%s", o->name);
    printf(".\npetri help VERB tells more.  Everywhere: --db FILE, --json.  petri --version.\n");
}
