/* See circuit.h. */
#include "tests/gpu-worker/circuit.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "tests/test.h"

/* Scalars mod r, the slow way. */

static bool scalar_less(const struct scalar *a, const uint64_t *b)
{
    for (int i = 3; i >= 0; i--)
        if (a->limbs[i] != b[i])
            return a->limbs[i] < b[i];
    return false;
}

static void scalar_subtract(struct scalar *a, const uint64_t *b)
{
    unsigned __int128 borrow = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned __int128 d = (unsigned __int128)a->limbs[i] - b[i] - borrow;
        a->limbs[i] = (uint64_t)d;
        borrow = d >> 127;
    }
}

static struct scalar scalar_add(const struct curve *curve, struct scalar a, struct scalar b)
{
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)a.limbs[i] + b.limbs[i];
        a.limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (!scalar_less(&a, curve->fr_modulus))
        scalar_subtract(&a, curve->fr_modulus);
    return a;
}

static struct scalar scalar_negate(const struct curve *curve, struct scalar a)
{
    const struct scalar zero = {{0}};
    struct scalar result;
    if (memcmp(&a, &zero, sizeof a) == 0)
        return a;
    memcpy(&result, curve->fr_modulus, sizeof result);
    scalar_subtract(&result, a.limbs);
    return result;
}

static struct scalar scalar_multiply(const struct curve *curve, struct scalar a, struct scalar b)
{
    struct scalar result;
    curve->scalar_mul(result.limbs, a.limbs, b.limbs);
    return result;
}

static struct scalar scalar_small(uint64_t value)
{
    return (struct scalar){{value}};
}

/* base^exponent; exponent of 4 limbs. */
static struct scalar scalar_power(const struct curve *curve, struct scalar base,
                                  const uint64_t exponent[4])
{
    struct scalar result = scalar_small(1);
    for (int i = 255; i >= 0; i--) {
        result = scalar_multiply(curve, result, result);
        if (exponent[i / 64] >> (i % 64) & 1)
            result = scalar_multiply(curve, result, base);
    }
    return result;
}

static struct scalar scalar_inverse(const struct curve *curve, struct scalar a)
{
    struct scalar exponent;
    memcpy(&exponent, curve->fr_modulus, sizeof exponent);
    scalar_subtract(&exponent, scalar_small(2).limbs);
    return scalar_power(curve, a, exponent.limbs);
}

static struct scalar scalar_random(uint64_t *random, const struct curve *curve)
{
    struct scalar result;
    do {
        for (int i = 0; i < 4; i++)
            result.limbs[i] = test_random(random);
        result.limbs[3] &= 0x7fffffffffffffffu;
    } while (!scalar_less(&result, curve->fr_modulus));
    return result;
}

/* Like a witness: many zeros and ones, some small values and -1, the rest full size. */
static struct scalar scalar_witness(uint64_t *random, const struct curve *curve)
{
    switch (test_random(random) % 8) {
    case 0:
    case 1:
        return scalar_small(0);
    case 2:
    case 3:
        return scalar_small(1);
    case 4:
        return scalar_small(test_random(random) & 0xffff);
    case 5:
        return scalar_negate(curve, scalar_small(1));
    default:
        return scalar_random(random, curve);
    }
}

/* The circuit. */

static void circuit_points(uint64_t *random, struct circuit *circuit, unsigned set, size_t count)
{
    const struct curve *curve = circuit->prepared.curve;
    const size_t bytes = set == 2 ? curve->g2_bytes : curve->g1_bytes;
    circuit->points[set] = calloc(count + 1, bytes);
    circuit->logs[set] = calloc(count + 1, sizeof(struct scalar));
    for (size_t i = 0; i < count; i++) {
        struct scalar *log = &circuit->logs[set][i];
        if (set == 2)
            *log = circuit->logs[1][i];
        else if (set > 1 || test_random(random) % 3) /* a third of A and B at infinity */
            *log = scalar_random(random, curve);
        uint8_t *point = circuit->points[set] + i * bytes;
        if (memcmp(log, &(struct scalar){{0}}, sizeof *log) == 0)
            continue;
        if (set == 2)
            curve->g2_mul(curve->g2_generator, log->limbs, point);
        else
            curve->g1_mul(curve->g1_generator, log->limbs, point);
    }
}

