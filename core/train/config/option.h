/* The table of a run's options: one row a member of struct run_config.  config.c, config_json.c,
 * config_command.c and Compose walk it. */
#ifndef CORE_TRAIN_CONFIG_OPTION_H
#define CORE_TRAIN_CONFIG_OPTION_H

#include "core/train/config/config.h"
#include "core/train/config/option_group.h"

enum option_kind {
    OPTION_TEXT,
    OPTION_METHOD,
    OPTION_INT,
    OPTION_INT64,
    OPTION_UINT64,
    OPTION_DOUBLE,
    OPTION_SHARE,  /* a double: below 1 a share, also as a percentage; from 1 on a whole number */
    OPTION_WORD,   /* an enum; words in its order */
    OPTION_SWITCH, /* a bool: on, off */
    OPTION_FLAG,   /* a bool that the command line turns on without a value */
    OPTION_KEEP,   /* bits */
};
enum { /* what a row is besides */
       OPTION_DECIDES = 1, /* part of what a run computes */
       OPTION_MODEL = 2, /* says which model */
       OPTION_ROWS = 4, /* says which rows, and how they are read */
       OPTION_SHOWN = 8, /* stands in the command line even at its default */
       OPTION_READ = 16, /* says how the rows are put and encoded */
       OPTION_EACH = 32, /* of the rows of a run with several tasks it is said once, for each */
       OPTION_RARE = 64, /* a text or flag that is left out of the JSON where it is not set */
       OPTION_LATE =
           128, /* a switch that came later: where it is off, JSON and key are as before there was one */
};
/* In which runs it has a say. */
enum option_scope {
    OPTION_EVERY,
    OPTION_OF_ADAMW,
    OPTION_OF_SGD,
    OPTION_OF_TEXTS,
    OPTION_OF_TASKS,
    OPTION_OF_JOIN,
    OPTION_OF_META,
    OPTION_OF_ROWS,
    OPTION_OF_PROMPT_TEXT,
    OPTION_OF_SHARED,
    OPTION_OF_MASKED,
    OPTION_OF_PRODUCT,
    OPTION_OF_TEACHERS
};

/* How the value of an OPTION_TEXT is parsed once, when it is set.  The member then points to what `parse`
 * fills, a struct without pointers into itself whose last member, `char text[]` at offset `text`, is the text
 * as it was given; with `text` 0 to the text alone, which `parse` checks. */
struct option_parser {
    size_t text;
    int (*parse)(const char *text, void *value, struct err *e); /* `value` is zeroed; ERR_USAGE */
};
/* A value of such a parser; caller frees.  NULL with *e. */
void *option_parse(const struct option_parser *p, const char *text, struct err *e);

struct option {
    const char *key;  /* JSON */
    const char *name; /* on the command line; NULL: not set there */
    enum option_group group;
    enum option_kind kind;
    size_t offset;
    int is; /* OPTION_ bits */
    enum option_scope scope;
    double low, high; /* inclusive */
    bool above;       /* low itself is excluded */
    /* A value outside the range that stands for what is not decided; `unset_word` on the command
     * line, or NULL where it cannot be asked for. */
    bool has_unset;
    double unset;
    const char *unset_word;
    const struct option_parser *parser; /* of an OPTION_TEXT; NULL: any text */
    const char *const *word;
    const char *joined; /* what is between the words of a set; NULL: a comma */
    int first; /* value of word[0] */
    const char *values, *help;
    const char *const *aliases; /* further names, hidden from help: older ones, and those that transformers,
                                   peft and mlx-lm give the same setting; NULL ends them */
};
/* Returns the name or the alias that equals `given`, where '_' equals '-'; NULL for none.  Name and aliases may
 * be NULL. */
const char *option_spelling(const char *name, const char *const *aliases, const char *given);
/* Appends the name and its aliases to list[*n], up to `room` entries. */
void option_add_names(const char *name, const char *const *aliases, const char **list, size_t room,
                      size_t *n);
size_t option_count(void);
const struct option *option_at(size_t i);
/* Returns the option with this name or alias; NULL when unknown. */
const struct option *option_find(const char *name);
/* The words of --average and --best, by number; NULL after the last. */
extern const char *const option_averages[], *const option_bests[];

/* Whether it has a say in such a run (`texts`: text to text). */
bool option_has_say(const struct run_config *c, const struct option *o, bool texts);
/* Whether it says how the rows of one task are read, which a run with several cannot say of all. */
bool option_of_one_task(const struct option *o);
/* Of an OPTION_TEXT: where its value is; its text, NULL where it is not set. */
void **option_member(const struct run_config *c, const struct option *o);
const char *option_text(const struct run_config *c, const struct option *o);
double option_number(const void *of, const struct option *o);
void option_set_number(void *of, const struct option *o, double v);
bool option_in_range(const struct option *o, double v);
/* Writes and reads a number, a word, a flag or a set of words in the struct that the row's offset is in;
 * print: caller frees,
 * take: false when it is not in the row's range. */
char *option_print_value(const void *of, const struct option *o);
bool option_take_value(void *of, const struct option *o, const char *value);
/* The value as the command line takes it, "" when it has none; caller frees. */
char *option_print(const struct run_config *c, const struct option *o);
/* Takes a value in that form; false when it is not in the row's range (the error of a method or a parser is in *e). */
bool option_take(struct run_config *c, const struct option *o, const char *value, struct err *e);
bool option_is_left_out(const struct run_config *c, const struct option *o); /* as OPTION_LATE says */
bool option_same(const struct run_config *a, const struct run_config *b, const struct option *o);
void option_copy(struct run_config *to, const struct run_config *from, const struct option *o);
/* Back to its default; a text to none. */
void option_reset(struct run_config *c, const struct option *o);

#endif
