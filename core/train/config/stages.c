#include "core/train/config/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/budget.h"
#include "core/method/masked.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

static const char *const stage_parts_names[] = { "all", "modules", "head" };
static const char *const stage_keys[] = { "carry", "train", "lr", "steps", "epochs" };
enum stage_key { KEY_CARRY, KEY_TRAIN, KEY_LR, KEY_STEPS, KEY_EPOCHS, STAGE_KEYS };
static const char *const stage_values[] = { "all, modules or head", "all, modules or head",
                                            "a learning rate above 0, up to 1000", "an integer of at least 1",
                                            "a number above 0" };

const char *stage_parts_name(enum stage_parts p) { return stage_parts_names[p]; }

/* ---- printing ---- */

static void stage_print(struct buf *b, const struct stages *s, int k) {
    const struct stage *x = &s->stage[k];
    char *method = method_text(&x->method), number[32];
    buf_puts(b, method);
    free(method);
    if (k) buf_printf(b, ", carry=%s", stage_parts_names[x->carry]);
    buf_printf(b, ", train=%s", stage_parts_names[x->train]);
    if (x->lr > 0) {
        text_from_double(x->lr, number);
        buf_printf(b, ", lr=%s", number);
    }
    if (x->steps) buf_printf(b, ", steps=%lld", (long long)x->steps);
    if (x->epochs > 0) {
        text_from_double(x->epochs, number);
        buf_printf(b, ", epochs=%s", number);
    }
}

char *stages_text_of(const struct stages *s, int k) {
    struct buf b = BUF_INIT;
    stage_print(&b, s, k);
    return buf_take(&b);
}

char *stages_text(const struct stages *s) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "stages(");
    for (int k = 0; k < s->count; k++) {
        if (k) buf_puts(&b, "; ");
        stage_print(&b, s, k);
    }
    buf_putc(&b, ')');
    return buf_take(&b);
}

/* ---- reading ---- */

/* Splits *rest at the next `at` outside of brackets and returns the trimmed part before it; NULL at the
 * end. */
static char *stage_piece(char **rest, char at) {
    char *s = *rest, *end;
    int depth = 0;
    if (!s) return NULL;
    s += strspn(s, " \n");
    for (end = s; *end && (depth || *end != at); end++) {
        depth += *end == '(' || *end == '[' || *end == '{';
        depth -= *end == ')' || *end == ']' || *end == '}';
    }
    *rest = *end ? end + 1 : NULL;
    while (end > s && (end[-1] == ' ' || end[-1] == '\n')) end--;
    *end = '\0';
    return s;
}

static bool take_parts_word(const char *text, enum stage_parts *out) {
    for (size_t i = 0; i < COUNT_OF(stage_parts_names); i++)
        if (!strcmp(stage_parts_names[i], text)) {
            *out = (enum stage_parts)i;
            return true;
        }
    return false;
}

static bool stage_take_value(struct stage *x, enum stage_key key, const char *text) {
    double v;
    if (key == KEY_CARRY) return take_parts_word(text, &x->carry);
    if (key == KEY_TRAIN) return take_parts_word(text, &x->train);
    if (!text_to_double(text, &v) || !(v > 0)) return false;
    if (key == KEY_LR) x->lr = v;
    if (key == KEY_EPOCHS) x->epochs = v;
    if (key == KEY_STEPS) x->steps = (int64_t)v;
    return key == KEY_LR ? v <= 1000 : key == KEY_STEPS ? v == floor(v) && v <= 1e9 : v <= 1e6;
}

static int stage_take_part(struct stage *x, int k, char *text, unsigned *said, struct err *e) {
    char *equals = strchr(text, '=');
    if (!equals)
        return err_set(e, ERR_USAGE, "--regime stages: stage %d: must be KEY=VALUE: \"%s\"", k + 1, text);
    *equals = '\0';
    for (int i = 0; i < STAGE_KEYS; i++) {
        if (strcmp(stage_keys[i], text)) continue;
        if (*said & (1u << i))
            return err_set(e, ERR_USAGE, "--regime stages: stage %d: duplicate key %s", k + 1, text);
        *said |= 1u << i;
        if (i == KEY_CARRY && !k)
            return err_set(
                e, ERR_USAGE,
                "--regime stages: stage 1: carry: not available in the first stage");
        if (stage_take_value(x, (enum stage_key)i, equals + 1)) return 0;
        return err_set(e, ERR_USAGE, "--regime stages: stage %d: %s=%s: must be %s", k + 1, text, equals + 1,
                       stage_values[i]);
    }
    const char *near = text_nearest(text, stage_keys, STAGE_KEYS);
    return err_set(e, ERR_USAGE, "--regime stages: stage %d: unknown key \"%s\"%s%s%s", k + 1, text,
                   near ? "; did you mean " : "; valid keys: carry, train, lr, steps, epochs",
                   near ? near : "", near ? "?" : "");
}

