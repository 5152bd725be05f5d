/* State of the page that a command of the ':' line prints on: what it printed, to be scrolled and
 * searched. */
#ifndef VIEWS_PAGE_H
#define VIEWS_PAGE_H

#include <stdbool.h>

struct page_view {
    /* set by the app */
    const char *command;      /* as a shell takes it, "petri runs"; NULL: nothing was printed yet */
    const char *const *line;  /* without control characters */
    int lines;
    bool going;               /* it has not ended yet */
    int code;                 /* its exit code, once it has */
    const char *cut;          /* why not all is here, or NULL */
    /* the view's own */
    int top, left;            /* first line and column shown */
    char search[128];
};

struct ui;
/* The command has ended: says so where the page is not shown. */
void page_over(struct ui *ui);

#endif
