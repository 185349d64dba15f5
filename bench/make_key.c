/* cuzk-bench make-key: a proving key straight from an .r1cs, from secrets that follow from a seed.
 *
 *   cuzk-bench make-key --r1cs FILE --zkey FILE --vkey FILE [--seed N] [--threads N]
 *
 * Whoever knows the seed can forge proofs: for tests, demonstrations and measurements only. The key
 * has the form that `snarkjs groth16 setup` gives: Groth, "On the Size of Pairing-based
 * Non-interactive Arguments", EUROCRYPT 2016, with H in the odd half of the Lagrange basis of the
 * domain of twice the size. Scalars here are plain, 4 limbs. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "bench/fixed_base.h"
#include "bench/lagrange.h"
#include "groth16/key/matrix_builder.h"
#include "groth16/key/r1cs.h"
#include "groth16/key/vkey_json.h"
#include "groth16/pool.h"

enum {
    POINTS_PER_PIECE = 1 << 15,
    SECTION_COUNT = 10,
    TEXT_BYTES = 64, /* of the circuit hash in section 10 */
};

#define UNSAFE_TEXT "UNSAFE: made from a known seed, anyone can forge proofs; tests only"

struct options {
    const char *r1cs, *zkey, *vkey;
    uint64_t seed;
    unsigned threads;
};

struct maker {
    const struct options *options;
    const struct curve *curve;
    struct pool *pool;
    struct r1cs r1cs;
    unsigned domain_log2;
    size_t domain, variables, publics;
    struct scalar tau, alpha, beta, gamma, delta, gamma_inverse, delta_inverse;
    struct scalar one_scaled; /* R^2 mod r */
    struct scalar *lagrange;  /* L_i(tau); later the scalars of H */
    struct scalar *a, *b, *c; /* a_s(tau), ... by wire; c becomes that of L and IC */
    struct fixed_base *g1, *g2;
    FILE *out;
    uint64_t coefficient_count;
    struct reason reason;
};

/* A secret that is not 0, from the seed and a label. */
static struct scalar secret(const struct maker *m, const char *label)
{
    struct scalar r;

    for (unsigned attempt = 0;; attempt++) {
        char text[128];
        int length = snprintf(text, sizeof text, "cuzk-bench make-key %s %" PRIu64 " %s %u",
                              m->curve->name, m->options->seed, label, attempt);

        if (!EVP_Digest(text, (size_t)length, (unsigned char *)r.l, NULL, EVP_sha256(), NULL))
            abort();
        r.l[3] &= UINT64_MAX >> 1;
        if (m->curve->scalar_is_reduced(r.l) && (r.l[0] | r.l[1] | r.l[2] | r.l[3]) != 0)
            return r;
    }
}

static void put(struct maker *m, const void *bytes, size_t count)
{
    if (count > 0 && fwrite(bytes, count, 1, m->out) != 1 && m->reason.text[0] == '\0')
        reason_set(&m->reason, -errno, "writing %s failed: %m", m->options->zkey);
}

static void put_u32(struct maker *m, uint32_t value)
{
    put(m, &value, sizeof value);
}

static void put_section(struct maker *m, uint32_t id, uint64_t bytes)
{
    put_u32(m, id);
    put(m, &bytes, sizeof bytes);
}

static void put_coefficient(struct maker *m, uint32_t matrix, uint32_t row, uint32_t wire,
                            struct scalar scaled)
{
    put_u32(m, matrix);
    put_u32(m, row);
    put_u32(m, wire);
    put(m, scaled.l, sizeof scaled.l);
    m->coefficient_count++;
}

/* One term of a constraint: into section 4 and into its wire's polynomial at tau. */
static int on_term(void *context, uint32_t constraint, enum r1cs_matrix matrix, uint32_t wire,
                   const uint64_t *value)
{
    struct maker *m = context;
    struct scalar *polynomials = matrix == R1CS_A ? m->a : matrix == R1CS_B ? m->b : m->c;
    struct scalar coefficient;

    memcpy(coefficient.l, value, sizeof coefficient.l);
    polynomials[wire] = scalar_add(m->curve, polynomials[wire],
                                   scalar_mul(m->curve, coefficient, m->lagrange[constraint]));
    if (matrix != R1CS_C)
        put_coefficient(m, matrix, constraint, wire,
                        scalar_mul(m->curve, coefficient, m->one_scaled));
    return 0;
}

