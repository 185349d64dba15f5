/* The CUDA backend on keys as they are made, loaded and registered, and with any amount of memory:
 * the sums are those of the CPU, bit for bit, and make proofs that verify. For the stub (rig.c with
 * stub_dep) and, as another program, for a card (rig_card.c). */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "groth16/key/zkey.h"
#include "tests/gpu-worker/cuda/rig.h"
#include "tests/shm/proof_rig.h"

static const struct backend_ops *const ops = &cuzk_backend_plugin;

/* From much to what no key fits into. */
static const uint64_t limits[] = {
    0,        256u << 20, 32u << 20, 16u << 20, 12u << 20, 8u << 20, 6u << 20,
    5u << 20, 4u << 20,   3u << 20,  5u << 19,  2u << 20,  7u << 18, 3u << 19,
    5u << 18, 1u << 20,   3u << 18,  1u << 19,  1u << 17,
};

enum {
    LIMITS = sizeof limits / sizeof limits[0],
    SLABS = 4,
};

/* A key of the fixtures as workers get it: an image in a memfd, mapped for reading. */
struct key {
    struct prepared prepared;
    void *image;
    struct partition partitions[SLABS];
};

static int fixture_open(const char *name, const char *file)
{
    const char *root = getenv("CUZK_FIXTURES");
    char path[512];
    snprintf(path, sizeof path, "%s/good/%s/%s", root ? root : FIXTURES, name, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    ASSERT(fd >= 0);
    return fd;
}

static void key_partition(const char *name, struct key *key, unsigned index)
{
    struct partition *partition = &key->partitions[index];
    const int witness = fixture_open(name, index % 2 ? "w2.wtns" : "w1.wtns");
    const struct slab_layout layout = prepared_slab_layout(&key->prepared);
    *partition = (struct partition){.bytes = layout.bytes, .has_evaluations = index < 2};
    partition->slab =
        mmap(NULL, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT(partition->slab != MAP_FAILED);
    proof_rig_fill(&key->prepared, witness, partition->slab);
    proof_rig_sums(&key->prepared, partition->slab, partition->expected);
    ASSERT_INT(proof_rig_verify_sums(&key->prepared, partition->slab, partition->expected), 0);
    close(witness);
    mprotect(partition->slab, layout.bytes, PROT_READ);
}

static void key_make(const char *name, struct key *key)
{
    uint8_t digest[PREPARED_DIGEST_BYTES];
    struct zkey zkey;
    struct reason reason;
    const int file = fixture_open(name, "circuit.zkey");
    const int fd = memfd_create("key", MFD_CLOEXEC);
    ASSERT(fd >= 0);
    ASSERT_INT(zkey_open(file, &zkey, &reason), 0);
    ASSERT_INT(prepared_write(&zkey, NULL, fd, NULL, NULL, digest, &reason), 0);
    const off_t bytes = lseek(fd, 0, SEEK_END);
    key->image = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT(key->image != MAP_FAILED);
    ASSERT_INT(prepared_attach(key->image, (size_t)bytes, &key->prepared, &reason), 0);
    close(fd);
    close(file);
    for (unsigned i = 0; i < SLABS; i++)
        key_partition(name, key, i);
}

static void key_free(struct key *key)
{
    for (unsigned i = 0; i < SLABS; i++)
        munmap(key->partitions[i].slab, key->partitions[i].bytes);
    munmap(key->image, key->prepared.image_bytes);
}

/* What became of a load under some limit. */
struct tally {
    unsigned resident, streamed, refused;
};

/* One backend of this limit; false: it does not even open, or the key does not fit. */
static bool load_under(struct rig *rig, const char *words, uint64_t limit,
                       const struct prepared *prepared, struct tally *tally)
{
    struct backend_options options = rig_options;
    options.vram_limit = limit;
    const int error = rig_try_open(rig, words, &options);
    if (error < 0) {
        ASSERT_INT(error, -ENOMEM);
        ASSERT(strstr(rig_text, "VramLimit"));
        tally->refused++;
        return false;
    }
    ASSERT(limit == 0 || stub_allocated() <= limit);
    ASSERT_INT(ops->load_key(rig->backend, RIG_KEY, prepared), 0);
    ASSERT(rig_next(rig, RIG_TIMEOUT_MS));
    if (rig->last.kind == BACKEND_KEY_LOADED) {
        const bool is_streamed = strstr(rig->last.text, "stream");
        printf("  %6llu KiB: %s\n", (unsigned long long)limit >> 10, rig->last.text);
        tally->streamed += is_streamed;
        tally->resident += !is_streamed;
        return true;
    }
    ASSERT_INT(rig->last.kind, BACKEND_KEY_REFUSED);
    ASSERT_INT(rig->last.fault, BACKEND_FAULT_MEMORY);
    ASSERT(strstr(rig->last.text, "needs") && strstr(rig->last.text, "free"));
    ASSERT(rig_close(rig));
    tally->refused++;
    return false;
}

/* The partitions, which are not the rig's own, proved by a backend that has the key. */
static void prove_all(struct rig *rig, const struct partition *partitions, unsigned count)
{
    memcpy(rig->partitions, partitions, count * sizeof *partitions);
    rig->partition_count = count;
    ASSERT(rig_attach(rig));
    ASSERT(rig_prove(rig));
    ASSERT(rig_drop(rig) && rig_detach(rig));
    rig->partition_count = 0;
    ASSERT(rig_close(rig));
}

static void prove_random(const struct curve *curve, unsigned log2)
{
    enum { COUNT = 5 };
    struct tally tally = {0};
    struct rig made = {.random = test_seed()};
    rig_make(&made, curve, log2, COUNT);
    for (unsigned i = 0; i < LIMITS; i++) {
        struct rig rig;
        if (load_under(&rig, "order=9", limits[i], &made.circuit.prepared, &tally))
            prove_all(&rig, made.partitions, COUNT);
    }
    for (unsigned i = 0; i < COUNT; i++)
        partition_free(&made.partitions[i]);
    circuit_free(&made.circuit);
    ASSERT(tally.resident > 0 && tally.streamed > 0 && tally.refused > 0);
}

TEST(random_circuits_are_proved_under_any_vram_limit)
{
    prove_random(&curve_bn254, 9);
    prove_random(&curve_bls12_381, 8);
}

static void prove_fixture(const char *name, const char *words, bool must_stream)
{
    struct key key;
    struct tally tally = {0};
    printf("  %s\n", name);
    key_make(name, &key);
    for (unsigned i = 0; i < LIMITS; i++) {
        struct rig rig;
        if (load_under(&rig, words, limits[i], &key.prepared, &tally))
            prove_all(&rig, key.partitions, SLABS);
    }
    ASSERT(tally.resident > 0 && tally.refused > 0 && (tally.streamed > 0 || !must_stream));
    key_free(&key);
}

TEST(real_keys_are_proved_under_any_vram_limit)
{
    prove_fixture("mul.bn128", "", false);
    prove_fixture("mul.bls12381", "", false);
    prove_fixture("nopub.bn128", "", false);
    prove_fixture("nopub.bls12381", "", false);
    prove_fixture("chain12.bn128", "order=2", true);
    prove_fixture("chain12.bls12381", "order=3", true);
    prove_fixture("merkle20.bn128", "order=4", true);
}

/* All of them at once, and again. */
TEST(keys_of_both_curves_are_proved_side_by_side)
{
    static const char *const names[] = {"mul.bn128", "chain12.bls12381", "nopub.bls12381",
                                        "merkle20.bn128"};
    enum { KEYS = sizeof names / sizeof names[0] };
    struct key keys[KEYS];
    struct rig rig;
    ASSERT_INT(rig_try_open(&rig, "order=5;memory=512M", &rig_options), 0);
    for (unsigned i = 0; i < KEYS; i++) {
        key_make(names[i], &keys[i]);
        ASSERT_INT(ops->load_key(rig.backend, i, &keys[i].prepared), 0);
        ASSERT(rig_event(&rig, BACKEND_KEY_LOADED));
        for (unsigned j = 0; j < SLABS; j++) {
            const struct partition *partition = &keys[i].partitions[j];
            ASSERT_INT(
                ops->attach_slab(rig.backend, i * SLABS + j, partition->slab, partition->bytes), 0);
            ASSERT(rig_event(&rig, BACKEND_SLAB_ATTACHED));
        }
    }
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
            const unsigned key = (i + round) % KEYS, slab = (i / KEYS + round) % SLABS;
            const struct partition *partition = &keys[key].partitions[slab];
            const struct backend_partition given = {
                .id = key * SLABS + slab,
                .order_key = i,
                .key = key,
                .slab_index = key * SLABS + slab,
                .slab = partition->slab,
                .slab_bytes = partition->bytes,
                .has_evaluations = partition->has_evaluations,
            };
            ASSERT_INT(ops->start(rig.backend, &given), 0);
        }
        for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
            ASSERT(rig_event(&rig, BACKEND_PROVED));
            const struct key *key = &keys[rig.last.id / SLABS];
            ASSERT(memcmp(rig.last.sums, key->partitions[rig.last.id % SLABS].expected,
                          rig.last.sums_bytes) == 0);
        }
    }
    ASSERT(rig_close(&rig));
    for (unsigned i = 0; i < KEYS; i++)
        key_free(&keys[i]);
}

TEST_MAIN(CASE(random_circuits_are_proved_under_any_vram_limit),
          CASE(real_keys_are_proved_under_any_vram_limit),
          CASE(keys_of_both_curves_are_proved_side_by_side))
