/* A disposable child process that does one thing with a client's bytes and may die of it: it writes
 * lines to a pipe (progress, then one result document) and exits. What it writes is input. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/child.h"
#include "runtime/loop.h"

enum {
    HELPER_OUTPUT_BYTES_MAX = 64 << 10,
};

struct helper {
    struct child child;
    int output; /* our end */
    struct loop *loop;
    struct loop_watch death_watch, output_watch;
    char text[HELPER_OUTPUT_BYTES_MAX + 1];
    size_t bytes;
    uint64_t heard_ns; /* when it last wrote something, or started */
    /* Once, when it is dead. line: its last line, NULL when it wrote none or too much; status as
     * waitpid gives it. The helper is freed afterwards by whoever holds it. */
    void (*on_done)(struct helper *helper, const char *line, int status);
    void *context;
};

/* Spawns spec with the pipe's end as descriptor `output_number`. *ret is the caller's to free. */
int helper_start(struct loop *loop, const struct child_spec *spec, int output_number,
                 void (*on_done)(struct helper *, const char *, int), void *context,
                 struct helper **ret);
/* SIGKILL; on_done follows. */
void helper_kill(struct helper *helper);
/* Kills it if it still runs. Accepts NULL. */
void helper_free(struct helper *helper);
