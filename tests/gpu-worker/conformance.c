/* See conformance.h. */
#include "tests/gpu-worker/conformance.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu-worker/known_answer.h"
#include "groth16/verify/sums.h"
#include "tests/test.h"

enum {
    CIRCUIT_COEFFICIENTS = 4,
    CIRCUIT_ROW_ENTRIES = 3,
    EVENT_TIMEOUT_MS = 120000,
};

struct conformance {
    const struct backend_ops *ops;
    struct backend *backend;
    uint64_t random; /* state of test_random */
};

struct scalar {
    uint64_t limbs[4];
};

struct circuit {
    struct prepared prepared;
    size_t variables, publics, rows, domain;
    uint64_t *row_begin, *dictionary;
    uint32_t *a_columns, *b_columns, *a_coefficients, *b_coefficients;
    uint8_t *points[5];     /* A, B1, B2, L, H */
    struct scalar *logs[5]; /* of the points; B1 and B2 share theirs */
    struct scalar coefficients[CIRCUIT_COEFFICIENTS];
};

struct partition {
    uint8_t *slab, *copy;
    size_t bytes;
    uint8_t expected[SUMS_BYTES_MAX];
    bool has_evaluations;
    unsigned ends, uploads;
    bool is_cancelled;
    unsigned place; /* of its PROVED among all */
};

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

static struct scalar scalar_random(struct conformance *run, const struct curve *curve)
{
    struct scalar result;
    do {
        for (int i = 0; i < 4; i++)
            result.limbs[i] = test_random(&run->random);
        result.limbs[3] &= 0x7fffffffffffffffu;
    } while (!scalar_less(&result, curve->fr_modulus));
    return result;
}

/* Like a witness: many zeros and ones, some small values and -1, the rest full size. */
static struct scalar scalar_witness(struct conformance *run, const struct curve *curve)
{
    switch (test_random(&run->random) % 8) {
    case 0:
    case 1:
        return scalar_small(0);
    case 2:
    case 3:
        return scalar_small(1);
    case 4:
        return scalar_small(test_random(&run->random) & 0xffff);
    case 5:
        return scalar_negate(curve, scalar_small(1));
    default:
        return scalar_random(run, curve);
    }
}

/* The circuit. */

static void circuit_points(struct conformance *run, struct circuit *circuit, unsigned set,
                           size_t count)
{
    const struct curve *curve = circuit->prepared.curve;
    const size_t bytes = set == 2 ? curve->g2_bytes : curve->g1_bytes;
    circuit->points[set] = calloc(count + 1, bytes);
    circuit->logs[set] = calloc(count + 1, sizeof(struct scalar));
    for (size_t i = 0; i < count; i++) {
        struct scalar *log = &circuit->logs[set][i];
        if (set == 2)
            *log = circuit->logs[1][i];
        else if (set > 1 || test_random(&run->random) % 3) /* a third of A and B at infinity */
            *log = scalar_random(run, curve);
        uint8_t *point = circuit->points[set] + i * bytes;
        if (memcmp(log, &(struct scalar){{0}}, sizeof *log) == 0)
            continue;
        if (set == 2)
            curve->g2_mul(curve->g2_generator, log->limbs, point);
        else
            curve->g1_mul(curve->g1_generator, log->limbs, point);
    }
}

