/* Reports: one array of columns makes JSON, text, CSV and Markdown; and JSON by a format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/report.h"
#include "tests/support/test.h"

struct fruit {
    const char *name, *about;
    int count;
    int64_t parent;
    double weight;
    bool ripe;
};

static const struct fruit FRUIT[] = {
    { "fig", "{\"of\":1}", 12, 0, 0.12345, true },
    { "a|b,\n", NULL, 7, 3, NAN, false },
};

static const struct report_column COLUMN[] = {
    { "name", REPORT_TEXT, offsetof(struct fruit, name), .heading = "fruit" },
    { "count", REPORT_INT, .offset = offsetof(struct fruit, count) },
    { "parent", REPORT_ID, .offset = offsetof(struct fruit, parent) },
    { "weight", REPORT_DOUBLE, offsetof(struct fruit, weight), .decimals = 2, .none = "?" },
    { "about", REPORT_RAW, offsetof(struct fruit, about), .forms = REPORT_JSON, .optional = true },
    { 0 },
};

static void is(const struct report_column *c, enum report_form form, const char *expected) {
    struct buf b = BUF_INIT;
    report_rows(c, form, FRUIT, 2, sizeof *FRUIT, &b);
    assert_string_equal(buf_text(&b), expected);
    buf_release(&b);
}

static void four_forms_of_one_array(void **state) {
    (void)state;
    is(COLUMN, REPORT_JSON, "[{\"name\":\"fig\",\"count\":12,\"parent\":null,\"weight\":0.12345,\"about\":{\"of\":1}},"
                            "{\"name\":\"a|b,\\u000a\",\"count\":7,\"parent\":3,\"weight\":null}]");
    is(COLUMN, REPORT_TABLE, "fruit  count  parent  weight\nfig       12       -    0.12\na|b,\u240A      7       3       ?\n");
    is(COLUMN, REPORT_CSV, "fruit,count,parent,weight\nfig,12,,0.12345\n\"a|b,\u240A\",7,3,?\n");
    is(COLUMN, REPORT_MARKDOWN, "| fruit | count | parent | weight |\n|---|---|---|---|\n| fig | 12 |  | 0.12 |\n"
                                "| a\\|b,\u240A | 7 | 3 | ? |\n");
}

/* A further column is a row of the array, and all forms have it. */
static void a_new_row_is_enough(void **state) {
    (void)state;
    const struct report_column further[] = {
        COLUMN[0],
        { "ripe", REPORT_BOOL, .offset = offsetof(struct fruit, ripe) },
        { 0 },
    };
    is(further, REPORT_JSON, "[{\"name\":\"fig\",\"ripe\":true},{\"name\":\"a|b,\\u000a\",\"ripe\":false}]");
    is(further, REPORT_TABLE, "fruit  ripe\nfig     yes\na|b,\u240A    no\n");
    is(further, REPORT_CSV, "fruit,ripe\nfig,true\n\"a|b,\u240A\",false\n");
    is(further, REPORT_MARKDOWN, "| fruit | ripe |\n|---|---|\n| fig | yes |\n| a\\|b,\u240A | no |\n");
}

/* Commas are where they are due, and what there is none of is null. */
static void members_by_a_format(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    const char *volatile none = NULL;
    json_put(&b, "{name:%s,none:%s,empty:%-s,of:{n:%d,id:%+jd,seed:%ju,size:%zu}", "a\"b", none, "", -3,
             (int64_t)0, UINT64_MAX, (size_t)7);
    json_put(&b, "ok:%i,value:%g,list:[%f,%f,{x:%+jd}],raw:%p,lacks:%-p}", true, NAN, 0.5, NAN, (int64_t)4, "[1,2]", "");
    assert_string_equal(buf_text(&b), "{\"name\":\"a\\\"b\",\"none\":null,\"empty\":null,\"of\":{\"n\":-3,\"id\":null,"
                                      "\"seed\":18446744073709551615,\"size\":7},\"ok\":true,\"value\":null,"
                                      "\"list\":[0.5,\"nan\",{\"x\":4}],\"raw\":[1,2],\"lacks\":null}");
    buf_clear(&b);
    json_put(&b, "{a:%1s,b:%1s,c:%1d,d:%1jd,e:%1g,f:%1p,in:{g:%1zu}", none, "", 0, (int64_t)0, NAN, none, (size_t)0);
    json_put(&b, "a:%1s,c:%1d,d:%1jd,e:%1g,f:%1p,g:%1zu}", "x", 1, (int64_t)-2, 0.0, "[]", (size_t)3);
    assert_string_equal(buf_text(&b), "{\"in\":{},\"a\":\"x\",\"c\":1,\"d\":-2,\"e\":0,\"f\":[],\"g\":3}");
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_forms_of_one_array),
        cmocka_unit_test(a_new_row_is_enough),
        cmocka_unit_test(members_by_a_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
