/* C, then Enter: the run that Compose trains is the run that was cloned, in every option of the table. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/session/session_private.h"
#include "app/verbs/palette.h"
#include "app/verbs/runs/verb_train.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "tests/support/options.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/writer.h"

static char *home, *bert, *t5, *rows, *pairs, *folder, *tasks, *named, *bare, *texts;

static int set_up(void **state) {
    (void)state;
    static const char official[] = "text\tlabel\ngood film\t1\nbad film\t0\na good cat\t1\na bad dog\t0\n";
    static const char two[] = "body\tmore\ty\ncat sat\ton mat\t1\ndog ran\ton hat\t0\nthe cat\tsat\t1\nthe dog\tran\t0\n"
                              "a cat\ton mat\t1\na dog\ton mat\t0\nred cat\tsat\t1\nred dog\tsat\t0\nbig cat\tran\t1\n"
                              "big dog\tran\t0\n";
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    home = test_folder();
    bert = tiny_bert(home, "bert", NULL);
    t5 = writer_model(home, "t5", FAMILY_T5, NULL);
    rows = writer_labels(home);
    pairs = writer_pairs(home);
    folder = file_join(home, "task");
    if (file_make_folder(folder, &e) || file_read(rows, 1 << 20, &b, &e)) return -1;
    free(test_file(folder, "train.tsv", b.data, b.size));
    free(test_file(folder, "dev_official.tsv", official, sizeof official - 1));
    static const char headless[] = "cat sat\t1\ndog ran\t0\nthe cat\t1\nthe dog\t0\na cat\t1\na dog\t0\n";
    static const char lines[] = "cat sat on mat\ndog ran on hat\nthe cat sat\nthe dog ran\nred cat\nbig dog\n";
    texts = test_file(home, "texts", lines, sizeof lines - 1);
    bare = test_file(home, "bare.tsv", headless, sizeof headless - 1);
    named = test_file(home, "named.tsv", two, sizeof two - 1);
    char *second = file_join(home, "second");
    if (file_make_folder(second, &e)) return -1;
    free(test_file(second, "train.tsv", b.data, b.size));
    free(test_file(second, "dev.tsv", b.data, b.size));
    free(test_file(folder, "dev.tsv", official, sizeof official - 1));
    tasks = xprintf("%s,%s", folder, second);
    free(second);
    buf_release(&b);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(home);
    free(bert);
    free(t5);
    free(rows);
    free(pairs);
    free(folder);
    free(tasks);
    free(named);
    free(bare);
    free(texts);
    return 0;
}

/* What a run is of: options whose values cannot be any text or number. */
struct ground {
    const char *name;
    const char *value[24][2];
};

static bool stands(const struct ground *g, const struct option *o) {
    for (size_t i = 0; i < COUNT_OF(g->value) && g->value[i][0]; i++)
        if (!strcmp(g->value[i][0], o->name)) return true;
    return false;
}

/* Every option away from its default but those that the ground sets, and those of other kinds of runs. */
static void describe(const struct ground *g, struct run_config *c) {
    struct err e = ERR_INIT;
    config_init(c);
    for (size_t i = 0; i < COUNT_OF(g->value) && g->value[i][0]; i++)
        test_ok(config_set(c, g->value[i][0], g->value[i][1], &e), &e);
    if (c->tasks_given) test_ok(config_set_tasks(c, c->tasks_given, &e), &e);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (!o->name || stands(g, o) || o->kind == OPTION_TEXT) continue;
        if (option_has_say(c, o, c->form == FORM_TEXT) && strcmp(o->name, "epochs")) options_move_away(c, o);
    }
    c->epochs = 0;
    for (int i = 0; i < c->tasks; i++) { /* what is said once is said before the tasks are known */
        c->of[i].split_seed = c->split_seed;
        c->of[i].split_validation = c->split_validation;
        c->of[i].limit = c->limit;
        c->of[i].limit_seed = c->limit_seed;
    }
}

