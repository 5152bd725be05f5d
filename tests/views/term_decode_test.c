/* What a terminal sends: the same keys whatever answers come between them, and however the bytes were split over reads. */
#include "tests/support/test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/term_decode.h"

#define ST "\033\\"

/* Keys as terminals send them, and what is to come of them. */
static const struct typed_key {
    const char *bytes, *means;
} story[] = {
    {"a", "a"}, {"\033[A", "Up"}, {"\033OB", "Down"}, {"\033x", "Alt-x"}, {"Z", "Z"}, {"\033[1;5C", "other"},
    {"\033[1;3D", "Alt-Left"}, {"\033OP", "F1"}, {"\033[11~", "F1"}, {"\033[[A", "F1"}, {"\033[[B", "other"}, {"\033[15;2~", "other"},
    {"\033[Z", "S-Tab"}, {"\033[3~", "Delete"}, {"\033[2~", "Insert"}, {"\033[H", "Home"}, {"\033OF", "End"},
    {"\033[1~", "Home"}, {"\033[4~", "End"}, {"\033[7~", "Home"}, {"\033[5~", "PgUp"}, {"\033[6~", "PgDn"}, {"\033[3$", "other"},
    {"\033Op", "0"}, {"\033OM", "Enter"}, {"\r", "Enter"}, {"\t", "Tab"}, {"\177", "Backspace"}, {"\b", "Backspace"}, {"\003", "^c"},
    {"\xc3\xa9", "\xc3\xa9"}, {"\xe2\x82\xac", "\xe2\x82\xac"}, {"\033\xc3\xa9", "Alt-\xc3\xa9"}, {"\033\t", "S-Tab"},
    {"\033[<0;25;1M", "click(24,0)"}, {"\033[<0;25;1m", ""}, {"\033[<65;3;4M", "down(2,3)"}, {"\033[M !!", ""},
    {"\033[200~dd\r:purge\033[31m\xc3\xa9\033[201~", "paste(dd\n:purge\xc3\xa9)"},
    {"\033", "Esc"}, {"\033[B", "Down"}, {"q", "q"},
};

/* What terminals answer and report without being asked by this program. */
static const char *const answer[] = {
    "\033]11;rgb:1e1e/1e1e/2e2e" ST, "\033]4;0;rgb:0000/0000/0000\007", "\033]52;c;ZGRkZA==\007", "\033]lTitle d \xc3\x9c" ST,
    "\033[?61;4;6;22;52c", "\033[>0;276;0c", "\033[12;40R", "\033[?1;1R", "\033[0n", "\033[?2026;2$y", "\033[4;1$y", "\033[I", "\033[O",
    "\033[?1u", "\033[8;24;80t", "\033[?62;22c\033[3;1R", "\033P>|WezTerm 2024" ST, "\033P1$r0m" ST, "\033P!|00000000" ST,
    "\033^dddd" ST, "\033_Gi=1;OK" ST, "\033Xdd" ST, "\xc2\x9b?61c", "\xc2\x9d" "11;rgb:0/0/0\xc2\x9c", ST,
};

static void add_event(struct buf *out, const struct term_input *in) {
    char name[16] = "other";
    if (out->size) buf_putc(out, ' ');
    if (in->kind == INPUT_PASTE) {
        buf_printf(out, "paste(%.*s)", (int)in->size, in->text);
    } else if (in->kind == INPUT_MOUSE) {
        static const char *const did[] = {"click", "up", "down"};
        buf_printf(out, "%s(%d,%d)", did[in->mouse.kind], in->mouse.x, in->mouse.y);
    } else {
        if (in->press.code != PRESS_OTHER) press_name(in->press.code, name);
        buf_printf(out, "%s%s", in->press.alt ? "Alt-" : "", name);
    }
}

static void feed(struct term_decoder *d, const char *bytes, int64_t ms) { term_decoder_feed(d, bytes, strlen(bytes), ms); }

static void add_events(struct term_decoder *d, struct buf *out) {
    for (struct term_input in; term_decoder_next(d, &in);) add_event(out, &in);
}

/* What comes of bytes that are read in two parts. */
static char *meaning(const char *bytes, size_t n, size_t first) {
    struct term_decoder d = {0};
    struct buf out = BUF_INIT;
    term_decoder_key(&d, "\033\t", PRESS_BACKTAB);
    term_decoder_feed(&d, bytes, first, 1000);
    add_events(&d, &out);
    term_decoder_feed(&d, bytes + first, n - first, 1000);
    add_events(&d, &out);
    term_decoder_release(&d);
    return buf_take(&out);
}

static char *told_story(size_t at, const char *between, bool means) {
    struct buf b = BUF_INIT;
    for (size_t i = 0; i <= COUNT_OF(story); i++) {
        if (i == at) buf_puts(&b, between);
        if (i == COUNT_OF(story)) break;
        const char *part = means ? story[i].means : story[i].bytes;
        if (means && b.size && *part) buf_putc(&b, ' ');
        buf_puts(&b, part);
    }
    return buf_take(&b);
}

