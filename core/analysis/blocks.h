/* Work in numbered blocks on several threads.
 *
 * Which thread takes a block is chance; what a block computes must not depend on it, so
 * that any number of workers gives the same bits.  Threads live as long as the call. */
#ifndef CORE_ANALYSIS_BLOCKS_H
#define CORE_ANALYSIS_BLOCKS_H

enum { BLOCKS_WORKERS = 64 };

/* Calls work(self, block) once for each block 0…count-1, on at most `workers` threads (the
 * caller's is one of them), and returns when all are done. */
void blocks_run(int workers, int count, void (*work)(void *self, int block), void *self);

#endif
