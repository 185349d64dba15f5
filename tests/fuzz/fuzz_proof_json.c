/* proof.json and public.json: what is read can be written and read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/key/proof_json.h"
#include "groth16/key/public_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_proof(const char *text, size_t bytes, const struct curve *wanted)
{
    uint64_t proof[CURVE_PROOF_BYTES_MAX / 8], again[CURVE_PROOF_BYTES_MAX / 8];
    const struct curve *curve;
    struct reason reason;
    size_t written_bytes;
    char *written;

    if (proof_json_read(text, bytes, wanted, &curve, proof, &reason) != 0)
        return;
    if (proof_json_write(curve, proof, &written, &written_bytes) != 0 ||
        proof_json_read(written, written_bytes, NULL, &curve, again, &reason) != 0 ||
        memcmp(proof, again, curve->proof_bytes) != 0)
        abort();
    free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct reason reason;
    uint64_t *scalars;
    size_t count;

    try_proof(text, size, NULL);
    try_proof(text, size, &curve_bls12_381);
    if (public_json_read(text, size, &curve_bn254, &scalars, &count, &reason) == 0)
        free(scalars);
    return 0;
}
