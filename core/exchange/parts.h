/* A format's tensors of a module at a place: a table with their names and slots, used by reader and
 * writer.  Private to core/exchange. */
#ifndef CORE_EXCHANGE_PARTS_H
#define CORE_EXCHANGE_PARTS_H

#include "core/method/slots.h"

/* Rows or columns; a vector has columns only. */
enum part_size {
    SIZE_NONE,
    SIZE_ONE,
    SIZE_RANK,
    SIZE_IN,
    SIZE_OUT,
    SIZE_GATES,
    SIZE_N,
    SIZE_NN,
    SIZE_K,
    SIZE_NK,
    SIZE_RANK_N,
    SIZE_OUT_N, /* of Kronecker products: n, n², k, n·k, r/n, width/n */
    PART_SIZES
};
/* Modules that have it: any; without and with Kronecker products, and these without and with factors; changes
 * of a map; scales. */
enum part_of { PART_ANY, PART_PLAIN, PART_PRODUCTS, PART_WHOLE, PART_FACTORED, PART_LOW, PART_SCALE };

struct file_part {
    const char *name; /* behind that of the place; NULL ends a list */
    enum slot slot;
    enum part_size rows, cols;
    const char *key; /* of the config that determines whether it exists; NULL: none */
    enum part_of of;
    bool turned;     /* its rows are the slot's columns */
    bool split;      /* of three dimensions: n, rows / n, columns */
    bool copy;       /* the library saves it under another name too */
};

#endif
