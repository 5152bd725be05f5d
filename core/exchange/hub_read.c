/* Reads the tensors of an AdapterHub folder into pieces at places of the model. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub_reader.h"
#include "core/method/classifier.h"

/* Returns the path before ".INFIX.NAME." and the rest, or NULL; caller frees. */
static char *split(const struct hub_reader *r, const char *name, const char *infix,
                   const char **rest) {
    char *mark = xprintf(".%s.%s.", infix, r->hub.name);
    const char *at = strstr(name, mark);
    *rest = at ? at + strlen(mark) : NULL;
    free(mark);
    return at ? xstrndup(name, (size_t)(at - name)) : NULL;
}

/* ---- bottlenecks ---- */

struct bag_tensor *hub_sibling(struct hub_reader *r, const struct bag_tensor *t, const char *own,
                              const char *other) {
    char *name = xprintf("%.*s%s", (int)(strlen(t->name) - strlen(own)), t->name, other);
    struct bag_tensor *x = bag_find(&r->in.bag, name);
    free(name);
    return x;
}

/* Returns the suffix of the tensor of W_d: trained directly, or of Kronecker products. */
static const char *down_name(const struct hub_reader *r) {
    static const char *const names[2][3] = {
        { "adapter_down.0.weight", "adapter_down.0.W_left", "adapter_down.0.W" },
        { "adapter_down.1.weight", "adapter_down.1.W_left", "adapter_down.1.W" }
    };
    const json_t *c = r->hub.bottleneck;
    int behind = json_is_true(json_object_get(c, "ln_before"));
    if (hub_shares_factors(c)) return behind ? "adapter_down.1.b" : "adapter_down.0.b";
    if (!json_is_true(json_object_get(c, "phm_layer"))) return names[behind][0];
    return names[behind][json_is_false(json_object_get(c, "factorized_phm_W")) ? 2 : 1];
}

struct bag_tensor *hub_shared(struct hub_reader *r, const char *which) {
    char *end = xprintf("shared_parameters.%s.%s", r->hub.name, which);
    struct bag_tensor *found = bag_find_end(&r->in.bag, end);
    free(end);
    return found;
}

static int shape3(struct hub_reader *r, const struct bag_tensor *t, size_t a, size_t b, size_t c,
                  struct err *e) {
    if (t && t->rank == 3 && t->shape[0] == a && t->shape[1] == b && t->shape[2] == c) return 0;
    return reading_refuse(&r->in, t, "its shape does not match the Kronecker products in the config", e);
}

/* Reads the shared set of A_i. */
static int take_rule(struct hub_reader *r, const struct module *m, struct err *e) {
    struct bag_tensor *rule = hub_shared(r, "phm_rule");
    size_t n = (size_t)m->mid;
    if (!rule)
        return err_set(e, ERR_INPUT,
                       "%s: phm_rule is missing, and the Kronecker products cannot be restored without it: "
                       "adapter-transformers did not save it",
                       r->in.bag.path);
    if (shape3(r, rule, n, n, n, e)) return e->code;
    rule->used = true;
    assembly_value(&r->in.to, &(struct method_value){ SLOT_KRON_A, rule->values, rule->count, 0, 0, 0, 0 });
    return 0;
}

/* Returns the found tensor of a slot, or NULL. */
static struct bag_tensor **of_slot(struct bag_tensor *found[HUB_MOST_PARTS], enum slot slot) {
    int i = 0;
    while (hub_bottleneck_parts[i].slot != slot || (!found[i] && hub_bottleneck_parts[i + 1].slot == slot))
        i++;
    return &found[i];
}

