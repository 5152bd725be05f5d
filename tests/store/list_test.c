/* Lists: filters, sorting, finding, ten thousand runs. */
#include <math.h>
#include <sqlite3.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

static int64_t add(struct store *s, const char *method, const char *preset, const char *task,
                   double accuracy, int64_t trained, uint64_t seed) {
    struct store_module m = { .fn = "linear", .write = "a.q", .size = 8, .layers = "all" };
    struct store_new_run n = plain_run();
    n.method = method;
    n.preset = preset;
    n.task = task;
    n.trained = trained;
    n.seed = seed;
    n.modules = &m;
    n.module_count = preset ? 1 : 0;
    int64_t id;
    struct err e = ERR_INIT;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    int loss = key_of(s, "loss", -1);
    point(s, id, 1, loss, 1 - accuracy);
    evaluate(s, id, 1, "accuracy", accuracy - 0.1, 1);
    evaluate(s, id, 2, "accuracy", accuracy, 1);
    evaluate(s, id, 3, "accuracy", accuracy - 0.2, 1);
    evaluate(s, id, 3, "majority", 0.5, 0);
    return id;
}

static struct store *filled(void) {
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    finish(s, add(s, "mam(l=16,r=16)", "mam", "reviews", 0.851, 149856, 1));
    finish(s, add(s, "lora(r=8)", "lora", "reviews", 0.838, 73728, 2));
    finish(s, add(s, "full", NULL, "SST-2", 0.859, 22700000, 1));
    int64_t id = add(s, "bitfit", "bitfit", "my task", 0.612, 26112, 3);
    change(s, id, STORE_STOPPED, "by the user");
    test_ok(store_disown(s, id, &e), &e);
    test_ok(store_tag(s, (int64_t[]){ 2 }, 1, (const char *[]){ "good" }, 1, true, &e), &e);
    test_ok(store_note(s, 3, "100% as_is", &e), &e);
    struct store_new_run n = plain_run();
    n.metric = "f1";
    test_ok(store_create_run(s, &n, &id, &e), &e); /* 5: queued, never measured */
    flush_it(s);
    free(path);
    return s;
}

/* "1 2 4": the ids of those that pass, in order; how many. */
static int64_t ids_of(const struct store_runs *list, char out[256]) {
    size_t n = 0;
    int64_t fit = 0;
    *out = '\0';
    for (size_t i = 0; i < list->count; i++)
        if (!list->run[i].unfit) {
            n += (size_t)snprintf(out + n, 256 - n, "%s%lld", n ? " " : "", (long long)list->run[i].id);
            fit++;
        }
    return fit;
}

/* Listed alone, and among all of them. */
static void expect(struct store *s, const char *filter, const char *sort, const char *ids) {
    for (int mark = 0; mark < 2; mark++) {
        struct store_runs list;
        struct err e = ERR_INIT;
        struct store_list l = { .filter = filter, .sort = sort, .mark = mark };
        char found[256];
        int rc = store_list(s, &l, &list, &e);
        if (rc) fail_msg("%s: %s", filter, e.text);
        int64_t fit = ids_of(&list, found);
        if (strcmp(found, ids))
            fail_msg("\"%s\" by \"%s\"%s: %s, not %s", filter ? filter : "", sort ? sort : "",
                     mark ? ", marked" : "", found, ids);
        assert_int_equal(list.total, fit);
        if (!mark) assert_int_equal(list.total, list.count);
        else assert_int_equal(list.count, 5);
        assert_int_equal(list.all, 5);
        store_runs_release(&list);
        l.limit = 1; /* counted all the same */
        test_ok(store_list(s, &l, &list, &e), &e);
        assert_int_equal(list.total, fit);
        assert_int_equal(list.all, 5);
        assert_true(list.count <= 1);
        store_runs_release(&list);
    }
}

