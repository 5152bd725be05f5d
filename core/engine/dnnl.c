#include "core/engine/dnnl.h"

const int dnnl_rows[DNNL_ROW_COUNTS] = { 128, 64, 32, 16, 8 };
const int dnnl_sums[DNNL_SUM_COUNTS] = { 512, 256, 128, 64, 32, 16 };

#if defined(PETRI_DNNL) && !REAL_IS_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/profile.h"

/* From OpenMP, which oneDNN calls: the limit belongs to the calling thread. */
extern void omp_set_num_threads(int count);

/* ---- what differs between the versions 2 and 3 of the library ---- */

struct descs {
    dnnl_memory_desc_t x, y, bias;
};

/* What a product starts from. */
enum starts { FROM_NOTHING, FROM_RESULT, FROM_BIAS, STARTS };

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t const_desc;
#define DESC(m) (m)
#define describe_by_tag dnnl_memory_desc_create_with_tag
#define describe_by_strides dnnl_memory_desc_create_with_strides
static void forget(dnnl_memory_desc_t m) {
    if (m) dnnl_memory_desc_destroy(m);
}
static int describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const struct descs *of,
                            const_desc b, enum starts from, dnnl_primitive_attr_t how) {
    const_desc bias = from == FROM_BIAS ? of->bias : NULL;
    return dnnl_matmul_primitive_desc_create(out, engine, of->x, b, bias, of->y, how);
}
static int add_result(dnnl_post_ops_t after) {
    return dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef);
}
#else
typedef const dnnl_memory_desc_t *const_desc;
#define DESC(m) (&(m))
#define describe_by_tag dnnl_memory_desc_init_by_tag
#define describe_by_strides dnnl_memory_desc_init_by_strides
static void forget(dnnl_memory_desc_t m) { (void)m; }
static int describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const struct descs *of,
                            const_desc b, enum starts from, dnnl_primitive_attr_t how) {
    dnnl_matmul_desc_t d;
    int rc = dnnl_matmul_desc_init(&d, &of->x, b, from == FROM_BIAS ? &of->bias : NULL, &of->y);
    return rc ? rc : (int)dnnl_primitive_desc_create(out, &d, how, engine, NULL);
}
static int add_result(dnnl_post_ops_t after) { return dnnl_post_ops_append_sum(after, 1); }
#endif

/* Describes a matrix with these strides, or with any layout without them. */
static int describe(dnnl_memory_desc_t *out, int rows, int cols, dnnl_data_type_t type,
                    const dnnl_dim_t *strides) {
    const dnnl_dims_t size = { rows, cols };
    if (!strides) return describe_by_tag(out, 2, size, type, dnnl_format_tag_any);
    /* The library declares whole arrays of DNNL_MAX_NDIMS. */
    const dnnl_dims_t apart = { strides[0], strides[1] };
    return describe_by_strides(out, 2, size, type, apart);
}

/* ---- the library ---- */

static struct {
    dnnl_engine_t engine;
    bool native;
    char name[32];
} library;

static void open_library(void) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(library.name, sizeof library.name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa(), bf16 = dnnl_cpu_isa_avx512_core_bf16;
    library.native = (isa & bf16) == bf16 && !dnnl_engine_create(&library.engine, dnnl_cpu, 0);
}

static void opened(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
}

const char *dnnl_name(void) {
    opened();
    return library.name;
}

bool dnnl_is_native(void) {
    opened();
    return library.native;
}

/* The library's cache of primitives compares descriptions that another thread may still be completing: one thread at a
 * time creates and destroys primitives. */
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

/* ---- primitives, shared by all matrices of a size ---- */

enum { COUNTS = DNNL_SUM_COUNTS }; /* the larger of both */

/* Of products with matrices B, in × out, or of sums of this size; it remains until the process ends. */
struct dnnl_shape {
    int in, out;
    bool sum;
    struct dnnl_shape *next;
    dnnl_primitive_t _Atomic run[COUNTS][STARTS]; /* by rows; all but the first on first use */
};

static struct dnnl_shape *shapes; /* under `creating` */

/* The description of an operand; dnnl_query_weights_md 0 is B, 1 the bias. */
static const_desc operand_of(dnnl_primitive_t run, dnnl_query_t query, int which) {
    const_dnnl_primitive_desc_t d;
    BUG_IF(dnnl_primitive_get_primitive_desc(run, &d));
    return dnnl_primitive_desc_query_md(d, query, which);
}

