/* Three compressed points. Below: point; above: whoever hands proofs out or takes them in. */
#include "filecoin/proof.h"

#include <errno.h>

#include "filecoin/point.h"

enum {
    B_OFF = POINT_G1_COMPRESSED_BYTES,
    C_OFF = B_OFF + POINT_G2_COMPRESSED_BYTES,
};

void proof_write(const void *proof, uint8_t ret_bytes[PROOF_BYTES])
{
    const uint8_t *points = proof;

    point_g1_write_compressed(points, ret_bytes);
    point_g2_write_compressed(points + POINT_G1_BYTES, ret_bytes + B_OFF);
    point_g1_write_compressed(points + POINT_G1_BYTES + POINT_G2_BYTES, ret_bytes + C_OFF);
}

int proof_read(const uint8_t bytes[PROOF_BYTES], void *ret_proof, struct reason *reason)
{
    static const int offs[3] = {0, B_OFF, C_OFF};
    uint8_t *points = ret_proof;
    const enum point_fault faults[3] = {
        point_g1_read_compressed(bytes, points),
        point_g2_read_compressed(bytes + B_OFF, points + POINT_G1_BYTES),
        point_g1_read_compressed(bytes + C_OFF, points + POINT_G1_BYTES + POINT_G2_BYTES),
    };

    for (int i = 0; i < 3; i++)
        if (faults[i])
            return reason_set(reason, -EBADMSG, "proof: %c at byte %d: %s", 'A' + i, offs[i],
                              point_fault_to_string(faults[i]));
    return 0;
}
