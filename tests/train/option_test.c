/* The table of a run's options: whatever row it has, its value survives JSON, the command line, a copy, a clone. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/task.h"
#include "core/method/retriever.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"
#include "core/train/meta/corpus.h"
#include "core/train/run/distil.h"
#include "tests/support/options.h"
#include "tests/support/test.h"

static void set(struct run_config *c, const char *option, const char *value) {
    struct err e = ERR_INIT;
    test_ok(config_set(c, option, value, &e), &e);
}

/* Every row moved away.  Steps and epochs exclude each other: epochs stand where `epochs`. */
static void move_all(struct run_config *c, bool epochs) {
    config_init(c);
    for (size_t i = 0; i < option_count(); i++) /* of several tasks: in tests of those */
        if (option_at(i)->scope != OPTION_OF_TASKS) options_move_away(c, option_at(i));
    network_take_defaults(&retriever_network, &c->method); /* options of a join have a say */
    if (epochs) c->steps = 0;
    else c->epochs = 0;
}

static void every_option_survives_json_and_copies(void **state) {
    (void)state;
    for (int epochs = 0; epochs < 2; epochs++) {
        struct run_config c, copy, read;
        struct err e = ERR_INIT;
        move_all(&c, epochs);
        config_copy(&copy, &c);
        options_same(&c, &copy, "copy", false);
        char *json = config_json(&c);
        test_ok(config_from_json(json, strlen(json), &read, &e), &e);
        options_same(&c, &read, "JSON", false);
        free(json);
        config_release(&c);
        config_release(&copy);
        config_release(&read);
    }
}

/* Splits words as a shell does, for the quotes that config_command writes. */
static int split(char *line, char **word, int room) {
    int n = 0;
    for (char *at = line, *out; *at;) {
        while (*at == ' ') at++;
        if (!*at) break;
        assert_true(n < room);
        word[n++] = out = at;
        for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
            if (*at == '\'') quoted = !quoted;
            else if (*at == '\\' && !quoted) *out++ = *++at;
            else *out++ = *at;
        }
        char *next = *at ? at + 1 : at;
        *out = '\0';
        at = next;
    }
    return n;
}

static void every_option_survives_the_command_line(void **state) {
    (void)state;
    /* rows are a folder's or files', and steps or epochs are given */
    for (int k = 0; k < 4; k++) {
        struct run_config c, read;
        char *word[256] = { NULL };
        move_all(&c, k & 1);
        option_reset(&c, option_find(k & 2 ? "task" : "train"));
        if (!(k & 2)) option_reset(&c, option_find("dev"));
        for (size_t i = 0; i < option_count(); i++) /* what is not set there follows from what is */
            if (!option_at(i)->name) option_reset(&c, option_at(i));
        if (k & 2) option_reset(&c, option_find("task"));
        char *line = config_command(&c);
        int n = split(line, word, COUNT_OF(word));
        assert_string_equal(word[0], "petri");
        assert_string_equal(word[1], "train");
        config_init(&read);
        for (int i = 2; i < n; i++) {
            const char *name = word[i] + 2;
            const struct option *o = option_find(name);
            if (!o) fail_msg("%s is no option", word[i]);
            if (o->kind != OPTION_FLAG) i++;
            set(&read, name, o->kind == OPTION_FLAG ? "on" : word[i]);
        }
        options_same(&c, &read, "command line", true);
        free(line);
        config_release(&c);
        config_release(&read);
    }
}

/* Sets the option by a name and by another, to the same value other than the default: the configs are equal. */
static void same_by(const struct option *o, const char *alias) {
    struct run_config moved, a, b;
    config_init(&moved);
    options_move_away(&moved, o);
    char *value = option_print(&moved, o);
    config_init(&a);
    config_init(&b);
    set(&a, o->name, o->kind == OPTION_FLAG ? "on" : value);
    set(&b, alias, o->kind == OPTION_FLAG ? "on" : value);
    options_same(&a, &b, alias, false);
    assert_string_equal(config_option_name(alias), o->name);
    free(value);
    config_release(&moved);
    config_release(&a);
    config_release(&b);
}

