/* The built-in circuit: 24 wires, 3 public, 20 rows, domain 2^5. Everything is drawn from
 * splitmix64, as in known_answer.py; every point is a known multiple of the generator. */
#include "gpu-worker/known_answer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu-worker/known_answer_constants.h"
#include "groth16/verify/sums.h"

enum {
    KNOWN_VARIABLES = 24,
    KNOWN_PUBLIC = 3,
    KNOWN_ROWS = 20,
    KNOWN_LOG2 = 5,
    KNOWN_DOMAIN = 1 << KNOWN_LOG2,
    KNOWN_L = KNOWN_VARIABLES - KNOWN_PUBLIC - 1,
    KNOWN_DICTIONARY = 3,
    /* Far beyond what any device takes for it. */
    KNOWN_TIMEOUT_MS = 60000,
    KNOWN_SLAB_INDEX = SLABS_MAX,
};

/* The streams of scalars. */
enum known_seed {
    KNOWN_SEED_WITNESS = 1,
    KNOWN_SEED_A,
    KNOWN_SEED_B,
    KNOWN_SEED_L,
    KNOWN_SEED_H,
};

struct known_circuit {
    struct prepared prepared;
    uint64_t rows[KNOWN_ROWS + 1];
    uint32_t a_columns[2 * KNOWN_ROWS], a_coefficients[2 * KNOWN_ROWS];
    uint32_t b_columns[2 * KNOWN_ROWS], b_coefficients[2 * KNOWN_ROWS];
    uint64_t a[KNOWN_VARIABLES * CURVE_G1_BYTES_MAX / 8];
    uint64_t b1[KNOWN_VARIABLES * CURVE_G1_BYTES_MAX / 8];
    uint64_t b2[KNOWN_VARIABLES * CURVE_G2_BYTES_MAX / 8];
    uint64_t l[KNOWN_L * CURVE_G1_BYTES_MAX / 8];
    uint64_t h[KNOWN_DOMAIN * CURVE_G1_BYTES_MAX / 8];
};

static void known_scalar(uint64_t seed, uint64_t index, uint64_t ret[4])
{
    for (uint64_t j = 0; j < 4; j++) {
        uint64_t z = seed + (4 * index + j + 1) * 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        ret[j] = z ^ (z >> 31);
    }
    ret[3] &= 0x0fffffffffffffffu; /* below both curves' r */
}

static void known_matrices(struct known_circuit *circuit, const uint64_t *dictionary)
{
    for (uint32_t i = 0; i < KNOWN_ROWS; i++) {
        circuit->rows[i + 1] = 2 * (i + 1);
        circuit->a_columns[2 * i] = (7 * i + 1) % KNOWN_VARIABLES;
        circuit->a_columns[2 * i + 1] = (5 * i + 2) % KNOWN_VARIABLES;
        circuit->a_coefficients[2 * i] = 0;
        circuit->a_coefficients[2 * i + 1] = 2;
        circuit->b_columns[2 * i] = (3 * i) % KNOWN_VARIABLES;
        circuit->b_columns[2 * i + 1] = (11 * i + 4) % KNOWN_VARIABLES;
        circuit->b_coefficients[2 * i] = 1;
        circuit->b_coefficients[2 * i + 1] = 2;
    }
    circuit->prepared.matrix_a = (struct matrix){
        .row_count = KNOWN_ROWS,
        .entry_count = 2 * KNOWN_ROWS,
        .row_begin = circuit->rows,
        .column = circuit->a_columns,
        .coefficient = circuit->a_coefficients,
        .dictionary = dictionary,
        .dictionary_count = KNOWN_DICTIONARY,
    };
    circuit->prepared.matrix_b = circuit->prepared.matrix_a;
    circuit->prepared.matrix_b.column = circuit->b_columns;
    circuit->prepared.matrix_b.coefficient = circuit->b_coefficients;
}

static void known_points(struct known_circuit *circuit, const struct curve *curve)
{
    const size_t g1 = curve->g1_bytes / 8, g2 = curve->g2_bytes / 8;
    uint64_t k[4];
    for (uint64_t i = 0; i < KNOWN_VARIABLES; i++) {
        if (i % 7 != 3) { /* the others stay at infinity */
            known_scalar(KNOWN_SEED_A, i, k);
            curve->g1_mul(curve->g1_generator, k, circuit->a + i * g1);
        }
        if (i % 3 != 1) {
            known_scalar(KNOWN_SEED_B, i, k);
            curve->g1_mul(curve->g1_generator, k, circuit->b1 + i * g1);
            curve->g2_mul(curve->g2_generator, k, circuit->b2 + i * g2);
        }
    }
    for (uint64_t i = 0; i < KNOWN_L; i++) {
        known_scalar(KNOWN_SEED_L, i, k);
        curve->g1_mul(curve->g1_generator, k, circuit->l + i * g1);
    }
    for (uint64_t i = 0; i < KNOWN_DOMAIN; i++) {
        known_scalar(KNOWN_SEED_H, i, k);
        curve->g1_mul(curve->g1_generator, k, circuit->h + i * g1);
    }
}

