/* See key.h. */
#include "gpu-worker/cuda/key.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu-worker/cuda/cuda.h"
#include "gpu-worker/cuda/errors.h"
#include "runtime/check.h"
#include "runtime/clock.h"

enum {
    /* Uploads of partitions go between the pieces. */
    KEY_PIECE_BYTES = 64 << 20,
    /* Copies of unregistered memory hold the calling thread. */
    KEY_PIECE_BYTES_UNPINNED = 4 << 20,
    /* Points of tables enqueued at a time, some milliseconds; one table at least. */
    KEY_FILL_POINTS = 1 << 22,
};

static void key_fail(struct backend *backend, struct key *key, const struct work *work);
static void key_loaded(struct backend *backend, struct key *key);

/* Registration. */

bool key_image(const struct prepared *prepared, const void **ret_memory, uint64_t *ret_bytes)
{
    const void *const sections[] = {prepared->alpha_g1,
                                    prepared->ic,
                                    prepared->a,
                                    prepared->b1,
                                    prepared->b2,
                                    prepared->l,
                                    prepared->h,
                                    prepared->matrix_a.row_begin,
                                    prepared->matrix_a.column,
                                    prepared->matrix_a.coefficient,
                                    prepared->matrix_b.row_begin,
                                    prepared->matrix_b.column,
                                    prepared->matrix_b.coefficient,
                                    prepared->matrix_a.dictionary};
    uintptr_t first = UINTPTR_MAX, last = 0;
    if (prepared->image_bytes == 0)
        return false;
    for (unsigned i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const uintptr_t at = (uintptr_t)sections[i];
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    /* The header lies in front of the first section. */
    const uintptr_t begin = first - PREPARED_HEADER_BYTES;
    if (begin % PREPARED_ALIGN || last - begin >= prepared->image_bytes)
        return false;
    *ret_memory = (const void *)begin;
    *ret_bytes = prepared->image_bytes;
    return true;
}

/* Returns whether the load goes on. */
static bool key_on_registered(struct backend *backend, struct key *key)
{
    char text[BACKEND_TEXT_BYTES];
    const int error = key->job.result;
    if (!key->job.memory)
        return true; /* not one image: small, copied as it is */
    key->is_registered = error == DRIVER_OK;
    if (key->is_registered)
        return true;
    const struct work work = {error, "registering the key's memory"};
    const enum backend_fault fault = engine_fault(backend, &work, text);
    if (backend->requires_pinned || fault == BACKEND_FAULT_STICKY) {
        key->fault = BACKEND_FAULT_MEMORY;
        snprintf(key->text, sizeof key->text,
                 "%.150s; raise LimitMEMLOCK=, or set [GPU] RequirePinned=no", text);
        return false;
    }
    key->is_unpinned = true;
    snprintf(key->unpinned_text, sizeof key->unpinned_text,
             "; read by ordinary copies, several times slower: %.60s (%d)",
             driver_error_name(error), error);
    return true;
}

/* Placing. */

/* The workspace that the loaded keys need. */
static struct workspace key_workspace_needed(struct backend *backend)
{
    struct workspace needed = {0};
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_KEYS_MAX; i++)
        if (backend->keys[i] && backend->keys[i]->state == KEY_LOADED)
            needed = workspace_max(&needed, &backend->keys[i]->plan.workspace);
    pthread_mutex_unlock(&backend->mutex);
    return needed;
}

static bool key_is_quiet(struct backend *backend)
{
    bool is_quiet = true;
    pthread_mutex_lock(&backend->mutex);
    for (unsigned i = 0; i < BACKEND_PARTITIONS_MAX; i++) {
        const enum flight_state state = backend->flights[i].state;
        is_quiet &=
            state != FLIGHT_UPLOADING && state != FLIGHT_UPLOADED && state != FLIGHT_RUNNING;
    }
    pthread_mutex_unlock(&backend->mutex);
    return is_quiet;
}

