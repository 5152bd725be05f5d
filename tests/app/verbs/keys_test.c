/* The keys of what verbs print with --json, in their order: programs read them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* Whether an object's keys are names of what was measured, which are as many as there are. */
static bool has_names(const char *path) {
    static const char *const of[] = { "metrics", "values", "undefined", "differs" };
    for (size_t i = 0; i < COUNT_OF(of); i++)
        if (!strcmp(path, of[i])) return true;
    return false;
}

/* Adds the paths of a value's keys, each once; the elements of arrays are one. */
static void add_keys(const json_t *v, const char *before, struct buf *keys) {
    const char *key;
    json_t *member;
    size_t i;
    json_array_foreach(v, i, member) add_keys(member, before, keys);
    json_object_foreach((json_t *)v, key, member) {
        char *path = xprintf("%s%s%s", before, *before ? "." : "", has_names(before) ? "*" : key), *word = xprintf(" %s ", path);
        if (!strstr(buf_text(keys), word)) buf_puts(keys, word + (keys->size > 0));
        add_keys(member, path, keys);
        free(path), free(word);
    }
}

static void has_keys(const char *line, const char *expected) {
    struct buf keys = BUF_INIT;
    struct command c;
    command_run(&c, NULL, "%s --db '%s' --json", line, stage.db);
    command_expect(&c, 0);
    for (char *rest = c.out.data, *one; (one = strsep(&rest, "\n"));) {
        json_t *v = *one ? json_loads(one, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (*one) assert_non_null(v);
        add_keys(v, "", &keys);
        json_decref(v);
    }
    char *wanted = xprintf(" %s ", expected);
    if (strcmp(buf_text(&keys), wanted)) {
        fprintf(stderr, "%s has\n%s\nand is to have\n%s\n", line, buf_text(&keys), wanted);
        fail();
    }
    free(wanted);
    buf_release(&keys);
    command_release(&c);
}

/* petri VERB on the toy task, which is its own dev rows, with `more` options; caller frees. */
static char *on_toy(const char *verb, const char *more) {
    return xprintf("%s --train '%s' --dev '%s' --text text --label label %s", verb, stage.toy, stage.toy, more);
}

static char *trains(const char *verb, const char *more) {
    char *rows = on_toy(verb, more), *line = xprintf("%s --model '%s' --batch 2 --lr 1e-3 --precision f32", rows, stage.model);
    free(rows);
    return line;
}

static int make(void **state) {
    static const char *const run[] = { "--method 'lora(r=2)' --eval-steps 2 --embed-every 2 --embed-rows 8", "--method bitfit" };
    stage_make(state);
    for (int i = 0; i < 2; i++) {
        char *line = trains("train", run[i]);
        free(stage_out(0, "%s --steps 4 --db '%s'", line, stage.db));
        free(line);
    }
    return 0;
}

static void of_runs(void **state) {
    (void)state;
    has_keys("runs",
             "id state reason method preset regime task model trained kept head model_values seed lr best "
             "best.metric best.value best.step best.rows final_loss constant none_valid weights_sha256 step "
             "steps seconds estimated_seconds peak_bytes estimated_bytes created started ended trashed parent "
             "sweep tags name note version");
    has_keys("compare 1 2",
             "id spec metric rows value mixed cells cells.name cells.axes cells.axes.method cells.valid "
             "cells.reason cells.state cells.runs cells.seeds cells.repeats cells.n cells.mean cells.sd "
             "cells.low cells.high cells.final cells.trained cells.seconds cells.memory pairs pairs.a pairs.b "
             "pairs.n pairs.diff pairs.low pairs.high pairs.p pairs.claim unpaired effects effects.axis "
             "effects.level effects.n effects.mean effects.low effects.high effects_of no_effects pareto cost "
             "ranks ranks.lora(r=2) #1 ranks.bitfit #2 differs differs.*");
    has_keys("show 1 --why",
             "kind text figures figures.step figures.evaluations figures.rows figures.half_width figures.of "
             "figures.seen figures.steps");
    has_keys("trash 2", "trashed");
    has_keys("restore 2", "restored");
    has_keys("note 1 words", "noted note");
    has_keys("name 1 words", "named name before");
    has_keys("tag 1 words", "tagged tags");
    has_keys("plot 1 2",
             "key x smooth runs runs.run runs.name runs.key runs.step runs.x runs.value runs.smoothed");
    char *line = xprintf("merge '%s/other.db' '%s'", stage.folder, stage.db);
    has_keys(line,
             "into from from.path from.runs from.runs.from from.runs.into from.runs.what from.runs.lacks_files "
             "from.runs.damaged from.sweeps from.sweeps.from from.sweeps.into");
    free(line);
    line = xprintf("export 1 --to petri '%s/one'", stage.folder);
    has_keys(line, "run file");
    free(line);
    free(stage_out(0, "trash 2 --db '%s'", stage.db));
    has_keys("purge --all --yes", "purged files bytes");
}

static void of_what_a_run_says(void **state) {
    (void)state;
    has_keys("predict 1 --text good", "label probabilities probabilities.neg probabilities.pos text");
    has_keys("eval 1",
             "run model file split rows gold cut_rows metrics metrics.* undefined undefined.* metric constant "
             "none_valid as_majority wrong classes positive f1 f1.neg f1.pos confusion");
    has_keys("embed --run 1 --rows 8",
             "set run step model task split rows columns layer pool seed created new");
    has_keys("embed --list", "set run step model task split rows columns layer pool seed created");
    has_keys("map --run 1 --steps",
             "run n columns model task layer pool perplexity seed metric by caution labels steps steps.step "
             "steps.set steps.kl steps.silhouette steps.purity steps.preservation steps.metric steps.points");
    has_keys("map 1 --iterations 10",
             "n columns set run step model task layer pool method kl seconds perplexity iterations seed by "
             "silhouette purity purity_k preservation repeats perplexity_unreached undefined note caution "
             "labels points");
    has_keys("similarity 1 --of classes --rows 8",
             "of measure row_run row_step column_run column_step model model_sha256 model_fingerprint task "
             "split drawn rows_sha256 layer order matrix rows columns values undefined min max");
    has_keys("similarity --list",
             "matrix run rows columns about about.of about.measure about.row_run about.row_step "
             "about.column_run about.column_step about.model about.model_sha256 about.model_fingerprint "
             "about.task about.split about.drawn about.rows_sha256 about.layer");
}

static void of_what_is_there(void **state) {
    (void)state;
    has_keys("methods",
             "name title axes axes.function axes.position axes.insertion axes.composition axes.source paper "
             "sizes lr same_as text modules note");
    has_keys("models", "name folder family layers width heads parameters refused");
    has_keys("tasks", "name kind folder");
    has_keys("tasks games-sound,admin-net", "task rows probability expected");
    has_keys("learn --list", "lesson title about minutes seconds model task done file");
    has_keys("help train", "verb synopsis help options options.name options.value options.help");
    has_keys("render --screen runs", "screen columns rows text");
    has_keys("settings", "path theme glyphs mouse hangup readonly model task workers");
    has_keys("explain lora",
             "name method title about axes formula trains costs equals released counts counts.trained "
             "counts.kept counts.head counts.head_trained counts.model counts.modules counts.modules.index "
             "counts.modules.text counts.modules.trained counts.modules.kept counts.modules.tensors "
             "counts.modules.where counts.modules.arithmetic counts.networks counts.tasks counts.per_task "
             "counts.shared counts.own");
    char *line = xprintf("count --method lora --model '%s'", stage.model);
    has_keys(line,
             "trained kept head head_trained model modules modules.index modules.text modules.trained "
             "modules.kept modules.tensors modules.where modules.arithmetic networks tasks per_task shared "
             "own memory_need memory_free");
    free(line);
    line = xprintf("encode --text good --model '%s'", stage.model);
    has_keys(line, "ids types cut cls mean");
    free(line);
}

static void of_training(void **state) {
    (void)state;
    char *train = trains("train", "--steps 2 --eval-steps 1 --method 'lora(r=2)'"),
         *sweep = trains("sweep", "--steps 2 --method '{lora(r=2),bitfit}' --seeds 1,2"),
         *adapt = on_toy("adapt 1", "--k 1 --draws 2 --steps 1");
    has_keys(train,
             "event run step state seconds loss lr grad_norm tokens split rows metrics metrics.* undefined "
             "undefined.* constant none_valid best path id reason method preset regime task model trained "
             "kept head model_values seed best.metric best.value best.step best.rows final_loss "
             "weights_sha256 steps estimated_seconds peak_bytes estimated_bytes created started ended trashed "
             "parent sweep tags name note version canonical model_folder model_sha256 task_folder train_file "
             "train_sha256 dev_file dev_sha256 kernel folder modules modules.text modules.fn modules.act "
             "modules.read modules.write modules.target modules.insertion modules.composition modules.scale "
             "modules.source modules.heads modules.init modules.layers modules.size modules.mid "
             "modules.dropout modules.trained modules.kept values values.* values.*.last values.*.step "
             "values.*.best values.*.best_step values.*.undefined report config config.model "
             "config.model_folder config.model_sha256 config.model_facts config.task config.task_folder "
             "config.train_file config.dev_file config.train_sha256 config.dev_sha256 config.official_dev "
             "config.split config.split_validation config.split_seed config.limit config.limit_seed "
             "config.text_column config.text_b_column config.label_column config.source_column "
             "config.target_column config.header config.no_header config.delimiter config.no_gold "
             "config.regression config.positive config.metric config.task_name config.task_weight "
             "config.method config.regime config.lr config.batch config.accumulate config.epochs config.steps "
             "config.max_len config.schedule config.warmup config.optimiser config.beta1 config.beta2 "
             "config.epsilon config.momentum config.weight_decay config.clip config.dropout config.eval_every "
             "config.eval_rows config.early_stop config.keep config.embed_every config.embed_rows config.form "
             "config.prefix config.max_target config.loss_mean config.smoothing config.beams config.samples "
             "config.sample_every config.shards config.seed method_json method_json.version method_json.head "
             "method_json.modules method_json.modules.function method_json.modules.size "
             "method_json.modules.read method_json.modules.write method_json.modules.insertion "
             "method_json.modules.composition method_json.modules.scale method_json.modules.heads "
             "method_json.modules.source method_json.modules.init method_json.modules.dropout "
             "method_json.modules.layers method_json.modules.stack");
    has_keys(sweep,
             "id spec metric rows value mixed cells cells.name cells.axes cells.axes.method cells.valid "
             "cells.reason cells.state cells.runs cells.seeds cells.repeats cells.n cells.mean cells.sd "
             "cells.low cells.high cells.final cells.trained cells.seconds cells.memory pairs pairs.a pairs.b "
             "pairs.n pairs.diff pairs.low pairs.high pairs.p pairs.claim unpaired effects effects.axis "
             "effects.level effects.n effects.mean effects.low effects.high effects_of no_effects pareto cost "
             "ranks ranks.lora(r=2) ranks.bitfit");
    has_keys(adapt,
             "run task results results.k results.prototype results.vote results.metric results.mean "
             "results.sd results.n results.majority results.draws results.draws.draw results.draws.prototype "
             "results.draws.value results.draws.steps results.draws.loss");
    has_keys("sweep", "id spec runs");
    free(train), free(sweep), free(adapt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_what_is_there),
        cmocka_unit_test(of_training),
        cmocka_unit_test(of_what_a_run_says),
        cmocka_unit_test(of_runs),
    };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