/* Section 4; its size is known at its end and written then. */
static int write_coefficients(struct maker *m)
{
    const struct r1cs_sink sink = {m, on_term, NULL};
    off_t at = ftello(m->out);
    int error;

    put_section(m, ZKEY_COEFFICIENTS, 0);
    put_u32(m, 0);
    error = r1cs_read(&m->r1cs, &sink, &m->reason);
    if (error)
        return error;
    for (size_t s = 0; s <= m->publics; s++) {
        uint32_t row = m->r1cs.constraint_count + (uint32_t)s;

        m->a[s] = scalar_add(m->curve, m->a[s], m->lagrange[row]);
        put_coefficient(m, 0, row, (uint32_t)s, m->one_scaled);
    }
    if (m->coefficient_count > UINT32_MAX)
        return reason_set(&m->reason, -EOVERFLOW, "more than 2^32 coefficients");
    if (fseeko(m->out, at, SEEK_SET) < 0)
        return reason_set(&m->reason, -errno, "cannot seek in %s: %m", m->options->zkey);
    put_section(m, ZKEY_COEFFICIENTS, 4 + m->coefficient_count * ZKEY_COEFFICIENT_BYTES);
    put_u32(m, (uint32_t)m->coefficient_count);
    if (fseeko(m->out, 0, SEEK_END) < 0)
        return reason_set(&m->reason, -errno, "cannot seek in %s: %m", m->options->zkey);
    return 0;
}

/* A section of scalars[i] * generator. */
static int write_points(struct maker *m, enum zkey_section id, const struct fixed_base *base,
                        size_t point_bytes, const struct scalar *scalars, size_t count)
{
    uint8_t *piece = malloc(POINTS_PER_PIECE * point_bytes);

    if (!piece)
        return reason_set(&m->reason, -ENOMEM, "no memory for points");
    fprintf(stderr, "%s: %zu\n", zkey_section_to_string(id), count);
    put_section(m, id, (uint64_t)count * point_bytes);
    for (size_t done = 0; done < count;) {
        size_t part = count - done < POINTS_PER_PIECE ? count - done : POINTS_PER_PIECE;

        fixed_base_mul(base, m->pool, scalars[done].l, part, piece);
        put(m, piece, part * point_bytes);
        done += part;
    }
    free(piece);
    return 0;
}

/* c_s becomes (beta a_s + alpha b_s + c_s) / gamma for public wires, / delta for the others. */
static void combine_range(void *context, size_t begin, size_t end)
{
    struct maker *m = context;

    for (size_t s = begin; s < end; s++) {
        struct scalar sum = scalar_add(m->curve, scalar_mul(m->curve, m->beta, m->a[s]),
                                       scalar_mul(m->curve, m->alpha, m->b[s]));

        m->c[s] = scalar_mul(m->curve, scalar_add(m->curve, sum, m->c[s]),
                             s <= m->publics ? m->gamma_inverse : m->delta_inverse);
    }
}

static void write_header(struct maker *m)
{
    const struct curve *curve = m->curve;
    const struct {
        const struct scalar *scalar;
        bool is_g2;
    } points[] = {{&m->alpha, false}, {&m->beta, false},  {&m->beta, true},
                  {&m->gamma, true},  {&m->delta, false}, {&m->delta, true}};

    put(m, "zkey", 4);
    put_u32(m, 1);
    put_u32(m, SECTION_COUNT);
    put_section(m, ZKEY_PROTOCOL, 4);
    put_u32(m, 1);
    put_section(m, ZKEY_HEADER, 52 + curve->fp_bytes + 3 * curve->g1_bytes + 3 * curve->g2_bytes);
    put_u32(m, (uint32_t)curve->fp_bytes);
    put(m, curve->fp_modulus, curve->fp_bytes);
    put_u32(m, CURVE_FR_BYTES);
    put(m, curve->fr_modulus, CURVE_FR_BYTES);
    put_u32(m, (uint32_t)m->variables);
    put_u32(m, (uint32_t)m->publics);
    put_u32(m, (uint32_t)m->domain);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        uint64_t point[CURVE_G2_BYTES_MAX / 8];

        if (points[i].is_g2)
            curve->g2_mul(curve->g2_generator, points[i].scalar->l, point);
        else
            curve->g1_mul(curve->g1_generator, points[i].scalar->l, point);
        put(m, point, points[i].is_g2 ? curve->g2_bytes : curve->g1_bytes);
    }
}

/* Sections in the order that snarkjs gives them after a contribution: 1 to 10. IC, which comes
 * before the coefficients, needs them: its room is left and filled at the end. */
