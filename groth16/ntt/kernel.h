/* What the transforms (ntt.h) need from a scalar field: butterflies over strided columns and
 * contiguous blocks, and a few vector operations. One kernel per field and instruction set. Pure
 * functions, any thread. Values are fr (4 limbs); between calls a kernel may leave them anywhere
 * below 2^256 as long as its own functions accept that; `finish` and `canonical` leave them < r.
 *
 * Twiddles: T[k] is w_{2^(s+1)}^{rev_s(k)} for any s with k < 2^s, rev_s the reversal of s bits.
 * That does not depend on s, so one table serves all sizes: stage s of a transform has 2^s blocks,
 * and all butterflies of block k use T[k]. A kernel chooses the scale of its table (`set_one`). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ntt_tables;

struct ntt_kernel {
    unsigned two_adicity;
    const uint64_t *root;         /* of order 2^two_adicity, fr */
    const uint64_t *shift_max;    /* coset shift at the largest domain, fr */
    const uint64_t *fr_one;       /* fr */
    void (*set_one)(uint64_t *r); /* T[0] */
    struct ntt_tables *tables;    /* cache, one a kernel: see tables.h */
    /* The same for bellman's domains, which another root generates. */
    const uint64_t *root_seven;
    struct ntt_tables *tables_seven;

    /* `stages` stages of 2^stages rows, `stride` values apart, over `columns` neighbouring columns
     * (a multiple of NTT_COLUMNS). The rows are block `block` of their first stage.
     * down: natural to bit-reversed order, (a, b) -> (a + w b, a - w b);
     * up: the other way, (a, b) -> (a + b, w (a - b)). */
    void (*columns_down)(uint64_t *values, size_t stride, unsigned stages, size_t columns,
                         const uint64_t *twiddles, size_t block);
    void (*columns_up)(uint64_t *values, size_t stride, unsigned stages, size_t columns,
                       const uint64_t *twiddles, size_t block);
    /* All stages of a block of 2^log2 neighbours, log2 <= NTT_BLOCK_LOG2. */
    void (*block_down)(uint64_t *values, unsigned log2, const uint64_t *twiddles, size_t block);
    void (*block_up)(uint64_t *values, unsigned log2, const uint64_t *twiddles, size_t block);

    /* values[i] *= factors[i], factors in the table's scale. */
    void (*scale)(uint64_t *values, const uint64_t *factors, size_t count);
    /* ret[i] = a[i] * b[i] (times the kernel's own constant), out of a caller's canonical fr. */
    void (*multiply)(uint64_t *ret, const uint64_t *a, const uint64_t *b, size_t count);
    /* c[i] = plain (a[i] b[i] - c[i]), where a, b are 2^log2 times too large and c, made by
     * multiply and transformed like them, too. */
    void (*finish)(uint64_t *c, const uint64_t *a, const uint64_t *b, size_t count, unsigned log2);
    /* values[i] *= 2^-log2, canonical. */
    void (*divide)(uint64_t *values, size_t count, unsigned log2);
    void (*canonical)(uint64_t *values, size_t count);

    /* Exact fr arithmetic for set-up: r = a b, r = 1 / a. */
    void (*fr_mul)(uint64_t *r, const uint64_t *a, const uint64_t *b);
    void (*fr_inv)(uint64_t *r, const uint64_t *a);
};

enum {
    NTT_BLOCK_LOG2 = 11, /* 64 KiB */
    NTT_COLUMNS = 8,
    NTT_COLUMN_STAGES_MAX = 7, /* 128 rows of a tile of columns stay in the first-level cache */
};
