/* A folder of AdapterHub while it is read: what the readers of one adapter (hub_read.c) and of several that
 * are fused (hub_fusion.c) share.  Private to core/exchange. */
#ifndef CORE_EXCHANGE_HUB_READER_H
#define CORE_EXCHANGE_HUB_READER_H

#include "core/exchange/hub.h"

void hub_reader_init(struct hub_reader *r, struct model *m, struct imported *out);
void hub_reader_release(struct hub_reader *r);
/* Reads the adapter of a folder into r->in.to; every tensor has its place. */
int hub_reader_adapter(struct hub_reader *r, const char *folder, struct err *e);
/* Reads the head next to it, if there is one; its name is `name` unless its config has another. */
int hub_reader_head(struct hub_reader *r, const char *folder, const char *name, struct err *e);

#endif
