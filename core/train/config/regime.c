#include "core/train/config/regime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/option.h"

static const char *const regime_kinds[] = { "single", "multi", "fewshot", "meta", "stages" };
static const char *const orders[] = { "first", "fd", NULL };
static const char *const labels[] = { "within", "apart", NULL };
static const char *const outers[] = { "shared", "start", "rates", NULL };

/* How a part is parsed: as an option, or by a rule of its kind. */
enum part_kind { PART_FIELD, PART_INTS, PART_SAMPLING, PART_RATE, PART_LOSSES };

struct regime_part {
    enum regime_kind of;
    enum part_kind kind;
    struct option field; /* in struct regime */
};
#define AT(member) .offset = offsetof(struct regime, member)
#define COUNT(member, from, to) .kind = OPTION_INT, AT(member), .low = from, .high = to
#define WORD(member, words) .kind = OPTION_WORD, AT(member), .word = words
static const struct regime_part parts[] = {
    { REGIME_MULTI, PART_SAMPLING,
      { .name = "sampling", .values = "proportional, temperature(T), one-task(T) or stratified(T)" } },
    { REGIME_MULTI, PART_FIELD, { .name = "average", WORD(average, option_averages), .values =
                                  "one or all" } },
    { REGIME_MULTI, PART_FIELD, { .name = "best", WORD(best_of, option_bests), .values =
                                  "average or per-task" } },
    { REGIME_FEWSHOT, PART_INTS,
      { .name = "k", COUNT(k, 1, 1e6), .values = "increasing integers of at least 1, joined by +" } },
    { REGIME_FEWSHOT, PART_FIELD, { .name = "draws", COUNT(draws, 1, 1e4), .values =
                                    "an integer of at least 1" } },
    { REGIME_FEWSHOT, PART_FIELD,
      { .name = "from", .kind = OPTION_INT64, AT(from), .low = 1, .high = 9e15, .has_unset = true,
        .unset_word = "none",
        .values = "a run id, or none" } },
    { REGIME_META, PART_FIELD, { .name = "order", WORD(order, orders), .values = "first or fd" } },
    { REGIME_META, PART_FIELD, { .name = "inner", COUNT(inner, 1, 1000), .values =
                                 "an integer between 1 and 1000" } },
    { REGIME_META, PART_RATE,
      { .name = "inner-lr", .kind = OPTION_DOUBLE, AT(inner_lr), .low = 0, .high = 1, .above = true,
        .values = "a learning rate above 0 and up to 1, learned, or learned(X), initialized to X" } },
    { REGIME_META, PART_FIELD,
      { .name = "clip", .kind = OPTION_DOUBLE, AT(clip), .low = 0, .high = 1e30, .above = true, .has_unset =
        true,
        .unset_word = "none", .values = "a norm above 0, or none" } },
    { REGIME_META, PART_FIELD, { .name = "support", COUNT(support, 2, 1e5), .values =
                                 "an integer of at least 2" } },
    { REGIME_META, PART_FIELD, { .name = "query", COUNT(query, 1, 1e5),
                                 .values = "an integer of at least 1" } },
    { REGIME_META, PART_FIELD, { .name = "tasks", COUNT(tasks, 1, 1024), .values =
                                 "an integer between 1 and 1024" } },
    { REGIME_META, PART_FIELD,
      { .name = "outer", .kind = OPTION_KEEP, AT(outer), .word = outers, .joined = "+",
        .values = "shared, start and rates, joined by +" } },
    { REGIME_META, PART_LOSSES, { .name = "losses", COUNT(every, 1, 1000), .values = "last or every(K)" } },
    { REGIME_META, PART_FIELD, { .name = "labels", WORD(labels, labels), .values = "within or apart" } },
};
enum { PARTS = COUNT_OF(parts) };

const char *regime_kind_name(enum regime_kind k) { return regime_kinds[k]; }

int regime_batches(const struct regime *r) { return r->inner + (r->labels == META_LABELS_APART); }

int regime_blocks(const struct regime *r) { return 3 + (r->order == META_FD ? 2 + 2 * r->inner : 0); }

struct regime regime_default(enum regime_kind kind) {
    return (struct regime){
        .kind = kind,
        .sampling = { SAMPLING_PROPORTIONAL, 1 },
        .ks = 1, .k = { 16 }, .draws = 10,
        .order = META_FIRST, .inner = 6, .inner_lr = 1e-2, .learned = true, .support = 60, .query = 10,
        .tasks = 16, .outer = META_SHARED | META_START | META_RATES,
    };
}

/* ---- printing ---- */

