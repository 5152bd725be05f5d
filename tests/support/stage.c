#include "tests/support/stage.h"

#include <ctype.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/config/config.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

void stage_init(struct stage *s) {
    s->folder = test_folder();
    s->model = tiny_bert(s->folder, "tiny", NULL);
    s->toy = tiny_toy(s->folder);
    s->db = file_join(s->folder, "p.db");
}

void stage_release(struct stage *s) {
    free(s->folder);
    free(s->model);
    free(s->toy);
    free(s->db);
}

struct stage stage;

int stage_make(void **state) {
    (void)state;
    stage_init(&stage);
    return 0;
}

int stage_drop(void **state) {
    (void)state;
    stage_release(&stage);
    return 0;
}

char *stage_task(const struct stage *s, const char *name, size_t rows) {
    char *folder = file_join(s->folder, name);
    struct err e = ERR_INIT;
    struct buf all = BUF_INIT;
    test_ok(file_make_folder(folder, &e), &e);
    test_ok(file_read(s->toy, 1 << 20, &all, &e), &e);
    const char *at = buf_text(&all);
    for (size_t i = 0; rows && i <= rows; i++) at = strchr(at, '\n') + 1;
    free(test_file(folder, "train.tsv", all.data, rows ? (size_t)(at - buf_text(&all)) : all.size));
    free(test_file(folder, "dev.tsv", all.data, all.size));
    buf_release(&all);
    return folder;
}

char *stage_line(const struct stage *s, const char *more) {
    return xprintf("train --model '%s' --train '%s' --text text --label label --db '%s' %s%s%s%s", s->model, s->toy,
                   s->db, strstr(more, "--batch") ? "" : "--batch 2 ", strstr(more, "--method") ? "" : "--method 'lora(r=2)' ",
                   strstr(more, "--lr") ? "" : "--lr 1e-5 ", more);
}

json_t *stage_train(const struct stage *s, int status, const char *more) {
    struct command c;
    char *line = stage_line(s, more);
    command_run(&c, NULL, "%s --json", line);
    command_expect(&c, status);
    stage_json_lines(buf_text(&c.out));
    json_t *run = command_json(&c, 1);
    command_release(&c);
    free(line);
    return run;
}

struct run_config stage_config(const struct stage *s, int batch, int64_t steps) {
    struct run_config c;
    struct err e = ERR_INIT;
    config_init(&c);
    test_ok(config_set(&c, "method", "lora(r=2)", &e), &e);
    config_take_model(&c, s->model);
    c.batch = batch;
    c.steps = steps;
    c.epochs = 0;
    c.lr = 1e-5;
    return c;
}

#define FILL(line, format)                                        \
    char line[8000];                                              \
    va_list args;                                                 \
    va_start(args, format);                                       \
    vsnprintf(line, sizeof line, format, args);                   \
    va_end(args)

char *stage_out(int status, const char *format, ...) {
    FILL(line, format);
    struct command c;
    command_run(&c, NULL, "%s", line);
    if (c.status != status) print_error("%s\n", line);
    command_expect(&c, status);
    char *out = xstrdup(buf_text(&c.out));
    command_release(&c);
    return out;
}

void stage_refused(int status, const char *part, const char *format, ...) {
    FILL(line, format);
    struct command c;
    command_run(&c, NULL, "%s", line);
    const char *said = buf_text(&c.err);
    const char *end = strchr(said, '\n');
    if (c.status != status || !strstr(said, part) || !end || end[1] || c.out.size)
        fail_msg("%s\nexit %d (not %d), wanted \"%s\" in the only line:\n%s\n%s", line, c.status, status,
                 part, said, buf_text(&c.out));
    command_release(&c);
}

json_t *stage_json(const char *format, ...) {
    FILL(line, format);
    char *out = stage_out(0, "%s", line);
    json_error_t where;
    json_t *v = json_loads(out, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &where);
    if (!v) fail_msg("%s\nno JSON (%s): %s", line, where.text, out);
    free(out);
    return v;
}

int stage_json_lines(const char *text) {
    char *copy = xstrdup(text), *rest = copy, *line;
    int n = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (!*line) continue;
        json_error_t where;
        json_t *v = json_loads(line, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &where);
        if (!v) fail_msg("no JSON (%s): %s", where.text, line);
        json_decref(v);
        n++;
    }
    free(copy);
    return n;
}

void stage_no_nan(const char *text) {
    static const char *const bad[] = { "nan", "inf", "infinity" };
    bool quoted = false;
    for (const char *p = text; *p; p++) {
        if (*p == '"') quoted = !quoted;
        if (quoted || !isalpha((unsigned char)*p)) continue;
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        /* A sentence about a value: "the loss is NaN", "NaN or infinite logits". */
        bool prose = !strncmp(p, "NaN", 3) && ((p - text >= 3 && !strncmp(p - 3, "is ", 3)) || !strncmp(p + 3, " or infinite", 12));
        for (size_t i = 0; !prose && i < COUNT_OF(bad); i++)
            if (n == strlen(bad[i]) && !strncasecmp(p, bad[i], n)) fail_msg("bare %.*s in: %s", (int)n, p, text);
        p += n - 1;
    }
}

json_t *stage_at(json_t *v, const char *path) {
    char *copy = xstrdup(path), *rest = copy, *part;
    while (v && (part = strsep(&rest, "."))) v = json_object_get(v, part);
    if (!v) fail_msg("no member %s", path);
    free(copy);
    return v;
}

const char *stage_text(json_t *v, const char *path) {
    const char *s = json_string_value(stage_at(v, path));
    if (!s) fail_msg("%s is no string", path);
    return s;
}

/* Asked of SQLite itself: by the time a program had started and said it, a short run would be over. */
static bool came_to(const char *db, int id, int step) {
    sqlite3 *c = NULL;
    sqlite3_stmt *st = NULL;
    bool there = false;
    if (!sqlite3_open_v2(db, &c, SQLITE_OPEN_READONLY, NULL) &&
        !sqlite3_prepare_v2(c, "SELECT step FROM run WHERE id = ?", -1, &st, NULL)) {
        sqlite3_bind_int(st, 1, id);
        there = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) >= step;
    }
    sqlite3_finalize(st);
    sqlite3_close(c);
    return there;
}

void stage_wait_step(const struct stage *s, int id, int step) {
    for (int tries = 0; tries < 10000 * TEST_PATIENCE; tries++) {
        if (came_to(s->db, id, step)) return;
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
    }
    fail_msg("run %d has not come to step %d", id, step);
}

bool stage_stop_midway(const struct stage *s, pid_t pid, int id, int step) {
    stage_wait_step(s, id, step);
    kill(pid, SIGTERM);
    int status = command_wait(pid, 30);
    assert_true(status == 0 || status == 130);
    return status == 130;
}