/* The first product of a shape may choose any layout of B; the others take it as it is. */
static int describe_operands(const struct dnnl_shape *of, int which, struct descs *d, dnnl_memory_desc_t *b) {
    int in = of->in, out = of->out, n = of->sum ? dnnl_sums[which] : dnnl_rows[which];
    int rc = describe(&d->bias, 1, out, dnnl_f32, (dnnl_dim_t[]){ out, 1 });
    if (of->sum) {
        if (!rc) rc = describe(&d->y, in, out, dnnl_f32, (dnnl_dim_t[]){ out, 1 });
        if (!rc) rc = describe(&d->x, in, n, dnnl_bf16, (dnnl_dim_t[]){ 1, in });
        return rc ? rc : describe(b, n, out, dnnl_bf16, (dnnl_dim_t[]){ out, 1 });
    }
    if (!rc) rc = describe(&d->y, n, out, dnnl_f32, (dnnl_dim_t[]){ out, 1 });
    if (!rc) rc = describe(&d->x, n, in, dnnl_bf16, (dnnl_dim_t[]){ in, 1 });
    return rc ? rc : describe(b, in, out, dnnl_bf16, NULL);
}

/* `creating` is held. */
static int prepare(struct dnnl_shape *of, int which, enum starts from) {
    dnnl_primitive_attr_t how = NULL;
    dnnl_post_ops_t after = NULL;
    dnnl_primitive_desc_t d = NULL;
    dnnl_primitive_t run = NULL;
    struct descs desc;
    dnnl_memory_desc_t b;
    omp_set_num_threads(1); /* for which kernels and scratch memory are chosen */
    int rc = describe_operands(of, which, &desc, &b);
    if (rc) return rc; /* descriptions are small and this does not happen twice */
    rc = dnnl_primitive_attr_create(&how);
    if (!rc) rc = dnnl_primitive_attr_set_scratchpad_mode(how, dnnl_scratchpad_mode_user);
    if (!rc && from == FROM_RESULT) {
        rc = dnnl_post_ops_create(&after);
        if (!rc) rc = add_result(after);
        if (!rc) rc = dnnl_primitive_attr_set_post_ops(how, after);
    }
    const_desc layout = DESC(b);
    dnnl_primitive_t first = of->run[0][FROM_NOTHING];
    if (!of->sum && first) layout = operand_of(first, dnnl_query_weights_md, 0);
    if (!rc) rc = describe_product(&d, library.engine, &desc, layout, from, how);
    if (!rc) rc = dnnl_primitive_create(&run, d);
    if (!rc) of->run[which][from] = run;
    if (d) dnnl_primitive_desc_destroy(d);
    if (after) dnnl_post_ops_destroy(after);
    if (how) dnnl_primitive_attr_destroy(how);
    forget(desc.x), forget(desc.y), forget(desc.bias), forget(b);
    return rc;
}

static dnnl_primitive_t primitive_of(struct dnnl_shape *of, int which, enum starts from) {
    dnnl_primitive_t run = of->run[which][from];
    if (run) return run;
    pthread_mutex_lock(&creating);
    int rc = of->run[which][from] ? 0 : prepare(of, which, from);
    run = of->run[which][from];
    pthread_mutex_unlock(&creating);
    if (rc == dnnl_out_of_memory) mem_lack(sizeof *of);
    BUG_IF(rc);
    return run;
}

/* Returns a shape whose first products are prepared, or NULL: see dnnl_product_new. */
static struct dnnl_shape *shape_of(int in, int out, bool sum, size_t *failed) {
    *failed = 0;
    if (!dnnl_is_native()) return NULL;
    pthread_mutex_lock(&creating);
    struct dnnl_shape *s = shapes;
    while (s && (s->in != in || s->out != out || s->sum != sum)) s = s->next;
    int rc = 0;
    if (!s && (s = mem_try(1, sizeof *s))) {
        *s = (struct dnnl_shape){ .in = in, .out = out, .sum = sum, .next = shapes };
        rc = prepare(s, 0, FROM_NOTHING);
        if (!rc) shapes = s;
    } else if (!s) {
        rc = dnnl_out_of_memory;
    }
    if (rc == dnnl_out_of_memory) *failed = sizeof *s;
    if (rc) free(s);
    pthread_mutex_unlock(&creating);
    return rc ? NULL : s;
}

static size_t scratch_of(struct dnnl_shape *of, int which, enum starts from) {
    return dnnl_memory_desc_get_size(operand_of(primitive_of(of, which, from), dnnl_query_scratchpad_md, 0));
}

static int execute(dnnl_primitive_t run, int args, dnnl_exec_arg_t *arg) {
    dnnl_stream_t stream;
    omp_set_num_threads(1);
    int rc = dnnl_stream_create(&stream, library.engine, dnnl_stream_default_flags);
    if (rc) return rc;
    rc = dnnl_primitive_execute(run, stream, args, arg);
    if (!rc) rc = dnnl_stream_wait(stream);
    dnnl_stream_destroy(stream);
    return rc;
}

