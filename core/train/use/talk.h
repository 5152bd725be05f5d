/* Answers of a decoder-only model, or of a run on it, to the messages of a chat, token by token.
 *
 * A talker stores the keys and values of the last chat, so that the next message, another answer or an edited message
 * computes only what is new.  One thread at a time; the model and the predictor must outlive it. */
#ifndef CORE_TRAIN_USE_TALK_H
#define CORE_TRAIN_USE_TALK_H

#include "core/text/chat.h"
#include "core/train/use/predict.h"

enum { TALK_OTHERS = 4 };

struct talk_answer {
    struct buf text; /* complete characters, without control tokens, up to a stop text */
    struct talk_token {
        int32_t id;
        size_t end;  /* bytes of the text up to this token */
        double p;    /* probability of the token, before settings of sampling */
        struct {
            int32_t id;
            double p;
        } best[TALK_OTHERS]; /* the most probable tokens, best first */
    } *token;
    int tokens;
    size_t room;
    size_t prompt;           /* tokens of the chat before the answer */
    bool ended;              /* false: it is being generated, or was stopped */
    enum generated_end end;
};
void talk_answer_release(struct talk_answer *a);
/* Copies `from`; *to is released before. */
void talk_answer_copy(struct talk_answer *to, const struct talk_answer *from);

/* Selects a chat template by name, or that of the run (p, or NULL), or that of the model.  ERR_USAGE where
 * there is none.  *out is released with chat_template_release, also after a failure. */
int talk_template(const struct model *m, const struct predictor *p, const char *name,
                  struct chat_template *out, struct err *e);

/* The messages of a chat, which own their texts. */
struct talk_chat {
    struct chat_turn *turn;
    size_t n, room;
};
void talk_chat_add(struct talk_chat *c, enum chat_role role, const char *text, size_t size);
/* Removes all but the first n messages. */
void talk_chat_cut(struct talk_chat *c, size_t n);
void talk_chat_release(struct talk_chat *c);

struct talker;
/* Creates a talker for a run, or with `p` NULL for the pretrained model in this precision.  `template`: name or
 * file of a chat template; NULL: that of the run, or of the model.  Returns NULL with ERR_USAGE for a model that
 * cannot chat, or has no template.  Caller calls talker_free. */
struct talker *talker_new(const struct model *m, const struct predictor *p, enum precision precision,
                          const char *template, struct err *e);
void talker_free(struct talker *t);
/* Returns the settings, which may be changed between answers; those of the model at first. */
struct generate_options *talker_options(struct talker *t);
const struct chat_template *talker_template(const struct talker *t);

struct talk_watch {
    void *self;
    /* Called by the computing thread after each token; may be NULL. */
    void (*token)(void *self, const struct talk_answer *so_far);
    bool (*stop)(void *self); /* true ends the answer, with ERR_INTERRUPTED; may be NULL */
};
/* Answers a chat that ends with a user message, as one unit of a crew (NULL: on the calling thread).  *out is
 * released with talk_answer_release, also after a failure, when it has the tokens so far.  ERR_INPUT where the
 * template cannot write the chat, or it does not fit into the context. */
int talker_answer(struct talker *t, const struct chat_turn *turn, size_t n, struct crew *crew,
                  const struct talk_watch *watch, struct talk_answer *out, struct err *e);

#endif
