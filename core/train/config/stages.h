/* A run in stages, one after the other: "stages(lora, steps=200; lora, train=head, lr=0.0001, steps=50)".
 * Each has a method, which of its tensors train, a rate and a length, and takes over what the stage before it
 * came to.  The run's own method is the last stage's, and so is its best.  docs/stages.md.  In stages.c, a
 * run's way in stages_run.c. */
#ifndef CORE_TRAIN_CONFIG_STAGES_H
#define CORE_TRAIN_CONFIG_STAGES_H

#include "core/train/config/config.h"

struct run;
struct plan;

enum { STAGES_MOST = 8 };
/* What a stage trains, and what it takes over from the one before: the modules, the head, or both. */
enum stage_parts { STAGE_ALL, STAGE_MODULES, STAGE_HEAD };
struct stage {
    struct method method;
    enum stage_parts train, carry;
    double lr;      /* 0: not said, the run's */
    int64_t steps;  /* 0: not said, or by its epochs */
    double epochs;  /* 0: not said */
};
struct stages {
    int count;      /* at least 2 */
    struct stage stage[STAGES_MOST];
};

/* The whole text of the regime, "stages(…)", into *s, which is zeroed.  ERR_USAGE names the stage and its
 * part. */
int stages_parse(const char *text, struct stages *s, struct err *e);
/* Every part that was said; the first stage has no carry.  Caller frees.  Taken, it gives the same stages. */
char *stages_text(const struct stages *s);
/* One stage as it stands in that text; caller frees. */
char *stages_text_of(const struct stages *s, int k);
const char *stage_parts_name(enum stage_parts p); /* "all", "modules", "head" */

/* Those of a description; NULL: it has none. */
const struct stages *config_stages(const struct run_config *c);
bool config_is_staged(const struct run_config *c);
/* After a regime was set: the description's method, rate and length are those that the stages say. */
void stages_tell(struct run_config *c);
/* Whether the last stage's method is this one; makes it this one, in the text of the description's regime. */
bool stages_has_method(const struct stages *s, const struct method *m);
void stages_take_method(struct run_config *c);
/* Gives every stage its rate and its steps, and the description those of the last one and of all together;
 * the last stage takes over a method that was changed since.  rows: of a pass.  ERR_USAGE where both say
 * otherwise. */
int stages_complete(struct run_config *c, size_t rows, struct err *e);
/* What stages cannot have; ERR_USAGE names the stage. */
int stages_check(const struct run_config *c, struct err *e);
/* Freezes in a plan of stage k what the stage does not train.  ERR_USAGE where nothing is left. */
int stage_narrow(const struct stages *s, int k, struct plan *p, struct err *e);
/* The first step of stage k, counted from 0, of stages that are complete; k = count: all steps. */
int64_t stages_first(const struct stages *s, int k);

#endif
