/* Which system calls a profile allows: rows for sandbox_calls.c, which makes a BPF program of them.
 * Rows are tried in order: the first that names the call and whose condition holds decides; no row:
 * the table's own action. */
#pragma once

#include <stdint.h>

#include "runtime/sandbox.h"

enum sandbox_action {
    SANDBOX_ALLOW,
    SANDBOX_REFUSE, /* EPERM: libraries ask and do without */
    SANDBOX_ABSENT, /* ENOSYS: they have another way, which can be told apart */
    SANDBOX_END,    /* the call is not made; the process reports it and ends */
};

/* On one argument. Numbers are compared as 32 bits, as the kernel takes those of type int. */
enum sandbox_condition {
    SANDBOX_ALWAYS,
    SANDBOX_IF_EQUAL,   /* argument == value */
    SANDBOX_IF_HAS,     /* argument & value */
    SANDBOX_IF_LACKS,   /* !(argument & value) */
    SANDBOX_IF_NULL,    /* all 64 bits are 0 */
    SANDBOX_IF_OWN_PID, /* argument == getpid() when the table was applied */
};

struct sandbox_row {
    uint32_t number;
    uint8_t condition, argument, action;
    uint32_t value;
    const char *name; /* of the call, where the action is SANDBOX_END */
};

struct sandbox_table {
    const struct sandbox_row *parts[4]; /* tried in turn; unused: NULL */
    uint32_t counts[4];
    enum sandbox_action otherwise;
};

const struct sandbox_table *sandbox_table(enum sandbox_profile profile);
/* "execve"; "" for a number that no row ends the process for. */
const char *sandbox_table_name(uint32_t number);
