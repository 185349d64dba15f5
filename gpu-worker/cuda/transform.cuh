/* Launches of transforms over one scalar field (transform.h), included once per field.
 *
 *   transform_pass.cuh   the mathematics, tiles and passes
 *   transform_tiny.cuh   the smallest domains, the table */
#pragma once

#include "gpu-worker/cuda/transform_internal.cuh"
#include "gpu-worker/cuda/transform_pass.cuh"
#include "gpu-worker/cuda/transform_tiny.cuh"

enum : unsigned {
    TILE_SINGLE_LOG2_MAX = 9, /* smaller domains are one tile */
};

template <class F, class C> struct transform_launch {
    using pass = struct pass<F>;

    /* ---- constants ---- */

    static F power_of_half(unsigned exponent)
    {
        F half, r = F::one();

        for (int i = 0; i < F::WORDS; i++)
            half.word[i] = C::half(i);
        for (unsigned i = 0; i < exponent; i++)
            r = r * half;
        return r;
    }

    static F to_plain(const F &a)
    {
        F integer_one = F::zero();

        integer_one.word[0] = 1;
        return a * integer_one;
    }

    static F root_of_order_log2(unsigned order_log2)
    {
        F root;

        for (int i = 0; i < F::WORDS; i++)
            root.word[i] = C::root(i);
        for (unsigned i = order_log2; i < C::TWO_ADICITY; i++)
            root = root * root;
        return root;
    }

    static cudaError_t fill_table(unsigned log2_max, uint32_t *table, cudaStream_t stream)
    {
        struct table_roots roots = {};
        uint32_t count = log2_max ? 1u << (log2_max - 1) : 1;

        for (unsigned j = 0; j < TRANSFORM_LOG2_MAX && j + 2 <= C::TWO_ADICITY; j++) {
            F root = root_of_order_log2(j + 2);

            for (int i = 0; i < F::WORDS; i++)
                roots.word[j][i] = root.word[i];
        }
        fill_twiddles<F><<<(count + TABLE_THREADS - 1) / TABLE_THREADS, TABLE_THREADS, 0, stream>>>(
            table, count, roots);
        return cudaGetLastError();
    }

    /* ---- the passes of a domain ---- */

    /* Large enough for the fewest passes and not larger, so that small domains still spread over
     * the device. */
    static unsigned tile_log2(unsigned log2)
    {
        unsigned two_passes = (log2 + TILE_COLUMNS_LOG2_MIN + 1) / 2;

        if (log2 <= TILE_SINGLE_LOG2_MAX)
            return log2;
        return two_passes < TILE_LOG2_MAX ? two_passes : TILE_LOG2_MAX;
    }

    /* Stages above the last tile's, shared out evenly over the fewest passes. */
    static unsigned column_passes(unsigned log2)
    {
        unsigned above = log2 - tile_log2(log2), each = tile_log2(log2) - TILE_COLUMNS_LOG2_MIN;

        return above ? (above + each - 1) / each : 0;
    }

    static pass column_pass(pass pass, unsigned index)
    {
        unsigned passes = column_passes(pass.log2);

        pass.tile_log2 = tile_log2(pass.log2);
        unsigned above = pass.log2 - pass.tile_log2;
        pass.depth = above * index / passes;
        pass.stages = above * (index + 1) / passes - pass.depth;
        return pass;
    }

    static pass last_pass(pass pass)
    {
        pass.stages = pass.tile_log2 = tile_log2(pass.log2);
        pass.depth = pass.log2 - pass.stages;
        return pass;
    }

    static pass make_pass(const uint32_t *table, unsigned log2, void *const *values, unsigned count)
    {
        pass pass = {};

        for (unsigned i = 0; i < count; i++)
            pass.values[i] = (uint32_t *)values[i];
        pass.table = table;
        pass.log2 = log2;
        return pass;
    }

    /* ---- launches ---- */

    static cudaError_t launch_kernel(void (*kernel)(pass), dim3 blocks, dim3 threads, size_t bytes,
                                     size_t bytes_max, pass pass, cudaStream_t stream)
    {
        void *arguments[] = {&pass};
        cudaError_t error = cudaFuncSetAttribute(
            (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes_max);

        if (error != cudaSuccess)
            return error;
        return cudaLaunchKernel((const void *)kernel, blocks, threads, arguments, bytes, stream);
    }

    template <enum pass_kind KIND, bool INVERSE>
    static cudaError_t launch(const pass &pass, unsigned count, cudaStream_t stream)
    {
        return launch_kernel(run_pass<F, KIND, INVERSE>,
                             dim3(1u << (pass.log2 - pass.tile_log2), count),
                             dim3(1u << (pass.tile_log2 - GROUP_STAGES)),
                             tile_bytes(pass.tile_log2), tile_bytes(TILE_LOG2_MAX), pass, stream);
    }

    template <enum pass_kind KIND>
    static cudaError_t launch_together(const pass &pass, cudaStream_t stream)
    {
        return launch_kernel(run_together<F, KIND>, dim3(1u << (pass.log2 - pass.tile_log2)),
                             dim3(1u << (pass.tile_log2 - GROUP_STAGES), TRANSFORM_BATCH_MAX),
                             TRANSFORM_BATCH_MAX * tile_bytes(pass.tile_log2),
                             TRANSFORM_BATCH_MAX * tile_bytes(TOGETHER_TILE_LOG2_MAX), pass,
                             stream);
    }

    /* ---- transforms ---- */

    template <bool INVERSE> static cudaError_t down(pass pass, unsigned count, cudaStream_t stream)
    {
        cudaError_t error = cudaSuccess;

        for (unsigned i = 0; i < column_passes(pass.log2) && error == cudaSuccess; i++)
            error = launch<PASS_DOWN, INVERSE>(column_pass(pass, i), count, stream);
        pass.has_scale = INVERSE;
        if (error == cudaSuccess)
            error = launch<PASS_DOWN, INVERSE>(last_pass(pass), count, stream);
        return error;
    }

    template <bool INVERSE> static cudaError_t up(pass pass, unsigned count, cudaStream_t stream)
    {
        unsigned passes = column_passes(pass.log2);

        pass.has_scale = INVERSE && passes == 0;
        cudaError_t error = launch<PASS_UP, INVERSE>(last_pass(pass), count, stream);
        for (unsigned i = passes; i-- > 0 && error == cudaSuccess;) {
            pass.has_scale = INVERSE && i == 0;
            error = launch<PASS_UP, INVERSE>(column_pass(pass, i), count, stream);
        }
        return error;
    }

    template <bool IS_UP, bool INVERSE>
    static cudaError_t tiny(pass pass, unsigned count, cudaStream_t stream)
    {
        pass.has_scale = INVERSE;
        run_tiny<F, IS_UP, INVERSE><<<count, 1, 0, stream>>>(pass);
        return cudaGetLastError();
    }

    static cudaError_t transform(bool is_up, bool inverse, const uint32_t *table, unsigned log2,
                                 void *const *values, unsigned count, cudaStream_t stream)
    {
        pass pass = make_pass(table, log2, values, count);
        auto tiny_one = is_up ? (inverse ? tiny<true, true> : tiny<true, false>)
                              : (inverse ? tiny<false, true> : tiny<false, false>);
        auto one = is_up ? (inverse ? up<true> : up<false>) : (inverse ? down<true> : down<false>);

        pass.scale = power_of_half(log2);
        return (log2 <= TINY_LOG2_MAX ? tiny_one : one)(pass, count, stream);
    }

    /* ---- the quotient ---- */

    /* All of a, b and c in every launch; the first multiplies a and b, the last finishes. */
    static cudaError_t quotient_together(const pass &pass, cudaStream_t stream)
    {
        unsigned passes = column_passes(pass.log2);
        auto at = [&](::pass<F> step, bool is_first, bool is_last) {
            step.factor_a = is_first ? pass.values[0] : NULL;
            step.factor_b = is_first ? pass.values[1] : NULL;
            step.finish_c = is_last ? pass.values[2] : NULL;
            return step;
        };
        cudaError_t error = cudaSuccess;

        for (unsigned i = 0; i < passes && error == cudaSuccess; i++)
            error = launch_together<PASS_DOWN>(at(column_pass(pass, i), i == 0, false), stream);
        if (error == cudaSuccess)
            error =
                launch_together<PASS_MIDDLE>(at(last_pass(pass), passes == 0, passes == 0), stream);
        for (unsigned i = passes; i-- > 0 && error == cudaSuccess;)
            error = launch_together<PASS_UP>(at(column_pass(pass, i), false, i == 0), stream);
        return error;
    }

    /* The first pass of c multiplies a and b as it loads; the last one of a finishes as it stores,
     * when b and c have had theirs. Between these all three go in one launch a pass. */
    static cudaError_t quotient_apart(const pass &whole, cudaStream_t stream)
    {
        unsigned passes = column_passes(whole.log2);
        pass c = whole, b_and_c = whole, a = whole;

        c.values[0] = whole.values[2];
        c.factor_a = whole.values[0];
        c.factor_b = whole.values[1];
        b_and_c.values[0] = whole.values[1];
        b_and_c.values[1] = whole.values[2];
        a.finish_b = whole.values[1];
        a.finish_c = whole.values[2];
        cudaError_t error = launch<PASS_DOWN, true>(column_pass(c, 0), 1, stream);
        if (error == cudaSuccess)
            error = launch<PASS_DOWN, true>(column_pass(whole, 0), 2, stream);
        for (unsigned i = 1; i < passes && error == cudaSuccess; i++)
            error = launch<PASS_DOWN, true>(column_pass(whole, i), 3, stream);
        if (error == cudaSuccess)
            error = launch<PASS_MIDDLE, false>(last_pass(whole), 3, stream);
        for (unsigned i = passes; i-- > 1 && error == cudaSuccess;)
            error = launch<PASS_UP, false>(column_pass(whole, i), 3, stream);
        if (error == cudaSuccess)
            error = launch<PASS_UP, false>(column_pass(b_and_c, 0), 2, stream);
        if (error == cudaSuccess)
            error = launch<PASS_UP, false>(column_pass(a, 0), 1, stream);
        return error;
    }

    static cudaError_t quotient(const uint32_t *table, unsigned log2, void *a, void *b, void *c,
                                cudaStream_t stream)
    {
        void *values[TRANSFORM_BATCH_MAX] = {a, b, c};
        pass pass = make_pass(table, log2, values, TRANSFORM_BATCH_MAX);

        pass.root = root_of_order_log2(log2 + 1);
        /* a b / n^2 - c / n: all three carry a factor n. */
        pass.scale = to_plain(power_of_half(2 * log2));
        pass.scale_c = to_plain(power_of_half(log2));
        if (log2 <= TINY_LOG2_MAX) {
            run_tiny_quotient<F><<<1, 1, 0, stream>>>(pass);
            return cudaGetLastError();
        }
        if (tile_log2(log2) <= TOGETHER_TILE_LOG2_MAX)
            return quotient_together(pass, stream);
        return quotient_apart(pass, stream);
    }
};

#define TRANSFORM_FIELD(name, F, C)                                                                \
    const struct transform_field name = {C::TWO_ADICITY, transform_launch<F, C>::fill_table,       \
                                         transform_launch<F, C>::transform,                        \
                                         transform_launch<F, C>::quotient};
