/* verification_key.json. */
#include <stddef.h>
#include <stdint.h>

#include "groth16/key/vkey_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reason reason;
    struct vkey_json vkey;

    if (vkey_json_read((const char *)data, size, &vkey, &reason) == 0)
        vkey_json_free(&vkey);
    return 0;
}