static void key_point_matrices(struct key *key)
{
    const struct matrix *const from[] = {&key->prepared->matrix_a, &key->prepared->matrix_b};
    for (unsigned i = 0; i < PLAN_MATRIX_COUNT; i++)
        key->matrices[i] = (struct matrix){
            .row_count = from[i]->row_count,
            .entry_count = from[i]->entry_count,
            .row_begin = (const uint64_t *)(key->memory + key->plan.rows_off[i]),
            .column = (const uint32_t *)(key->memory + key->plan.columns_off[i]),
            .coefficient = (const uint32_t *)(key->memory + key->plan.coefficients_off[i]),
            .dictionary = (const uint64_t *)(key->memory + key->plan.dictionary_off),
            .dictionary_count = from[i]->dictionary_count,
        };
}

static void key_add_copy(struct key *key, uint64_t to_off, const void *from, uint64_t bytes)
{
    CHECK(key->copy_count < KEY_COPIES_MAX);
    if (bytes)
        key->copies[key->copy_count++] = (struct key_copy){to_off, from, bytes};
}

static void key_list_copies(struct key *key)
{
    const struct prepared *prepared = key->prepared;
    const struct matrix *const matrices[] = {&prepared->matrix_a, &prepared->matrix_b};
    const void *const points[] = {prepared->a, prepared->b1, prepared->b2, prepared->l,
                                  prepared->h};
    const uint64_t g1 = prepared->curve->g1_bytes, g2 = prepared->curve->g2_bytes;
    const uint64_t variables = prepared->shape.variable_count;
    const uint64_t front = prepared->shape.public_count + (uint64_t)1;
    const uint64_t bytes[] = {variables * g1, variables * g1, variables * g2,
                              prepared->l_count * g1, prepared->h_count * g1};
    for (enum sums_point i = SUMS_A; i < SUMS_COUNT; i++)
        if (key->plan.is_resident[i])
            key_add_copy(key, key->plan.bases_off[i] + (i == SUMS_L ? front * g1 : 0), points[i],
                         bytes[i]);
    for (unsigned i = 0; i < PLAN_MATRIX_COUNT; i++) {
        const struct matrix *matrix = matrices[i];
        key_add_copy(key, key->plan.rows_off[i], matrix->row_begin,
                     (matrix->row_count + 1) * sizeof(uint64_t));
        key_add_copy(key, key->plan.columns_off[i], matrix->column,
                     matrix->entry_count * sizeof(uint32_t));
        key_add_copy(key, key->plan.coefficients_off[i], matrix->coefficient,
                     matrix->entry_count * sizeof(uint32_t));
    }
    key_add_copy(key, key->plan.dictionary_off, prepared->matrix_a.dictionary,
                 prepared->matrix_a.dictionary_count * (uint64_t)CURVE_FR_BYTES);
}

/* The plan tried the same steps on a copy of the arena. */
static void key_take_memory(struct backend *backend, struct key *key,
                            const struct workspace *workspace)
{
    void *memory = NULL;
    if (memcmp(workspace, &backend->workspace, sizeof *workspace) != 0) {
        struct workspace_layout layout;
        workspace_layout(workspace, &layout);
        arena_give(&backend->arena, backend->workspace_memory);
        CHECK(arena_take_high(&backend->arena, layout.bytes, &memory) == 0);
        backend->workspace = *workspace;
        backend->workspace_memory = memory;
        backend->layout = layout;
    }
    CHECK(arena_take(&backend->arena, key->plan.key_bytes, &memory) == 0);
    key->memory = memory;
    if (key->plan.load_bytes)
        CHECK(arena_take(&backend->arena, key->plan.load_bytes, &key->load_memory) == 0);
}

/* Counts that do not belong together would make the device read or write beyond an array. */
static bool key_is_consistent(const struct prepared *prepared)
{
    const struct prepared_shape *shape = &prepared->shape;
    const uint64_t domain = (uint64_t)1 << shape->domain_log2;
    return shape->variable_count > 0 &&
           prepared->l_count + shape->public_count + 1 == shape->variable_count &&
           prepared->h_count == domain && prepared->matrix_a.row_count <= domain &&
           prepared->matrix_b.row_count <= domain &&
           prepared->matrix_a.dictionary == prepared->matrix_b.dictionary;
}