static void known_build(struct known_circuit *circuit, const struct curve *curve)
{
    struct prepared *prepared = &circuit->prepared;
    prepared->curve = curve;
    prepared->shape = (struct prepared_shape){
        .variable_count = KNOWN_VARIABLES,
        .public_count = KNOWN_PUBLIC,
        .constraint_count = KNOWN_ROWS - KNOWN_PUBLIC - 1,
        .domain_log2 = KNOWN_LOG2,
        .row_count = KNOWN_ROWS,
        .dictionary_count = KNOWN_DICTIONARY,
        .a_entry_count = 2 * KNOWN_ROWS,
        .b_entry_count = 2 * KNOWN_ROWS,
    };
    prepared->shape.slab_bytes = prepared_slab_bytes(prepared);
    prepared->a = circuit->a;
    prepared->b1 = circuit->b1;
    prepared->b2 = circuit->b2;
    prepared->l = circuit->l;
    prepared->h = circuit->h;
    prepared->layout = PREPARED_LAYOUT_SNARKJS;
    prepared->a_count = prepared->b_count = KNOWN_VARIABLES;
    prepared->l_count = KNOWN_L;
    prepared->h_count = KNOWN_DOMAIN;
    known_matrices(circuit, curve->id == CURVE_BN254 ? known_answer_dictionary_bn254[0]
                                                     : known_answer_dictionary_bls12_381[0]);
    known_points(circuit, curve);
}

static void known_fill(const struct prepared *prepared, uint8_t *slab)
{
    const struct slab_layout layout = prepared_slab_layout(prepared);
    uint64_t *witness = (uint64_t *)(slab + layout.witness_off);
    for (uint64_t i = 0; i < KNOWN_VARIABLES; i++) {
        if (i == 0 || i % 5 == 2)
            witness[4 * i] = 1;
        else if (i % 5 != 1)
            known_scalar(KNOWN_SEED_WITNESS, i, witness + 4 * i);
    }
    prepared->curve->evaluate(&prepared->matrix_a, witness, (uint64_t *)(slab + layout.a_off), 0,
                              KNOWN_DOMAIN);
    prepared->curve->evaluate(&prepared->matrix_b, witness, (uint64_t *)(slab + layout.b_off), 0,
                              KNOWN_DOMAIN);
}

/* Evaluations that nobody may use. */
static void known_spoil(const struct prepared *prepared, uint8_t *slab)
{
    const struct slab_layout layout = prepared_slab_layout(prepared);
    memset(slab + layout.a_off, 0xff, layout.bytes - layout.a_off);
}

/* Waits for the event of this kind; progress is skipped, a refusal or failure is passed on. */
static int known_wait(const struct backend_ops *ops, struct backend *backend,
                      enum backend_event_kind kind, struct backend_event *ret_event, char *ret_text)
{
    for (;;) {
        while (ops->poll(backend, ret_event)) {
            if (ret_event->kind == kind)
                return 0;
            if (ret_event->fault != BACKEND_FAULT_NONE) {
                memcpy(ret_text, ret_event->text, BACKEND_TEXT_BYTES);
                return -EIO;
            }
        }
        struct pollfd bell = {.fd = ops->event_fd(backend), .events = POLLIN};
        uint64_t count;
        if (poll(&bell, 1, KNOWN_TIMEOUT_MS) == 0) {
            snprintf(ret_text, BACKEND_TEXT_BYTES, "no answer within %d s",
                     KNOWN_TIMEOUT_MS / 1000);
            return -ETIMEDOUT;
        }
        (void)!read(bell.fd, &count, sizeof count);
    }
}