static void no_notify(void *self) { (void)self; }

static void open_session(struct session *s, const char *db) {
    struct err e = ERR_INIT;
    memset(s, 0, sizeof *s);
    test_ok(store_open(&s->store, db, STORE_WRITE, &e), &e);
    s->jobs = jobs_new(s->store, 2, (struct jobs_hook){ .notify = no_notify });
    s->room = (struct workroom){ .store = s->store, .jobs = s->jobs };
    s->background = background_new(&s->room, no_notify, NULL);
    s->inside.insight = insight_new(s->store, true, jobs_crew(s->jobs), no_notify, NULL);
    ui_init(&s->ui, GLYPHS_BRAILLE, COLORS_NONE);
    config_take_model(&s->ui.compose.config, "no model of this name");
    config_take_task(&s->ui.compose.config, "no task of this name");
}

static void close_session(struct session *s) {
    struct err e = ERR_INIT;
    background_free(s->background);
    insight_free(s->inside.insight);
    jobs_free(s->jobs, false);
    session__runs_release(s);
    session__compose_release(s);
    workroom_release(&s->room);
    ui_release(&s->ui);
    test_ok(store_close(s->store, &e), &e);
}

static void frozen(struct session *s, int64_t id, struct run_config *c) {
    struct err e = ERR_INIT;
    struct store_run run;
    test_ok(store_flush(s->store, &e), &e);
    test_ok(store_run(s->store, id, &run, &e), &e);
    if (run.state != STORE_FINISHED) fail_msg("run %d is %s: %s", (int)id, store_state_name(run.state), run.reason ? run.reason : "");
    test_ok(config_from_json(run.config, strlen(run.config), c, &e), &e);
    store_run_release(&run);
}

/* What was asked for is frozen; what follows from model and rows (a length cut to the model's, a text form's
 * columns) is not compared here. */
static void asked_for(const struct run_config *asked, const struct run_config *c, const struct ground *g) {
    static const char *const follows[] = { "model", "task", "train", "dev", "text", "max-length", "max-target",
                                           "metric" };
    struct run_config usual;
    config_init(&usual);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        bool left = !o->name || option_same(asked, &usual, o);
        for (size_t k = 0; k < COUNT_OF(follows) && !left; k++) left = !strcmp(follows[k], o->name);
        if (!left && !option_same(asked, c, o)) fail_msg("%s: --%s is not frozen as it was asked for", g->name, o->name);
    }
    config_release(&usual);
}

static void nap(void) { nanosleep(&(struct timespec){ 0, 10000000 }, NULL); }

/* Compose shows the clone's model and rows. */
static void await_compose(struct session *s, const struct run_config *c) {
    const struct compose_view *v = &s->ui.compose;
    for (int i = 0; i < 1000; i++) {
        session__answers(s);
        if (v->arch && v->train_rows && s->ui.screen == SCREEN_COMPOSE) break;
        nap();
    }
    if (!v->arch || !v->train_rows) fail_msg("Compose does not show the clone: %s", s->ui.message);
    assert_string_equal(v->task, c->task);
    assert_string_equal(v->config.model_folder, c->model_folder);
}

static int64_t await_second(struct session *s, int64_t first) {
    for (int i = 0; i < 3000; i++, nap()) {
        int64_t *ids, id = 0;
        size_t n = jobs_ids(s->jobs, &ids);
        if (n > 1) id = ids[n - 1];
        free(ids);
        if (id > first && jobs_wait(s->jobs, id, 0)) return id;
        char *said = jobs_message(s->jobs);
        if (*said) fail_msg("%s", said);
        free(said);
    }
    fail_msg("nothing was trained");
    return 0;
}

