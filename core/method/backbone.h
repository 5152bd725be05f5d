/* What of the backbone is trained in its place, as one word: backbone=frozen|norms|full of a preset's call.
 * Private to core/method. */
#ifndef CORE_METHOD_BACKBONE_H
#define CORE_METHOD_BACKBONE_H

#include "core/method/space.h"

enum backbone { BACKBONE_FROZEN, BACKBONE_NORMS, BACKBONE_FULL, BACKBONE_COUNT };
/* The words, by value. */
extern const char *const backbone_words[BACKBONE_COUNT];

/* Of modules, by full tuning of all or of all norms among them; BACKBONE_COUNT: there are several such. */
enum backbone backbone_of(const struct module *m, int n);
/* Puts another in its place, before all modules, as the canonical text has it, or (norms=yes) behind them;
 * false where nothing but the backbone is trained, or there is no room. */
bool backbone_set(struct method *m, enum backbone b, bool first);

#endif
