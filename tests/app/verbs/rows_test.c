/* A row of a verb's table is enough: parsing, range, help and completion come from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs/values.h"
#include "core/base/mem.h"
#include "core/train/config/option.h"
#include "tests/support/test.h"

struct rows_options {
    int64_t depth, slot;
    double share;
    int order;
    bool loud;
    struct option_texts from;
};
#define OWN(name) .member = offsetof(struct args, other) + offsetof(struct rows_options, name)
static const struct option_spec ROWS[] = {
    { "depth", "N", "how deep", GROUP_DATA, OWN(depth), FILLS_INTEGER, 1, 9, 4 },
    { "slot", "N|first", "which one", GROUP_DATA, OWN(slot), FILLS_INTEGER, 1, OPTION_MOST, -1, .first = -7, .excludes = "share WHAT" },
    { "share", "X", "how much", GROUP_SCHEDULE, OWN(share), FILLS_NUMBER, 0, 1, .above = true },
    { "order", "up|down", "which way", GROUP_OUTPUT, OWN(order), FILLS_WORD, .default_value = 1 },
    { "loud", NULL, "say more", GROUP_OUTPUT, OWN(loud), .needs = "order=up depth" },
    { "from", "FILE" ARGS_AGAIN, "what is read", GROUP_DATA, OWN(from), FILLS_TEXTS },
    { "task", .help = "which task" },
    { .name = "workers rows" },
    { "batch lr", .fills = FILLS_CONFIG },
    { NULL },
};
static const struct option_spec REQUIRED[] = {
    { "depth", "N", "how deep", GROUP_DATA, OWN(depth), FILLS_INTEGER, 1, 9, .required = 1 },
    { "order", "up|down", "which way", GROUP_OUTPUT, OWN(order), FILLS_WORD, .required = 2 },
    { "from", "FILE", "what is read", GROUP_DATA, OWN(from), FILLS_TEXTS, .required = 1 },
    { NULL },
};
static struct verb verb = { "rows", "[WHAT]", "a table", ROWS, 0, 1, .run = NULL };
static const struct verb strict = { "strict", "", "a table", REQUIRED, 0, 0, .run = NULL };

static int parse_of(const struct verb *v, struct args *a, const char *line, struct err *e) {
    static char copy[256], *word[32], *room[32];
    char *rest = strcpy(copy, line);
    int n = 0;
    for (char *one; (one = strsep(&rest, " "));)
        if (*one) word[n++] = one;
    return args_parse(a, v, n, word, room, e);
}

static int parse(struct args *a, const char *line, struct err *e) { return parse_of(&verb, a, line, e); }

static void a_row_fills_its_member(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct args a;
    const struct rows_options *o = (const struct rows_options *)a.other;
    test_ok(parse(&a, "", &e), &e);
    assert_int_equal(o->depth, 4);
    assert_int_equal(o->slot, -1);
    assert_int_equal(o->order, 1);
    assert_true(o->share == 0 && !o->loud && !o->from.count && !a.task && !a.workers);
    test_ok(parse(&a, "--depth 9 --slot first --order up --loud --from a --from b --task t --workers 3", &e), &e);
    assert_int_equal(o->depth, 9);
    assert_int_equal(o->slot, -7);
    assert_true(o->loud);
    assert_int_equal(o->order, 0);
    assert_int_equal(o->from.count, 2);
    assert_string_equal(o->from.at[1], "b");
    assert_string_equal(a.task, "t");
    assert_int_equal(a.workers, 3);
}

static void what_is_out_of_range_is_refused_in_one_form(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "--depth 10", "--depth: must be an integer between 1 and 9, found \"10\"" },
        { "--depth 1.5", "--depth: must be an integer between 1 and 9, found \"1.5\"" },
        { "--slot 0", "--slot: must be an integer of at least 1 or first, found \"0\"" },
        { "--share 0", "--share: must be a number above 0 and at most 1, found \"0\"" },
        { "--share nan", "--share: must be a number above 0 and at most 1, found \"nan\"" },
        { "--order dwon", "--order: must be up or down, found \"dwon\"; did you mean down?" },
        { "--workers 65", "--workers: must be an integer between 1 and 64, found \"65\"" },
        { "--depth 1 --depth 2", "--depth: given twice" },
        { "--lr 1 --learning-rate 2", "--lr: the same option as --learning-rate; use one of them" },
        { "--dept 1", "did you mean --depth?" },
    };
    struct args a;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        int rc = parse(&a, cases[i][0], &e);
        test_refused(rc, ERR_USAGE, &e, cases[i][1]);
    }
}

static void what_rows_say_of_others_is_held(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        { "--share 0.5 --slot 1", "--slot: cannot be combined with --share" },
        { "--slot 1 here", "--slot: cannot be combined with WHAT" },
        { "--loud", "--loud: requires --order up" },
        { "--loud --order down", "--loud: requires --order up" },
        { "--order up --loud", "--loud: requires --depth" },
    };
    static const char *const lacking[][2] = { { "", "petri strict: requires --depth or --from" },
                                              { "--depth 1", "petri strict: requires --order" } };
    struct args a;
    struct err e = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int rc = parse(&a, cases[i][0], &e);
        test_refused(rc, ERR_USAGE, &e, cases[i][1]);
        e = (struct err)ERR_INIT;
    }
    for (size_t i = 0; i < COUNT_OF(lacking); i++) {
        int rc = parse_of(&strict, &a, lacking[i][0], &e);
        test_refused(rc, ERR_USAGE, &e, lacking[i][1]);
        e = (struct err)ERR_INIT;
    }
    test_ok(parse(&a, "--slot 1 --loud=off", &e), &e);
    test_ok(parse(&a, "--share 1 here --order up --loud --depth 2", &e), &e);
    test_ok(parse_of(&strict, &a, "--from a --order up", &e), &e);
    test_ok(parse_of(&strict, &a, "--help", &e), &e);
}

static void options_of_a_run_are_set_by_their_own_rows(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct args a;
    struct run_config c;
    config_init(&c);
    test_ok(parse(&a, "--batch-size 7 --lr 0.5", &e), &e);
    test_ok(args_config(&a, &c, &e), &e);
    assert_int_equal(c.batch, 7);
    assert_true(c.lr == 0.5);
    test_ok(parse(&a, "--batch 0", &e), &e);
    int rc = args_config(&a, &c, &e);
    test_refused(rc, ERR_USAGE, &e, "--batch 0: must be");
    config_release(&c);
}

static const struct option_spec *row(const char *name) {
    const struct option_spec *o = verb.options;
    while (o->name && strcmp(o->name, name)) o++;
    return o;
}

static void help_and_completion_have_it(void **state) {
    (void)state;
    struct values v;
    char text[4096];
    FILE *f = tmpfile();
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    dup2(fileno(f), STDOUT_FILENO);
    args_help_verb(&verb);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    static const char *const says[] = { "--depth N", "how deep (default 4)\n", "which way (default down)\n", "which one\n",
                                        "which task\n", "batch size: examples per training step (default 32)\n", "--workers N" };
    for (size_t i = 0; i < COUNT_OF(says); i++)
        if (!strstr(text, says[i])) fail_msg("help does not say \"%s\": %s", says[i], text);
    values_of_option(row("order"), &v);
    assert_string_equal(buf_text(&v.words), "up down");
    values_release(&v);
    values_of_option(row("depth"), &v);
    assert_int_equal(v.kinds, VALUE_FREE);
    values_release(&v);
}

static void each_option_has_a_group_and_a_help(void **state) {
    (void)state;
    const struct verb *v;
    for (size_t i = 0; i < option_count(); i++)
        if (option_at(i)->name && option_at(i)->group == GROUP_RUN) fail_msg("--%s of a run has no group", option_at(i)->name);
    for (size_t i = 0; (v = verb_at(i)) || i == 0; i++)
        for (const struct option_spec *o = v->options; o && o->name; o++) {
            if (o->group <= GROUP_RUN || o->group >= OPTION_GROUPS) fail_msg("petri %s --%s has no group", v->name, o->name);
            if (!o->help || !*o->help) fail_msg("petri %s --%s has no help", v->name, o->name);
            if (o->fills != FILLS_CONFIG && !o->member) fail_msg("petri %s --%s fills nothing", v->name, o->name);
        }
}

/* "Train a method on a task": begins with one of these verbs, on one line, without a full stop. */
static void each_verb_has_an_imperative_line(void **state) {
    (void)state;
    static const char verbs[] = " Adapt Add Chat Check Compare Compute Count Delete Embed Encode Evaluate Explain Export Fetch Generate "
                                "Import Learn List Map Merge Move Name Open Plot Predict Pretrain Query Render Replicate Restore "
                                "Resume Set Show Stop Sweep Train Watch ";
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)) || i == 0; i++) {
        char *first = xprintf(" %.*s ", (int)strcspn(v->help, " "), v->help);
        size_t n = strlen(v->help);
        if (!strstr(verbs, first) || strchr(v->help, '\n') || v->help[n - 1] == '.' || n > 100)
            fail_msg("petri %s: %s", v->name, v->help);
        free(first);
    }
}