/* Multiplies W_u and b_u by a trained scale, a scalar or one per channel. */
static int take_scaled(struct hub_reader *r, struct placed *p, struct bag_tensor *found[HUB_MOST_PARTS],
                       size_t d, struct err *e) {
    struct bag_tensor **w = of_slot(found, SLOT_UP_W), **b = of_slot(found, SLOT_UP_B),
                      **s = of_slot(found, SLOT_SCALE);
    BUG_IF(!*w || !*b || !*s);
    size_t n = (*s)->count, cols = (size_t)p->module.size;
    if (n != 1 && n != d)
        return reading_refuse(&r->in, *s, "must contain one scale, or one per channel", e);
    if ((*b)->count != d) return reading_refuse(&r->in, *b, "its length differs from the output width of "
                                                            "the linear layer", e);
    if (reading_shape(&r->in, *w, d, cols, e)) return e->code;
    real *up = reading_room(&r->in, d * cols), *bias = up ? reading_room(&r->in, d) : NULL;
    if (!bias)
        return err_set(e, ERR_SYSTEM, "out of memory for the scaled up-projection of a bottleneck adapter");
    for (size_t i = 0; i < d; i++) {
        real x = (*s)->values[n == 1 ? 0 : i];
        for (size_t j = 0; j < cols; j++) up[i * cols + j] = x * (*w)->values[i * cols + j];
        bias[i] = x * (*b)->values[i];
    }
    if (!r->told_scale)
        notes_add(&r->in.out->assumed, "the trainable scale of a bottleneck with a gate, or with a "
                                       "LayerNorm after it, was merged into W_u and b_u");
    r->told_scale = (*s)->used = (*w)->used = (*b)->used = true;
    piece_add(p, SLOT_UP_W, up, d * cols);
    piece_add(p, SLOT_UP_B, bias, d);
    *s = *w = *b = NULL;
    return 0;
}

static int take_bottleneck(struct hub_reader *r, struct bag_tensor *down, const char *path, struct err *e) {
    const struct tensor_info *at = hub_map(r->in.m, path);
    struct bag_tensor *found[HUB_MOST_PARTS];
    struct module m;
    if (!at) return reading_refuse(&r->in, down, "the model has no such layer", e);
    if (!r->hub.bottleneck) return reading_refuse(&r->in, down, "the config describes no bottleneck", e);
    if (hub_bottleneck(&r->hub, &r->in.m->arch, at->role == ROLE_O_W, &m, e)) return e->code;
    char *place = xstrndup(down->name, strlen(down->name) - strlen(down_name(r)));
    int rc = hub_find_parts(r, hub_bottleneck_parts, place, &m, down, found, e);
    free(place);
    if (rc) return rc;
    /* the width, from the rows of W_d */
    bool products = m.source == SOURCE_KRONECKER;
    const struct bag_tensor *w = *of_slot(found, !products  ? SLOT_DOWN_W
                                                 : m.factor ? SLOT_KRON_R_DOWN
                                                            : SLOT_KRON_L_DOWN);
    size_t size = products       ? w->rank == 3 ? w->shape[2] * (size_t)m.mid : 0
                  : w->rank == 2 ? w->shape[0]
                                 : 0,
           d = (size_t)r->in.m->arch.width;
    if (!size || size > 1 << 16) return reading_refuse(&r->in, down, "the bottleneck width must be between "
                                                                     "1 and 65,536", e);
    m.size = (int)size;
    struct placed *p = assembly_piece(&r->in.to, &m, at->stack, at->sublayer, at->layer);
    if (products && !m.own_rule && !r->in.to.values && take_rule(r, &m, e)) return e->code;
    if (hub_scale_is_folded(r->hub.bottleneck) && take_scaled(r, p, found, d, e)) return e->code;
    return hub_take_parts(r, hub_bottleneck_parts, p, d, d, found, e);
}

/* ---- the head ---- */

static int hub_read_labels(struct hub_reader *r, const json_t *c, struct err *e) {
    const json_t *ids = json_object_get(c, "label2id"), *v;
    const char *name;
    if (r->in.classes < 2 || !json_object_size(ids)) return 0;
    r->in.label = xcalloc((size_t)r->in.classes + 1, sizeof *r->in.label);
    json_object_foreach((json_t *)ids, name, v) {
        json_int_t i = json_is_integer(v) ? json_integer_value(v) : -1;
        if (i < 0 || i >= r->in.classes || r->in.label[i])
            return err_set(e, ERR_INPUT, "%s: \"label2id\" must assign a different id to each of the %d "
                                         "classes, starting at 0",
                           r->head.path, r->in.classes);
        r->in.label[i] = xstrdup(name);
    }
    for (int i = 0; i < r->in.classes; i++)
        if (!r->in.label[i])
            return err_set(e, ERR_INPUT, "%s: \"label2id\" has no label for class %d",
                           r->head.path, i);
    return 0;
}