/* petri train --like ID, without another option: what it asks for is what the run was made with. */
static void like_asks_for_the_same(const char *db, int64_t id, const struct run_config *made, const struct ground *g) {
    struct line_meaning m;
    struct args a;
    struct job_request r;
    struct run_config wanted;
    struct err e = ERR_INIT;
    uint64_t seed[VERB_SEEDS];
    int seeds;
    char *line = xprintf("train --like %lld", (long long)id), **room;
    test_ok(palette_verbs.mean(line, db, &m, &e), &e);
    room = xcalloc(m.words, sizeof *room);
    test_ok(args_parse(&a, verb_find("train"), (int)m.words - 1, m.word + 1, room, &e), &e);
    test_ok(verb_train_request(&a, NULL, &r, seed, &seeds, &e), &e);
    config_copy(&wanted, made);
    config_reuse(&wanted);
    options_same(&wanted, &r.config, g->name, false);
    const char *other = config_difference(&wanted, &r.config);
    if (other) fail_msg("%s: --like: %s differs", g->name, other);
    assert_int_equal(r.parent, id);
    assert_int_equal(seeds, 1);
    assert_true(seed[0] == made->seed);
    config_release(&wanted);
    config_release(&r.config);
    line_meaning_release(&m);
    free(room);
    free(line);
}

/* `teacher`, where there is one, is trained before, as run 1. */
static void clone_trains_the_same(const struct ground *g, const struct ground *teacher, int number) {
    struct session s;
    struct err e = ERR_INIT;
    struct job_request r = { 0 };
    struct run_config first, second;
    char *db = xprintf("%s/%d.db", home, number);
    int64_t id;
    open_session(&s, db);
    if (teacher) {
        struct job_request before = { 0 };
        describe(teacher, &before.config);
        if (jobs_start(s.jobs, &before, &id, &e)) fail_msg("%s: %s", teacher->name, e.text);
        assert_true(jobs_wait(s.jobs, id, 30));
        config_release(&before.config);
    }
    describe(g, &r.config);
    if (jobs_start(s.jobs, &r, &id, &e)) fail_msg("%s: %s", g->name, e.text);
    assert_true(jobs_wait(s.jobs, id, 30));
    frozen(&s, id, &first);
    asked_for(&r.config, &first, g);
    like_asks_for_the_same(db, id, &first, g);
    session__effect(&s, &(struct effect){ .kind = EFFECT_CLONE, .run = &id, .runs = 1 });
    await_compose(&s, &first);
    session__effect(&s, &(struct effect){ .kind = EFFECT_TRAIN });
    frozen(&s, await_second(&s, id), &second);
    options_same(&first, &second, g->name, false);
    const char *other = config_difference(&first, &second);
    if (other) fail_msg("%s: %s differs", g->name, other);
    config_release(&first);
    config_release(&second);
    config_release(&r.config);
    close_session(&s);
    free(db);
}