static int stage_take(struct stage *x, int k, char *text, struct err *e) {
    char *rest = text, *method = stage_piece(&rest, ','), *part;
    unsigned said = 0;
    if (!*method || (strchr(method, '=') && !strchr(method, '(') && *method != '{'))
        return err_set(e, ERR_USAGE,
                       "--regime stages: stage %d: must start with a method, for example lora(r=8): \"%s\"",
                       k + 1, method);
    if (method_parse(method, &x->method, e)) return err_prefix(e, "--regime stages: stage %d", k + 1);
    while ((part = stage_piece(&rest, ',')))
        if (stage_take_part(x, k, part, &said, e)) return e->code;
    if (x->steps && x->epochs > 0)
        return err_set(e, ERR_USAGE, "--regime stages: stage %d: steps and epochs are mutually exclusive; "
                                     "use one", k + 1);
    return 0;
}

int stages_parse(const char *text, struct stages *s, struct err *e) {
    size_t length = strlen(text);
    if (!text_starts(text, "stages(") || text[length - 1] != ')')
        return err_set(e, ERR_USAGE, "--regime %s: must have the form stages(METHOD, steps=N; METHOD, "
                                     "steps=N)", text);
    char *inner = xstrndup(text + 7, length - 8), *rest = inner, *one;
    int rc = 0;
    while (!rc && (one = stage_piece(&rest, ';'))) {
        if (s->count == STAGES_MOST)
            rc = err_set(e, ERR_USAGE, "--regime stages: more than %d stages", STAGES_MOST);
        else rc = stage_take(&s->stage[s->count], s->count, one, e), s->count++;
    }
    free(inner);
    if (rc || s->count > 1) return rc;
    return err_set(
        e, ERR_USAGE,
        "--regime stages: needs at least two stages, separated by ;");
}

/* ---- stages of a config ---- */

bool config_is_staged(const struct run_config *c) { return config_stages(c) != NULL; }

const struct stages *config_stages(const struct run_config *c) {
    return c->regime && c->regime->regime.kind == REGIME_STAGES ? &c->regime->stages : NULL;
}

int64_t stages_first(const struct stages *s, int k) {
    int64_t n = 0;
    for (int i = 0; i < k; i++) n += s->stage[i].steps;
    return n;
}

/* Returns whether every stage has a learning rate; all_lengths: a length. */
static bool all_rates(const struct stages *s) {
    for (int k = 0; k < s->count; k++)
        if (!(s->stage[k].lr > 0)) return false;
    return true;
}

static bool all_lengths(const struct stages *s) {
    for (int k = 0; k < s->count; k++)
        if (!s->stage[k].steps && !(s->stage[k].epochs > 0)) return false;
    return true;
}

void stages_tell(struct run_config *c) {
    const struct stages *s = config_stages(c);
    if (!s) return;
    const struct stage *last = &s->stage[s->count - 1];
    c->method = last->method;
    if (all_rates(s)) c->lr = last->lr;
    if (all_lengths(s)) {
        c->epochs = 0;
        c->steps = stages_first(s, s->count);
        for (int k = 0; k < s->count; k++)
            if (!s->stage[k].steps) c->steps = 0; /* depends on the number of examples */
    }
}

bool stages_has_method(const struct stages *s, const struct method *m) {
    char *x = method_canonical(&s->stage[s->count - 1].method), *y = method_canonical(m);
    bool same = !strcmp(x, y);
    free(x);
    free(y);
    return same;
}

static void put_stages(struct run_config *c, const struct stages *s) {
    char *text = stages_text(s);
    config_put(c, "regime", text);
    free(text);
}

void stages_take_method(struct run_config *c) {
    const struct stages *s = config_stages(c);
    if (!s || stages_has_method(s, &c->method)) return;
    struct stages next = *s;
    next.stage[next.count - 1].method = c->method;
    put_stages(c, &next);
}

