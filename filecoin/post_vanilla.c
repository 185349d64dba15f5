/* Vanilla proofs of FallbackPoSt. */
#include "filecoin/post.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "filecoin/bincode.h"

/* The file's first word, a count, decides its size. */
static uint64_t bytes_wanted(const struct post_shape *shape, uint64_t sector_count)
{
    const uint64_t sector_bytes =
        8 + shape->challenge_count * bincode_merkle_bytes(&shape->tree) + 2 * FR_BYTES;

    return 8 + sector_count * sector_bytes;
}

static void read_sector(struct bincode *in, const struct post_shape *shape, unsigned number,
                        struct post_sector *sector, struct merkle_proof *proofs, fr **siblings)
{
    sector->proofs = proofs;
    bincode_place(in, "sector %u", number);
    bincode_count(in, "inclusion proofs", shape->challenge_count);
    for (unsigned i = 0; i < shape->challenge_count && in->error == 0; i++) {
        bincode_place(in, "sector %u, challenge %u", number, i);
        bincode_merkle_proof(in, &shape->tree, &proofs[i], siblings);
    }
    bincode_place(in, "sector %u", number);
    bincode_fr(in, "CommC", &sector->comm_c);
    bincode_fr(in, "CommRLast", &sector->comm_r_last);
}

int post_vanilla_read(struct post_vanilla *ret, const struct post_shape *shape, const uint8_t *data,
                      size_t size, struct reason *reason)
{
    struct post_vanilla vanilla = {0};
    uint64_t count = 0, proof_count;
    struct bincode in;
    fr *siblings;
    int error;

    if (size >= sizeof count)
        memcpy(&count, data, sizeof count);
    if (count == 0 || count > shape->sector_count)
        return reason_set(reason, -EBADMSG,
                          "header: %" PRIu64 " sectors in the vanilla proof, 1 to %u are possible",
                          count, shape->sector_count);
    bincode_init(&in, data, size, bytes_wanted(shape, count), "the vanilla proof", reason);
    if (in.error != 0)
        return in.error;
    in.at = sizeof count;
    proof_count = count * shape->challenge_count;
    vanilla.sector_count = (unsigned)count;
    vanilla.sectors = calloc(count, sizeof *vanilla.sectors);
    vanilla.proofs = calloc(proof_count, sizeof *vanilla.proofs);
    vanilla.siblings = calloc(proof_count * merkle_sibling_count(&shape->tree), sizeof(fr));
    error = -ENOMEM;
    if (!vanilla.sectors || !vanilla.proofs || !vanilla.siblings)
        goto fail;
    siblings = vanilla.siblings;
    for (unsigned i = 0; i < count && in.error == 0; i++)
        read_sector(&in, shape, i, &vanilla.sectors[i],
                    vanilla.proofs + (size_t)i * shape->challenge_count, &siblings);
    error = bincode_finish(&in);
    if (error != 0)
        goto fail;
    *ret = vanilla;
    return 0;
fail:
    post_vanilla_destroy(&vanilla);
    return error;
}

void post_vanilla_destroy(struct post_vanilla *vanilla)
{
    free(vanilla->sectors);
    free(vanilla->proofs);
    free(vanilla->siblings);
    *vanilla = (struct post_vanilla){0};
}
