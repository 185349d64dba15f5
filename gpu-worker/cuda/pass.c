/* See pass.h. */
#include "gpu-worker/cuda/pass.h"

#include "gpu-worker/cuda/cuda.h"

/* A range of scalars and where their bases are. */
struct chunk {
    uint32_t begin;
    struct msm_shape shape;
    const uint8_t *memory; /* of what is streamed; NULL: nothing is */
    void *uploaded;        /* event */
    unsigned buffer, slot; /* slot: where its sums go */
};

int pass_init(struct pass *pass)
{
    int error = DRIVER_OK;
    for (unsigned i = 0; i < PASS_BUFFERS; i++) {
        if (!error)
            error = driver_event_create(&pass->uploaded[i]);
        for (unsigned j = 0; j < PASS_LANES; j++) {
            if (!error)
                error = driver_event_create(&pass->done[i][j]);
            if (!error)
                error = driver_event_create(&pass->free[i][j]);
        }
    }
    for (unsigned j = 0; j < PASS_LANES; j++)
        if (!error)
            error = driver_event_create(&pass->turns[j]);
    return error ? error : driver_event_create(&pass->uploads_end);
}

void pass_destroy(struct pass *pass)
{
    void *const *const lists[] = {pass->uploaded, pass->done[0], pass->done[1],
                                  pass->free[0],  pass->free[1], pass->turns};
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (unsigned j = 0; j < 2; j++)
            if (lists[i][j])
                driver_event_destroy(lists[i][j]);
    if (pass->uploads_end)
        driver_event_destroy(pass->uploads_end);
}

static void *lane_stream(struct backend *backend, unsigned lane)
{
    return backend->streams[lane ? STREAM_QUOTIENT : STREAM_WITNESS];
}

/* What is enqueued in either stream from here on comes after all that is in both. */
static void join_lanes(struct backend *backend, struct work *work)
{
    for (unsigned i = 0; i < PASS_LANES; i++)
        work_record(work, backend->pass.turns[i], lane_stream(backend, i));
    for (unsigned i = 0; i < PASS_LANES; i++)
        work_wait(work, lane_stream(backend, i), backend->pass.turns[!i]);
}

/* Uploads. */

static const void *host_points(const struct prepared *prepared, enum sums_point point)
{
    const void *const points[SUMS_COUNT] = {[SUMS_A] = prepared->a,
                                            [SUMS_B1] = prepared->b1,
                                            [SUMS_B2] = prepared->b2,
                                            [SUMS_L] = prepared->l,
                                            [SUMS_H] = prepared->h};
    return points[point];
}

/* Base i belongs to scalar i in every array: L's first ones are infinity. */
static void upload_l(const struct key *key, const struct chunk *chunk, uint8_t *to,
                     struct work *work, void *stream)
{
    const uint64_t bytes = key->prepared->curve->g1_bytes;
    const uint64_t front = key->plan.public_count + (uint64_t)1;
    const uint64_t begin = chunk->begin, end = begin + chunk->shape.count;
    const uint64_t middle = front < begin ? begin : front > end ? end : front;
    work_zero(work, to, (middle - begin) * bytes, stream);
    if (middle < end)
        work_upload(work, to + (middle - begin) * bytes,
                    (const uint8_t *)key->prepared->l + (middle - front) * bytes,
                    (end - middle) * bytes, stream);
}

static void upload_chunk(struct backend *backend, struct chunk *chunk, bool is_quotient,
                         struct work *work)
{
    struct pass *pass = &backend->pass;
    const struct key *key = pass->key;
    void *stream = backend->streams[STREAM_CHUNK];
    const enum sums_point first = is_quotient ? SUMS_H : SUMS_A;
    const enum sums_point last = is_quotient ? SUMS_H : SUMS_L;
    bool is_streamed = false;
    for (enum sums_point i = first; i <= last; i++)
        is_streamed |= !key->plan.is_resident[i];
    if (!is_streamed)
        return;
    work_on(work, "uploading a part of a key");
    chunk->buffer = (unsigned)(pass->uploads++ % PASS_BUFFERS);
    uint8_t *memory = backend->workspace_memory + backend->layout.chunk_off[chunk->buffer];
    for (unsigned i = 0; i < PASS_LANES; i++)
        work_wait(work, stream, pass->free[chunk->buffer][i]);
    for (enum sums_point i = first; i <= last; i++) {
        const uint64_t bytes = sums_point_bytes(key->prepared->curve, i);
        uint8_t *to = memory + key->plan.chunk_off[i];
        if (key->plan.is_resident[i])
            continue;
        if (i == SUMS_L)
            upload_l(key, chunk, to, work, stream);
        else
            work_upload(work, to,
                        (const uint8_t *)host_points(key->prepared, i) + chunk->begin * bytes,
                        chunk->shape.count * bytes, stream);
    }
    chunk->memory = memory;
    chunk->uploaded = pass->uploaded[chunk->buffer];
    work_record(work, chunk->uploaded, stream);
}

