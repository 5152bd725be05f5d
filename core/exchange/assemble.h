/* A method put together from the values that a file holds: pieces, each what one place of the model gets,
 * become modules over layers and stacks, and the values go where the method's plan has them. */
#ifndef CORE_EXCHANGE_ASSEMBLE_H
#define CORE_EXCHANGE_ASSEMBLE_H

#include "core/method/slots.h"
#include "core/model/model.h"

enum { PIECE_VALUES = 16 };
struct placed {
    struct module module;     /* but for its layers, stack and site */
    int stack, site, layer;
    int count;
    struct {
        enum slot slot;
        const real *values;
        size_t size;
    } value[PIECE_VALUES];
};

struct assembly {
    const struct model *m;
    struct placed *piece;
    size_t pieces, room;
    const real **weight; /* m->tensors places: values that take a model tensor's; NULL: it stays */
    struct { /* of the head, by what it is called in a plan: "head.weight", … */
        char name[32];
        const real *values;
        size_t size;
    } head[4];
    int heads;
    struct method_value { /* of the method as a whole; of its fusion at a place */
        enum slot slot;
        const real *values;
        size_t size;
        int stack, site, layer, tap;
    } *value;
    size_t values, value_room;
    struct fusion fusion; /* of the method; off: none */
    struct classifier classifier; /* of the method; off: the family's */
};
void assembly_init(struct assembly *a, const struct model *m);
void assembly_release(struct assembly *a);

/* The piece of a module at a place, made when it is the first value there; NULL never. */
struct placed *assembly_piece(struct assembly *a, const struct module *m, int stack, int site, int layer);
void piece_add(struct placed *p, enum slot slot, const real *values, size_t size);
void assembly_value(struct assembly *a, const struct method_value *value);
void assembly_head(struct assembly *a, const char *name, const real *values, size_t size);

/* The method, in the order that its text gives it; modules that say runs (from_run) are others than those
 * without.  ERR_INPUT, after `path`, for values that no module can hold or
 * too many modules. */
int assembly_method(struct assembly *a, const char *path, struct method *out, struct err *e);
/* Values into the plan's block, which holds its start values; what of the plan got none goes by its start,
 * but ERR_INPUT for a module's own tensor without a value or one with another size. */
int assembly_fill(const struct assembly *a, const char *path, const struct plan *p, real *params,
                  struct err *e);

#endif
