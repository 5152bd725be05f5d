#include "tests/support/test.h"

#include <string.h>

#include "core/train/config/sampling.h"
#include "tests/method/published.h"
#include "tests/views/scene.h"

static void options_are_typed_and_in_the_command(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "mam(l=16,r=16)");
    ui.compose.part = ui.compose.config.method.count;
    ui.compose.option = compose_option_find(&ui.compose, "lr");
    compose_changed(&ui.compose);
    assert_true(ui.compose.config.lr == preset_find("mam")->lr);
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "0.5x");
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.say, SAY_ERROR);
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "2e-4");
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.compose.config.lr == 2e-4);
    config_take_model(&ui.compose.config, "a b's");
    char *command = compose_command(&ui.compose);
    assert_non_null(strstr(command, "--model 'a b'\\''s'"));
    assert_non_null(strstr(command, "--lr 0.0002"));
    assert_non_null(strstr(command, "--seed 1"));
    assert_null(strstr(command, "--embed-every")); /* none unless it is asked for */
    free(command);
    ui.compose.option = compose_option_find(&ui.compose, "embed-every");
    scene_press(&ui, 'j');
    assert_int_equal(ui.compose.config.embed_every, 20);
    command = compose_command(&ui.compose);
    assert_non_null(strstr(command, "--embed-every 20"));
    free(command);
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "0");
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.compose.config.embed_every, 0);
    ui_release(&ui);
}

/* A start that is another run's values is a choice while it stands, and the method is the published one all the same. */
static void a_runs_values_are_a_start(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8,init=run(3))");
    struct compose_view *v = &ui.compose;
    assert_true(scene_shows(&ui, "LoRA, Hu et al. 2022"));
    v->axis = AXIS_INIT;
    compose_changed(v);
    assert_true(v->choices[scene_choice(v, "run(3)")].current);
    assert_false(v->choices[scene_choice(v, "lora")].current);
    scene_press(&ui, 'j');
    assert_int_equal(v->config.method.module[0].from_run, 0);
    scene_press(&ui, 'u');
    assert_int_equal(v->config.method.module[0].from_run, 3);
    ui_release(&ui);
}

/* A run that does not fit is a question. */
static void memory_is_asked_for(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    v->train_rows = v->dev_rows = 1000;
    v->row_tokens = 32;
    compose_changed(v);
    assert_true(v->facts.cost.bytes > 50e6);
    v->available = 8e9;
    assert_true(scene_shows(&ui, " MB of 8000 MB"));
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_TRAIN);
    assert_false(v->forced);
    v->available = 50e6;
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "MB, 50 MB available. Train anyway?   y yes   Esc no"));
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_NONE);
    assert_false(v->forced);
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(scene_press(&ui, 'y').kind, EFFECT_TRAIN);
    assert_true(v->forced);
    ui_release(&ui);
}

static void training_is_asked_for(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_TRAIN);
    ui.compose.config.method.module[0].size = 0;
    compose_changed(&ui.compose);
    assert_true(ui.compose.facts.errors > 0);
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_int_equal(ui.say, SAY_ERROR);
    assert_true(scene_shows(&ui, "no parameter count: the method or the regime is invalid"));
    ui_release(&ui);
}

