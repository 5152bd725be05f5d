/* State of Help: the screen with the listed keys, the search, the position. */
#ifndef VIEWS_HELP_H
#define VIEWS_HELP_H

#include "views/keys.h"

struct help_view {
    enum screen_id helped; /* the screen with the listed keys, to which Help returns */
    char search[128];      /* searches the keys of all screens; "": none */
    int top;               /* first line shown */
};

#endif
