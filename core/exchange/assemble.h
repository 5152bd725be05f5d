/* A method put together from the values that a file holds: pieces, each what one place of the model gets, become
 * modules over layers and stacks, and the values go where the method's plan has them. */
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
    struct { /* of the method as a whole */
        enum slot slot;
        const real *values;
        size_t size;
    } network[2];
    int networks;
    struct fusion_value { /* of its fusion: a map at a place */
        enum slot slot;
        int stack, site, layer, tap;
        const real *values;
        size_t size;
    } *map;
    size_t maps, map_room;
    struct fusion fusion; /* of the method; off: none */
    const real *rule; /* the A_i that all Kronecker products have, and how many values; NULL: there are none */
    size_t rule_size;
    struct classifier classifier; /* of the method; off: the family's */
};
void assembly_init(struct assembly *a, const struct model *m);
void assembly_release(struct assembly *a);

/* The piece of a module at a place, made when it is the first value there; NULL never. */
struct placed *assembly_piece(struct assembly *a, const struct module *m, int stack, int site, int layer);
void piece_add(struct placed *p, enum slot slot, const real *values, size_t size);
void assembly_network(struct assembly *a, enum slot slot, const real *values, size_t size);
void assembly_map(struct assembly *a, const struct fusion_value *map);
void assembly_head(struct assembly *a, const char *name, const real *values, size_t size);

/* The method, in the order that its text gives it; modules that say runs (from_run) are others than those
 * without.  ERR_INPUT, after `path`, for values that no module can hold or
 * too many modules. */
int assembly_method(struct assembly *a, const char *path, struct method *out, struct err *e);
/* Values into the plan's block, which holds its start values; what of the plan got none goes by its start, but
 * ERR_INPUT for a module's own tensor without a value or one with another size. */
int assembly_fill(const struct assembly *a, const char *path, const struct plan *p, real *params, struct err *e);

#endif
