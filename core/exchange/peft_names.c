/* Names of tensors that another trainer wrote with the adapter's own name inside, as the library has them in memory. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/peft.h"

/* Where the adapter's name is in `name`, and its length; NULL: it has none.  *saved: behind modules_to_save, which goes with it. */
static const char *own_name(const char *name, size_t *size, bool *saved) {
    static const char *const parts[] = { ".lora_A.", ".lora_B.", ".lora_E.", ".lora_embedding_A.", ".lora_embedding_B.",
                                         ".lora_magnitude_vector.", ".ia3_l.", ".vera_lambda_b.", ".vera_lambda_d.",
                                         ".ln_tuning_layers.", ".modules_to_save." };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *at = strstr(name, parts[i]);
        if (!at) continue;
        at += strlen(parts[i]);
        if (!strcmp(at, "weight") || !strcmp(at, "bias")) return NULL;
        *size = strcspn(at, ".");
        *saved = i + 1 == COUNT_OF(parts);
        return at;
    }
    return NULL;
}

/* The name without it; caller frees. */
static char *plain_name(const char *name, const char *own, size_t size, bool saved) {
    size_t before = (size_t)(own - name) - 1 - (saved ? strlen(".modules_to_save") : 0);
    return xprintf("%.*s%s", (int)before, name, own + size);
}

int peft_plain_names(struct bag *b, struct notes *said, struct err *e) {
    const char *first = NULL, *own;
    size_t length = 0, size;
    bool saved;
    for (size_t i = 0; i < b->count; i++) {
        if (!(own = own_name(b->tensor[i].name, &size, &saved))) continue;
        char *plain = plain_name(b->tensor[i].name, own, size, saved);
        bool copy = bag_find(b, plain) != NULL; /* under its own name too */
        free(plain);
        if (copy) continue;
        if (first && (size != length || strncmp(own, first, size)))
            return err_set(e, ERR_INPUT, "%s: holds tensors of several adapters, \"%.*s\" and \"%.*s\"; save them one by one "
                                         "(save_pretrained with selected_adapters)",
                           b->path, (int)length, first, (int)size, own);
        if (!first) {
            first = own;
            length = size;
        }
    }
    if (!first) return 0;
    char *name = xstrndup(first, length);
    for (size_t i = 0; i < b->count; i++) {
        if (!(own = own_name(b->tensor[i].name, &size, &saved))) continue;
        char *plain = plain_name(b->tensor[i].name, own, size, saved);
        if (!bag_find(b, plain)) {
            free(b->tensor[i].name);
            b->tensor[i].name = plain;
        } else {
            free(plain);
        }
    }
    notes_add(said, "the tensors' names have the adapter's, \"%s\", which is left out", name);
    free(name);
    return 0;
}
