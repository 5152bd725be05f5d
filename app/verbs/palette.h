/* The ':' line of the screens: completion of commands, and their execution there. */
#ifndef APP_VERBS_PALETTE_H
#define APP_VERBS_PALETTE_H

#include "app/session/session.h"
#include "app/verbs/args.h"

/* Used by session_start and by the prompt of terminals without screens. */
extern const struct session_verbs palette_verbs;

#endif
