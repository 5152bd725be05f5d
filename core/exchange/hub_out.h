/* A run on its way into a folder of AdapterHub: what of it can go there and its tensors (hub_write.c), and
 * its configs (hub_describe.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_HUB_OUT_H
#define CORE_EXCHANGE_HUB_OUT_H

#include <jansson.h>

#include "core/exchange/hub.h"
#include "core/exchange/hub_writer.h"
#include "core/exchange/writing.h"
#include "core/method/plan.h"
#include "core/train/use/predict.h"

/* The library counts a decoder's layers behind the encoder's. */
enum { HUB_ALL_LAYERS = 2 * HUB_LAYERS };
/* The sublayers that configs distinguish; an encoder alone has HUB_SELF and HUB_FFN. */
enum hub_site { HUB_SELF, HUB_CROSS, HUB_FFN, HUB_SITES };

struct hub_out {
    const struct predictor *p;
    const struct plan *plan;
    const struct model *m;
    const real *params;
    const struct hub_job *job;
    struct adapter_writing to;
    int bottleneck, low, scale, prefix,
        prompt; /* the first module of each kind, or -1; low: LoRA and what goes as it */
    int width[HUB_SITES][HUB_ALL_LAYERS];       /* of bottlenecks, by layer; 0: none there */
    bool low_at[HUB_ALL_LAYERS];                /* layers that have LoRA or scales */
    int keys[2][2][HUB_LAYERS]; /* 1 and the module of a prefix, by stack and whether it is across; 0: none */
};

/* Of all layers of both stacks. */
int hub_layers(const struct hub_out *o);
bool hub_has_bottlenecks(const struct hub_out *o, enum hub_site site);
bool hub_is_parallel(const struct module *m);
bool hub_is_behind_norm(const struct module *m);

/* adapter_config.json and head_config.json; caller frees. */
char *hub_describe(const struct hub_out *o);
char *hub_describe_head(const struct hub_out *o);

#endif
