/* Any bytes as a config.json: refused, or a shape whose tensors can be listed; and as a
 * generation_config.json: refused, or settings that a search can be made with. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/model/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void settings(const uint8_t *bytes, size_t n) {
    const struct arch a = { .family = FAMILY_BART, .vocabulary = 40, .positions = 64, .decoder_layers = 1,
                            .decoder_start = 2, .eos_id = 2, .forced_bos = -1, .forced_eos = -1 };
    struct generate_options o;
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    if (generate_parse(&a, "fuzz", (const char *)bytes, n, &o, &report, &e)) {
        if (!e.code || !e.text[0]) abort();
    } else {
        struct search s;
        search_init(&s, &o, a.vocabulary, &o.start, 1, 0);
        if (search_token(&s, 0) < 0 || search_token(&s, 0) >= a.vocabulary) abort();
        search_release(&s);
    }
    buf_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    settings(bytes, n);
    struct arch a;
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    if (arch_parse("fuzz", (const char *)bytes, n, &a, &report, &e)) {
        if (!e.code || !e.text[0]) abort();
    } else {
        struct tensor_info *list;
        int count = arch_tensors(&a, &list);
        for (int i = 0; i < count; i++)
            if (list[i].rows < 1 || list[i].cols < 1) abort();
        free(list);
        arch_release(&a);
    }
    buf_release(&report);
    return 0;
}
