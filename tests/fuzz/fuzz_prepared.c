/* The bytes of a prepared key as a process finds them in memory: nothing that attach lets through
 * may make evaluation or gathering read out of bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/key/prepared.h"
#include "groth16/pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void gather(const struct density *density, const uint64_t *witness)
{
    static struct pool *pool;
    uint64_t *gathered = malloc(density->one_count * 32 + 1);

    if (!gathered || (!pool && pool_create(1, &pool) != 0))
        abort();
    density_gather(density, pool, witness, gathered);
    free(gathered);
}

static void use(const struct prepared *prepared)
{
    size_t rows = (size_t)1 << prepared->shape.domain_log2;
    uint64_t *witness = calloc(prepared->shape.variable_count, 32);
    uint64_t *a = malloc(rows * 32), *b = malloc(rows * 32);

    if (!witness || !a || !b)
        abort();
    witness[0] = 1;
    prepared->curve->evaluate(&prepared->matrix_a, witness, a, 0, rows);
    prepared->curve->evaluate(&prepared->matrix_b, witness, b, 0, rows);
    if (prepared->has_c) {
        (void)prepared_check_constraints(prepared, witness, a, b, 0, rows);
        (void)prepared_check_constraints(prepared, witness, NULL, NULL, 0, rows);
    }
    if (prepared->layout == PREPARED_LAYOUT_BELLMAN) {
        gather(&prepared->a_density, witness);
        gather(&prepared->b_density, witness);
    }
    free(witness);
    free(a);
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *memory = aligned_alloc(4096, (size + 4096) & ~(size_t)4095);
    struct prepared prepared;
    struct reason reason;

    if (!memory)
        abort();
    memcpy(memory, data, size);
    if (prepared_attach(memory, size, &prepared, &reason) == 0)
        use(&prepared);
    free(memory);
    return 0;
}
