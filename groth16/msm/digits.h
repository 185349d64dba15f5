/* The scalars' side of an MSM: which elements count at all, how long they are, and for a group of
 * windows the elements sorted by digit. Called by msm.c on the pool's owner thread.
 *
 * A scalar s > (r - 1) / 2 counts as -(r - s), so that small negative values are short. Elements
 * are ordered by bit length, longest first: window v concerns a prefix of that order, and a
 * 32-bit scalar costs nothing in the windows above bit 32. Digits are signed: with
 * K = sum of 2^(c - 1) 2^(c v) over all windows but the top one, the c bits of s + K at c v are
 * the digit plus 2^(c - 1) (the top one plain), each independent of the others.
 *
 * Scalars lie in a slab that another process wrote and may still write: any value, and one that
 * changes between two reads, may spoil the sum but nothing else. Each scalar's length and digits
 * are therefore read once and kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct msm_kernel;

enum {
    DIGITS_BITS_MIN = 3,
    DIGITS_BITS_MAX = 16, /* a digit is kept in 16 bits */
    DIGITS_LENGTH_MAX = 256,
    DIGITS_WINDOWS_MAX = DIGITS_LENGTH_MAX / DIGITS_BITS_MIN + 1,
    DIGITS_NEGATIVE = 1u << 31, /* in order[] and sorted[], beside the element's index */
};

/* The elements with a nonzero scalar and a finite point. */
struct digits_order {
    const uint64_t *scalars;
    const uint64_t *modulus;
    uint64_t half[4];                           /* (r - 1) / 2 */
    uint32_t *order;                            /* longest first; index, DIGITS_NEGATIVE */
    size_t count;                               /* entries in order[] */
    size_t longer_count[DIGITS_LENGTH_MAX + 1]; /* [b]: how many have at least b bits */
};

/* count < 2^31. Returns 0 or -ENOMEM. */
int digits_order_init(struct digits_order *order, struct pool *pool,
                      const struct msm_kernel *kernel, const void *points, const uint64_t *scalars,
                      size_t count);
void digits_order_destroy(struct digits_order *order);

/* How a window size cuts the scalars. */
struct digits_windows {
    unsigned bits;                                /* c */
    unsigned count;                               /* windows in which any digit may differ from 0 */
    unsigned top;                                 /* the one whose digit carries no offset */
    uint64_t offset[4];                           /* K */
    size_t element_count[DIGITS_WINDOWS_MAX + 1]; /* the prefix of order[] that matters */
};

void digits_windows_set(struct digits_windows *windows, const struct digits_order *order,
                        unsigned bits);
/* The digit of largest magnitude: buckets are 1..this. */
static inline size_t digits_bucket_count(unsigned bits)
{
    return (size_t)1 << (bits - 1);
}

/* Windows first .. first + count - 1, sorted by the digit's magnitude. Memory is reused from group
 * to group. */
struct digits_group {
    unsigned first, count;
    size_t entry_count;                   /* over all windows of the group */
    uint32_t *sorted[DIGITS_WINDOWS_MAX]; /* index, DIGITS_NEGATIVE */
    uint32_t *begin[DIGITS_WINDOWS_MAX];  /* [j]: first entry of magnitude j >= 1; [N + 1] */
    uint16_t *digit[DIGITS_WINDOWS_MAX];  /* by position in order[] */
    uint32_t *cursor;                     /* [window][split][magnitude] */
    unsigned splits;
    void *memory;
};

/* Makes room for groups of at most `count` windows. Returns 0 or -ENOMEM. */
int digits_group_init(struct digits_group *group, struct pool *pool,
                      const struct digits_windows *windows, unsigned count);
void digits_group_destroy(struct digits_group *group);
void digits_group_sort(struct digits_group *group, struct pool *pool,
                       const struct digits_order *order, const struct digits_windows *windows,
                       unsigned first, unsigned count);