/* Units of work: one chunk, one partition. */

static const void *chunk_bases(const struct key *key, const struct chunk *chunk,
                               enum sums_point point)
{
    if (!key->plan.is_resident[point])
        return chunk->memory + key->plan.chunk_off[point];
    return (const uint8_t *)key_bases(key, point) +
           chunk->begin * sums_point_bytes(key->prepared->curve, point);
}

static void compute_unit(struct backend *backend, struct flight *flight, const struct chunk *chunk,
                         const uint8_t *scalars, const enum sums_point *points, unsigned count,
                         struct work *work)
{
    const struct key *key = backend->pass.key;
    const struct curve *curve = key->prepared->curve;
    const struct workspace_layout *layout = &backend->layout;
    const unsigned lane = (unsigned)(backend->pass.units++ % key->plan.lanes);
    void *stream = lane_stream(backend, lane);
    uint8_t *plan = backend->workspace_memory + layout->plan_off[lane];
    uint8_t *scratch = backend->workspace_memory + layout->scratch_off[lane];
    uint8_t *sums = flight_sums(backend, flight) + chunk->slot * sums_bytes(curve);
    work_on(work, "computing the sums of a part of a key");
    work_plan(work, &chunk->shape, scalars + (uint64_t)chunk->begin * CURVE_FR_BYTES, plan, scratch,
              stream);
    if (chunk->uploaded)
        work_wait(work, stream, chunk->uploaded);
    for (unsigned i = 0; i < count; i++)
        work_sum(work, &chunk->shape, points[i] == SUMS_B2, plan,
                 chunk_bases(key, chunk, points[i]), scratch, sums + sums_off(curve, points[i]),
                 stream);
}

/* The range of chunk `index`: `whole` is the shape of all but the last. */
static void make_chunk(const struct msm_shape *whole, uint64_t total, unsigned index,
                       struct chunk *ret_chunk, struct work *work)
{
    const uint64_t begin = (uint64_t)index * whole->count;
    const uint64_t left = total - begin;
    *ret_chunk = (struct chunk){.begin = (uint32_t)begin, .slot = index};
    if (plan_chunk_shape(whole, left < whole->count ? (uint32_t)left : whole->count,
                         &ret_chunk->shape) < 0 &&
        !work->error)
        work->error = DRIVER_ERROR_INVALID_VALUE;
}

static void end_chunk(struct backend *backend, const struct chunk *chunk, struct work *work)
{
    for (unsigned i = 0; i < PASS_LANES && chunk->uploaded; i++)
        work_record(work, backend->pass.free[chunk->buffer][i], lane_stream(backend, i));
}

static void step_witness(struct backend *backend, unsigned index, struct work *work)
{
    static const enum sums_point points[] = {SUMS_A, SUMS_B1, SUMS_L, SUMS_B2};
    struct pass *pass = &backend->pass;
    struct chunk chunk;
    make_chunk(&pass->key->plan.witness, pass->key->plan.variable_count, index, &chunk, work);
    upload_chunk(backend, &chunk, false, work);
    for (unsigned i = 0; i < pass->count; i++) {
        struct flight *flight = pass->flights[i];
        if (index == 0) {
            for (unsigned lane = 0; lane < PASS_LANES; lane++)
                work_wait(work, lane_stream(backend, lane), flight->marks[MARK_UPLOAD_WITNESS]);
            flight_mark(backend, flight, MARK_WITNESS_BEGIN, work);
        }
        compute_unit(backend, flight, &chunk, flight_witness(backend, flight), points, 4, work);
    }
    end_chunk(backend, &chunk, work);
}

static uint8_t *pass_scalars(struct backend *backend, unsigned index)
{
    return backend->workspace_memory + backend->layout.scalars_off +
           index * arena_align(backend->workspace.scalars_bytes);
}

static void step_quotients(struct backend *backend, struct work *work)
{
    struct pass *pass = &backend->pass;
    join_lanes(backend, work);
    for (unsigned i = 0; i < pass->count; i++) {
        flight_mark(backend, pass->flights[i], MARK_WITNESS_PLANNED, work);
        flight_mark(backend, pass->flights[i], MARK_WITNESS_A, work);
        flight_launch_quotient(backend, pass->flights[i], pass_scalars(backend, i), work);
    }
    join_lanes(backend, work);
}

static void step_h(struct backend *backend, unsigned index, struct work *work)
{
    static const enum sums_point points[] = {SUMS_H};
    struct pass *pass = &backend->pass;
    struct chunk chunk;
    make_chunk(&pass->key->plan.quotient, (uint64_t)1 << pass->key->plan.domain_log2, index, &chunk,
               work);
    upload_chunk(backend, &chunk, true, work);
    for (unsigned i = 0; i < pass->count; i++)
        compute_unit(backend, pass->flights[i], &chunk, pass_scalars(backend, i), points, 1, work);
    end_chunk(backend, &chunk, work);
}