static void every_option_survives_a_clone(void **state) {
    (void)state;
    const struct ground teacher = {
        "a prompt that teaches",
        { { "model", bert }, { "train", bare }, { "text", "#1" }, { "label", "#2" }, { "method", "prompt(l=2)" },
          { "header", "off" }, { "no-header", "on" }, { "optimizer", "adamw" }, { "form", "classes" }, { "kind", "classes" },
          { "max-length", "9" }, { "split", "40%" }, { "split-validation", "off" }, { "lr", "0.001" }, { "official-dev", "off" } } };
    const struct ground ground[] = {
        { "files with columns, SGD, held out rows",
          { { "model", bert }, { "train", named }, { "text", "body" }, { "text-b", "more" }, { "label", "y" }, { "kind", "classes" },
            { "positive", "0" }, { "metric", "f1" }, { "optimizer", "sgd" }, { "form", "classes" },
            { "header", "on" }, { "no-header", "off" }, { "delimiter", "tab" },
            { "unlabeled", "9" }, { "max-length", "9" }, { "split", "40%" }, { "split-validation", "off" },
            { "lr", "0.001" }, { "official-dev", "off" } } },
        { "a folder's official dev rows, AdamW",
          { { "model", bert }, { "task", folder }, { "optimizer", "adamw" }, { "form", "auto" }, { "kind", "auto" },
            { "header", "off" }, { "no-header", "off" }, { "metric", "matthews" }, { "max-length", "11" },
            { "split", "none" }, { "no-dev", "off" }, { "lr", "0.002" } } },
        { "labels as text",
          { { "model", t5 }, { "train", rows }, { "dev", rows }, { "text", "text" }, { "label", "label" },
            { "header", "off" }, { "no-header", "off" }, { "optimizer", "adamw" },
            { "form", "text" }, { "kind", "classes" }, { "max-length", "13" },
            { "max-target", "7" }, { "split", "none" }, { "lr", "0.002" },
            { "official-dev", "off" }, { "loss-on", "answer" } } },
        { "texts to texts",
          { { "model", t5 }, { "train", pairs }, { "dev", pairs }, { "source", "source" }, { "target", "target" },
            { "header", "off" }, { "no-header", "off" },
            { "optimizer", "sgd" }, { "form", "text" }, { "kind", "auto" }, { "max-length", "14" }, { "max-target", "9" },
            { "split", "none" }, { "lr", "0.001" }, { "official-dev", "off" }, { "loss-on", "answer" },
            { "metric", "bleu" } } },
        { "prompts and completions of a decoder-only model",
          { { "model", "tests/reference/causal/llama" }, { "train", pairs }, { "dev", pairs }, { "source", "source" },
            { "target", "target" }, { "template", "chatml" }, { "loss-on", "all" }, { "weights-in", "file" },
            { "header", "off" }, { "no-header", "off" }, { "optimizer", "adamw" }, { "form", "text" }, { "kind", "auto" },
            { "max-length", "48" }, { "max-target", "9" }, { "split", "none" }, { "lr", "0.001" }, { "official-dev", "off" },
            { "metric", "bleu" } } },
        { "several tasks",
          { { "model", bert }, { "tasks", tasks }, { "weights", "second=2" }, { "sampling", "stratified(4)" },
            { "optimizer", "adamw" }, { "form", "auto" }, { "max-length", "11" }, { "embed-every", "0" }, { "embed-rows", "200" },
            { "lr", "0.002" }, { "official-dev", "off" }, { "split", "none" }, { "kind", "auto" }, { "header", "off" },
            { "no-header", "off" }, { "no-dev", "off" } } },
        { "a table without a header",
          { { "model", bert }, { "train", bare }, { "text", "#1" }, { "label", "#2" },
            { "header", "off" }, { "method", "prompt(l=2,init=text)" }, { "prompt-text", "good bad" },
            { "no-header", "on" }, { "optimizer", "adamw" }, { "form", "classes" }, { "kind", "classes" },
            { "max-length", "9" }, { "split", "40%" }, { "split-validation", "off" }, { "lr", "0.001" },
            { "official-dev", "off" } } },
        { "a prompt that a run teaches",
          { { "model", bert }, { "train", bare }, { "text", "#1" }, { "label", "#2" }, { "method", "mpt(l=2)" }, { "teachers", "1" },
            { "header", "off" }, { "no-header", "on" }, { "optimizer", "adamw" }, { "form", "classes" }, { "kind", "classes" },
            { "max-length", "9" }, { "split", "40%" }, { "split-validation", "off" }, { "lr", "0.001" }, { "official-dev", "off" } } },
        { "masked words of texts",
          { { "model", bert }, { "train", texts }, { "dev", texts }, { "form", "masked" }, { "optimizer", "adamw" }, { "kind", "auto" },
            { "max-length", "9" }, { "split", "none" }, { "lr", "0.002" }, { "official-dev", "off" }, { "header", "off" },
            { "no-header", "off" }, { "share-frozen", "off" } } },
        { "episodes of a task",
          { { "model", bert }, { "train", named }, { "dev", named }, { "text", "body" }, { "text-b", "more" },
            { "label", "y" }, { "kind", "classes" }, { "header", "on" }, { "no-header", "off" }, { "optimizer", "adamw" },
            { "form", "auto" }, { "max-length", "9" }, { "split", "none" }, { "split-seed", "0" }, { "split-validation", "off" },
            { "lr", "0.002" }, { "official-dev", "off" }, { "embed-every", "0" }, { "embed-rows", "200" },
            { "limit", "none" }, { "limit-seed", "0" }, { "eval-rows", "0" },
            { "method", "lora(r=2) + generated-head(hidden=6, width=5)" },
            { "regime", "meta(order=first, inner=1, inner-lr=learned(0.01), clip=none, support=4, query=2, tasks=1, "
                        "outer=shared+start+rates, losses=last, labels=within)" } } },
    };
    /* every option of the table is moved in one of them */
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        bool episodes = o->scope == OPTION_OF_META && o->kind == OPTION_TEXT; /* of a corpus */
        bool moved = !o->name || !strcmp(o->name, "epochs") || o->scope == OPTION_OF_JOIN || episodes;
        for (size_t k = 0; k < COUNT_OF(ground) && !moved; k++) {
            struct run_config c, usual;
            config_init(&usual);
            describe(&ground[k], &c);
            moved = !option_same(&c, &usual, o);
            config_release(&c);
            config_release(&usual);
        }
        if (!moved) fail_msg("--%s stands at its default in every run of this test: give it a value above", o->name);
    }
    for (size_t i = 0; i < COUNT_OF(ground); i++)
        clone_trains_the_same(&ground[i], stands(&ground[i], option_find("teachers")) ? &teacher : NULL, (int)i);
}

