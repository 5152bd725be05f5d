#include "tests/support/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

void options_move_away(struct run_config *c, const struct option *o) {
    struct run_config usual;
    config_init(&usual);
    static const char *const parsed[][2] = {
        { "regime", "meta(inner=3)" }, { "sampling", "temperature(3)" }, { "teachers", "3,5" },
        { "episodes", "smlmt:a file's 'é'" }, { "ways", "2-3" }, { "words", "frequency" },
    };
    if (o->kind == OPTION_TEXT) {
        char *text = xprintf("a %s's 'é'", o->key);
        for (size_t i = 0; i < COUNT_OF(parsed); i++)
            if (o->parser && !strcmp(parsed[i][0], o->key)) xreplace(&text, parsed[i][1]);
        assert_true(option_take(c, o, text, NULL));
        free(text);
    } else if (o->kind == OPTION_METHOD) {
        assert_true(option_take(c, o, "mam(l=3,r=5)", NULL));
    } else {
        double was = option_number(&usual, o), v = was;
        if (o->word && o->kind != OPTION_KEEP) v = was == o->first ? o->first + 1 : o->first;
        else if (o->kind == OPTION_KEEP) v = KEEP_LAST;
        else if (o->kind == OPTION_DOUBLE || o->kind == OPTION_SHARE) v = o->low + 0.37 * ((o->high < 1 ? o->high : 1) - o->low);
        else v = was + 1 <= o->high ? (was < o->low ? o->low : was) + 1 : o->low;
        option_set_number(c, o, v);
    }
    assert_false(option_same(c, &usual, o));
    config_release(&usual);
}

void options_same(const struct run_config *a, const struct run_config *b, const char *what, bool named) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if ((!named || o->name) && !option_same(a, b, o)) {
            char *x = option_print(a, o), *y = option_print(b, o);
            fail_msg("%s: %s was \"%s\" and is \"%s\"", what, o->key, x, y);
        }
    }
}
