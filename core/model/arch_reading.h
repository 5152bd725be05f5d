/* Reading of config.json: what the families' readers share.  Only arch.c and arch_causal.c use this. */
#ifndef CORE_MODEL_ARCH_READING_H
#define CORE_MODEL_ARCH_READING_H

#include "core/base/json.h"
#include "core/model/arch.h"

enum { LAYERS_MAX = 256, WIDTH_MAX = 65536, VOCABULARY_MAX = 1 << 22, POSITIONS_MAX = 1 << 20 };

/* The first error stays in *e; later reads return 0, false or NULL. */
struct arch_reading {
    const char *file;
    const json_t *config;
    struct buf *report;
    struct err *e;
    bool failed;
};

/* Reports that a default is used for a missing key. */
void arch_took(struct arch_reading *r, const char *key, const char *value);
/* Fails with the key, what was found, and what would be right. */
void arch_refuse(struct arch_reading *r, const char *key, const char *found, const char *right);
/* Reads an integer between lo and hi.  `fallback` < 0: the key is required. */
int arch_get_int(struct arch_reading *r, const char *key, int fallback, int lo, int hi);
/* Reads a number between lo and hi.  `reported`: whether using the default is. */
double arch_get_double(struct arch_reading *r, const char *key, double fallback, double lo, double hi,
                       bool reported);
/* Reads a probability of dropout. */
double arch_get_rate(struct arch_reading *r, const char *key, double fallback, bool reported);
bool arch_get_bool(struct arch_reading *r, const char *key, bool fallback);
/* Returns NULL when the key is absent. */
const char *arch_get_string(struct arch_reading *r, const char *key);
enum act arch_get_act(struct arch_reading *r, const char *key, const char *fallback);
/* Sets the width of a head from the hidden size and the number of heads. */
void arch_divide_heads(struct arch_reading *r, const char *key, struct arch *a);

/* Read the families with one causal stack: llama, mistral, qwen2 and qwen3, and gpt2. */
void arch_read_causal(struct arch_reading *r, struct arch *a);
void arch_read_gpt2(struct arch_reading *r, struct arch *a);

#endif
