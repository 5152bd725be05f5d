/* State of Help: whose keys are listed, from where on. */
#ifndef VIEWS_HELP_H
#define VIEWS_HELP_H

#include "views/keys.h"

struct help_view {
    enum screen_id helped; /* whose keys, and where Help goes back to */
    char search[128];      /* "" none: then the keys of all screens are looked through */
    int top;               /* first line shown */
};

#endif
