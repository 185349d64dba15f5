/* The file that libcuzk-cupti.so writes and bench/pipeline_activity.py reads: fixed records, native
 * byte order, one file a process. Kernel names stand once each in FILE.names, "INDEX NAME" a line.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#define RECORD_MAGIC "czkcupt1"

enum record_kind {
    RECORD_KERNEL = 1,
    RECORD_TO_DEVICE = 2, /* copies */
    RECORD_TO_HOST = 3,
    RECORD_ON_DEVICE = 4,
    RECORD_CLOCKS = 5,  /* begin_ns: CLOCK_MONOTONIC, end_ns: CUPTI's clock at the same moment */
    RECORD_DROPPED = 6, /* bytes: records that CUPTI lost; a file with one proves nothing */
};

struct record {
    uint64_t begin_ns, end_ns; /* device timestamps in CUPTI's clock */
    uint64_t bytes;            /* copies */
    uint32_t correlation;      /* rises in the order of launches */
    uint32_t stream;
    uint32_t name; /* kernels: line of FILE.names */
    uint32_t kind; /* enum record_kind */
};

static_assert(sizeof(struct record) == 40, "read by struct format '<QQQIIII'");
