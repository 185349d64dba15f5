/* See rig.h. */
#include "tests/gpu-worker/cuda/rig.h"

#include <poll.h>
#include <unistd.h>

#include "runtime/clock.h"

char rig_text[BACKEND_TEXT_BYTES];
const struct backend_options rig_options = {.threads = 1, .requires_pinned = true};

static const struct backend_ops *const ops = &cuzk_backend_plugin;

int rig_try_open(struct rig *rig, const char *words, const struct backend_options *options)
{
    memset(rig, 0, sizeof *rig);
    memset(rig_text, 0, sizeof rig_text);
    rig->random = test_seed();
    stub_configure(words);
    const int error = ops->open(options, &rig->backend, rig_text);
    if (error == 0)
        ops->describe(rig->backend, &rig->device);
    return error;
}

void rig_make(struct rig *rig, const struct curve *curve, unsigned log2, unsigned count)
{
    circuit_make(&rig->random, &rig->circuit, curve, log2);
    for (unsigned i = 0; i < count; i++) {
        partition_make(&rig->random, &rig->circuit, &rig->partitions[i]);
        if (i % 2)
            partition_strip(&rig->circuit, &rig->partitions[i]);
    }
    rig->partition_count = count;
}

/* What a lost device may still be at work on stays, as it does until a process ends; a list, so
 * that it counts as no leak. */
static struct rig_kept {
    struct rig_kept *next;
    struct rig rig;
} * kept;

static void keep(const struct rig *rig)
{
    struct rig_kept *one = malloc(sizeof *one);
    ASSERT(one);
    *one = (struct rig_kept){kept, *rig};
    kept = one;
}

bool rig_close(struct rig *rig)
{
    ops->close(rig->backend);
    if (rig->lost)
        keep(rig);
    for (unsigned i = 0; i < rig->partition_count && !rig->lost; i++)
        partition_free(&rig->partitions[i]);
    if (rig->partition_count && !rig->lost)
        circuit_free(&rig->circuit);
    if (stub_registered() || stub_allocated())
        fprintf(stderr, "left: %u registered, %llu bytes on the device\n", stub_registered(),
                (unsigned long long)stub_allocated());
    return rig->lost || (stub_registered() == 0 && stub_allocated() == 0);
}

bool rig_next(struct rig *rig, unsigned timeout_ms)
{
    const uint64_t end_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        if (ops->poll(rig->backend, &rig->last)) {
            rig->lost += rig->last.kind == BACKEND_LOST;
            return true;
        }
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns)
            return false;
        uint64_t wait_ms = (end_ns - now_ns) / 1000000 + 1, count;
        if (rig->device.poll_interval_ns && rig->device.poll_interval_ns / 1000000 < wait_ms)
            wait_ms = rig->device.poll_interval_ns / 1000000;
        struct pollfd bell = {.fd = ops->event_fd(rig->backend), .events = POLLIN};
        if (poll(&bell, 1, (int)wait_ms) == 1)
            (void)!read(bell.fd, &count, sizeof count);
    }
}

static bool is_progress(enum backend_event_kind kind)
{
    return kind == BACKEND_PHASE_BEGAN || kind == BACKEND_PHASE_ENDED || kind == BACKEND_UPLOADED;
}

bool rig_event(struct rig *rig, enum backend_event_kind kind)
{
    do {
        if (!rig_next(rig, RIG_TIMEOUT_MS)) {
            fprintf(stderr, "no event within %d ms\n", RIG_TIMEOUT_MS);
            return false;
        }
    } while (is_progress(rig->last.kind));
    if (rig->last.kind != kind)
        fprintf(stderr, "event %d instead of %d: %s\n", rig->last.kind, kind, rig->last.text);
    return rig->last.kind == kind;
}

int rig_start(struct rig *rig, unsigned partition, uint64_t id)
{
    const struct backend_partition given = {
        .id = id,
        .order_key = id,
        .key = RIG_KEY,
        .slab_index = partition,
        .slab = rig->partitions[partition].slab,
        .slab_bytes = rig->partitions[partition].bytes,
        .has_evaluations = rig->partitions[partition].has_evaluations,
    };
    return ops->start(rig->backend, &given);
}

bool rig_load(struct rig *rig)
{
    return ops->load_key(rig->backend, RIG_KEY, &rig->circuit.prepared) == 0 &&
           rig_event(rig, BACKEND_KEY_LOADED);
}

bool rig_drop(struct rig *rig)
{
    return ops->drop_key(rig->backend, RIG_KEY) == 0 && rig_event(rig, BACKEND_KEY_DROPPED);
}

bool rig_attach(struct rig *rig)
{
    for (unsigned i = 0; i < rig->partition_count; i++)
        if (ops->attach_slab(rig->backend, i, rig->partitions[i].slab, rig->partitions[i].bytes) !=
                0 ||
            !rig_event(rig, BACKEND_SLAB_ATTACHED))
            return false;
    return true;
}

bool rig_detach(struct rig *rig)
{
    for (unsigned i = 0; i < rig->partition_count; i++)
        if (ops->detach_slab(rig->backend, i) != 0)
            return false;
    return true;
}

bool rig_prove(struct rig *rig)
{
    unsigned ended[RIG_PARTITIONS] = {0};
    for (unsigned i = 0; i < rig->partition_count; i++)
        if (rig_start(rig, i, i) != 0)
            return false;
    for (unsigned i = 0; i < rig->partition_count; i++) {
        if (!rig_event(rig, BACKEND_PROVED) || rig->last.id >= rig->partition_count ||
            ended[rig->last.id]++)
            return false;
        if (memcmp(rig->last.sums, rig->partitions[rig->last.id].expected, rig->last.sums_bytes)) {
            fprintf(stderr, "wrong sums of partition %llu\n", (unsigned long long)rig->last.id);
            return false;
        }
    }
    return true;
}