/* Options of texts are there where the model writes; a task of texts under an encoder is not trained. */
static void texts_need_a_decoder(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPOSE);
    struct compose_view *v = &ui.compose;
    struct arch t5 = scene_arch;
    t5.family = FAMILY_T5;
    t5.decoder_layers = 6;
    assert_int_equal(compose_option_find(v, "max-target"), -1);
    v->texts = true;
    compose_changed(v);
    assert_non_null(compose_mismatch(v));
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "T5"));
    v->arch = &t5;
    v->config.smoothing = 0.1;
    v->config.max_target = 32;
    compose_changed(v);
    assert_null(compose_mismatch(v));
    assert_true(compose_option_find(v, "max-target") >= 0);
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_TRAIN);
    char *command = compose_command(v);
    assert_non_null(strstr(command, "--max-target 32 --smoothing 0.1"));
    free(command);
    v->option = compose_option_count(v) - 1;
    v->arch = &scene_arch;
    compose_changed(v);
    assert_int_equal(v->option, 0);
    /* a decoder-only model is trained on texts without a head, and on labels with one */
    struct arch llama = scene_arch;
    llama.family = FAMILY_LLAMA;
    llama.causal = true;
    v->arch = &llama;
    compose_changed(v);
    assert_null(compose_mismatch(v));
    assert_true(compose_option_find(v, "loss-on") >= 0 && !compose_outputs(v));
    config_put(&v->config, "loss-on", "all");
    command = compose_command(v);
    assert_non_null(strstr(command, "--loss-on all"));
    free(command);
    v->texts = false;
    compose_changed(v);
    assert_true(compose_option_find(v, "loss-on") < 0 && compose_outputs(v) > 0);
    ui_release(&ui);
}

/* The first experiment of anyone: one axis changes, and nothing else. */
static void an_axis_keeps_the_rate(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    assert_true(v->config.lr == 3e-3);
    v->axis = AXIS_POSITION;
    compose_changed(v);
    scene_press(&ui, 'j');
    assert_null(v->facts.preset);
    assert_true(v->config.lr == 3e-3);
    assert_non_null(strstr(ui.message, "lr stays 3e-3"));
    assert_non_null(strstr(ui.message, "1e-3 (custom method)"));
    char *command = compose_command(v);
    assert_non_null(strstr(command, "--lr 0.003 "));
    free(command);
    v->part = v->config.method.count;
    v->option = compose_option_find(v, "lr");
    compose_changed(v);
    scene_press(&ui, PRESS_ENTER); /* nothing is no rate */
    scene_type(&ui, "0");
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.say, SAY_ERROR);
    assert_true(v->config.lr == 3e-3);
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "default");
    scene_press(&ui, PRESS_ENTER);
    assert_true(v->config.lr == 1e-3);
    scene_press(&ui, 'u');
    assert_true(v->config.lr == 3e-3);
    compose_take_preset(v, "ia3"); /* a whole method comes with its own */
    assert_true(v->config.lr == 3e-2);
    ui_release(&ui);
}

/* Whatever rows the table of options has: h and l reach each, j and k move each within its range. */
static void every_option_can_be_walked(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    struct arch t5 = scene_arch;
    t5.family = FAMILY_T5;
    t5.decoder_layers = 6;
    v->arch = &t5;
    v->part = v->config.method.count;
    v->option = 0;
    compose_changed(v);
    for (int i = 0; i < compose_option_count(v); i++) {
        const char *name = compose_option_name(v, i);
        assert_int_equal(v->option, i);
        char *start = config_get(&v->config, name);
        bool moved = v->stuck[i] != NULL;
        for (const char *keys = "jjjkkkkkkkkk"; *keys; keys++) {
            char *was = config_get(&v->config, name);
            scene_press(&ui, (unsigned char)*keys);
            char *now = config_get(&v->config, name);
            struct run_config c;
            struct err e = ERR_INIT;
            config_init(&c);
            if (*now && config_set(&c, name, now, &e)) fail_msg("%s: %s", name, e.text);
            moved = moved || strcmp(was, now);
            config_release(&c);
            free(was);
            free(now);
        }
        if (!moved && strcmp(name, "tasks") && strcmp(name, "positive")) fail_msg("%s does not move", name); /* these are typed */
        scene_press(&ui, 'u'); /* the whole walk is one step */
        char *now = config_get(&v->config, name);
        if (strcmp(now, start)) fail_msg("%s was %s and is %s after u", name, start, now);
        free(now);
        free(start);
        if (i != compose_option_find(v, name)) fail_msg("%s has gone", name);
        scene_press(&ui, 'l');
    }
    assert_true(compose_option_find(v, "early-stop") > 0 && compose_option_find(v, "split") > 0);
    assert_int_equal(compose_option_find(v, "train"), -1);
    ui_release(&ui);
}

