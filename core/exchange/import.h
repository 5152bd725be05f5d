/* Adapters trained elsewhere, prepared for the run database: a trained method with its head on a model, and a
 * config as of a run. In import.c; the folder of a path in folder.c. */
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
    struct model *model;      /* owned: released by import_release */
    struct predictor *predictor; /* on that model; without generated weights */
    struct run_config config; /* completed; its method is that of the predictor's plan */
    char *parents;            /* JSON, an array: the runs from which it was combined; NULL: none */
    struct curve curve;       /* of its training, if available */
    char *origin;             /* the config stored with it, unchanged; NULL: none */
};
void import_release(struct imported *x);
/* Names the classes as predictor_name_classes does and removes the note about them from `assumed`. */
int import_name_classes(struct imported *x, const char *const *name, int n, struct err *e);
/* {"format","version","read":[…],"ignored":[…],"assumed":[…]}, and "parents" where there are; caller
 * frees. */
char *import_json(const struct imported *x);

/* ---- petri's own format: stored parameters of one task, as a file or a folder ---- */

/* Returns the file that a path refers to, or NULL where it is neither; caller frees. */
char *import_petri_file(const char *path);
/* Reads the config of the run from the file, to find the model. Freed with config_release. */
int import_petri_config(const char *file, struct run_config *out, struct err *e);
/* Imports the file. m: the model; the call takes ownership in any case. On failure *out is empty. */
int import_petri(const char *file, struct model *m, struct imported *out, struct err *e);

/* ---- folders of other libraries ---- */

/* Returns the adapter folder that a path refers to: itself, or one below it (the latest of checkpoints);
 * `aside` names the others. NULL with *e if there is none, or if there are several, which *e names. Caller
 * frees. */
char *import_adapter_folder(const char *path, struct notes *aside, struct err *e);
bool import_is_peft(const char *folder);
/* Returns the base model named in adapter_config.json, or NULL; caller frees. */
char *import_base(const char *folder);
/* Imports a PEFT folder. m: the call takes ownership in any case. On failure *out is empty. */
int import_peft(const char *folder, struct model *m, struct imported *out, struct err *e);
/* Imports an AdapterHub folder in the same way. */
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