static void circuit_matrix(struct conformance *run, struct circuit *circuit, uint32_t *columns,
                           uint32_t *coefficients, struct matrix *ret)
{
    const size_t entries = circuit->rows * CIRCUIT_ROW_ENTRIES;
    for (size_t i = 0; i < entries; i++) {
        columns[i] = (uint32_t)(test_random(&run->random) % circuit->variables);
        coefficients[i] = (uint32_t)(test_random(&run->random) % CIRCUIT_COEFFICIENTS);
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

static void circuit_make(struct conformance *run, struct circuit *circuit,
                         const struct curve *curve, unsigned domain_log2)
{
    memset(circuit, 0, sizeof *circuit);
    struct prepared *prepared = &circuit->prepared;
    const uint64_t random = test_random(&run->random);
    circuit->domain = (size_t)1 << domain_log2;
    circuit->rows = circuit->domain / 2 + random % (circuit->domain / 2);
    circuit->publics = random / 7 % 4;
    circuit->variables = circuit->publics + 2 + random / 31 % (2 * circuit->domain);
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
                                            : scalar_random(run, curve);
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
    circuit_matrix(run, circuit, circuit->a_columns, circuit->a_coefficients, &prepared->matrix_a);
    circuit_matrix(run, circuit, circuit->b_columns, circuit->b_coefficients, &prepared->matrix_b);
    prepared->l_count = circuit->variables - circuit->publics - 1;
    prepared->h_count = circuit->domain;
    circuit_points(run, circuit, 0, circuit->variables);
    circuit_points(run, circuit, 1, circuit->variables);
    circuit_points(run, circuit, 2, circuit->variables);
    circuit_points(run, circuit, 3, prepared->l_count);
    circuit_points(run, circuit, 4, circuit->domain);
    prepared->a = circuit->points[0];
    prepared->b1 = circuit->points[1];
    prepared->b2 = circuit->points[2];
    prepared->l = circuit->points[3];
    prepared->h = circuit->points[4];
}

static void circuit_free(struct circuit *circuit)
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

/* Partitions and events. */

static void partition_make(struct conformance *run, const struct circuit *circuit,
                           struct partition *partition)
{
    const struct prepared *prepared = &circuit->prepared;
    const struct slab_layout layout = prepared_slab_layout(prepared);
    memset(partition, 0, sizeof *partition);
    partition->bytes = layout.bytes;
    partition->has_evaluations = true;
    partition->slab =
        mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT(partition->slab != MAP_FAILED);
    struct scalar *witness = (struct scalar *)(partition->slab + layout.witness_off);
    for (size_t i = 0; i < circuit->variables; i++)
        witness[i] = i == 0 ? scalar_small(1) : scalar_witness(run, prepared->curve);
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

/* The witness alone is left: whoever reads evaluations crashes. */
static void partition_strip(const struct circuit *circuit, struct partition *partition)
{
    const struct slab_layout layout = prepared_slab_layout(&circuit->prepared);
    const size_t bytes = slab_layout_used_bytes(&layout, false);
    munmap(partition->slab + bytes, partition->bytes - bytes);
    partition->bytes = bytes;
    partition->has_evaluations = false;
}

static void partition_free(struct partition *partition)
{
    munmap(partition->slab, partition->bytes);
    free(partition->copy);
}

static struct backend_event next_event(struct conformance *run)
{
    struct backend_event event;
    for (;;) {
        if (run->ops->poll(run->backend, &event))
            return event;
        struct pollfd bell = {.fd = run->ops->event_fd(run->backend), .events = POLLIN};
        uint64_t count;
        ASSERT_INT(poll(&bell, 1, EVENT_TIMEOUT_MS), 1);
        ASSERT_INT(read(bell.fd, &count, sizeof count), sizeof count);
    }
}

static void load(struct conformance *run, uint32_t key, const struct circuit *circuit)
{
    ASSERT_INT(run->ops->load_key(run->backend, key, &circuit->prepared), 0);
    const struct backend_event event = next_event(run);
    ASSERT_INT(event.kind, BACKEND_KEY_LOADED);
    ASSERT_INT(event.id, key);
}

static void drop(struct conformance *run, uint32_t key)
{
    ASSERT_INT(run->ops->drop_key(run->backend, key), 0);
    const struct backend_event event = next_event(run);
    ASSERT_INT(event.kind, BACKEND_KEY_DROPPED);
    ASSERT_INT(event.id, key);
}

static int start(struct conformance *run, uint32_t key, const struct partition *partition,
                 uint64_t id, uint64_t order_key)
{
    const struct backend_partition given = {
        .id = id,
        .order_key = order_key,
        .key = key,
        .slab_index = (uint32_t)id % SLABS_MAX,
        .slab = partition->slab,
        .slab_bytes = partition->bytes,
        .has_evaluations = partition->has_evaluations,
    };
    return run->ops->start(run->backend, &given);
}

static void attach(struct conformance *run, const struct partition *partition, uint64_t id)
{
    if (!run->ops->attach_slab)
        return;
    ASSERT_INT(run->ops->attach_slab(run->backend, (uint32_t)id % SLABS_MAX, partition->slab,
                                     partition->bytes),
               0);
    ASSERT_INT(next_event(run).kind, BACKEND_SLAB_ATTACHED);
}

static void detach(struct conformance *run, uint64_t id)
{
    if (run->ops->detach_slab)
        ASSERT_INT(run->ops->detach_slab(run->backend, (uint32_t)id % SLABS_MAX), 0);
}

/* Takes events until `count` of the partitions (ids 0 ...) have ended. */
static void finish(struct conformance *run, struct partition *partitions, unsigned total,
                   unsigned count)
{
    unsigned place = 0;
    while (count) {
        const struct backend_event event = next_event(run);
        ASSERT(event.id < total);
        struct partition *partition = &partitions[event.id];
        ASSERT_INT(partition->ends, 0); /* nothing follows the end */
        switch (event.kind) {
        case BACKEND_PHASE_BEGAN:
            break;
        case BACKEND_PHASE_ENDED:
            ASSERT(event.phase < BACKEND_PHASE_COUNT && event.end_ns >= event.begin_ns);
            break;
        case BACKEND_UPLOADED:
            partition->uploads++;
            break;
        case BACKEND_PROVED:
            ASSERT_INT(partition->uploads, 1);
            ASSERT(memcmp(event.sums, partition->expected, event.sums_bytes) == 0);
            ASSERT(memcmp(partition->slab, partition->copy, partition->bytes) == 0);
            partition->place = place++;
            partition->ends++;
            count--;
            break;
        case BACKEND_FAILED:
            if (event.fault != BACKEND_FAULT_CANCELLED)
                fprintf(stderr, "%s\n", event.text);
            ASSERT_INT(event.fault, BACKEND_FAULT_CANCELLED);
            ASSERT(partition->is_cancelled);
            partition->ends++;
            count--;
            break;
        default:
            ASSERT(!"an event that belongs to no partition");
        }
    }
}

static void conformance_known_answer(struct conformance *run)
{
    char text[BACKEND_TEXT_BYTES] = "";
    const int error = known_answer_check(run->ops, run->backend, text);
    if (error < 0)
        fprintf(stderr, "%s\n", text);
    ASSERT_INT(error, 0);
}

/* The first `stripped` partitions hold no evaluations. */
static void conformance_prove(struct conformance *run, const struct curve *curve,
                              unsigned domain_log2, unsigned count, unsigned stripped)
{
    struct circuit circuit;
    struct partition *partitions = calloc(count, sizeof *partitions);
    circuit_make(run, &circuit, curve, domain_log2);
    load(run, 3, &circuit);
    for (unsigned i = 0; i < count; i++) {
        partition_make(run, &circuit, &partitions[i]);
        if (i < stripped)
            partition_strip(&circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned begin = 0; begin < count; begin += BACKEND_PARTITIONS_MAX) {
        const unsigned end =
            begin + BACKEND_PARTITIONS_MAX < count ? begin + BACKEND_PARTITIONS_MAX : count;
        for (unsigned i = begin; i < end; i++)
            ASSERT_INT(start(run, 3, &partitions[i], i, i), 0);
        finish(run, partitions, count, end - begin);
    }
    for (unsigned i = 0; i < count; i++) {
        ASSERT_INT(partitions[i].ends, 1);
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 3);
    circuit_free(&circuit);
    free(partitions);
}

static void conformance_order(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    circuit_make(run, &circuit, &curve_bn254, 8);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(run, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    /* Highest key first; all are held before the first few can be done. */
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 0, &partitions[i], i, 100 - i), 0);
    finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
    /* The first ones may have begun before the others came; the last half shows the order. */
    struct backend_device device;
    run->ops->describe(run->backend, &device);
    for (unsigned i = device.partitions_useful; i + 1 < BACKEND_PARTITIONS_MAX; i++)
        ASSERT(partitions[i].place > partitions[i + 1].place);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    circuit_free(&circuit);
}

static void conformance_cancel(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    unsigned cancelled = 0;
    circuit_make(run, &circuit, &curve_bls12_381, 6);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(run, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
            partitions[i].ends = partitions[i].uploads = 0;
            partitions[i].is_cancelled = false;
            ASSERT_INT(start(run, 0, &partitions[i], i, i), 0);
        }
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i += 1 + round % 3) {
            usleep((useconds_t)(test_random(&run->random) % 2000));
            partitions[i].is_cancelled = true;
            run->ops->cancel(run->backend, i);
        }
        run->ops->cancel(run->backend, 12345); /* unknown: ignored */
        finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
            cancelled += partitions[i].ends == 1 && partitions[i].is_cancelled;
    }
    ASSERT(cancelled > 0);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    circuit_free(&circuit);
}

static void conformance_refusals(struct conformance *run)
{
    struct circuit circuit;
    struct partition partitions[BACKEND_PARTITIONS_MAX];
    circuit_make(run, &circuit, &curve_bn254, 8);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        partition_make(run, &circuit, &partitions[i]);
        attach(run, &partitions[i], i);
    }
    ASSERT_INT(start(run, 5, &partitions[0], 0, 0), -ENOENT);
    ASSERT_INT(start(run, BACKEND_KEYS_MAX, &partitions[0], 0, 0), -ENOENT);
    ASSERT_INT(run->ops->drop_key(run->backend, 5), -ENOENT);
    load(run, 5, &circuit);
    ASSERT_INT(run->ops->load_key(run->backend, 5, &circuit.prepared), -EEXIST);
    struct partition small = partitions[0];
    small.bytes = prepared_slab_bytes(&circuit.prepared) - 1;
    ASSERT_INT(start(run, 5, &small, 0, 0), -EINVAL);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 5, &partitions[i], i, i), 0);
    ASSERT_INT(start(run, 5, &partitions[0], 99, 0), -EAGAIN);
    ASSERT_INT(start(run, 5, &partitions[0], 0, 0), -EEXIST);
    ASSERT_INT(run->ops->drop_key(run->backend, 5), -EBUSY);
    finish(run, partitions, BACKEND_PARTITIONS_MAX, BACKEND_PARTITIONS_MAX);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 5);
    circuit_free(&circuit);
}

