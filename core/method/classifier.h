/* A classifier that is said: how many maps stand between what is pooled of a row and its outputs.
 *
 *   layers=1: y = p W + b          layers=2: y = act(p W_1 + b_1) W + b
 *   p: the first token of the encoder's output, or tanh of it behind the model's pooler; W_1: d×hidden
 *
 * Where none is said the model's family has its own: a BERT pooler=yes and one layer, a RoBERTa two with
 * tanh. */
#ifndef CORE_METHOD_CLASSIFIER_H
#define CORE_METHOD_CLASSIFIER_H

#include "core/method/network.h"
#include "core/model/arch.h"

/* Written classifier(layers=2, act=tanh, pooler=no, hidden=0). */
extern const struct network classifier_network;

/* The method's where it is another than the family's; NULL: the head is the family's. */
const struct classifier *classifier_of(const struct method *m, const struct arch *a);
/* Columns of what the outputs' map reads: the width of the first of two maps, else the model's. */
int classifier_width(const struct classifier *c, const struct arch *a);
/* Whether a head of the family computes the same, whatever its maps are called: a BERT's pooler and output
 * map are two layers with tanh. */
bool classifier_is_usual(const struct method *m, const struct arch *a);
/* Why the method cannot have its classifier on this model, or NULL. */
const char *classifier_fault(const struct method *m, const struct arch *a);

#endif
