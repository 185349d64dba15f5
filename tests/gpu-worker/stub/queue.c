/* Streams and events of the stub, and the one thread that executes what they hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu-worker/stub/stub_internal.h"

enum item_kind {
    ITEM_RUN,
    ITEM_RECORD,
    ITEM_WAIT,
    ITEM_CALLBACK,
};

struct item {
    struct item *next;
    enum item_kind kind;
    uint64_t number; /* in the order of the calls, over all streams */
    struct stub_operation operation;
    struct stub_event *event;
    uint64_t event_number; /* of the record that a wait waits for */
    void (*call)(void *context);
    void *context;
};

struct stub_stream {
    struct stub_stream *next;
    struct item *first, **last;
    bool is_destroyed, is_hung; /* hung: by its first item, since so many releases */
    uint64_t releases;
};

struct stub_event {
    struct stub_event *next;
    uint64_t recorded, done; /* numbers of items; 0: never */
    uint64_t done_ns;
    unsigned uses; /* items that name it */
    bool is_destroyed;
};

static struct {
    struct stub_stream *streams;
    struct stub_event *events;
    uint64_t last_number;
    pthread_t executor;
    bool has_executor, is_resetting;
    uint64_t releases; /* of what hangs */
    struct item *running;
    pthread_cond_t wake, done; /* the executor; those who wait for it */
} queue = {.wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_in_callback;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Executing. */

static bool is_ready(const struct stub_stream *stream)
{
    const struct item *item = stream->first;
    if (stream->is_hung && stream->releases == queue.releases)
        return false;
    return item->kind != ITEM_WAIT || item->event->done >= item->event_number;
}

/* Mutex held. */
static bool hangs(struct stub_stream *stream)
{
    const struct item *item = stream->first;
    stream->is_hung =
        item->kind == ITEM_RUN && stub_find_fault(STUB_HANG, &item->operation.call) != NULL;
    stream->releases = queue.releases;
    return stream->is_hung;
}

/* The stream whose first item is next: the oldest one that is ready, or any. */
static struct stub_stream *pick(void)
{
    struct stub_stream *best = NULL;
    uint64_t ready = 0;
    for (struct stub_stream *s = queue.streams; s; s = s->next) {
        if (!s->first || (!is_ready(s) && !stub.sticky && !queue.is_resetting))
            continue;
        ready++;
        if (stub.is_random) {
            stub.random = stub.random * 6364136223846793005u + 1442695040888963407u;
            if ((stub.random >> 33) % ready == 0)
                best = s;
        } else if (!best || s->first->number < best->first->number) {
            best = s;
        }
    }
    return best;
}

/* Mutex held; not while the operation runs. */
static void run_operation(const struct stub_operation *operation)
{
    const bool is_wrong = stub_find_fault(STUB_WRONG, &operation->call);
    const struct stub_fault *slow = stub_find_fault(STUB_SLOW, &operation->call);
    const long slow_ms = slow ? slow->value : 0;
    const struct stub_fault *die = stub_find_fault(STUB_DIE, &operation->call);
    const int death = die ? (int)die->value : DRIVER_OK;
    pthread_mutex_unlock(&stub.mutex);
    if (slow_ms)
        usleep((useconds_t)slow_ms * 1000);
    const int error = death ? death : operation->run(operation->arguments);
    if (error == DRIVER_OK && is_wrong && operation->result)
        *(uint8_t *)operation->result ^= 1;
    pthread_mutex_lock(&stub.mutex);
    if (error != DRIVER_OK && !stub.sticky)
        stub.sticky = error;
}

static void run_callback(const struct item *item)
{
    if (stub_find_fault(STUB_LOSE, &item->operation.call))
        return;
    pthread_mutex_unlock(&stub.mutex);
    is_in_callback = true;
    item->call(item->context);
    is_in_callback = false;
    pthread_mutex_lock(&stub.mutex);
}

static void execute(struct item *item)
{
    switch (item->kind) {
    case ITEM_RUN:
        run_operation(&item->operation);
        break;
    case ITEM_RECORD:
        item->event->done = item->number;
        item->event->done_ns = now_ns();
        break;
    case ITEM_WAIT:
        break;
    case ITEM_CALLBACK:
        run_callback(item);
        break;
    }
}

static void free_dead(void)
{
    for (struct stub_event **at = &queue.events; *at;) {
        struct stub_event *event = *at;
        if (!event->is_destroyed || event->uses) {
            at = &event->next;
            continue;
        }
        *at = event->next;
        free(event);
    }
    for (struct stub_stream **at = &queue.streams; *at;) {
        struct stub_stream *stream = *at;
        if (!stream->is_destroyed || stream->first) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        free(stream);
    }
}

static void *executor(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&stub.mutex);
    for (;;) {
        struct stub_stream *stream = pick();
        if (!stream) {
            pthread_cond_broadcast(&queue.done);
            pthread_cond_wait(&queue.wake, &stub.mutex);
            continue;
        }
        if (stub.is_random && stub.random >> 62 == 0) {
            /* Lets the caller get ahead, so that there is something to choose from. */
            pthread_mutex_unlock(&stub.mutex);
            usleep(200);
            pthread_mutex_lock(&stub.mutex);
            continue;
        }
        if (!stub.sticky && !queue.is_resetting && hangs(stream))
            continue;
        struct item *item = queue.running = stream->first;
        if (!stub.sticky && !queue.is_resetting)
            execute(item);
        stream->first = item->next;
        if (!stream->first)
            stream->last = &stream->first;
        if (item->event)
            item->event->uses--;
        free(item->operation.arguments);
        free(item);
        queue.running = NULL;
        free_dead();
        pthread_cond_broadcast(&queue.done);
    }
    return NULL;
}

