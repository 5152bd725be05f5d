#include "core/method/retriever.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/method/keys.h"

static const struct retriever usual = {.on = true, .hidden = 128, .width = 64, .instance = INSTANCE_SUPCON,
                                       .weight = 0.1, .temperature = 0.1};
static const char *const instance_names[INSTANCE_COUNT] = {"none", "supcon", "negatives"};
static const char *const prototype_names[PROTOTYPE_COUNT] = {"none", "decoupled", "softmax"};
static const char *const keys[] = {"hidden", "width", "instance", "prototype", "weight", "temperature"};

const char *instance_name(enum instance_loss l) { return l < INSTANCE_COUNT ? instance_names[l] : "?"; }
struct retriever retriever_default(void) { return usual; }
const char *prototype_name(enum prototype_loss l) { return l < PROTOTYPE_COUNT ? prototype_names[l] : "?"; }
static const char *prototype_at(int i) { return prototype_name((enum prototype_loss)i); }
static const char *instance_at(int i) { return instance_name((enum instance_loss)i); }

bool retriever_equal(const struct retriever *a, const struct retriever *b) {
    if (!a->on || !b->on) return a->on == b->on;
    return a->hidden == b->hidden && a->width == b->width && a->instance == b->instance &&
           a->prototype == b->prototype && a->weight == b->weight &&
           a->temperature == b->temperature;
}

/* ---- text and JSON ---- */

static int size(const char *key, const char *value, int *out, struct err *e) {
    int64_t v;
    if (!text_to_int(value, &v) || v < 0 || v > 65536)
        return err_set(e, ERR_USAGE, "retriever: %s=%s: must be a whole number from 0 to 65536", key, value);
    *out = (int)v;
    return 0;
}

static int positive(const char *key, const char *value, double *out, struct err *e) {
    if (!text_to_double(value, out) || !(*out > 0) || !isfinite(*out))
        return err_set(e, ERR_USAGE, "retriever: %s=%s: must be a number above 0", key, value);
    return 0;
}

int retriever_set(struct retriever *r, const char *key, const char *value, struct err *e) {
    if (!strcmp(key, "hidden")) return size(key, value, &r->hidden, e);
    if (!strcmp(key, "width")) return size(key, value, &r->width, e);
    if (!strcmp(key, "weight")) return positive(key, value, &r->weight, e);
    if (!strcmp(key, "temperature")) return positive(key, value, &r->temperature, e);
    if (!strcmp(key, "instance")) {
        int i = key_word("instance", value, instance_at, INSTANCE_COUNT, e);
        if (i >= 0) r->instance = (enum instance_loss)i;
        return i < 0 ? err_prefix(e, "retriever") : 0;
    }
    if (!strcmp(key, "prototype")) {
        int i = key_word("prototype", value, prototype_at, PROTOTYPE_COUNT, e);
        if (i >= 0) r->prototype = (enum prototype_loss)i;
        return i < 0 ? err_prefix(e, "retriever") : 0;
    }
    const char *near = text_nearest(key, keys, COUNT_OF(keys));
    return err_set(e, ERR_USAGE,
                   "retriever has no '%s'%s%s%s (it takes hidden, width, instance, prototype, weight, temperature)", key,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* The value of a key, as retriever_set takes it. */
static void value_of(const struct retriever *r, const char *key, char out[32]) {
    if (!strcmp(key, "hidden")) snprintf(out, 32, "%d", r->hidden);
    else if (!strcmp(key, "width")) snprintf(out, 32, "%d", r->width);
    else if (!strcmp(key, "instance")) snprintf(out, 32, "%s", instance_name(r->instance));
    else if (!strcmp(key, "prototype")) snprintf(out, 32, "%s", prototype_name(r->prototype));
    else text_from_double(!strcmp(key, "weight") ? r->weight : r->temperature, out);
}

void retriever_text(const struct retriever *r, bool full, struct buf *out) {
    char value[32], standard[32];
    int written = 0;
    if (!r->on) return;
    buf_printf(out, "%sretriever", out->size ? " + " : "");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        value_of(r, keys[i], value);
        value_of(&usual, keys[i], standard);
        if (!full && !strcmp(value, standard)) continue;
        buf_printf(out, "%s%s=%s", written++ ? ", " : "(", keys[i], value);
    }
    if (written) buf_putc(out, ')');
}

void retriever_json(const struct retriever *r, struct buf *out) {
    if (!r->on) return;
    buf_printf(out, ",\"retriever\":{\"hidden\":%d,\"width\":%d,\"instance\":\"%s\",\"prototype\":\"%s\",\"weight\":",
               r->hidden, r->width, instance_name(r->instance), prototype_name(r->prototype));
    json_add_double(out, r->weight);
    buf_puts(out, ",\"temperature\":");
    json_add_double(out, r->temperature);
    buf_putc(out, '}');
}

int retriever_from_json(const json_t *o, struct retriever *r, struct err *e) {
    const char *key;
    json_t *v;
    *r = (struct retriever){0};
    if (!o) return 0;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "method: \"retriever\" must be an object");
    *r = usual;
    json_object_foreach((json_t *)o, key, v) {
        char number[32];
        const char *text = json_string_value(v);
        if (json_is_number(v)) {
            text_from_double(json_number_value(v), number);
            text = number;
        }
        if (retriever_set(r, key, text ? text : "", e)) {
            e->code = ERR_INPUT;
            return err_prefix(e, "method");
        }
    }
    return 0;
}

/* ---- its tensors ---- */

void retriever_plan(struct build *b) {
    const struct retriever *r = &b->p->method.retriever;
    int d = b->a->width;
    if (!r->on || !r->width) return;
    if (r->hidden) {
        build_retriever(b, SLOT_MLP_W1, r->hidden, d);
        build_retriever(b, SLOT_MLP_B1, 1, r->hidden);
    }
    build_retriever(b, SLOT_MLP_W2, r->width, r->hidden ? r->hidden : d);
    build_retriever(b, SLOT_MLP_B2, 1, r->width);
}

void retriever_init(struct rng_key key, const struct plan_tensor *t, int in, real *out) {
    double bound = 1 / sqrt(in);
    for (size_t i = 0; i < t->count; i++) out[i] = (real)((2 * rng_uniform(key, i) - 1) * bound);
}
