/* Output of phase 1 from a hostile client, in both forms; the first byte picks the sector size. */
#include <stddef.h>
#include <stdint.h>

#include "filecoin/porep_c1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *data;
    size_t size;
};

static int fill(void *context, const uint8_t **ret_data, size_t *ret_size)
{
    struct source *source = context;

    *ret_data = source->data;
    *ret_size = source->size < 1000 ? source->size : 1000;
    source->data += *ret_size;
    source->size -= *ret_size;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"2KiB", "4KiB", "32KiB"};
    struct reason reason;
    struct source source;
    struct porep_c1 c1;

    if (size == 0)
        return 0;
    source = (struct source){data + 1, size - 1};
    if (porep_c1_read(&c1, sector_find(names[data[0] % 3]), fill, &source, &reason) == 0)
        porep_c1_destroy(&c1);
    return 0;
}
