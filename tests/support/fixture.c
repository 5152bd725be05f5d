#include "tests/support/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tests/support/test.h"

static int32_t *read_whole(const struct st_file *file, const char *name, size_t *n) {
    struct err e = ERR_INIT;
    const struct st_tensor *t = st_find(file, name);
    if (!t || t->type != ST_I64) fail_msg("the expected values lack \"%s\"", name);
    int64_t *wide = xcalloc(t->count, sizeof *wide);
    test_ok(st_read_raw(file, t, wide, &e), &e);
    int32_t *out = xcalloc(t->count, sizeof *out);
    for (size_t i = 0; i < t->count; i++) out[i] = (int32_t)wide[i];
    *n = t->count;
    free(wide);
    return out;
}

/* What the decoder reads and has to predict, where the expected file has it. */
static void read_target(const struct st_file *file, struct batch *b) {
    size_t tokens, rows, n;
    if (!st_find(file, "target_in")) return;
    b->target_in = read_whole(file, "target_in", &tokens);
    b->target_out = read_whole(file, "target_out", &n);
    assert_int_equal(n, tokens);
    int32_t *length = read_whole(file, "target_lengths", &rows);
    assert_int_equal(rows, b->examples);
    b->target_tokens = (int)tokens;
    b->target_positions = xcalloc(tokens, sizeof *b->target_positions);
    b->target_start = xcalloc(rows + 1, sizeof *b->target_start);
    b->target_weight = xcalloc(tokens, sizeof *b->target_weight);
    for (size_t i = 0; i < rows; i++) {
        b->target_start[i + 1] = b->target_start[i] + length[i];
        for (int k = 0; k < length[i]; k++) b->target_positions[b->target_start[i] + k] = k;
    }
    assert_int_equal(b->target_start[rows], tokens);
    for (size_t i = 0; i < tokens; i++) b->target_weight[i] = 1 / (real)tokens;
    free(length);
}

static void read_batch(const struct st_file *file, const struct arch *a, struct batch *b) {
    size_t tokens, rows, n;
    b->ids = read_whole(file, "ids", &tokens);
    b->types = read_whole(file, "types", &n);
    assert_int_equal(n, tokens);
    b->label = read_whole(file, "labels", &rows);
    int32_t *length = read_whole(file, "lengths", &n);
    assert_int_equal(n, rows);
    b->examples = (int)rows;
    b->tokens = (int)tokens;
    b->positions = xcalloc(tokens, sizeof *b->positions);
    b->start = xcalloc(rows + 1, sizeof *b->start);
    b->example_id = xcalloc(rows, sizeof *b->example_id);
    b->weight = xcalloc(rows, sizeof *b->weight);
    for (size_t i = 0; i < rows; i++) {
        b->start[i + 1] = b->start[i] + length[i];
        arch_positions(a, b->ids + b->start[i], (size_t)length[i], b->positions + b->start[i]);
        b->example_id[i] = i;
        b->weight[i] = 1 / (real)rows;
    }
    assert_int_equal(b->start[rows], tokens);
    free(length);
    read_target(file, b);
}

const char *fixture_tiny(int i) {
#define FAMILY(name) "tests/reference/families/" name
    static const char *const all[] = {
        "tests/reference/bert-tiny", FAMILY("roberta-tiny"), FAMILY("roberta-odd"),
        FAMILY("t5-tiny"),           FAMILY("t5-odd"),       FAMILY("bart-tiny"),
        FAMILY("bart-odd"),          FAMILY("mbart-tiny"),   FAMILY("mbart-odd")};
#undef FAMILY
    return i < (int)COUNT_OF(all) ? all[i] : NULL;
}

