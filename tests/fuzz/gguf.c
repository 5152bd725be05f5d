/* Any bytes as a GGUF file: refused, or every tensor, every value of its metadata and its
 * tokenizer can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/model/gguf.h"
#include "core/text/chat.h"
#include "core/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* The tokenizer encodes a text whose ids are within its vocabulary. */
static void read_fuzz_tokenizer(const struct gguf *g) {
    static const char text[] = "The cat, 12 <|im_end|>\n \xc3\xa9";
    struct err e = ERR_INIT;
    json_t *meta = gguf_tokenizer(g, &e), *settings = NULL,
           *root = meta ? tokenizer_from_gguf("fuzz", meta, &settings, &e) : NULL;
    struct tokenizer *t = root ? tokenizer_make("fuzz", root, settings, NULL, &e) : NULL;
    struct encoded x;
    if (meta && !t && (!e.code || !e.text[0])) abort();
    if (t && !tokenizer_encode(t, text, sizeof text - 1, NULL, 0, 1000, &x, &e)) {
        if (x.greatest >= tokenizer_size(t)) abort();
        encoded_release(&x);
    }
    tokenizer_free(t);
    json_decref(meta);
    json_decref(root);
    json_decref(settings);
}

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
        free(gguf_folder_name(t->name, i % 2));
        real *values = mem_try(t->count ? t->count : 1, sizeof *values);
        if (values) st_read(f, t, values, &e);
        free(values);
    }
    const char *key;
    for (size_t i = 0; st_gguf(f) && (key = gguf_key(st_gguf(f), i)); i++) {
        struct err why = ERR_INIT;
        json_t *v = gguf_value(st_gguf(f), key, &why);
        if (!v == !why.code) abort();
        struct chat_template chat = { 0 };
        if (json_is_string(v))
            chat_template_recognize(&chat, "fuzz", json_string_value(v), json_string_length(v), &why);
        chat_template_release(&chat);
        json_decref(v);
        if (gguf_length(st_gguf(f), key) > n) abort();
        why.code = 0;
        json_decref(gguf_array(st_gguf(f), key, &why));
    }
    if (st_gguf(f)) read_fuzz_tokenizer(st_gguf(f));
    if (st_gguf(f) && sum > n) abort();
    st_close(f);
    return 0;
}
