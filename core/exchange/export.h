/* What was trained here, written for others: folders in export.c, petri's own file in
 * petri.c. */
#ifndef CORE_EXCHANGE_EXPORT_H
#define CORE_EXCHANGE_EXPORT_H

#include "core/model/safetensors.h"
#include "core/train/use/predict.h"

/* Makes a new folder for an export, or takes an empty one; ERR_USAGE for one that holds something. */
int export_folder(const char *path, struct err *e);
/* Removes files of one that failed, and the folder.  The list ends with NULL. */
void export_undo(const char *folder, const char *const *file);

/* Writes petri's own file, PATH where that ends in ".safetensors", else PATH/petri.safetensors in a folder
 * that is new or empty.  *file: what was written, caller frees.  c: the run's, of one task.  p is plain
 * afterwards. */
int export_petri(struct predictor *p, const struct run_config *c, const char *path, char **file,
                 struct err *e);

/* Writes a folder of the library PEFT, new or empty: adapter_config.json and adapter_model.safetensors.
 * ERR_USAGE, naming the module, for a method that the library has no form for.  base: what the config calls
 * the model.  p is plain afterwards. */
int export_peft(struct predictor *p, const char *base, const char *folder, struct err *e);
/* The same of a folder of AdapterHub: adapter_config.json, adapter.safetensors, head_config.json,
 * model_head.safetensors. */
int export_hub(struct predictor *p, const char *base, const char *folder, struct err *e);

/* Writes the low-rank changes of a language model as a GGUF adapter for llama.cpp.  ERR_USAGE, naming the
 * module, for a method with others.  p is plain afterwards. */
int export_gguf(struct predictor *p, const char *path, struct err *e);
/* Writes the merged model as a GGUF file: matrices as F16 or Q8_0 (F16 where rows are not whole blocks),
 * vectors as F32.  Metadata is that of the model's file, or made of its folder.  ERR_USAGE for a method that
 * cannot be merged. */
int export_gguf_merged(struct predictor *p, enum st_type matrices, const char *path, struct err *e);

#endif
