/* Shelves: files of records that any number of threads and processes fill and read at once, in a folder that
 * is held to so many bytes (and 1024 files).
 *
 * A shelf is one file, named by the hash of a text that says what is in it; each record has its place and a
 * checksum there.  A record that is damaged, half written, of another shelf or not there yet is absent:
 * whoever asks makes it again.  What is lost with a shelf is time alone, so nothing is flushed to disk. */
#ifndef CORE_BASE_SHELF_H
#define CORE_BASE_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct shelf;

/* Opens or makes the shelf of a text (below 1000 bytes) in a folder, which is made.  Record i has
 * start[i+1]-start[i] times `unit` bytes; start (records+1) is the caller's and outlives it.  `limit`: bytes
 * of all shelves in the folder; those used longest ago go first, those that are open in any process stay.
 * NULL with *e where it cannot be used. */
struct shelf *shelf_open(const char *folder, const char *text, size_t records, const size_t *start,
                         size_t unit, uint64_t limit, struct err *e);
void shelf_close(struct shelf *s); /* NULL: nothing */

/* False: the record is absent, and *out is anything. */
bool shelf_read(const struct shelf *s, size_t i, void *out);
/* Puts a record into its place.  Where the folder has no room for it, or the disk refuses, that is no
 * failure: from then on this shelf takes none, and *e says why, once. */
int shelf_write(struct shelf *s, size_t i, const void *record, struct err *e);
/* Throws all records away; false where another has it open, who then goes on with them. */
bool shelf_empty(struct shelf *s);

/* Bytes on disk of all shelves in a folder, and how many there are. */
uint64_t shelf_usage(const char *folder, size_t *shelves);

#endif
