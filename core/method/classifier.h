/* An explicit classifier: the linear layers between the pooled row and the outputs.
 *
 *   layers=1: y = p W + b          layers=2: y = act(p W_1 + b_1) W + b
 *   p: the first token of the encoder's output, or the output of the model's pooler; W_1: d×hidden
 *
 * The default is that of the model family: pooler=yes and one layer for BERT, two layers with tanh for
 * RoBERTa, one layer on the last token for a decoder-only model. */
#ifndef CORE_METHOD_CLASSIFIER_H
#define CORE_METHOD_CLASSIFIER_H

#include "core/method/network.h"
#include "core/model/arch.h"

/* Written classifier(layers=2, act=tanh, pooler=no, hidden=0). */
extern const struct network classifier_network;

/* Returns the method's classifier if it differs from the family's; NULL: the head is the family's. */
const struct classifier *classifier_of(const struct method *m, const struct arch *a);
/* Returns the input width of the output layer: the width of the first of two layers, else the model's. */
int classifier_width(const struct classifier *c, const struct arch *a);
/* Returns whether a head of the family computes the same, whatever its layers are called: BERT's pooler and
 * output layer are two layers with tanh. */
bool classifier_is_standard(const struct method *m, const struct arch *a);
/* Returns why the model cannot have the method's classifier, or NULL. */
const char *classifier_fault(const struct method *m, const struct arch *a);

#endif
