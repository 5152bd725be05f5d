/* Running the real program and looking at what it printed. */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include <jansson.h>
#include <sys/types.h>

#include "core/base/buf.h"

struct command {
    int status;          /* exit code, or 128 + signal */
    struct buf out, err; /* owned: command_release */
};

/* Runs petri (PETRI_BIN) with the words of `line`, split at blanks; a part in quotes of either kind
 * is one word; %s and the like are filled in first (printf).  `environment`: NAME=VALUE
 * pairs with blanks between, or NULL. */
void command_run(struct command *c, const char *environment, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void command_release(struct command *c);

/* Starts it and returns; standard output and error go to files of a test folder. */
pid_t command_start(const char *folder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Waits at most `seconds` for it (TEST_PATIENCE times); its status as above, or -1 (it is then killed). */
int command_wait(pid_t pid, double seconds);

/* Fails unless the status is `status`; prints both outputs then. */
void command_expect(const struct command *c, int status);
/* The output as JSON, checked to hold no NaN or Infinity; fails when it is none.  `last`:
 * only its last line.  json_decref. */
json_t *command_json(const struct command *c, int last);

#endif