void stub_wake(void)
{
    pthread_cond_broadcast(&queue.wake);
    pthread_cond_broadcast(&queue.done);
}

void stub_queue_release(void)
{
    queue.releases++;
    stub_wake();
}

static bool is_empty(void)
{
    for (struct stub_stream *s = queue.streams; s; s = s->next)
        if (s->first)
            return false;
    return !queue.running;
}

void stub_queue_reset(void)
{
    queue.is_resetting = true;
    stub_wake();
    while (!is_empty())
        pthread_cond_wait(&queue.done, &stub.mutex);
    for (struct stub_stream *s = queue.streams; s; s = s->next)
        s->is_destroyed = true;
    for (struct stub_event *e = queue.events; e; e = e->next)
        e->is_destroyed = true;
    free_dead();
    queue.is_resetting = false;
}

/* Enqueuing. */

static struct stub_stream *find_stream(void *stream)
{
    for (struct stub_stream *s = queue.streams; s; s = s->next)
        if (s == stream && !s->is_destroyed)
            return s;
    stub_misuse("a stream that is none");
}

static struct stub_event *find_event(void *event)
{
    for (struct stub_event *e = queue.events; e; e = e->next)
        if (e == event && !e->is_destroyed)
            return e;
    stub_misuse("an event that is none");
}

static struct item *append(void *stream_handle, enum item_kind kind)
{
    struct stub_stream *stream = find_stream(stream_handle);
    struct item *item = calloc(1, sizeof *item);
    if (!item)
        stub_misuse("no memory");
    if (is_in_callback)
        stub_misuse("a driver call in a callback");
    if (!queue.has_executor) {
        queue.has_executor = true;
        if (pthread_create(&queue.executor, NULL, executor, NULL) != 0)
            stub_misuse("no thread");
    }
    item->kind = kind;
    item->number = ++queue.last_number;
    *stream->last = item;
    stream->last = &item->next;
    pthread_cond_broadcast(&queue.wake);
    return item;
}

void stub_enqueue(void *stream, const struct stub_operation *operation)
{
    append(stream, ITEM_RUN)->operation = *operation;
}