static void to_option(struct compose_view *v, const char *name) {
    compose_changed(v);
    v->part = v->config.method.count;
    v->option = compose_option_find(v, name);
    assert_true(v->option >= 0);
    compose_changed(v);
}

/* An option whose every other value would be refused with the method, the model or the rows is dim, with the reason; j and k
 * pass over a value that would be; what is typed so is taken, and not trained. */
static void values_that_do_not_go_say_why(void **state) {
    (void)state;
    struct ui ui;
    char why[200];
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    struct arch t5 = scene_arch;
    t5.family = FAMILY_T5;
    t5.decoder_layers = 6;
    v->train_rows = 100;
    v->dev_rows = 0;
    to_option(v, "embed-every");
    assert_non_null(strstr(v->stuck[v->option], "has no validation set"));
    assert_true(scene_shows(&ui, "has no validation set"));
    scene_press(&ui, 'k');
    assert_int_equal(v->config.embed_every, 0);
    v->dev_rows = 20;
    compose_changed(v);
    assert_null(v->stuck[v->option]);
    to_option(v, "regime");
    assert_null(v->stuck[v->option]);
    v->arch = &t5;
    compose_changed(v);
    assert_non_null(strstr(v->stuck[v->option], "and t5 is an encoder"));
    to_option(v, "form"); /* from auto past classes, which a T5 has no head for */
    scene_press(&ui, 'j');
    assert_int_equal(v->config.form, FORM_TEXT);
    assert_true(scene_shows(&ui, "--form classes: "));
    scene_press(&ui, 'u');
    v->arch = &scene_arch;
    to_option(v, "gradient-accumulation-steps");
    v->config.batch = 1;
    compose_changed(v);
    assert_non_null(strstr(v->stuck[v->option], "more than the batch size of 1"));
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_TRAIN);
    assert_true(compose_edit(v, "4", why));
    assert_int_equal(v->config.accumulate, 4);
    assert_true(scene_shows(&ui, "cannot be trained"));
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "more than the batch size of 1"));
    ui_release(&ui);
}

/* Enter begins what is shown as valid and nothing else; what is refused names the option and a value that works. */
static void agrees(struct ui *ui, const char *why) {
    bool starts = scene_press(ui, 'R').kind == EFFECT_TRAIN;
    assert_true(starts == scene_shows(ui, "valid \u2713"));
    assert_true(starts == !why);
    if (why && !strstr(ui->message, why)) fail_msg("\"%s\" does not say \"%s\"", ui->message, why);
}

static void what_is_valid_starts(void **state) {
    (void)state;
    struct ui ui;
    char why[200];
    scene_compose(&ui, "meta-adapters(m=8)");
    struct compose_view *v = &ui.compose;
    struct arch t5 = scene_arch;
    t5.family = FAMILY_T5;
    t5.decoder_layers = 6;
    v->train_rows = 200;
    v->dev_rows = 60;
    v->rows[0] = (struct config_data_facts){ .dev = true, .classes = 2, .split = { { "train.tsv", 200, NULL }, { "dev.tsv", 60, NULL } } };
    compose_changed(v);
    agrees(&ui, "dev.tsv: too few labeled examples for an episode: found 60,");
    char *way = strstr(ui.message, "'meta(");
    assert_true(way && strstr(ui.message, "--regime"));
    char *regime = xprintf("%.*s", (int)strcspn(way + 1, "'"), way + 1);
    if (!option_enter(&v->config, "regime", regime, why)) fail_msg("%s: %s", regime, why);
    compose_changed(v);
    free(regime);
    agrees(&ui, NULL);
    v->config.eval_rows = 20; /* so many of them are drawn */
    compose_changed(v);
    agrees(&ui, "dev.tsv: too few labeled examples for an episode: found 20,");
    v->config.eval_rows = 0;
    v->rows[0].split[0].empty = "odd";
    compose_changed(v);
    agrees(&ui, "class \"odd\" has no examples");
    scene_method(&ui, "lora");
    assert_true(option_enter(&v->config, "regime", "default", why));
    compose_changed(v);
    agrees(&ui, NULL);
    snprintf(v->unread, sizeof v->unread, "toys: no such folder");
    compose_changed(v);
    agrees(&ui, "toys: no such folder");
    *v->unread = 0;
    v->arch = &t5;
    scene_method(&ui, "head");
    agrees(&ui, "no trainable parameters");
    v->arch = NULL;
    compose_changed(v);
    agrees(&ui, "no model: press T");
    ui_release(&ui);
}