static int complete_rates(struct run_config *c, struct stages *s, struct err *e) {
    struct stage *last = &s->stage[s->count - 1];
    if (all_rates(s) && c->lr > 0 && c->lr != last->lr)
        return err_set(e, ERR_USAGE,
                       "--lr %g: contradicts lr=%g of the last stage; set lr in the stages only", c->lr,
                       last->lr);
    for (int k = 0; k < s->count; k++)
        if (!(s->stage[k].lr > 0))
            s->stage[k].lr = c->lr > 0 ? c->lr : config_default_lr(&s->stage[k].method, NULL);
    c->lr = last->lr;
    return 0;
}

static int complete_lengths(struct run_config *c, struct stages *s, size_t rows, struct err *e) {
    bool all = all_lengths(s);
    if (all && c->epochs > 0)
        return err_set(e, ERR_USAGE, "--epochs %g: every stage sets its own steps or epochs; omit --epochs",
                       c->epochs);
    int64_t own = config_steps(c, rows);
    for (int k = 0; k < s->count; k++) {
        struct stage *x = &s->stage[k];
        if (!x->steps) x->steps = x->epochs > 0 ? epoch_steps(x->epochs, rows, c->batch) : own;
        x->epochs = 0;
        if (x->steps < 1)
            return err_set(e, ERR_USAGE,
                           "--regime stages: stage %d: epochs: less than one training step", k + 1);
    }
    int64_t total = stages_first(s, s->count);
    if (all && c->steps > 0 && c->steps != total)
        return err_set(e, ERR_USAGE, "--steps %lld: contradicts the stages, which have %lld steps in total; "
                                     "set steps in the stages only",
                       (long long)c->steps, (long long)total);
    c->steps = total;
    c->epochs = 0;
    return 0;
}

int stages_complete(struct run_config *c, size_t rows, struct err *e) {
    if (!config_is_staged(c)) return 0;
    stages_take_method(c);
    struct stages s = c->regime->stages;
    if (complete_rates(c, &s, e) || complete_lengths(c, &s, rows, e)) return e->code;
    put_stages(c, &s);
    return 0;
}

/* Returns why stage k cannot be trained, or NULL. */
static const char *stage_fault(const struct stages *s, int k) {
    const struct stage *x = &s->stage[k];
    const struct method *m = &x->method;
    int runs[METHOD_MODULES];
    const char *fault = budget_fault(m, x->steps);
    if (fault) return fault;
    if (masked_is_fixed(m) && !(k && masked_has_gates(&s->stage[k - 1].method) && x->carry != STAGE_HEAD))
        return "pruning(mask=fixed) needs a previous stage with a learned mask, and carry=all or modules";
    if (m->generated.on)
        return "a generated head requires --regime meta";
    if (m->retriever.instance != INSTANCE_NONE || m->retriever.prototype != PROTOTYPE_NONE)
        return "contrastive (whole-batch) losses (+ retriever) are not supported in stages";
    if (m->attempt.on)
        return "attempt is not supported in stages; train its prompts first, then attempt in a separate run";
    if (m->fusion.on)
        return "fusion is not supported in stages; train its adapters first, then the fusion in a separate "
               "run";
    if (method_runs(m, runs))
        return "init=run(N) is not supported in stages; --from N initializes the first stage from a run";
    return NULL;
}

static int check_one(const struct run_config *c, const struct stages *s, int k, struct err *e) {
    long long steps = s->stage[k].steps;
    const char *fault = stage_fault(s, k);
    if (fault) return err_set(e, ERR_USAGE, "--regime stages: stage %d: %s", k + 1, fault);
    if (c->warmup >= 1 && floor(c->warmup) >= (double)steps)
        return err_set(
            e, ERR_USAGE,
            "--warmup %.0f: stage %d has only %lld step%s; use fewer warm-up steps, or a share such as 0.1",
            floor(c->warmup), k + 1, steps, steps == 1 ? "" : "s");
    return 0;
}

int stages_check(const struct run_config *c, struct err *e) {
    const struct stages *s = config_stages(c);
    if (s && c->share_frozen)
        return err_set(e, ERR_USAGE,
                       "--share-frozen on: not supported in stages; omit it");
    for (int k = 0; s && k < s->count; k++)
        if (check_one(c, s, k, e)) return e->code;
    return 0;
}
