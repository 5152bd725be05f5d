/* A first byte 'J' (tokenizer.json), 'M' (vocab.json, a zero byte, merges.txt) or another
 * (vocab.txt), the file, a zero byte, a text: refused, or a tokenizer whose ids are all in its
 * vocabulary and within the limit, and decode to valid UTF-8. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { JSON, LINES, VOCAB, MERGES, FILES };

static char folder[] = "/tmp/petri-fuzz-XXXXXX", path[FILES][64];

static void clean(void) {
    for (int i = 0; i < FILES; i++) unlink(path[i]);
    rmdir(folder);
}

static void start(void) {
    static const char *const name[FILES] = {"tokenizer.json", "vocab.txt", "vocab.json",
                                            "merges.txt"};
    if (path[0][0]) return;
    if (!mkdtemp(folder)) abort();
    for (int i = 0; i < FILES; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, name[i]);
    atexit(clean);
}

/* Writes the bytes up to a zero byte into a file; returns how many were used. */
static size_t put(int file, const uint8_t *bytes, size_t n) {
    const uint8_t *end = memchr(bytes, 0, n);
    size_t size = end ? (size_t)(end - bytes) : n;
    FILE *f = fopen(path[file], "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) abort();
    return end ? size + 1 : n;
}

static void check_decoded(const struct tokenizer *t, const struct encoded *x) {
    struct buf out = BUF_INIT;
    for (int skip = 0; skip < 2; skip++) tokenizer_decode(t, x->ids, x->n, skip, &out);
    if (!utf8_valid(buf_text(&out), out.size)) abort();
    buf_release(&out);
}

static void check(const struct tokenizer *t, const char *text, size_t n) {
    for (int pair = 0; pair < 2; pair++)
        for (size_t limit = 0; limit < 40; limit += 13) {
            struct encoded x;
            struct err e = ERR_INIT;
            if (tokenizer_encode(t, text, n, pair ? text : NULL, n / 2, limit, &x, &e)) {
                if (e.code != ERR_USAGE) abort();
                continue;
            }
            if (x.n > limit) abort();
            for (size_t i = 0; i < x.n; i++)
                if (!strcmp(tokenizer_token(t, x.ids[i]), "?") && tokenizer_id(t, "?") != x.ids[i])
                    abort();
            check_decoded(t, &x);
            encoded_release(&x);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    start();
    if (n < 1) return 0;
    int first = bytes[0] == 'J' ? JSON : bytes[0] == 'M' ? VOCAB : LINES;
    size_t at = 1;
    at += put(first, bytes + at, n - at);
    if (first == VOCAB) at += put(MERGES, bytes + at, n - at);
    const char *text = (const char *)bytes + at;
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    struct tokenizer *t = tokenizer_read(folder, &report, &e);
    if (t) check(t, text, n - at);
    else if (!e.code || !e.text[0]) abort();
    tokenizer_free(t);
    buf_release(&report);
    for (int i = 0; i < FILES; i++) unlink(path[i]);
    return 0;
}
