/* A .params, and with it a .vk: head, counts, all points. */
#include <stddef.h>
#include <stdint.h>

#include "filecoin/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct container file = {.fd = -1, .head = data, .head_bytes = size, .file_bytes = size};
    struct params params;
    struct vk vk;
    struct reason reason;

    if (vk_read(&file, "vk", &vk, &reason) == 0)
        vk_destroy(&vk);
    if (params_open_memory(data, size, &params, &reason) != 0)
        return 0;
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++)
        (void)params_read_points(&params, i, size % 2 == 0, NULL, NULL, NULL, &reason);
    params_destroy(&params);
    return 0;
}