static bool key_place(struct backend *backend, struct key *key)
{
    if (key->prepared->layout != PREPARED_LAYOUT_SNARKJS) {
        key->fault = BACKEND_FAULT_INPUT;
        snprintf(key->text, sizeof key->text,
                 "the key is a bellman one, which the CUDA backend cannot prove with yet: use "
                 "[GPU] Backend=cpu for its circuit");
        key->step = KEY_STEP_UNDO;
        return true;
    }
    if (key->prepared->shape.domain_log2 > 31 || !key_is_consistent(key->prepared)) {
        key->fault = BACKEND_FAULT_INPUT;
        snprintf(key->text, sizeof key->text,
                 "the key's counts do not belong together; prepare the key again");
        key->step = KEY_STEP_UNDO;
        return true;
    }
    const struct workspace needed = key_workspace_needed(backend);
    const int error =
        plan_make(key->prepared, &backend->arena, &needed, backend->workspace_memory, &key->plan);
    if (error < 0) {
        key->fault = error == -EINVAL ? BACKEND_FAULT_INPUT : BACKEND_FAULT_MEMORY;
        memcpy(key->text, key->plan.text, sizeof key->text);
        key->step = KEY_STEP_UNDO;
        return true;
    }
    const struct workspace most = workspace_max(&needed, &key->plan.workspace);
    if (memcmp(&most, &backend->workspace, sizeof most) != 0 && !key_is_quiet(backend))
        return false; /* key_wants_quiet */
    key_take_memory(backend, key, &most);
    key_point_matrices(key);
    key_list_copies(key);
    key->step = KEY_STEP_COPY;
    return true;
}

bool key_wants_quiet(const struct key *key)
{
    return key->step == KEY_STEP_PLACE;
}

/* Copying. */

static void key_copy_piece(struct backend *backend, struct key *key, unsigned piece,
                           struct work *work)
{
    const struct key_copy *copy = &key->copies[key->copy_index];
    const uint64_t most = key->is_registered ? KEY_PIECE_BYTES : KEY_PIECE_BYTES_UNPINNED;
    const uint64_t left = copy->bytes - key->copied_bytes;
    const uint64_t bytes = left < most ? left : most;
    void *stream = backend->streams[STREAM_LOAD];
    work_on(work, "uploading a key");
    work_upload(work, key->memory + copy->to_off + key->copied_bytes,
                (const uint8_t *)copy->from + key->copied_bytes, bytes, stream);
    work_record(work, backend->piece_events[piece], stream);
    work_ring(work, backend->streams[STREAM_BELL_LOAD], backend->piece_events[piece], NULL,
              engine_ring, backend);
    key->is_piece_pending[piece] = true;
    key->copied_bytes += bytes;
    if (key->copied_bytes == copy->bytes) {
        key->copied_bytes = 0;
        key->copy_index++;
    }
}

/* After the last piece: what the device makes itself. */
static void key_fill_begin(struct backend *backend, struct key *key, struct work *work)
{
    const struct plan *plan = &key->plan;
    const uint64_t g1 = key->prepared->curve->g1_bytes;
    void *stream = backend->streams[STREAM_LOAD];
    work_on(work, "filling a key's tables");
    if (plan->is_resident[SUMS_L])
        work_zero(work, key_bases(key, SUMS_L), (plan->public_count + (uint64_t)1) * g1, stream);
    work_fill_twiddles(work, plan->curve, plan->domain_log2, key->memory + plan->twiddles_off,
                       stream);
    key->fill_point = SUMS_A;
    key->fill_level = 1;
}

/* Enqueues the next tables: some at a time, for a stream that is full would hold this thread, and
 * with it the partitions of other keys. False: all are filled. */
