/* Products of bfloat16 matrices by oneDNN, if petri was built with it. */
#ifndef CORE_ENGINE_DNNL_H
#define CORE_ENGINE_DNNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

/* Rows of x that one call multiplies, as an index into dnnl_rows: each a multiple of the next. */
enum { DNNL_ROW_COUNTS = 5 };
extern const int dnnl_rows[DNNL_ROW_COUNTS];

/* Y = X B, or added to Y, for a B that is packed once. */
struct dnnl_product;

/* Returns whether oneDNN multiplies bfloat16 by instructions of this processor. */
bool dnnl_is_native(void);
/* Packs B, in × out, rounded to bfloat16; `transposed`: b holds its transpose, out × in.  NULL when this
 * build, the processor or oneDNN cannot, and with the size of a block in *failed when out of memory.  With b
 * NULL it is packed later.  Release with dnnl_product_free. */
struct dnnl_product *dnnl_product_new(int in, int out, const real *b, bool transposed, size_t *failed);
/* Packs the transpose of B, out × in, of what `of` has packed; otherwise as dnnl_product_new. */
struct dnnl_product *dnnl_product_transposed(const struct dnnl_product *of, size_t *failed);
void dnnl_product_free(struct dnnl_product *p);
/* Packs other values of B in the same memory; returns 0 unless oneDNN fails. */
int dnnl_product_pack(struct dnnl_product *p, const real *b, bool transposed);
/* Returns the bytes of scratch memory that such a call of dnnl_product_run needs.  The first call of each
 * kind creates its kernel, for all products of the size; calls mem_lack when out of memory. */
size_t dnnl_product_scratch(const struct dnnl_product *p, int which, bool bias, bool add);
/* Multiplies dnnl_rows[which] rows of x, packed bfloat16; y is packed too.  The product is added to y, or to
 * `bias` on each row, NULL for none.  Uses this thread alone.  Thread-safe. */
void dnnl_product_run(const struct dnnl_product *p, int which, const uint16_t *x, const real *bias, bool add,
                      real *y, void *scratch);

/* Examples that one call sums over, as an index into dnnl_sums: each a multiple of the next. */
enum { DNNL_SUM_COUNTS = 6 };
extern const int dnnl_sums[DNNL_SUM_COUNTS];

/* Y = Lᵀ R, or added to Y: L has `rows` columns, R has `cols`. */
struct dnnl_shape;

/* NULL when this build, the processor or oneDNN cannot, and with the size of a block in *failed when out of
 * memory.  Shared, and never freed. */
struct dnnl_shape *dnnl_sum_of(int rows, int cols, size_t *failed);
/* As dnnl_product_scratch, of dnnl_sum_run. */
size_t dnnl_sum_scratch(struct dnnl_shape *p, int which, bool add);
/* Sums over dnnl_sums[which] examples, the rows of L and R, packed bfloat16; y is packed too.  Uses this
 * thread alone.  Thread-safe. */
void dnnl_sum_run(struct dnnl_shape *p, int which, const uint16_t *left, const uint16_t *right, bool add,
                  real *y, void *scratch);

/* Returns "oneDNN 2.6.3", or NULL in a build without it. */
const char *dnnl_name(void);

#endif
