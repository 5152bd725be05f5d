#ifndef APP_SESSION_LINE_KIND_H
#define APP_SESSION_LINE_KIND_H

/* The effect of a command line entered on the screens. */
enum line_kind {
    LINE_CHANGES,   /* prints, and may change the database */
    LINE_READS,     /* prints, and does not change the database */
    LINE_TRAINS,    /* starts runs as jobs */
    LINE_ELSEWHERE, /* works only in a shell */
};

#endif