static bool key_fill_more(struct backend *backend, struct key *key, struct work *work)
{
    const struct plan *plan = &key->plan;
    uint64_t points = 0;
    work_on(work, "filling a key's tables");
    while (key->fill_point < SUMS_COUNT && points < KEY_FILL_POINTS) {
        const enum sums_point point = key->fill_point;
        const struct msm_shape *shape = point == SUMS_H ? &plan->quotient : &plan->witness;
        if (!plan->is_resident[point] || key->fill_level >= shape->levels) {
            key->fill_point++;
            key->fill_level = 1;
            continue;
        }
        work_fill_table(work, shape, point == SUMS_B2, key->fill_level++, key_bases(key, point),
                        key->load_memory, backend->streams[STREAM_LOAD]);
        points += shape->count;
    }
    return points > 0;
}

static void key_fill_ring(struct backend *backend, struct work *work)
{
    work_record(work, backend->load_event, backend->streams[STREAM_LOAD]);
    work_ring(work, backend->streams[STREAM_BELL_LOAD], backend->load_event, NULL, engine_ring,
              backend);
}

static bool key_is_stopping(struct backend *backend)
{
    pthread_mutex_lock(&backend->mutex);
    const bool is_stopping = backend->is_stopping;
    pthread_mutex_unlock(&backend->mutex);
    return is_stopping;
}

static bool key_copy(struct backend *backend, struct key *key)
{
    struct work work = {.what = "uploading a key"};
    bool did = false, is_pending = false;
    if (key_is_stopping(backend)) {
        key_fail(backend, key, &work);
        return true;
    }
    for (unsigned i = 0; i < KEY_PIECES; i++) {
        if (key->is_piece_pending[i] && engine_has_happened(backend, backend->piece_events[i]))
            key->is_piece_pending[i] = false;
        if (!key->is_piece_pending[i] && key->copy_index < key->copy_count) {
            key_copy_piece(backend, key, i, &work);
            did = true;
        }
        is_pending |= key->is_piece_pending[i];
    }
    if (!work.error && !is_pending) {
        key->copied_ns = clock_now_ns();
        key_fill_begin(backend, key, &work);
        key_fill_ring(backend, &work);
        key->step = KEY_STEP_FILL;
        did = true;
    }
    if (work.error)
        key_fail(backend, key, &work);
    return did;
}

static bool key_fill(struct backend *backend, struct key *key, bool *ret_is_over)
{
    struct work work = {.what = "filling a key's tables"};
    if (!engine_has_happened(backend, backend->load_event))
        return false;
    if (key_is_stopping(backend)) {
        key_fail(backend, key, &work);
    } else if (key_fill_more(backend, key, &work)) {
        key_fill_ring(backend, &work);
        if (work.error)
            key_fail(backend, key, &work);
    } else {
        key_loaded(backend, key);
        *ret_is_over = true;
    }
    return true;
}

/* Ends. */

/* Waits for what is enqueued, then undoes. */
static void key_fail(struct backend *backend, struct key *key, const struct work *work)
{
    struct work end = {.what = "giving up a key"};
    key->fault = engine_fault(backend, work, key->text);
    work_record(&end, backend->load_event, backend->streams[STREAM_LOAD]);
    if (end.error)
        engine_lose(backend, end.error, end.what);
    key->step = KEY_STEP_UNDO;
}

static void key_post(struct backend *backend, const struct backend_event *event)
{
    pthread_mutex_lock(&backend->mutex);
    outbox_post(&backend->outbox, event);
    pthread_mutex_unlock(&backend->mutex);
}

static void key_loaded(struct backend *backend, struct key *key)
{
    struct backend_event event = {
        .kind = BACKEND_KEY_LOADED, .id = key->id, .is_unpinned = key->is_unpinned};
    char took[64];
    snprintf(took, sizeof took, "; ms to register %.0f, copy %.0f, fill tables %.0f",
             (double)(key->registered_ns - key->begin_ns) / 1e6,
             (double)(key->copied_ns - key->registered_ns) / 1e6,
             (double)(clock_now_ns() - key->copied_ns) / 1e6);
    snprintf(event.text, sizeof event.text, "%.*s%s%s",
             (int)(sizeof event.text - 1 - strlen(took) - strlen(key->unpinned_text)),
             key->plan.text, took, key->unpinned_text);
    arena_give(&backend->arena, key->load_memory);
    key->load_memory = NULL;
    pthread_mutex_lock(&backend->mutex);
    key->state = KEY_LOADED;
    outbox_post(&backend->outbox, &event);
    pthread_mutex_unlock(&backend->mutex);
}

