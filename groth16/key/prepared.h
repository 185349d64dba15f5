/* The prepared key: a circuit's proving key and matrices in one image that is made once from a
 * .zkey (and optionally its .r1cs) or another key (prepared_source.h), digested, loaded into shared
 * hugepage memory by a disposable process and then only read: by synthesis (matrices), GPU workers
 * (points), finalizers (verifying key). File and memory image are the same bytes:
 *
 *   header (4096 bytes) | sections at multiples of 4096, zero-padded | end: a multiple of 4096
 *
 * Digest: SHA-256 of "cuzkprep" | image bytes (u64) | the SHA-256 of each 4 MiB piece of the image,
 * the digest field itself counted as zero; so pieces are hashed in parallel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "groth16/curve/curve.h"
#include "groth16/key/density.h"
#include "groth16/key/matrix.h"
#include "groth16/key/r1cs.h"
#include "groth16/key/reason.h"
#include "groth16/key/slab_layout.h"
#include "groth16/key/zkey.h"
#include "groth16/verify/verify.h"

enum {
    PREPARED_VERSION = 1,
    PREPARED_HEADER_BYTES = 4096,
    PREPARED_ALIGN = 4096,
    PREPARED_DIGEST_BYTES = 32,
    PREPARED_DIGEST_PIECE_BYTES = 4 << 20,
    PREPARED_SECTION_COUNT_MAX = 32,
    PREPARED_SMALL_MAX = 512, /* they are numbered by first use: bits and their sums come early */
};

/* The conventions of a key. An image says its own in the header, so that a program that knows only
 * one of them refuses the other. */
enum prepared_layout {
    /* H in the Lagrange basis of the odd coset: curve->quotient() gives its scalars. A, B1 and B2
     * have a point for every wire. */
    PREPARED_LAYOUT_SNARKJS = 1,
    /* bellman's: H in the monomial basis, curve->quotient_monomial() without the last coefficient.
     * A, B1 and B2 have points only for wires that occur: gathered by density. */
    PREPARED_LAYOUT_BELLMAN = 2,
};

enum prepared_section {
    PREPARED_VK = 0, /* alpha_g1 beta_g1 delta_g1 beta_g2 gamma_g2 delta_g2 */
    PREPARED_IC,     /* public_count + 1 G1 */
    PREPARED_A,      /* variable_count G1, or as many as occur in A, here and below */
    PREPARED_B1,     /* variable_count G1 */
    PREPARED_B2,     /* variable_count G2 */
    PREPARED_L,      /* variable_count - public_count - 1 G1, for wires public_count + 1 ... */
    PREPARED_H,      /* 2^domain_log2 G1, or one less */
    PREPARED_A_ROWS, /* u64 row_begin */
    PREPARED_A_COLUMNS,
    PREPARED_A_COEFFICIENTS,
    PREPARED_B_ROWS,
    PREPARED_B_COLUMNS,
    PREPARED_B_COEFFICIENTS,
    PREPARED_C_ROWS, /* empty sections when made without an .r1cs */
    PREPARED_C_COLUMNS,
    PREPARED_C_COEFFICIENTS,
    PREPARED_DICTIONARY, /* shared by A, B and C */
    PREPARED_SNARKJS_SECTION_COUNT,
    /* struct density of A, and of B1 and B2; not placed in a snarkjs key. */
    PREPARED_A_DENSITY = PREPARED_SNARKJS_SECTION_COUNT,
    PREPARED_A_RANKS,
    PREPARED_B_DENSITY,
    PREPARED_B_RANKS,
    PREPARED_SECTION_COUNT,
};

/* The numbers of a circuit that others plan with. */
struct prepared_shape {
    uint32_t variable_count;   /* wires, with the constant 1 */
    uint32_t public_count;     /* without the constant 1 */
    uint32_t constraint_count; /* without input-consistency rows */
    uint32_t domain_log2;
    uint32_t row_count; /* of A and B */
    uint32_t dictionary_count;
    uint64_t a_entry_count, b_entry_count, c_entry_count;
    uint64_t slab_bytes; /* slab_layout_make(variable_count, domain_log2).bytes */
};

struct prepared {
    const struct curve *curve;
    enum prepared_layout layout;
    uint64_t image_bytes;
    uint8_t digest[PREPARED_DIGEST_BYTES];
    uint8_t verify_key_digest[32]; /* vkey_json_digest() of the verifying key */
    struct prepared_shape shape;
    /* Points, in the encoding of groth16/curve/curve.h. */
    const void *alpha_g1, *beta_g1, *delta_g1, *beta_g2, *gamma_g2, *delta_g2;
    const void *ic, *a, *b1, *b2, *l, *h;
    size_t ic_count, l_count, h_count;
    size_t a_count, b_count;             /* b_count: of b1 and of b2 */
    struct density a_density, b_density; /* of a bellman key */
    struct matrix matrix_a, matrix_b;
    struct matrix matrix_c; /* row_count 0 unless has_c */
    bool has_c;
    /* The first coefficients of the dictionary as numbers (struct matrix_check). */
    size_t small_count;
    int64_t small[PREPARED_SMALL_MAX];
    struct verify_key verify_key;
};