static void filters_choose(void **state) {
    (void)state;
    struct store *s = filled();
    static const struct { const char *filter, *ids;
    } cases[] = {
        { "", "1 2 3 4 5" },
        { "task=reviews", "1 2 5" },
        { "task=REVIEWS", "1 2 5" },
        { "task!=reviews", "3 4" },
        { "task=\"my task\"", "4" },
        { "\"my task\"", "4" },
        { "task=\"my\"' t'\"ask\"", "4" },
        { "state=finished acc>0.84", "1 3" },
        { "acc>0.84 acc<0.855", "1" },
        { "accuracy>=0.851", "1 3" },
        { "dev.accuracy<0.7", "4" },
        { "last.accuracy<0.64", "2 4" },
        { "majority=0.5", "1 2 3 4" },
        { "loss<0.15", "1 3" },
        { "method=lora", "2 5" },
        { "method=lora*", "2 5" },
        { "method=lora(r=8)", "2 5" },
        { "method!=lora", "1 3 4" },
        { "method=full", "3" },
        { "lora", "2 5" },
        { "LORA", "2 5" },
        { "lora(r=8)", "2 5" },
        { "good", "2" },
        { "tag=good", "2" },
        { "tag!=good", "1 3 4 5" },
        { "fn=linear", "1 2 4" },
        { "fn!=linear", "3 5" },
        { "size=8", "1 2 4" },
        { "size>8", "" },
        { "trained<100000", "2 4 5" },
        { "params<100000", "2 4 5" },
        { "seed=1", "1 3 5" },
        { "id>=4", "4 5" },
        { "state=queued", "5" },
        { "state!=queued", "1 2 3 4" },
        { "reason~user", "4" },
        { "reason!~user", "1 2 3 5" },
        { "100%", "3" },
        { "as_is", "3" },
        { "a%s", "" },
        { "note~_", "3" },
        { "created>2020-01-01", "1 2 3 4 5" },
        { "created<2020-01-01T10:00", "" },
        { "nowhere", "" },
        { "best>0.85", "1 3" },
        { "'", NULL },
        { "state=done", NULL },
        { "acc>high", NULL },
        { "acuracy>1", NULL },
        { "colour=red", NULL },
        { "task<3", NULL },
        { "seed~1", NULL },
        { "created>yesterday", NULL },
        { "size~1", NULL },
        { "x'; DROP TABLE run; --", NULL },
    };
    struct store_runs list;
    struct err e = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (cases[i].ids) {
            expect(s, cases[i].filter, "id", cases[i].ids);
            continue;
        }
        struct store_list l = { .filter = cases[i].filter };
        int rc = store_list(s, &l, &list, &e);
        if (rc != ERR_USAGE) fail_msg("%d for %s", rc, cases[i].filter);
    }
    struct store_list l = { .filter = "acuracy>0.5" };
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "did you mean \"accuracy\"");
    l.filter = "a>0.5 tsk=x";
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "did you mean \"task\"");
    close_it(s);
}