static void circuit_matrix(uint64_t *random, struct circuit *circuit, uint32_t *columns,
                           uint32_t *coefficients, struct matrix *ret)
{
    const size_t entries = circuit->rows * CIRCUIT_ROW_ENTRIES;
    for (size_t i = 0; i < entries; i++) {
        columns[i] = (uint32_t)(test_random(random) % circuit->variables);
        coefficients[i] = (uint32_t)(test_random(random) % CIRCUIT_COEFFICIENTS);
    }
    *ret = (struct matrix){
        .row_count = circuit->rows,
        .entry_count = entries,
        .row_begin = circuit->row_begin,
        .column = columns,
        .coefficient = coefficients,
        .dictionary = circuit->dictionary,
        .dictionary_count = CIRCUIT_COEFFICIENTS,
    };
}

void circuit_make(uint64_t *random, struct circuit *circuit, const struct curve *curve,
                  unsigned domain_log2)
{
    memset(circuit, 0, sizeof *circuit);
    struct prepared *prepared = &circuit->prepared;
    const uint64_t sizes = test_random(random);
    circuit->domain = (size_t)1 << domain_log2;
    circuit->rows = circuit->domain / 2 + sizes % (circuit->domain / 2);
    circuit->publics = sizes / 7 % 4;
    circuit->variables = circuit->publics + 2 + sizes / 31 % (2 * circuit->domain);
    const size_t entries = circuit->rows * CIRCUIT_ROW_ENTRIES;
    circuit->row_begin = calloc(circuit->rows + 1, sizeof(uint64_t));
    circuit->dictionary = calloc(CIRCUIT_COEFFICIENTS, sizeof(struct scalar));
    circuit->a_columns = calloc(entries, sizeof(uint32_t));
    circuit->b_columns = calloc(entries, sizeof(uint32_t));
    circuit->a_coefficients = calloc(entries, sizeof(uint32_t));
    circuit->b_coefficients = calloc(entries, sizeof(uint32_t));
    for (size_t i = 0; i <= circuit->rows; i++)
        circuit->row_begin[i] = i * CIRCUIT_ROW_ENTRIES;

    /* Dictionary entries are coefficient * 2^512. */
    struct scalar r2 = scalar_small(1);
    for (unsigned i = 0; i < 512; i++)
        r2 = scalar_add(curve, r2, r2);
    for (unsigned i = 0; i < CIRCUIT_COEFFICIENTS; i++) {
        circuit->coefficients[i] = i == 0   ? scalar_small(1)
                                   : i == 1 ? scalar_negate(curve, scalar_small(1))
                                            : scalar_random(random, curve);
        const struct scalar value = scalar_multiply(curve, circuit->coefficients[i], r2);
        memcpy(circuit->dictionary + 4 * i, &value, sizeof value);
    }

    prepared->curve = curve;
    prepared->shape = (struct prepared_shape){
        .variable_count = (uint32_t)circuit->variables,
        .public_count = (uint32_t)circuit->publics,
        .constraint_count =
            (uint32_t)(circuit->rows > circuit->publics + 1 ? circuit->rows - circuit->publics - 1
                                                            : 0),
        .domain_log2 = domain_log2,
        .row_count = (uint32_t)circuit->rows,
        .dictionary_count = CIRCUIT_COEFFICIENTS,
        .a_entry_count = entries,
        .b_entry_count = entries,
    };
    prepared->shape.slab_bytes = prepared_slab_bytes(prepared);
    circuit_matrix(random, circuit, circuit->a_columns, circuit->a_coefficients,
                   &prepared->matrix_a);
    circuit_matrix(random, circuit, circuit->b_columns, circuit->b_coefficients,
                   &prepared->matrix_b);
    prepared->layout = PREPARED_LAYOUT_SNARKJS;
    prepared->a_count = prepared->b_count = circuit->variables;
    prepared->l_count = circuit->variables - circuit->publics - 1;
    prepared->h_count = circuit->domain;
    circuit_points(random, circuit, 0, circuit->variables);
    circuit_points(random, circuit, 1, circuit->variables);
    circuit_points(random, circuit, 2, circuit->variables);
    circuit_points(random, circuit, 3, prepared->l_count);
    circuit_points(random, circuit, 4, circuit->domain);
    prepared->a = circuit->points[0];
    prepared->b1 = circuit->points[1];
    prepared->b2 = circuit->points[2];
    prepared->l = circuit->points[3];
    prepared->h = circuit->points[4];
}