/* Called now and then from the writing or loading thread. A negative return cancels. May be
 * NULL. */
struct prepared_progress {
    void *context;
    int (*report)(void *context, uint64_t done_bytes, uint64_t total_bytes);
};

/* Makes the image of a checked key and writes it to out_fd at offset 0 (regular file or memfd, not
 * synced here). Every point and coefficient is checked on the way. With an r1cs (may be NULL), A
 * and B of the key must say the same as its constraints, and C is kept. Memory: the matrices (about
 * 8 bytes an entry plus 32 a distinct coefficient) and a few MiB. Blocking, long.
 * pool may be NULL: the calling thread works alone; here and in prepared_load.
 * -EBADMSG with a reason; -ECANCELED from progress; -ENOSPC and friends from writing. */
int prepared_write(const struct zkey *zkey, const struct r1cs *r1cs, int out_fd, struct pool *pool,
                   const struct prepared_progress *progress,
                   uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason);

struct prepared_source;

/* The same from anything that is a key (prepared_source.h). */
int prepared_write_source(const struct prepared_source *source, int out_fd, struct pool *pool,
                          const struct prepared_progress *progress,
                          uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason);

/* Whether a file begins as a prepared key does. Not a check. */
bool prepared_is(int fd);

/* Takes over a prepared key that was made elsewhere: copies it from in_fd to out_fd (empty regular
 * file or memfd, readable, nobody else writes) and checks its digest, every point, matrix entry and
 * coefficient: what it says is judged as a .zkey is. Blocking, long. Errors as prepared_write. */
int prepared_copy(int in_fd, int out_fd, struct pool *pool,
                  const struct prepared_progress *progress,
                  uint8_t ret_digest[PREPARED_DIGEST_BYTES], struct reason *reason);

/* The first PREPARED_HEADER_BYTES of a file, for listing and planning before it is loaded: shape,
 * digest, image_bytes and curve are filled, pointers stay NULL. */
int prepared_read_header(int fd, struct prepared *ret, struct reason *reason);

/* Reads the image from offset 0 of file_fd into memory (4096-aligned, `bytes` >= the image; the
 * rest is left alone) and checks its digest while it goes: against the header, and against
 * `expected` unless that is NULL. Blocking; spread over the pool. Digest differs: -EBADMSG. */
int prepared_load(int file_fd, void *memory, size_t bytes, const uint8_t *expected,
                  struct pool *pool, const struct prepared_progress *progress,
                  struct reason *reason);

/* Typed pointers into an image (8-byte aligned memory, borrowed for as long as *ret is used). The
 * bytes are input: every offset, size, index and dictionary value is checked, so that nothing that
 * goes by *ret reads out of bounds later. verify_key_digest is that of the verifying key as it lies
 * in memory: compare it with the registered one. Other points are not checked: the digest of the
 * image covered them at load. One pass over the matrices. -EBADMSG, -ENOMEM. */
int prepared_attach(const void *memory, size_t bytes, struct prepared *ret, struct reason *reason);

/* Fills `small` from the dictionary of A. prepared_attach does it; for those who make a key's view
 * without an image. */
void prepared_find_small(struct prepared *prepared);

/* For one partition of this circuit. */
static inline struct slab_layout prepared_slab_layout(const struct prepared *prepared)
{
    return slab_layout_make(prepared->shape.variable_count, prepared->shape.domain_log2);
}

static inline uint64_t prepared_slab_bytes(const struct prepared *prepared)
{
    return prepared_slab_layout(prepared).bytes;
}

/* Checks A w * B w = C w for the constraints [begin, end).
 * Returns the index of the first broken constraint as circom and snarkjs number them (from 0), or
 * `end` when all hold (rows past the last constraint hold). a and b are all rows of A w and B w as
 * evaluated (fr), indexed from row 0, and save time; or NULL. Needs has_c. One thread; callers
 * split the range. */
size_t prepared_check_constraints(const struct prepared *prepared, const uint64_t *witness,
                                  const uint64_t *a, const uint64_t *b, size_t begin, size_t end);

/* To split constraints evenly: the work of checking [begin, end), which is their entries and one
 * more each; and the first row at or after `begin` before which, from begin on, lies at least that
 * much work, or the number of constraints. Need has_c; end is at most the number of constraints. */
uint64_t prepared_check_work(const struct prepared *prepared, size_t begin, size_t end);
size_t prepared_check_row(const struct prepared *prepared, size_t begin, uint64_t work);
