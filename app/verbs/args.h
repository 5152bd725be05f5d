/* The command line: one table of verbs and their options, from which parsing, --help,
 * the man page and completions for shells (shells.h) come. */
#ifndef APP_VERBS_ARGS_H
#define APP_VERBS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct args;

struct option_spec {
    const char *name;  /* without dashes */
    const char *value; /* placeholder, or NULL for a switch */
    const char *help;  /* NULL: another spelling, not listed */
};

struct verb {
    const char *name;
    const char *synopsis; /* what follows the name: "RUN --text TEXT | --file FILE" */
    const char *help;     /* one line */
    const struct option_spec *options; /* ends with a NULL name */
    int least, most;      /* positional arguments; most -1: any number */
    /* Does the work; returns a process exit code through err_exit_code, or 0. */
    int (*run)(const struct args *a, struct err *e);
};

enum { ARGS_OPTIONS = 96 };
struct args {
    const struct verb *verb;
    int count; /* positional */
    char *const *positional;
    int given;
    struct {
        const struct option_spec *spec;
        const char *value; /* "" for a switch */
    } option[ARGS_OPTIONS];
};

/* Where the verb is in argv: the first word that is no option nor an option's value; -1: none. */
int args_verb_at(int argc, char *const *argv);
/* argv without the verb.  ERR_USAGE names the option and the nearest known one.  An option
 * given twice is refused, but where it may be given again and again. */
int args_parse(struct args *a, const struct verb *v, int argc, char **argv, char **room,
               struct err *e);
/* How the placeholder of an option ends that may be given again and again; and all that were given, returns how many. */
#define ARGS_AGAIN " (again and again)"
int args_all(const struct args *a, const char *name, const char *value[ARGS_OPTIONS]);
/* NULL when not given; the first of several. */
const char *args_get(const struct args *a, const char *name);
/* Whether it is given, a switch other than as --NAME=off. */
bool args_flag(const struct args *a, const char *name);
/* *out is untouched when the option is not given.  ERR_USAGE outside lo…hi. */
int args_int(const struct args *a, const char *name, int64_t lo, int64_t hi, int64_t *out,
             struct err *e);

/* The verbs, and one by name. */
const struct verb *verb_at(size_t i); /* NULL past the end */
/* petri without a verb: its options. */
const struct verb *verb_alone(void);
const struct verb *verb_find(const char *name);
/* ERR_USAGE: there is no such verb; names the nearest. */
int verb_unknown(const char *word, struct err *e);
/* The options that every verb has; ends with a NULL name. */
const struct option_spec *args_common(void);
/* `petri --help` and `petri VERB --help`, to standard output. */
void args_help(void);
void args_help_verb(const struct verb *v);

#endif