/* Several seeds are several runs, a note goes with them, groups fold but for what is set, what is wrong on the model is
 * dim with its reason. */
static void a_run_is_described_whole(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    v->part = v->config.method.count;
    compose_changed(v);
    v->option = compose_option_find(v, "seed");
    scene_press(&ui, PRESS_ENTER);
    prompt_set(&ui.prompt, "4,5,9");
    scene_press(&ui, PRESS_ENTER);
    assert_true(v->seeds == 3 && v->seed[2] == 9 && v->config.seed == 4);
    scene_press(&ui, PRESS_ENTER);
    prompt_set(&ui.prompt, "4..5, 9");
    scene_press(&ui, PRESS_ENTER);
    assert_true(v->seeds == 3 && v->seed[1] == 5 && v->seed[2] == 9);
    scene_press(&ui, 'i');
    scene_type(&ui, "for the talk");
    scene_press(&ui, PRESS_ENTER);
    char *command = compose_command(v);
    assert_non_null(strstr(command, " --seeds 4,5,9 --note 'for the talk'"));
    assert_null(strstr(command, "--seed 4"));
    free(command);
    scene_press(&ui, PRESS_ENTER);
    prompt_set(&ui.prompt, "4,4");
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.say, SAY_ERROR);
    scene_press(&ui, 'j'); /* a step is one seed again */
    assert_int_equal(v->seeds, 0);
    v->option = compose_option_find(v, "clip");
    assert_true(scene_shows(&ui, "beta1 0.9"));
    scene_press(&ui, 'O');
    v->option = compose_option_find(v, "lr");
    assert_false(scene_shows(&ui, "beta1 0.9"));
    v->option = compose_option_find(v, "eval-rows");
    for (int i = 0; i < 3; i++) scene_press(&ui, 'h'); /* past all that is folded */
    assert_int_equal(compose_option_group(v, v->option), GROUP_DATA);
    v->config.beta1 = 0.8; /* what is set stays in sight */
    compose_changed(v);
    assert_true(scene_shows(&ui, "beta1 0.8"));
    v->option = compose_option_find(v, "warmup");
    assert_true(scene_shows(&ui, "960 steps, 0 warm-up"));
    v->part = 0; /* what it does at step 0 is asked for, and shown while that is the method */
    compose_changed(v);
    assert_int_equal(scene_press(&ui, 'D').kind, EFFECT_START);
    compose_start(v, v->facts.canonical, "at step 0 it changes nothing");
    assert_true(scene_shows(&ui, "at step 0 it changes nothing"));
    compose_start(v, "another", "at step 0 it changes nothing");
    assert_false(scene_shows(&ui, "at step 0 it changes nothing"));
    assert_int_equal(scene_press(&ui, 'D').kind, EFFECT_NONE);
    struct arch t5 = scene_arch;
    t5.family = FAMILY_T5;
    t5.decoder_layers = 6;
    v->arch = &t5;
    compose_changed(v);
    scene_press(&ui, 'P');
    int bad = 0;
    for (int i = 0; i < ui.picker.count; i++) bad += ui.picker.item[i].dim && *ui.picker.item[i].note;
    assert_true(bad > 0 && bad < ui.picker.count);
    ui_release(&ui);
}

static struct effect enter(struct ui *ui, const char *option, const char *text) {
    ui->compose.option = compose_option_find(&ui->compose, option);
    scene_press(ui, PRESS_ENTER);
    assert_true(ui->prompt.open);
    prompt_set(&ui->prompt, text);
    return scene_press(ui, PRESS_ENTER);
}