static void draws_and_lessons_are_listed_by_their_ids(void **state) {
    (void)state;
    struct store *s = filled();
    struct err e = ERR_INIT;
    test_ok(store_tag(s, (int64_t[]){ 1 }, 1, (const char *[]){ STORE_DRAW_TAG }, 1, true, &e), &e);
    test_ok(store_tag(s, (int64_t[]){ 2 }, 1, (const char *[]){ STORE_LESSON_TAG }, 1, true, &e), &e);
    flush_it(s);
    static const struct { const char *filter, *ids;
    } cases[] = {
        { "", "3 4 5" }, { "task=reviews", "5" }, { "id=1", "1" }, { "id=1,2,3", "1 2 3" }, { "id<4", "3" },
        { "id!=5", "3 4" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_list l = { .filter = cases[i].filter, .sort = "id" };
        struct store_runs list;
        test_ok(store_list(s, &l, &list, &e), &e);
        char found[256];
        ids_of(&list, found);
        assert_string_equal(found, cases[i].ids);
        store_runs_release(&list);
    }
    close_it(s);
}

static void lists_are_sorted(void **state) {
    (void)state;
    struct store *s = filled();
    expect(s, NULL, NULL, "5 4 3 2 1");
    expect(s, NULL, "-accuracy", "3 1 2 4 5");
    expect(s, NULL, "acc", "4 2 1 3 5");
    expect(s, NULL, "trained", "4 5 2 1 3");
    expect(s, NULL, "params", "4 5 2 1 3");
    expect(s, NULL, "-loss", "4 2 1 3 5");
    expect(s, NULL, "-best", "4 1 2 3 5"); /* within each task, of which each is another */
    expect(s, NULL, "method", "4 3 5 2 1");
    struct store_runs list;
    struct err e = ERR_INIT;
    struct store_list l = { .sort = "-acc", .limit = 2, .offset = 1, .filter = "acc>0" };
    test_ok(store_list(s, &l, &list, &e), &e);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.total, 4);
    assert_int_equal(list.all, 5);
    assert_int_equal(list.run[0].id, 1);
    assert_true(list.run[0].sorted.measured && list.run[0].sorted.v == 0.851 &&
                list.run[0].sorted.step == 2);
    assert_string_equal(list.run[1].tags, "good");
    store_runs_release(&list);
    l = (struct store_list){ .sort = "fn" };
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "several values");
    l.sort = "acuracy";
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "did you mean");
    close_it(s);
}

/* A run of the task with this best, on so many dev rows, by this metric. */
static void add_alike(struct store *s, const char *metric, int rows, double best, const char *config) {
    struct store_module m = { .fn = "linear", .write = "a.q", .layers = "2-2" };
    struct store_new_run n = plain_run();
    char text[64];
    int64_t id;
    struct err e = ERR_INIT;
    n.metric = metric;
    n.config = config;
    n.modules = &m;
    n.module_count = 1;
    n.method_json = "{\"modules\":[{\"write\":\"a.q\",\"stack\":\"decoder\",\"site\":\"cross\",\"init\":\"lora\"},"
                    "{\"write\":\"f.out\",\"target\":\"tap\"},"
                    "{\"write\":\"a.v\",\"stack\":\"encoder\"}]}";
    test_ok(store_create_run(s, &n, &id, &e), &e);
    snprintf(text, sizeof text, rows < 2551 ? "a of 7.tsv %d of 2551 (seed 0)" : "dev 1 %d", rows);
    struct store_metric v = { metric, best, NULL, 1 };
    struct store_evaluation at = { .run = id, .step = 1, .rows = text, .count = 1, .metric = &v, .split = "dev" };
    assert_int_equal(store_evaluation(s, &at), 0);
    finish(s, id);
}

/* Best values are ranked among those of one metric and one number of dev rows, which are told. */
static void unlike_values_are_not_ranked_together(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    add_alike(s, "accuracy", 8, 1.0, "{}");
    add_alike(s, "accuracy", 2551, 0.84, "{}");
    add_alike(s, "f1", 2551, 0.9, "{}");
    add_alike(s, "accuracy", 2551, 0.86, "{}");
    add_alike(s, "accuracy", 8, 0.5, "{}");
    flush_it(s);
    struct store_runs list;
    struct err e = ERR_INIT;
    struct store_list l = { .sort = "-best" };
    test_ok(store_list(s, &l, &list, &e), &e);
    static const struct { int64_t id, rows;
    } wanted[] = { { 4, 2551 }, { 2, 2551 }, { 1, 8 }, { 5, 8 }, { 3, 2551 } };
    for (size_t i = 0; i < list.count; i++)
        assert_true(list.run[i].id == wanted[i].id && list.run[i].examples == wanted[i].rows);
    store_runs_release(&list);
    static const char *const either[] = { "rows>100 metric=accuracy", "examples>100 metric=accuracy" };
    for (size_t i = 0; i < COUNT_OF(either); i++) {
        l = (struct store_list){ .filter = either[i], .sort = "best" };
        test_ok(store_list(s, &l, &list, &e), &e);
        assert_true(list.count == 2 && list.run[0].id == 2);
        store_runs_release(&list);
    }
    close_it(s);
    free(path);
}

