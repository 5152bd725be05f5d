/* A run on its way into a folder of AdapterHub: what the writers of one adapter (hub_write.c) and of several
 * that are fused (hub_fusion_write.c) share.  Private to core/exchange. */
#ifndef CORE_EXCHANGE_HUB_WRITER_H
#define CORE_EXCHANGE_HUB_WRITER_H

#include <jansson.h>

#include "core/exchange/writing.h"
#include "core/train/use/predict.h"

/* Of a method that fuses adapters: which of them each module belongs to, -1: none; how many there are. */
struct hub_parts {
    int of[METHOD_MODULES], count;
};
struct hub_job {
    const struct predictor *p; /* plain */
    const char *name, *base;
    const struct hub_parts *parts; /* NULL: all modules are of one adapter */
    int part;
};
/* The two files of an adapter in a folder that is there: its config as it came, or (NULL) as the modules say.
 * ERR_USAGE naming the module for what the library has no form for. */
int hub_writer_adapter(const struct hub_job *job, const char *config, const char *folder, struct err *e);
/* And of the head. */
int hub_writer_head(const struct hub_job *job, const char *folder, struct err *e);
/* Returns the text of a config file with its wrapper; takes `config` over; caller frees. */
char *hub_writer_wrapped(const struct hub_job *job, json_t *config, const char *const *names, int count);

/* The config of a fusion as it usually is, JSON: the keys that petri knows. */
extern const char hub_usual_fusion[];

/* The whole folder of a method with a fusion. */
int hub_export_fusion(struct predictor *p, const char *base, const char *folder, struct err *e);

#endif
