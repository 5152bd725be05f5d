/* The real program in a real terminal: keys typed ahead, pastes, and what the screens offer. */
#include <sys/stat.h>

#include "core/method/space.h"
#include "store/store.h"
#include "tests/app/session/terminal.h"

/* ---- keys typed ahead ---- */

static void await_runs(size_t wanted) {
    double from = now();
    size_t there;
    while ((there = run_count()) != wanted) {
        if (now() - from > 15 * TEST_PATIENCE)
            fail_msg("%zu runs, not %zu:\n%s", there, wanted, tmux("capture-pane -p -t t"));
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* :tasks takes several at once; what cannot be read changes nothing, and u takes back what was changed before it. */
static void tasks_are_chosen_by_a_line(void **state) {
    (void)state;
    need_tmux();
    char *go = xprintf("cd '%s'; cp -r toys toys2;", stage.folder);
    start(go, "");
    await("Enter    train", true);
    type("1");
    await("20/20 examples", true);
    type("\":tasks toys,toys2\" Enter");
    await("2 tasks 40/40 examples", true);
    type("\":tasks nowhere\" Enter");
    await("nowhere: task or folder not found", true);
    assert_true(shows("2 tasks 40/40 examples"));
    type("u");
    await("undone: task", true);
    await(" 20/20 examples", true);
    type("u");
    await("nothing to undo", true);
    leave();
    free(go);
}

/* Undo that is typed before the trash has answered undoes what was typed before it. */
static void undo_can_be_typed_ahead(void **state) {
    (void)state;
    need_tmux();
    for (int i = 0; i < 3; i++) json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 3  finished", true);
    /* one after the other, and all at once, so that none is answered before the last is typed */
    for (int i = 0; i < 5; i++) type("d u");
    type("d");
    await_runs(2);
    type("u");
    await_runs(3);
    await(" 3  finished", true);
    type("d u d u d u d u d");
    await_runs(2);
    type("d u u");
    await_runs(3);
    type("C-r");
    await_runs(2);
    type("u");
    await_runs(3);
    leave();
}

/* The filter and the order of Runs are there after the next start. */
static void runs_are_listed_as_before(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    json_decref(stage_train(&stage, 0, "--steps 2 --seed 5"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 2  finished", true);
    type("S /");
    type("\"seed=5\" Enter");
    await(" 1  finished", false);
    leave();
    start("", "");
    await("filter of the last session: seed=5", true);
    type("3");
    await(" 2  finished", true);
    assert_false(shows(" 1  finished"));
    type("F");
    await(" 1  finished", true);
    type("g d"); /* the first: the order is as before */
    await_runs(1);
    await(" 2  finished", true);
    leave();
}

/* What a message offers works: the key that takes a move back, resume, stopping a run that
 * another process trains. */
static void messages_offer_what_works(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    pid_t pid = begin_a_long_run(2, "100000000");
    start("", "");
    await("Compose", true);
    type("3");
    await(" 1  finished", true);
    type("Enter"); /* the page of the newest, of another process */
    await("trainable parameters", true);
    type("K");
    await("stop #2?", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes nothing typed ahead */
    type("y");
    await("in another process", true);
    await_state(2, "stopped");
    command_wait(pid, 20);
    await("stopped", true); /* the page moves by itself */
    type("Escape");
    await(" 1  finished", true);
    type("j");
    type("\":resume\" Enter");
    await("cannot be resumed", true);
    type("d");
    await("to the trash; press u to undo", true);
    type("u");
    await("; press ^r to undo", true);
    type("C-r");
    await("to the trash; press u to undo", true);
    type("V");
    await(" 1  finished", true);
    type("d");
    await("; press u to undo", true);
    type("V");
    await(" 2  stopped", true);
    type("\"rfor the talk\" Enter");
    await("for the talk (press u to undo)", true);
    type("r C-u Enter"); /* an undo takes back one change after the other, and each can be had again */
    await("removed the name of #2 (press u to undo)", true);
    type("uu");
    await("removed the name of #2 (press ^r to undo)", true);
    type("C-r");
    await("for the talk (press u to undo)", true);
    assert_int_equal(run_count(), 2);
    /* also on a page of output, which has nothing else to undo, and on Compose, which has */
    type("\":sql 'SELECT 5'\" Enter");
    await(" done ", true);
    type("\":trash 1\" Enter");
    await("to the trash; press u to undo", true);
    type("u");
    await("; press ^r to undo", true);
    type("1 j");
    await("function", true);
    type("\":trash 1\" Enter");
    await("to the trash; press u to undo", true);
    type("u");
    await("; press ^r to undo", true);
    assert_int_equal(run_count(), 2);
    type("j u"); /* another key, and u is Compose's */
    await("restored", false);
    assert_int_equal(run_count(), 2);
    leave();
}

/* ---- pastes ---- */

static void a_paste_is_no_command(void **state) {
    (void)state;
    need_tmux();
    for (int i = 0; i < 3; i++) json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 3  finished", true);
    char *text = test_file(stage.folder, "paste", "ddd\n:purge\n3\nKy\nqq", 18);
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    type("g");
    await(" 3  finished", true);
    assert_int_equal(run_count(), 3);
    free(test_file(stage.folder, "paste", "\x1b[201~ddd", 9));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    type("g");
    await(" 3  finished", true);
    type("/");
    free(test_file(stage.folder, "paste", "lora\nddd", 8));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    await("lora", true);
    type("Escape Escape");
    type("3");
    await("Runs", true);
    /* without marks a paste is typing: all of it can be undone, nothing is deleted */
    free(test_file(stage.folder, "paste", "dddKy", 5));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -b p -t t"));
    double from = now();
    json_t *all;
    for (;;) {
        all = stage_json("sql --json --db '%s' 'SELECT count(*) AS n FROM run'", stage.db);
        assert_int_equal(json_integer_value(stage_at(all, "n")), 3);
        json_decref(all);
        if (run_count() < 3 || now() - from > 5) break;
    }
    type("Escape"); /* y may have opened a list */
    nanosleep(&(struct timespec){ 0, 300000000 }, NULL); /* with u at once it would be Alt-u */
    type("u u u u");
    await_runs(3);
    leave();
    free(text);
}

/* What a terminal answers to somebody else's questions, late, is no keys; nor are reports of what it does. */
static void answers_are_no_commands(void **state) {
    (void)state;
    need_tmux();
    static const char *const answer[] = {
        "1b 5d 31 31 3b 72 67 62 3a 31 65 31 65 2f 31 65 31 65 2f 32 65 32 65 1b 5c", /* ]11;rgb:1e1e/1e1e/2e2e ST */
        "1b 5d 34 3b 30 3b 72 67 62 3a 30 30 30 30 2f 30 30 30 30 07",                 /* ]4;0;rgb:0000/0000 BEL */
        "1b 5b 3f 36 31 3b 34 3b 36 3b 32 32 3b 35 32 63",                             /* [?61;4;6;22;52c */
        "1b 50 3e 7c 57 65 7a 54 65 72 6d 20 32 30 32 34 1b 5c",                       /* P>|WezTerm 2024 ST */
        "1b 5b 31 32 3b 34 30 52", "1b 5e 64 64 64 64 1b 5c", "1b 5b 49", "1b 5b 4f",  /* [12;40R, ^dddd ST, focus */
    };
    json_decref(stage_train(&stage, 0, "--steps 2"));
    json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 2  finished", true);
    type("Escape"); /* the tip of the screen goes away */
    await("Space marks runs", false);
    char *before = tmux("capture-pane -p -t t");
    for (size_t i = 0; i < COUNT_OF(answer); i++) {
        struct buf half = BUF_INIT; /* whole, and in two reads */
        size_t cut = strlen(answer[i]) / 6 * 3 + 2;
        buf_add(&half, answer[i], cut);
        free(tmux("send-keys -t t -H %s", answer[i]));
        free(tmux("send-keys -t t -H %s", buf_text(&half)));
        nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
        free(tmux("send-keys -t t -H %s", answer[i] + cut));
        buf_release(&half);
    }
    type("M-x"); /* keys work on */
    await("Alt-x does nothing here", true);
    type("DC");
    await("Delete does nothing here", true);
    type("Down Up Escape");
    await("does nothing", false);
    char *after = tmux("capture-pane -p -t t");
    assert_string_equal(before, after);
    assert_int_equal(run_count(), 2);
    free(before);
    free(after);
    type("F1");
    await("keys of runs", true);
    type("q");
    leave();
}

/* What a database holds is shown and never obeyed. */
static void the_database_sends_no_orders(void **state) {
    (void)state;
    need_tmux();
    char *line = xprintf("\"clear; '%s' sql --db '%s' 'SELECT 7||char(27)||char(91)||8' \" Enter", petri, stage.db);
    struct err e = ERR_INIT;
    struct store *s;
    test_ok(store_open(&s, stage.db, STORE_WRITE, &e), &e);
    test_ok(store_close(s, &e), &e);
    type(line);
    await("7\xe2\x90\x9b[8", true);
    free(line);
}

/* The command that a list names is one; tasks marked in it are selected together, and are marked when it opens again. */
static void lists_name_their_command(void **state) {
    (void)state;
    need_tmux();
    static const char *const name[] = { "models", "tasks" };
    first_page();
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char *said = xprintf("(:%s ", name[i]), *typed = xprintf("\":%s\" Enter", name[i]);
        type(i ? "T Down Enter" : "T Enter");
        await(said, true);
        type("Escape");
        await(said, false);
        type(typed);
        await(said, true);
        type("Escape");
        await(said, false);
        free(said);
        free(typed);
    }
    type("1 T Down Space");
    await("Space mark", true);
    type("/admin-n Space"); /* found by typing, one after the other */
    await("marked: admin-net (1)", true);
    type("games-s Space");
    await("marked: admin-net,games-sound (2)", true);
    type("Enter");
    await("2 tasks ", true);
    await("--tasks admin-net,games-sound", true);
    type("T Down Enter");
    await("\xe2\x97\x8f" "admin-net", true);
    await("\xe2\x97\x8f" "games-sound", true);
    type("Space Enter"); /* the first one no longer */
    await("--task games-sound", true);
    leave();
}

/* Pictures say what they show, and none takes another's place. */
static void pictures_are_new_files(void **state) {
    (void)state;
    need_tmux();
    char *folder = file_join(stage.folder, "pictures"), *go = xprintf("mkdir '%s'; cd '%s'; PATH=.", folder, folder);
    start(go, "");
    await("Enter    train", true);
    type("7");
    await("silhouette", true);
    type("e Enter");
    await("wrote petri-map-tiny.svg", true);
    type("e Enter");
    await("wrote petri-map-tiny-2.svg", true);
    type("6");
    await("layers: model", true);
    type("e Enter");
    await("wrote petri-heatmap-tiny-", true);
    type("\":export png\" Enter");
    await("cannot write a PNG: rsvg-convert was not found", true);
    test_put(folder, "rsvg-convert", "#!/bin/sh\nprintf '\\211PNG\\r\\n\\032\\n1234IEND\\256B`\\202'\n");
    char *maker = file_join(folder, "rsvg-convert");
    assert_int_equal(chmod(maker, 0700), 0);
    type("\":export png\" Enter");
    await(".png", true);
    free(maker);
    leave();
    free(go);
    free(folder);
}

/* What can be copied of a run, and a shell in the folder of its files. */
static void a_run_is_copied_and_its_folder_opened(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    start("SHELL=/bin/sh", "");
    await("Compose", true);
    type("3");
    await(" 1  finished", true);
    type("y");
    await("copy of run #1", true);
    type("Enter");
    await("copied: petri train --model", true);
    type("y Down Down Enter");
    await("-files/1", true);
    type("Enter");
    await("trainable parameters", true);
    type("!");
    await("exit returns to petri", true);
    type("'echo files: *' Enter");
    await("files: last.safetensors lock", true);
    type("exit Enter");
    await("exit returns to petri", false);
    await("trainable parameters", true);
    type("q");
    await(" 1  finished", true);
    leave();
}

/* Presses a key and waits, at most two seconds, until the screen has changed: a walk that looks earlier passes its goal. */
static void type_seen(const char *keys) {
    char *before = tmux("capture-pane -p -t t");
    double from = now();
    bool same = true;
    for (type(keys); same && now() - from < 2 * TEST_PATIENCE;) {
        char *after = tmux("capture-pane -p -t t");
        same = !strcmp(before, after);
        free(after);
    }
    free(before);
}

/* Walks the options with l until `shown` is displayed, and types a value. */
static void set_option(const char *shown, const char *value) {
    for (int i = 0; i < 80 && !shows(shown); i++) type_seen("l");
    await(shown, true);
    char *typed = xprintf("Enter \"%s\" Enter", value);
    type(typed);
    free(typed);
}

/* Three tasks from Compose to Train, Runs, a run's page and Map, by keys, while they are trained. */
static void several_tasks_by_keys(void **state) {
    (void)state;
    need_tmux();
    char *go = xprintf("cd '%s'; cp -r toys toys2; cp -r toys toys3;", stage.folder);
    start(go, "");
    await("Enter    train", true);
    type("1 BTab");
    set_option("   epochs  3 ", "100000");
    set_option("   tasks  none", "toys,toys2,toys3");
    await("3 tasks 60/60 examples", true);
    await("--tasks", true);
    type("R");
    await(" of batch ", true);
    await("33.3%", true);
    type("b");
    await("loss of toys ", true);
    type("b b b");
    await("loss by task", true);
    type("3 b");
    await("toys2", true);
    type("Enter");
    await("at the stored checkpoint", true);
    type("2 K");
    await("save a checkpoint", true);
    for (int i = 0; i < 20 && shows("save a checkpoint"); i++) {
        nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes no key typed ahead of it */
        if (shows("save a checkpoint")) type("y");
    }
    await_state(1, "stopped"); /* what is said of it may lie over its row */
    type("7");
    await("toys, task 1 of 3", true);
    type("b");
    await("toys2, task 2 of 3", true);
    leave();
    free(go);
}

static void type_text(const char *text) { free(tmux("send-keys -t t -l -- '%s'", text)); }

/* ---- own data ---- */

/* A file is found by its path, a column's meaning is set, the report is read, and what trains is what the command line
 * with the same options trains. */
static void own_rows_by_keys(void **state) {
    (void)state;
    need_tmux();
    struct buf rows = BUF_INIT;
    buf_puts(&rows, "n;remark;mood\n");
    for (int i = 0; i < 40; i++) buf_printf(&rows, "%d;a %s film;%s\n", i, i % 2 ? "good" : "bad", i % 2 ? "up" : "down");
    buf_puts(&rows, "40;cut off\n");
    char *path = test_file(stage.folder, "mine.csv", buf_text(&rows), rows.size);
    first_page();
    type("T");
    await("Enter lists the available tasks", true);
    type_text(path);
    type("Enter");
    await("remark", true);
    await("2 fields, expected 3", true);
    type("j h"); /* remark is no text: that cannot be read, and is said */
    await("Cannot be read this way", true);
    type("l");
    await("2 fields, expected 3", true);
    type("Enter");
    await("mine 36/4 examples", true);
    type("R");
    await_state(1, "finished");
    type("3");
    await(" 1  finished", true);
    type("Enter");
    await("parameters, accuracy", true);
    for (int i = 0; i < 12 && !shows("2 fields, expected 3"); i++) { /* the report is kept */
        type("C-d");
        nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
    }
    await("2 fields, expected 3", true);
    type("q q");
    await("left=0", true);
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    free(stage_out(0, "train --db '%s' --model '%s' --train '%s' --split 10%% --text remark --label mood --delimiter semicolon "
                   "--method lora --lr 0.003 --seed 1", stage.db, stage.model, path));
    json_t *w = stage_json("show 2 --db '%s' --json", stage.db);
    static const char *const same[] = { "weights_sha256", "train_sha256", "regime" };
    for (size_t i = 0; i < COUNT_OF(same); i++) assert_string_equal(stage_text(v, same[i]), stage_text(w, same[i]));
    assert_true(json_equal(stage_at(v, "config"), stage_at(w, "config")));
    json_decref(v);
    json_decref(w);
    buf_release(&rows);
    free(path);
}

/* ---- a sweep ---- */

/* Marks in Compose become a sweep, whose line is edited first; on its page it is looked at, extended by a seed and by a
 * value, and Compare puts its cells side by side; a long one is stopped, and its line taken for another. */
static void sweeps_by_keys(void **state) {
    (void)state;
    need_tmux();
    first_page();
    type("1");
    await("Enter train", true);
    type("Space");
    await("marked for a sweep: 1 method", true);
    type("j Space");
    await("marked for a sweep: 2 methods", true);
    type("A");
    await("petri sweep ", true);
    type_text(" --steps 4 --batch 2 --seeds 1,2");
    type("Enter");
    await("4 of 4 runs", true);
    assert_int_equal(run_count(), 4);
    type("Enter"); /* a cell's runs */
    await("sweep 1: ", true);
    type("5");
    await("4 of 4 runs", true);
    type("+");
    await("extend by", true);
    type_text("3");
    type("Enter");
    await("6 of 6 runs", true);
    type("+");
    await("extend by", true);
    type_text("--batch 4");
    type("Enter");
    await("12 of 12 runs", true);
    assert_int_equal(run_count(), 12);
    type("4"); /* its cells side by side */
    await("4 groups", true);
    type("5 A"); /* another of the marks, which is long, and stopped */
    await("petri sweep ", true);
    type_text(" --steps 100000000 --batch 2 --seeds 9");
    type("Enter");
    await(" running", true);
    await_state(13, "running");
    type("K");
    await("stop all workers of sweep 2?", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes nothing typed ahead */
    type("y");
    await_state(13, "stopped");
    await("R resumes", true);
    type("C"); /* its line, for another one */
    await("Enter accept", true);
    type("Escape");
    await("Enter accept", false);
    leave();
}

/* The ':' line completes and does what the command line does: on a page, as a job, or refused with the line to copy. */
static void the_command_line_is_inside(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2 --note 'the first of all'"));
    start("", "");
    await("Compose", true);
    type("\":sho\" Tab");
    await("open the page of a run", true);
    type("\"1 --wh\" Tab");
    await("prints on a page: Show everything about one run", true);
    type("Enter");
    await("trained on at most", true);
    await(" done ", true);
    type("\":sql 'SELECT note FROM v_runs'\" Enter");
    await("the first of all", true);
    type("\":fewshot\" Enter");
    await("not available inside the screens", true);
    await("petri fewshot --db", true);
    char *line = xprintf("\":train --steps 2 --batch 2 --model '%s' --task '%s' --meth\" Tab", stage.model, task);
    type(line);
    free(line);
    type("bitf Tab");
    await("trains as on Compose", true);
    type("Enter");
    await("#2 bitfit", true);
    await("2/2 finished", true); /* the screens know it later than the history, and would ask */
    leave();
}

/* :train begins what Compose holds but for what the line says, at the usual rate of a method that is given, and says so. */
static void train_starts_from_compose(void **state) {
    (void)state;
    need_tmux();
    start("", "--workers 1");
    await("Enter    train", true);
    type("1");
    await("20/20 examples", true);
    type("\":method ia3\" Enter");
    await("--method ia3", true);
    type("\":train --batch 2 --method bitfit --steps 9\"");
    await("as on Compose, except method ia3 \u2192 bitfit, batch 32 ", true);
    type("Enter");
    type("1");
    type("\":train --steps 4 --eval-steps 4\" Enter");
    await_state(1, "finished");
    await_state(2, "finished");
    for (int run = 1; run <= 2; run++) {
        json_t *v = stage_json("show %d --db '%s' --json", run, stage.db), *c = json_object_get(v, "config");
        assert_string_equal(stage_text(c, "method"), run == 1 ? "bitfit" : "ia3");
        assert_string_equal(stage_text(c, "task"), "toys");
        assert_int_equal(json_integer_value(json_object_get(c, "batch")), run == 1 ? 2 : 32);
        assert_true(json_number_value(json_object_get(c, "lr")) == preset_find(run == 1 ? "bitfit" : "ia3")->lr);
        json_decref(v);
    }
    leave();
}

/* Enter, until the lesson has gone on to what is shown; it waits while a step is computing. */
static void go_on_to(const char *part) {
    double from = now();
    while (!shows(part)) {
        if (!shows("computing")) await("Enter ", true);
        type("Enter");
        for (int i = 0; i < 100 && !shows(part) && !shows("still computing"); i++) nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
        if (now() - from > 30 * TEST_PATIENCE) fail_msg("no \"%s\":\n%s", part, tmux("capture-pane -p -t t"));
    }
}

/* To the screen that a step is about and back, until the lesson has gone on from there: values of the step may still be
 * computed. */
static void look_and_come_back(const char *part) {
    double from = now();
    while (!shows(part)) {
        type("Enter");
        await("8 continues", true);
        type("8");
        await("8 continues", false);
        for (int i = 0; i < 100 && !shows(part) && !shows("still computing"); i++) nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
        if (now() - from > 30 * TEST_PATIENCE) fail_msg("no \"%s\":\n%s", part, tmux("capture-pane -p -t t"));
    }
}

/* On the second terminal, which follows the lesson and has its notes. */
static void await_note(const char *part) {
    double from = now();
    for (;;) {
        char *shown = tmux("capture-pane -p -t notes");
        bool there = strstr(shown, part);
        if (!there && now() - from > 30 * TEST_PATIENCE) fail_msg("no \"%s\" among the notes:\n%s", part, shown);
        free(shown);
        if (there) return;
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* The first lesson to its end on petri's own model, in an empty home, by Enter and letters; it begins again where it was left. */
static void a_lesson_is_gone_through(void **state) {
    (void)state;
    need_tmux();
    char *line = xprintf("\"'%s' learn delta-h --model petri-mini --task sections --db '%s'; echo left=\\$?\" Enter", petri, stage.db);
    type(line);
    free(line);
    await("A frozen model", true);
    go_on_to("c to answer");
    type("b");
    go_on_to("= 0.");
    go_on_to("b is correct");
    type("Escape"); /* and comes back to the same place */
    await("LoRA: rank, product", true);
    await("started", true);
    free(tmux("new-session -d -s notes -x 80 -y 24 \"'%s' watch --lesson --db '%s'\"", petri, stage.db));
    await_note("no notes for this step");
    type("Enter");
    await_within(30, "b is correct", true); /* behind what is still computed ahead */
    go_on_to("press Enter to train");
    await_note("Explain a step while it runs");
    await_note("Screen: train");
    type("Enter");
    await("\u2713 #1", true);
    await("run #1 finished", true);
    assert_false(shows("finished, best")); /* no line tells what the lesson asks next */
    go_on_to("Screen: train");
    look_and_come_back("c to answer");
    type("b");
    go_on_to("in layer 1 and");
    go_on_to("The frozen parameters did not change");
    go_on_to("Screen: heatmap");
    type("l");
    await("Why this is useful", true);
    go_on_to("press Enter to train");
    type("Enter");
    await("\u2713 #2", true);
    go_on_to("of the two runs: 1 means");
    go_on_to("Try it");
    go_on_to("function_linear");
    go_on_to("Esc lists the lessons");
    await_note("end of the lesson");
    free(tmux("kill-session -t notes"));
    leave();
    assert_int_equal(run_count(), 0); /* what it trained is in no list */
}

/* The file of settings: wrong words are told at the start, :set holds at once, :save-settings writes; and clicks. */
static void settings_and_the_mouse(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    json_decref(stage_train(&stage, 0, "--steps 2"));
    char *line = xprintf("mkdir -p '%s/conf/petri'; printf 'theme = blu\\nmouse = on\\n' >'%s/conf/petri/config';", stage.folder,
                         stage.folder);
    char *set = xprintf("%s XDG_CONFIG_HOME='%s/conf'", line, stage.folder), *path = file_join(stage.folder, "conf/petri/config");
    start(set, "");
    await("petri/config:1:", true); /* a long line is broken at blanks */
    await("\"blu\"", true);
    type("\":set th\" Tab \"li\" Tab Enter");
    await("theme light", true);
    type("\":save-settings\" Enter");
    await("wrote ", true);
    struct buf text = BUF_INIT;
    struct err e = ERR_INIT;
    assert_int_equal(file_read(path, 1 << 16, &text, &e), 0);
    assert_non_null(strstr(buf_text(&text), "theme = light\n"));
    assert_non_null(strstr(buf_text(&text), "model = auto\n")); /* --model was for this time */
    assert_non_null(strstr(buf_text(&text), "# characters used for charts"));
    buf_release(&text);
    free(tmux("send-keys -t t -H 1b 5b 3c 30 3b 32 35 3b 31 4d")); /* a click at column 25 of line 1: Runs */
    await(" 2  finished", true);
    free(tmux("send-keys -t t -H 1b 5b 3c 30 3b 31 30 3b 35 4d"));  /* and on its second row */
    await("#1 ", true);
    type("d");
    await("petri trash 1", true); /* the same as a command line */
    type("Y");
    await("petri trash 1 --db", true);
    type("\"&\"");
    await("mouse off: the terminal selects text", true);
    free(tmux("send-keys -t t -H 1b 5b 3c 30 3b 33 3b 31 4d")); /* a stray report is no keys */
    type("'~'");
    await("~ does nothing here", true);
    leave();
    free(line);
    free(set);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_listed_as_before, make, close_shell),
        cmocka_unit_test_setup_teardown(own_rows_by_keys, make, close_shell),
        cmocka_unit_test_setup_teardown(sweeps_by_keys, make, close_shell),
        cmocka_unit_test_setup_teardown(several_tasks_by_keys, make, close_shell),
        cmocka_unit_test_setup_teardown(tasks_are_chosen_by_a_line, make, close_shell),
        cmocka_unit_test_setup_teardown(undo_can_be_typed_ahead, make, close_shell),
        cmocka_unit_test_setup_teardown(messages_offer_what_works, make, close_shell),
        cmocka_unit_test_setup_teardown(a_paste_is_no_command, make, close_shell),
        cmocka_unit_test_setup_teardown(answers_are_no_commands, make, close_shell),
        cmocka_unit_test_setup_teardown(the_database_sends_no_orders, make, close_shell),
        cmocka_unit_test_setup_teardown(lists_name_their_command, make, close_shell),
        cmocka_unit_test_setup_teardown(pictures_are_new_files, make, close_shell),
        cmocka_unit_test_setup_teardown(a_run_is_copied_and_its_folder_opened, make, close_shell),
        cmocka_unit_test_setup_teardown(the_command_line_is_inside, make, close_shell),
        cmocka_unit_test_setup_teardown(train_starts_from_compose, make, close_shell),
        cmocka_unit_test_setup_teardown(a_lesson_is_gone_through, make, close_shell),
        cmocka_unit_test_setup_teardown(settings_and_the_mouse, make, close_shell),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
