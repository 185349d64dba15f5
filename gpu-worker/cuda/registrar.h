/* The thread that registers host memory with the driver and lets go of it again. A gigabyte takes
 * some 30 ms, so neither the owner nor the driver thread may do it themselves. Jobs are done one
 * after the other in the order given. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct registrar;

/* Embedded by whoever wants a range registered; untouched by its owner until `done` is called. */
struct registrar_job {
    const void *memory;
    uint64_t bytes;
    bool is_release; /* unregister */
    int result;      /* a driver error */
    /* On the registrar's thread. */
    void (*done)(struct registrar_job *job, void *context);
    void *context;
    struct registrar_job *next; /* the registrar's */
};

/* -EAGAIN, -ENOMEM. */
int registrar_create(struct registrar **ret_registrar);
/* Any thread. */
void registrar_submit(struct registrar *registrar, struct registrar_job *job);
/* From now on jobs are answered with `error` without asking the driver: the context is lost. */
void registrar_abandon(struct registrar *registrar, int error);
/* Does what is queued, then ends the thread. NULL is ignored. */
void registrar_free(struct registrar *registrar);