/* What a run was made with is found by the option's name, also where a point has that name. */
static void options_are_columns(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    add_alike(s, "accuracy", 8, 1.0, "{\"lr\":0.003,\"batch\":8,\"max_len\":128,\"schedule\":\"linear\",\"note_x\":null}");
    add_alike(s, "accuracy", 8, 1.0, "{\"lr\":0.0001,\"batch\":32,\"max_len\":64,\"schedule\":\"Cosine\",\"weight_decay\":0.1}");
    add_alike(s, "accuracy", 8, 1.0, "no JSON at all");
    struct err e = ERR_INIT;
    test_ok(store_adopt_run(s, 1, &e), &e);
    point(s, 1, 1, key_of(s, "lr", 0), 0.0001); /* what the schedule made of it last */
    test_ok(store_disown(s, 1, &e), &e);
    flush_it(s);
    static const struct { const char *filter, *ids;
    } cases[] = {
        { "lr=0.003", "1" },    { "lr=3e-3", "1" },       { "lr!=0.003", "2" },         { "lr<1e-3", "2" },
        { "batch=8", "1" },     { "batch>=8", "2 1" },    { "max-len=64", "2" },        { "max_len=64", "2" }, { "max-length=64", "2" },
        { "schedule=cosine", "2" }, { "schedule~lin", "1" }, { "decay=0.1", "2" },      { "note-x=", "3 2 1" },
        { "last.lr=0.0001", "1" },  { "stack=decoder", "3 2 1" }, { "site=self", "3 2 1" }, { "site=all", "" },
        { "site=cross site=ffn target=tap", "3 2 1" }, { "stack!=all", "" },  { "init=lora layers=2", "3 2 1" },
        { "layers=2-2", "3 2 1" },
    };
    struct store_runs list;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store_list l = { .filter = cases[i].filter };
        test_ok(store_list(s, &l, &list, &e), &e);
        char found[64] = "", *at = found;
        for (size_t k = 0; k < list.count; k++) at += sprintf(at, "%s%lld", k ? " " : "", (long long)list.run[k].id);
        if (strcmp(found, cases[i].ids)) fail_msg("%s: %s", cases[i].filter, found);
        store_runs_release(&list);
    }
    struct store_list l = { .sort = "-batch" };
    test_ok(store_list(s, &l, &list, &e), &e);
    assert_true(list.run[0].id == 2 && list.run[1].id == 1 && list.run[2].id == 3);
    assert_true(list.run[0].lr == 0.0001);
    store_runs_release(&list);
    l = (struct store_list){ .filter = "max-lem=3" };
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "did you mean \"max-length\"");
    l.filter = "zzzzzzzz=3";
    test_refused(store_list(s, &l, &list, &e), ERR_USAGE, &e, "composition, source");
    close_it(s);
    free(path);
}

static void runs_are_found_by_number(void **state) {
    (void)state;
    struct store *s = filled();
    int64_t id;
    struct err e = ERR_INIT;
    test_ok(store_find(s, "2", &id, &e), &e);
    assert_int_equal(id, 2);
    test_ok(store_find(s, "#3", &id, &e), &e);
    assert_int_equal(id, 3);
    test_ok(store_find(s, "last", &id, &e), &e);
    assert_int_equal(id, 5);
    test_refused(store_find(s, "12", &id, &e), ERR_NOT_FOUND, &e, "run 12 does not exist");
    test_refused(store_find(s, "lora", &id, &e), ERR_USAGE, &e, "unknown run");
    struct store_run r;
    test_refused(store_run(s, 12, &r, &e), ERR_NOT_FOUND, &e, "run 12 does not exist");
    close_it(s);
    char *path = fresh_path();
    s = open_at(path, STORE_WRITE);
    test_refused(store_find(s, "last", &id, &e), ERR_NOT_FOUND, &e, "no runs yet");
    close_it(s);
    free(path);
}

