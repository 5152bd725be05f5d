/* What man and shells read of the table of verbs. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app/verbs/values.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* What a line for sh prints, on both outputs; caller frees.  Fails unless it exits with 0. */
static char *shell_says(const char *line) {
    struct buf out = BUF_INIT;
    char piece[1024], *both = xprintf("exec 2>&1; %s", line);
    FILE *f = popen(both, "r");
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f));) buf_add(&out, piece, n);
    int status = f ? pclose(f) : -1;
    if (status) fail_msg("%s: status %d: %s", line, status, buf_text(&out));
    free(both);
    return buf_take(&out);
}

static bool has_program(const char *name) {
    char *line = xprintf("command -v %s >/dev/null && echo yes || echo no", name), *said = shell_says(line);
    bool has = !strcmp(said, "yes\n");
    free(said);
    free(line);
    return has;
}

static void every_word_is_in_all_of_them(void **state) {
    (void)state;
    char *shell[] = { stage_out(0, "help --completion bash"), stage_out(0, "help --completion zsh"),
                      stage_out(0, "help --completion fish") };
    char *man = stage_out(0, "help --man");
    const struct verb *v;
    for (const char *p = man; *p; p++) assert_true((*p >= ' ' && *p < 127) || *p == '\n');
    for (size_t i = 0; (v = verb_at(i)); i++) {
        for (const struct option_spec *o = v->options; o && o->name; o++) {
            char *plain = xprintf("--%s", o->name), *fish = xprintf("from %s' -l %s ", v->name, o->name);
            if (o->help && !(strstr(shell[0], plain) && strstr(shell[1], plain) && strstr(shell[2], fish)))
                fail_msg("%s %s is not completed", v->name, plain);
            free(plain);
            free(fish);
        }
    }
    assert_non_null(strstr(man, "petri merge\\-adapters"));
    assert_non_null(strstr(man, "\\fB\\-\\-max\\-length\\fR \\fIN\\fR\n"));
    for (size_t i = 0; i < COUNT_OF(shell); i++) free(shell[i]);
    free(man);
    stage_refused(2, "bash, zsh or fish", "help --completion tcsh");
    stage_refused(2, "--man: cannot be combined with VERB", "help train --man");
    stage_refused(2, "did you mean train?", "help trian");
    static const char *const finds[][3] = { /* a word of the field, or an older one; what it finds; where */
        { "learning rate", "--lr X", "(train, sweep)" }, { "learning_rate", "--lr X", "(adapt)" },
        { "gold", "--unlabeled LABEL", "(train, adapt, sweep)" }, { "optimiser", "--optimizer", "pretrain" },
        { "max-seq-length", "--max-length N", "(predict)" }, { "Batch Size", "--batch N", "train" },
        { "mouse input", "mouse", "petri settings" }, { "side by side", "Compare", "all screens" },
        { "no-color", "--no-color", "watch" }, { "similarity-matrix", "Compute and save a similarity matrix", "verbs:" },
    };
    for (size_t i = 0; i < COUNT_OF(finds); i++) {
        char *found = stage_out(0, "help '%s'", finds[i][0]);
        if (!strstr(found, finds[i][1]) || !strstr(found, finds[i][2])) fail_msg("%s: %s", finds[i][0], found);
        free(found);
    }
    json_t *found = stage_json("help learning rate --json");
    assert_true(json_array_size(found) > 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(found, 0), "kind")), "option");
    json_decref(found);
    stage_refused(2, "unknown verb \"xyzzy\"", "help xyzzy");
    json_t *all = stage_json("help --json");
    assert_string_equal(stage_text(json_array_get(all, 0), "verb"), "train");
    json_decref(all);
}