bool stub_is_in_use(const void *begin, uint64_t bytes)
{
    const char *from = begin, *to = from + bytes;
    for (struct stub_stream *s = queue.streams; s; s = s->next)
        for (struct item *item = s->first; item; item = item->next)
            for (unsigned i = 0; i < item->operation.range_count; i++) {
                const char *a = item->operation.ranges[i].begin;
                if (a < to && from < a + item->operation.ranges[i].bytes)
                    return true;
            }
    return false;
}

/* driver.h */

int driver_stream_create(void **ret_stream, int priority)
{
    struct stub_call call;
    const int error = stub_enter(STUB_stream_create, &call);
    (void)priority;
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct stub_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        stub_misuse("no memory");
    stream->last = &stream->first;
    stream->next = queue.streams;
    queue.streams = stream;
    *ret_stream = stream;
    return stub_leave(DRIVER_OK);
}

int driver_stream_destroy(void *stream)
{
    struct stub_call call;
    const int error = stub_enter(STUB_stream_destroy, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    find_stream(stream)->is_destroyed = true;
    free_dead();
    return stub_leave(DRIVER_OK);
}

int driver_stream_wait(void *stream, void *event_handle)
{
    struct stub_call call;
    const int error = stub_enter(STUB_stream_wait, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct stub_event *event = find_event(event_handle);
    struct item *item = append(stream, ITEM_WAIT);
    item->event = event;
    item->event_number = event->recorded;
    event->uses++;
    return stub_leave(DRIVER_OK);
}

int driver_event_create(void **ret_event)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_create, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct stub_event *event = calloc(1, sizeof *event);
    if (!event)
        stub_misuse("no memory");
    event->next = queue.events;
    queue.events = event;
    *ret_event = event;
    return stub_leave(DRIVER_OK);
}

int driver_event_destroy(void *event)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_destroy, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    find_event(event)->is_destroyed = true;
    free_dead();
    return stub_leave(DRIVER_OK);
}

int driver_event_record(void *event_handle, void *stream)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_record, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct stub_event *event = find_event(event_handle);
    struct item *item = append(stream, ITEM_RECORD);
    item->event = event;
    event->recorded = item->number;
    event->uses++;
    return stub_leave(DRIVER_OK);
}

int driver_event_query(void *event_handle)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_query, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    const struct stub_event *event = find_event(event_handle);
    return stub_leave(event->done == event->recorded ? DRIVER_OK : DRIVER_ERROR_NOT_READY);
}

int driver_event_wait(void *event_handle)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_wait, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    if (is_in_callback)
        stub_misuse("a driver call in a callback");
    const struct stub_event *event = find_event(event_handle);
    while (event->done != event->recorded && !stub.sticky)
        pthread_cond_wait(&queue.done, &stub.mutex);
    return stub_leave(stub.sticky);
}

int driver_event_elapsed(double *ret_ms, void *begin_handle, void *end_handle)
{
    struct stub_call call;
    const int error = stub_enter(STUB_event_elapsed, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    const struct stub_event *begin = find_event(begin_handle), *end = find_event(end_handle);
    if (!begin->recorded || !end->recorded)
        return stub_leave(DRIVER_ERROR_INVALID_VALUE);
    if (begin->done != begin->recorded || end->done != end->recorded)
        return stub_leave(DRIVER_ERROR_NOT_READY);
    *ret_ms = ((double)end->done_ns - (double)begin->done_ns) / 1e6;
    return stub_leave(DRIVER_OK);
}

int driver_call_host(void *stream, void (*call_back)(void *context), void *context)
{
    struct stub_call call;
    const int error = stub_enter(STUB_call_host, &call);
    if (error != DRIVER_OK)
        return stub_leave(error);
    struct item *item = append(stream, ITEM_CALLBACK);
    item->operation.call = call;
    item->call = call_back;
    item->context = context;
    return stub_leave(DRIVER_OK);
}
