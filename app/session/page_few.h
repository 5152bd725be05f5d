/* The parts of a run's page for few-shot runs and runs over episodes (views/few.h), read from the
 * database. */
#ifndef APP_SESSION_PAGE_FEW_H
#define APP_SESSION_PAGE_FEW_H

#include "store/store.h"
#include "views/few.h"

struct page_few {
    struct few_view few;         /* their pointers point to the memory below */
    struct episode_view episode;
    void **memory;
    size_t pieces, room;
};
/* Reads them for a run that was read whole; empty for other runs.  On failure nothing needs a release. */
int page_few_read(struct store *s, const struct store_run *run, struct page_few *out, struct err *e);
void page_few_release(struct page_few *p);

#endif
