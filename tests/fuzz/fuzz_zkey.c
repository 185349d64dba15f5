/* A .zkey from a hostile client: header, all contents, matrices. */
#include <stddef.h>
#include <stdint.h>

#include "groth16/key/matrix_builder.h"
#include "groth16/key/zkey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct matrix_progress progress = {0};
    struct matrix_builder builder;
    struct reason reason;
    struct zkey zkey;

    if (zkey_open_memory(data, size, &zkey, &reason) != 0)
        return 0;
    (void)matrix_builder_read(&builder, &zkey, &progress, &reason);
    matrix_builder_destroy(&builder);
    (void)zkey_check(&zkey, NULL, &reason);
    return 0;
}
