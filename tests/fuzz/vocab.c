/* Any bytes as texts for a vocabulary, the first one its size: refused with a message, or at most so many tokens, no two alike, and
 * the same whatever the order of the lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/vocab_train.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { LINES = 200 };

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int train(char **line, int lines, bool turned, int size, struct buf *out) {
    struct err e = ERR_INIT;
    struct vocab_trainer *t = vocab_trainer_new();
    int rc = 0;
    for (int i = 0; !rc && i < lines; i++) {
        const char *text = line[turned ? lines - 1 - i : i];
        rc = vocab_trainer_add(t, text, strlen(text), &e);
    }
    if (!rc) rc = vocab_trainer_run(t, size, out, NULL, &e);
    if (rc && (!e.text[0] || (rc != ERR_INPUT && rc != ERR_USAGE))) abort();
    vocab_trainer_free(t);
    return rc;
}

static void check(char *vocabulary, int size) {
    char **token = xcalloc((size_t)size + 1, sizeof *token), *rest = vocabulary;
    int n = 0;
    for (char *one; (one = strsep(&rest, "\n")) && *one;) {
        if (n == size || !utf8_valid(one, strlen(one))) abort();
        token[n++] = one;
    }
    qsort(token, (size_t)n, sizeof *token, by_text);
    for (int i = 1; i < n; i++)
        if (!strcmp(token[i - 1], token[i])) abort();
    free(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    if (n < 2 || !utf8_valid((const char *)bytes + 1, n - 1)) return 0;
    struct buf out = BUF_INIT, turned = BUF_INIT;
    char *text = xstrndup((const char *)bytes + 1, n - 1), *rest = text, *line[LINES];
    int lines = 0, size = VOCAB_TRAIN_LEAST + bytes[0];
    while (lines < LINES && (line[lines] = strsep(&rest, "\n"))) lines++;
    int rc = train(line, lines, false, size, &out);
    if (rc != train(line, lines, true, size, &turned)) abort();
    if (!rc && strcmp(buf_text(&out), buf_text(&turned))) abort();
    if (!rc) check(out.data, size);
    buf_release(&out);
    buf_release(&turned);
    free(text);
    return 0;
}
