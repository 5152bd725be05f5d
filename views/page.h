/* State of the output page of ':' commands, which can be scrolled and searched. */
#ifndef VIEWS_PAGE_H
#define VIEWS_PAGE_H

#include <stdbool.h>

struct page_view {
    /* set by the app */
    const char *command;      /* as typed in a shell, "petri runs"; NULL: no output yet */
    const char *const *line;  /* without control characters */
    int lines;
    bool going;               /* it is still running */
    int code;                 /* its exit code, once finished */
    const char *cut;          /* the reason for truncated output, or NULL */
    /* the view's own */
    int top, left;            /* first line and column shown */
    char search[128];
};

struct ui;
/* Reports that the command has finished, unless the page is shown. */
void page_over(struct ui *ui);

#endif
