/* What the two kinds of event loop implement behind runtime/loop.h. Included by loop.c,
 * loop_uring.c and loop_ppoll.c only. */
#pragma once

#include "runtime/loop.h"

struct loop_ops {
    int (*add)(struct loop *loop, struct loop_watch *watch);
    int (*modify)(struct loop *loop, struct loop_watch *watch, uint32_t events);
    void (*remove)(struct loop *loop, struct loop_watch *watch);
    int (*read_start)(struct loop *loop, struct loop_read *read);
    void (*read_cancel)(struct loop *loop, struct loop_read *read);
    int (*wait)(struct loop *loop, uint64_t deadline_ns);
    void (*free)(struct loop *loop);
};

/* First member of both kinds. */
struct loop {
    const struct loop_ops *ops;
    enum loop_kind kind;
    char fallback_reason[160];
};

/* Failure leaves in ret_reason why the kernel refused; it is 160 bytes long. */
int loop_uring_create(struct loop **ret_loop, char *ret_reason);
int loop_ppoll_create(struct loop **ret_loop);