void circuit_free(struct circuit *circuit)
{
    free(circuit->row_begin);
    free(circuit->dictionary);
    free(circuit->a_columns);
    free(circuit->b_columns);
    free(circuit->a_coefficients);
    free(circuit->b_coefficients);
    for (unsigned i = 0; i < 5; i++) {
        free(circuit->points[i]);
        free(circuit->logs[i]);
    }
}

/* The naive computation. */

static void naive_rows(const struct circuit *circuit, const struct matrix *matrix,
                       const struct scalar *witness, struct scalar *ret_rows)
{
    const struct curve *curve = circuit->prepared.curve;
    memset(ret_rows, 0, circuit->domain * sizeof *ret_rows);
    for (size_t row = 0; row < matrix->row_count; row++)
        for (uint64_t i = matrix->row_begin[row]; i < matrix->row_begin[row + 1]; i++)
            ret_rows[row] =
                scalar_add(curve, ret_rows[row],
                           scalar_multiply(curve, circuit->coefficients[matrix->coefficient[i]],
                                           witness[matrix->column[i]]));
}

/* Values on the domain of w to values at w_2n^(2i+1), through the coefficients, term by term. */
static void naive_coset(const struct curve *curve, size_t n, struct scalar w_2n,
                        struct scalar *values)
{
    struct scalar *coefficients = calloc(n, sizeof *coefficients);
    const struct scalar w = scalar_multiply(curve, w_2n, w_2n);
    const struct scalar w_inverse = scalar_inverse(curve, w);
    const struct scalar n_inverse = scalar_inverse(curve, scalar_small(n));
    struct scalar step = scalar_small(1);
    for (size_t i = 0; i < n; i++) {
        struct scalar sum = scalar_small(0);
        for (size_t j = n; j-- > 0;)
            sum = scalar_add(curve, scalar_multiply(curve, sum, step), values[j]);
        coefficients[i] = scalar_multiply(curve, sum, n_inverse);
        step = scalar_multiply(curve, step, w_inverse);
    }
    struct scalar x = w_2n;
    for (size_t i = 0; i < n; i++) {
        struct scalar sum = scalar_small(0);
        for (size_t j = n; j-- > 0;)
            sum = scalar_add(curve, scalar_multiply(curve, sum, x), coefficients[j]);
        values[i] = sum;
        x = scalar_multiply(curve, x, w);
    }
    free(coefficients);
}

static struct scalar naive_dot(const struct curve *curve, const struct scalar *a,
                               const struct scalar *b, size_t count)
{
    struct scalar sum = scalar_small(0);
    for (size_t i = 0; i < count; i++)
        sum = scalar_add(curve, sum, scalar_multiply(curve, a[i], b[i]));
    return sum;
}

static struct scalar naive_root(const struct curve *curve, unsigned log2)
{
    /* 5^((r - 1) / 2^log2) */
    struct scalar exponent;
    memcpy(&exponent, curve->fr_modulus, sizeof exponent);
    scalar_subtract(&exponent, scalar_small(1).limbs);
    for (unsigned i = 0; i < log2; i++) {
        for (int j = 0; j < 3; j++)
            exponent.limbs[j] = exponent.limbs[j] >> 1 | exponent.limbs[j + 1] << 63;
        exponent.limbs[3] >>= 1;
    }
    return scalar_power(curve, scalar_small(5), exponent.limbs);
}

