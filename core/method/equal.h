/* Equalities between methods that hold exactly, each with a test; the table of docs/methods.md. */
#ifndef CORE_METHOD_EQUAL_H
#define CORE_METHOD_EQUAL_H

#include "core/method/space.h"

struct equality {
    const char *id, *text; /* "E9", "scaling keys = scaling queries" */
    bool (*of)(const struct module *m); /* whether it says something about such a module */
};
/* In the order of the table, NULL past the end. */
const struct equality *equality_at(int i);
/* Whether it says something about the method. */
bool equality_applies(const struct equality *q, const struct method *m);

#endif