/* Every effect has its row, which does something. */
static void every_effect_is_done(void **state) {
    (void)state;
    for (int i = EFFECT_NONE + 1; i < EFFECT_KINDS; i++) {
        const struct action *a = action_of((enum effect_kind)i);
        if (!a || !a->act + !a->plain + !a->work != 2) fail_msg("effect %d", i);
    }
}

/* What a key did is a line that the command line takes, each of its commands of the same database. */
static void actions_have_their_lines(void **state) {
    (void)state;
    static const struct run_row listed[] = { { .id = 3, .state = RUN_FINISHED, .tags = "old, pinned", .pinned = true },
                                           { .id = 5, .state = RUN_STOPPED, .resumable = true } };
    static const int64_t both[] = { 3, 5 };
    static const struct {
        enum effect_kind kind;
        int runs, by;
        bool keep;
        enum screen_id on;
        const char *text, *line;
    } all[] = {
        { EFFECT_STOP, 1, 0, true, SCREEN_TRAIN, "", "stop 3" },
        { EFFECT_STOP, 1, 0, false, SCREEN_TRAIN, "", "stop 3; trash 3" },
        { EFFECT_AGAIN, 2, 0, false, SCREEN_RUNS, "", "train --like 3; resume 5" },
        { EFFECT_PURGE, 2, 2, false, SCREEN_RUNS, "", "purge 3 5" },
        { EFFECT_PIN, 1, 0, false, SCREEN_RUNS, "", "tag 3 pinned --remove" },
        { EFFECT_PIN, 2, 0, false, SCREEN_RUNS, "", "tag 3 5 pinned" },
        { EFFECT_TAGS, 1, 0, false, SCREEN_RUNS, "pinned, the talk", "tag 3 'the talk'; tag 3 old --remove" },
        { EFFECT_TAGS, 2, 0, false, SCREEN_RUNS, "old", "tag 3 5 old" },
        { EFFECT_NOTE, 1, 0, false, SCREEN_RUNS, "it's good", "note 3 'it'\\''s good'" },
        { EFFECT_NAME, 1, 0, false, SCREEN_RUNS, "", "name 3 ''" },
        { EFFECT_BESIDE, 2, 0, false, SCREEN_TRAIN, "", "plot 3 5" },
        { EFFECT_EXPORT, 1, 0, false, SCREEN_RUNS, "hf", "export 3 --to hf petri-run3-hf" },
        { EFFECT_TABLE, 0, 0, false, SCREEN_RUNS, "csv", "runs task=reviews --csv" },
        { EFFECT_PICTURE, 0, 0, false, SCREEN_RUNS, "png", "render --screen runs --size 80x24 --filter task=reviews --out runs.png" },
        { EFFECT_PICTURE, 0, 0, false, SCREEN_COMPOSE, "ansi",
          "render --screen compose --size 80x24 --method lora --model none --task none --out compose.ans" },
        { EFFECT_PICTURE, 0, 0, false, SCREEN_MAP, "svg", "render --screen map --size 80x24 --run 5 --out map.svg" },
        { EFFECT_PICTURE, 0, 0, false, SCREEN_PAGE, "svg", NULL },
        { EFFECT_HEATMAP, 0, -1, false, SCREEN_MAP, "", "similarity 5 --of classes" },
        { EFFECT_MAP_TRAINING, 0, 0, false, SCREEN_MAP, "", "map --run 5 --steps" },
        { EFFECT_METHOD_KEEP, 0, 0, false, SCREEN_COMPOSE, "mine", "methods --save mine --method lora" },
        { EFFECT_METHOD_KEEP, 0, -1, false, SCREEN_COMPOSE, "mine", "methods --forget mine" },
        { EFFECT_METHODS_IN, 0, 0, false, SCREEN_COMPOSE, "a file", "methods --import 'a file'" },
        { EFFECT_LESSON, 0, 0, false, SCREEN_LEARN, "lora", "learn lora" },
        { EFFECT_TALK, 1, 0, false, SCREEN_TALK, "", "chat 3" },
        { EFFECT_SAVE_SETTINGS, 0, 0, false, SCREEN_RUNS, "", "settings theme=light --write" },
    };
    struct session s = { .named = xstrdup("/a b.db") };
    ui_init(&s.ui, GLYPHS_BRAILLE, COLORS_NONE);
    ui_resize(&s.ui, 80, 24);
    config_take_model(&s.ui.compose.config, "none");
    config_take_task(&s.ui.compose.config, "none");
    s.ui.runs.row = listed;
    s.ui.runs.rows = 2;
    strcpy(s.ui.runs.filter, "task=reviews");
    s.ui.map.subject[0] = 5;
    s.ui.map.subjects = 1;
    settings_init(&s.settings.now);
    strcpy(s.settings.now.value[SETTING_THEME], "light");
    strcpy(s.settings.now.value[SETTING_READONLY], "on"); /* by the command line */
    s.settings.set[SETTING_THEME] = s.ui.mouse = true;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct effect x = { .kind = all[i].kind, .run = both, .runs = all[i].runs, .by = all[i].by, .keep = all[i].keep };
        strcpy(x.text, all[i].text);
        ui_show(&s.ui, all[i].on);
        char *line = session__line(&s, &x), *rest = line, *said = xstrdup(""), *part;
        while (rest && (part = strstr(rest, "petri ") ? rest : NULL)) {
            struct line_meaning m;
            struct err e = ERR_INIT;
            char *end = strstr(part, " --db '/a b.db'"), *more;
            assert_non_null(end);
            rest = text_starts(end, " --db '/a b.db'; ") ? end + strlen(" --db '/a b.db'; ") : NULL;
            *end = '\0';
            test_ok(palette_verbs.mean(part + 6, NULL, &m, &e), &e);
            line_meaning_release(&m);
            more = xprintf("%s%s%s", said, *said ? "; " : "", part + 6);
            free(said);
            said = more;
        }
        assert_string_equal(said, all[i].line ? all[i].line : "");
        free(said);
        free(line);
    }
    ui_release(&s.ui);
    free(s.named);
}

