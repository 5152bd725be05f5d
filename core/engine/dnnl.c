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

/* ---- one product ---- */

struct dnnl_product {
    int in, out;
    dnnl_memory_t b;
    void *bytes; /* of b */
    size_t scratch, failed;
    dnnl_primitive_t run[DNNL_ROW_COUNTS][STARTS]; /* by rows */
};

/* Allocates b. */
static int allocate(struct dnnl_product *p, const_desc layout) {
    size_t bytes = dnnl_memory_desc_get_size(layout);
    p->bytes = mem_try(bytes, 1);
    if (p->bytes) return dnnl_memory_create(&p->b, layout, library.engine, p->bytes);
    p->failed = bytes;
    return dnnl_out_of_memory;
}

/* Creates the primitive of a product.  With `of`, b may have any layout: the first one
 * decides it and allocates of->b; the others take it as it is.  *scratch grows to what it needs. */
static int prepare(dnnl_primitive_t *run, enum starts from, const struct descs *desc, dnnl_memory_desc_t b,
                   struct dnnl_product *of, size_t *scratch) {
    dnnl_primitive_attr_t how = NULL;
    dnnl_post_ops_t after = NULL;
    dnnl_primitive_desc_t d = NULL;
    pthread_mutex_lock(&creating);
    int rc = dnnl_primitive_attr_create(&how);
    if (!rc) rc = dnnl_primitive_attr_set_scratchpad_mode(how, dnnl_scratchpad_mode_user);
    if (!rc && from == FROM_RESULT) {
        rc = dnnl_post_ops_create(&after);
        if (!rc) rc = add_result(after);
        if (!rc) rc = dnnl_primitive_attr_set_post_ops(how, after);
    }
    const_desc layout = DESC(b);
    if (!rc && of && of->b) rc = dnnl_memory_get_memory_desc(of->b, &layout);
    if (!rc) rc = describe_product(&d, library.engine, desc, layout, from, how);
    if (!rc) rc = dnnl_primitive_create(run, d);
    if (!rc && of && !of->b) rc = allocate(of, dnnl_primitive_desc_query_md(d, dnnl_query_weights_md, 0));
    size_t bytes =
        rc ? 0 : dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0));
    if (bytes > *scratch) *scratch = bytes;
    if (d) dnnl_primitive_desc_destroy(d);
    if (after) dnnl_post_ops_destroy(after);
    if (how) dnnl_primitive_attr_destroy(how);
    pthread_mutex_unlock(&creating);
    return rc;
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

/* Copies b, in float32 with the given distances, into the layout of p->b. */
static int pack(const struct dnnl_product *p, dnnl_memory_desc_t from, const real *b) {
    dnnl_memory_t source = NULL;
    dnnl_primitive_desc_t d = NULL;
    dnnl_primitive_t copy = NULL;
    const_desc layout;
    pthread_mutex_lock(&creating);
    int rc = dnnl_memory_get_memory_desc(p->b, &layout);
    if (!rc) rc = dnnl_memory_create(&source, DESC(from), library.engine, (void *)(uintptr_t)b);
    if (!rc)
        rc = dnnl_reorder_primitive_desc_create(&d, DESC(from), library.engine, layout, library.engine, NULL);
    if (!rc) rc = dnnl_primitive_create(&copy, d);
    pthread_mutex_unlock(&creating);
    if (!rc) rc = execute(copy, 2, (dnnl_exec_arg_t[]){ { DNNL_ARG_FROM, source }, { DNNL_ARG_TO, p->b } });
    pthread_mutex_lock(&creating);
    if (copy) dnnl_primitive_destroy(copy);
    if (d) dnnl_primitive_desc_destroy(d);
    if (source) dnnl_memory_destroy(source);
    pthread_mutex_unlock(&creating);
    return rc;
}