static void help_of_train_has_the_terms_of_its_field(void **state) {
    (void)state;
    static const char *const terms[] = { "learning rate", "batch size", "optimizer", "epochs", "training set", "validation",
                                         "checkpoint", "sequence length" };
    const struct verb *train = verb_find("train");
    for (size_t i = 0; i < COUNT_OF(terms); i++) {
        bool found = false;
        for (const struct option_spec *o = train->options; o->name; o++) found |= strstr(o->help, terms[i]) != NULL;
        if (!found) fail_msg("petri train --help lacks \"%s\"", terms[i]);
    }
}

/* Whether "NAME" or "NAME=WORD|WORD" is of a verb's options or of those of all; "NAME" in capitals: of its synopsis. */
static bool names_an_option(const struct verb *v, char *name) {
    const struct option_spec *lists[] = { v->options, args_common() };
    char *words = name, *word;
    bool found = name[0] <= 'Z' && strstr(v->synopsis, name);
    strsep(&words, "=");
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct option_spec *o = lists[i]; o->name; o++) {
            if (strcmp(o->name, name)) continue;
            found = true;
            while ((word = strsep(&words, "|")))
                if (!strstr(o->value, word)) fail_msg("petri %s --%s is never %s", v->name, name, word);
        }
    return found;
}

