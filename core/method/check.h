/* A check of a method under way, for the rules of check.c and of the functions' files.  Private to
 * core/method. */
#ifndef CORE_METHOD_CHECK_H
#define CORE_METHOD_CHECK_H

#include "core/method/slots.h"

struct check {
    const struct method *m; /* normalised */
    const struct arch *a;
    const struct tensor_info *tensor;
    int tensors;
    int at; /* module, -1: the whole */
    struct finding *list;
    size_t count, room;
};

/* Adds a finding about module c->at.  The text says why, and what would be right. */
__attribute__((format(printf, 4, 5)))
void check_find(struct check *c, enum level level, const char *rule, const char *format, ...);

/* V33, of a module that selects tensors of the model: so many bytes for each value that it selects, where
 * that is more than the machine has, or always. */
void check_memory(struct check *c, const struct module *m, double bytes, bool always);

#define ERROR(c, rule, ...) check_find(c, LEVEL_ERROR, rule, __VA_ARGS__)
#define WARN(c, rule, ...) check_find(c, LEVEL_WARNING, rule, __VA_ARGS__)
#define INFO(c, rule, ...) check_find(c, LEVEL_INFO, rule, __VA_ARGS__)

#endif
