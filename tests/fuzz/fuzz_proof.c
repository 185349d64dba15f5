/* A proof of 192 bytes: what is read is written as it was. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filecoin/proof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t proof[48];
    uint8_t again[PROOF_BYTES];
    struct reason reason;

    if (size < PROOF_BYTES || proof_read(data, proof, &reason) != 0)
        return 0;
    proof_write(proof, again);
    if (memcmp(again, data, PROOF_BYTES) != 0)
        abort();
    return 0;
}
