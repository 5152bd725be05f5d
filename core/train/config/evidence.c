#include "core/train/config/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/train/config/config.h"

/* ---- keys ---- */

/* Removes the ids of runs whose weights are recorded: ids differ between databases. */
static void drop_ids(json_t *of) {
    json_t *one;
    size_t i;
    if (json_is_string(json_object_get(of, "weights_sha256"))) json_object_del(of, "run");
    json_array_foreach(of, i, one) drop_ids(one);
}

/* Appends the members of a stored config that are not options; few configs have one. */
static void add_members(const char *config, int64_t parent, struct buf *b) {
    /* the last two are of a parent */
    static const char *const members[] = { "start", "starts", "taught_by", "fewshot", "draw" };
    struct err ignored = ERR_INIT;
    if (!strstr(config, "\"start\"") && !strstr(config, "\"taught_by\"") && !strstr(config, "\"fewshot\"") &&
        !strstr(config, "\"draw\":{"))
        return;
    json_t *all = json_parse("config", config, strlen(config), &ignored);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        json_t *v = json_object_get(all, members[i]);
        if (!v) continue;
        drop_ids(v);
        json_object_del(v, "with"); /* the run whose page shows it */
        if (i >= 3) buf_printf(b, "parent %lld\n", (long long)parent);
        char *text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS);
        buf_printf(b, "%s %s\n", members[i], text);
        free(text);
    }
    json_decref(all);
}

int evidence_key(const char *config, int64_t parent, enum evidence_of of, char out[65], struct err *e) {
    struct run_config c;
    struct buf b = BUF_INIT;
    char key[65];
    *out = '\0';
    if (config_from_json(config, strlen(config), &c, e)) return e->code;
    if (of == EVIDENCE_ANY_SEED) c.seed = 0;
    config_key(&c, key);
    config_release(&c);
    add_members(config, parent, &b);
    if (b.size) {
        buf_printf(&b, "%s\n", key);
        sha256_hex(buf_text(&b), b.size, key);
    }
    memcpy(out, key, sizeof key);
    buf_release(&b);
    return 0;
}

/* ---- which runs count ---- */

static bool evidence_newer(const struct evidence *a, const struct evidence *b) {
    return a->ended != b->ended ? a->ended > b->ended : a->run > b->run;
}

/* By key, the newest first. */
static int by_evidence(const void *pa, const void *pb) {
    const struct evidence *a = *(struct evidence *const *)pa, *b = *(struct evidence *const *)pb;
    int by = strcmp(a->key ? a->key : "", b->key ? b->key : "");
    return by ? by : evidence_newer(a, b) ? -1 : evidence_newer(b, a);
}

void evidence_settle(struct evidence *of, size_t n) {
    struct evidence **sorted = xcalloc(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &of[i];
        of[i].counted = of[i].run;
        of[i].differs = false;
    }
    qsort(sorted, n, sizeof *sorted, by_evidence);
    for (size_t from = 0, to; from < n; from = to) {
        const char *key = sorted[from]->key, *weights = NULL;
        bool differs = false;
        for (to = from + 1; key && *key && to < n && !strcmp(sorted[to]->key, key);) to++;
        for (size_t i = from; i < to; i++) {
            if (weights && sorted[i]->weights) differs |= strcmp(weights, sorted[i]->weights) != 0;
            if (!weights) weights = sorted[i]->weights;
        }
        for (size_t i = from; i < to; i++) {
            sorted[i]->counted = sorted[differs ? from : to - 1]->run;
            sorted[i]->differs = differs;
        }
    }
    free(sorted);
}
