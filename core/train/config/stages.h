/* Training in consecutive stages: "stages(lora, steps=200; lora, train=head, lr=0.0001, steps=50)". Each
 * stage has a method, trainable parts, a learning rate and a length, and starts from the parameters of the
 * previous stage. The method and the best checkpoint of the run are those of the last stage. docs/stages.md.
 * Parsing in stages.c, training in stages_run.c. */
#ifndef CORE_TRAIN_CONFIG_STAGES_H
#define CORE_TRAIN_CONFIG_STAGES_H

#include "core/train/config/config.h"

struct run;
struct plan;

enum { STAGES_MOST = 8 };
/* The parts that a stage trains, and those that it takes over from the previous stage: modules, head or
 * both. */
enum stage_parts { STAGE_ALL, STAGE_MODULES, STAGE_HEAD };
struct stage {
    struct method method;
    enum stage_parts train, carry;
    double lr;      /* 0: that of the run */
    int64_t steps;  /* 0: not given, or given as epochs */
    double epochs;  /* 0: not given */
};
struct stages {
    int count;      /* at least 2 */
    struct stage stage[STAGES_MOST];
};

/* Parses the text of the regime, "stages(…)", into *s, which is zeroed. ERR_USAGE names the stage and the
 * key. */
int stages_parse(const char *text, struct stages *s, struct err *e);
/* Returns the stages as text, with every part that is set; the first stage has no carry. Caller frees. Parsed
 * again it gives the same stages. */
char *stages_text(const struct stages *s);
/* Returns one stage in that form; caller frees. */
char *stages_text_of(const struct stages *s, int k);
const char *stage_parts_name(enum stage_parts p); /* "all", "modules", "head" */

/* Returns the stages of a config, or NULL. */
const struct stages *config_stages(const struct run_config *c);
bool config_is_staged(const struct run_config *c);
/* Sets method, learning rate and length of a config from its stages, after a regime was set. */
void stages_tell(struct run_config *c);
/* Returns whether the last stage has this method. stages_take_method sets the method of the last stage to
 * that of the config. */
bool stages_has_method(const struct stages *s, const struct method *m);
void stages_take_method(struct run_config *c);
/* Completes learning rate and steps of every stage, and sets the config's learning rate to that of the last
 * stage and its steps to the total; a changed method goes to the last stage. rows: examples per epoch.
 * ERR_USAGE where options contradict the stages. */
int stages_complete(struct run_config *c, size_t rows, struct err *e);
/* Refuses options and methods that stages do not support; ERR_USAGE names the stage. */
int stages_check(const struct run_config *c, struct err *e);
/* Freezes the tensors of a plan that stage k does not train. ERR_USAGE where no trainable parameters are
 * left. */
int stage_narrow(const struct stages *s, int k, struct plan *p, struct err *e);
/* Returns the first step of stage k, from 0, of completed stages; k = count: the total number of steps. */
int64_t stages_first(const struct stages *s, int k);

#endif
