/* See flight.h. */
#include "gpu-worker/cuda/flight.h"

#include <string.h>

#include "gpu-worker/cuda/cuda.h"
#include "runtime/clock.h"

enum {
    /* Up to here a whole partition is so short that the next one may be enqueued early. */
    FLIGHT_SHORT_LOG2_MAX = 18,
};

/* Which stream a mark is recorded in. */
static void *mark_stream(struct backend *backend, enum flight_mark mark)
{
    if (mark <= MARK_UPLOAD_END)
        return backend->streams[STREAM_UPLOAD];
    return backend->streams[mark <= MARK_QUOTIENT_END ? STREAM_QUOTIENT : STREAM_WITNESS];
}

void flight_mark(struct backend *backend, struct flight *flight, enum flight_mark which,
                 struct work *work)
{
    work_record(work, flight->marks[which], mark_stream(backend, which));
    if (!work->error)
        flight->marked |= 1u << which;
}

void flight_fail(struct backend *backend, struct flight *flight, enum flight_mark first,
                 const struct work *failed)
{
    struct work work = {.what = "giving up a partition"};
    /* What still goes up of its a and b does so before the next witness, in the same stream: no
     * other partition meets it. */
    if (failed->error)
        flight->fault = engine_fault(backend, failed, flight->text);
    for (enum flight_mark i = first; i < MARK_COUNT; i++)
        flight_mark(backend, flight, i, &work);
    if (work.error)
        engine_lose(backend, work.error, work.what);
}

uint8_t *flight_witness(struct backend *backend, const struct flight *flight)
{
    return backend->workspace_memory + backend->layout.witness_off +
           (unsigned)flight->witness * arena_align(backend->workspace.witness_bytes);
}

uint8_t *flight_sums(struct backend *backend, const struct flight *flight)
{
    return backend->workspace_memory + backend->layout.sums_off +
           (size_t)(flight - backend->flights) * arena_align(backend->workspace.sums_bytes);
}

void flight_upload(struct backend *backend, struct flight *flight, int witness, struct work *work)
{
    const struct slab_layout layout = prepared_slab_layout(flight->key->prepared);
    flight->witness = witness;
    flight->marked = flight->passed = 0;
    work_on(work, "uploading a witness");
    flight_mark(backend, flight, MARK_UPLOAD_BEGIN, work);
    work_upload(work, flight_witness(backend, flight),
                (const uint8_t *)flight->partition.slab + layout.witness_off, layout.witness_bytes,
                backend->streams[STREAM_UPLOAD]);
    flight_mark(backend, flight, MARK_UPLOAD_WITNESS, work);
    work_ring(work, backend->streams[STREAM_BELL_UPLOAD], flight->marks[MARK_UPLOAD_WITNESS], NULL,
              engine_ring, backend);
    if (work->error)
        flight_fail(backend, flight, MARK_UPLOAD_BEGIN, work);
}

/* a and b from the slab, as soon as the partition ahead has consumed its own. */
static void upload_evaluations(struct backend *backend, struct flight *flight, uint8_t *a,
                               uint8_t *b, struct work *work)
{
    const struct slab_layout layout = prepared_slab_layout(flight->key->prepared);
    const uint8_t *slab = flight->partition.slab;
    void *stream = backend->streams[STREAM_UPLOAD];
    work_on(work, "uploading evaluations");
    work_wait(work, stream, backend->evaluations_free);
    flight_mark(backend, flight, MARK_UPLOAD_RESUMED, work);
    work_upload(work, a, slab + layout.a_off, layout.evaluation_bytes, stream);
    work_upload(work, b, slab + layout.b_off, layout.evaluation_bytes, stream);
    flight_mark(backend, flight, MARK_UPLOAD_END, work);
    work_ring(work, backend->streams[STREAM_BELL_UPLOAD], flight->marks[MARK_UPLOAD_END], NULL,
              engine_ring, backend);
    work_wait(work, backend->streams[STREAM_QUOTIENT], flight->marks[MARK_UPLOAD_END]);
}

