/* Shelves: files of records that threads and processes fill and read concurrently, in a folder with a size
 * limit (and at most 1024 files).
 *
 * A shelf is one file, named by the hash of a text that describes its content; each record has a fixed
 * position and a checksum.  A record that is damaged, partially written, of another shelf or not yet written
 * is absent: the reader recomputes it.  Losing a shelf costs time only, so data are not flushed to disk. */
#ifndef CORE_BASE_SHELF_H
#define CORE_BASE_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct shelf;

/* Opens or creates the shelf of a text (below 1000 bytes) in a folder, which is created.  Record i has
 * start[i+1]-start[i] times `unit` bytes; start (records+1 elements) belongs to the caller and must outlive
 * the shelf.  `limit`: bytes of all shelves in the folder; least recently used ones are removed first, those
 * open in any process stay.  Returns NULL with *e if it cannot be used. */
struct shelf *shelf_open(const char *folder, const char *text, size_t records, const size_t *start,
                         size_t unit, uint64_t limit, struct err *e);
void shelf_close(struct shelf *s); /* NULL is ignored */

/* Reads a record; returns false if it is absent, with *out undefined. */
bool shelf_read(const struct shelf *s, size_t i, void *out);
/* Writes a record.  If the folder is full or the disk refuses, the call succeeds, the shelf accepts no more
 * records, and *e has the reason once. */
int shelf_write(struct shelf *s, size_t i, const void *record, struct err *e);
/* Removes all records; false if another process has the shelf open. */
bool shelf_empty(struct shelf *s);

/* Returns the bytes on disk of all shelves in a folder, and their number. */
uint64_t shelf_usage(const char *folder, size_t *shelves);

#endif
