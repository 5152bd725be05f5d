/* Any bytes as a file of torch.save, and as a pickle: refused, or every tensor can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/model/pickle.h"
#include "core/model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    struct err e = ERR_INIT;
    size_t used;
    pickle_free(pickle_read("fuzz", bytes, n, &used, &e));
    if (used > n) abort();
    struct st_file *f = st_open_memory("fuzz", bytes, n, &e);
    if (!f) {
        if (!e.code || !e.text[0]) abort();
        return 0;
    }
    for (size_t i = 0; i < st_count(f); i++) {
        const struct st_tensor *t = st_at(f, i);
        if (t->end > n) abort();
        real *values = mem_try(t->count ? t->count : 1, sizeof *values);
        if (values) st_read(f, t, values, &e);
        free(values);
    }
    st_close(f);
    return 0;
}
