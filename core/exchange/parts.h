/* A format's tensors of a module at a place: a table of them says what each is called and where it goes, and
 * reader and writer go by its rows.  Private to core/exchange. */
#ifndef CORE_EXCHANGE_PARTS_H
#define CORE_EXCHANGE_PARTS_H

#include "core/method/slots.h"

/* Rows or columns: of a vector there are no rows. */
enum part_size { SIZE_NONE, SIZE_ONE, SIZE_RANK, SIZE_IN, SIZE_OUT, PART_SIZES };

struct file_part {
    const char *name; /* behind that of the place; NULL ends a list */
    enum slot slot;
    enum part_size rows, cols;
    const char *key; /* of the config that says whether it is there; NULL: none */
    bool turned;     /* its rows are the slot's columns */
};

#endif
