/* Shapes of trees. */
#include "filecoin/merkle.h"

#include "runtime/check.h"

struct merkle_shape merkle_shape_binary(unsigned bit_count)
{
    struct merkle_shape shape = {.level_count = (uint8_t)bit_count,
                                 .base_count = (uint8_t)bit_count,
                                 .part_count = 1,
                                 .bit_count = (uint8_t)bit_count};

    CHECK(bit_count <= MERKLE_LEVELS_MAX);
    memset(shape.arity, 2, bit_count);
    return shape;
}

struct merkle_shape merkle_shape_octal(unsigned bit_count, unsigned sub, unsigned top)
{
    const unsigned above = (sub ? merkle_arity_bits(sub) : 0) + (top ? merkle_arity_bits(top) : 0);
    struct merkle_shape shape = {.part_count = 1, .bit_count = (uint8_t)bit_count};

    CHECK(bit_count > above && (bit_count - above) % 3 == 0 && (sub || !top));
    shape.base_count = shape.level_count = (uint8_t)((bit_count - above) / 3);
    memset(shape.arity, 8, shape.base_count);
    if (sub) {
        shape.arity[shape.level_count++] = (uint8_t)sub;
        shape.part_count++;
    }
    if (top) {
        shape.arity[shape.level_count++] = (uint8_t)top;
        shape.part_count++;
    }
    return shape;
}
