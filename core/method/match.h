/* Which preset a run of modules is, and how it is then written.  Private to the method's
 * text form. */
#ifndef CORE_METHOD_MATCH_H
#define CORE_METHOD_MATCH_H

#include "core/method/space.h"

struct match {
    const struct preset *preset;
    bool sizes_only; /* differs from the preset in sizes (r, l, s, mlp) and dropout at most */
};
/* A method with networks as the call of a published one that has them, with what they are otherwise behind
 * it; NULL when it is none.  Caller frees. */
char *match_networks(const struct method *m, struct match *found);
/* The shortest preset call that parses to exactly these n modules (their order between
 * different taps aside), or NULL.  Caller frees.  `found` may be NULL. */
char *match_run(const struct module *m, int n, struct match *found);

/* "scaled(2)", "learned", "gated"; "512" or "512,relu". */
void format_comp(const struct module *m, char out[64]);
void format_mlp(const struct module *m, char out[64]);
/* One module's text; `full` false leaves out what the function has anyway. */
char *format_module(const struct module *m, bool full);

#endif
