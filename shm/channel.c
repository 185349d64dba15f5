/* See shm/channel.h. */
#include "shm/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/check.h"
#include "shm/segment.h"

static const char *const kind_names[WORKER_KIND_COUNT] = {
    [WORKER_SYNTH] = "synth",
    [WORKER_GPU] = "gpu",
    [WORKER_FINALIZER] = "finalizer",
};

const char *worker_kind_to_string(enum worker_kind kind)
{
    return (unsigned)kind < WORKER_KIND_COUNT ? kind_names[kind] : "?";
}

/* FNV-1a over every size and offset that both sides must agree on. */
static uint32_t layout_hash(void)
{
    static const size_t facts[] = {
        sizeof(struct channel_layout),
        offsetof(struct channel_layout, submission),
        offsetof(struct channel_layout, completion),
        offsetof(struct channel_layout, progress),
        offsetof(struct channel_layout, last_words),
        offsetof(struct channel_layout, submission_entries),
        offsetof(struct channel_layout, completion_entries),
        offsetof(struct channel_layout, trace),
        sizeof(struct channel_progress),
        offsetof(struct channel_progress, stage),
        sizeof(struct message),
        offsetof(struct message, numbers),
        offsetof(struct message, phase_us),
        offsetof(struct message, payload),
        sizeof(struct trace_event),
        CHANNEL_RING_ENTRIES,
        MESSAGE_PAYLOAD_BYTES,
        TRACE_ENTRIES,
        PHASE_COUNT,
        OPERATION_COUNT,
        BLAME_COUNT,
    };
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        for (unsigned byte = 0; byte < 4; byte++)
            hash = (hash ^ (uint32_t)(facts[i] >> 8 * byte & 0xff)) * 16777619u;
    }
    return hash;
}

int channel_create(enum worker_kind kind, unsigned index, struct channel *ret)
{
    char name[32];
    void *memory;
    int fd, error;

    snprintf(name, sizeof name, "channel-%s-%u", worker_kind_to_string(kind), index);
    error = segment_create(name, sizeof(struct channel_layout), &fd, &memory);
    if (error < 0)
        return error;
    *ret = (struct channel){.layout = memory, .fd = fd};
    ret->layout->header = (struct channel_header){
        .magic = CHANNEL_MAGIC,
        .abi = CHANNEL_ABI,
        .layout = layout_hash(),
        .kind = kind,
        .index = index,
        .supervisor_pid = getpid(),
    };
    atomic_store_explicit(&ret->layout->progress.stage, PHASE_COUNT, memory_order_relaxed);
    return 0;
}

static int attach(int fd, bool writable, struct channel *ret)
{
    const struct channel_header *header;
    void *memory;
    int error = segment_map(fd, sizeof(struct channel_layout), writable, &memory);

    if (error < 0)
        return error;
    header = &((const struct channel_layout *)memory)->header;
    if (header->magic != CHANNEL_MAGIC || header->abi != CHANNEL_ABI ||
        header->layout != layout_hash() || header->kind >= WORKER_KIND_COUNT) {
        segment_unmap(memory, sizeof(struct channel_layout));
        return -EPROTO;
    }
    *ret = (struct channel){.layout = memory, .fd = fd};
    return 0;
}

int channel_attach(int fd, struct channel *ret)
{
    return attach(fd, true, ret);
}

int channel_attach_read_only(int fd, struct channel *ret)
{
    return attach(fd, false, ret);
}

void channel_destroy(struct channel *channel)
{
    if (!channel->layout)
        return;
    segment_unmap(channel->layout, sizeof(struct channel_layout));
    close(channel->fd);
    *channel = (struct channel){.layout = NULL, .fd = -1};
}

static int push(struct spsc *ring, struct message *entries, const struct message *message)
{
    CHECK(message->payload_bytes <= MESSAGE_PAYLOAD_BYTES);
    return spsc_push(ring, entries, CHANNEL_RING_ENTRIES, sizeof *entries, message,
                     message_bytes(message->payload_bytes));
}

/* The other side's bytes are input: the length is read once and checked, then copied by it. */
static int take(struct spsc *ring, const struct message *entries, struct message *ret)
{
    const struct message *entry;
    const void *oldest;
    uint16_t payload_bytes;
    int result = spsc_peek(ring, entries, CHANNEL_RING_ENTRIES, sizeof *entries, &oldest);

    if (result != 1)
        return result;
    entry = oldest;
    payload_bytes = *(const volatile uint16_t *)&entry->payload_bytes;
    if (payload_bytes > MESSAGE_PAYLOAD_BYTES)
        return -EPROTO;
    memcpy(ret, entry, message_bytes(payload_bytes));
    ret->payload_bytes = payload_bytes;
    if (ret->operation >= OPERATION_COUNT || ret->blame >= BLAME_COUNT)
        return -EPROTO;
    spsc_advance(ring);
    return 1;
}

int channel_grant(struct channel *channel, const struct message *grant)
{
    return push(&channel->layout->submission, channel->layout->submission_entries, grant);
}

bool channel_grants_are_taken(const struct channel *channel)
{
    const struct spsc *ring = &channel->layout->submission;

    return atomic_load_explicit(&ring->head, memory_order_relaxed) ==
           atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

int channel_take_completion(struct channel *channel, struct message *ret)
{
    return take(&channel->layout->completion, channel->layout->completion_entries, ret);
}

int channel_take_grant(struct channel *channel, struct message *ret)
{
    return take(&channel->layout->submission, channel->layout->submission_entries, ret);
}

int channel_complete(struct channel *channel, const struct message *completion)
{
    return push(&channel->layout->completion, channel->layout->completion_entries, completion);
}

const char *channel_build(char ret[CHANNEL_BUILD_BYTES])
{
    snprintf(ret, CHANNEL_BUILD_BYTES, "%u-%08x", (unsigned)CHANNEL_ABI, layout_hash());
    return ret;
}
