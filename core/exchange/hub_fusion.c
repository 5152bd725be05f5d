/* Reads an AdapterHub fusion: its maps, and the adapters from their folders. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub_reader.h"

enum { FUSED_MOST = MIX_MOST };

struct hub_fused {
    struct hub_reader whole;           /* the maps, the head, and all pieces */
    struct hub_reader part[FUSED_MOST]; /* the adapters */
    char *folder[FUSED_MOST];
    int parts;
    char *path, *text; /* of adapter_fusion_config.json */
    json_t *config;
    const char *name;  /* "a,b" */
};

static const char hub_fusion_file[] = "adapter_fusion_config.json";

bool import_is_fusion(const char *folder) {
    char *path = file_join(folder, hub_fusion_file);
    bool is = file_exists(path);
    free(path);
    return is;
}

char *import_fusion_base(const char *folder) { return reading_member(folder, hub_fusion_file, "model_name"); }

/* ---- the config ---- */

/* V is linear and commutes with the softmax sum (value_before_softmax); dropout applies only in training. */
const char hub_usual_fusion[] = "{\"dropout_prob\":null,\"key\":true,\"query\":true,\"query_before_ln\":"
                                "false,\"regularization\":true,"
                                "\"residual_before\":false,\"temperature\":false,\"value\":true,\"value_"
                                "before_softmax\":true,"
                                "\"value_initialized\":true}";
static const char *const nothing_more[] = { NULL };

static bool is_yes(const json_t *c, const char *key) {
    const json_t *v = json_object_get(c, key);
    return json_is_true(v) || (json_is_string(v) && !strcmp(json_string_value(v), "True"));
}

static int take_config(struct hub_fused *x, struct err *e) {
    const json_t *c = json_object_get(x->config, "config"), *warm = json_object_get(c, "temperature");
    if (!json_is_object(c)) return err_set(e, ERR_INPUT, "%s: \"config\" must be an object", x->path);
    if (!reading_is_nothing(warm))
        return reading_refuse_key(x->path, "temperature", warm,
                                  "not supported, because AdapterHub lowers the temperature with each "
                                  "forward pass and does not save it",
                                  e);
    if (reading_check_keys(x->path, c, hub_usual_fusion, nothing_more, e)) return e->code;
    x->whole.in.to.fusion = (struct fusion){
        .on = true, .query = is_yes(c, "query"), .key = is_yes(c, "key"), .value = is_yes(c, "value"),
        .of = is_yes(c, "query_before_ln") ? FUSION_OF_WRITTEN : FUSION_OF_READ,
        .residual = is_yes(c, "residual_before") ? FUSION_INSIDE : FUSION_AFTER,
        .start = is_yes(c, "value_initialized") ? FUSION_IDENTITY : FUSION_DRAWN,
        .weight = is_yes(c, "regularization") ? 0.01 : 0,
    };
    return 0;
}

/* ---- the adapters ---- */

/* Returns whether the adapter of the folder has this name. */
static bool is_called(const char *folder, const char *name, size_t n) {
    char *own = reading_member(folder, ADAPTER_CONFIG, "name");
    bool is = own && strlen(own) == n && !memcmp(own, name, n);
    free(own);
    return is;
}

/* Returns the subfolder of `parent` with the adapter of that name, or NULL; caller frees. */
static char *search(const char *parent, const char *name, size_t n) {
    DIR *d = opendir(parent);
    char *found = NULL;
    for (struct dirent *x; d && !found && (x = readdir(d));) {
        char *one = *x->d_name == '.' ? NULL : file_join(parent, x->d_name);
        if (one && is_called(one, name, n)) found = one;
        else free(one);
    }
    if (d) closedir(d);
    return found;
}

/* Finds the folder of an adapter: the given one, else below the fusion's folder, else next to it. */
static char *locate(const char *folder, const char *const *given, int count, const char *name, size_t n) {
    for (int i = 0; i < count; i++)
        if (is_called(given[i], name, n)) return xstrdup(given[i]);
    char *below = search(folder, name, n);
    if (below) return below;
    char *up = file_join(folder, ".."), *beside = search(up, name, n);
    free(up);
    return beside;
}

static int locate_all(struct hub_fused *x, const char *folder, const char *const *given, int count,
                      struct err *e) {
    for (const char *at = x->name; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t n = strcspn(at, ",");
        if (x->parts == FUSED_MOST)
            return err_set(e, ERR_INPUT, "%s: more than %d fused adapters are not supported", x->path,
                           FUSED_MOST);
        x->folder[x->parts] = locate(folder, given, count, at, n);
        if (!x->folder[x->parts++])
            return err_set(
                e, ERR_NOT_FOUND,
                "%s: adapter \"%.*s\" not found in this folder or next to it; specify its folder with "
                "--adapter DIR",
                x->path, (int)n, at);
    }
    for (int i = 0; i < count; i++) {
        bool used = false;
        for (int k = 0; k < x->parts; k++) used |= !strcmp(x->folder[k], given[i]);
        if (!used)
            return err_set(e, ERR_USAGE, "--adapter %s: not one of the fused adapters (%s)", given[i],
                           x->name);
    }
    return 0;
}