static int write_zkey(struct maker *m)
{
    const size_t g1 = m->curve->g1_bytes, g2 = m->curve->g2_bytes;
    const size_t publics = m->publics, variables = m->variables;
    const char text[TEXT_BYTES] = "UNSAFE: made from a known seed, for tests only";
    const struct scalar one = {{1}}, root = scalar_root_of_unity(m->curve, m->domain_log2),
                        half_root = scalar_root_of_unity(m->curve, m->domain_log2 + 1);
    /* The domain itself, and the odd half of the one of twice the size, by delta. */
    const struct lagrange_points even = {m->domain, m->domain, one, root, one},
                                 odd = {2 * m->domain, m->domain, half_root, root,
                                        m->delta_inverse};
    off_t ic_at;
    int error;

    write_header(m);
    ic_at = ftello(m->out);
    if (ic_at < 0 || fseeko(m->out, (off_t)(12 + (publics + 1) * g1), SEEK_CUR) < 0)
        return reason_set(&m->reason, -errno, "cannot seek in %s: %m", m->options->zkey);
    lagrange_evaluate(m->curve, m->pool, m->tau, even, m->lagrange);
    error = write_coefficients(m);
    if (error)
        return error;
    pool_run_range(m->pool, variables, 1024, combine_range, m);
    lagrange_evaluate(m->curve, m->pool, m->tau, odd, m->lagrange);
    if ((error = write_points(m, ZKEY_A, m->g1, g1, m->a, variables)) != 0 ||
        (error = write_points(m, ZKEY_B1, m->g1, g1, m->b, variables)) != 0 ||
        (error = write_points(m, ZKEY_B2, m->g2, g2, m->b, variables)) != 0 ||
        (error = write_points(m, ZKEY_L, m->g1, g1, m->c + publics + 1, variables - publics - 1)) !=
            0 ||
        (error = write_points(m, ZKEY_H, m->g1, g1, m->lagrange, m->domain)) != 0)
        return error;
    put_section(m, ZKEY_CONTRIBUTIONS, TEXT_BYTES + 4);
    put(m, text, TEXT_BYTES);
    put_u32(m, 0);
    if (fseeko(m->out, ic_at, SEEK_SET) < 0)
        return reason_set(&m->reason, -errno, "cannot seek in %s: %m", m->options->zkey);
    error = write_points(m, ZKEY_IC, m->g1, g1, m->c, publics + 1);
    if (error == 0 && fflush(m->out) != 0)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", m->options->zkey);
    return error ? error : m->reason.text[0] ? -EIO : 0;
}

static int write_vkey(struct maker *m)
{
    const struct curve *curve = m->curve;
    uint64_t alpha[CURVE_G1_BYTES_MAX / 8], g2[3][CURVE_G2_BYTES_MAX / 8];
    const struct scalar *secrets[3] = {&m->beta, &m->gamma, &m->delta};
    uint8_t *ic = malloc((m->publics + 1) * curve->g1_bytes);
    struct verify_key key = {alpha, g2[0], g2[1], g2[2], ic, m->publics + 1};
    char *text = NULL;
    size_t bytes;
    FILE *out;
    int error = 0;

    curve->g1_mul(curve->g1_generator, m->alpha.l, alpha);
    for (int i = 0; i < 3; i++)
        curve->g2_mul(curve->g2_generator, secrets[i]->l, g2[i]);
    if (ic)
        fixed_base_mul(m->g1, m->pool, m->c[0].l, m->publics + 1, ic);
    if (!ic || vkey_json_write(curve, &key, UNSAFE_TEXT, &text, &bytes) != 0) {
        free(ic);
        return reason_set(&m->reason, -ENOMEM, "no memory for the verification key");
    }
    out = fopen(m->options->vkey, "we");
    if (!out || fwrite(text, bytes, 1, out) != 1)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", m->options->vkey);
    if (out && fclose(out) != 0 && error == 0)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", m->options->vkey);
    free(text);
    free(ic);
    return error;
}