/* The ':' line with the app's words: each word typed so far is completed by one that it may be. */
static void lines_are_completed(void **state) {
    (void)state;
    static const struct run_row listed[] = { { .id = 3, .method = "lora(r=8)", .task = "reviews", .tags = "old, talk" } };
    static const struct {
        const char *line, *word;
        size_t from; /* where the word begins */
    } all[] = {
        { "train --keep best,la", "last", 18 },    { "train --regime me", "meta(", 15 },      { "train --like lor", "3", 13 },
        { "compare --by task,see", "seed", 18 },   { "learn lor", "lora", 6 },                { "replicate pha", "pha-parts", 10 },
        { "fetch ta", "tasks", 6 },                 { "sweep ext", "extend", 6 },              { "settings theme=m", "theme=mono", 9 },
        { "settings gly", "glyphs=", 9 },          { "tag 3 ta", "talk", 6 },                 { "plot tas", "task=", 5 },
        { "models petri-m", "petri-mini", 7 },     { "tasks sec", "sections", 6 },            { "unseen sec", "sections", 7 },
        { "train --metric rougeL", "rougeL", 15 }, { "plot 3 --key grad", "grad_norm", 13 },  { "explain lora --beside ia", "ia3", 22 },
        { "help rend", "render", 5 },              { "runs --sort par", "params", 12 },      { "render --size 80", "80x24", 14 },
        { "set theme da", "dark", 10 },            { "embed --split tr", "train", 14 },       { "count --method ma", "mam", 15 },
    };
    struct ui ui;
    ui_init(&ui, GLYPHS_BRAILLE, COLORS_NONE);
    ui.runs.row = listed;
    ui.runs.rows = 1;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        palette_begin(&ui.palette, all[i].line);
        palette_verbs.offer(NULL, &ui, all[i].line);
        const struct palette *p = &ui.palette;
        if (!p->count || strcmp(p->row[0].word, all[i].word) || p->from != all[i].from)
            fail_msg("%s: \"%s\" from %zu, of %d", all[i].line, p->count ? p->row[0].word : "", p->from, p->count);
    }
    palette_begin(&ui.palette, "train --steps 3 --model one --task=two");
    palette_verbs.offer(NULL, &ui, "train --steps 3 --model one --task=two");
    assert_string_equal(ui.palette.does, "trains as on Compose, except model none \u2192 one, task none \u2192 two, "
                                         "epochs 3 \u2192 none, steps none \u2192 3");
    ui_release(&ui);
}