/* -EBADMSG: it is wrong. */
static int known_compare(const struct curve *curve, const struct backend_event *proved,
                         char *ret_text)
{
    static const char *const names[] = {"A", "B1", "B2", "L", "H"};
    const uint8_t *expected =
        (const uint8_t *)(curve->id == CURVE_BN254 ? known_answer_sums_bn254
                                                   : known_answer_sums_bls12_381);
    const uint8_t *sums = proved->sums;
    if (proved->sums_bytes != sums_bytes(curve)) {
        snprintf(ret_text, BACKEND_TEXT_BYTES, "an answer of %zu bytes", proved->sums_bytes);
        return -EBADMSG;
    }
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++) {
        const size_t off = sums_off(curve, i);
        if (memcmp(sums + off, expected + off, sums_point_bytes(curve, i)) != 0) {
            snprintf(ret_text, BACKEND_TEXT_BYTES, "the sum %s is wrong", names[i]);
            return -EBADMSG;
        }
    }
    return 0;
}

/* One partition with the loaded key. -ENOTSUP: this backend does not evaluate. */
static int known_partition(const struct backend_ops *ops, struct backend *backend,
                           const struct prepared *prepared, const void *slab, bool has_evaluations,
                           char *ret_text)
{
    const struct backend_partition partition = {
        .id = has_evaluations ? 1 : 2,
        .key = BACKEND_KEY_KNOWN_ANSWER,
        .slab_index = KNOWN_SLAB_INDEX,
        .slab = slab,
        .slab_bytes = prepared->shape.slab_bytes,
        .has_evaluations = has_evaluations,
    };
    struct backend_event event;
    int error = ops->start(backend, &partition);
    if (error == 0)
        error = known_wait(ops, backend, BACKEND_PROVED, &event, ret_text);
    return error < 0 ? error : known_compare(prepared->curve, &event, ret_text);
}

/* From key load to drop; both ways where the backend evaluates. */
static int known_prove(const struct backend_ops *ops, struct backend *backend,
                       const struct prepared *prepared, uint8_t *slab, char *ret_text)
{
    const size_t slab_bytes = prepared->shape.slab_bytes;
    struct backend_event event;
    int error = 0, drop_error;
    snprintf(ret_text, BACKEND_TEXT_BYTES, "a call was refused");
    if (ops->attach_slab) {
        error = ops->attach_slab(backend, KNOWN_SLAB_INDEX, slab, slab_bytes);
        if (error == 0)
            error = known_wait(ops, backend, BACKEND_SLAB_ATTACHED, &event, ret_text);
        if (error < 0)
            return error;
    }
    error = ops->load_key(backend, BACKEND_KEY_KNOWN_ANSWER, prepared);
    if (error == 0)
        error = known_wait(ops, backend, BACKEND_KEY_LOADED, &event, ret_text);
    if (error == 0) {
        error = known_partition(ops, backend, prepared, slab, true, ret_text);
        if (error == 0) {
            known_spoil(prepared, slab);
            error = known_partition(ops, backend, prepared, slab, false, ret_text);
            if (error == -ENOTSUP)
                error = 0;
        }
        drop_error = ops->drop_key(backend, BACKEND_KEY_KNOWN_ANSWER);
        if (drop_error == 0 && error == 0)
            error = known_wait(ops, backend, BACKEND_KEY_DROPPED, &event, ret_text);
    }
    if (ops->detach_slab)
        ops->detach_slab(backend, KNOWN_SLAB_INDEX);
    return error;
}

static int known_curve(const struct backend_ops *ops, struct backend *backend,
                       const struct curve *curve, char *ret_text)
{
    char text[BACKEND_TEXT_BYTES];
    struct known_circuit *circuit = calloc(1, sizeof *circuit);
    size_t slab_bytes = 0;
    void *slab = MAP_FAILED;
    int error = -ENOMEM;
    snprintf(text, sizeof text, "memory is short");
    if (circuit) {
        known_build(circuit, curve);
        slab_bytes = circuit->prepared.shape.slab_bytes;
        slab = mmap(NULL, slab_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (slab != MAP_FAILED) {
        known_fill(&circuit->prepared, slab);
        error = known_prove(ops, backend, &circuit->prepared, slab, text);
        munmap(slab, slab_bytes);
    }
    if (error == -EBADMSG)
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "the known-answer proof on %s failed: %.100s; this %s computes wrongly or the "
                 "program is damaged: do not prove on it",
                 curve->name, text, strcmp(ops->name, "cpu") == 0 ? "machine" : "device");
    else if (error < 0)
        snprintf(ret_text, BACKEND_TEXT_BYTES,
                 "the known-answer proof on %s could not be made: %.200s", curve->name, text);
    free(circuit);
    return error;
}

int known_answer_check(const struct backend_ops *ops, struct backend *backend, char *ret_text)
{
    const int error = known_curve(ops, backend, &curve_bn254, ret_text);
    return error < 0 ? error : known_curve(ops, backend, &curve_bls12_381, ret_text);
}
