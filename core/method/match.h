/* Recognition of presets in a sequence of modules, and their text. Private to the text form of methods. */
#ifndef CORE_METHOD_MATCH_H
#define CORE_METHOD_MATCH_H

#include "core/method/space.h"

struct match {
    const struct preset *preset;
    bool sizes_only; /* differs from the preset in sizes (r, l, s, mlp) and dropout at most */
};
/* Returns the text of a method with networks as a call of a published one that has them, followed by its
 * other settings; NULL if it matches none. The caller frees it. */
char *match_networks(const struct method *m, struct match *found);
/* Returns the shortest preset call that parses to exactly these n modules (apart from the order of modules
 * at different taps), or NULL. The caller frees it. `found` may be NULL. */
char *match_run(const struct module *m, int n, struct match *found);

/* Write "scaled(2)", "learned", "gated"; "512" or "512,relu". */
void format_comp(const struct module *m, char out[64]);
void format_mlp(const struct module *m, char out[64]);
/* Returns the text of one module; `full` false omits default values. */
char *format_module(const struct module *m, bool full);

#endif
