/* Any bytes as a GGUF file: refused, or every tensor and every value of its metadata can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/model/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    struct err e = ERR_INIT;
    struct st_file *f = st_open_memory("fuzz", bytes, n, &e);
    if (!f) {
        if (!e.code || !e.text[0]) abort();
        return 0;
    }
    size_t sum = 0;
    for (size_t i = 0; i < st_count(f); i++) {
        const struct st_tensor *t = st_at(f, i);
        if (st_find(f, t->name) != t) abort();
        sum += t->end - t->begin;
        free(gguf_folder_name(t->name));
        real *values = mem_try(t->count ? t->count : 1, sizeof *values);
        if (values) st_read(f, t, values, &e);
        free(values);
    }
    const char *key;
    for (size_t i = 0; st_gguf(f) && (key = gguf_key(st_gguf(f), i)); i++) {
        struct err why = ERR_INIT;
        json_t *v = gguf_value(st_gguf(f), key, &why);
        if (!v == !why.code) abort();
        json_decref(v);
        if (gguf_length(st_gguf(f), key) > n) abort();
    }
    if (st_gguf(f) && sum > n) abort();
    st_close(f);
    return 0;
}
