/* An .r1cs from a hostile client. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "groth16/key/r1cs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_term(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                      const uint64_t *value)
{
    const struct r1cs *r1cs = context;

    (void)value;
    if (constraint >= r1cs->constraint_count || wire >= r1cs->wire_count || matrix > R1CS_C)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reason reason;
    struct r1cs r1cs;
    const struct r1cs_sink sink = {&r1cs, check_term, NULL};

    if (r1cs_open_memory(data, size, &r1cs, &reason) == 0)
        (void)r1cs_read(&r1cs, &sink, &reason);
    return 0;
}