static void conformance_two_keys(struct conformance *run)
{
    struct circuit circuits[2];
    struct partition partitions[6];
    circuit_make(run, &circuits[0], &curve_bn254, 3);
    circuit_make(run, &circuits[1], &curve_bls12_381, 7);
    load(run, 0, &circuits[0]);
    load(run, BACKEND_KEYS_MAX - 2, &circuits[1]);
    for (unsigned i = 0; i < 6; i++) {
        partition_make(run, &circuits[i % 2], &partitions[i]);
        attach(run, &partitions[i], i);
    }
    for (unsigned i = 0; i < 6; i++)
        ASSERT_INT(start(run, i % 2 ? BACKEND_KEYS_MAX - 2 : 0, &partitions[i], i, i), 0);
    finish(run, partitions, 6, 6);
    for (unsigned i = 0; i < 6; i++) {
        detach(run, i);
        partition_free(&partitions[i]);
    }
    drop(run, 0);
    drop(run, BACKEND_KEYS_MAX - 2);
    circuit_free(&circuits[0]);
    circuit_free(&circuits[1]);
}

/* Cases: each on a freshly opened backend. */

static void with_backend(void (*check)(struct conformance *run))
{
    struct conformance run = {.ops = conformance_ops, .random = test_seed()};
    char text[BACKEND_TEXT_BYTES] = "";
    if (run.ops->open(&conformance_options, &run.backend, text) < 0) {
        fprintf(stderr, "%s\n", text);
        ASSERT(!"the backend opens");
    }
    check(&run);
    struct backend_event event;
    ASSERT_INT(run.ops->poll(run.backend, &event), 0);
    run.ops->close(run.backend);
}

