/* Below: record; downstream: params_prepare. */
#include "filecoin/circuit_key.h"

#include <string.h>

#include "groth16/curve/curve.h"

int circuit_key_make(const struct circuit *circuit, bool has_c, struct circuit_key *ret,
                     struct reason *reason)
{
    int error;

    memset(ret, 0, sizeof *ret);
    error = record_circuit(&ret->record, circuit, has_c);
    if (error == 0)
        error = record_matrices(&ret->record, ret->matrices);
    if (error) {
        record_destroy(&ret->record);
        return reason_set(reason, error, "the %s circuit of %s cannot be recorded: %s",
                          circuit_kind_to_string(circuit->kind), circuit->sector->name,
                          strerror(-error));
    }

    const struct circuit_size *size = &ret->record.size;

    ret->circuit = (struct prepared_circuit){
        .curve = &curve_bls12_381,
        .variable_count = size->input_count + size->aux_count,
        .public_count = size->input_count - 1,
        .constraint_count = (uint32_t)size->row_count - size->input_count,
        .domain_log2 = prepared_domain_log2(size->row_count),
        .a = ret->matrices[0],
        .b = ret->matrices[1],
        .c = ret->matrices[2],
        .has_c = has_c,
    };
    return 0;
}

void circuit_key_destroy(struct circuit_key *key)
{
    record_matrices_release(key->matrices);
    record_destroy(&key->record);
}