/* A name stands for the run that has it alone, is found by filters and words, and cannot be taken for what RUN takes
 * besides. */
static void runs_are_found_by_name(void **state) {
    (void)state;
    struct store *s = filled();
    struct err e = ERR_INIT;
    int64_t id;
    char *before;
    test_ok(store_rename(s, 2, "for the talk", &before, &e), &e);
    assert_string_equal(before, "");
    free(before);
    test_ok(store_find(s, "for the talk", &id, &e), &e);
    assert_int_equal(id, 2);
    expect(s, "name=\"for the talk\"", "id", "2");
    expect(s, "talk", "id", "2");
    test_ok(store_rename(s, 4, "for the talk", NULL, &e), &e);
    test_refused(store_find(s, "for the talk", &id, &e), ERR_USAGE, &e, "name of 2 runs; use an id (2, 4)");
    test_ok(store_trash(s, (int64_t[]){ 2 }, 1, &e), &e);
    test_ok(store_find(s, "for the talk", &id, &e), &e);
    assert_int_equal(id, 4);
    test_ok(store_rename(s, 4, "", &before, &e), &e);
    assert_string_equal(before, "for the talk");
    free(before);
    test_ok(store_find(s, "for the talk", &id, &e), &e); /* none but the one in the trash */
    assert_int_equal(id, 2);
    static const char *const refused[] = { "12", "#a", "-a", "1e3", "3,5", "last", " a", "a ", "a\tb" };
    for (size_t i = 0; i < COUNT_OF(refused); i++) assert_int_equal(store_rename(s, 3, refused[i], NULL, &e), ERR_USAGE);
    char longest[STORE_NAME_MOST + 2] = "";
    memset(longest, 'a', STORE_NAME_MOST + 1);
    test_refused(store_rename(s, 3, longest, NULL, &e), ERR_USAGE, &e, "at most 60 bytes, not 61");
    longest[STORE_NAME_MOST] = '\0';
    test_ok(store_rename(s, 3, longest, NULL, &e), &e);
    test_refused(store_rename(s, 99, "a", NULL, &e), ERR_NOT_FOUND, &e, "run 99 does not exist");
    close_it(s);
}

/* Of this thread's own work: what else the machine does is not asked about. */
static double list_ms(struct store *s, const char *filter, const char *sort, size_t count) {
    struct store_runs list;
    struct err e = ERR_INIT;
    struct store_list l = { .filter = filter, .sort = sort };
    double from = clock_thread_seconds();
    test_ok(store_list(s, &l, &list, &e), &e);
    double ms = 1e3 * (clock_thread_seconds() - from);
    assert_int_equal(list.count, count);
    store_runs_release(&list);
    return ms;
}

static void ten_thousand_runs_are_listed_at_once(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    finish(s, add(s, "lora(r=8)", "lora", "reviews", 0.838, 73728, 2));
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *why = NULL;
    sqlite3_exec(
        db,
        "BEGIN;"
        "CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c WHERE"
        " i<10000) SELECT i FROM c;"
        "INSERT INTO "
        "run(id,uid,state,config,method,preset,model,task,metric,metric_key,seed,trained,kept,"
        "head,model_values,created,steps,lock) SELECT "
        "i,'u'||i,'finished',config,'lora(r='||(i%64)||')',preset,"
        "model,task,metric,metric_key,i%5,i*7%9973,kept,head,model_values,created+i,steps,lock "
        "FROM run, n"
        " WHERE id=1;"
        "INSERT INTO summary SELECT "
        "i,key,count,last_step,last_value,last_kind,last_reason,best_step,"
        "(i*31%1000)/1000.0,least,most FROM summary, n WHERE run=1;"
        "INSERT INTO run_module(run,position,fn,write) SELECT i,0,'linear','a.q' FROM n;"
        "INSERT INTO tag SELECT i,'t'||(i%7) FROM n;"
        "COMMIT",
        NULL, NULL, &why);
    if (why) fail_msg("%s", why);
    sqlite3_close(db);
    double all = list_ms(s, NULL, NULL, 10000), sorted = list_ms(s, NULL, "-acc", 10000),
           chosen = list_ms(s, "method=lora fn=linear acc>=0.5", "trained", 5001);
    printf("10,000 runs: %.0f ms, sorted by a metric %.0f ms, filtered %.0f ms\n", all, sorted,
           chosen);
    /* the aim is 200 ms on a quiet machine; a missing index would take seconds */
    assert_true(all < 1000 * TEST_PATIENCE && sorted < 1000 * TEST_PATIENCE && chosen < 1000 * TEST_PATIENCE);
    close_it(s);
    free(path);
}

