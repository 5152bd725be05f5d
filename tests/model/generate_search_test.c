/* Greedy and beam search compared with transformers' generate() on logits computed by a rule
 * (tests/reference/make_search.py), and edge cases. */
#include "core/model/generate_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { WORDS = 64, START = 1 };

/* ---- the rule ---- */

struct rule {
    uint32_t seed;
    int vocabulary;
    double boost;
};

static uint32_t mix(uint32_t h) {
    h ^= h >> 16;
    h *= 0x21F0AAADu;
    h ^= h >> 15;
    h *= 0xD35A2D97u;
    return h ^ h >> 15;
}

static void rule_logits(const struct rule *r, const struct generate_options *o, const int32_t *ids,
                        int n, real *out) {
    uint32_t h = mix(mix(r->seed) + START + 1);
    for (int i = 0; i < n; i++) h = mix(h + (uint32_t)ids[i] + 1);
    for (int v = 0; v < r->vocabulary; v++)
        out[v] = (real)(mix(h + 977u * (uint32_t)(v + 1)) >> 11) / 524288;
    for (int i = 0; i < o->ends; i++) out[o->end[i]] += (real)r->boost;
}

/* Tracks the texts of live rows by parents and tokens. */
static void run(struct search *s, const struct rule *r) {
    static int32_t text[BEAMS_MOST][WORDS], next[BEAMS_MOST][WORDS];
    static real logits[BEAMS_MOST * 64];
    for (int step = 0; s->rows; step++) {
        int parent[BEAMS_MOST];
        assert_true(step < s->o->max_new);
        for (int i = 0; i < s->rows; i++)
            rule_logits(r, s->o, text[i], step, logits + i * r->vocabulary);
        assert_true(search_step(s, logits, parent));
        for (int i = 0; i < s->rows; i++) {
            memcpy(next[i], text[parent[i]], sizeof next[i]);
            next[i][step] = search_token(s, i);
        }
        memcpy(text, next, sizeof text);
    }
}

/* ---- the reference's cases ---- */

static double number(char **at) {
    char *end;
    double v = strtod(*at, &end);
    if (end == *at) fail_msg("no number at \"%.40s\"", *at);
    *at = end;
    return v;
}

static bool bar(char **at) {
    *at += strspn(*at, " ");
    if (**at == '|') ++*at;
    else return false;
    *at += strspn(*at, " ");
    return true;
}

static void one_case(char *line) {
    char *at = line;
    struct generate_options o = { .start = START, .repetition = 1 };
    struct rule r = { .seed = (uint32_t)number(&at) };
    r.vocabulary = (int)number(&at);
    r.boost = number(&at);
    assert_true(bar(&at));
    o.beams = (int)number(&at);
    o.max_new = (int)number(&at);
    o.min_new = (int)number(&at);
    o.length_penalty = number(&at);
    o.early = (enum early_stopping)number(&at);
    o.no_repeat = (int)number(&at);
    o.forced_first = (int32_t)number(&at);
    o.forced_last = (int32_t)number(&at);
    assert_true(bar(&at));
    while (!bar(&at)) o.end[o.ends++] = (int32_t)number(&at);
    double want = number(&at), score;
    assert_true(bar(&at));
    struct search s;
    int n;
    search_init(&s, &o, r.vocabulary, &o.start, 1, 0);
    run(&s, &r);
    const int32_t *ids = search_best(&s, &n, &score);
    for (int i = 0; i < n; i++)
        if (ids[i] != (int32_t)number(&at)) fail_msg("token %d of %d differs: %s", i, n, line);
    if (strspn(at, " ") != strlen(at)) fail_msg("stopped after %d tokens: %s", n, line);
    if (!(fabs(score - want) < 2e-5 * (1 + fabs(want)))) fail_msg("score %g: %s", score, line);
    search_release(&s);
}

static void test_reference(void **state) {
    (void)state;
    struct buf text = BUF_INIT;
    struct err e = ERR_INIT;
    char *path = test_path("tests/reference/search.txt");
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    int cases = 0;
    for (char *line = text.data, *stop; line && *line; line = stop + 1, cases++) {
        stop = strchr(line, '\n');
        assert_non_null(stop);
        *stop = '\0';
        one_case(line);
    }
    assert_int_equal(cases, 400);
    buf_release(&text);
    free(path);
}

/* ---- edges ---- */

static struct generate_options plain(int beams) {
    return (struct generate_options){ .beams = beams, .max_new = 4, .length_penalty = 1, .repetition = 1,
                                      .start = START, .end = { 2 }, .ends = 1,
                                      .forced_first = -1, .forced_last = -1 };
}

static void test_ties(void **state) {
    (void)state;
    const real even[10] = { 0 };
    int parent[BEAMS_MOST], n;
    double score;
    struct search s;
    struct generate_options o = plain(1);
    search_init(&s, &o, 5, &o.start, 1, 0);
    assert_true(search_step(&s, even, parent));
    assert_int_equal(search_token(&s, 0), 0);
    search_release(&s);
    o = plain(2);
    search_init(&s, &o, 5, &o.start, 1, 0);
    assert_true(search_step(&s, even, parent));
    assert_int_equal(s.rows, 2);
    assert_int_equal(search_token(&s, 0), 0);
    assert_int_equal(search_token(&s, 1), 1);
    /* equal scores again: both rows continue the lower beam; its end token is third and not in the better
     * half */
    assert_true(search_step(&s, even, parent));
    assert_int_equal(parent[0], 0);
    assert_int_equal(parent[1], 0);
    assert_int_equal(search_token(&s, 1), 1);
    search_best(&s, &n, &score);
    assert_int_equal(n, 0);
    search_release(&s);
}

static void test_not_finite(void **state) {
    (void)state;
    real bad[5] = { 0, 1, (real)NAN, 0, 0 }, gone[5];
    for (int i = 0; i < 5; i++) gone[i] = (real)NAN;
    int parent[BEAMS_MOST];
    for (int beams = 1; beams <= 2; beams++) {
        struct search s;
        struct generate_options o = plain(beams);
        search_init(&s, &o, 5, &o.start, 1, 0);
        assert_false(search_step(&s, beams == 1 ? gone : bad, parent));
        assert_int_equal(s.rows, 0);
        search_release(&s);
    }
}

/* More candidates are requested than exist, and all tokens but one are banned. */
static void test_narrow(void **state) {
    (void)state;
    for (int beams = 1; beams <= 4; beams++) {
        struct search s;
        struct generate_options o = plain(beams);
        struct rule r = { 5, 3, 0 };
        int n;
        double score;
        o.no_repeat = 1;
        search_init(&s, &o, 3, &o.start, 1, 0);
        run(&s, &r); /* the start token 1 is banned too: 0 and the end token remain */
        const int32_t *ids = search_best(&s, &n, &score);
        assert_true(n == 1 || n == 2);
        assert_int_equal(ids[n - 1], 2);
        search_release(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
