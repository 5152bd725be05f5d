/* The parts of a run's page that only runs of few shots and over episodes have (views/few.h), out of the
 * history. */
#ifndef APP_SESSION_PAGE_FEW_H
#define APP_SESSION_PAGE_FEW_H

#include "store/store.h"
#include "views/few.h"

struct page_few {
    struct few_view few;         /* their pointers are the memory below */
    struct episode_view episode;
    void **memory;
    size_t pieces, room;
};
/* Of a whole run; nothing of others.  On failure nothing needs a release. */
int page_few_read(struct store *s, const struct store_run *run, struct page_few *out, struct err *e);
void page_few_release(struct page_few *p);

#endif
