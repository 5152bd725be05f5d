/* The command line inside the screens: what the ':' line offers of it, and what its lines do there. */
#ifndef APP_VERBS_PALETTE_H
#define APP_VERBS_PALETTE_H

#include "app/session/session.h"
#include "app/verbs/args.h"

/* For session_start and the prompt of terminals without screens. */
extern const struct session_verbs palette_verbs;

#endif
