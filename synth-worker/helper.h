/* What the two disposable jobs of cuzk-synth share: options, descriptors, and the result they tell
 * the supervisor as lines of JSON on descriptor 5:
 *   {"progress":0.42}                      any number of them, then one of
 *   {"ok":true,"curve":"bn254",...}
 *   {"ok":false,"error":"..."} */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "groth16/key/prepared.h"
#include "groth16/pool.h"
#include "runtime/sandbox.h"

enum {
    HELPER_FD_INPUT = 3,
    HELPER_FD_OUTPUT = 4,
    HELPER_FD_RESULT = 5,
    HELPER_FD_R1CS = 6,
    HELPER_PROGRESS_INTERVAL_NS = 100000000,
};

struct helper {
    unsigned threads;
    enum sandbox_policy sandbox;
    bool has_r1cs;
    bool has_digest;
    uint8_t digest[PREPARED_DIGEST_BYTES];
    struct pool *pool;
    uint64_t reported_ns;
    struct prepared_progress progress; /* writes progress lines */
};

/* Parses argv, ties the process to its parent, makes the pool, enters the sandbox. 0, or an error
 * after a line on stderr and a failed result. */
int helper_open(int argc, char **argv, const char *name, struct helper *ret);
void helper_close(struct helper *helper);

/* The result; returns the exit status. file_bytes: of the prepared key. */
int helper_succeed(const struct prepared *key, uint64_t file_bytes);
/* The host or our own caller is at fault. */
int helper_fail(const char *text);
/* What it was about ("the proving key (.zkey)"), then the reason or, without one, the error, which
 * tells as well whether the file is at fault or the host (no space, no memory). */
int helper_fail_reason(const char *what, int error, const struct reason *reason);