static void every_alias_sets_its_option(void **state) {
    (void)state;
    static const char *const known[][2] = { /* renamed, and of TrainingArguments, peft and mlx-lm */
        { "optimiser", "optimizer" }, { "max-len", "max-length" }, { "eval-every", "eval-steps" },
        { "accumulate", "gradient-accumulation-steps" }, { "no-gold", "unlabeled" },
        { "learning-rate", "lr" }, { "per-device-train-batch-size", "batch" }, { "num-train-epochs", "epochs" },
        { "max-steps", "steps" }, { "warmup-steps", "warmup" }, { "warmup-ratio", "warmup" },
        { "max-grad-norm", "clip" }, { "adam-beta1", "beta1" }, { "adam-beta2", "beta2" },
        { "adam-epsilon", "epsilon" }, { "lr-scheduler-type", "schedule" }, { "optim", "optimizer" },
        { "label-smoothing-factor", "smoothing" }, { "metric-for-best-model", "metric" },
        { "early-stopping-patience", "early-stop" }, { "prompt-tuning-init-text", "prompt-text" },
        { "base-model-name-or-path", "model" }, { "max-seq-length", "max-length" }, { "iters", "steps" },
        { "batch-size", "batch" }, { "grad-accumulation-steps", "gradient-accumulation-steps" },
        { "steps-per-eval", "eval-steps" }, { "weight-decay", "weight-decay" }, { "eval-steps", "eval-steps" },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_string_equal(config_option_name(known[i][0]), known[i][1]);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        for (int k = 0; o->name && o->aliases && o->aliases[k]; k++) {
            char underscored[64];
            snprintf(underscored, sizeof underscored, "%s", o->aliases[k]);
            for (char *at = underscored; *at; at++) *at = *at == '-' ? '_' : *at;
            same_by(o, o->aliases[k]);
            same_by(o, underscored);
            for (size_t j = 0; j < option_count(); j++) /* no other option has it */
                if (j != i && option_spelling(option_at(j)->name, option_at(j)->aliases, o->aliases[k]))
                    fail_msg("--%s: %s and %s", o->aliases[k], o->name, option_at(j)->name);
        }
    }
    struct run_config c;
    struct err e = ERR_INIT;
    config_init(&c);
    test_refused(config_set(&c, "learning_rats", "1", &e), ERR_USAGE, &e, "did you mean --lr?");
    config_release(&c);
}

/* A clone is a stored config read back as a request: only what had no say is at its default. */
static void every_option_survives_a_clone(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        struct run_config c, want;
        bool texts = k & 1, sgd = k & 2, epochs = k & 4;
        move_all(&c, epochs);
        c.form = texts ? FORM_TEXT : FORM_CLASSES;
        c.optimizer = sgd ? OPTIMIZER_SGD : OPTIMIZER_ADAMW;
        c.warmup = 0.2;
        config_copy(&want, &c);
        for (size_t i = 0; i < option_count(); i++) {
            const struct option *o = option_at(i);
            if (!option_has_say(&want, o, texts)) option_reset(&want, o);
        }
        if (epochs) c.steps = 77; /* as completed */
        config_reuse(&c);
        options_same(&want, &c, "clone", false);
        config_release(&c);
        config_release(&want);
    }
}

/* Of several tasks each says how its rows are read; the line says which they are. */
static void tasks_survive_the_command_line_and_a_clone(void **state) {
    (void)state;
    struct run_config c, read;
    struct err e = ERR_INIT;
    config_init(&c);
    set(&c, "model", "m");
    set(&c, "limit", "50%");
    set(&c, "weights", "file"); /* short for weights-in */
    assert_true(c.weights_in == WEIGHTS_FILE && !c.weights);
    set(&c, "weights", "auto");
    assert_true(c.weights_in == WEIGHTS_AUTO);
    set(&c, "weights", "b=2");
    set(&c, "best", "per-task");
    c.split_seed = 3;
    test_ok(config_set_tasks(&c, "x/a,b", &e), &e);
    assert_true(c.of[0].limit == c.limit && c.of[1].split_seed == 3 && c.of[1].task_weight == 2);
    char *line = config_command(&c);
    assert_string_equal(line, "petri train --model m --split-seed 3 --limit 50% --tasks x/a,b --weights b=2 --best per-task "
                              "--method lora --lr default --seed 1");
    free(line);
    /* as completed: each task's folder and metric are known, and what they have together */
    for (int i = 0; i < 2; i++) {
        option_reset(&c.of[i], option_find("task"));
        c.of[i].task = xstrdup(c.of[i].task_name);
        c.of[i].task_folder = xprintf("/data here/%s", c.of[i].task_name);
        c.of[i].train_file = xprintf("%s/train.tsv", c.of[i].task_folder);
        set(&c.of[i], "metric", "f1");
    }
    set(&c, "task", "a+b");
    set(&c, "metric", "average");
    c.lr = 0.003;
    c.steps = 77;
    line = config_command(&c);
    assert_string_equal(line, "petri train --model m --split-seed 3 --limit 50% --tasks '/data here/a,/data here/b' "
                              "--weights b=2 --best per-task --method lora --lr 0.003 --seed 1");
    free(line);
    config_copy(&read, &c);
    config_reuse(&read);
    assert_int_equal(read.steps, 0);
    read.steps = c.steps;
    assert_null(config_difference(&c, &read));
    assert_int_equal(read.tasks, 2);
    assert_string_equal(read.of[1].task_folder, "/data here/b");
    assert_string_equal(read.weights, "b=2");
    /* folders that are not called as their tasks say less than the list that was given */
    option_reset(&c.of[0], option_find("task"));
    free(c.of[0].task_folder);
    c.of[0].task_folder = xstrdup("/elsewhere");
    free(c.tasks_given);
    c.tasks_given = xstrdup("/lists/of two.json");
    line = config_command(&c);
    assert_non_null(strstr(line, " --tasks '/lists/of two.json' "));
    free(line);
    config_release(&c);
    config_release(&read);
}