void flight_launch_quotient(struct backend *backend, struct flight *flight, uint8_t *scalars,
                            struct work *work)
{
    const struct key *key = flight->key;
    const struct plan *plan = &key->plan;
    const struct workspace_layout *layout = &backend->layout;
    uint8_t *memory = backend->workspace_memory, *witness = flight_witness(backend, flight);
    uint8_t *a = memory + layout->a_off, *b = memory + layout->b_off;
    void *stream = backend->streams[STREAM_QUOTIENT];
    work_on(work, "evaluating the constraints");
    work_wait(work, stream, flight->marks[MARK_UPLOAD_WITNESS]);
    flight_mark(backend, flight, MARK_QUOTIENT_BEGIN, work);
    if (flight->partition.has_evaluations)
        upload_evaluations(backend, flight, a, b, work);
    for (unsigned i = 0; i < PLAN_MATRIX_COUNT && !flight->partition.has_evaluations; i++)
        work_evaluate(work, plan->curve, &key->matrices[i], witness, plan->variable_count,
                      plan->domain_log2, i == PLAN_MATRIX_A ? a : b, memory + layout->evaluate_off,
                      stream);
    flight_mark(backend, flight, MARK_QUOTIENT_EVALUATED, work);
    work_on(work, "computing the quotient");
    work_quotient(work, plan->curve, key->memory + plan->twiddles_off, plan->domain_log2, a, b,
                  scalars, stream);
    flight_mark(backend, flight, MARK_QUOTIENT_DONE, work);
    work_record(work, backend->evaluations_free, stream);
}

static void launch_h(struct backend *backend, struct flight *flight, const uint8_t *scalars,
                     struct work *work)
{
    const struct key *key = flight->key;
    const struct workspace_layout *layout = &backend->layout;
    const size_t off = sums_off(key->prepared->curve, SUMS_H);
    uint8_t *memory = backend->workspace_memory, *sums = flight_sums(backend, flight);
    void *stream = backend->streams[STREAM_QUOTIENT];
    work_on(work, "computing the sum H");
    work_plan(work, &key->plan.quotient, scalars, memory + layout->plan_off[1],
              memory + layout->scratch_off[1], stream);
    work_sum(work, &key->plan.quotient, false, memory + layout->plan_off[1], key_bases(key, SUMS_H),
             memory + layout->scratch_off[1], sums + off, stream);
    flight_mark(backend, flight, MARK_QUOTIENT_H, work);
    work_download(work, flight->sums_host + off, sums + off, key->prepared->curve->g1_bytes,
                  stream);
    flight_mark(backend, flight, MARK_QUOTIENT_END, work);
}

/* The four sums over the witness; the longest last, for the next partition to begin under it. */
static void launch_witness(struct backend *backend, struct flight *flight, struct work *work)
{
    static const enum sums_point points[] = {SUMS_A, SUMS_B1, SUMS_L, SUMS_B2};
    const struct key *key = flight->key;
    const struct curve *curve = key->prepared->curve;
    const struct workspace_layout *layout = &backend->layout;
    uint8_t *memory = backend->workspace_memory, *scratch = memory + layout->scratch_off[0];
    uint8_t *sums = flight_sums(backend, flight);
    void *stream = backend->streams[STREAM_WITNESS];
    work_on(work, "sorting the witness");
    work_wait(work, stream, flight->marks[MARK_UPLOAD_WITNESS]);
    flight_mark(backend, flight, MARK_WITNESS_BEGIN, work);
    work_plan(work, &key->plan.witness, flight_witness(backend, flight),
              memory + layout->plan_off[0], scratch, stream);
    flight_mark(backend, flight, MARK_WITNESS_PLANNED, work);
    work_on(work, "computing the sums over the witness");
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        work_sum(work, &key->plan.witness, points[i] == SUMS_B2, memory + layout->plan_off[0],
                 key_bases(key, points[i]), scratch, sums + sums_off(curve, points[i]), stream);
        flight_mark(backend, flight, MARK_WITNESS_A + i, work);
    }
    work_download(work, flight->sums_host, sums, sums_off(curve, SUMS_H), stream);
    flight_mark(backend, flight, MARK_WITNESS_END, work);
}