/* Adds the pieces of an adapter, marked with its index. */
static int take_part(struct hub_fused *x, int part, struct err *e) {
    struct hub_reader *r = &x->part[part];
    struct assembly *to = &x->whole.in.to;
    if (hub_reader_adapter(r, x->folder[part], e)) return e->code;
    for (size_t i = 0; i < r->in.to.pieces; i++) {
        struct placed *p = &r->in.to.piece[i];
        if (p->module.fn != FN_BOTTLENECK || p->module.source != SOURCE_FREE)
            return err_set(e, ERR_INPUT, "%s: only bottlenecks without Kronecker products can be fused",
                           r->hub.path);
        if (p->module.read == TAP_F_IN || p->module.read == TAP_A_IN || p->module.read == TAP_F_RES ||
            p->module.read == TAP_A_RES)
            return err_set(
                e, ERR_INPUT,
                "%s: \"is_parallel\" is true: AdapterHub adds the residual stream twice when it fuses "
                "parallel adapters, which petri does not support",
                r->hub.path);
        p->module.source = SOURCE_FUSION;
        p->module.from_run = part + 1;
        struct placed *q = assembly_piece(to, &p->module, p->stack, p->site, p->layer);
        for (int k = 0; k < p->count; k++)
            piece_add(q, p->value[k].slot, p->value[k].values, p->value[k].size);
    }
    return 0;
}

/* ---- the maps ---- */

static int take_map(struct hub_fused *x, struct bag_tensor *t, struct err *e) {
    struct hub_reader *r = &x->whole;
    char *mark = xprintf(".adapter_fusion_layer.%s.", x->name);
    const char *at = strstr(t->name, mark), *rest = at ? at + strlen(mark) : "";
    char *path = at ? xstrndup(t->name, (size_t)(at - t->name)) : NULL;
    const struct tensor_info *map = path ? hub_map(r->in.m, path) : NULL;
    size_t d = (size_t)r->in.m->arch.width;
    free(mark);
    free(path);
    if (!map) return reading_refuse(&r->in, t, "the model has no such layer", e);
    const struct file_part *p = hub_fusion_parts;
    while (p->name && strcmp(p->name, rest)) p++;
    if (!p->name) return reading_refuse(&r->in, t, "not a tensor of an AdapterFusion layer", e);
    if (reading_shape(&r->in, t, p->rows ? d : 0, d, e)) return e->code;
    t->used = true;
    assembly_value(&r->in.to,
                   &(struct method_value){ p->slot, t->values, t->count, map->stack, map->sublayer,
                                           map->layer, map->role == ROLE_O_W ? TAP_A_OUT : TAP_F_OUT });
    return 0;
}

static int take_maps(struct hub_fused *x, const char *folder, struct err *e) {
    struct hub_reader *r = &x->whole;
    notes_add(&r->in.out->read, "%s", hub_fusion_file);
    int rc = reading_tensors(folder, "model_adapter_fusion.safetensors", "pytorch_model_adapter_fusion.bin",
                             &r->in.bag, &r->in.out->read, e);
    for (size_t i = 0; !rc && i < r->in.bag.count; i++) rc = take_map(x, &r->in.bag.tensor[i], e);
    return rc;
}

/* ---- all ---- */

/* Returns the configs of fusion and adapters as read: {"fusion": TEXT, "head": NAME, "adapters": [TEXT, …]};
 * caller frees. */
static char *origin_of(const struct hub_fused *x, const char *folder) {
    struct buf b = BUF_INIT;
    char *head = reading_member(folder, "head_config.json", "name");
    buf_putc(&b, '{');
    json_member_string(&b, "fusion", x->text);
    json_member_string(&b, "head", head);
    free(head);
    json_open(&b, "adapters", '[');
    for (int i = 0; i < x->parts; i++) json_member_string(&b, NULL, x->part[i].hub.text);
    buf_puts(&b, "]}");
    return buf_take(&b);
}

static int hub_fusion_folder(struct hub_fused *x, const char *folder, const char *const *given, int count,
                             struct err *e) {
    struct imported *out = x->whole.in.out;
    x->config = reading_config(folder, hub_fusion_file, &x->path, &x->text, e);
    if (!x->config) return e->code;
    if (!json_get_string(x->config, x->path, "name", &x->name, e))
        return e->code ? e->code : err_set(e, ERR_INPUT, "%s: missing \"name\"", x->path);
    if (!json_get_string(x->config, x->path, "version", &x->whole.hub.version, e) && e->code) return e->code;
    if (*x->whole.hub.version) out->version = xstrdup(x->whole.hub.version);
    int rc = take_config(x, e);
    if (!rc) rc = locate_all(x, folder, given, count, e);
    if (!rc) rc = take_maps(x, folder, e);
    for (int i = 0; !rc && i < x->parts; i++) {
        char *was = out->version; /* heads of the adapters are not used */
        hub_reader_init(&x->part[i], x->whole.in.m, out);
        rc = take_part(x, i, e);
        if (out->version != was) free(out->version);
        out->version = was;
    }
    if (!rc) rc = hub_reader_head(&x->whole, folder, x->name, e);
    if (!rc) rc = reading_build(&x->whole.in, json_string_value(json_object_get(x->config, "model_name")), e);
    if (!rc) out->origin = origin_of(x, folder);
    return rc;
}

int import_fusion(const char *folder, const char *const *adapter, int adapters, struct model *m,
                  struct imported *out, struct err *e) {
    struct hub_fused *x = xcalloc(1, sizeof *x);
    *out = (struct imported){ .format = "adapterhub", .model = m };
    hub_reader_init(&x->whole, m, out);
    int rc = hub_fusion_folder(x, folder, adapter, adapters, e);
    for (int i = 0; i < x->parts; i++) {
        hub_reader_release(&x->part[i]);
        free(x->folder[i]);
    }
    hub_reader_release(&x->whole);
    json_decref(x->config);
    free(x->path);
    free(x->text);
    free(x);
    if (rc) import_release(out);
    return rc;
}
