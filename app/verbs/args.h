/* The command line: one table of verbs and their options, from which parsing, --help,
 * the man page and completions for shells (shells.h) come. */
#ifndef APP_VERBS_ARGS_H
#define APP_VERBS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/session/line_kind.h"
#include "core/base/err.h"
#include "core/train/config/option_group.h"

struct args;
struct run_config;

/* How the value of an option is stored in its member. */
enum option_fills {
    FILLS_SHARED, /* with a member FILLS_FLAG or, with a placeholder, FILLS_TEXT; else the shared row of
                     this name */
    FILLS_FLAG, /* bool: given, other than as --NAME=off */
    FILLS_TEXT, /* const char *; NULL: not given */
    FILLS_TEXTS, /* struct option_texts: may be repeated */
    FILLS_INTEGER, /* int64_t within low…high, or a word: "L|retriever" */
    FILLS_NUMBER, /* double within low…high */
    FILLS_WORD, /* int: first + the place of the word in the placeholder */
    FILLS_CONFIG, /* of a run (core/train/config/option.h) or a sweep, set by args_config or sweep_set;
                     the member gets its text */
};

enum { OPTION_TEXTS = 96 };
enum { OVER_CLS, OVER_MEAN, OVER_USUAL = -1 };
#define OPTION_MOST 9e15 /* `high` without another bound */
struct option_texts {
    int count;
    const char *at[OPTION_TEXTS];
};

struct option_spec {
    const char *name;  /* without dashes; NULL ends the table */
    const char *value; /* placeholder, which lists words in lower case; NULL for a flag, and where
                          another row has it */
    const char *help;  /* missing fields of a run's option are taken from its row there */
    enum option_group group; /* of a run's option: as there */
    size_t member;           /* its offset in struct args; 0: none */
    enum option_fills fills;
    double low, high;
    double default_value; /* in the help where it is a valid value */
    int first;    /* value of the first word */
    bool above;   /* low itself is excluded */
    const char *const
        *aliases; /* as in struct option; ALIASES_OF_RUN: those of the run's option of this name */
    /* Checked by args_parse. */
    const char *excludes; /* options that cannot be given with it, separated by blanks; in capitals: a
                             positional argument */
    const char *needs;    /* likewise what it requires; "screen=runs|compare": with one of these values */
    int required;         /* of the rows with the same number one must be given; 0: optional */
    bool reads, changes;  /* a line with it only prints, or may change the database, whatever the verb does */
};
#define ALIASES(...) .aliases = (const char *const[]) { __VA_ARGS__, NULL }
extern const char *const args_aliases_of_run[];
#define ALIASES_OF_RUN .aliases = args_aliases_of_run
struct verb {
    const char *name;
    const char *synopsis; /* after the name: "RUN --text TEXT | --file FILE" */
    const char *help;     /* one line */
    const struct option_spec *options; /* ends with a NULL name */
    int least, most;      /* positional arguments; most -1: any number */
    /* Does the work; returns a process exit code through err_exit_code, or 0. */
    int (*run)(const struct args *a, struct err *e);
    enum line_kind kind; /* effect of a line inside the screens */
    const char *why;     /* of LINE_ELSEWHERE */
};
/* With FILLS_CONFIG, `name` may be several options of a run separated by blanks, or this: all others that the
 * table does not have. */
#define ARGS_REST "*"
/* Returns the verb's table with a row for each option, its placeholder, help and group complete; `defaults`
 * has the defaults of a run's options.  Caller frees. */
struct option_spec *args_table(const struct verb *v, const struct run_config *defaults);

/* The member of a row. */
#define AT(name) .member = offsetof(struct args, name)

enum { ARGS_OPTIONS = 96 };
struct args {
    const struct verb *verb;
    int count; /* positional */
    char *const *positional;
    int given;
    struct {
        const struct option_spec *spec;
        const char *name;  /* the name or alias that was given */
        const char *value; /* "" for a flag */
    } option[ARGS_OPTIONS];