/* ---- one product ---- */

struct dnnl_product {
    struct dnnl_shape *shape;
    dnnl_memory_t b;
    void *bytes; /* of b */
};

/* Copies the matrix at `at`, of this description, into b. */
static int copy_into(dnnl_memory_t b, const_desc to, const_desc from, const void *at) {
    dnnl_memory_t source = NULL;
    dnnl_primitive_desc_t d = NULL;
    dnnl_primitive_t copy = NULL;
    omp_set_num_threads(1);
    pthread_mutex_lock(&creating);
    int rc = dnnl_memory_create(&source, from, library.engine, (void *)(uintptr_t)at);
    if (!rc) rc = dnnl_reorder_primitive_desc_create(&d, from, library.engine, to, library.engine, NULL);
    if (!rc) rc = dnnl_primitive_create(&copy, d);
    pthread_mutex_unlock(&creating);
    if (!rc) rc = execute(copy, 2, (dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, source }, { DNNL_ARG_TO, b } });
    pthread_mutex_lock(&creating);
    if (copy) dnnl_primitive_destroy(copy);
    if (d) dnnl_primitive_desc_destroy(d);
    if (source) dnnl_memory_destroy(source);
    pthread_mutex_unlock(&creating);
    return rc;
}

static const_desc layout_of(const struct dnnl_product *p) {
    return operand_of(p->shape->run[0][FROM_NOTHING], dnnl_query_weights_md, 0);
}

int dnnl_product_pack(struct dnnl_product *p, const real *b, bool transposed) {
    dnnl_memory_desc_t from;
    int in = p->shape->in, out = p->shape->out;
    const dnnl_dim_t apart[] = { transposed ? 1 : out, transposed ? in : 1 };
    int rc = describe(&from, in, out, dnnl_f32, apart);
    if (rc) return rc;
    rc = copy_into(p->b, layout_of(p), DESC(from), b);
    forget(from);
    return rc;
}

/* Packs the transpose of what `of` has packed. */
static int pack_transposed(struct dnnl_product *p, const struct dnnl_product *of) {
    dnnl_memory_desc_t to;
    dnnl_memory_t b = NULL;
    int rc = (int)dnnl_memory_desc_permute_axes(&to, layout_of(p), (const int[]){ 1, 0 });
    if (rc) return rc;
    rc = dnnl_memory_create(&b, DESC(to), library.engine, p->bytes);
    if (!rc) rc = copy_into(b, DESC(to), layout_of(of), of->bytes);
    if (b) dnnl_memory_destroy(b);
    forget(to);
    return rc;
}

/* `of`: whose transpose is packed; NULL: b, packed later where that is NULL too. */
static struct dnnl_product *product_new(int in, int out, const real *b, bool transposed,
                                        const struct dnnl_product *of, size_t *failed) {
    struct dnnl_shape *shape = shape_of(in, out, false, failed);
    struct dnnl_product *p = shape ? mem_try(1, sizeof *p) : NULL;
    if (shape && !p) *failed = sizeof *p;
    if (!p) return NULL;
    *p = (struct dnnl_product){ .shape = shape };
    size_t bytes = dnnl_memory_desc_get_size(layout_of(p));
    p->bytes = mem_try(bytes, 1);
    int rc = dnnl_out_of_memory;
    if (p->bytes) rc = dnnl_memory_create(&p->b, layout_of(p), library.engine, p->bytes);
    if (!rc && of) rc = pack_transposed(p, of);
    else if (!rc && b) rc = dnnl_product_pack(p, b, transposed);
    if (!rc) return p;
    if (rc == dnnl_out_of_memory) *failed = p->bytes ? sizeof *p : bytes;
    dnnl_product_free(p);
    return NULL;
}

struct dnnl_product *dnnl_product_new(int in, int out, const real *b, bool transposed, size_t *failed) {
    return product_new(in, out, b, transposed, NULL, failed);
}

struct dnnl_product *dnnl_product_transposed(const struct dnnl_product *of, size_t *failed) {
    return product_new(of->shape->out, of->shape->in, NULL, false, of, failed);
}

void dnnl_product_free(struct dnnl_product *p) {
    if (!p) return;
    if (p->b) dnnl_memory_destroy(p->b);
    free(p->bytes);
    free(p);
}

static enum starts starts_from(bool bias, bool add) {
    return bias ? FROM_BIAS : add ? FROM_RESULT : FROM_NOTHING;
}

size_t dnnl_product_scratch(const struct dnnl_product *p, int which, bool bias, bool add) {
    return scratch_of(p->shape, which, starts_from(bias, add));
}

