/* Compatibility of a regime with the other options. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/method/carry.h"
#include "core/method/functions.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

struct regime_findings {
    struct finding *out;
    int room, count;
};

__attribute__((format(printf, 5, 6))) static void regime_find(struct regime_findings *f, enum level level,
                                                              const char *rule, int module,
                                                              const char *format, ...) {
    va_list ap;
    if (f->count < f->room) {
        struct finding *x = &f->out[f->count];
        *x = (struct finding){ .level = level, .module = module };
        snprintf(x->rule, sizeof x->rule, "%s", rule);
        va_start(ap, format);
        vsnprintf(x->text, sizeof x->text, format, ap);
        va_end(ap);
    }
    f->count++;
}

/* order=fd takes finite differences of gradients. */
static void find_of_order(struct regime_findings *f, const struct run_config *c, const struct arch *a) {
    if (a && a->act == ACT_RELU)
        regime_find(f, LEVEL_ERROR, "R4", -1,
                    "order=fd: finite differences are unreliable with ReLU, which the model uses; use "
                    "order=first");
    for (int i = 0; i < c->method.count; i++)
        if (module_takes(&c->method.module[i], TAKES_ACT) && c->method.module[i].act == ACT_RELU)
            regime_find(f, LEVEL_ERROR, "R4", i,
                        "order=fd: finite differences are unreliable with ReLU: module %d has act=relu; use "
                        "act=gelu or order=first",
                        i + 1);
}

static void find_of_constants(struct regime_findings *f, const struct run_config *c, const struct regime *r,
                              const struct arch *a) {
    bool drops = c->dropout > 0 || (c->dropout < 0 && a && (a->dropout > 0 || a->attention_dropout > 0));
    if (drops)
        regime_find(f, LEVEL_INFO, "R6", -1,
                    "order=fd: all passes of an inner step use the same dropout masks");
    if (r->clip > 0)
        regime_find(f, LEVEL_INFO, "R7", -1,
                    "order=fd: the factors of inner gradient clipping are treated as constants");
}

static void find_of_learn(struct regime_findings *f, const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].learn != LEARN_BOTH)
            regime_find(f, LEVEL_WARNING, "R5", i,
                        "module %d: learn=%s has an effect only in episodic training; without --regime meta "
                        "the module trains normally",
                        i + 1, learn_name(m->module[i].learn));
}

/* Reports each stage, and the modules of it that the next stage does not have. */
static void find_of_stages(struct regime_findings *f, const struct run_config *c) {
    const struct stages *s = config_stages(c);
    for (int k = 0; s && k < s->count; k++) {
        char *text = stages_text_of(s, k);
        regime_find(f, LEVEL_INFO, "R9", -1, "stage %d of %d: %.190s", k + 1, s->count, text);
        free(text);
        for (int i = 0;
             k + 1 < s->count && s->stage[k + 1].carry != STAGE_HEAD && i < s->stage[k].method.count; i++) {
            if (method_carries(&s->stage[k + 1].method, &s->stage[k].method, i)) continue;
            struct method one = { .count = 1, .module = { s->stage[k].method.module[i] } };
            char *module = method_text(&one);
            regime_find(f, LEVEL_WARNING, "R10", -1,
                        "stage %d does not have module %.120s of stage %d: its parameters are dropped; add "
                        "the module to stage %d",
                        k + 2, module, k + 1, k + 2);
            free(module);
        }
    }
}

int regime_check(const struct run_config *c, const struct arch *a, struct finding *out, int room) {
    struct regime_findings f = { out, room, 0 };
    const struct regime r = config_regime(c);
    if (r.kind == REGIME_STAGES) find_of_stages(&f, c);
    if (r.kind != REGIME_META) {
        find_of_learn(&f, &c->method);
        return f.count;
    }
    if (a && arch_generates(a))
        regime_find(&f, LEVEL_ERROR, "R1", -1,
                    "episodes need a classification head, and %s is an encoder\u2013decoder; use a BERT or "
                    "RoBERTa model",
                    family_name(a->family));
    if (config_has_join(c))
        regime_find(&f, LEVEL_ERROR, "R2", -1,
                    "contrastive (whole-batch) losses (+ retriever) are not supported in episodic training");
    if (c->method.budget.on)
        regime_find(&f, LEVEL_ERROR, "R8", -1, "rank budgets are not supported in episodic training");
    if (c->method.attempt.on)
        regime_find(&f, LEVEL_ERROR, "R8", -1,
                    "attention over prompts is not supported in episodic training");
    if (c->method.pruning.on)
        regime_find(&f, LEVEL_ERROR, "R8", -1, "pruning masks are not supported in episodic training");
    if (c->method.fusion.on) regime_find(&f, LEVEL_ERROR, "R8", -1,
                                         "adapter fusion is not supported in episodic training");
    for (int i = 0; i < c->method.count; i++) {
        enum source s = c->method.module[i].source;
        if (source_width(s) || source_is_generated(s))
            regime_find(&f, LEVEL_ERROR, "R3", i,
                        "module %d: generated weights (source=%s) cannot be adapted in an inner loop; use "
                        "source=free or shared",
                        i + 1, source_name(s));
    }
    if (r.order == META_FD) find_of_order(&f, c, a);
    if (r.order == META_FD) find_of_constants(&f, c, &r, a);
    return f.count;
}

int regime_refuse(const struct run_config *c, const struct arch *a, struct err *e) {
    enum { ROOM = 64 };
    struct finding found[ROOM];
    int n = regime_check(c, a, found, ROOM);
    for (int i = 0; i < n && i < ROOM; i++)
        if (found[i].level == LEVEL_ERROR) return err_set(e, ERR_USAGE, "--regime meta: %s", found[i].text);
    return 0;
}
