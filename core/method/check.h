/* A check in progress, for the rules of check.c and of the files of functions. Private to core/method. */
#ifndef CORE_METHOD_CHECK_H
#define CORE_METHOD_CHECK_H

#include "core/method/slots.h"

struct check {
    const struct method *m; /* normalized */
    const struct arch *a;
    const struct tensor_info *tensor;
    int tensors;
    int at; /* index of the module, -1: the whole method */
    struct finding *list;
    size_t count, room;
};

/* Adds a finding about module c->at. The text states the reason and the remedy. */
__attribute__((format(printf, 4, 5)))
void check_find(struct check *c, enum level level, const char *rule, const char *format, ...);

/* Adds V33 for a module that selects tensors of the model, with `bytes` of memory per selected parameter:
 * if that exceeds the memory of the machine, or always. */
void check_memory(struct check *c, const struct module *m, double bytes, bool always);

#define ERROR(c, rule, ...) check_find(c, LEVEL_ERROR, rule, __VA_ARGS__)
#define WARN(c, rule, ...) check_find(c, LEVEL_WARNING, rule, __VA_ARGS__)
#define INFO(c, rule, ...) check_find(c, LEVEL_INFO, rule, __VA_ARGS__)

#endif
