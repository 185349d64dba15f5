/* cuzk-bench circuit-digest KIND SECTOR: rows of a Filecoin circuit, counted and digested as in
 * tests/fixtures/filecoin/README.md; with a vanilla proof, its witness too. */
#include "bench/circuit_digest.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "filecoin/circuit.h"
#include "filecoin/row_digest.h"

struct options {
    const char *vanilla, *public;
    unsigned sectors, challenges;
    bool is_no_rows, is_checkpoints;
};

struct file {
    uint8_t *data;
    size_t size;
};

static const struct option long_options[] = {
    {"vanilla", required_argument, NULL, 'v'}, {"pub", required_argument, NULL, 'p'},
    {"sectors", required_argument, NULL, 's'}, {"challenges", required_argument, NULL, 'c'},
    {"no-rows", no_argument, NULL, 'n'},       {"checkpoints", no_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

static const char usage[] =
    "Usage: cuzk-bench circuit-digest KIND SECTOR [OPTION...]\n"
    "KIND is snap, winning, window or porep; SECTOR like 2KiB, 8MiB, 32GiB.\n\n"
    "  --vanilla F     the vanilla proof of one partition (bincode): digests of the witness too\n"
    "  --pub F         its public inputs, 32 bytes each, without ONE\n"
    "  --sectors N     window, winning: a circuit of so many sectors\n"
    "  --challenges N  window, winning, porep: so many challenges\n"
    "  --no-rows       the witness only\n"
    "  --checkpoints   running digests each 65,536 rows\n";

static int read_file(const char *path, struct file *ret)
{
    FILE *in = fopen(path, "rb");
    struct stat info;
    int error = -errno;

    if (!in)
        goto fail;
    if (fstat(fileno(in), &info) != 0 || !S_ISREG(info.st_mode)) {
        error = -EINVAL;
        goto fail;
    }
    ret->size = (size_t)info.st_size;
    ret->data = malloc(ret->size + 1);
    error = -ENOMEM;
    if (!ret->data)
        goto fail;
    error = fread(ret->data, 1, ret->size, in) == ret->size ? 0 : -EIO;
fail:
    if (in)
        fclose(in);
    if (error != 0)
        fprintf(stderr, "cuzk-bench: %s: %s\n", path, strerror(-error));
    return error;
}

static void print_hex(const char *name, const uint8_t *bytes, size_t count)
{
    printf("%s", name);
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static unsigned log2_up(uint64_t count)
{
    unsigned log = 0;

    while ((UINT64_C(1) << log) < count)
        log++;
    return log;
}

static int print_rows(const struct circuit *circuit, const struct options *options)
{
    const double start = seconds();
    struct dictionary dictionary = {0};
    struct row_digest digest = {0};
    uint8_t bytes[ROW_DIGEST_BYTES];
    struct cs cs = {0};
    int error = cs_dictionary_init(&dictionary);

    if (error == 0)
        error = row_digest_init(&digest, &dictionary);
    if (error != 0)
        goto out;
    digest.checkpoints = options->is_checkpoints ? stdout : NULL;
    cs_init_blank(&cs, &digest.sink, &dictionary);
    error = circuit_synthesize(&cs, circuit, NULL, NULL);
    if (error == 0)
        error = row_digest_finish(&digest, bytes);
    if (error != 0)
        goto out;
    printf("constraints=%" PRIu64 " (+%u input rows = %" PRIu64 ") inputs(incl one)=%u aux=%u"
           " nnz A/B/C=%" PRIu64 "/%" PRIu64 "/%" PRIu64 " widest A/B/C=%u/%u/%u"
           " density a_aux=%" PRIu64 " b_in=%" PRIu64 " b_aux=%" PRIu64 "\n",
           cs.row_count - cs.input_count, cs.input_count, cs.row_count, cs.input_count,
           cs.aux_count, digest.entry_count[0], digest.entry_count[1], digest.entry_count[2],
           digest.widest[0], digest.widest[1], digest.widest[2], digest.a_aux.set_count,
           digest.b_in.set_count, digest.b_aux.set_count);
    printf("domain=2^%u coefficients=%u seconds=%.1f\n", log2_up(cs.row_count), dictionary.count,
           seconds() - start);
    print_hex("r1cs sha256=", bytes, sizeof bytes);
    const struct {
        const char *name;
        const struct occurrence *density;
        uint64_t count;
    } densities[] = {{"density a_aux", &digest.a_aux, cs.aux_count},
                     {"density b_in", &digest.b_in, cs.input_count},
                     {"density b_aux", &digest.b_aux, cs.aux_count}};

    for (unsigned i = 0; i < 3 && error == 0; i++) {
        error = occurrence_digest(densities[i].density, densities[i].count, bytes);
        printf("\n%s ", densities[i].name);
        print_hex("sha256=", bytes, sizeof bytes);
    }
    putchar('\n');
out:
    cs_destroy(&cs);
    row_digest_destroy(&digest);
    dictionary_destroy(&dictionary);
    return error;
}

static int read_public(const struct circuit *circuit, const char *path, fr **ret)
{
    const uint32_t count = circuit_public_count(circuit);
    struct file file = {0};
    int error = read_file(path, &file);

    if (error == 0 && file.size != (size_t)count * FR_BYTES) {
        fprintf(stderr, "cuzk-bench: %s has %zu bytes, %u public inputs have %zu\n", path,
                file.size, count, (size_t)count * FR_BYTES);
        error = -EBADMSG;
    }
    *ret = error == 0 ? calloc(count, sizeof **ret) : NULL;
    if (error == 0 && !*ret)
        error = -ENOMEM;
    for (uint32_t i = 0; i < count && error == 0; i++)
        if (!fr_read(&(*ret)[i], file.data + (size_t)i * FR_BYTES)) {
            fprintf(stderr, "cuzk-bench: %s: value %u is not below the modulus\n", path, i);
            error = -EBADMSG;
        }
    free(file.data);
    return error;
}

static int print_values(const struct circuit *circuit, const struct circuit_vanilla *vanilla,
                        const fr *public)
{
    struct circuit_size size;
    fr *inputs = NULL, *aux = NULL;
    uint8_t digest[32];
    double start;
    struct cs cs = {0};
    int error = circuit_measure(circuit, &size);

    if (error != 0)
        return error;
    inputs = calloc(size.input_count, sizeof *inputs);
    aux = malloc(size.aux_count * sizeof *aux);
    error = -ENOMEM;
    if (!inputs || !aux)
        goto out;
    start = seconds();
    cs_init_values(&cs, inputs, size.input_count, aux, size.aux_count, NULL, NULL);
    error = circuit_synthesize(&cs, circuit, vanilla, public);
    if (error == -EBADMSG)
        fprintf(stderr, "cuzk-bench: the vanilla proof is refused: %s\n", cs.reason.text);
    if (error != 0)
        goto out;
    printf("witness inputs=%u aux=%u seconds=%.2f", cs.input_count, cs.aux_count,
           seconds() - start);
    EVP_Digest(inputs, cs.input_count * sizeof *inputs, digest, NULL, EVP_sha256(), NULL);
    print_hex(" inp sha256=", digest, sizeof digest);
    EVP_Digest(aux, cs.aux_count * sizeof *aux, digest, NULL, EVP_sha256(), NULL);
    print_hex(" aux sha256=", digest, sizeof digest);
    putchar('\n');
out:
    cs_destroy(&cs);
    free(inputs);
    free(aux);
    return error;
}

static int print_witness(const struct circuit *circuit, const struct options *options)
{
    struct circuit_vanilla vanilla;
    struct reason reason = {{0}};
    struct file file = {0};
    fr *public = NULL;
    int error = read_public(circuit, options->public, &public);

    if (error == 0)
        error = read_file(options->vanilla, &file);
    if (error == 0) {
        error = circuit_vanilla_read(&vanilla, circuit, file.data, file.size, &reason);
        if (error != 0)
            fprintf(stderr, "cuzk-bench: %s: %s\n", options->vanilla, reason.text);
    }
    if (error == 0) {
        error = print_values(circuit, &vanilla, public);
        circuit_vanilla_destroy(&vanilla);
    }
    free(public);
    free(file.data);
    return error;
}

static bool parse(int argc, char **argv, struct options *ret)
{
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        switch (option) {
        case 'v':
            ret->vanilla = optarg;
            break;
        case 'p':
            ret->public = optarg;
            break;
        case 's':
            ret->sectors = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'c':
            ret->challenges = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'n':
            ret->is_no_rows = true;
            break;
        case 'k':
            ret->is_checkpoints = true;
            break;
        default:
            return false;
        }
    return argc - optind == 2 && !ret->vanilla == !ret->public &&
           ret->sectors <= POST_SECTORS_MAX && ret->challenges <= POST_CHALLENGES_MAX;
}

int circuit_digest_main(int argc, char **argv)
{
    struct options options = {0};
    struct circuit circuit;
    struct reason reason;
    int error = 0;

    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return 2;
    }
    if (circuit_find(argv[optind], argv[optind + 1], &circuit, &reason) != 0) {
        fprintf(stderr, "cuzk-bench: %s\n", reason.text);
        return 2;
    }
    if (circuit.kind == CIRCUIT_WINNING || circuit.kind == CIRCUIT_WINDOW) {
        if (options.sectors)
            circuit.post.sector_count = options.sectors;
        if (options.challenges)
            circuit.post.challenge_count = options.challenges;
    } else if (circuit.kind == CIRCUIT_POREP && options.challenges) {
        circuit.porep.challenge_count = options.challenges;
    }
    if (!options.is_no_rows)
        error = print_rows(&circuit, &options);
    if (error == 0 && options.vanilla)
        error = print_witness(&circuit, &options);
    if (error != 0 && error != -EBADMSG)
        fprintf(stderr, "cuzk-bench: %s\n", strerror(-error));
    return error == 0 ? 0 : 1;
}
