/* Keys attached when first used: see attached_key.h. */
#include "groth16/key/attached_key.h"

const struct prepared *attached_key_use(struct attached_key *key, const void *memory, size_t bytes,
                                        uint64_t serial, struct reason *reason)
{
    if (key->serial != serial) {
        if (prepared_attach(memory, bytes, &key->prepared, reason) < 0)
            return NULL;
        key->serial = serial;
    }
    return &key->prepared;
}