/* What says how one task's rows are read is not said of several. */
static void options_of_one_task_are_refused_of_several(void **state) {
    (void)state;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        bool each = o->is & OPTION_EACH;
        if (!o->name || !(o->is & OPTION_ROWS) || o->scope == OPTION_OF_TASKS) continue;
        struct run_config c;
        struct err e = ERR_INIT;
        config_init(&c);
        options_move_away(&c, o);
        int rc = config_set_tasks(&c, "a,b", &e);
        if (each) {
            test_ok(rc, &e);
            for (int k = 0; k < 2; k++) assert_true(option_same(&c, &c.of[k], o));
        } else {
            char *part = xprintf("--%s: applies to a single task", o->name);
            test_refused(rc, ERR_USAGE, &e, part);
            free(part);
        }
        config_release(&c);
    }
}

static void old_configs_are_read(void **state) {
    (void)state;
    /* of the first histories: no forms, no vectors, the official dev rows only in the file's name */
    static const char json[] =
        "{\"method\":\"lora(r=4)\",\"model\":\"m\",\"model_folder\":\"/m\",\"task\":\"SST-2\",\"task_folder\":\"/t\","
        "\"train_file\":\"/t/train.tsv\",\"dev_file\":\"/t/dev_official.tsv\",\"regression\":\"classes\","
        "\"metric\":\"accuracy\",\"seed\":3,\"batch\":16,\"accumulate\":1,\"steps\":9,\"epochs\":0,\"max_len\":64,"
        "\"eval_every\":3,\"eval_rows\":8,\"early_stop\":0,\"keep\":\"best,last\",\"shards\":4,"
        "\"optimiser\":\"adamw\",\"lr\":0.003,\"beta1\":0.9,\"beta2\":0.999,\"epsilon\":1e-08,\"momentum\":0.5,"
        "\"weight_decay\":0,\"clip\":1,\"schedule\":\"linear\",\"warmup\":20,\"dropout\":-1}";
    struct run_config c;
    struct err e = ERR_INIT;
    test_ok(config_from_json(json, sizeof json - 1, &c, &e), &e);
    assert_true(c.official_dev && c.form == FORM_CLASSES && c.steps == 9 && c.split == 0);
    assert_true(config_has_dev(&c));
    struct task_source s = config_source(&c, NULL);
    assert_string_equal(s.where, "/t");
    assert_null(s.train);
    assert_true(s.official_dev && s.dev_rows == 8);
    config_reuse(&c); /* it was trained with the warm-up cut, and without momentum */
    assert_true(c.momentum == 0 && c.warmup == 8 && c.steps == 9);
    char *line = config_command(&c);
    assert_string_equal(line, "petri train --model m --task /t --official-dev --unlabeled -1 --kind classes --metric accuracy "
                              "--method 'lora(r=4)' --lr 0.003 --batch 16 --steps 9 --max-length 64 --warmup 8 "
                              "--eval-steps 3 --eval-rows 8 --form classes --precision f32 --seed 3");
    free(line);
    config_release(&c);
}

static void another_task_or_model_takes_its_own_words(void **state) {
    (void)state;
    struct run_config c, was;
    move_all(&c, true);
    config_copy(&was, &c);
    config_take_task(&c, "reviews");
    assert_string_equal(c.task, "reviews");
    assert_true(!c.task_folder && !c.train_file && !c.text_column && !c.metric && c.split == 0 && !c.official_dev);
    assert_string_equal(c.model, was.model);
    assert_true(c.seed == was.seed && c.batch == was.batch && c.lr == was.lr);
    config_take_model(&c, "other");
    assert_true(!c.model_folder && !c.model_facts && c.form == FORM_AUTO);
    assert_string_equal(c.task, "reviews");
    assert_false(config_same_source(&c, &was));
    config_take_source(&c, &was);
    assert_true(config_same_source(&c, &was) && c.form == was.form);
    options_same(&was, &c, "the source taken back", false);
    config_release(&c);
    config_release(&was);
}

