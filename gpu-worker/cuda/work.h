/* Enqueueing many things with one look at the error afterwards: after the first failure the rest is
 * left out. Called by flight.c and key.c on the driver thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu-worker/cuda/msm.h"
#include "groth16/key/matrix.h"

struct work {
    int error;        /* DRIVER_OK, or the first driver error */
    const char *what; /* failed: "uploading the witness" */
};

/* `what` of the calls that follow; a gerund for errors_explain(). */
static inline void work_on(struct work *work, const char *what)
{
    if (!work->error)
        work->what = what;
}

void work_record(struct work *work, void *event, void *stream);
void work_wait(struct work *work, void *stream, void *event);
void work_upload(struct work *work, void *device, const void *host, uint64_t bytes, void *stream);
void work_download(struct work *work, void *host, const void *device, uint64_t bytes, void *stream);
void work_zero(struct work *work, void *device, uint64_t bytes, void *stream);
/* Calls a bell when both events have happened; the second may be NULL. */
void work_ring(struct work *work, void *stream, void *first, void *second, void (*ring)(void *),
               void *context);

void work_plan(struct work *work, const struct msm_shape *shape, const void *scalars, void *plan,
               void *scratch, void *stream);
void work_sum(struct work *work, const struct msm_shape *shape, bool is_g2, const void *plan,
              const void *bases, void *scratch, void *ret_point, void *stream);
void work_fill_table(struct work *work, const struct msm_shape *shape, bool is_g2, unsigned level,
                     void *bases, void *scratch, void *stream);
void work_fill_twiddles(struct work *work, enum curve_id curve, unsigned log2, void *table,
                        void *stream);
/* All rows of a matrix, up to 2^log2; those past its end are zero. */
void work_evaluate(struct work *work, enum curve_id curve, const struct matrix *matrix,
                   const void *witness, uint32_t variable_count, unsigned log2, void *ret_values,
                   void *scratch, void *stream);
void work_quotient(struct work *work, enum curve_id curve, const void *table, unsigned log2,
                   void *a, void *b, void *ret_scalars, void *stream);
