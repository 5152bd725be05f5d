/* The table of training options: one row per member of struct run_config. config.c, config_json.c,
 * config_command.c and Compose iterate over it. */
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
    OPTION_SHARE,  /* a double: a share below 1, also given as a percentage; an integer from 1 */
    OPTION_WORD,   /* an enum; words in its order */
    OPTION_SWITCH, /* a bool: on, off */
    OPTION_FLAG,   /* a bool that is set on the command line without a value */
    OPTION_KEEP,   /* bits */
};
enum { /* properties of an option */
       OPTION_DECIDES = 1, /* changes the result of the run */
       OPTION_MODEL = 2, /* identifies the model */
       OPTION_ROWS = 4, /* selects the data or determines how files are parsed */
       OPTION_SHOWN = 8, /* printed in the command line even at its default */
       OPTION_READ = 16, /* determines how examples are formatted and tokenized */
       OPTION_EACH = 32, /* an OPTION_ROWS option that a multi-task run sets once for every task */
       OPTION_RARE = 64, /* a text or flag that is omitted from JSON where it is not set */
       OPTION_LATE =
           128, /* an option that older versions did not have: omitted from JSON and key where it is off or not set */
};
/* The runs to which an option applies. */
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

/* Parses the value of an OPTION_TEXT once, when it is set. The member then points to the struct that `parse`
 * fills: it has no pointers into itself, and its last member, `char text[]` at offset `text`, is the text as
 * given. With `text` 0 the member points to the text alone, which `parse` validates. */
struct option_parser {
    size_t text;
    int (*parse)(const char *text, void *value, struct err *e); /* `value` is zeroed; ERR_USAGE */
};
/* Parses `text` and returns the value; caller frees. Returns NULL with *e on failure. */
void *option_parse(const struct option_parser *p, const char *text, struct err *e);

struct option {
    const char *key;  /* JSON */
    const char *name; /* on the command line; NULL: cannot be set there */
    enum option_group group;
    enum option_kind kind;
    size_t offset;
    int is; /* OPTION_ bits */
    enum option_scope scope;
    double low, high; /* inclusive */
    bool above;       /* `low` is excluded */
    /* A value outside the range that means "not set"; `unset_word` is its name on the command line, or NULL
     * where it cannot be given. */
    bool has_unset;
    double unset;
    const char *unset_word;
    const struct option_parser *parser; /* of an OPTION_TEXT; NULL: any text */
    const char *const *word;
    const char *joined; /* separator between the words of a set; NULL: a comma */
    int first; /* value of word[0] */
    const char *values, *help;
    const char *const *aliases; /* further names, hidden from help: older ones, and those that transformers,
                                   peft and mlx-lm give the same setting; NULL ends them */
};
/* Returns the name or the alias that equals `given`, where '_' equals '-'; NULL for none.  Name and aliases
 * may be NULL. */
const char *option_spelling(const char *name, const char *const *aliases, const char *given);
/* Appends the name and its aliases to list[*n], up to `room` entries. */
void option_add_names(const char *name, const char *const *aliases, const char **list, size_t room,
                      size_t *n);
size_t option_count(void);
const struct option *option_at(size_t i);
/* Returns the option with this name or alias; NULL when unknown. */
const struct option *option_find(const char *name);
/* The words of --average and --best by enum value; NULL after the last. */
extern const char *const option_averages[], *const option_bests[];

/* Returns whether the option is the maximum length (struct run_config.max_len_given). */
bool option_is_length(const struct option *o);
/* Returns whether the option applies to a run with this config (`texts`: text-to-text). */
bool option_has_say(const struct run_config *c, const struct option *o, bool texts);
/* Returns whether the option describes the data of one task, so that a multi-task run cannot set it for
 * all. */
bool option_of_one_task(const struct option *o);
/* Returns the address of the value of an OPTION_TEXT; option_text returns its text, NULL where it is not
 * set. */
void **option_member(const struct run_config *c, const struct option *o);
const char *option_text(const struct run_config *c, const struct option *o);
double option_number(const void *of, const struct option *o);
void option_set_number(void *of, const struct option *o, double v);
bool option_in_range(const struct option *o, double v);
/* Returns the values of the option in words, for example "a number above 0, or default"; caller frees. */
char *option_values(const struct option *o);
/* Prints and parses a number, a word, a flag or a set of words in the struct to which the row's offset
 * refers. option_print_value: caller frees; option_take_value returns false for a value outside the range. */
char *option_print_value(const void *of, const struct option *o);
bool option_take_value(void *of, const struct option *o, const char *value);
/* Returns the value in the form of the command line, "" where it is not set; caller frees. */
char *option_print(const struct run_config *c, const struct option *o);
/* Sets a value in that form; returns false for an invalid value (*e holds the error of a method or a
 * parser). */
bool option_take(struct run_config *c, const struct option *o, const char *value, struct err *e);
/* Returns whether JSON and key omit the option (OPTION_LATE). */
bool option_is_left_out(const struct run_config *c, const struct option *o);
bool option_same(const struct run_config *a, const struct run_config *b, const struct option *o);
void option_copy(struct run_config *to, const struct run_config *from, const struct option *o);
/* Resets the option to its default; a text to NULL. */
void option_reset(struct run_config *c, const struct option *o);

#endif
