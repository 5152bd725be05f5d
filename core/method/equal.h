/* Equalities between methods that hold exactly, each with a test; listed in docs/methods.md. */
#ifndef CORE_METHOD_EQUAL_H
#define CORE_METHOD_EQUAL_H

#include "core/method/space.h"
#include "core/model/arch.h"

/* The arguments of an equality: a module of a normalized method, on a model (a NULL: on any model). */
struct question {
    const struct method *m;
    const struct module *x; /* m->module[i] */
    int i;
    const struct arch *a;
};
struct equality {
    const char *id, *text; /* "E9", "scaling keys = scaling queries" */
    bool (*of)(const struct question *q); /* returns whether it holds for the module */
};
/* Returns the equalities in the order of the table, NULL past the end. */
const struct equality *equality_at(int i);
/* Returns whether it holds for at least one module of the method (normalized). */
bool equality_applies(const struct equality *q, const struct method *m, const struct arch *a);

#endif