static void expect_split(const char *bytes, const char *wanted, size_t from, size_t to) {
    for (size_t cut = from; cut <= to; cut++) {
        char *got = meaning(bytes, strlen(bytes), cut);
        assert_string_equal(got, wanted);
        free(got);
    }
}

static void keys_are_the_same_however_split(void **state) {
    (void)state;
    char *bytes = told_story(0, "", false), *wanted = told_story(0, "", true);
    expect_split(bytes, wanted, 0, strlen(bytes));
    free(bytes);
    free(wanted);
}

static void answers_are_no_keys(void **state) {
    (void)state;
    char *wanted = told_story(0, "", true);
    for (size_t a = 0; a < COUNT_OF(answer); a++) {
        size_t from = 0;
        for (size_t at = 0; at <= COUNT_OF(story); at++) {
            bool after_escape = at && !strcmp(story[at - 1].bytes, "\033") && (unsigned char)*answer[a] != 0x1B;
            if (!after_escape) { /* an Escape before 8 bits is Alt */
                char *bytes = told_story(at, answer[a], false);
                expect_split(bytes, wanted, from, from + strlen(answer[a]));
                free(bytes);
            }
            from += at < COUNT_OF(story) ? strlen(story[at].bytes) : 0;
        }
    }
    free(wanted);
}

/* Decodes with what terminfo knows of another terminal. */
static void strings_of_other_terminals(void **state) {
    struct term_decoder d = {0};
    struct buf out = BUF_INIT;
    (void)state;
    term_decoder_key(&d, "\033A", PRESS_UP);
    term_decoder_key(&d, "\033[M", PRESS_F1);
    term_decoder_key(&d, NULL, PRESS_HOME);
    term_decoder_key(&d, "\b", PRESS_LEFT);
    feed(&d, "\033A\033B\033[M!\b", 0);
    add_events(&d, &out);
    assert_string_equal(buf_text(&out), "Up Alt-B F1 ! Backspace");
    buf_release(&out);
    term_decoder_release(&d);
}

/* An Escape alone, what Alt with an introducer sends, and a string that never ends. */
static void unfinished_sequences_end(void **state) {
    static const struct {
        const char *before, *after, *means;
        int pause;   /* -1: long enough for a lone Escape */
    } part[] = {
        {"\033", "", "Esc", -1},           {"\033", "x", "Esc x", -1},     {"\033[", "d", "Alt-[ d", 1500},
        {"\033]", "d", "Alt-] d", 1500},   {"\033P", "q", "Alt-P q", 1500}, {"\033]11;rgb", "q", "q", 1500},
        {"\033]11;rgb", "q" ST "x", "x", 500}, {"\033[12;", "d", "d", 1500}, {"\033[12;", "4Rx", "x", 500},
        {"\033X never ends", "\003q", "^c q", 0}, {"\033]11;", "\rq", "Enter q", 0}, {"\033[1;", "\rq", "Enter q", 0},
        {"\033]11;", "\033[Aq", "Up q", 0}, {"\033\033", "[A", "Esc Up", 0}, {"\033", "\rq", "Esc Enter q", 0},
        {"\033[M ", "q", "q", 1500},       {"\033[200~dd\033", "[201~q", "paste(dd) q", 500}, {"\xc3", "q", "q", 0},
        {"\033]11;\033", "\033[Aq", "Esc Up q", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct term_decoder d = {0};
        struct buf out = BUF_INIT;
        feed(&d, part[i].before, 1000);
        add_events(&d, &out);
        if (part[i].pause > 500) assert_false(term_decoder_has_escape(&d));
        if (part[i].pause < 0) {
            assert_true(term_decoder_has_escape(&d));
            term_decoder_expire(&d);
        }
        feed(&d, part[i].after, 1000 + (part[i].pause > 0 ? part[i].pause : 0));
        add_events(&d, &out);
        assert_string_equal(buf_text(&out), part[i].means);
        buf_release(&out);
        term_decoder_release(&d);
    }
}

/* An end mark inside a paste does not let its rest out. */
static void a_paste_holds_its_end_mark(void **state) {
    struct term_decoder d = {0};
    struct buf out = BUF_INIT;
    (void)state;
    feed(&d, "\033[200~a\033[201~b\033[200~c\033[201~d", 0);
    add_events(&d, &out);
    assert_string_equal(buf_text(&out), "paste(abc) d");
    buf_release(&out);
    term_decoder_release(&d);
}

/* What is dropped before a question leaves no half of a sequence behind. */
static void dropping_leaves_no_rest(void **state) {
    struct term_decoder d = {0};
    struct buf out = BUF_INIT;
    (void)state;
    feed(&d, "dd\033]11;rg", 0);
    term_decoder_drop(&d);
    feed(&d, "b:dd/yy\007y", 10);
    add_events(&d, &out);
    assert_string_equal(buf_text(&out), "y");
    buf_release(&out);
    term_decoder_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_the_same_however_split), cmocka_unit_test(answers_are_no_keys),
        cmocka_unit_test(strings_of_other_terminals),      cmocka_unit_test(unfinished_sequences_end),
        cmocka_unit_test(a_paste_holds_its_end_mark),      cmocka_unit_test(dropping_leaves_no_rest),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