static int prepare_all(struct dnnl_product *p) {
    int in = p->in, out = p->out;
    dnnl_memory_desc_t any;
    struct descs d;
    int rc = describe(&any, in, out, dnnl_bf16, NULL);
    if (!rc) rc = describe(&d.bias, 1, out, dnnl_f32, (dnnl_dim_t[]){ out, 1 });
    for (int i = 0; i < DNNL_ROW_COUNTS; i++) {
        int n = dnnl_rows[i];
        if (!rc) rc = describe(&d.x, n, in, dnnl_bf16, (dnnl_dim_t[]){ in, 1 });
        if (!rc) rc = describe(&d.y, n, out, dnnl_f32, (dnnl_dim_t[]){ out, 1 });
        for (enum starts from = FROM_NOTHING; from < STARTS && !rc; from++)
            rc = prepare(&p->run[i][from], from, &d, any, p, &p->scratch);
        if (rc) return rc; /* descriptions are small and this does not happen twice */
        forget(d.x), forget(d.y);
    }
    forget(d.bias), forget(any);
    return rc;
}

int dnnl_product_pack(struct dnnl_product *p, const real *b, bool transposed) {
    dnnl_memory_desc_t from;
    const dnnl_dim_t apart[] = { transposed ? 1 : p->out, transposed ? p->in : 1 };
    int rc = describe(&from, p->in, p->out, dnnl_f32, apart);
    if (rc) return rc;
    rc = pack(p, from, b);
    forget(from);
    return rc;
}

struct dnnl_product *dnnl_product_new(int in, int out, const real *b, bool transposed, size_t *failed) {
    *failed = 0;
    if (!dnnl_is_native()) return NULL;
    struct dnnl_product *p = mem_try(1, sizeof *p);
    if (!p) *failed = sizeof *p;
    if (!p) return NULL;
    *p = (struct dnnl_product){ .in = in, .out = out };
    int rc = prepare_all(p);
    if (!rc && b) rc = dnnl_product_pack(p, b, transposed);
    if (!rc) return p;
    if (rc == dnnl_out_of_memory) *failed = p->failed ? p->failed : sizeof *p;
    dnnl_product_free(p);
    return NULL;
}

void dnnl_product_free(struct dnnl_product *p) {
    if (!p) return;
    pthread_mutex_lock(&creating);
    for (int i = 0; i < STARTS * DNNL_ROW_COUNTS; i++)
        if (p->run[i / STARTS][i % STARTS]) dnnl_primitive_destroy(p->run[i / STARTS][i % STARTS]);
    if (p->b) dnnl_memory_destroy(p->b);
    pthread_mutex_unlock(&creating);
    free(p->bytes);
    free(p);
}

size_t dnnl_product_scratch(const struct dnnl_product *p) { return p->scratch; }

enum { SRC, DST, SCRATCHPAD, WEIGHTS, BIAS, OPERANDS };

/* Executes a product of the operands at these addresses, NULL for one that it lacks; b replaces the weights
 * if it is given. */
static void multiply_at(dnnl_primitive_t run, void *const at[OPERANDS], dnnl_memory_t b, size_t scratch) {
    const_dnnl_primitive_desc_t d;
    static const struct {
        int arg;
        dnnl_query_t query;
        int which;
    } operand[OPERANDS] = { [SRC] = { DNNL_ARG_SRC, dnnl_query_src_md, 0 },
                            [DST] = { DNNL_ARG_DST, dnnl_query_dst_md, 0 },
                            [SCRATCHPAD] = { DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0 },
                            [WEIGHTS] = { DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0 },
                            [BIAS] = { DNNL_ARG_BIAS, dnnl_query_weights_md, 1 } };
    dnnl_exec_arg_t arg[OPERANDS + 1];
    int made = 0, rc = dnnl_primitive_get_primitive_desc(run, &d);
    for (int i = 0; i < OPERANDS && !rc; i++) {
        if (!at[i]) continue;
        arg[made].arg = operand[i].arg;
        rc = dnnl_memory_create(&arg[made].memory,
                                dnnl_primitive_desc_query_md(d, operand[i].query, operand[i].which),
                                library.engine, at[i]);
        made += !rc;
    }
    arg[made] = (dnnl_exec_arg_t){ DNNL_ARG_WEIGHTS, b };
    double begin = profile_begin();
    if (!rc) rc = execute(run, made + !!b, arg);
    profile_part(PROFILE_PRODUCTS, begin);
    while (made > 0) dnnl_memory_destroy(arg[--made].memory);
    if (rc == dnnl_out_of_memory) mem_lack(scratch);
    BUG_IF(rc);
}