/* Rows of the run's loss for steps 2 … n, every `every`th alone from the half on; its summary knows them. */
static void fill_points(const char *path, int n, int every) {
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *sql = xprintf("WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c WHERE i<%d)"
                        " INSERT INTO metric(run,key,step,value,kind)"
                        " SELECT run, key, i, iif(i%%1000, i/4.0, NULL), iif(i%%1000, NULL, 'nan')"
                        " FROM c, (SELECT run, key FROM metric WHERE key=(SELECT id FROM key WHERE name='loss'))"
                        " WHERE i < %d OR i %% %d = 0; UPDATE summary SET count=(SELECT count(*) FROM metric m"
                        " WHERE m.run=summary.run AND m.key=summary.key)", n, n / 2, every);
    sqlite3_exec(db, sql, NULL, NULL, &why);
    if (why) fail_msg("%s", why);
    free(sql);
    sqlite3_close(db);
}

static struct store_points points_from(struct store *s, int64_t run, int64_t from) {
    struct store_points p;
    struct err e = ERR_INIT;
    test_ok(store_points(s, run, "loss", from, &p, &e), &e);
    return p;
}

/* A run that is over has its points packed, which are what the rows are, also from a step on; one that goes on has none. */
static void a_long_run_is_packed_when_it_is_over(void **state) {
    (void)state;
    enum { POINTS = 100000, FROM = 60001 };
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    point(s, id, 1, key_of(s, "loss", -1), 0.5);
    flush_it(s);
    fill_points(path, POINTS, 3);
    struct store_points rows = points_from(s, id, 0), part = points_from(s, id, FROM);
    assert_int_equal(count_of(s, "SELECT count(*) FROM block"), 0);
    change(s, id, STORE_FINISHED, NULL);
    flush_it(s);
    assert_true(count_of(s, "SELECT count(*) FROM block") > 3);
    struct store_points packed = points_from(s, id, 0), packed_part = points_from(s, id, FROM);
    const struct store_points *pair[2][2] = { { &rows, &packed }, { &part, &packed_part } };
    for (int i = 0; i < 2; i++) {
        const struct store_points *a = pair[i][0], *b = pair[i][1];
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->step, b->step, a->count * sizeof *a->step);
        for (size_t k = 0; k < a->count; k++)
            if (a->value[k] != b->value[k] && !(isnan(a->value[k]) && isnan(b->value[k]))) fail_msg("point %zu differs", k);
    }
    /* a block that is damaged is passed over */
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE block SET data=x'00' WHERE first > 20000", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct store_points whole = points_from(s, id, 0);
    assert_int_equal(whole.count, rows.count);
    struct err e = ERR_INIT;
    test_ok(store_disown(s, id, &e), &e);
    test_ok(store_adopt_run(s, id, &e), &e);
    assert_int_equal(count_of(s, "SELECT count(*) FROM block"), 0);
    store_points_release(&rows), store_points_release(&part), store_points_release(&packed), store_points_release(&packed_part);
    store_points_release(&whole);
    close_it(s);
    free(path);
}

