/* Every compile-time bound of the product, with its reason. Run-time options are in
 * config/options.c; what users meet of these is repeated in docs/limits.md. */
#pragma once

#include <assert.h>

enum {
    /* A Filecoin SnapDeals job has 16 partitions, PoRep 10. 128 descriptors fit one SCM_RIGHTS
     * message (kernel limit 253). */
    JOB_PARTITIONS_MAX = 128,
    /* Jobs that are not yet in a terminal state; beyond it submit answers "busy". */
    JOBS_ACTIVE_MAX = 4096,
    /* Finished jobs kept in memory; older ones are read from the journal. */
    JOBS_FINISHED_MAX = 10000,
    /* The same by memory: public inputs of one job may take 256 MiB. */
    JOBS_FINISHED_MIB_MAX = 1024,
    /* Partitions of all active jobs: one slot each. A slot is about 2 KiB. */
    SLOTS_MAX = 16384,
    CIRCUITS_MAX = 1024,
    SYNTH_WORKERS_MAX = 64,
    GPU_WORKERS_MAX = 8,
    FINALIZER_WORKERS_MAX = 64,
    WORKERS_MAX = SYNTH_WORKERS_MAX + GPU_WORKERS_MAX + FINALIZER_WORKERS_MAX,
    /* Slabs of all size classes together. */
    SLABS_MAX = 1024,
    RINGS_MAX = 16,

    /* One MessagePack-RPC frame, either way. Larger inputs go by descriptor. */
    FRAME_BYTES_MAX = 1 << 20,
    FRAME_DEPTH_MAX = 16,
    /* Values in a frame. Decoded ones take 24 bytes each, so a hostile frame costs 1.5 MiB; the
     * largest reply (circuit_list of CIRCUITS_MAX circuits) has about 40,000. */
    FRAME_ELEMENTS_MAX = 1 << 16,
    /* Replies queued for a client that does not read; beyond it the connection is closed. */
    STREAM_OUTPUT_BYTES_MAX = 4 << 20,
    /* Descriptors received and not yet claimed by a request: two full submissions. */
    STREAM_DESCRIPTORS_MAX = 2 * JOB_PARTITIONS_MAX,
    /* `public` hands out at most this many values a call, `jobs` at most this many jobs. */
    REPLY_PUBLIC_VALUES_MAX = 4096,
    REPLY_JOBS_MAX = 1000,
    /* The longest `wait` holds its reply back. */
    WAIT_TIMEOUT_MS_MAX = 60000,
    INPUT_INLINE_BYTES_MAX = 64 << 10,
    CLIENTS_MAX = 512,
    NAME_BYTES_MAX = 64,
    /* What a client names its job by, so that submitting it twice makes one job. */
    CLIENT_KEY_BYTES_MAX = 64,
    /* The longest deadline of a submit: 24 days, which an int holds. */
    DEADLINE_MS_MAX = 24 * 24 * 3600 * 1000,
    PATH_BYTES_MAX = 4096,
    /* Public inputs of a circuit. The finalizer hands them back through the supervisor (2 MiB at
     * most); real circuits have a few hundred. */
    PUBLIC_INPUTS_MAX = 65536,

    /* Grants of partitions, and key calls, that a worker may hold at once; its completion ring
     * holds every answer to them. */
    GRANTS_HELD_MAX = 8,
    KEY_CALLS_HELD_MAX = 4,
    /* The same of slabs added and dropped at run time: mapping and registering one takes tens of
     * milliseconds a GiB. */
    SLAB_CALLS_HELD_MAX = 4,
    CHANNEL_RING_ENTRIES = 32,
    /* Five BLS12-381 points are 4 * 96 + 192 = 576 bytes; an error text takes what is there. */
    MESSAGE_PAYLOAD_BYTES = 640,
    TRACE_ENTRIES = 4096,

    /* One io_uring read request; larger reads block the submitter too long. */
    READ_REQUEST_BYTES_MAX = 4 << 20,

    ATTEMPTS_MAX_DEFAULT = 5,
};

static_assert(CHANNEL_RING_ENTRIES >=
                  2 * GRANTS_HELD_MAX + KEY_CALLS_HELD_MAX + SLAB_CALLS_HELD_MAX + 3,
              "there: every grant and its cancel, key and slab calls, TRIM, LOG_LEVEL, STOP; back: "
              "UPLOADED and PROVED of every grant, key and slab calls, TRIM, READY");