void dnnl_product_run(const struct dnnl_product *p, int which, const uint16_t *x, const real *bias, bool add,
                      real *y, void *scratch) {
    enum starts from = bias ? FROM_BIAS : add ? FROM_RESULT : FROM_NOTHING;
    void *const at[OPERANDS] = { [SRC] = (void *)(uintptr_t)x, [DST] = y, [SCRATCHPAD] = scratch,
                                 [BIAS] = (void *)(uintptr_t)bias };
    BUG_IF(bias && add);
    multiply_at(p->run[which][from], at, p->b, p->scratch);
}

/* ---- sums of outer products ---- */

struct dnnl_sum {
    size_t scratch;
    dnnl_primitive_t run[DNNL_SUM_COUNTS][2]; /* by examples and `add` */
};

static int prepare_sums(struct dnnl_sum *p, int rows, int cols) {
    dnnl_memory_desc_t b;
    struct descs d;
    int rc = describe(&d.y, rows, cols, dnnl_f32, (dnnl_dim_t[]){ cols, 1 });
    for (int i = 0; i < DNNL_SUM_COUNTS && !rc; i++) {
        rc = describe(&d.x, rows, dnnl_sums[i], dnnl_bf16, (dnnl_dim_t[]){ 1, rows });
        if (!rc) rc = describe(&b, dnnl_sums[i], cols, dnnl_bf16, (dnnl_dim_t[]){ cols, 1 });
        for (int add = 0; add < 2 && !rc; add++)
            rc = prepare(&p->run[i][add], add ? FROM_RESULT : FROM_NOTHING, &d, b, NULL, &p->scratch);
        if (rc) return rc; /* as above */
        forget(d.x), forget(b);
    }
    forget(d.y);
    return rc;
}

struct dnnl_sum *dnnl_sum_new(int rows, int cols, size_t *failed) {
    *failed = 0;
    if (!dnnl_is_native()) return NULL;
    struct dnnl_sum *p = mem_try(1, sizeof *p);
    if (!p) *failed = sizeof *p;
    if (!p) return NULL;
    *p = (struct dnnl_sum){ 0 };
    int rc = prepare_sums(p, rows, cols);
    if (!rc) return p;
    if (rc == dnnl_out_of_memory) *failed = sizeof *p;
    dnnl_sum_free(p);
    return NULL;
}

void dnnl_sum_free(struct dnnl_sum *p) {
    if (!p) return;
    pthread_mutex_lock(&creating);
    for (int i = 0; i < 2 * DNNL_SUM_COUNTS; i++)
        if (p->run[i / 2][i % 2]) dnnl_primitive_destroy(p->run[i / 2][i % 2]);
    pthread_mutex_unlock(&creating);
    free(p);
}

size_t dnnl_sum_scratch(const struct dnnl_sum *p) { return p->scratch; }

void dnnl_sum_run(const struct dnnl_sum *p, int which, const uint16_t *left, const uint16_t *right, bool add,
                  real *y, void *scratch) {
    void *const at[OPERANDS] = { (void *)(uintptr_t)left, y, scratch, (void *)(uintptr_t)right };
    multiply_at(p->run[which][add], at, NULL, p->scratch);
}

#else
bool dnnl_is_native(void) { return false; }
struct dnnl_product *dnnl_product_new(int in, int out, const real *b, bool transposed, size_t *failed) {
    (void)in, (void)out, (void)b, (void)transposed;
    *failed = 0;
    return NULL;
}
void dnnl_product_free(struct dnnl_product *p) { (void)p; }
size_t dnnl_product_scratch(const struct dnnl_product *p) {
    (void)p;
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
struct dnnl_sum *dnnl_sum_new(int rows, int cols, size_t *failed) {
    (void)rows, (void)cols;
    *failed = 0;
    return NULL;
}
void dnnl_sum_free(struct dnnl_sum *p) { (void)p; }
size_t dnnl_sum_scratch(const struct dnnl_sum *p) {
    (void)p;
    return 0;
}
void dnnl_sum_run(const struct dnnl_sum *p, int which, const uint16_t *left, const uint16_t *right, bool add,
                  real *y, void *scratch) {
    (void)p, (void)which, (void)left, (void)right, (void)add, (void)y, (void)scratch;
}
const char *dnnl_name(void) { return NULL; }
#endif