static int read_circuit(struct maker *m, int fd)
{
    uint64_t publics, rows;
    int error = r1cs_open(fd, &m->r1cs, &m->reason);

    if (error)
        return error;
    m->curve = m->r1cs.curve;
    publics = (uint64_t)m->r1cs.public_output_count + m->r1cs.public_input_count;
    rows = m->r1cs.constraint_count + publics;
    m->publics = publics;
    m->variables = m->r1cs.wire_count;
    m->domain_log2 = rows > 1 ? 64 - (unsigned)__builtin_clzll(rows) : 1;
    m->domain = (size_t)1 << m->domain_log2;
    if (m->domain_log2 >= m->curve->two_adicity || m->domain_log2 > 31)
        return reason_set(&m->reason, -EOVERFLOW, "%" PRIu64 " rows are too many for a key", rows);
    matrix_builder_one_scaled(m->curve, m->one_scaled.l);
    m->tau = secret(m, "tau");
    m->alpha = secret(m, "alpha");
    m->beta = secret(m, "beta");
    m->gamma = secret(m, "gamma");
    m->delta = secret(m, "delta");
    m->gamma_inverse = scalar_inverse(m->curve, m->gamma);
    m->delta_inverse = scalar_inverse(m->curve, m->delta);
    m->lagrange = malloc(m->domain * sizeof m->lagrange[0]);
    m->a = calloc(m->variables, sizeof m->a[0]);
    m->b = calloc(m->variables, sizeof m->b[0]);
    m->c = calloc(m->variables, sizeof m->c[0]);
    if (!m->lagrange || !m->a || !m->b || !m->c ||
        fixed_base_create(m->curve, false, 3 * m->variables + m->domain, m->pool, &m->g1) != 0 ||
        fixed_base_create(m->curve, true, m->variables, m->pool, &m->g2) != 0)
        return reason_set(&m->reason, -ENOMEM, "no memory for a key of %zu wires", m->variables);
    fprintf(stderr, "%s, %" PRIu32 " constraints, %zu wires, %zu public, domain 2^%u\n",
            m->curve->name, m->r1cs.constraint_count, m->variables, m->publics, m->domain_log2);
    return 0;
}

static int make_key(struct maker *m)
{
    int fd = open(m->options->r1cs, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;

    if (fd < 0)
        return reason_set(&m->reason, -errno, "cannot open %s: %m", m->options->r1cs);
    error = read_circuit(m, fd);
    if (error == 0) {
        m->out = fopen(m->options->zkey, "we");
        if (!m->out)
            error = reason_set(&m->reason, -errno, "cannot write %s: %m", m->options->zkey);
    }
    if (error == 0)
        error = write_zkey(m);
    if (m->out && fclose(m->out) != 0 && error == 0)
        error = reason_set(&m->reason, -errno, "writing %s failed: %m", m->options->zkey);
    if (error == 0)
        error = write_vkey(m);
    if (error && m->out)
        unlink(m->options->zkey);
    close(fd);
    return error;
}

static void print_usage(FILE *out)
{
    fputs(
        "Usage: cuzk-bench make-key --r1cs FILE --zkey FILE --vkey FILE [OPTION...]\n\n"
        "Makes a Groth16 key for snarkjs and cuzkd from circom's .r1cs. Its secrets follow from a\n"
        "seed, so anyone can forge proofs: for tests and measurements only.\n\n"
        "  --r1cs FILE    the circuit\n"
        "  --zkey FILE    proving key to write\n"
        "  --vkey FILE    verification key (JSON) to write\n"
        "  --seed N       default 1\n"
        "  --threads N    default: all processors\n",
        out);
}

static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *ret >= min &&
           *ret <= max;
}

/* 0, or an exit status + 1. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        {"r1cs", required_argument, NULL, 'r'},
        {"zkey", required_argument, NULL, 'z'},
        {"vkey", required_argument, NULL, 'v'},
        {"seed", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    uint64_t number;
    int option;

    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 1;
        } else if (option == 'r') {
            options->r1cs = optarg;
        } else if (option == 'z') {
            options->zkey = optarg;
        } else if (option == 'v') {
            options->vkey = optarg;
        } else if (option == 's' && parse_number(optarg, 0, UINT64_MAX, &number)) {
            options->seed = number;
        } else if (option == 't' && parse_number(optarg, 1, 1024, &number)) {
            options->threads = (unsigned)number;
        } else {
            print_usage(stderr);
            return 3;
        }
    }
    if (!options->r1cs || !options->zkey || !options->vkey || optind != argc) {
        print_usage(stderr);
        return 3;
    }
    return 0;
}

int bench_make_key(int argc, char **argv)
{
    struct options options = {.seed = 1, .threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
    struct maker m = {.options = &options};
    int error = parse_options(argc, argv, &options);

    if (error)
        return error - 1;
    error = pool_create(options.threads, &m.pool);
    if (error) {
        fprintf(stderr, "cannot start %u threads: %s\n", options.threads, strerror(-error));
        return 1;
    }
    error = make_key(&m);
    if (error)
        fprintf(stderr, "make-key: %s\n", m.reason.text);
    else
        fprintf(stderr, "%s and %s: %s\n", options.zkey, options.vkey, UNSAFE_TEXT);
    fixed_base_free(m.g1);
    fixed_base_free(m.g2);
    free(m.lagrange);
    free(m.a);
    free(m.b);
    free(m.c);
    pool_free(m.pool);
    return error ? 1 : 0;
}