void flight_launch(struct backend *backend, struct flight *flight)
{
    uint8_t *scalars = backend->workspace_memory + backend->layout.scalars_off;
    void *bell = backend->streams[STREAM_BELL_COMPUTE];
    struct work work = {0};
    launch_witness(backend, flight, &work);
    flight_launch_quotient(backend, flight, scalars, &work);
    launch_h(backend, flight, scalars, &work);
    work_on(&work, "waiting for a partition");
    work_ring(&work, bell, flight->marks[MARK_WITNESS_PLANNED],
              flight->marks[MARK_QUOTIENT_EVALUATED], engine_ring, backend);
    work_ring(&work, bell, flight->marks[MARK_WITNESS_L], flight->marks[MARK_QUOTIENT_DONE],
              engine_ring, backend);
    work_ring(&work, bell, flight->marks[MARK_WITNESS_END], flight->marks[MARK_QUOTIENT_END],
              engine_ring, backend);
    if (work.error)
        flight_fail(backend, flight, MARK_UPLOAD_RESUMED, &work);
}

/* Adds what the chunks left: a sum with all scalars 1. */
static int add_points(struct backend *backend, const struct flight *flight, enum sums_point point,
                      unsigned count, uint8_t *ret_point)
{
    const struct curve *curve = flight->key->prepared->curve;
    const size_t bytes = sums_point_bytes(curve, point), off = sums_off(curve, point);
    uint64_t points[PLAN_CHUNKS_MAX * CURVE_G2_BYTES_MAX / 8];
    uint64_t ones[PLAN_CHUNKS_MAX * CURVE_FR_BYTES / 8] = {0};
    for (unsigned i = 0; i < count; i++) {
        memcpy((uint8_t *)points + i * bytes, flight->sums_host + i * sums_bytes(curve) + off,
               bytes);
        ones[i * CURVE_FR_BYTES / 8] = 1;
    }
    return (point == SUMS_B2 ? curve->msm_g2 : curve->msm_g1)(backend->pool, points, ones, count,
                                                              ret_point);
}

int flight_collect(struct backend *backend, struct flight *flight)
{
    const struct plan *plan = &flight->key->plan;
    const struct curve *curve = flight->key->prepared->curve;
    int error = 0;
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT && error == 0; i++) {
        const unsigned count = i == SUMS_H ? plan->quotient_chunks : plan->witness_chunks;
        const size_t off = sums_off(curve, i);
        if (count == 1)
            memcpy(flight->sums + off, flight->sums_host + off, sums_point_bytes(curve, i));
        else
            error = add_points(backend, flight, i, count, flight->sums + off);
    }
    return error;
}

/* What has happened. */

static bool happened(struct backend *backend, const struct flight *flight, enum flight_mark which)
{
    return flight->marked >> which & 1 && engine_has_happened(backend, flight->marks[which]);
}

bool flight_has_witness(struct backend *backend, const struct flight *flight)
{
    return happened(backend, flight, MARK_UPLOAD_WITNESS);
}

bool flight_is_uploaded(struct backend *backend, const struct flight *flight)
{
    return happened(backend, flight,
                    flight->partition.has_evaluations ? MARK_UPLOAD_END : MARK_UPLOAD_WITNESS);
}

bool flight_has_consumed(struct backend *backend, const struct flight *flight)
{
    return happened(backend, flight, MARK_WITNESS_PLANNED) &&
           happened(backend, flight, MARK_QUOTIENT_EVALUATED);
}

bool flight_is_in_last_phase(struct backend *backend, const struct flight *flight)
{
    if (plan_has_passes(&flight->key->plan))
        return pass_is_in_last_steps(&backend->pass);
    if (flight->key->plan.domain_log2 <= FLIGHT_SHORT_LOG2_MAX)
        return flight_has_consumed(backend, flight);
    return happened(backend, flight, MARK_WITNESS_L) &&
           happened(backend, flight, MARK_QUOTIENT_DONE);
}

