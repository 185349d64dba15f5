/* Output of phase 1 of a PoRep's commit, as sealing software hands it over: JSON, in which every
 * value is an array of 32 numbers (51 MB at 32 GiB), or that in base64 in a small JSON object. Read
 * in one pass. Called by tools and synthesis. */
#pragma once

#include "filecoin/json_pull.h"
#include "filecoin/porep.h"

enum {
    POREP_C1_PARTITIONS_MAX = 10,
    POREP_C1_PROOF_NAME_MAX = 64,
};

struct porep_c1 {
    char registered_proof[POREP_C1_PROOF_NAME_MAX]; /* "StackedDrg32GiBV1_1" */
    fr comm_r, comm_d, replica_id;
    uint8_t seed[32], ticket[32];
    uint64_t sector_number; /* of the object around it */
    bool has_sector_number;
    unsigned partition_count;
    struct porep_vanilla partitions[POREP_C1_PARTITIONS_MAX];
};

/* How many partitions a sector has. */
unsigned porep_c1_partition_count(const struct sector *sector);

/* Either form; which one, the first member tells. -EBADMSG with reason, -ENOMEM, and what fill
 * returned. */
int porep_c1_read(struct porep_c1 *ret, const struct sector *sector, json_fill *fill, void *context,
                  struct reason *reason);
/* Accepts a zeroed object. */
void porep_c1_destroy(struct porep_c1 *c1);