static void print_part(struct buf *b, const struct regime *r, const struct regime_part *p) {
    char text[48], *value;
    double number;
    switch (p->kind) {
    case PART_INTS:
        for (int i = 0; i < r->ks; i++) buf_printf(b, "%s%d", i ? "+" : "", r->k[i]);
        break;
    case PART_SAMPLING:
        sampling_text(&r->sampling, text);
        buf_puts(b, text);
        break;
    case PART_LOSSES:
        if (r->every) buf_printf(b, "every(%d)", r->every);
        else buf_puts(b, "last");
        break;
    case PART_FIELD: case PART_RATE:
        value = option_print_value(r, &p->field);
        number = option_number(r, &p->field);
        if (p->field.kind == OPTION_DOUBLE && number > 0) { /* 1e+06, as stored runs have it */
            text_from_double(number, text);
            xreplace(&value, text);
        }
        buf_printf(b, p->kind == PART_RATE && r->learned ? "learned(%s)" : "%s", value);
        free(value);
        break;
    }
}

char *regime_text(const struct regime *r) {
    struct buf b = BUF_INIT;
    bool any = false;
    buf_puts(&b, regime_kinds[r->kind]);
    for (int i = 0; i < PARTS; i++) {
        if (parts[i].of != r->kind) continue;
        buf_printf(&b, "%s%s=", any ? ", " : "(", parts[i].field.name);
        print_part(&b, r, &parts[i]);
        any = true;
    }
    if (any) buf_putc(&b, ')');
    return buf_take(&b);
}

/* ---- reading ---- */

/* Parses "name(5)" as 5. */
static bool take_inner(const char *text, const char *name, double *v) {
    size_t n = strlen(name), length = strlen(text);
    if (length < n + 3 || strncmp(text, name, n) || text[n] != '(' || text[length - 1] != ')') return false;
    char *inner = xstrndup(text + n + 1, length - n - 2);
    bool good = text_to_double(inner, v);
    free(inner);
    return good;
}

static bool take_rate(const struct regime_part *p, struct regime *r, const char *text) {
    double v = regime_default(REGIME_META).inner_lr;
    bool learned = !strcmp(text, "learned") || take_inner(text, "learned", &v);
    if (!learned && !text_to_double(text, &v)) return false;
    if (!option_in_range(&p->field, v)) return false;
    r->learned = learned;
    r->inner_lr = v;
    return true;
}

static bool take_ks(const struct regime_part *p, struct regime *r, const char *text) {
    char *copy = xstrdup(text), *rest = copy, *word;
    int k[REGIME_KS], n = 0;
    bool good = true;
    while (good && (word = strsep(&rest, "+"))) {
        double v;
        good = n < REGIME_KS && text_to_double(word, &v) && option_in_range(&p->field, v) && (!n ||
                                                                                              v > k[n - 1]);
        if (good) k[n++] = (int)v;
    }
    free(copy);
    if (!good) return false;
    memcpy(r->k, k, sizeof r->k);
    r->ks = n;
    return true;
}

static bool take_value(const struct regime_part *p, struct regime *r, const char *text) {
    double v = 0;
    struct err own = ERR_INIT;
    switch (p->kind) {
    case PART_FIELD: return option_take_value(r, &p->field, text);
    case PART_INTS: return take_ks(p, r, text);
    case PART_SAMPLING: return !sampling_parse(text, &r->sampling, &own);
    case PART_RATE: return take_rate(p, r, text);
    case PART_LOSSES:
        if (strcmp(text, "last") && (!take_inner(text, "every", &v) || !option_in_range(&p->field,
                                                                                        v))) return false;
        r->every = (int)v;
        return true;
    }
    BUG("unknown kind of regime option %d", (int)p->kind);
}

static int regime_take_part(char *text, struct regime *r, struct err *e) {
    const char *names[PARTS], *known;
    char *equals = strchr(text, '=');
    size_t n = 0;
    if (!equals) return err_set(e, ERR_USAGE, "--regime %s: must be KEY=VALUE: \"%s\"", regime_kinds[r->kind],
                                text);
    *equals = 0;
    for (int i = 0; i < PARTS; i++) {
        const struct regime_part *p = &parts[i];
        if (p->of != r->kind) continue;
        names[n++] = p->field.name;
        if (strcmp(p->field.name, text)) continue;
        if (r->given & (1u << i)) return err_set(e, ERR_USAGE, "--regime %s: duplicate key %s",
                                                regime_kinds[r->kind], text);
        if (!take_value(p, r, equals + 1))
            return err_set(e, ERR_USAGE, "--regime %s: %s=%s: must be %s", regime_kinds[r->kind], text,
                           equals + 1, p->field.values);
        r->given |= 1u << i;
        return 0;
    }
    known = text_nearest(text, names, n);
    if (known)
        return err_set(e, ERR_USAGE, "--regime %s: unknown key \"%s\"; did you mean %s?",
                       regime_kinds[r->kind], text, known);
    struct buf valid = BUF_INIT;
    for (size_t i = 0; i < n; i++) buf_printf(&valid, "%s%s", i ? ", " : "; valid keys: ", names[i]);
    err_set(e, ERR_USAGE, "--regime %s: unknown key \"%s\"%s", regime_kinds[r->kind], text, buf_text(&valid));
    buf_release(&valid);
    return e->code;
}

