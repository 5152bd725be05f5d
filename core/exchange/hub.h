/* A folder of AdapterHub: its configs (hub_config.c) and its tensors, read (hub_read.c; beside maps hub_low.c, rows and keys
 * hub_rows.c) and written (hub_write.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_HUB_H
#define CORE_EXCHANGE_HUB_H

#include <jansson.h>

#include "core/exchange/reading.h"

enum { HUB_PARTS = 8, HUB_LAYERS = 256 };
struct hub {
    char *path;    /* of adapter_config.json */
    char *text;    /* of it, as it is */
    json_t *config;
    const char *name, *version; /* of the adapter; of the library, "" when it does not say */
    /* Its configs, of a union several; NULL: none of that kind. */
    const json_t *bottleneck, *lora, *prefix, *prompt;
};
/* Refuses by name what a run would not do.  On failure *out is empty. */
int hub_open(const char *folder, struct hub *out, struct err *e);
void hub_close(struct hub *h);

/* By the library's name of it; -1: there is none. */
int hub_activation(const struct hub *h, const char *name, enum act *out);
/* A module of its bottlenecks at attention or the FFN, but for its size. */
int hub_bottleneck(const struct hub *h, const struct arch *a, bool attention, struct module *out, struct err *e);
/* Whether the trained scale of such a bottleneck's config becomes part of W_u and b_u: beside a gate, or one of channels below a norm. */
bool hub_scale_is_folded(const json_t *bottleneck);
/* Whether its maps are of factors that all places share, or of a rule that is a product itself. */
bool hub_shares_factors(const json_t *bottleneck);
bool hub_factors_rule(const json_t *bottleneck);
/* The scale of its LoRA of this rank; says what was taken for granted. */
int hub_lora_scale(const struct hub *h, int rank, struct notes *assumed, double *out, struct err *e);

/* ---- a folder that is read ---- */

struct hub_reader {
    struct adapter_reading in;
    struct hub hub;
    struct bag head;
    real **made; /* values that were made of tensors, owned */
    size_t mades, made_room;
    bool told_alpha, told_vera, told_scale, told_network;
    bool own_pooler; /* the head goes through the model's pooler, as its family's own does */
};
/* n values that live as long as the reader, or NULL without memory. */
real *hub_room(struct hub_reader *r, size_t n);
/* The tensor of t's name with its end `own` replaced by `other`, or NULL. */
struct bag_tensor *hub_beside(struct hub_reader *r, const struct bag_tensor *t, const char *own, const char *other);

/* What all places share under this name, or NULL. */
struct bag_tensor *hub_shared(struct hub_reader *r, const char *which);

/* Of a change beside a map; gate and length may be NULL. */
struct low_tensors {
    size_t rank;
    const real *down, *up;
    struct bag_tensor *gate, *gate_b, *length;
};
/* A tensor whose name ends in `own`, "lora_B" or "vera_B", and what belongs to it, at the map of that name. */
int hub_take_low(struct hub_reader *r, struct bag_tensor *b, const char *own, const char *map, struct err *e);
int hub_take_prefix(struct hub_reader *r, struct err *e);
int hub_take_prompt(struct hub_reader *r, struct err *e);

#endif
