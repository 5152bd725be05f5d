/* flan-t5-small in 32 bits, and its generated texts. */
#include "tests/model/t5_cases.h"

#include <stdio.h>

#include "core/base/file.h"
#include "core/engine/blas.h"
#include "core/model/generate.h"

#define T5_TEXTS "tests/reference/flan-t5-small/texts.tsv"
enum { TEXTS = 51, LONGEST = 64 };

/* ---- greedy texts ---- */

struct line {
    double gap;
    char *source, *text;
    int32_t given[LONGEST], made[LONGEST];
    int given_count, made_count;
};

static char *cell(char **at) {
    char *begin = *at, *end = begin + strcspn(begin, "\t\n");
    *at = end + (*end != '\0');
    *end = '\0';
    return begin;
}

static int read_ids(char *s, int32_t *out) {
    int n = 0;
    for (char *end; *s && n < LONGEST; s = end, n++) {
        out[n] = (int32_t)strtol(s, &end, 10);
        if (end == s) fail_msg("no ids in \"%s\"", s);
    }
    return n;
}

static void read_lines(char *at, struct line *line) {
    for (int i = 0; i < TEXTS; i++) {
        line[i].gap = strtod(cell(&at), NULL);
        line[i].source = cell(&at);
        line[i].given_count = read_ids(cell(&at), line[i].given);
        line[i].text = cell(&at);
        line[i].made_count = read_ids(cell(&at), line[i].made);
    }
    assert_int_equal(*at, '\0');
}

static void check_tokens(const struct tokenizer *t, const struct line *l) {
    struct encoded x;
    struct buf text = BUF_INIT;
    struct err e = ERR_INIT;
    test_ok(tokenizer_encode(t, l->source, strlen(l->source), NULL, 0, 512, &x, &e), &e);
    assert_int_equal(x.n, l->given_count);
    assert_memory_equal(x.ids, l->given, x.n * sizeof *x.ids);
    tokenizer_decode(t, l->made, (size_t)l->made_count, true, &text);
    assert_string_equal(buf_text(&text), l->text);
    buf_release(&text);
    encoded_release(&x);
}

static void test_texts(void **state) {
    (void)state;
    static struct line line[TEXTS];
    static struct generated out[TEXTS];
    test_needs(T5);
    struct err e = ERR_INIT;
    struct buf file = BUF_INIT;
    struct generate_options o;
    struct generation g;
    char *folder = test_path(T5), *path = test_path(T5_TEXTS);
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    test_ok(file_read(path, 1 << 20, &file, &e), &e);
    read_lines(file.data, line);
    size_t start[TEXTS + 1] = {0};
    int32_t *ids = xcalloc(TEXTS * LONGEST, sizeof *ids);
    for (int i = 0; i < TEXTS; i++) {
        check_tokens(m->tokenizer, &line[i]);
        memcpy(ids + start[i], line[i].given, (size_t)line[i].given_count * sizeof *ids);
        start[i + 1] = start[i] + (size_t)line[i].given_count;
    }
    test_ok(generate_defaults(m, &o, NULL, &e), &e);
    o.max_new = 24;
    generation_init(&g, m, &o, &(struct generate_sources){TEXTS, start, ids});
    struct crew *crew = crew_new(2, NULL);
    test_ok(generate_rows(&g, NULL, crew, NULL, out, &e), &e);
    crew_free(crew);
    for (int i = 0; i < TEXTS; i++) {
        if (line[i].gap <= 1e-4) continue;
        if (out[i].count != line[i].made_count ||
            memcmp(out[i].ids, line[i].made, (size_t)out[i].count * sizeof *ids))
            fail_msg("\"%s\" is answered otherwise than \"%s\"", line[i].source, line[i].text);
    }
    generated_release(out, TEXTS);
    generation_release(&g);
    model_release(m);
    buf_release(&file);
    free(ids);
    free(folder);
    free(path);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t5_forward),
        cmocka_unit_test(t5_gradients),
        cmocka_unit_test(t5_lora),
        cmocka_unit_test(test_texts),
    };
    if (argc) blas_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
