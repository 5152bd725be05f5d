#include "core/exchange/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "core/base/mem.h"

enum { STEPS_MOST = 100000, DEPTH_MOST = 1000 };

int pattern_matches(const char *pattern, enum pattern_way way, const char *name, struct err *e) {
    int number = 0, rc = 0;
    PCRE2_SIZE at = 0;
    char *whole = xprintf(way == PATTERN_END ? "(?:.*\\.)?(?:%s)$" : "(?:%s)$", pattern);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)whole, PCRE2_ZERO_TERMINATED,
                                     PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_UTF, &number, &at, NULL);
    free(whole);
    if (!code) return err_set(e, ERR_INPUT, "\"%.100s\" is not a valid regular expression", pattern);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *found = pcre2_match_data_create(1, NULL);
    if (!limits || !found) BUG("out of memory");
    pcre2_set_match_limit(limits, STEPS_MOST);
    pcre2_set_depth_limit(limits, DEPTH_MOST);
    int hit = pcre2_match(code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, found, limits);
    if (hit < 0 && hit != PCRE2_ERROR_NOMATCH)
        rc = err_set(e, ERR_INPUT, "the regular expression \"%.100s\" is too complex to match against "
                                   "%.100s", pattern,
                     name);
    pcre2_match_data_free(found);
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
    return rc ? rc : hit >= 0;
}