static void a_share_is_a_percentage(void **state) {
    (void)state;
    struct run_config c;
    config_init(&c);
    for (int i = 1; i < 100; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d%%", i);
        set(&c, "split", text);
        assert_true(c.split == i / 100.0);
        char *shown = config_get(&c, "split");
        struct run_config again;
        config_init(&again);
        set(&again, "split", shown);
        assert_true(again.split == c.split);
        config_release(&again);
        free(shown);
    }
    set(&c, "split", "0.25");
    char *shown = config_get(&c, "split");
    assert_string_equal(shown, "25%");
    free(shown);
    set(&c, "split", "none");
    assert_true(c.split == 0);
    static const char *const wrong[] = { "0", "0%", "100%", "1", "-5%", "%", "x%", "10%%", "nan" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err e = ERR_INIT;
        test_refused(config_set(&c, "split", wrong[i], &e), ERR_USAGE, &e, "must be a percentage below 100%, or none");
    }
    config_release(&c);
}

static void one_rate_for_screen_and_command_line(void **state) {
    (void)state;
    static const struct {
        const char *method, *why;
        double lr;
    } want[] = {
        { "lora(r=2)", "lora", 3e-3 },
        { "ia3", "ia3", 3e-2 },
        { "full", "full", 1e-4 },
        { "full(layers=1)", "full weight matrices", 1e-4 },
        { "lora(r=2)+full(layers=1)", "full weight matrices", 1e-4 },
        { "lora(r=2)+bitfit", "custom method", 1e-3 },
        { "adapter-houlsby", "adapter-houlsby", 1e-3 },
        { "adalora(r=4) + budget(target=2, begin=20, end=30)", "adalora", 1e-2 },
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct run_config c;
        const char *why;
        config_init(&c);
        set(&c, "method", want[i].method);
        if (config_default_lr(&c.method, &why) != want[i].lr || strcmp(why, want[i].why))
            fail_msg("%s: %g for %s", want[i].method, config_default_lr(&c.method, NULL), why);
        config_release(&c);
    }
    struct run_config c;
    config_init(&c);
    c.batch = 4;
    c.epochs = 1.1; /* 1.1 · 10 is a little more than 11 */
    assert_int_equal(config_steps(&c, 40), 11);
    assert_int_equal(config_steps(&c, 37), 11);
    c.steps = 5;
    assert_int_equal(config_steps(&c, 40), 5);
    config_release(&c);
}

/* Values that travel parsed are read where they are set, keep their text to the letter, and are copied with it. */
static void parsed_options_are_read_once(void **state) {
    (void)state;
    static const char *const given[][3] = { /* the option, a text, one that is refused */
        { "sampling", "temperature(5.0)", "temperature(0)" }, { "teachers", "7,03", "7,0" },
        { "regime", "meta( inner=3)", "meta(inner=0)" }, { "episodes", "smlmt:a.txt", "a.txt" },
        { "ways", "02-3", "1-3" }, { "words", "clusters(07)", "clusters(1)" },
    };
    struct run_config c, copy;
    config_init(&c);
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        struct err e = ERR_INIT;
        set(&c, given[i][0], given[i][1]);
        test_refused(config_set(&c, given[i][0], given[i][2], &e), ERR_USAGE, &e, given[i][0]);
        char *json = xprintf("{\"%s\":\"%s\"}", given[i][0], given[i][2]);
        test_refused(config_from_json(json, strlen(json), &copy, &e), ERR_USAGE, &e, "the run's config: ");
        free(json);
    }
    config_copy(&copy, &c);
    config_release(&c);
    for (size_t i = 0; i < COUNT_OF(given); i++) {
        char *text = config_get(&copy, given[i][0]);
        assert_string_equal(text, given[i][1]);
        free(text);
    }
    assert_true(copy.sampling->how.rule == SAMPLING_TEMPERATURE && copy.sampling->how.temperature == 5);
    assert_true(copy.teachers->count == 2 && copy.teachers->run[0] == 7 && copy.teachers->run[1] == 3);
    assert_true(copy.regime->regime.kind == REGIME_META && copy.regime->regime.inner == 3);
    assert_true(copy.ways->least == 2 && copy.ways->most == 3 && copy.words->clusters == 7);
    config_release(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_survives_json_and_copies),
        cmocka_unit_test(every_option_survives_the_command_line),
        cmocka_unit_test(every_alias_sets_its_option),
        cmocka_unit_test(every_option_survives_a_clone),
        cmocka_unit_test(tasks_survive_the_command_line_and_a_clone),
        cmocka_unit_test(options_of_one_task_are_refused_of_several),
        cmocka_unit_test(old_configs_are_read),
        cmocka_unit_test(another_task_or_model_takes_its_own_words),
        cmocka_unit_test(a_share_is_a_percentage),
        cmocka_unit_test(one_rate_for_screen_and_command_line),
        cmocka_unit_test(parsed_options_are_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