static void prove_all_sizes(struct conformance *run)
{
    for (unsigned log2 = 1; log2 <= 9; log2++) {
        conformance_prove(run, &curve_bn254, log2, 3, 0);
        conformance_prove(run, &curve_bls12_381, log2, 2, 0);
    }
    conformance_prove(run, &curve_bn254, 5, 20, 0);
}

/* A backend evaluates a and b itself, or says at once that it does not. */
static void prove_from_the_witness(struct conformance *run)
{
    struct circuit circuit;
    struct partition partition;
    circuit_make(run, &circuit, &curve_bn254, 6);
    partition_make(run, &circuit, &partition);
    partition_strip(&circuit, &partition);
    attach(run, &partition, 0);
    load(run, 0, &circuit);
    struct partition small = partition;
    small.bytes--;
    const int error = start(run, 0, &partition, 0, 0);
    if (error == 0)
        finish(run, &partition, 1, 1);
    else
        ASSERT_INT(error, -ENOTSUP);
    ASSERT_INT(start(run, 0, &small, 1, 0), error == 0 ? -EINVAL : -ENOTSUP);
    detach(run, 0);
    partition_free(&partition);
    drop(run, 0);
    circuit_free(&circuit);
    if (error < 0)
        return;
    for (unsigned log2 = 1; log2 <= 9; log2++) {
        conformance_prove(run, &curve_bn254, log2, 3, 2);
        conformance_prove(run, &curve_bls12_381, log2, 2, 1);
    }
}