/* No option is left to be typed whole but where only its user knows the value. */
static void every_value_is_known_or_free(void **state) {
    (void)state;
    static const struct {
        const char *verb, *option;
        unsigned kinds;
        bool list;
        const char *words;
    } cases[] = {
        { "train", "method", VALUE_METHOD | VALUE_FREE, false, "" },  { "train", "keep", 0, true, "best last none" },
        { "train", "regime", 0, false, "single multi( fewshot( meta( stages(" },
        { "train", "tasks", VALUE_TASK | VALUE_FILE, true, "" },      { "count", "tasks", VALUE_FREE, false, "" },
        { "train", "like", VALUE_RUN, false, "" },                    { "train", "teachers", VALUE_RUN, true, "" },
        { "train", "episodes", VALUE_FILE, false, "smlmt:" },         { "train", "lr", VALUE_FREE, false, "default" },
        { "render", "sweep", VALUE_SWEEP, false, "" },                { "render", "run", VALUE_RUN, false, "" },
        { "explain", "beside", VALUE_METHOD | VALUE_FREE, false, "" }, { "adapt", "tune", 0, true, "row generator shared head" },
        { "sweep", "budget", 0, true, "runs= steps= tokens= trained= minutes=" },
        { "replicate", "from", VALUE_FILE, false, "" },               { "plot", "size", VALUE_FREE, false, "80x24 120x40 200x60" },
        { "", "theme", 0, false, "safe dark light mono" },            { "fetch", NULL, 0, false, "model tasks t5 smollm2" },
        { "export", NULL, VALUE_RUN | VALUE_FILE, false, "" },        { "learn", NULL, VALUE_LESSON | VALUE_FILE, false, "" },
        { "sweep", NULL, VALUE_FILE | VALUE_SWEEP, false, "resume stop extend task status" },
        { "plot", NULL, VALUE_RUN | VALUE_FILTER, false, "" },        { "purge", NULL, VALUE_RUN, false, "" },
        { "settings", NULL, VALUE_SETTING, false, "" },               { "tag", NULL, VALUE_RUN | VALUE_TAG, false, "" },
    };
    const struct verb *v;
    struct values of;
    for (size_t i = 0; (v = verb_at(i)); i++)
        for (const struct option_spec *o = v->options; o && o->name; o++) {
            values_of_option(o, &of);
            if (o->value && !of.kinds && !of.words.size) fail_msg("petri %s --%s %s: nothing is known of it", v->name, o->name, o->value);
            values_release(&of);
        }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        v = *cases[i].verb ? verb_find(cases[i].verb) : verb_alone();
        const struct option_spec *o = v->options;
        while (cases[i].option && strcmp(o->name, cases[i].option)) o++;
        if (cases[i].option) values_of_option(o, &of);
        else values_of_verb(v, &of);
        if (of.kinds != cases[i].kinds || of.list != cases[i].list || strcmp(buf_text(&of.words), cases[i].words))
            fail_msg("%s %s: kinds %x%s, words \"%s\"", cases[i].verb, cases[i].option ? cases[i].option : "", of.kinds,
                     of.list ? ", a list" : "", buf_text(&of.words));
        values_release(&of);
    }
}

static void the_page_is_good_roff(void **state) {
    (void)state;
    static const char *const readers[] = { "groff -ww -man -Tutf8 -Z >/dev/null", "mandoc -Tlint -Wstyle" };
    int read = 0;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        char *reader = xstrndup(readers[i], strcspn(readers[i], " "));
        if (has_program(reader)) {
            char *line = xprintf("\"$PETRI_BIN\" help --man | %s 2>&1", readers[i]), *said = shell_says(line);
            if (*said) fail_msg("%s: %s", reader, said);
            free(said);
            free(line);
            read++;
        }
        free(reader);
    }
    if (!read) test_skip("neither groff nor mandoc is installed");
}