static int take_head_tensor(struct hub_reader *r, struct bag_tensor *t, const char *head, int64_t layers,
                            struct err *e) {
    char *before = xprintf("heads.%s.", head);
    const char *rest = text_starts(t->name, before) ? t->name + strlen(before) : NULL,
               *as = reading_head_name(t->name);
    const char *last = layers == 2 ? "4." : "1.";
    int rc;
    free(before);
    if (as) return reading_head(&r->in, t, as, e);
    if (rest && r->own_pooler && text_starts(rest, "1.")) return 0;
    if (rest && layers == 2 && text_starts(rest, "1."))
        rc = reading_head(&r->in, t, text_ends(rest, ".weight") ? "head.dense.weight" : "head.dense.bias", e);
    else if (rest && text_starts(rest, last))
        rc = reading_head(&r->in, t, text_ends(rest, ".weight") ? "head.weight" : "head.bias", e);
    else rc = reading_refuse(&r->in, t, "not a tensor of a classification head", e);
    return rc;
}

/* Checks the layers of the head between the first token and the outputs. */
static int check_head(struct hub_reader *r, const char *path, const json_t *c, int64_t *layers,
                      struct err *e) {
    const json_t *type = json_object_get(c, "head_type"), *act = json_object_get(c, "activation_function");
    const struct arch *a = &r->in.m->arch;
    struct classifier own = { .on = true,
                              .act = ACT_TANH,
                              .pooler = json_is_true(json_object_get(c, "use_pooler")) };
    json_int_t n = 1;
    if (json_is_string(type) && strcmp(json_string_value(type), "classification"))
        return reading_refuse_key(path, "head_type", type, "only classification heads are supported", e);
    if (!json_get_int(c, path, "layers", &n, e) && e->code) return e->code;
    if (n < 1 || n > 2)
        return reading_refuse_key(path, "layers", json_object_get(c, "layers"),
                                  "only heads of one or two layers are supported", e);
    if (n == 2 && json_is_string(act) && hub_activation(&r->hub, json_string_value(act), &own.act))
        return reading_refuse_key(path, "activation_function", act, hub_no_activation,
                                                                    e);
    if (own.pooler && !a->pooler)
        return reading_refuse_key(path, "use_pooler", json_object_get(c, "use_pooler"),
                                  "petri does not support a pooler for models of this family", e);
    *layers = n;
    own.layers = (int)n;
    const struct method m = { .classifier = own };
    if (json_is_string(type) && classifier_of(&m, a)) r->in.to.classifier = own;
    return 0;
}

/* Returns whether the first of a head's two maps equals the model's pooler, as in an export of the family's
 * own head. */
static bool is_the_pooler(struct hub_reader *r, const char *head) {
    static const struct {
        enum tensor_role role;
        const char *last;
    } parts[] = { { ROLE_POOLER_W, "weight" }, { ROLE_POOLER_B, "bias" } };
    const struct classifier *c = &r->in.to.classifier;
    bool same = c->on && c->layers == 2 && c->act == ACT_TANH && !c->pooler && !r->in.m->arch.pooler_absent;
    for (size_t k = 0; k < COUNT_OF(parts) && same; k++) {
        char *name = xprintf("heads.%s.1.%s", head, parts[k].last);
        const struct bag_tensor *t = bag_find(&r->head, name);
        int i = arch_find(r->in.m->tensor, r->in.m->tensors, parts[k].role, STACK_ENCODER, SUB_EMBED, -1);
        same = t && i >= 0 && t->count == (size_t)r->in.m->tensor[i].rows * (size_t)r->in.m->tensor[i].cols &&
               !memcmp(t->values, model_weight(r->in.m, i), t->count * sizeof *t->values);
        free(name);
    }
    return same;
}

/* A head without a bias in the last map gets a zero bias. */
static void fill_bias(struct hub_reader *r, const json_t *c) {
    static const real none[1 << 10];
    if (!json_is_false(json_object_get(c, "bias")) || r->in.classes > (int)COUNT_OF(none)) return;
    assembly_head(&r->in.to, "head.bias", none, (size_t)r->in.classes);
    notes_add(&r->in.out->assumed, "the checkpoint has no head bias; it is initialized to 0 and trained");
}