static void close_in_flight(struct conformance *run)
{
    struct circuit circuit;
    struct partition partition;
    char text[BACKEND_TEXT_BYTES];
    circuit_make(run, &circuit, &curve_bn254, 8);
    partition_make(run, &circuit, &partition);
    attach(run, &partition, 0);
    load(run, 0, &circuit);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++)
        ASSERT_INT(start(run, 0, &partition, i, i), 0);
    run->ops->close(run->backend);
    partition_free(&partition);
    circuit_free(&circuit);
    ASSERT_INT(run->ops->open(&conformance_options, &run->backend, text), 0);
}

TEST(the_known_answer_is_computed)
{
    with_backend(conformance_known_answer);
}

TEST(sums_equal_the_naive_ones_at_every_size_on_both_curves)
{
    with_backend(prove_all_sizes);
}

TEST(witnesses_alone_give_the_same_sums_where_the_backend_evaluates)
{
    with_backend(prove_from_the_witness);
}

TEST(the_lowest_order_key_is_proved_first)
{
    with_backend(conformance_order);
}

TEST(every_cancelled_partition_ends_once)
{
    with_backend(conformance_cancel);
}

TEST(impossible_calls_are_refused)
{
    with_backend(conformance_refusals);
}

TEST(two_keys_of_different_curves_are_served_in_turn)
{
    with_backend(conformance_two_keys);
}

TEST(closing_ends_what_is_in_flight)
{
    with_backend(close_in_flight);
}

TEST_MAIN(CASE(the_known_answer_is_computed),
          CASE(sums_equal_the_naive_ones_at_every_size_on_both_curves),
          CASE(witnesses_alone_give_the_same_sums_where_the_backend_evaluates),
          CASE(the_lowest_order_key_is_proved_first), CASE(every_cancelled_partition_ends_once),
          CASE(impossible_calls_are_refused), CASE(two_keys_of_different_curves_are_served_in_turn),
          CASE(closing_ends_what_is_in_flight))