enum { SRC, DST, SCRATCHPAD, WEIGHTS, BIAS, OPERANDS };

/* Executes a product of the operands at these addresses, NULL for one that it lacks; b replaces the weights
 * if it is given. */
static void multiply_at(struct dnnl_shape *of, int which, enum starts from, void *const at[OPERANDS],
                        dnnl_memory_t b) {
    static const struct {
        int arg;
        dnnl_query_t query;
        int which;
    } operand[OPERANDS] = { [SRC] = { DNNL_ARG_SRC, dnnl_query_src_md, 0 },
                            [DST] = { DNNL_ARG_DST, dnnl_query_dst_md, 0 },
                            [SCRATCHPAD] = { DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0 },
                            [WEIGHTS] = { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0 },
                            [BIAS] = { DNNL_ARG_BIAS, dnnl_query_weights_md, 1 } };
    dnnl_primitive_t run = primitive_of(of, which, from);
    dnnl_exec_arg_t arg[OPERANDS + 1];
    int made = 0, rc = 0;
    for (int i = 0; i < OPERANDS && !rc; i++) {
        if (!at[i]) continue;
        arg[made].arg = operand[i].arg;
        rc = dnnl_memory_create(&arg[made].memory, operand_of(run, operand[i].query, operand[i].which),
                                library.engine, at[i]);
        made += !rc;
    }
    arg[made] = (dnnl_exec_arg_t){ DNNL_ARG_WEIGHTS, b };
    double begin = profile_begin();
    if (!rc) rc = execute(run, made + !!b, arg);
    profile_part(PROFILE_PRODUCTS, begin);
    while (made > 0) dnnl_memory_destroy(arg[--made].memory);
    if (rc == dnnl_out_of_memory) mem_lack(scratch_of(of, which, from));
    BUG_IF(rc);
}

void dnnl_product_run(const struct dnnl_product *p, int which, const uint16_t *x, const real *bias, bool add,
                      real *y, void *scratch) {
    void *const at[OPERANDS] = { [SRC] = (void *)(uintptr_t)x, [DST] = y, [SCRATCHPAD] = scratch,
                                 [BIAS] = (void *)(uintptr_t)bias };
    BUG_IF(bias && add);
    multiply_at(p->shape, which, starts_from(bias, add), at, p->b);
}

/* ---- sums of outer products ---- */

struct dnnl_shape *dnnl_sum_of(int rows, int cols, size_t *failed) {
    return shape_of(rows, cols, true, failed);
}

size_t dnnl_sum_scratch(struct dnnl_shape *p, int which, bool add) {
    return scratch_of(p, which, starts_from(false, add));
}

void dnnl_sum_run(struct dnnl_shape *p, int which, const uint16_t *left, const uint16_t *right, bool add,
                  real *y, void *scratch) {
    void *const at[OPERANDS] = { (void *)(uintptr_t)left, y, scratch, (void *)(uintptr_t)right };
    multiply_at(p, which, starts_from(false, add), at, NULL);
}

#else
bool dnnl_is_native(void) { return false; }
struct dnnl_product *dnnl_product_new(int in, int out, const real *b, bool transposed, size_t *failed) {
    (void)in, (void)out, (void)b, (void)transposed;
    *failed = 0;
    return NULL;
}
struct dnnl_product *dnnl_product_transposed(const struct dnnl_product *of, size_t *failed) {
    (void)of;
    *failed = 0;
    return NULL;
}
void dnnl_product_free(struct dnnl_product *p) { (void)p; }
size_t dnnl_product_scratch(const struct dnnl_product *p, int which, bool bias, bool add) {
    (void)p, (void)which, (void)bias, (void)add;
    return 0;
}
void dnnl_product_run(const struct dnnl_product *p, int which, const uint16_t *x, const real *bias, bool add,
                      real *y, void *scratch) {
    (void)p, (void)which, (void)x, (void)bias, (void)add, (void)y, (void)scratch;
}
int dnnl_product_pack(struct dnnl_product *p, const real *b, bool transposed) {
    (void)p, (void)b, (void)transposed;
    return 1;
}
struct dnnl_shape *dnnl_sum_of(int rows, int cols, size_t *failed) {
    (void)rows, (void)cols;
    *failed = 0;
    return NULL;
}
size_t dnnl_sum_scratch(struct dnnl_shape *p, int which, bool add) {
    (void)p, (void)which, (void)add;
    return 0;
}
void dnnl_sum_run(struct dnnl_shape *p, int which, const uint16_t *left, const uint16_t *right, bool add,
                  real *y, void *scratch) {
    (void)p, (void)which, (void)left, (void)right, (void)add, (void)y, (void)scratch;
}
const char *dnnl_name(void) { return NULL; }
#endif
