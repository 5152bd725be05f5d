#ifndef APP_SESSION_LINE_KIND_H
#define APP_SESSION_LINE_KIND_H

/* What a line of the command line is to the screens. */
enum line_kind {
    LINE_CHANGES,   /* it prints, and may change the history */
    LINE_READS,     /* it prints, and changes nothing of it */
    LINE_TRAINS,    /* its runs become jobs */
    LINE_ELSEWHERE, /* only a shell can do it */
};

#endif
