#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "views/plot_figure.h"
#include "views/plot_many.h"

enum { MANY = 1000000 };

static struct plot_data series(size_t n, double value) {
    double *step = xmalloc(n * sizeof *step), *v = xmalloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        step[i] = (double)i + 1;
        v[i] = value;
    }
    return (struct plot_data){step, v, n};
}

static void release(struct plot_data *d) {
    free((void *)d->step);
    free((void *)d->value);
}

static int cells_in_row(const struct canvas *c, struct rect in, int row, enum ink ink) {
    int n = 0;
    for (int x = in.x; x < in.x + in.w; x++) {
        const struct cell *at = canvas_at(c, x, in.y + row);
        n += at->cp != ' ' && at->style.fg == canvas_style(c, ink).fg;
    }
    return n;
}

static int cells_with(const struct canvas *c, struct rect in, int row, uint32_t cp) {
    int n = 0;
    for (int x = in.x; x < in.x + in.w; x++) n += canvas_at(c, x, in.y + row)->cp == cp;
    return n;
}

/* Its column is drawn up to the border of the range, where a mark says that it goes on. */
static void a_single_spike_among_a_million_stays(void **state) {
    (void)state;
    struct plot_data d = series(MANY, 1);
    ((double *)d.value)[617283] = 9;
    struct canvas c;
    struct plot_look look = {.smooth = 4, .raw = true};
    canvas_init(&c, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    double from = clock_thread_seconds(); /* of the processor: other programs are not in it */
    struct rect area = plot_curve(&c, (struct rect){0, 0, 80, 24}, &d, &look, -1, true);
    double ms = 1e3 * (clock_thread_seconds() - from);
    print_message("a million points: %.1f ms\n", ms);
    int drawn = 0;
    for (int y = 0; y < area.h; y++)
        drawn += cells_in_row(&c, area, y, INK_RAW) + cells_in_row(&c, area, y, INK_CURVE) > 0;
    assert_true(drawn >= area.h / 2);
    assert_int_equal(cells_with(&c, area, 0, 0x25B4), 1);
    canvas_release(&c);
    release(&d);
}

static void smoothing_leaves_a_constant(void **state) {
    (void)state;
    double v[500], out[500];
    for (int i = 0; i < 500; i++) v[i] = 0.1;
    for (int level = 0; level <= PLOT_SMOOTH_MAX; level++) {
        plot_smooth(v, 500, plot_smooth_weight(level), out);
        for (int i = 0; i < 500; i++) assert_true(fabs(out[i] - 0.1) < 1e-12);
    }
}

/* The closed form: Σ (1−w) w^(k−i) v_i / (1 − w^k). */
static void smoothing_is_debiased(void **state) {
    (void)state;
    double v[40], out[40], w = 0.9;
    for (int i = 0; i < 40; i++) v[i] = sin(i) + 0.1 * i;
    plot_smooth(v, 40, w, out);
    for (int k = 0; k < 40; k++) {
        double sum = 0;
        for (int i = 0; i <= k; i++) sum += (1 - w) * pow(w, k - i) * v[i];
        assert_true(fabs(out[k] - sum / (1 - pow(w, k + 1))) < 1e-12);
    }
}

static void lost_points_are_marked_and_not_joined(void **state) {
    (void)state;
    struct plot_data d = series(100, 0.5);
    ((double *)d.value)[49] = NAN;
    ((double *)d.value)[70] = INFINITY;
    double lo, hi, out[100];
    assert_true(plot_extent(&d, 0, 1000, false, &lo, &hi));
    assert_true(lo == 0.5 && hi == 0.5);
    plot_smooth(d.value, 100, 0.9, out);
    for (int i = 0; i < 100; i++) assert_true(fabs(out[i] - 0.5) < 1e-12);
    struct canvas c;
    struct plot_look look = {0};
    canvas_init(&c, 110, 12, GLYPHS_BRAILLE, COLORS_256);
    struct rect area = plot_curve(&c, (struct rect){0, 0, 110, 12}, &d, &look, -1, true);
    assert_int_equal(cells_in_row(&c, area, 0, INK_BAD), 2);
    canvas_release(&c);
    release(&d);
}

enum { SPIKED = 60 };
static double spiked_step[SPIKED], spiked[SPIKED];

/* A loss from 2.3 to 0.4 with two spikes to 8 and 9, and one to -5. */
static struct plot_data make_spiked(void) {
    for (int i = 0; i < SPIKED; i++) spiked_step[i] = i + 1, spiked[i] = 0.4 + 1.9 * exp(-i / 15.0) + 0.05 * (i % 3);
    spiked[30] = 8;
    spiked[45] = 9;
    spiked[55] = -5;
    return (struct plot_data){spiked_step, spiked, SPIKED};
}

/* The y range is that of what is drawn: the smoothed curve whole, raw points but for spikes. */
static void spikes_do_not_set_the_range(void **state) {
    (void)state;
    struct plot_data d = make_spiked(), few = {spiked_step + 25, spiked + 25, 10};
    static const struct {
        struct plot_look look;
        double lo_from, lo_to, hi_from, hi_to;
    } cases[] = {
        {{.smooth = 3, .raw = true}, -1, 0.5, 2.3, 3.5},
        {{.smooth = 3}, -0.1, 0.8, 2.3, 2.31},
        {{.raw = true}, -1, 0.5, 2.3, 3.5},
        {{.smooth = 0}, -1, 0.5, 2.3, 3.5},
        {{.smooth = 3, .raw = true, .whole = true}, -5, -5, 9, 9},
        {{.smooth = 3, .raw = true, .log = true}, 0.1, 0.5, 2.3, 6},
        {{.smooth = 3, .raw = true, .from = 40, .to = 60}, -1, 0.5, 0.5, 3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct plot_span s = {0};
        plot_widen(&s, &d, &cases[i].look);
        if (!s.any || s.lo < cases[i].lo_from || s.lo > cases[i].lo_to || s.hi < cases[i].hi_from || s.hi > cases[i].hi_to)
            fail_msg("case %zu: %g … %g", i, s.lo, s.hi);
    }
    struct plot_span s = {0};
    plot_widen(&s, &few, &(struct plot_look){0});
    assert_true(s.hi == 8); /* of few points each counts */
    for (int i = 0; i < SPIKED; i++) spiked[i] = 0.1 + 10 * exp(-i / 3.0); /* a steep fall is not a spike */
    s.any = false;
    plot_widen(&s, &d, &(struct plot_look){.smooth = 3, .raw = true});
    assert_true(s.hi == spiked[0]);
    double none[] = {-1, -2}, some[] = {0.5, 1};
    struct plot_look log_look = {.log = true, .whole = true};
    s = (struct plot_span){0};
    plot_widen(&s, &(struct plot_data){spiked_step, none, 2}, &log_look);
    assert_true(s.any && !s.log && s.lo == -2);
    plot_widen(&s, &(struct plot_data){spiked_step, some, 2}, &log_look);
    assert_true(s.log && s.lo == 0.5 && s.hi == 1);
    plot_widen_metric(&s, &(struct plot_data){spiked_step, some, 2}, 0.1);
    assert_true(s.lo == 0.1);
}

/* What lies outside of the range is marked at the border, in the charts of one curve and of several; what is not drawn is
 * not marked. */
static void spikes_are_marked_at_the_border(void **state) {
    (void)state;
    struct canvas c;
    struct plot_data d = make_spiked();
    canvas_init(&c, 80, 20, GLYPHS_BRAILLE, COLORS_256);
    for (int raw = 0; raw < 2; raw++)
        for (int lines = 1; lines < 3; lines++) {
            struct figure_line line[] = {{d, "a", NULL}, {d, "b", NULL}};
            struct buf text = BUF_INIT;
            figure_draw(&c, &(struct figure){"loss", "", {.smooth = 3, .raw = raw}, line, lines});
            struct rect chart = {0, 1, 80, 20 - 1 - lines - 2};
            assert_int_equal(cells_with(&c, chart, 0, 0x25B4), raw ? 2 : 0);
            assert_int_equal(cells_with(&c, chart, chart.h - 1, 0x25BE), raw ? 1 : 0);
            canvas_to_text(&c, &text);
            assert_null(strstr(buf_text(&text), "8    \u2524"));
            buf_release(&text);
        }
    canvas_release(&c);
}

static void axes_tick_at_1_2_5_and_move_in_steps(void **state) {
    (void)state;
    struct axis_range a = {0};
    assert_true(axis_step(10, 5) == 2);
    assert_true(fabs(axis_step(0.07, 4) - 0.02) < 1e-12);
    axis_fit(&a, 0.31, 0.72, false);
    struct axis_range before = a;
    assert_true(a.lo <= 0.31 && a.hi >= 0.72);
    axis_fit(&a, 0.33, 0.71, false); /* inside, and most of it */
    assert_memory_equal(&a, &before, sizeof a);
    axis_fit(&a, 0.33, 0.95, false); /* out of it */
    assert_true(a.hi >= 0.95);
    axis_fit(&a, 0.40, 0.41, false); /* a small part of it */
    assert_true(a.hi - a.lo < 0.1);
    axis_fit(&a, 0.5, 0.5, false);
    assert_true(a.lo < 0.5 && a.hi > 0.5);
    axis_fit(&a, 1e300, -1e300, false); /* no range: nothing moves */
    assert_true(a.lo < 0.5);
    struct axis_range l = {0};
    axis_fit(&l, 0.013, 4, true);
    assert_true(l.log && fabs(l.lo - 0.01) < 1e-9 && fabs(l.hi - 5) < 1e-9);
}

static void labels(void **state) {
    (void)state;
    char t[16];
    static const struct {
        double v, step;
        const char *says;
    } cases[] = {{0.7, 0.1, "0.7"}, {0.75, 0.05, "0.75"}, {0, 0.1, "0"}, {20000, 5000, "20k"},
                 {1e-4, 0, "1e-4"}, {2e-4, 1e-4, "2e-4"}, {100, 50, "100"}, {3e6, 1e6, "3e6"},
                 /* ticks of one axis are told apart */
                 {1e-4, 2e-5, "1e-4"}, {1.2e-4, 2e-5, "1.2e-4"}, {1.05e-4, 5e-6, "1.05e-4"},
                 {99.99, 0.01, "99.99"}, {100.01, 0.01, "100.01"}, {12500, 500, "12.5k"},
                 {1.25e6, 5e4, "1.25e6"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        axis_label(cases[i].v, cases[i].step, t);
        assert_string_equal(t, cases[i].says);
    }
}

static void reads_out_a_logged_step(void **state) {
    (void)state;
    double step[] = {10, 20, 40}, v[] = {1, 2, 3};
    struct plot_data d = {step, v, 3}, none = {step, v, 0};
    assert_int_equal(plot_nearest(&d, 0), 0);
    assert_int_equal(plot_nearest(&d, 16), 1);
    assert_int_equal(plot_nearest(&d, 30), 1); /* of two as near, the earlier */
    assert_int_equal(plot_nearest(&d, 1e9), 2);
    assert_int_equal(plot_nearest(&none, 5), 0);
}

/* Each line has its mark; where two fall on one cell, a mark that says so. */
static void several_lines_are_told_by_their_marks(void **state) {
    (void)state;
    double step[] = {1, 50, 100}, a[] = {0, 1, 0.5}, b[] = {1, 0, 0.5};
    struct plot_line line[] = {{{step, a, 3}, '1', {1, -1, 0}, 0, 0}, {{step, b, 3}, '2', {2, -1, 0}, 1, 0}};
    struct plot_look look = {.from = 0, .to = 100};
    struct canvas c;
    struct buf text = BUF_INIT;
    canvas_init(&c, 60, 12, GLYPHS_ASCII, COLORS_NONE);
    struct rect at = plot_marks(&c, (struct rect){0, 0, 60, 12}, line, 2, &look, -1, false);
    int marks[3] = {0};
    for (int y = 0; y < 12; y++)
        for (int x = at.x; x < 60; x++) {
            uint32_t cp = canvas_at(&c, x, y)->cp;
            marks[0] += cp == '1';
            marks[1] += cp == '2';
            marks[2] += cp == PLOT_SHARED;
        }
    assert_true(marks[0] == 2 && marks[1] == 2 && marks[2] == 1);
    canvas_clear(&c);
    plot_lines(&c, (struct rect){0, 0, 60, 12}, line, 2, &look, -1, false);
    canvas_to_text(&c, &text);
    assert_true(strchr(buf_text(&text), '1') && strchr(buf_text(&text), '2'));
    buf_release(&text);
    canvas_release(&c);
}

/* Cells of the chart's inside that a level line leaves blank, and whether a spike on it is whole. */
static int gaps_of(int dash, double spike, bool *whole) {
    enum { N = 400 };
    static double step[N], v[N];
    struct canvas c;
    int gaps = 0;
    for (int i = 0; i < N; i++) step[i] = i, v[i] = 0.5;
    v[203] = spike;
    struct plot_line line = {{step, v, N}, '1', {1, -1, 0}, dash, 0};
    struct plot_look look = {.from = 0, .to = N - 1, .y = {.lo = 0, .hi = 1, .step = 0.5, .set = true}};
    canvas_init(&c, 60, 12, GLYPHS_BRAILLE, COLORS_NONE);
    struct rect at = plot_lines(&c, (struct rect){0, 0, 60, 12}, &line, 1, &look, -1, false);
    *whole = false;
    for (int x = at.x; x < at.x + at.w; x++) {
        bool any = false;
        for (int y = 0; y < 12; y++) any |= canvas_at(&c, x, y)->cp != ' ';
        gaps += !any;
        *whole |= canvas_at(&c, x, 0)->cp != ' ';
    }
    canvas_release(&c);
    return gaps;
}

/* Lines differ without colors and between their marks; no pattern breaks a spike. */
static void lines_differ_without_colors(void **state) {
    (void)state;
    bool whole;
    assert_int_equal(gaps_of(0, 0.5, &whole), 0);
    assert_in_range(gaps_of(1, 0.5, &whole), 8, 20);
    for (int dash = 0; dash < 5; dash++) {
        gaps_of(dash, 1, &whole);
        assert_true(whole);
    }
}

/* Equal factors are equally far apart; the axis says what x is. */
static void x_may_be_logarithmic(void **state) {
    (void)state;
    double step[] = {0.1, 1, 10}, v[] = {0, 1, 0};
    struct plot_data d = {step, v, 3};
    struct plot_look look = {.from = 0.1, .to = 10, .x = PLOT_X_EPOCH, .log_x = true};
    struct canvas c;
    struct buf text = BUF_INIT;
    canvas_init(&c, 71, 9, GLYPHS_BRAILLE, COLORS_NONE);
    struct rect at = plot_points(&c, (struct rect){0, 0, 71, 9}, &d, &look, NAN, -1, 0.1, 10, true);
    assert_int_equal(canvas_at(&c, at.x + (at.w - 1) / 2, 0)->cp, 0x25CF);
    canvas_to_text(&c, &text);
    assert_non_null(strstr(buf_text(&text), " epoch"));
    assert_non_null(strstr(buf_text(&text), "0.2"));
    look.log_x = false; /* parts of an epoch are ticks too */
    canvas_clear(&c);
    buf_clear(&text);
    plot_points(&c, (struct rect){0, 0, 70, 9}, &d, &look, NAN, -1, 0, 1, true);
    canvas_to_text(&c, &text);
    assert_non_null(strstr(buf_text(&text), "0.4"));
    buf_release(&text);
    canvas_release(&c);
}

/* The numbers in a row of cells from x on, at most `most`; "20k" is one too. */
static int numbers_in(const struct canvas *c, int y, int x, int end, double *out, int most) {
    char text[400] = "";
    int n = 0;
    for (size_t at = 0; x < end && at < sizeof text - 1; x++) {
        uint32_t cp = canvas_at(c, x, y)->cp;
        text[at++] = (char)(cp < 0x80 ? cp : ' ');
    }
    for (char *word = strtok(text, " "); word && n < most; word = strtok(NULL, " ")) {
        char *rest;
        double v = strtod(word, &rest);
        if (rest == word) break; /* what x is */
        out[n++] = *rest == 'k' ? 1000 * v : v;
    }
    return n;
}

/* Whether neighbors have one difference, or one factor (on a log axis also 2 and 2.5 in turn). */
static bool evenly_spaced(const double *v, int n, bool log_scale) {
    bool steps = true, factors = log_scale, marks = log_scale;
    for (int i = 1; i < n; i++) {
        double step = v[i] - v[i - 1], factor = v[i] / v[i - 1];
        steps &= fabs(step - (v[1] - v[0])) <= 1e-6 * fabs(step);
        factors &= fabs(factor - v[1] / v[0]) < 1e-6;
        marks &= fabs(factor - 2) < 1e-6 || fabs(factor - 2.5) < 1e-6;
    }
    return steps || factors || marks;
}

/* Ticks of every size and range: evenly spaced in the scale of the axis, apart from each other, at the left edge; the axis is
 * under the whole chart. */
static void ticks_are_evenly_spaced(void **state) {
    (void)state;
    static const struct {
        double lo, hi, from, to;
        bool log, log_x;
    } cases[] = {{0.31, 0.72, 0, 320, false, false}, {0.013, 4, 1, 5000, true, true},   {1e-7, 3e3, 0.5, 2e6, true, true},
                 {-3, 17, 100, 130, false, false},   {0.2, 0.3, 0, 9, true, false},     {1e5, 9e5, 0, 1e6, false, false},
                 {0, 1e-4, 3, 1e5, false, true},     {0.4, 0.401, 7, 77, false, false}, {1, 1e30, 1, 1e9, true, true}};
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (int w = 24; w <= 200; w += 11)
            for (int h = 4; h <= 60; h += 7) {
                double step[] = {cases[k].from, cases[k].to}, v[] = {cases[k].lo, cases[k].hi}, n[200];
                struct plot_look look = {.log = cases[k].log, .log_x = cases[k].log_x, .from = step[0], .to = step[1], .whole = true};
                struct plot_data d = {step, v, 2};
                struct canvas c;
                canvas_init(&c, w, h, GLYPHS_BRAILLE, COLORS_NONE);
                struct rect in = plot_curve(&c, (struct rect){0, 0, w, h}, &d, &look, -1, true);
                int count = 0, before = -2;
                for (int y = in.h - 1; y >= 0; y--) {
                    if (!numbers_in(&c, y, 0, in.x - 1, n + count, 1)) continue;
                    if (before >= 0 && before - y < 2 && in.h > 3)
                        fail_msg("case %zu, %dx%d: labels in rows %d and %d", k, w, h, before, y);
                    before = y;
                    count++;
                    bool wide = canvas_at(&c, PANE_EDGE - 1, y)->cp != ' '; /* of more than five columns */
                    assert_true(!wide || canvas_at(&c, in.x - 2, y)->cp != ' ');
                }
                assert_true(count >= 2 || in.h < 2);
                if (!evenly_spaced(n, count, look.log)) fail_msg("case %zu, %dx%d: y ticks %g %g %g …", k, w, h, n[0], n[1], n[2]);
                for (int x = in.x; x < w - 1; x++) {
                    uint32_t cp = canvas_at(&c, x, in.h)->cp;
                    assert_true(cp == 0x2500 || cp == 0x252C);
                }
                if (in.h + 2 <= h) {
                    count = numbers_in(&c, in.h + 1, 0, w, n, COUNT_OF(n));
                    if (count < 1 || !evenly_spaced(n, count, look.log_x))
                        fail_msg("case %zu, %dx%d: x ticks %g %g %g …", k, w, h, n[0], n[1], n[2]);
                }
                canvas_release(&c);
            }
}

/* Of curves that share their cells each is seen: all dots, in the style of none, and a mark of each. */
static void no_curve_hides_another(void **state) {
    (void)state;
    enum { N = 200 };
    static double step[N], v[N], other[N];
    struct canvas c;
    for (int i = 0; i < N; i++) step[i] = i, v[i] = 0.5, other[i] = i < N / 2 ? 0.5 : 0.9;
    struct plot_line line[] = {{{step, v, N}, '1', {1, -1, 0}, 0, 0}, {{step, other, N}, '2', {2, -1, 0}, 0, 0}};
    struct plot_look look = {.from = 0, .to = N - 1, .y = {.lo = 0, .hi = 1, .step = 0.5, .set = true}};
    canvas_init(&c, 80, 12, GLYPHS_BRAILLE, COLORS_256);
    struct rect at = plot_lines(&c, (struct rect){0, 0, 80, 12}, line, 2, &look, -1, false);
    int own[2] = {0}, shared = 0, marks[2] = {0};
    for (int y = 0; y < at.h; y++)
        for (int x = at.x; x < at.x + at.w; x++) {
            const struct cell *k = canvas_at(&c, x, y);
            bool first_half = x < at.x + at.w / 2 - 1;
            for (int i = 0; i < 2; i++) {
                marks[i] += first_half && k->cp == line[i].mark;
                own[i] += k->cp > 0x2800 && k->style.fg == line[i].style.fg;
                assert_false(first_half && k->cp > 0x2800 && k->style.fg == line[i].style.fg);
            }
            shared += k->cp > 0x2800 && k->style.fg == canvas_style(&c, INK_TITLE).fg;
        }
    assert_true(own[0] > 20 && own[1] > 20 && shared > 20 && marks[0] && marks[1]);
    canvas_release(&c);
}

static void a_small_curve_has_its_shape(void **state) {
    (void)state;
    double step[] = {1, 2, 3, 4, 5, 6}, v[] = {0, 0.5, NAN, 1, 1, 0}, flat[] = {2, 2};
    struct plot_data d = {step, v, 6}, level = {step, flat, 2}, none = {step, v + 2, 1};
    struct canvas c;
    canvas_init(&c, 8, 1, GLYPHS_BRAILLE, COLORS_NONE);
    plot_spark(&c, 0, 0, 6, &d, INK_METRIC);
    static const uint32_t wanted[] = {0x2581, 0x2585, ' ', 0x2588, 0x2588, 0x2581, ' '};
    for (int x = 0; x < 7; x++) assert_int_equal(canvas_at(&c, x, 0)->cp, wanted[x]);
    plot_spark(&c, 0, 0, 3, &d, INK_METRIC); /* two a cell: the later one */
    assert_true(canvas_at(&c, 0, 0)->cp == 0x2585 && canvas_at(&c, 1, 0)->cp == 0x2588);
    canvas_clear(&c);
    plot_spark(&c, 0, 0, 6, &level, INK_METRIC);
    assert_true(canvas_at(&c, 0, 0)->cp == 0x2584 && canvas_at(&c, 1, 0)->cp == 0x2584 && canvas_at(&c, 2, 0)->cp == ' ');
    canvas_clear(&c);
    plot_spark(&c, 0, 0, 6, &none, INK_METRIC);
    assert_int_equal(canvas_at(&c, 0, 0)->cp, ' ');
    canvas_release(&c);
}

/* Whatever the values, whatever the size: nothing crashes. */
static void odd_values_and_sizes(void **state) {
    (void)state;
    static const double odd[] = {0, -1, 1e308, -1e308, 1e-308, NAN, INFINITY, -INFINITY, 0.5, 3};
    double step[40], v[40];
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 40; i++) {
            step[i] = i * (1 + round % 7);
            v[i] = odd[(i * 7 + round * 3) % (1 + round % 10)];
        }
        struct plot_data d = {step, v, (size_t)(round % 41)};
        struct plot_look look = {.log = round % 2, .smooth = round % 7, .raw = round % 3, .log_x = round % 5 == 0,
                                 .x = (enum plot_x)(round % PLOT_XS)};
        struct canvas c;
        canvas_init(&c, round % 50, round % 21, (enum glyphs)(round % 3), COLORS_8);
        plot_curve(&c, (struct rect){0, 0, c.w, c.h}, &d, &look, round, round % 5);
        plot_points(&c, (struct rect){0, 0, c.w, c.h}, &d, &look, v[0], round, 0, round % 60, true);
        struct plot_line line[] = {{d, '1', {1, -1, 0}, 0, 0}, {d, '2', {2, -1, 0}, 1 + round % 3, 0}};
        look.to = 1 + round % 60;
        plot_lines(&c, (struct rect){0, 0, c.w, c.h}, line, round % 3, &look, round, round % 5);
        plot_marks(&c, (struct rect){0, 0, c.w, c.h}, line, round % 3, &look, round, round % 5);
        plot_spark(&c, 0, 0, c.w, &d, INK_METRIC);
        canvas_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_spike_among_a_million_stays),
        cmocka_unit_test(smoothing_leaves_a_constant),
        cmocka_unit_test(smoothing_is_debiased),
        cmocka_unit_test(lost_points_are_marked_and_not_joined),
        cmocka_unit_test(spikes_do_not_set_the_range),
        cmocka_unit_test(spikes_are_marked_at_the_border),
        cmocka_unit_test(axes_tick_at_1_2_5_and_move_in_steps),
        cmocka_unit_test(labels),
        cmocka_unit_test(reads_out_a_logged_step),
        cmocka_unit_test(several_lines_are_told_by_their_marks),
        cmocka_unit_test(lines_differ_without_colors),
        cmocka_unit_test(x_may_be_logarithmic),
        cmocka_unit_test(ticks_are_evenly_spaced),
        cmocka_unit_test(no_curve_hides_another),
        cmocka_unit_test(a_small_curve_has_its_shape),
        cmocka_unit_test(odd_values_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