static void bash_completes(void **state) {
    (void)state;
    static const struct { const char *typed, *offered; } cases[] = {
        { "tra", "train trash" },          { "train --meth", "--method" }, { "train --method ma", "mam maml-adapters" },
        { "export 3 --to pe", "petri peft" }, { "--db x.db ru", "runs" },  { "purge 3 --y", "--yes" },
        { "help rest", "restore" },        { "--db x.d", "x.db" },         { "train --lr 1 --op", "--optimizer" },
        { "nothing x", "" },               { "train --seeds ", "" },
        { "--theme m", "mono" },           { "--theme mono ru", "runs" },    { "--read", "--readonly" },
        { "fetch t", "tasks t5" },         { "plot 1 --key rou", "rouge1 rouge2 rougeL" },
    };
    if (!has_program("bash")) test_skip("bash is not installed");
    struct buf script = BUF_INIT;
    buf_printf(&script, "cd '%s' && : >x.db && \"$PETRI_BIN\" help --completion bash >c && bash -n c && bash -c '. ./c\n"
                        "try() { COMP_WORDS=(petri \"$@\"); COMP_CWORD=$#; _petri; echo \"${COMPREPLY[*]}\"; }\n", stage.folder);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t n = strlen(cases[i].typed);
        buf_printf(&script, "try %s%s\n", cases[i].typed, cases[i].typed[n - 1] == ' ' ? "\"\"" : "");
    }
    buf_puts(&script, "'");
    char *said = shell_says(buf_text(&script)), *line = said;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t n = strcspn(line, "\n");
        line[n] = '\0';
        if (strcmp(line, cases[i].offered)) fail_msg("petri %s: \"%s\"", cases[i].typed, line);
        line += n + 1;
    }
    free(said);
    buf_release(&script);
}

static void other_shells_read_theirs(void **state) {
    (void)state;
    bool zsh = has_program("zsh"), fish = has_program("fish");
    if (zsh) free(shell_says("\"$PETRI_BIN\" help --completion zsh | zsh -n /dev/stdin"));
    if (fish) free(shell_says("\"$PETRI_BIN\" help --completion fish | fish -n /dev/stdin"));
    if (!zsh && !fish) test_skip("neither zsh nor fish is installed");
}

/* ---- make install ---- */

static char *make_says(const char *target, const char *to) {
    const char *bin = getenv("PETRI_BIN");
    char *out = xstrndup(bin, (size_t)(strrchr(bin, '/') - bin)), *name = file_base_name(out);
    char *line = xprintf("cd \"$PETRI_ROOT\" && env -u MAKEFLAGS -u MAKELEVEL make -o '%s/petri' %s OUT='%s' DESTDIR='%s' PREFIX=/usr",
                         name, target, name, to);
    char *said = shell_says(line);
    free(line);
    free(name);
    free(out);
    return said;
}

/* Without anything fetched, every verb takes petri's own model and task, and says so. */
static void own_model_and_task_serve(const char *to) {
    static const char *const verb[] = {
        "count --method lora", "explain lora", "encode --text good", "train --method 'lora(r=2)' --limit 8 --steps 1 --eval-rows 8 --json",
        "predict last --text good", "embed --rows 8", "sweep --method 'lora(r={1,2})' --steps 1 --limit 8 --dry-run", "models", "tasks",
        "fewshot --method head --tasks sections --k 1 --draws 1 --steps 1 --eval-rows 8",
    };
    char *line;
    for (size_t i = 0; i < COUNT_OF(verb); i++) {
        bool of_run = strstr(verb[i], "last") != NULL;
        line = xprintf("cd '%s/else' && HF_HUB_CACHE='%s/none' XDG_DATA_HOME='%s/none' '%s/usr/bin/petri' %s --db '%s/own.db' 2>&1",
                       stage.folder, stage.folder, stage.folder, to, verb[i], stage.folder);
        char *said = shell_says(line);
        if (!of_run && !(strstr(said, " built in; `petri fetch` downloads "))) fail_msg("%s: %s", verb[i], said);
        free(said);
        free(line);
    }
    line = xprintf("cd '%s/else' && HF_HUB_CACHE='%s/none' XDG_DATA_HOME='%s/none' '%s/usr/bin/petri' doctor --json --db '%s/own.db'",
                   stage.folder, stage.folder, stage.folder, to, stage.folder);
    char *said = shell_says(line);
    assert_non_null(strstr(said, "\"default_model\":false"));
    assert_non_null(strstr(said, "\"model\":\"petri-mini\",\"task\":\"sections\""));
    free(said);
    free(line);
}