/* Its points in one pass, and its evaluations without one. */
static void a_long_run_is_read_at_once(void **state) {
    (void)state;
    enum { POINTS = 200000 };
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    point(s, id, 1, key_of(s, "loss", -1), 0.5);
    evaluate(s, id, 1, "accuracy", 0.75, 1);
    flush_it(s);
    fill_points(path, POINTS, 1);
    struct store_points p;
    struct store_evals v;
    struct err e = ERR_INIT;
    double from = clock_thread_seconds();
    test_ok(store_points(s, id, "loss", 0, &p, &e), &e);
    double points = clock_thread_seconds() - from;
    from = clock_thread_seconds();
    test_ok(store_evaluations(s, id, &v, &e), &e);
    double evals = clock_thread_seconds() - from;
    assert_int_equal(p.count, POINTS);
    for (int i = 1; i < POINTS; i++) {
        assert_int_equal(p.step[i], i + 1);
        if ((i + 1) % 1000 ? p.value[i] != (i + 1) / 4.0 : !isnan(p.value[i])) fail_msg("point %d is %g", i + 1, p.value[i]);
    }
    assert_int_equal(v.count, 1);
    assert_true(v.row[0].value.v == 0.75);
    printf("%d points: %.1f ms, the evaluation beside them %.2f ms\n", POINTS, 1e3 * points, 1e3 * evals);
    assert_true(evals < points / 4); /* not through all of them */
    /* what filled the array is not for questions in SQL */
    test_refused(store_sql(s, "SELECT petri_points(1, 2)", (struct store_rows){ .row = NULL }, &e), ERR_USAGE, &e,
                 "no such function");
    store_points_release(&p);
    store_evals_release(&v);
    close_it(s);
    free(path);
}

/* Columns that were chosen are there at the next start. */
static void columns_are_kept(void **state) {
    (void)state;
    char *path = fresh_path(), *columns;
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    static const char *const kept[] = { "id best", "seed id", "" };
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        test_ok(store_save_text(s, "columns", kept[i], &e), &e);
        close_it(s);
        s = open_at(path, STORE_WRITE);
        test_ok(store_saved_text(s, "columns", &columns, &e), &e);
        assert_string_equal(columns, kept[i]);
        free(columns);
    }
    close_it(s);
    free(path);
}

/* Saved filters are texts of the file, each once, whoever opens it next; forgotten they are gone. */
static void filters_are_kept(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct store_filters kept;
    struct err e = ERR_INIT;
    test_ok(store_filters(s, &kept, &e), &e);
    assert_int_equal(kept.count, 0);
    static const char *const filter[] = { "task=reviews", "lr<1e-3 tag=a", "task=reviews" };
    for (size_t i = 0; i < COUNT_OF(filter); i++) test_ok(store_save_filter(s, filter[i], true, &e), &e);
    close_it(s);
    s = open_at(path, STORE_READ);
    test_ok(store_filters(s, &kept, &e), &e);
    assert_int_equal(kept.count, 2);
    assert_string_equal(kept.filter[0], "lr<1e-3 tag=a");
    assert_string_equal(kept.filter[1], "task=reviews");
    store_filters_release(&kept);
    test_refused(store_save_filter(s, "seed=1", true, &e), ERR_USAGE, &e, "read-only");
    close_it(s);
    s = open_at(path, STORE_WRITE);
    test_ok(store_save_filter(s, filter[0], false, &e), &e);
    test_ok(store_filters(s, &kept, &e), &e);
    assert_int_equal(kept.count, 1);
    store_filters_release(&kept);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(draws_and_lessons_are_listed_by_their_ids),
        cmocka_unit_test(lists_are_sorted),
        cmocka_unit_test(unlike_values_are_not_ranked_together),
        cmocka_unit_test(options_are_columns),
        cmocka_unit_test(runs_are_found_by_number),
        cmocka_unit_test(runs_are_found_by_name),
        cmocka_unit_test(columns_are_kept),
        cmocka_unit_test(filters_are_kept),
        cmocka_unit_test(ten_thousand_runs_are_listed_at_once),
        cmocka_unit_test(a_long_run_is_packed_when_it_is_over),
        cmocka_unit_test(a_long_run_is_read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
