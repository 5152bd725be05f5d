/* What somebody trained elsewhere, on its way into the history: a trained method with its head on a model,
 * and a description as of a run.  In import.c; which folder a path leads to in folder.c. */
#ifndef CORE_EXCHANGE_IMPORT_H
#define CORE_EXCHANGE_IMPORT_H

#include "core/exchange/curve.h"
#include "core/train/use/predict.h"

/* Lines of text in their order. */
struct notes {
    char **line;
    size_t count, room;
};
void notes_release(struct notes *n);
void notes_add(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct imported {
    const char *format;       /* "petri", "peft", … */
    char *version; /* of the format or of the program that wrote it; NULL: unknown */
    struct notes read, ignored, assumed; /* files; ignored parts; assumptions */
    size_t named;             /* 1 + the line of `assumed` about the names of the classes; 0: there is none */
    struct model *model;      /* taken over: import_release lets it go */
    struct predictor *predictor; /* on it; without made values */
    struct run_config config; /* completed; its method is the predictor's plan's */
    char *parents;            /* JSON, an array: the runs that it was joined of; NULL: none */
    struct curve curve;       /* of its training, where that left one */
    char *origin;             /* the config that came with it, as it was; NULL: none */
};
void import_release(struct imported *x);
/* Names the classes as predictor_name_classes does and removes the note about them from `assumed`. */
int import_name_classes(struct imported *x, const char *const *name, int n, struct err *e);
/* {"format","version","read":[…],"ignored":[…],"assumed":[…]}, and "parents" where there are; caller
 * frees. */
char *import_json(const struct imported *x);

/* ---- petri's own: a file of one task's kept values, or a folder that holds it ---- */

/* Returns the file that a path refers to, or NULL where it is neither; caller frees. */
char *import_petri_file(const char *path);
/* Reads the config of the run from the file, to find the model by.  config_release. */
int import_petri_config(const char *file, struct run_config *out, struct err *e);
/* m: the model, taken over in either case.  On failure *out is empty. */
int import_petri(const char *file, struct model *m, struct imported *out, struct err *e);

/* ---- folders of other libraries ---- */

/* The folder with the adapter that a path leads to: itself, or one below it (of checkpoints the latest);
 * `aside` names the others.  NULL where there is none, with *e, which names them, where there are several.
 * Caller frees. */
char *import_adapter_folder(const char *path, struct notes *aside, struct err *e);
bool import_is_peft(const char *folder);
/* Returns the base model named in adapter_config.json, or NULL; caller frees. */
char *import_base(const char *folder);
/* m: taken over in either case.  On failure *out is empty. */
int import_peft(const char *folder, struct model *m, struct imported *out, struct err *e);
/* The same of a folder of AdapterHub. */
bool import_is_hub(const char *folder);
int import_hub(const char *folder, struct model *m, struct imported *out, struct err *e);
/* Returns whether a folder holds an AdapterHub fusion (adapter_fusion_config.json), and the base model that
 * it names, or NULL; caller frees. */
bool import_is_fusion(const char *folder);
char *import_fusion_base(const char *folder);
/* Imports a fusion with the adapters from the given folders, or from folders in it or next to it whose
 * config has their names. */
int import_fusion(const char *folder, const char *const *adapter, int adapters, struct model *m,
                  struct imported *out, struct err *e);

#endif