/* Parses the KEY=VALUE pairs between the outer parentheses; commas inside parentheses belong to a value. */
static int take_parts(char *text, struct regime *r, struct err *e) {
    for (char *s = text; *s;) {
        char *end = s + strspn(s, " ");
        s = end;
        for (int depth = 0; *end && (depth || *end != ','); end++) depth += (*end == '(') - (*end == ')');
        bool more = *end == ',';
        char *last = end;
        while (last > s && last[-1] == ' ') last--;
        *last = 0;
        if (!*s) return err_set(e, ERR_USAGE, "--regime %s: empty KEY=VALUE pair", regime_kinds[r->kind]);
        if (regime_take_part(s, r, e)) return e->code;
        s = end + more;
        if (more && !s[strspn(s, " ")]) return err_set(e, ERR_USAGE, "--regime %s: empty KEY=VALUE pair",
                                                       regime_kinds[r->kind]);
    }
    return 0;
}

static bool was_said(const struct regime *r, const char *key) {
    for (int i = 0; i < PARTS; i++)
        if (parts[i].of == r->kind && !strcmp(parts[i].field.name, key)) return r->given & (1u << i);
    BUG("unknown regime option %s", key);
}

/* Derives parts that were not given from those that were. */
static void settle(struct regime *r) {
    if (r->kind != REGIME_META) return;
    if (!was_said(r, "outer") && was_said(r, "inner-lr"))
        r->outer = r->learned ? r->outer | META_RATES : r->outer & ~META_RATES;
    else if (was_said(r, "outer") && !was_said(r, "inner-lr")) r->learned = r->outer & META_RATES;
}

int regime_agrees(const struct regime *r, struct err *e) {
    if (r->kind != REGIME_META) return 0;
    if (r->learned != !!(r->outer & META_RATES))
        return err_set(e, ERR_USAGE, "--regime meta: %s",
                       r->learned
                           ? "inner-lr is learned, but outer does not include rates; add +rates to outer"
                           : "outer includes rates, but inner-lr is fixed; use inner-lr=learned");
    if (!r->outer) return err_set(e, ERR_USAGE, "--regime meta: outer: empty; must include shared, start or "
                                                "rates");
    if (r->support < regime_batches(r))
        return err_set(e, ERR_USAGE, "--regime meta: support=%d: fewer examples than the %d inner batches "
                                     "(inner=%d%s); use a larger support",
                       r->support, regime_batches(r), r->inner,
                       r->labels == META_LABELS_APART ? ", labels=apart" : "");
    if (r->every > r->inner)
        return err_set(e, ERR_USAGE, "--regime meta: losses=every(%d): more than the %d inner steps",
                       r->every, r->inner);
    return 0;
}

int regime_take(const char *text, struct regime *r, struct err *e) {
    size_t n = strcspn(text, "("), length = strlen(text);
    char *name = xstrndup(text, n);
    int kind = -1;
    for (int i = 0; i < REGIME_KINDS; i++)
        if (!strcmp(regime_kinds[i], name)) kind = i;
    const char *near = text_nearest(name, regime_kinds, REGIME_KINDS);
    free(name);
    if (kind < 0 && near)
        return err_set(e, ERR_USAGE, "--regime %s: unknown regime; did you mean %s?", text, near);
    if (kind < 0)
        return err_set(e, ERR_USAGE,
                       "--regime %s: unknown regime; must be single, multi, fewshot, meta or stages",
                       text);
    if (kind == REGIME_STAGES) {
        *r = regime_default(REGIME_STAGES);
        return 0;
    }
    struct regime next = r->kind == (enum regime_kind)kind ? *r : regime_default((enum regime_kind)kind);
    next.given = 0;
    if (text[n] && text[length - 1] != ')')
        return err_set(e, ERR_USAGE, "--regime %s: missing closing parenthesis", text);
    char *inner = text[n] ? xstrndup(text + n + 1, length - n - 2) : xstrdup("");
    int rc = take_parts(inner, &next, e);
    free(inner);
    if (!rc) settle(&next);
    if (!rc) rc = regime_agrees(&next, e);
    if (!rc) *r = next;
    return rc;
}