/* A row that several verbs share may exclude what only some of them have. */
static bool names_one_of_any(char *name) {
    const struct verb *v;
    bool found = false;
    for (size_t i = 0; (v = verb_at(i)); i++) found |= v->options && names_an_option(v, name);
    return found;
}

static void rows_speak_of_options_that_are_there(void **state) {
    (void)state;
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++)
        for (const struct option_spec *o = v->options; o && o->name; o++) {
            char *excludes = xcopy(o->excludes), *needs = xcopy(o->needs), *rest = excludes, *of = needs, *one;
            while ((one = strsep(&rest, " ")))
                if (!names_one_of_any(one)) fail_msg("petri %s --%s excludes %s, which there is not", v->name, o->name, one);
            while ((one = strsep(&of, " ")))
                if (!names_an_option(v, one)) fail_msg("petri %s --%s needs %s, which it has not", v->name, o->name, one);
            free(excludes), free(needs);
        }
}

static int make_table(void **state) {
    (void)state;
    struct run_config usual;
    config_init(&usual);
    verb.options = args_table(&verb, &usual);
    config_release(&usual);
    return 0;
}

/* A verb's option by each of its aliases fills the same member with the same value. */
static void aliases_fill_the_same(void **state) {
    (void)state;
    const struct verb *v;
    int aliases = 0;
    for (size_t i = 0; (v = verb_at(i)); i++)
        for (const struct option_spec *o = v->options; o && o->name; o++)
            for (int k = 0; o->aliases && o->aliases[k]; k++) {
                static struct args a[2];
                struct err e = ERR_INIT;
                char *room[2], *value = o->fills == FILLS_WORD ? xprintf("%.*s", (int)strcspn(o->value, "|"), o->value)
                                                                  : xprintf("%g", o->low > 1 ? o->low : 1);
                for (int at = 0; at < 2; at++) {
                    char *option = xprintf("--%s", at ? o->aliases[k] : o->name);
                    char *argv[] = { option, value, "x", "x" };
                    int rc = args_parse(&a[at], v, 2 + v->least, argv, room, &e);
                    if (rc && !strstr(e.text, ": requires ")) fail_msg("%s", e.text); /* what else the line lacks */
                    e = (struct err)ERR_INIT;
                    assert_ptr_equal(a[at].option[0].spec, o);
                    a[at].given = 0;
                    memset(a[at].option, 0, sizeof a[at].option);
                    free(option);
                }
                if (memcmp(&a[0], &a[1], sizeof *a)) fail_msg("petri %s --%s", v->name, o->aliases[k]);
                aliases++;
                free(value);
            }
    assert_true(aliases > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_fills_its_member),
        cmocka_unit_test(what_is_out_of_range_is_refused_in_one_form),
        cmocka_unit_test(what_rows_say_of_others_is_held),
        cmocka_unit_test(rows_speak_of_options_that_are_there),
        cmocka_unit_test(options_of_a_run_are_set_by_their_own_rows),
        cmocka_unit_test(help_and_completion_have_it),
        cmocka_unit_test(each_option_has_a_group_and_a_help),
        cmocka_unit_test(each_verb_has_an_imperative_line),
        cmocka_unit_test(help_of_train_has_the_terms_of_its_field),
        cmocka_unit_test(aliases_fill_the_same),
    };
    return cmocka_run_group_tests(tests, make_table, NULL);
}