int hub_reader_head(struct hub_reader *r, const char *folder, const char *otherwise, struct err *e) {
    char *path = file_join(folder, "head_config.json"), *packed = file_join(folder, "model_head.safetensors"),
         *pickled = file_join(folder, "pytorch_model_head.bin");
    int64_t layers = 1;
    bool there = file_exists(path) && (file_exists(packed) || file_exists(pickled));
    json_t *config = there ? json_read(path, CONFIG_BYTES, e) : NULL;
    const json_t *c = json_object_get(config, "config");
    const char *name = json_string_value(json_object_get(config, "name"));
    if (!name) name = otherwise;
    int rc = !there ? 0 : config ? check_head(r, path, c, &layers, e) : e->code;
    if (config && !rc) notes_add(&r->in.out->read, "head_config.json");
    if (config && !rc)
        rc = reading_tensors(folder, "model_head.safetensors", "pytorch_model_head.bin", &r->head,
                             &r->in.out->read, e);
    r->own_pooler = config && !rc && is_the_pooler(r, name);
    if (r->own_pooler) r->in.to.classifier = (struct classifier){ 0 };
    for (size_t i = 0; i < r->head.count && !rc; i++)
        rc = take_head_tensor(r, &r->head.tensor[i], name, layers, e);
    if (config && !rc) fill_bias(r, c);
    if (config && !rc) rc = hub_read_labels(r, c, e);
    json_decref(config);
    free(packed);
    free(pickled);
    free(path);
    return rc;
}

/* ---- all ---- */

static int take_tensor(struct hub_reader *r, struct bag_tensor *t, struct err *e) {
    static const char *const infixes[] = { "adapters", "layer_text_task_adapters", "layer_text_lang_adapters",
                                           "attention_text_task_adapters", "attention_text_lang_adapters" };
    const char *rest;
    int rc = 0;
    for (size_t i = 0; i < COUNT_OF(infixes) && !t->used; i++) {
        char *path = split(r, t->name, infixes[i], &rest);
        if (path && !strcmp(rest, down_name(r))) rc = take_bottleneck(r, t, path, e);
        free(path);
        if (rc) return rc;
    }
    char *map = t->used ? NULL : split(r, t->name, "loras", &rest);
    if (map && (!strcmp(rest, "lora_B") || !strcmp(rest, "vera_B"))) rc = hub_take_low(r, t, rest, map, e);
    free(map);
    return rc;
}

/* Translates names of the library's first version, adapter-transformers. */
static void hub_read_rename(struct bag *b) {
    static const char *const names[][2] = {
        { "attention_text_task_adapters", "adapters" }, { "attention_text_lang_adapters", "adapters" },
        { "layer_text_task_adapters", "adapters" },     { "layer_text_lang_adapters", "adapters" },
        { "invertible_lang_adapters", "invertible_adapters" },
    };
    for (size_t i = 0; i < b->count * COUNT_OF(names); i++) {
        char **name = &b->tensor[i / COUNT_OF(names)].name;
        const char *const *as = names[i % COUNT_OF(names)], *at = strstr(*name, as[0]);
        if (!at) continue;
        char *new = xprintf("%.*s%s%s", (int)(at - *name), *name, as[1], at + strlen(as[0]));
        free(*name);
        *name = new;
    }
}

/* Multiplies a rule stored as two factors: A_i = n×1 by 1×n. */
static int make_rule(struct hub_reader *r, struct bag_tensor *left, struct err *e) {
    struct bag_tensor *right = hub_sibling(r, left, "_left", "_right");
    size_t n = left->shape[0];
    if (left->rank != 3 || !n || n > 1 << 10 || shape3(r, left, n, n, 1, e) || !right ||
        shape3(r, right, n, 1, n, e))
        return reading_refuse(
            &r->in, left, "expected a factor of phm_rule of shape n × n × 1, and phm_rule_right of shape n "
                          "× 1 × n",
                          e);
    real *rule = mem_try(n * n * n, sizeof *rule);
    if (!rule) return err_set(e, ERR_SYSTEM, "out of memory for phm_rule");
    for (size_t i = 0; i < n * n * n; i++)
        rule[i] = left->values[i / n] * right->values[i / (n * n) * n + i % n];
    free(left->values);
    left->values = rule;
    left->shape[2] = n;
    left->count = n * n * n;
    left->name[strlen(left->name) - strlen("_left")] = 0;
    right->used = true;
    return 0;
}

