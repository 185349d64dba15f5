/* One partition on its way through the device. Everything is enqueued ahead: the witness goes up on
 * its own stream while another partition computes; then two streams take turns with the card, so
 * that the short tails of one are filled by the other:
 *
 *   upload     witness ──► (a, b where the slab holds them)
 *   quotient             evaluate ──► transforms ──► plan of H ──► sum H ──► down
 *   witness              plan ──► sums A, B1, L, B2 ─────────────────────► down
 *
 * The witness's buffer is free for another as soon as it is planned and evaluated. */
#pragma once

#include "gpu-worker/backend.h"
#include "groth16/verify/sums.h"

struct backend;
struct key;
struct work;

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_QUEUED,    /* held and not begun: the owner may still end it itself */
    FLIGHT_UPLOADING, /* its witness is on its way; from here on the driver thread's */
    FLIGHT_UPLOADED,
    FLIGHT_RUNNING, /* its kernels are enqueued */
    FLIGHT_ENDED,   /* its last event is posted and not yet polled */
};

/* Events, in the order of their streams. */
enum flight_mark {
    MARK_UPLOAD_BEGIN,
    MARK_UPLOAD_WITNESS,
    MARK_UPLOAD_RESUMED, /* a and b */
    MARK_UPLOAD_END,
    MARK_QUOTIENT_BEGIN,
    MARK_QUOTIENT_EVALUATED,
    MARK_QUOTIENT_DONE,
    MARK_QUOTIENT_H,
    MARK_QUOTIENT_END,
    MARK_WITNESS_BEGIN,
    MARK_WITNESS_PLANNED,
    MARK_WITNESS_A,
    MARK_WITNESS_B1,
    MARK_WITNESS_L,
    MARK_WITNESS_B2,
    MARK_WITNESS_END,
    MARK_COUNT,
};

struct flight {
    /* The mutex's. */
    enum flight_state state;
    bool is_cancelled;
    bool has_left_slab; /* UPLOADED is told: it may be let go of while this one still computes */
    /* Written by the owner before FLIGHT_QUEUED, constant until FLIGHT_FREE. */
    struct backend_partition partition;
    struct key *key;
    /* Of the answer that PROVED points to; the owner's until FLIGHT_FREE is taken again. */
    uint8_t sums[SUMS_BYTES_MAX];

    /* The driver thread's. */
    void *marks[MARK_COUNT];
    uint8_t *sums_host; /* pinned, private; one set of sums a chunk */
    int witness;        /* buffer, -1: none */
    uint32_t marked;    /* bits: which marks are recorded since it was begun */
    uint32_t passed;    /* and which of them flight_moves has seen happen */
    bool is_upload_told, is_witness_free;
    uint64_t launch; /* counts launches: the lower one is ahead */
    enum backend_fault fault;
    char text[BACKEND_TEXT_BYTES];
};

/* Enqueues the upload into witness buffer `witness`, or all kernels and what must still go up. What
 * fails there, or has failed before in *work, fails the flight; it still ends, by the marks. Driver
 * thread. */
void flight_upload(struct backend *backend, struct flight *flight, int witness, struct work *work);
void flight_launch(struct backend *backend, struct flight *flight);
/* Parts of a launch, for passes over streamed keys (pass.h): a, b and from them the scalars of H; a
 * mark; where the witness and the sums lie on the device. */
void flight_launch_quotient(struct backend *backend, struct flight *flight, uint8_t *scalars,
                            struct work *work);
void flight_mark(struct backend *backend, struct flight *flight, enum flight_mark which,
                 struct work *work);
uint8_t *flight_witness(struct backend *backend, const struct flight *flight);
uint8_t *flight_sums(struct backend *backend, const struct flight *flight);
/* What is enqueued of it still ends, and the marks from `first` on say when. With an error in
 * `failed` the partition has failed of that. */
void flight_fail(struct backend *backend, struct flight *flight, enum flight_mark first,
                 const struct work *failed);
/* The sums of its chunks into one. 0 or -ENOMEM. */
int flight_collect(struct backend *backend, struct flight *flight);
/* Tells UPLOADED, and when; tells the other phases. Once the marks have happened. */
void flight_tell_upload(struct backend *backend, struct flight *flight);
void flight_tell_phases(struct backend *backend, struct flight *flight);
/* Whether the witness is there; the slab is read no more; the witness's buffer is free; the next
 * partition's kernels may be enqueued behind this one's; all is done. Of a flight that has come so
 * far. */
bool flight_has_witness(struct backend *backend, const struct flight *flight);
bool flight_is_uploaded(struct backend *backend, const struct flight *flight);
bool flight_has_consumed(struct backend *backend, const struct flight *flight);
bool flight_is_in_last_phase(struct backend *backend, const struct flight *flight);
bool flight_has_ended(struct backend *backend, const struct flight *flight);
/* Whether one more mark has happened since it was asked last: it is slow, but does not hang. */
bool flight_moves(struct backend *backend, struct flight *flight);
