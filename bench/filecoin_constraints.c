/* Takes the arrays of a recorded circuit over. */
#include "bench/filecoin_constraints.h"

#include <errno.h>
#include <string.h>

#include "filecoin/circuit_key.h"

static void take(struct record_matrix *from, struct matrix *matrix, struct matrix_rows *ret)
{
    *ret = (struct matrix_rows){
        .row_begin = from->row_begin,
        .column = from->column,
        .coefficient = (uint32_t *)matrix->coefficient,
        .entry_count = from->entry_count,
        .entry_capacity = from->entry_count,
    };
    from->row_begin = NULL;
    from->column = NULL;
    matrix->coefficient = NULL;
}

int filecoin_constraints(const struct circuit *circuit, struct constraints *ret,
                         struct reason *reason)
{
    struct circuit_key key;
    int error;

    memset(ret, 0, sizeof *ret);
    error = circuit_key_make(circuit, true, &key, reason);
    if (error)
        return error;
    ret->curve = key.circuit.curve;
    ret->variable_count = key.circuit.variable_count;
    ret->public_count = key.circuit.public_count;
    ret->constraint_count = key.circuit.constraint_count;
    error = constraints_begin(ret, reason);
    /* Both dictionaries begin with 1 and -1, and no value is there twice: the numbers stay. */
    for (size_t i = 0; i < key.circuit.a.dictionary_count && error == 0; i++) {
        uint32_t number;

        error = dictionary_number(&ret->dictionary, key.circuit.a.dictionary + 4 * i, &number);
        if (error == 0 && number != i)
            error = -EINVAL;
        if (error)
            reason_set(reason, error, "the coefficients of the circuit cannot be numbered");
    }
    take(&key.record.matrix[0], &key.matrices[0], &ret->a);
    take(&key.record.matrix[1], &key.matrices[1], &ret->b);
    take(&key.record.matrix[2], &key.matrices[2], &ret->c);
    circuit_key_destroy(&key);
    return error;
}