/* u takes back one edit at a time and says which; what petri set up is one step with its name; a walk there and back is
 * no step, and a value that is refused changes nothing. */
static void undo_says_what_it_takes_back(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-pfeiffer(r=8)");
    struct compose_view *v = &ui.compose;
    struct run_config c;
    config_copy(&c, &v->config);
    c.batch = 16;
    c.steps = 60;
    compose_take_config(v, &c, "the first page's run");
    config_release(&c);
    v->axis = AXIS_SIZE;
    compose_changed(v);
    scene_press(&ui, 'j');
    assert_int_equal(v->config.method.module[0].size, 4);
    v->part = v->config.method.count;
    compose_changed(v);
    enter(&ui, "seed", "4,5,6");
    assert_int_equal(v->seeds, 3);
    enter(&ui, "seed", "many");
    assert_true(ui.say == SAY_ERROR && v->seeds == 3);
    v->option = compose_option_find(v, "batch");
    scene_press(&ui, 'k');
    scene_press(&ui, 'j');
    assert_int_equal(v->config.batch, 16);
    scene_press(&ui, 'u');
    assert_string_equal(ui.message, "undone: seed 1 \u2192 4, seeds 1 \u2192 4,5,6");
    assert_true(v->seeds == 0 && v->config.seed == 1);
    scene_press(&ui, 'u');
    assert_string_equal(ui.message, "undone: size 8 \u2192 4");
    assert_int_equal(v->config.method.module[0].size, 8);
    scene_press(&ui, 'u');
    assert_string_equal(ui.message, "undone: the first page's run (batch 32 \u2192 16, steps none \u2192 60)");
    assert_true(v->config.batch == 32 && v->config.steps == 0);
    for (int i = 0; i < 3; i++) scene_press(&ui, PRESS_CTRL('r'));
    assert_string_equal(ui.message, "redone: seed 1 \u2192 4, seeds 1 \u2192 4,5,6");
    assert_true(v->seeds == 3 && v->config.steps == 60 && v->config.method.module[0].size == 4);
    ui_release(&ui);
}

/* Another model or task is one step too: with it the rows are read again, and what was chosen before comes back whole. */
static void another_task_is_a_step(void **state) {
    (void)state;
    struct ui ui;
    struct run_config c;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    config_take_task(&v->config, "reviews");
    config_copy(&c, &v->config);
    config_take_task(&c, "debates");
    config_take_model(&c, "other");
    scene_method(&ui, "ia3");
    compose_take_source(v, &c);
    config_release(&c);
    assert_string_equal(v->config.task, "debates");
    assert_int_equal(scene_press(&ui, 'u').kind, EFFECT_ROWS);
    assert_string_equal(ui.message, "undone: model all-MiniLM-L6-v2 \u2192 other, task reviews \u2192 debates");
    assert_true(!strcmp(v->config.task, "reviews") && !strcmp(v->config.model, "all-MiniLM-L6-v2") && !strcmp(v->facts.text, "ia3"));
    assert_int_equal(scene_press(&ui, 'u').kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "undone: method lora \u2192 ia3, lr "));
    ui_release(&ui);
}

/* Several tasks are typed, sampled and weighed here; they come first among the options, their heads are counted, the
 * command line is what trains them, and u takes each change back. */