/* Run from a folder without assets, petri finds what lies in the user's folder and what was installed. */
static void installed_petri_works_and_goes_without_remains(void **state) {
    (void)state;
    static const char *const files[] = { "bin/petri", "share/man/man1/petri.1", "share/bash-completion/completions/petri",
                                         "share/zsh/vendor-completions/_petri", "share/fish/vendor_completions.d/petri.fish",
                                         "share/doc/petri/README.md", "share/doc/petri/docs/tasks.md",
                                         "share/petri/experiments/pha-parts.json", "share/petri/tasks/sections/train.tsv",
                                         "share/petri/models/petri-mini/model.safetensors" };
    char *to = file_join(stage.folder, "a place"), *said = make_says("install", to);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path = xprintf("%s/usr/%s", to, files[i]);
        if (!file_exists(path)) fail_msg("no %s: %s", path, said);
        free(path);
    }
    free(said);
    char *line = xprintf("mkdir -p '%s/else' '%s/data/petri/models' '%s/usr/share/petri/models' && "
                         "cp -r '%s' '%s/data/petri/models/mine' && cp -r '%s' '%s/usr/share/petri/models/theirs'",
                         stage.folder, stage.folder, to, stage.model, stage.folder, stage.model, to);
    free(shell_says(line));
    free(line);
#define INSTALLED "cd '%s/else' && XDG_DATA_HOME='%s/data' '%s/usr/bin/petri' "
    line = xprintf(INSTALLED "models --json", stage.folder, stage.folder, to);
    said = shell_says(line);
    assert_non_null(strstr(said, "data/petri/models/mine\""));
    assert_non_null(strstr(said, "share/petri/models/theirs\""));
    free(said);
    free(line);
    line = xprintf("mkdir -p '%s/else/assets/models' && cp -r '%s' '%s/else/assets/models/mine'; " INSTALLED "models --json",
                   stage.folder, stage.model, stage.folder, stage.folder, stage.folder, to);
    said = shell_says(line); /* the working folder's come first */
    assert_non_null(strstr(said, "/models/mine\""));
    assert_null(strstr(said, "data/petri/models/mine"));
    free(said);
    free(line);
    line = xprintf(INSTALLED "train --model theirs --train '%s' --text text --label label --method 'lora(r=2)' --steps 1",
                   stage.folder, stage.folder, to, stage.toy);
    said = shell_says(line);
    assert_non_null(strstr(said, "finished"));
    free(said);
    free(line);
    own_model_and_task_serve(to);
    /* its scripts fetch into the user's folder; what python3 is asked is looked at here, not the network */
    line = xprintf("mkdir -p '%s/fake'; printf '#!/bin/sh\\necho \"$@ into $PETRI_ASSETS\"\\n' "
                   ">'%s/fake/python3' && chmod +x '%s/fake/python3'; "
                   "cd '%s/else' && PATH='%s/fake':$PATH XDG_DATA_HOME='%s/data' '%s/usr/bin/petri' fetch tasks",
                   stage.folder, stage.folder, stage.folder, stage.folder, stage.folder, stage.folder, to);
    said = shell_says(line);
    free(line);
    line = xprintf("share/petri/fetch task into %s/data/petri\n", stage.folder);
    assert_non_null(strstr(said, line));
    assert_non_null(strstr(said, "share/petri/more-tasks into "));
    free(said);
    free(line);
    line = xprintf("rm -r '%s/usr/share/petri/models'", to);
    free(shell_says(line));
    free(line);
    free(make_says("uninstall", to));
    line = xprintf("find '%s' ! -type d; find '%s/usr/share' -mindepth 1 ! -path '*/share/man'", to, to);
    said = shell_says(line);
    assert_string_equal(said, "");
    free(said);
    free(line);
    free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_in_all_of_them),
        cmocka_unit_test(every_value_is_known_or_free),
        cmocka_unit_test(the_page_is_good_roff),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(other_shells_read_theirs),
        cmocka_unit_test(installed_petri_works_and_goes_without_remains),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