void fixture_open(struct fixture *f, const char *model, const char *expected) {
    struct err e = ERR_INIT;
    char *folder = test_path(model), *file = test_path(expected);
    *f = (struct fixture){0};
    f->model = model_load(folder, &e);
    if (!f->model) fail_msg("%s", e.text);
    f->expected = st_open(file, &e);
    if (!f->expected) fail_msg("%s", e.text);
    read_batch(f->expected, &f->model->arch, &f->batch);
    free(folder);
    free(file);
}

void fixture_close(struct fixture *f) {
    struct batch *b = &f->batch;
    free(b->ids);
    free(b->types);
    free(b->positions);
    free(b->start);
    free(b->example_id);
    free(b->label);
    free(b->weight);
    free(b->target_in);
    free(b->target_positions);
    free(b->target_out);
    free(b->target_start);
    free(b->target_weight);
    st_close(f->expected);
    model_release(f->model);
}

double *fixture_values(const struct fixture *f, const char *name, size_t *n) {
    struct err e = ERR_INIT;
    const struct st_tensor *t = st_find(f->expected, name);
    if (!t || t->type != ST_F64) fail_msg("the expected values lack \"%s\"", name);
    double *out = xcalloc(t->count, sizeof *out);
    test_ok(st_read_raw(f->expected, t, out, &e), &e);
    *n = t->count;
    return out;
}

void fixture_compare(const struct fixture *f, const char *name, const real *got, size_t n,
                     double allowed) {
    size_t count;
    double *right = fixture_values(f, name, &count);
    assert_int_equal(n, count);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - right[i]) <= allowed))
            fail_msg("%s[%zu] is %.12g, the reference %.12g; apart by %.3g, allowed %.3g", name, i,
                     (double)got[i], right[i], fabs((double)got[i] - right[i]), allowed);
    free(right);
}

static double largest_of(const double *v, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(v[i]));
    return most;
}

void fixture_compare_gradient(const struct fixture *f, const char *name, const real *got, size_t n,
                              double part, double largest) {
    size_t count;
    double *right = fixture_values(f, name, &count);
    double most = largest_of(right, count);
    double allowed = part * (most < 1e-12 * largest ? 1e-3 * largest : fmax(most, 1e-5 * largest));
    free(right);
    fixture_compare(f, name, got, n, allowed);
}

void fixture_compare_samples(const struct fixture *f, const char *name, const real *got,
                             size_t size, double part, double largest) {
    size_t n;
    double *right = fixture_values(f, name, &n), most = 0;
    assert_int_equal(n, 17);
    for (size_t i = 0; i < size; i++) most = fmax(most, fabs((double)got[i]));
    double room = part * (right[0] < 1e-12 * largest ? 1e-3 * largest : fmax(right[0], 1e-5 * largest));
    if (!(fabs(most - right[0]) <= room))
        fail_msg("%s: largest is %.9g, the reference %.9g", name, most, right[0]);
    for (size_t i = 0; i < 16; i++) {
        double d = (double)got[(i * 7919 + 13) % size] - right[i + 1];
        if (!(fabs(d) <= room)) fail_msg("%s: sample %zu is apart by %.3g, allowed %.3g", name, i, d, room);
    }
    free(right);
}

double fixture_largest(const struct fixture *f, const char *prefix) {
    double most = 0;
    for (size_t i = 0; i < st_count(f->expected); i++) {
        const struct st_tensor *t = st_at(f->expected, i);
        if (t->type != ST_F64 || !text_starts(t->name, prefix)) continue;
        size_t n;
        double *v = fixture_values(f, t->name, &n);
        most = fmax(most, largest_of(v, n));
        free(v);
    }
    return most;
}

char *fixture_name(const struct fixture *f, const char *before, const char *name,
                   const char *after) {
    static const char *const prefixes[] = {"", "bert.", "roberta.", "model.", "transformer."};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        char *full = xprintf("%s%s%s%s", before, prefixes[i], name, after);
        if (st_find(f->expected, full)) return full;
        free(full);
    }
    fail_msg("the expected values lack \"%s…%s%s\"", before, name, after);
    return NULL;
}