/* Behind the last step: the sums come down. */
static void finish(struct backend *backend, struct work *work)
{
    struct pass *pass = &backend->pass;
    const struct plan *plan = &pass->key->plan;
    const unsigned slots =
        plan->witness_chunks > plan->quotient_chunks ? plan->witness_chunks : plan->quotient_chunks;
    work_on(work, "fetching sums");
    join_lanes(backend, work);
    for (unsigned i = 0; i < pass->count; i++) {
        struct flight *flight = pass->flights[i];
        flight_mark(backend, flight, MARK_QUOTIENT_H, work);
        work_download(work, flight->sums_host, flight_sums(backend, flight),
                      slots * sums_bytes(pass->key->prepared->curve), lane_stream(backend, 0));
        flight_mark(backend, flight, MARK_WITNESS_END, work);
        flight_mark(backend, flight, MARK_QUOTIENT_END, work);
        work_ring(work, backend->streams[STREAM_BELL_COMPUTE], flight->marks[MARK_WITNESS_END],
                  flight->marks[MARK_QUOTIENT_END], engine_ring, backend);
    }
    pass->key = NULL;
}

/* Steps. */

void pass_begin(struct backend *backend, struct flight *const *flights, unsigned count)
{
    struct pass *pass = &backend->pass;
    pass->key = flights[0]->key;
    pass->count = count;
    pass->step = 0;
    for (unsigned i = 0; i < count; i++)
        pass->flights[i] = flights[i];
}

bool pass_is_in_last_steps(const struct pass *pass)
{
    return !pass->key && pass->steps_begun - pass->steps_done < PASS_BUFFERS;
}

/* All of its partitions end as they are: one failed, or nobody wants them any more. They end after
 * all that was enqueued for them, a chunk that only half went up included: the memory that it goes
 * to is used for something else next. */
static void give_up(struct backend *backend, const struct work *failed)
{
    struct pass *pass = &backend->pass;
    struct work work = {.what = "giving up a pass"};
    work_record(&work, pass->uploads_end, backend->streams[STREAM_CHUNK]);
    for (unsigned i = 0; i < PASS_LANES; i++)
        work_wait(&work, lane_stream(backend, i), pass->uploads_end);
    join_lanes(backend, &work);
    if (work.error)
        engine_lose(backend, work.error, work.what);
    for (unsigned i = 0; i < pass->count; i++)
        flight_fail(backend, pass->flights[i], MARK_UPLOAD_RESUMED, failed);
    pass->key = NULL;
}

static bool is_wanted(struct backend *backend)
{
    bool is_wanted = false;
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < backend->pass.count; i++)
        is_wanted |= !backend->pass.flights[i]->is_cancelled;
    is_wanted &= !backend->is_stopping;
    pthread_mutex_unlock(&backend->mutex);
    return is_wanted;
}

static void enqueue_step(struct backend *backend, struct work *work)
{
    struct pass *pass = &backend->pass;
    const struct plan *plan = &pass->key->plan;
    const unsigned place = (unsigned)(pass->steps_begun % PASS_BUFFERS);
    const unsigned step = pass->step++;
    if (step < plan->witness_chunks)
        step_witness(backend, step, work);
    else if (step == plan->witness_chunks)
        step_quotients(backend, work);
    else
        step_h(backend, step - plan->witness_chunks - 1, work);
    for (unsigned i = 0; i < PASS_LANES; i++)
        work_record(work, pass->done[place][i], lane_stream(backend, i));
    work_ring(work, backend->streams[STREAM_BELL_COMPUTE], pass->done[place][0],
              pass->done[place][1], engine_ring, backend);
    if (work->error)
        return;
    pass->steps_begun++;
    if (pass->step == plan->witness_chunks + 1 + plan->quotient_chunks)
        finish(backend, work);
}

bool pass_step(struct backend *backend)
{
    struct pass *pass = &backend->pass;
    struct work work = {0};
    bool did = false;
    while (pass->steps_done < pass->steps_begun) {
        void *const *done = pass->done[pass->steps_done % PASS_BUFFERS];
        if (!engine_has_happened(backend, done[0]) || !engine_has_happened(backend, done[1]))
            break;
        pass->steps_done++;
        did = true;
    }
    if (!pass->key || pass->steps_begun - pass->steps_done >= PASS_BUFFERS)
        return did;
    if (is_wanted(backend))
        enqueue_step(backend, &work);
    else
        give_up(backend, &work);
    if (work.error)
        give_up(backend, &work);
    return true;
}