/* What may change the history or the user's files is told from what only reads. */
static void lines_that_change_are_known(void **state) {
    (void)state;
    static const struct {
        const char *line;
        enum line_kind kind;
    } all[] = {
        { "methods", LINE_READS },       { "methods --save a --method lora", LINE_CHANGES }, { "methods --forget a", LINE_CHANGES },
        { "methods --save off --method lora", LINE_CHANGES }, { "methods --forget off", LINE_CHANGES },
        { "methods --import f", LINE_CHANGES }, { "plot 3", LINE_READS },        { "settings theme=light", LINE_READS },
        { "settings theme=light --write", LINE_CHANGES }, { "similarity --list", LINE_READS }, { "similarity 3", LINE_CHANGES },
        { "embed --list", LINE_READS },  { "learn --list", LINE_READS },         { "learn lora --auto", LINE_CHANGES },
        { "sweep --lr {1,2} --at-once 1", LINE_ELSEWHERE }, { "sweep --lr {1,2} --dry-run", LINE_READS },
        { "tag 3 a", LINE_CHANGES },     { "train --steps 3", LINE_TRAINS },     { "pretrain --text a --out b", LINE_ELSEWHERE },
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct line_meaning m;
        struct err e = ERR_INIT;
        test_ok(palette_verbs.mean(all[i].line, NULL, &m, &e), &e);
        if (m.kind != all[i].kind) fail_msg("%s: %d", all[i].line, (int)m.kind);
        line_meaning_release(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_survives_a_clone),
        cmocka_unit_test(every_effect_is_done),
        cmocka_unit_test(actions_have_their_lines),
        cmocka_unit_test(lines_are_completed),
        cmocka_unit_test(lines_that_change_are_known),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