static void naive_sums(const struct circuit *circuit, const struct scalar *witness, uint8_t *ret)
{
    const struct curve *curve = circuit->prepared.curve;
    const size_t n = circuit->domain, variables = circuit->variables;
    struct scalar *rows[3], sums[5];
    for (unsigned i = 0; i < 3; i++)
        rows[i] = calloc(n, sizeof(struct scalar));
    naive_rows(circuit, &circuit->prepared.matrix_a, witness, rows[0]);
    naive_rows(circuit, &circuit->prepared.matrix_b, witness, rows[1]);
    for (size_t i = 0; i < n; i++)
        rows[2][i] = scalar_multiply(curve, rows[0][i], rows[1][i]);
    const struct scalar w_2n = naive_root(curve, circuit->prepared.shape.domain_log2 + 1);
    for (unsigned i = 0; i < 3; i++)
        naive_coset(curve, n, w_2n, rows[i]);
    for (size_t i = 0; i < n; i++)
        rows[0][i] = scalar_add(curve, scalar_multiply(curve, rows[0][i], rows[1][i]),
                                scalar_negate(curve, rows[2][i]));
    sums[0] = naive_dot(curve, circuit->logs[0], witness, variables);
    sums[1] = naive_dot(curve, circuit->logs[1], witness, variables);
    sums[2] = sums[1];
    sums[3] = naive_dot(curve, circuit->logs[3], witness + circuit->publics + 1,
                        circuit->prepared.l_count);
    sums[4] = naive_dot(curve, circuit->logs[4], rows[0], n);
    for (unsigned i = 0; i < 5; i++) {
        if (i == 2)
            curve->g2_mul(curve->g2_generator, sums[i].limbs, ret);
        else
            curve->g1_mul(curve->g1_generator, sums[i].limbs, ret);
        ret += i == 2 ? curve->g2_bytes : curve->g1_bytes;
    }
    for (unsigned i = 0; i < 3; i++)
        free(rows[i]);
}

/* Partitions. */

void partition_make(uint64_t *random, const struct circuit *circuit, struct partition *partition)
{
    const struct prepared *prepared = &circuit->prepared;
    const struct slab_layout layout = prepared_slab_layout(prepared);
    memset(partition, 0, sizeof *partition);
    partition->bytes = layout.bytes;
    partition->has_evaluations = true;
    partition->slab =
        mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (partition->slab == MAP_FAILED)
        abort();
    struct scalar *witness = (struct scalar *)(partition->slab + layout.witness_off);
    for (size_t i = 0; i < circuit->variables; i++)
        witness[i] = i == 0 ? scalar_small(1) : scalar_witness(random, prepared->curve);
    prepared->curve->evaluate(&prepared->matrix_a, (uint64_t *)witness,
                              (uint64_t *)(partition->slab + layout.a_off), 0, circuit->domain);
    prepared->curve->evaluate(&prepared->matrix_b, (uint64_t *)witness,
                              (uint64_t *)(partition->slab + layout.b_off), 0, circuit->domain);
    naive_sums(circuit, witness, partition->expected);
    partition->copy = malloc(layout.bytes);
    memcpy(partition->copy, partition->slab, layout.bytes);
    /* The backend may only read: a write is a crash here. */
    mprotect(partition->slab, layout.bytes, PROT_READ);
}

void partition_strip(const struct circuit *circuit, struct partition *partition)
{
    const struct slab_layout layout = prepared_slab_layout(&circuit->prepared);
    const size_t bytes = slab_layout_used_bytes(&layout, false);
    munmap(partition->slab + bytes, partition->bytes - bytes);
    partition->bytes = bytes;
    partition->has_evaluations = false;
}

void partition_free(struct partition *partition)
{
    munmap(partition->slab, partition->bytes);
    free(partition->copy);
}
