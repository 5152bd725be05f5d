/* Any bytes as a config.json: refused, or a shape whose tensors can be listed. */
#include <stdint.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/model/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
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