static int parse_said(const char *text, void *value, struct err *e) {
    struct regime_given *s = value;
    s->regime = regime_default(REGIME_SINGLE);
    if (regime_take(text, &s->regime, e)) return e->code;
    return s->regime.kind == REGIME_STAGES ? stages_parse(text, &s->stages, e) : 0;
}
const struct option_parser regime_parser = { offsetof(struct regime_given, text), parse_said };

/* Overrides the parts of *r that were given, as regime_take does with their text. */
static void put_over(const struct regime *said, struct regime *r) {
    if (said->kind != r->kind) *r = *said;
    for (int i = 0; i < PARTS; i++) {
        const struct regime_part *p = &parts[i];
        if (p->of != r->kind || !(said->given & (1u << i))) continue;
        if (p->kind == PART_INTS) memcpy(r->k, said->k, sizeof r->k), r->ks = said->ks;
        else if (p->kind == PART_SAMPLING) r->sampling = said->sampling;
        else option_set_number(r, &p->field, option_number(said, &p->field));
        if (p->kind == PART_RATE) r->learned = said->learned;
    }
    r->given = said->given;
    settle(r);
}

/* ---- of a run ---- */

struct regime regime_of_method(const struct method *m, bool several, const struct regime_given *given) {
    /* only presets with a generated head name a regime */
    const struct preset *p = m->generated.on ? method_preset(m) : NULL;
    struct regime r = regime_default(several ? REGIME_MULTI : REGIME_SINGLE);
    if (p && p->regime && regime_take(p->regime, &r, NULL))
        BUG("preset %s: invalid regime \"%s\"", p->name, p->regime);
    if (given) put_over(&given->regime, &r);
    return r;
}

struct plan_meta regime_plan(const struct regime *r) {
    return (struct plan_meta){ .on = r->kind == REGIME_META, .shared = r->outer & META_SHARED,
                               .start = r->outer & META_START, .learned = r->learned, .rate = r->inner_lr };
}

/* Returns the regime of a config without --regime. */
static struct regime default_regime(const struct run_config *c) {
    struct regime r = regime_of_method(&c->method, c->tasks > 0, NULL);
    if (!c->tasks) return r;
    r.average = c->average;
    r.best_of = c->best_of;
    if (c->sampling) r.sampling = c->sampling->how;
    return r;
}

struct regime config_regime(const struct run_config *c) {
    struct regime r = default_regime(c);
    if (c->regime) put_over(&c->regime->regime, &r);
    return r;
}

bool config_is_fewshot(const struct run_config *c) {
    return c->regime && c->regime->regime.kind == REGIME_FEWSHOT;
}

bool config_is_meta(const struct run_config *c) {
    return (c->regime ? c->regime->regime.kind : default_regime(c).kind) == REGIME_META;
}

const char *config_regime_given(const struct run_config *c) { return c->regime ? c->regime->text : ""; }

char *config_regime_text(const struct run_config *c) {
    const struct stages *s = config_stages(c);
    const struct regime r = config_regime(c);
    return s ? stages_text(s) : regime_text(&r);
}

/* Sets the multi-task options from the regime, unless an option contradicts it. */
static int regime_take_together(struct run_config *c, const struct regime *r, struct err *e) {
    char text[48];
    sampling_text(&r->sampling, text);
    if (was_said(r, "sampling")) {
        if (c->sampling && (c->sampling->how.rule != r->sampling.rule ||
                            c->sampling->how.temperature != r->sampling.temperature))
            return err_set(e, ERR_USAGE, "--sampling %s: contradicts --regime, which has sampling=%s; remove "
                                         "one", c->sampling->text,
                           text);
        config_put(c, "sampling", text);
    }
    c->average = r->average;
    c->best_of = r->best_of;
    return 0;
}

int config_complete_regime(struct run_config *c, struct err *e) {
    const struct regime r = config_regime(c), usual = default_regime(c);
    if (regime_agrees(&r, e)) return e->code;
    if (!c->regime && usual.kind != REGIME_META) return 0;
    if (r.kind == REGIME_SINGLE && c->tasks)
        return err_set(e, ERR_USAGE, "--regime single: the run has %d tasks; use --regime multi",
                       c->tasks);
    if (r.kind == REGIME_STAGES) return 0; /* completed by stages_complete, which needs the number of
                                            * examples */
    if (r.kind == REGIME_MULTI && !c->tasks)
        return err_set(e, ERR_USAGE,
                       "--regime multi: the run has one task; use --tasks A,B");
    if (r.kind == REGIME_MULTI && regime_take_together(c, &r, e)) return e->code;
    bool told = (r.kind == REGIME_SINGLE || r.kind == REGIME_MULTI) && usual.kind == r.kind;
    char *text = told ? NULL : regime_text(&r);
    config_put(c, "regime", text);
    free(text);
    return 0;
}