static void key_on_job(struct registrar_job *job, void *context)
{
    struct backend *backend = context;
    struct key *key = (struct key *)((char *)job - offsetof(struct key, job));
    if (job->is_release && job->result != DRIVER_OK)
        engine_lose(backend, job->result, "letting go of a key");
    pthread_mutex_lock(&backend->mutex);
    key->is_job_done = true;
    pthread_mutex_unlock(&backend->mutex);
    engine_ring(backend);
}

void key_register(struct backend *backend, struct key *key)
{
    key->begin_ns = clock_now_ns();
    key->job.done = key_on_job;
    key->job.context = backend;
    if (key_image(key->prepared, &key->job.memory, &key->job.bytes))
        registrar_submit(backend->registrar, &key->job);
    else
        key_on_job(&key->job, backend);
}

static bool key_job_is_done(struct backend *backend, struct key *key)
{
    pthread_mutex_lock(&backend->mutex);
    const bool is_done = key->is_job_done;
    pthread_mutex_unlock(&backend->mutex);
    return is_done;
}

/* Gives the device memory back and has the host memory let go. */
static void key_release(struct backend *backend, struct key *key)
{
    arena_give(&backend->arena, key->memory);
    arena_give(&backend->arena, key->load_memory);
    key->memory = NULL;
    key->load_memory = NULL;
    key->step = KEY_STEP_RELEASE;
    if (!key->is_registered)
        return;
    pthread_mutex_lock(&backend->mutex);
    key->is_job_done = false;
    pthread_mutex_unlock(&backend->mutex);
    key->job.is_release = true;
    registrar_submit(backend->registrar, &key->job);
}

/* The last event, of a drop or of a refused load. */
static bool key_end(struct backend *backend, struct key *key, bool *ret_is_over)
{
    struct backend_event event = {.kind = BACKEND_KEY_DROPPED, .id = key->id};
    if (!key_job_is_done(backend, key))
        return false;
    if (key->fault != BACKEND_FAULT_NONE) {
        event.kind = BACKEND_KEY_REFUSED;
        event.fault = key->fault;
        memcpy(event.text, key->text, sizeof event.text);
    }
    pthread_mutex_lock(&backend->mutex);
    backend->keys[key->id] = NULL;
    pthread_mutex_unlock(&backend->mutex);
    free(key);
    *ret_is_over = true;
    key_post(backend, &event);
    return true;
}

bool key_load(struct backend *backend, struct key *key, bool *ret_is_over)
{
    *ret_is_over = false;
    switch (key->step) {
    case KEY_STEP_REGISTER:
        if (!key_job_is_done(backend, key))
            return false;
        key->registered_ns = clock_now_ns();
        key->step = key_on_registered(backend, key) ? KEY_STEP_PLACE : KEY_STEP_UNDO;
        return true;
    case KEY_STEP_PLACE:
        return key_place(backend, key);
    case KEY_STEP_COPY:
        return key_copy(backend, key);
    case KEY_STEP_FILL:
        return key_fill(backend, key, ret_is_over);
    case KEY_STEP_UNDO:
        if (key->memory && !engine_has_happened(backend, backend->load_event))
            return false;
        key_release(backend, key);
        return true;
    case KEY_STEP_RELEASE:
        return key_end(backend, key, ret_is_over);
    }
    return false;
}

bool key_drop(struct backend *backend, struct key *key, bool *ret_is_over)
{
    *ret_is_over = false;
    if (key->step != KEY_STEP_RELEASE) {
        key_release(backend, key);
        return true;
    }
    return key_end(backend, key, ret_is_over);
}
