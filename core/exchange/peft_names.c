/* Tensors of PEFT folders: those of each function, and their names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/peft.h"

static const struct peft_form forms[] = {
    { FN_LINEAR, PEFT_LORA,
      .part = { { "lora_A.weight", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN },
                { "lora_B.weight", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK } } },
    { FN_DECOMPOSED, PEFT_LORA,
      .part = { { "lora_A.weight", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN },
                { "lora_B.weight", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK },
                { "lora_magnitude_vector", SLOT_LENGTH, .cols = SIZE_OUT, .key = "use_dora" } } },
    { FN_LOOKUP, PEFT_LORA,
      .part = { { "lora_embedding_A", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN, .turned = true },
                { "lora_embedding_B", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK } } },
    { FN_SVD, PEFT_ADALORA,
      .part = { { "lora_A", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN },
                { "lora_E", SLOT_SINGULAR, SIZE_RANK, .cols = SIZE_ONE },
                { "lora_B", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK } } },
    { FN_PROJECTED, PEFT_VERA,
      .part = { { "vera_lambda_d", SLOT_INNER, .cols = SIZE_RANK },
                { "vera_lambda_b", SLOT_OUTER, .cols = SIZE_OUT } } },
    { FN_SCALE, PEFT_IA3, .part = { { "ia3_l", SLOT_CHANNEL, SIZE_OUT, .cols = SIZE_ONE } } },
    { FN_SCALE, PEFT_IA3, .input = true, .part = { { "ia3_l", SLOT_CHANNEL, SIZE_ONE, .cols = SIZE_IN } } },
};

const struct peft_form *peft_form_at(int i) { return i < (int)COUNT_OF(forms) ? &forms[i] : NULL; }

/* Tap points that are inputs of a map, and the map. */
static const struct {
    enum tap write, map;
} inputs[] = { { TAP_F_ACT, TAP_F_OUT }, { TAP_A_CTX, TAP_A_OUT } };

enum tap peft_form_map(const struct peft_form *f, enum tap write) {
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        if (inputs[i].write == write) return f->input ? inputs[i].map : TAP_NONE;
    return f->input || write == TAP_EMBED || tap_weight_role(write) == ROLE_COUNT ? TAP_NONE : write;
}

enum tap peft_form_write(const struct peft_form *f, enum tap map) {
    for (size_t i = 0; i < COUNT_OF(inputs) && f->input; i++)
        if (inputs[i].map == map) return inputs[i].write;
    return f->input ? TAP_NONE : map;
}

double peft_over(enum peft_type type, int rank, bool root) {
    return type == PEFT_ADALORA ? rank + 1e-5 : root ? sqrt(rank) : rank;
}

/* ---- names that contain the adapter's name, as in memory ---- */

/* Returns the adapter's name in `name` after a component, and its length; NULL: none. */
static const char *name_behind(const char *name, const char *part, size_t n, size_t *size) {
    const char *at = name;
    while ((at = strchr(at, '.')) && (strncmp(++at, part, n) || at[n] != '.')) continue;
    if (!at || !strcmp(at += n + 1, "weight") || !strcmp(at, "bias")) return NULL;
    *size = strcspn(at, ".");
    return at;
}

/* Does the same for all components. *saved: after modules_to_save, which is removed too. */
static const char *own_name(const char *name, size_t *size, bool *saved) {
    static const char whole[] = "modules_to_save", norms[] = "ln_tuning_layers";
    const char *at = name_behind(name, norms, strlen(norms), size);
    for (size_t i = 0; i < COUNT_OF(forms) && !at; i++)
        for (int k = 0; k < FORM_PARTS && forms[i].part[k].name && !at; k++)
            at = name_behind(name, forms[i].part[k].name, strcspn(forms[i].part[k].name, "."), size);
    *saved = !at;
    return at ? at : name_behind(name, whole, strlen(whole), size);
}

/* Returns the name without it; caller frees. */
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
        bool copy = bag_find(b, plain) != NULL; /* also under its original name */
        free(plain);
        if (copy) continue;
        if (first && (size != length || strncmp(own, first, size)))
            return err_set(
                e, ERR_INPUT,
                "%s: contains tensors of several adapters, \"%.*s\" and \"%.*s\"; save them separately "
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
    notes_add(said, "the adapter name \"%s\" was removed from the tensor names", name);
    free(name);
    return 0;
}
