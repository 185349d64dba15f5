/* See work.h. */
#include "gpu-worker/cuda/work.h"

#include <errno.h>

#include "gpu-worker/cuda/driver.h"
#include "gpu-worker/cuda/evaluate.h"
#include "gpu-worker/cuda/transform.h"

void work_record(struct work *work, void *event, void *stream)
{
    if (!work->error)
        work->error = driver_event_record(event, stream);
}

void work_wait(struct work *work, void *stream, void *event)
{
    if (!work->error)
        work->error = driver_stream_wait(stream, event);
}

void work_upload(struct work *work, void *device, const void *host, uint64_t bytes, void *stream)
{
    if (!work->error && bytes)
        work->error = driver_copy_to_device(device, host, bytes, stream);
}

void work_download(struct work *work, void *host, const void *device, uint64_t bytes, void *stream)
{
    if (!work->error && bytes)
        work->error = driver_copy_to_host(host, device, bytes, stream);
}

void work_zero(struct work *work, void *device, uint64_t bytes, void *stream)
{
    if (!work->error && bytes)
        work->error = driver_fill(device, 0, bytes, stream);
}

void work_ring(struct work *work, void *stream, void *first, void *second, void (*ring)(void *),
               void *context)
{
    work_wait(work, stream, first);
    if (second)
        work_wait(work, stream, second);
    if (!work->error)
        work->error = driver_call_host(stream, ring, context);
}

/* A kernel's launcher says only that it was refused; the driver may know more. */
static void launched(struct work *work, int result)
{
    if (result == 0)
        return;
    work->error = driver_last_error();
    if (work->error == DRIVER_OK)
        work->error = result == -ENOMEM ? DRIVER_ERROR_MEMORY : DRIVER_ERROR_INVALID_VALUE;
}

void work_plan(struct work *work, const struct msm_shape *shape, const void *scalars, void *plan,
               void *scratch, void *stream)
{
    if (!work->error)
        launched(work, msm_plan(shape, scalars, plan, scratch, stream));
}

void work_sum(struct work *work, const struct msm_shape *shape, bool is_g2, const void *plan,
              const void *bases, void *scratch, void *ret_point, void *stream)
{
    if (!work->error)
        launched(work, msm_sum(shape, is_g2, plan, bases, scratch, ret_point, stream));
}

void work_fill_table(struct work *work, const struct msm_shape *shape, bool is_g2, unsigned level,
                     void *bases, void *scratch, void *stream)
{
    if (!work->error)
        launched(work, msm_fill_table(shape, is_g2, level, bases, scratch, stream));
}

void work_fill_twiddles(struct work *work, enum curve_id curve, unsigned log2, void *table,
                        void *stream)
{
    if (!work->error)
        launched(work, transform_fill_table(curve, log2, table, stream));
}

void work_evaluate(struct work *work, enum curve_id curve, const struct matrix *matrix,
                   const void *witness, uint32_t variable_count, unsigned log2, void *ret_values,
                   void *scratch, void *stream)
{
    if (!work->error)
        launched(work, evaluate_rows(curve, matrix, 0, witness, variable_count, 0,
                                     (uint64_t)1 << log2, ret_values, scratch, stream));
}

void work_quotient(struct work *work, enum curve_id curve, const void *table, unsigned log2,
                   void *a, void *b, void *ret_scalars, void *stream)
{
    if (!work->error)
        launched(work, transform_quotient(curve, table, log2, a, b, ret_scalars, stream));
}