/* Multiplies out Kronecker products of a form that petri does not train, per place. */
static int take_switches(struct hub_reader *r, struct err *e) {
    const json_t *c = r->hub.bottleneck;
    bool factors = hub_factors_rule(c);
    for (size_t i = 0; i < r->in.bag.count && factors; i++)
        if (text_ends(r->in.bag.tensor[i].name, "phm_rule_left") && make_rule(r, &r->in.bag.tensor[i], e))
            return e->code;
    struct notes *to = &r->in.out->assumed;
    if (factors)
        notes_add(to, "the two factors of phm_rule were multiplied, and their product is trained");
    if (hub_shares_factors(c))
        notes_add(to, "factors shared by all linear layers were copied to each layer and are trained "
                      "separately");
    if (json_is_true(json_object_get(c, "phm_layer")) && json_is_false(json_object_get(c, "learn_phm")))
        notes_add(
            to, "phm_rule is trained, although the config freezes it (learn_phm)");
    return 0;
}

/* Refuses invertible adapters in the config without tensors, except in older task adapters, whose configs
 * list them without having them. */
static void note_inverse(struct hub_reader *r) {
    const json_t *inverse = json_object_get(r->hub.bottleneck, "inv_adapter"),
                 *old = json_object_get(r->hub.bottleneck, "invertible_adapter");
    if (json_is_object(old)) inverse = json_object_get(old, "block_type");
    if (json_is_string(inverse))
        notes_add(&r->in.out->ignored, "%s: %s has no tensors in the file",
                  json_is_object(old) ? "invertible_adapter" : "inv_adapter", json_string_value(inverse));
}

int hub_reader_adapter(struct hub_reader *r, const char *folder, struct err *e) {
    int rc = hub_open(folder, &r->hub, e);
    if (rc) return rc;
    notes_add(&r->in.out->read, ADAPTER_CONFIG);
    if (reading_tensors(folder, "adapter.safetensors", "pytorch_adapter.bin", &r->in.bag, &r->in.out->read,
                        e))
        return e->code;
    hub_read_rename(&r->in.bag);
    if (take_switches(r, e)) return e->code;
    if (*r->hub.version) r->in.out->version = xstrdup(r->hub.version);
    for (size_t i = 0; i < r->in.bag.count && !rc; i++) rc = take_tensor(r, &r->in.bag.tensor[i], e);
    if (!rc && r->hub.prefix) rc = hub_take_prefix(r, e);
    if (!rc && r->hub.prompt) rc = hub_take_prompt(r, e);
    if (!rc) rc = bag_check_used(&r->in.bag, e);
    if (!rc) note_inverse(r);
    return rc;
}

void hub_reader_init(struct hub_reader *r, struct model *m, struct imported *out) {
    *r = (struct hub_reader){ .in = { .m = m, .out = out }, .hub.version = "" };
    assembly_init(&r->in.to, m);
}

void hub_reader_release(struct hub_reader *r) {
    reading_release(&r->in);
    bag_release(&r->head);
    hub_close(&r->hub);
}

int import_hub(const char *folder, struct model *m, struct imported *out, struct err *e) {
    struct hub_reader r;
    *out = (struct imported){ .format = "adapterhub", .model = m };
    hub_reader_init(&r, m, out);
    int rc = hub_takes(m, e);
    if (!rc) rc = hub_reader_adapter(&r, folder, e);
    if (!rc) rc = hub_reader_head(&r, folder, r.hub.name, e);
    if (!rc) rc = reading_build(&r.in, json_string_value(json_object_get(r.hub.config, "model_name")), e);
    if (!rc) out->origin = xstrdup(r.hub.text);
    if (!rc) curve_read(folder, &out->curve, &out->read, &out->ignored);
    hub_reader_release(&r);
    if (rc) import_release(out);
    return rc;
}
