/* Rows whose products want the field, gathered by evaluate.inc.h and compared some at a time: with
 * AVX-512 IFMA eight cost little more than one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PRODUCTS_MAX = 32, /* a multiple of eight */
};

/* Does a b = c hold? All below r. a and b are both plain or, where the rows were evaluated before,
 * both in Montgomery form; c is plain. */
struct product {
    uint64_t a[4], b[4], c[4];
    uint64_t row, unused[3]; /* two cache lines */
};

/* Index of the first that does not hold, or count, which is a multiple of eight. Only where
 * ifma_is_available(). */
size_t bn254_products_check_ifma(const struct product *products, size_t count, bool is_mont);
size_t bls12_381_products_check_ifma(const struct product *products, size_t count, bool is_mont);