bool flight_has_ended(struct backend *backend, const struct flight *flight)
{
    return happened(backend, flight, MARK_WITNESS_END) &&
           happened(backend, flight, MARK_QUOTIENT_END) &&
           (!flight->partition.has_evaluations || happened(backend, flight, MARK_UPLOAD_END));
}

bool flight_moves(struct backend *backend, struct flight *flight)
{
    const uint32_t before = flight->passed;
    for (unsigned which = 0; which < MARK_COUNT; which++) {
        if (!(flight->passed >> which & 1) && happened(backend, flight, (enum flight_mark)which))
            flight->passed |= 1u << which;
    }
    return flight->passed != before;
}

/* What is told. */

struct flight_phase {
    enum backend_phase phase;
    enum flight_mark begin, end;
};

static void tell(struct backend *backend, struct flight *flight, enum backend_event_kind kind,
                 const struct flight_phase *phase, uint64_t bytes)
{
    struct backend_event event = {.kind = kind, .id = flight->partition.id, .bytes = bytes};
    if (phase) {
        struct work work = {.what = "reading the device's clock"};
        char text[BACKEND_TEXT_BYTES];
        event.phase = phase->phase;
        work.error = timeline_ns(&backend->timeline, flight->marks[phase->begin], &event.begin_ns);
        if (!work.error)
            work.error = timeline_ns(&backend->timeline, flight->marks[phase->end], &event.end_ns);
        if (work.error) {
            engine_fault(backend, &work, text);
            return; /* a time less in the trace; or the context is lost */
        }
        if (event.end_ns < event.begin_ns)
            event.end_ns = event.begin_ns;
    }
    pthread_mutex_lock(&backend->mutex);
    if (kind == BACKEND_UPLOADED)
        flight->has_left_slab = true;
    outbox_post(&backend->outbox, &event);
    pthread_mutex_unlock(&backend->mutex);
}

void flight_tell_upload(struct backend *backend, struct flight *flight)
{
    static const struct flight_phase witness = {BACKEND_PHASE_UPLOAD, MARK_UPLOAD_BEGIN,
                                                MARK_UPLOAD_WITNESS};
    static const struct flight_phase evaluations = {BACKEND_PHASE_UPLOAD, MARK_UPLOAD_RESUMED,
                                                    MARK_UPLOAD_END};
    const struct slab_layout layout = prepared_slab_layout(flight->key->prepared);
    tell(backend, flight, BACKEND_PHASE_ENDED, &witness, layout.witness_bytes);
    if (flight->partition.has_evaluations)
        tell(backend, flight, BACKEND_PHASE_ENDED, &evaluations, 2 * layout.evaluation_bytes);
    tell(backend, flight, BACKEND_UPLOADED, NULL, 0);
    flight->is_upload_told = true;
}

void flight_tell_phases(struct backend *backend, struct flight *flight)
{
    static const struct flight_phase phases[] = {
        {BACKEND_PHASE_NTT, MARK_QUOTIENT_BEGIN, MARK_QUOTIENT_DONE},
        {BACKEND_PHASE_MSM_H, MARK_QUOTIENT_DONE, MARK_QUOTIENT_H},
        {BACKEND_PHASE_MSM_A, MARK_WITNESS_BEGIN, MARK_WITNESS_A},
        {BACKEND_PHASE_MSM_B1, MARK_WITNESS_A, MARK_WITNESS_B1},
        {BACKEND_PHASE_MSM_L, MARK_WITNESS_B1, MARK_WITNESS_L},
        {BACKEND_PHASE_MSM_B2, MARK_WITNESS_L, MARK_WITNESS_B2},
    };
    /* Of a pass A's interval stands for all four sums over the witness. */
    for (unsigned i = 0; i < sizeof phases / sizeof phases[0]; i++)
        if (flight->marked >> phases[i].end & 1)
            tell(backend, flight, BACKEND_PHASE_ENDED, &phases[i], 0);
}
