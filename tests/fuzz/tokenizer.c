/* A first byte 'J' (tokenizer.json) or another (vocab.txt), the file, a zero byte, a text:
 * refused, or a tokenizer whose ids are all in its vocabulary and within the limit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char folder[] = "/tmp/petri-fuzz-XXXXXX", path[2][64];

static void clean(void) {
    for (int i = 0; i < 2; i++) unlink(path[i]);
    rmdir(folder);
}

static void start(void) {
    if (path[0][0]) return;
    if (!mkdtemp(folder)) abort();
    snprintf(path[0], sizeof path[0], "%s/tokenizer.json", folder);
    snprintf(path[1], sizeof path[1], "%s/vocab.txt", folder);
    atexit(clean);
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
            encoded_release(&x);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    start();
    if (n < 1) return 0;
    bool json = bytes[0] == 'J';
    const uint8_t *end = memchr(bytes + 1, 0, n - 1);
    size_t size = end ? (size_t)(end - bytes - 1) : n - 1;
    const char *text = (const char *)bytes + (end ? size + 2 : n);
    FILE *f = fopen(path[!json], "wb");
    if (!f || fwrite(bytes + 1, 1, size, f) != size || fclose(f)) abort();
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    struct tokenizer *t = tokenizer_read(folder, &report, &e);
    if (t) check(t, text, (size_t)((const char *)bytes + n - text));
    else if (!e.code || !e.text[0]) abort();
    tokenizer_free(t);
    buf_release(&report);
    unlink(path[!json]);
    return 0;
}
