/* The options of make-key. */
#include "bench/make_key_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filecoin/post.h"

static void print_usage(FILE *out)
{
    fputs(
        "Usage: cuzk-bench make-key --r1cs FILE [OPTION...]\n"
        "       cuzk-bench make-key --circuit KIND:LOG2 [--curve CURVE] [OPTION...]\n"
        "       cuzk-bench make-key --filecoin KIND --sector SIZE [OPTION...]\n\n"
        "Makes a Groth16 key for snarkjs and cuzkd from circom's .r1cs, or from a circuit made on\n"
        "the spot. Its secrets follow from a seed, so anyone can forge proofs: for tests and\n"
        "measurements only.\n\n"
        "  --zkey FILE            proving key to write, as snarkjs has it\n"
        "  --prepared FILE        proving key to write, as `cuzkctl circuit add` prepares it; "
        "what\n"
        "                         FILE of `circuit add --zkey FILE` may be instead of a .zkey\n"
        "  --without-c            no C in the prepared key: witnesses are not checked against it,\n"
        "                         as where a circuit is added without its .r1cs\n"
        "  --vkey FILE            verification key (JSON) to write\n"
        "  --seed N               default 1\n"
        "  --threads N            default: all processors\n"
        "  --gpu                  points on the GPU: the same files, far sooner\n\n"
        "  --circuit KIND:LOG2    2^LOG2 rows (8 to 31): chain has wires of full size, sha mostly\n"
        "                         zeros and ones and some 32-bit words\n"
        "  --curve CURVE          of the made circuit: bn254 (the default) or bls12-381\n"
        "  --witness-folder DIR   where witnesses w1.wtns, w2.wtns, ... of the made circuit go\n"
        "  --witnesses N          how many, all different; default 1 with a folder\n"
        "  --write-r1cs FILE      the made circuit as .r1cs\n\n"
        "  --filecoin KIND        snap, winning, window or porep, for sectors of\n"
        "  --sector SIZE          2KiB, 8MiB, 32GiB, ...; secrets are those of the published test\n"
        "                         keys, whatever the seed\n"
        "  --sectors N            of a smaller winning or window circuit: its sectors,\n"
        "  --challenges N         and the challenges of each\n"
        "  --params FILE          proving key to write, as Filecoin has it\n"
        "  --vk FILE              its verifying key\n",
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

/* KIND:LOG2 */
static bool parse_circuit(const char *text, struct make_key_options *options)
{
    const char *colon = strchr(text, ':');
    char kind[16];
    uint64_t log2;

    if (!colon || colon - text >= (int)sizeof kind ||
        !parse_number(colon + 1, SYNTHETIC_LOG2_MIN, SYNTHETIC_LOG2_MAX, &log2))
        return false;
    snprintf(kind, sizeof kind, "%.*s", (int)(colon - text), text);
    int number = synthetic_kind_from_string(kind);
    if (number < 0)
        return false;
    options->is_synthetic = true;
    options->synthetic.kind = (enum synthetic_kind)number;
    options->synthetic.log2 = (unsigned)log2;
    return true;
}

static bool parse_curve(const char *text, struct make_key_options *options)
{
    if (strcmp(text, curve_bn254.name) == 0)
        options->synthetic.curve = &curve_bn254;
    else if (strcmp(text, curve_bls12_381.name) == 0)
        options->synthetic.curve = &curve_bls12_381;
    else
        return false;
    return true;
}

static bool parse_one(int option, const char *value, struct make_key_options *options)
{
    uint64_t number;
    bool is_good = true;

    switch (option) {
    case 'r':
        options->r1cs = value;
        break;
    case 'z':
        options->zkey = value;
        break;
    case 'p':
        options->prepared = value;
        break;
    case 'v':
        options->vkey = value;
        break;
    case 'f':
        options->witness_folder = value;
        break;
    case 'R':
        options->write_r1cs = value;
        break;
    case 'F':
        options->filecoin = value;
        break;
    case 'S':
        options->sector = value;
        break;
    case 'P':
        options->params = value;
        break;
    case 'V':
        options->vk = value;
        break;
    case 'N':
        is_good = parse_number(value, 1, POST_SECTORS_MAX, &number);
        options->sectors = (unsigned)number;
        break;
    case 'H':
        is_good = parse_number(value, 1, POST_CHALLENGES_MAX, &number);
        options->challenges = (unsigned)number;
        break;
    case 'x':
        options->leaves_out_c = true;
        break;
    case 'c':
        is_good = parse_circuit(value, options);
        break;
    case 'C':
        is_good = parse_curve(value, options);
        break;
    case 'n':
        is_good = parse_number(value, 1, 1 << 20, &options->witness_count);
        break;
    case 's':
        is_good = parse_number(value, 0, UINT64_MAX, &options->seed);
        break;
    case 't':
        is_good = parse_number(value, 1, 1024, &number);
        options->threads = (unsigned)number;
        break;
    default:
        return false;
    }
    if (!is_good)
        fprintf(stderr, "make-key: \"%s\" is out of place or out of range\n", value);
    return is_good;
}

static bool is_complete(struct make_key_options *options)
{
    const char *why = NULL;

    if (options->witness_folder && options->witness_count == 0)
        options->witness_count = 1;
    if (!!options->r1cs + options->is_synthetic + !!options->filecoin != 1)
        why = "one of --r1cs, --circuit and --filecoin says for what";
    else if (!options->filecoin != !options->sector)
        why = "--filecoin and --sector belong together";
    else if (options->filecoin && (options->zkey || options->vkey))
        why = "a Filecoin key is written as --params, --vk and --prepared";
    else if (!options->filecoin &&
             (options->params || options->vk || options->sectors || options->challenges))
        why = "--params, --vk, --sectors and --challenges go with --filecoin";
    else if (options->witness_count > 0 && !options->witness_folder)
        why = "--witnesses needs --witness-folder";
    else if (!options->is_synthetic && (options->write_r1cs || options->witness_folder))
        why = "an .r1cs and witnesses are made of a --circuit only";
    else if (!options->zkey && !options->prepared && !options->vkey && !options->write_r1cs &&
             !options->witness_folder && !options->params && !options->vk)
        why = "nothing to write: give --zkey, --prepared, --vkey, --params, --vk, --write-r1cs "
              "or --witness-folder";
    if (why)
        fprintf(stderr, "make-key: %s\n", why);
    return !why;
}

static int usage_error(void)
{
    fputs("cuzk-bench make-key --help says more.\n", stderr);
    return 3;
}

int make_key_options_parse(int argc, char **argv, struct make_key_options *ret)
{
    static const struct option longs[] = {
        {"r1cs", required_argument, NULL, 'r'},
        {"circuit", required_argument, NULL, 'c'},
        {"curve", required_argument, NULL, 'C'},
        {"zkey", required_argument, NULL, 'z'},
        {"prepared", required_argument, NULL, 'p'},
        {"without-c", no_argument, NULL, 'x'},
        {"vkey", required_argument, NULL, 'v'},
        {"witness-folder", required_argument, NULL, 'f'},
        {"witnesses", required_argument, NULL, 'n'},
        {"write-r1cs", required_argument, NULL, 'R'},
        {"filecoin", required_argument, NULL, 'F'},
        {"sector", required_argument, NULL, 'S'},
        {"sectors", required_argument, NULL, 'N'},
        {"challenges", required_argument, NULL, 'H'},
        {"params", required_argument, NULL, 'P'},
        {"vk", required_argument, NULL, 'V'},
        {"seed", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct make_key_options options = {
        .synthetic.curve = &curve_bn254,
        .seed = 1,
        .threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'h') {
            print_usage(stdout);
            return 1;
        }
        if (!parse_one(option, optarg, &options))
            return usage_error();
    }
    if (optind != argc || !is_complete(&options))
        return usage_error();
    *ret = options;
    return 0;
}