static void several_tasks_are_composed(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    v->part = v->config.method.count;
    compose_changed(v);
    size_t head = v->facts.head;
    assert_int_equal(compose_option_find(v, "sampling"), -1);
    assert_int_equal(enter(&ui, "batch", "16").kind, EFFECT_NONE);
    enter(&ui, "tasks", "mrpc");
    assert_true(ui.say == SAY_ERROR && strstr(ui.message, "at least two tasks") && !v->config.tasks);
    assert_int_equal(enter(&ui, "tasks", "mrpc,rte,cola").kind, EFFECT_ROWS);
    assert_int_equal(v->config.tasks, 3);
    assert_int_equal(compose_option_find(v, "tasks"), 0);
    assert_int_equal(v->option, 0); /* the cursor is still on it */
    assert_int_equal(v->facts.head, head + 2 * 2 * 385); /* two more classifiers of two classes */
    assert_true(scene_shows(&ui, "3 tasks") && scene_shows(&ui, "mrpc,rte,cola") && scene_shows(&ui, "sampling proportional"));
    scene_press(&ui, 'l');
    scene_press(&ui, 'j');
    assert_string_equal(v->config.sampling->text, "temperature(10)");
    scene_press(&ui, 'k');
    assert_string_equal(v->config.sampling->text, "proportional");
    assert_int_equal(enter(&ui, "sampling", "stratified(5)").kind, EFFECT_NONE);
    enter(&ui, "sampling", "often");
    assert_true(ui.say == SAY_ERROR && !strcmp(v->config.sampling->text, "stratified(5)"));
    enter(&ui, "split", "10%");
    assert_true(v->config.of[2].split == 0.1); /* of each */
    enter(&ui, "split", "none");
    assert_true(v->config.of[2].split == 0);
    enter(&ui, "weights", "rte=2");
    assert_true(v->config.of[1].task_weight == 2 && v->config.of[0].task_weight == 1);
    enter(&ui, "weights", "qnli=2");
    assert_true(ui.say == SAY_ERROR && v->config.of[1].task_weight == 2);
    enter(&ui, "best", "per-task");
    char *command = compose_command(v);
    assert_non_null(strstr(command, "--tasks mrpc,rte,cola --weights rte=2 --sampling 'stratified(5)' --best per-task"));
    assert_null(strstr(command, "--task "));
    free(command);
    scene_press(&ui, 'u');
    scene_press(&ui, 'u');
    assert_true(v->config.tasks == 3 && v->config.of[1].task_weight == 1 && v->config.best_of == BEST_AVERAGE);
    assert_int_equal(enter(&ui, "tasks", "none").kind, EFFECT_ROWS);
    assert_int_equal(v->config.tasks, 0);
    assert_string_equal(v->config.task, "mrpc");
    assert_int_equal(scene_press(&ui, 'u').kind, EFFECT_ROWS);
    assert_true(v->config.tasks == 3 && !strcmp(v->config.sampling->text, "stratified(5)"));
    ui_release(&ui);
}

/* The tasks of a run that was trained stand in the command by their folders. */
static void a_completed_list_is_named_by_its_folders(void **state) {
    (void)state;
    struct run_config c;
    struct err e = ERR_INIT;
    config_init(&c);
    test_ok(config_take_tasks(&c, "data/mrpc,rte", &e), &e);
    c.of[0].task_folder = xstrdup("/a/data/mrpc");
    c.of[1].task_folder = xstrdup("/b/rte");
    c.task = xstrdup("mrpc+rte");
    c.metric = xstrdup("average");
    char *command = config_command(&c);
    assert_non_null(strstr(command, " --tasks /a/data/mrpc,/b/rte "));
    assert_true(!strstr(command, "--task ") && !strstr(command, "--metric"));
    free(command);
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undo_says_what_it_takes_back),
        cmocka_unit_test(another_task_is_a_step),
        cmocka_unit_test(several_tasks_are_composed),
        cmocka_unit_test(a_completed_list_is_named_by_its_folders),
        cmocka_unit_test(options_are_typed_and_in_the_command),
        cmocka_unit_test(a_runs_values_are_a_start),
        cmocka_unit_test(memory_is_asked_for), cmocka_unit_test(training_is_asked_for),
        cmocka_unit_test(texts_need_a_decoder),
        cmocka_unit_test(an_axis_keeps_the_rate),
        cmocka_unit_test(every_option_can_be_walked),
        cmocka_unit_test(values_that_do_not_go_say_why),
        cmocka_unit_test(what_is_valid_starts),
        cmocka_unit_test(a_run_is_described_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
