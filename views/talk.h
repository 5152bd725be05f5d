/* Talk: a chat with a decoder-only model or a run; a run next to its base model, or two runs, answer the same
 * messages side by side.  The cursor is on a token of the last answer, whose probability is shown. */
#ifndef VIEWS_TALK_H
#define VIEWS_TALK_H

#include "core/train/use/talk.h"

enum { TALK_SIDES = 2 };

/* The chat, owned by the app. */
struct talk_page {
    int sides;                            /* 0: nothing is open */
    const char *name[TALK_SIDES];         /* "#3 lora", or the model */
    const struct tokenizer *tokenizer[TALK_SIDES];
    const struct talk_round {
        char *said;                       /* the message */
        struct talk_answer answer[TALK_SIDES];
        char *failed[TALK_SIDES];         /* the reason of a missing answer; NULL: none */
    } *round;
    int rounds;
    bool busy;                            /* the last round is being answered */
    bool opening;                         /* the model is being read */
    const char *failed;                   /* why nothing is open; NULL: it is, or was not requested */
};

struct talk_view {
    const struct talk_page *page;         /* NULL: none yet */
    int64_t run[TALK_SIDES];              /* requested; 0: the model of Compose */
    int runs;
    bool asked;                           /* a model or runs were requested */
    bool beside;                          /* the base model answers next to the run */
    int side;                             /* with the cursor */
    int token;                            /* under the cursor, of the last answer of that side; -1: none */
    int up;                               /* rows scrolled up from the end */
};

#endif
