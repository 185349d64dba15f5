/* parameters.json. */
#include <stddef.h>
#include <stdint.h>

#include "filecoin/parameters_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct parameters_json_entry entry;
    struct reason reason;

    (void)parameters_json_find((const char *)data, size, "a.params", &entry, &reason);
    return 0;
}
