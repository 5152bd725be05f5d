/* Statistics of a handful of runs: means, Student's t.  Doubles throughout. */
#ifndef CORE_ANALYSIS_STATISTICS_H
#define CORE_ANALYSIS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* Compares two metrics and returns -1 if a is below b, 0 if they are equal, 1 if a is above.  A difference
 * below 1e-9 of their size is floating-point noise: neither spread nor a reason to rank one above the
 * other. */
int value_order(double a, double b);

/* Returns mean and standard deviation (divisor n − 1) of n values. sd is NaN for one value; both are NaN for
 * none. */
struct spread {
    size_t n;
    double mean, sd;
};
struct spread spread_of(const double *v, size_t n);
/* Returns those of the n differences a − b, with the rounding tolerance of a and b. */
struct spread spread_of_differences(const double *a, const double *b, size_t n);

/* Returns the confidence interval of a mean at `level` (0.95) by Student's t with n − 1 degrees of freedom.
 * NaN for fewer than two values, and for values without any spread. */
struct interval {
    double low, high;
};
struct interval spread_interval(struct spread s, double level);

/* Returns P(T ≤ t) of Student's t with `df` > 0 degrees of freedom, which may be fractional. */
double student_cdf(double t, double df);
/* Returns the t with student_cdf(t, df) = p, 0 < p < 1; relative error about 1e-13. */
double student_quantile(double p, double df);

/* Returns the two-sided p-value of a mean against 0, by Student's t; NaN where spread_interval is NaN. */
double spread_p(struct spread s);
/* Returns the p of an equivalence test (the mean is within ±margin): the larger p of two one-sided tests. */
double spread_p_within(struct spread s, double margin);
/* Returns the two-sided p-value of a sign test: `up` of up + down independent signs are positive. 1 without
 * signs. */
double sign_test(size_t up, size_t down);
/* Writes k p values adjusted by Holm's step-down method: out[i] of p[i], which is rejected at a level where
 * it is at most that level.  A NaN stays NaN, and is counted as one of the k. */
void holm(const double *p, size_t k, double *out);

#endif
