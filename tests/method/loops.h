/* Shared parts of the tests of generated values: a small shape, plans on it, tensors by name. */
#ifndef TESTS_METHOD_LOOPS_H
#define TESTS_METHOD_LOOPS_H

#include <string.h>

#include "core/base/mem.h"
#include "core/method/plan.h"
#include "tests/support/test.h"

/* The heads together are narrower than the model; the stacks differ in depth. */
#define T5_OF_LOOPS                                                                                \
    "{\"model_type\":\"t5\",\"d_model\":8,\"d_kv\":3,\"d_ff\":12,\"num_layers\":3,"                \
    "\"num_decoder_layers\":2,\"num_heads\":2,\"vocab_size\":20,\"feed_forward_proj\":\"relu\","   \
    "\"relative_attention_num_buckets\":8,\"decoder_start_token_id\":0,\"eos_token_id\":1,"        \
    "\"pad_token_id\":0}"

static inline struct arch shape(const char *config) {
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", config, strlen(config), &a, NULL, &e), &e);
    return a;
}

enum { TASKS_MOST = 12 };
static inline struct plan *plan_of(const char *text, const struct arch *a, int tasks) {
    static const char *const names[TASKS_MOST] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const int outputs[TASKS_MOST] = {0};
    const struct plan_tasks of = {tasks, names, outputs, NULL};
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    struct plan *p = plan_new_tasks(&m, a, &of, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

static inline const real *named(const struct plan *p, const real *x, const char *name) {
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) return x + p->tensor[i].offset;
    fail_msg("no tensor %s", name);
    return NULL;
}

#endif