    /* Options of several verbs; where they are missing texts are NULL and numbers the defaults of their
     * rows. */
    bool help, json, csv, markdown, list, overwrite, force, header, no_header, official_dev, ansi, svg, ascii,
        no_color;
    const char *db, *model, *task, *name, *note, *cell, *run, *from, *method, *classes, *regime, *out, *size;
    const char *file, *column, *text, *text_b, *label, *source, *target, *positive, *metric, *delimiter,
        *chat_template, *no_gold;
    const char *split, *unseen, *by;
    int kind, pool, cost, final, half, precision, weights_in;
    int64_t workers, rows, layer, seed, max_len, tasks;
    double margin;
    union { /* options of one verb */
        struct pretrain_options {
            struct option_texts text;
            const char *dev;
            int64_t layers, width, heads, vocab;
        } pretrain;
        struct sweep_options {
            bool dry_run;
            const char *budget, *slurm, *sbatch, *seeds;
            int64_t at_once, max_array;
        } sweep;
        struct train_options {
            const char *like, *seed, *seeds, *train, *tasks;
        } train;
        struct resume_options {
            int64_t batch, steps;
        } resume;
        struct shots_options {
            const char *k, *prototype, *start, *tune, *tasks;
            int64_t draws, steps, batch, eval_rows;
            double lr, stop_loss;
            bool zero, keep;
        } shots;
        struct eval_options {
            const char *wrong;
            int64_t batch, beams;
        } eval;
        struct predict_options {
            const char *fill;
            int64_t top;
        } predict;
        struct generate_given {
            const char *start, *first, *system;
            bool chat;
            int64_t beams, max_new, min_new, top_k;
            double length_penalty, temperature, top_p, min_p, repetition;
            struct option_texts stop;
        } generate;
        struct encode_options {
            bool tokens, chat;
            const char *system;
        } encode;
        struct runs_options {
            const char *sort;
            int64_t limit;
            bool trash;
        } runs;
        struct purge_options {
            bool all, lessons, yes;
        } purge;
        struct help_options {
            bool man;
            int completion;
        } more;
        struct replicate_options {
            const char *data, *page;
            int64_t budget;
            bool all, dry_run;
        } replicate;
        struct methods_options {
            const char *save, *forget, *to, *from;
        } methods;
        struct render_options {
            const char *filter, *set, *loss;
            int64_t sweep, matrix;
            int screen, part;
            bool trash, steps;
        } render;
        struct plot_options {
            const char *key;
            double smooth;
            int x;
            bool raw, log, log_x;
        } plot;
        struct similarity_options {
            int of, measure;
            int64_t row, head, matrix;
            int cluster;
        } similarity;
        struct map_options {
            const char *vectors, *labels, *columns, *skip;
            int64_t iterations;
            double perplexity;
            int by_task;
            bool steps, pca;
        } map;
        struct export_options {
            int to, outtype;
            const char *base;
        } to;
        struct merge_options {
            const char *weights, *head;
            int how;
            double density;
        } merge;
        struct learn_options {
            const char *handout;
            bool replay;
        } learn;
        struct screen_options {
            const char *theme, *mouse;
            bool readonly;
        } screen;
        struct option_texts adapter; /* import */
        const char *beside;          /* explain */
        bool flag;                   /* the one that show, settings, tag, watch or compare has */
        void *other[64];             /* of a table outside this program */
    };
};

/* Returns the index of the verb in argv, the first word that is neither an option nor its value; -1: none. */
int args_verb_at(int argc, char *const *argv);
/* Returns the verb's option, or one that every verb has, with this name or alias; NULL for none. */
const struct option_spec *args_find_option(const struct verb *v, const char *name);
/* Fills *a from argv without the verb.  ERR_USAGE names the option and the nearest known one, or the values
 * that it accepts.  An option given twice is refused unless it may be repeated. */
int args_parse(struct args *a, const struct verb *v, int argc, char **argv, char **room,
               struct err *e);
/* The end of the placeholder of an option that may be repeated. */
#define ARGS_AGAIN " (repeatable)"
/* Refuses a value of an option outside low…high, as args_parse does, for bounds that are not known before. */
int args_within(const char *name, int64_t value, int64_t low, int64_t high, struct err *e);
/* Sets the given options of a run, in their order. */
int args_config(const struct args *a, struct run_config *c, struct err *e);
/* Returns the positional arguments as one text, "task=reviews lora"; the caller frees. */
char *args_words(const struct args *a);
/* Returns the value of a given option as text, "on" for a flag. */
const char *args_typed(const struct args *a, int given);

/* Return a verb by index and by name. */
const struct verb *verb_at(size_t i); /* NULL past the end */
/* Returns petri without a verb, for its options. */
const struct verb *verb_alone(void);
const struct verb *verb_find(const char *name);
/* Sets ERR_USAGE for an unknown verb, with the nearest known one. */
int verb_unknown(const char *word, struct err *e);
/* Returns the options of every verb; ends with a NULL name. */
const struct option_spec *args_common(void);
/* Print `petri --help` and `petri VERB --help` to standard output. */
void args_help(void);
void args_help_verb(const struct verb *v);

#endif
