/* The files of a folder of transformers for the model in a GGUF file. */
#ifndef CORE_MODEL_GGUF_FOLDER_H
#define CORE_MODEL_GGUF_FOLDER_H

#include "core/base/json.h"
#include "core/model/model.h"

/* Contents of config.json, tokenizer.json, tokenizer_config.json, generation_config.json and
 * chat_template.jinja; NULL: the folder does not need it. */
struct gguf_folder {
    json_t *config, *tokenizer, *settings, *generation;
    char *chat;
};
/* Makes them from the file that m was loaded from.  ERR_USAGE for frequencies of rotary embeddings that no config
 * describes.  The caller calls gguf_folder_release, also after a failure. */
int gguf_folder_make(const struct model *m, struct gguf_folder *out, struct err *e);
void gguf_folder_release(struct gguf_folder *x);

#endif
