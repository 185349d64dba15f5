/* The CUDA backend with keys of all kinds at once: resident ones and streamed ones of both curves
 * (random_passes.c) come and go while partitions of the others are started and cancelled. Every
 * partition ends once, and its sums are right or it was cancelled. */
#include <errno.h>

#include "tests/gpu-worker/cuda/rig.h"

static const struct backend_ops *const ops = &cuzk_backend_plugin;

enum {
    MIX_KEYS = 4,
    MIX_PARTITIONS = 6, /* of a key */
    MIX_PROVED = 200,
    MIX_LOADS = 15,
};

struct mix_key {
    struct circuit circuit;
    struct partition partitions[MIX_PARTITIONS];
    bool is_held[MIX_PARTITIONS], is_cancelled[MIX_PARTITIONS];
    bool is_loaded, is_asked; /* a load or drop is open */
};

struct mix {
    struct rig rig;
    struct mix_key keys[MIX_KEYS];
    unsigned held, asked; /* open now */
    unsigned proved, cancelled, loads;
};

static struct mix mix;

/* Ids and slabs: the key's number times MIX_PARTITIONS and the partition's. */
static void on_event(const struct backend_event *event)
{
    struct mix_key *key = &mix.keys[event->id / MIX_PARTITIONS % MIX_KEYS];
    const unsigned i = (unsigned)(event->id % MIX_PARTITIONS);
    switch (event->kind) {
    case BACKEND_KEY_LOADED:
    case BACKEND_KEY_DROPPED:
        ASSERT(event->id < MIX_KEYS && mix.keys[event->id].is_asked);
        mix.keys[event->id].is_asked = false;
        mix.asked--;
        mix.keys[event->id].is_loaded = event->kind == BACKEND_KEY_LOADED;
        mix.loads += event->kind == BACKEND_KEY_LOADED;
        break;
    case BACKEND_PROVED:
        ASSERT(key->is_held[i]);
        ASSERT(memcmp(event->sums, key->partitions[i].expected, event->sums_bytes) == 0);
        mix.proved++;
        break;
    case BACKEND_FAILED:
        ASSERT(key->is_held[i] && key->is_cancelled[i]);
        ASSERT_INT(event->fault, BACKEND_FAULT_CANCELLED);
        mix.cancelled++;
        break;
    case BACKEND_PHASE_ENDED:
    case BACKEND_UPLOADED:
        ASSERT(key->is_held[i]);
        return;
    default:
        ASSERT(!"an event that nobody asked for");
    }
    if (event->kind == BACKEND_PROVED || event->kind == BACKEND_FAILED) {
        key->is_held[i] = key->is_cancelled[i] = false;
        mix.held--;
    }
}

static void start(struct mix_key *key, unsigned number, unsigned i)
{
    const struct backend_partition partition = {
        .id = number * MIX_PARTITIONS + i,
        .order_key = test_random(&mix.rig.random) % 100,
        .key = number,
        .slab_index = number * MIX_PARTITIONS + i,
        .slab = key->partitions[i].slab,
        .slab_bytes = key->partitions[i].bytes,
        .has_evaluations = key->partitions[i].has_evaluations,
    };
    const int error = ops->start(mix.rig.backend, &partition);
    const int expected = key->is_held[i]                      ? -EEXIST
                         : mix.held == BACKEND_PARTITIONS_MAX ? -EAGAIN
                         : !key->is_loaded                    ? -ENOENT
                                                              : 0;
    ASSERT_INT(error, expected);
    if (error == 0) {
        key->is_held[i] = true;
        mix.held++;
    }
}

static void load_or_drop(struct mix_key *key, unsigned number)
{
    bool is_used = false;
    if (key->is_asked)
        return;
    for (unsigned i = 0; i < MIX_PARTITIONS; i++)
        is_used |= key->is_held[i];
    if (!key->is_loaded)
        ASSERT_INT(ops->load_key(mix.rig.backend, number, &key->circuit.prepared), 0);
    else
        ASSERT_INT(ops->drop_key(mix.rig.backend, number), is_used ? -EBUSY : 0);
    key->is_asked = !key->is_loaded || !is_used;
    mix.asked += key->is_asked;
    if (key->is_asked && key->is_loaded)
        key->is_loaded = false;
}

static void turn(void)
{
    const unsigned number = (unsigned)(test_random(&mix.rig.random) % MIX_KEYS);
    const unsigned i = (unsigned)(test_random(&mix.rig.random) % MIX_PARTITIONS);
    struct mix_key *key = &mix.keys[number];
    switch (test_random(&mix.rig.random) % 16) {
    case 0:
        load_or_drop(key, number);
        break;
    case 1:
        key->is_cancelled[i] |= key->is_held[i];
        ops->cancel(mix.rig.backend, number * MIX_PARTITIONS + i);
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        if (mix.held + mix.asked == 0)
            break;
        ASSERT(rig_next(&mix.rig, RIG_TIMEOUT_MS));
        on_event(&mix.rig.last);
        break;
    default:
        start(key, number, i);
        break;
    }
    struct backend_event event;
    while (ops->poll(mix.rig.backend, &event))
        on_event(&event);
}

static void make(void)
{
    static const struct curve *const curves[] = {&curve_bn254, &curve_bls12_381};
    for (unsigned k = 0; k < MIX_KEYS; k++) {
        struct mix_key *key = &mix.keys[k];
        circuit_make(&mix.rig.random, &key->circuit, curves[k % 2], 3 + k);
        for (unsigned i = 0; i < MIX_PARTITIONS; i++) {
            struct partition *partition = &key->partitions[i];
            partition_make(&mix.rig.random, &key->circuit, partition);
            if (i % 2)
                partition_strip(&key->circuit, partition);
            ASSERT_INT(ops->attach_slab(mix.rig.backend, k * MIX_PARTITIONS + i, partition->slab,
                                        partition->bytes),
                       0);
            ASSERT(rig_event(&mix.rig, BACKEND_SLAB_ATTACHED));
        }
    }
}

TEST(keys_come_and_go_under_partitions_of_others)
{
    char words[64];
    snprintf(words, sizeof words, "order=%llu", (unsigned long long)test_seed());
    ASSERT_INT(rig_try_open(&mix.rig, words, &rig_options), 0);
    make();
    while (mix.proved < MIX_PROVED || mix.loads < MIX_LOADS)
        turn();
    while (mix.held + mix.asked) {
        ASSERT(rig_next(&mix.rig, RIG_TIMEOUT_MS));
        on_event(&mix.rig.last);
    }
    printf("  %u proved, %u cancelled, %u loads\n", mix.proved, mix.cancelled, mix.loads);
    ASSERT(mix.cancelled > 0);
    ASSERT(rig_close(&mix.rig));
    for (unsigned k = 0; k < MIX_KEYS; k++) {
        for (unsigned i = 0; i < MIX_PARTITIONS; i++)
            partition_free(&mix.keys[k].partitions[i]);
        circuit_free(&mix.keys[k].circuit);
    }
}

TEST_MAIN(CASE(keys_come_and_go_under_partitions_of_others))
