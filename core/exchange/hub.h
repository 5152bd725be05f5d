/* A folder of AdapterHub: its configs (hub_config.c) and its tensors, by tables (hub_parts.c), read
 * (hub_read.c; low-rank changes hub_low.c, prompts and prefixes hub_rows.c) and written (hub_write.c).
 * Private to core/exchange. */
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
/* Refuses a decoder-only model, whose layers the library names differently: ERR_USAGE. */
int hub_takes(const struct model *m, struct err *e);
/* Refuses by name what a run would not do.  On failure *out is empty. */
int hub_open(const char *folder, struct hub *out, struct err *e);
void hub_close(struct hub *h);

/* By the library's name of it; -1: there is none. */
int hub_activation(const struct hub *h, const char *name, enum act *out);
extern const char hub_no_activation[]; /* the reason for refusing a name */
const char *hub_activation_name(enum act act); /* NULL: there is none */
/* A config of that architecture ("": of bottlenecks) as it usually is, with what is its own, which is taken
 * over; the caller owns it. */
json_t *hub_defaults(const char *architecture, json_t *own);
/* A module of its bottlenecks at attention or the FFN, but for its size. */
int hub_bottleneck(const struct hub *h, const struct arch *a, bool attention, struct module *out,
                   struct err *e);
/* Returns whether the trained scale of such a bottleneck becomes part of W_u and b_u: with a gate, or a
 * scale of channels below a norm. */
bool hub_scale_is_folded(const json_t *bottleneck);
/* Whether its maps are of factors that all places share, or of a rule that is a product itself. */
bool hub_shares_factors(const json_t *bottleneck);
bool hub_factors_rule(const json_t *bottleneck);
/* Computes the scale of its LoRA of this rank; `assumed` gets the assumptions. */
int hub_lora_scale(const struct hub *h, int rank, struct notes *assumed, double *out, struct err *e);

/* ---- tensors (hub_parts.c): of a module at a place, in tables that are read and written by ---- */

enum { HUB_MOST_PARTS = 24, HUB_OF_VERA = 3 }; /* rows of a table; the first that VeRA's changes have too */
extern const struct file_part hub_bottleneck_parts[], hub_low_parts[], hub_gate_parts[], hub_fusion_parts[];
/* Whether a row is of such modules; the slot that it is of. */
bool hub_part_fits(const struct file_part *p, const struct module *m);
enum slot hub_part_slot(const struct file_part *p, const struct module *m);
/* `place` with the part's name behind it; caller frees. */
char *hub_part_name(const char *place, const struct file_part *p, const struct module *m);
/* The path of the adapters behind what writes the tap; caller frees.  The map of the model behind which those
 * of a path are, or NULL. */
char *hub_place(const struct model *m, enum tap write, int stack, int site, int layer);
const struct tensor_info *hub_map(const struct model *m, const char *place);
/* Attentions that have prefixes, by the library's names; ends with a NULL key.  The path of one in a layer;
 * caller frees. */
struct hub_attention {
    const char *key;
    int stack, site;
};
const struct hub_attention *hub_attentions(const struct arch *a);
char *hub_attention_name(const struct model *m, const struct hub_attention *at, int layer);

/* ---- a folder that is read ---- */

struct hub_reader {
    struct adapter_reading in;
    struct hub hub;
    struct bag head;
    bool told_alpha, told_vera, told_scale, told_network;
    bool own_pooler; /* the head goes through the model's pooler, as its family's own does */
};
/* The tensor of t's name with its end `own` replaced by `other`, or NULL. */
struct bag_tensor *hub_sibling(struct hub_reader *r, const struct bag_tensor *t, const char *own,
                              const char *other);
/* What all places share under this name, or NULL. */
struct bag_tensor *hub_shared(struct hub_reader *r, const char *which);

/* A tensor whose name ends in `own`, "lora_B" or "vera_B", and what belongs to it, at the map of that
 * name. */
int hub_take_low(struct hub_reader *r, struct bag_tensor *b, const char *own, const char *map, struct err *e);
/* The tensors of a table at a place, one for each row that the module has: found[i] of row i.  first: the
 * tensor by which the place was found. */
int hub_find_parts(struct hub_reader *r, const struct file_part *rows, const char *place,
                   const struct module *m, const struct bag_tensor *first,
                   struct bag_tensor *found[HUB_MOST_PARTS], struct err *e);
/* Checks their shapes for a map of in × out, and takes them. */
int hub_take_parts(struct hub_reader *r, const struct file_part *rows, struct placed *p, size_t in,
                   size_t out, struct bag_tensor *found[HUB_MOST_PARTS], struct err *e);
int hub_take_prefix(struct hub_reader *r, struct err *e);
int hub_take_prompt(struct hub_reader *r, struct err *e);

#endif
