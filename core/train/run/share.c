#include "core/train/run/share.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/frozen_layers.h"

static struct frozen *share_add(struct run *r, int layers, const struct dataset *d) {
    struct frozen *f = frozen_new(r->m, layers, r->c.precision, d, r->c.cache_limit);
    r->share.of = xrealloc(r->share.of, (size_t)r->share.count + 1, sizeof *r->share.of);
    return r->share.of[r->share.count++] = f;
}

static void share_split(struct run *r, int layers, struct run_split *s) {
    s->text.frozen = s->scoring.frozen = share_add(r, layers, s->data);
}

/* Returns the message about shared layers; caller frees. */
static char *share_text(const struct run *r, int layers, const char *why) {
    int all = r->m->arch.encoder_layers;
    const char *stack = r->m->arch.decoder_layers ? " of the encoder" : "";
    if (!layers)
        return xprintf("--share-frozen on: no effect: %s", why);
    char *folder = frozen_folder();
    char *path = folder ? text_visible(folder, strlen(folder)) : NULL;
    char *where = !r->c.cache_limit || !path ? xstrdup("not cached on disk")
                                             : xprintf("cached in %s, up to %d MB", path, r->c.cache_limit);
    char *text = xprintf(
        "--share-frozen on: %d of %d layers%s are frozen and computed once per example, without dropout; %s",
        layers, all, stack, where);
    free(folder);
    free(path);
    free(where);
    return text;
}

void share_init(struct run *r) {
    char why[FROZEN_LAYERS_REASON];
    if (!r->c.share_frozen) return;
    int layers = method_frozen_layers(r->plan, &r->m->arch, why);
    char *text = share_text(r, layers, why);
    run_say(r, text);
    free(text);
    for (int i = 0; i < r->tasks && layers; i++)
        r->of[i].frozen = share_add(r, layers, &r->of[i].task->train);
    for (int i = 0; i < r->evaluation.splits && layers; i++) share_split(r, layers, &r->evaluation.split[i]);
    for (int i = 0; i < r->final.tests && layers; i++) share_split(r, layers, &r->final.test[i]);
}

void share_release(struct run *r) {
    for (int i = 0; i < r->share.count; i++) frozen_free(r->share.of[i]);
    free(r->share.of);
}

void share_tell(struct run *r) {
    struct err e = ERR_INIT;
    for (int i = 0; i < r->share.count; i++) {
        if (!frozen_trouble(r->share.of[i], &e) || r->share.reported) continue;
        char *text = xprintf("--share-frozen on: caching stopped, results are unaffected: %.400s",
                             e.text);
        run_say(r, text);
        free(text);
        r->share.reported = true;
    }
}
