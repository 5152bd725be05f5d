/* The trained part of the backbone, as one word: backbone=frozen|norms|full of a preset's call.
 * Private to core/method. */
#ifndef CORE_METHOD_BACKBONE_H
#define CORE_METHOD_BACKBONE_H

#include "core/method/space.h"

enum backbone { BACKBONE_FROZEN, BACKBONE_NORMS, BACKBONE_FULL, BACKBONE_COUNT };
/* The words by value. */
extern const char *const backbone_words[BACKBONE_COUNT];

/* Returns the trained part of the backbone, from modules with full fine-tuning of all tensors or of all
 * norms; BACKBONE_COUNT if there are several. */
enum backbone backbone_of(const struct module *m, int n);
/* Replaces it, before all modules as in the canonical text, or after them (norms=yes); returns false if
 * only the backbone is trained or the method has no room for a module. */
bool backbone_set(struct method *m, enum backbone b, bool first);

#endif
