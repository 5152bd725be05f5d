#include "core/method/backbone.h"

#include <string.h>

#include "core/base/mem.h"

const char *const backbone_words[BACKBONE_COUNT] = { "frozen", "norms", "full" };

/* Returns whether the module is full fine-tuning of all tensors or of all norms. */
static bool is_backbone(const struct module *m) {
    bool everywhere = m->first == 1 && !m->last && m->stack == STACK_ALL && m->site == SITE_ALL;
    return m->fn == FN_FULL && everywhere && m->learn == LEARN_BOTH &&
           (m->target == TARGET_NORMS || m->target == TARGET_ALL);
}

enum backbone backbone_of(const struct module *m, int n) {
    enum backbone b = BACKBONE_FROZEN;
    for (int i = 0; i < n; i++) {
        if (!is_backbone(&m[i])) continue;
        if (b != BACKBONE_FROZEN) return BACKBONE_COUNT;
        b = m[i].target == TARGET_NORMS ? BACKBONE_NORMS : BACKBONE_FULL;
    }
    return b;
}

bool backbone_set(struct method *m, enum backbone b, bool first) {
    int n = 0;
    for (int i = 0; i < m->count; i++)
        if (!is_backbone(&m->module[i])) m->module[n++] = m->module[i];
    if (!n || n == METHOD_MODULES) return false;
    m->count = n;
    if (b == BACKBONE_FROZEN) return true;
    struct module x = module_default(FN_FULL);
    x.target = b == BACKBONE_NORMS ? TARGET_NORMS : TARGET_ALL;
    if (first) memmove(m->module + 1, m->module, (size_t)n * sizeof x);
    m->module[first ? 0 : n] = x;
    m->count++;
    return true;
}
