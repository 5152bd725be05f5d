#include "tests/bench/bench_methods.h"

#include <string.h>

#include "tests/bench/bench_made.h"
#include "core/base/mem.h"
#include "core/method/plan.h"

enum { ROWS = 32, LENGTH = 32, PROMPT = 20 };

/* LoRA at the same maps, with about as many parameters where its rank (at least 1) allows that.  Prompts are compared
 * with a prefix of equal length, and count as tokens. */
static const struct {
    const char *key, *method, *beside;
    double bound;
    int rows; /* prepended to each text */
} methods[] = {
    { "rslora", "rslora(r=8)", "lora(r=8)", 1.05, 0 },
    { "ia3", "ia3", "lora(at=k,r=1) + lora(at=v,r=1) + lora(at=w2,r=1)", 1.05, 0 },
    { "ln-tuning", "ln-tuning", "lora(r=1)", 1.05, 0 },
    { "learned-channel", "lora(r=8,comp=learned-channel)", "lora(r=8)", 1.05, 0 },
    { "input-gate", "lora(r=8,comp=input-gate)", "lora(r=8)", 1.05, 0 },
    { "adalora", "adalora(r=12)", "lora(r=12)", 1.10, 0 },
    { "dora", "dora(r=8)", "lora(r=8)", 1.25, 0 },
    { "compacter", "compacter", "lora(r=1)", 1.25, 0 },
    { "vera", "vera(r=256)", "lora(r=256)", 1.25, 0 },
    { "prompt-tuning", "prompt-tuning(l=20)", "prefix(l=20)", 1, PROMPT },
    { "p-tuning", "p-tuning(l=20)", "prefix(l=20)", 1, PROMPT },
};

int bench_methods_count(void) { return (int)COUNT_OF(methods); }

static int bench_kept(const char *text, const struct arch *a, double *kept, struct err *e) {
    struct method m;
    struct plan *p = method_parse(text, &m, e) ? NULL : plan_new(&m, a, 2, e);
    if (!p) return e->code;
    *kept = (double)p->stored_method;
    plan_free(p);
    return 0;
}

int bench_method(int at, double seconds, struct bench_method *out, struct err *e) {
    struct model *m = bench_model(FAMILY_BERT, 6, 384, 12, 1536, e);
    if (!m) return e->code;
    struct task t, *const all[] = { &t };
    bench_task(&t, ROWS, LENGTH, m->arch.vocabulary);
    const struct bench_work one = { .model = m, .tasks = { 1, all }, .batch = ROWS };
    struct bench_side side[] = { { .work = one }, { .work = one } };
    double mine = 0, other = 1;
    side[0].work.method = methods[at].method;
    side[1].work.method = methods[at].beside;
    int rc = bench_kept(methods[at].method, &m->arch, &mine, e);
    if (!rc) rc = bench_kept(methods[at].beside, &m->arch, &other, e);
    if (!rc) rc = bench_turns(side, COUNT_OF(side), seconds, e);
    double tokens = side[0].times.tokens, longer = tokens > 0 ? (tokens + (double)ROWS * methods[at].rows) / tokens : 1;
    *out = (struct bench_method){ methods[at].key, methods[at].method, methods[at].beside, mine / other,
                                  bench_over(&side[0], &side[1]) / longer, methods[at].bound, side[0].times.steps };
    bench_task_free(&t);
    bench_model_free(m);
    return rc;
}
