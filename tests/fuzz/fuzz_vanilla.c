/* Vanilla proofs from a hostile client, and witnesses of those that can be read. The first byte
 * picks the circuit. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "filecoin/circuit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* PoSt of one sector and challenge is quick enough to make witnesses of; the others are only read.
 */
static const struct {
    const char *kind, *sector;
    bool has_witness;
} subjects[] = {{"window", "2KiB", true},
                {"snap", "1KiB", false},
                {"snap", "4KiB", false},
                {"porep", "2KiB", false},
                {"window", "64GiB", false}};

static void make_witness(const struct circuit *circuit, const struct circuit_vanilla *vanilla)
{
    static fr inputs[3], aux[1389], public[2];
    struct cs cs;

    public[0] = vanilla->post.sectors[0].comm_c;
    public[1] = fr_word(vanilla->post.proofs[0].index);
    cs_init_values(&cs, inputs, 3, aux, 1389, NULL, NULL);
    if (circuit_synthesize(&cs, circuit, vanilla, public) == 0)
        abort(); /* CommR is no hash of itself */
    cs_destroy(&cs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct circuit_vanilla vanilla;
    struct circuit circuit;
    struct reason reason;
    unsigned subject;

    if (size == 0)
        return 0;
    subject = data[0] % (sizeof subjects / sizeof subjects[0]);
    if (circuit_find(subjects[subject].kind, subjects[subject].sector, &circuit, &reason) != 0)
        abort();
    if (subjects[subject].has_witness)
        circuit.post.sector_count = circuit.post.challenge_count = 1;
    if (circuit_vanilla_read(&vanilla, &circuit, data + 1, size - 1, &reason) != 0)
        return 0;
    if (subjects[subject].has_witness)
        make_witness(&circuit, &vanilla);
    circuit_vanilla_destroy(&vanilla);
    return 0;
}
