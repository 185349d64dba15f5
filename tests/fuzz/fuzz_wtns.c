/* A .wtns from a hostile client, whole and by its head. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "groth16/key/wtns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reason reason;
    struct wtns wtns;

    (void)wtns_parse(data, size / 2, size, &wtns, &reason);
    if (wtns_parse(data, size, size, &wtns, &reason) != 0)
        return 0;
    if (wtns.data_off > size || wtns.data_bytes > size - wtns.data_off ||
        wtns.data_bytes != 32 * wtns.value_count)
        abort();
    return 0;
}
