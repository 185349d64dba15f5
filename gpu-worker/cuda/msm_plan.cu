/* Shapes and plans of sums (msm.h), and the way to the group that does the sum. */

#include <cub/device/device_radix_sort.cuh>

#include "gpu-worker/cuda/constants.cuh"
#include "gpu-worker/cuda/msm_internal.cuh"

enum {
    DIGITS_THREADS = 256,
    SCALAR_WORDS = 8,
};

/* ---- shapes ---- */

static unsigned scalar_bits(enum curve_id curve)
{
    return curve == CURVE_BN254 ? bn254_fr_constants::BITS : bls12_381_fr_constants::BITS;
}

/* In additions of the walk, fitted to measurements on an H200: what a bucket and what a busy worker
 * cost when buckets are weighed, and what a window costs when all else is small. */
static double cost(const struct msm_shape *shape)
{
    double buckets = (double)shape->sets * shape->set_buckets;
    double workers = 512.0 * shape->multiprocessors;

    return (double)shape->windows * shape->count + 4 * buckets +
           16 * (buckets < workers ? buckets : workers) + 2e4 * shape->windows;
}

static void derive(struct msm_shape *shape, unsigned levels_max, unsigned window_bits)
{
    unsigned bits = scalar_bits(shape->curve);

    shape->window_bits = window_bits;
    /* s or r - s is below 2^(bits - 1); one bit more takes the last carry. */
    shape->windows = (bits + window_bits - 1) / window_bits;
    shape->levels = levels_max < shape->windows ? levels_max : shape->windows;
    shape->sets = (shape->windows + shape->levels - 1) / shape->levels;
    shape->levels = (shape->windows + shape->sets - 1) / shape->sets;
    shape->set_buckets = 1u << (window_bits - 1);
}

int msm_shape_init(struct msm_shape *ret_shape, enum curve_id curve, uint32_t count,
                   unsigned levels_max, unsigned window_bits)
{
    struct msm_shape shape = {}, best = {};
    int device, multiprocessors;

    if ((curve != CURVE_BN254 && curve != CURVE_BLS12_381) || count == 0 || levels_max == 0 ||
        (window_bits && (window_bits < MSM_WINDOW_BITS_MIN || window_bits > MSM_WINDOW_BITS_MAX)))
        return -EINVAL;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
            cudaSuccess)
        return -ENODEV;
    shape.curve = curve;
    shape.count = count;
    shape.multiprocessors = (unsigned)multiprocessors;
    shape.batch_slots = MSM_BATCH_SLOTS;
    for (unsigned bits = MSM_WINDOW_BITS_MIN; bits <= MSM_WINDOW_BITS_MAX; bits++) {
        if (window_bits && bits != window_bits)
            continue;
        derive(&shape, levels_max, bits);
        if (best.count == 0 || cost(&shape) < cost(&best))
            best = shape;
    }
    if ((uint64_t)best.count * best.levels > 1u << 31 ||
        (uint64_t)best.count * best.windows >= MSM_KEY_NONE)
        return -EINVAL;
    *ret_shape = best;
    return 0;
}

static const struct msm_group *group_of(const struct msm_shape *shape, bool is_g2)
{
    if (shape->curve == CURVE_BN254)
        return is_g2 ? &msm_bn254_g2 : &msm_bn254_g1;
    return is_g2 ? &msm_bls12_381_g2 : &msm_bls12_381_g1;
}

size_t msm_bases_bytes(const struct msm_shape *shape, bool is_g2)
{
    size_t fp_bytes = shape->curve == CURVE_BN254 ? 32 : 48;

    return (is_g2 ? 4 : 2) * fp_bytes * shape->levels * (size_t)shape->count;
}

size_t msm_plan_bytes(const struct msm_shape *shape)
{
    return 256 + 2 * msm_align(4 * (size_t)msm_entries_max(shape));
}

static unsigned key_bits(const struct msm_shape *shape)
{
    unsigned bits = 0;

    /* One key more than there are buckets: all ones stands for none. */
    while ((uint64_t)shape->sets * shape->set_buckets >> bits)
        bits++;
    return bits;
}

static cudaError_t sort(const struct msm_shape *shape, void *temporary, size_t *bytes,
                        const uint32_t *keys, const uint32_t *values, struct msm_plan_view *view,
                        cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys, view->keys, values,
                                           view->values, msm_entries_max(shape), 0,
                                           (int)key_bits(shape), stream);
}

size_t msm_plan_scratch_bytes(const struct msm_shape *shape)
{
    struct msm_plan_view none = {};
    size_t bytes = 0;

    if (sort(shape, nullptr, &bytes, nullptr, nullptr, &none, nullptr) != cudaSuccess)
        return 0;
    return 2 * msm_align(4 * (size_t)msm_entries_max(shape)) + msm_align(bytes);
}

/* ---- plans ---- */

struct modulus {
    uint32_t word[SCALAR_WORDS];
};

template <class C> static struct modulus modulus_of()
{
    struct modulus m;

    for (int i = 0; i < SCALAR_WORDS; i++)
        m.word[i] = C::modulus(i);
    return m;
}

/* s becomes r - s when that is smaller. Plain integers. */
static __device__ __forceinline__ bool make_small(uint32_t *s, const struct modulus &r)
{
    uint32_t t[SCALAR_WORDS];
    uint64_t borrow = 0;
    bool is_less = false;

#pragma unroll
    for (int i = 0; i < SCALAR_WORDS; i++) {
        uint64_t d = (uint64_t)r.word[i] - s[i] - borrow;

        t[i] = (uint32_t)d;
        borrow = d >> 63;
        is_less = t[i] < s[i] || (t[i] == s[i] && is_less);
    }
#pragma unroll
    for (int i = 0; i < SCALAR_WORDS; i++)
        s[i] = is_less ? t[i] : s[i];
    return is_less;
}

/* One thread a scalar: its digits, window-major, each as bucket and index in the base array. */
__global__ void __launch_bounds__(DIGITS_THREADS)
    make_digits(struct msm_shape shape, struct modulus r, const uint4 *scalars, uint32_t *keys,
                uint32_t *values, uint32_t *count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, nonzero = 0;

    if (i < shape.count) {
        uint4 low = scalars[2 * (size_t)i], high = scalars[2 * (size_t)i + 1];
        uint32_t s[SCALAR_WORDS] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        bool is_minus = make_small(s, r);
        uint32_t carry = 0, mask = (1u << shape.window_bits) - 1;
        uint32_t set = 0, level = 0;

        for (unsigned w = 0; w < shape.windows; w++) {
            uint32_t digit = (s[0] & mask) + carry;
            bool is_negative = digit > shape.set_buckets;

            carry = is_negative;
            digit = is_negative ? mask + 1 - digit : digit;
            size_t at = (size_t)w * shape.count + i;
            keys[at] = digit ? set * shape.set_buckets + digit - 1 : MSM_KEY_NONE;
            values[at] =
                (level * shape.count + i) | (is_negative != is_minus ? MSM_VALUE_NEGATIVE : 0);
            nonzero += digit != 0;
#pragma unroll
            for (int j = 0; j < SCALAR_WORDS - 1; j++)
                s[j] = __funnelshift_r(s[j], s[j + 1], shape.window_bits);
            s[SCALAR_WORDS - 1] >>= shape.window_bits;
            if (++set == shape.sets) {
                set = 0;
                level++;
            }
        }
    }
    nonzero = __reduce_add_sync(0xffffffffu, nonzero);
    if (threadIdx.x % 32 == 0 && nonzero)
        atomicAdd(count, nonzero);
}

int msm_plan(const struct msm_shape *shape, const void *scalars, void *ret_plan, void *scratch,
             void *stream_pointer)
{
    cudaStream_t stream = (cudaStream_t)stream_pointer;
    struct msm_plan_view view = msm_plan_view(shape, ret_plan);
    size_t list_bytes = msm_align(4 * (size_t)msm_entries_max(shape));
    uint32_t *keys = (uint32_t *)scratch;
    uint32_t *values = (uint32_t *)((char *)scratch + list_bytes);
    size_t sort_bytes = msm_plan_scratch_bytes(shape) - 2 * list_bytes;
    struct modulus r = shape->curve == CURVE_BN254 ? modulus_of<bn254_fr_constants>()
                                                   : modulus_of<bls12_381_fr_constants>();
    cudaError_t error = cudaMemsetAsync(view.count, 0, 4, stream);

    if (error != cudaSuccess)
        return msm_errno(error);
    make_digits<<<(shape->count + DIGITS_THREADS - 1) / DIGITS_THREADS, DIGITS_THREADS, 0,
                  stream>>>(*shape, r, (const uint4 *)scalars, keys, values, view.count);
    error = cudaGetLastError();
    if (error == cudaSuccess)
        error =
            sort(shape, (char *)scratch + 2 * list_bytes, &sort_bytes, keys, values, &view, stream);
    return msm_errno(error);
}

/* ---- sums ---- */

size_t msm_sum_scratch_bytes(const struct msm_shape *shape, bool is_g2)
{
    return group_of(shape, is_g2)->scratch_bytes(shape);
}

int msm_sum(const struct msm_shape *shape, bool is_g2, const void *plan, const void *bases,
            void *scratch, void *ret_point, void *stream)
{
    struct msm_plan_view view = msm_plan_view(shape, (void *)plan);

    return msm_errno(group_of(shape, is_g2)
                         ->sum(shape, &view, (const uint32_t *)bases, (char *)scratch,
                               (uint32_t *)ret_point, (cudaStream_t)stream));
}

int msm_fill_table(const struct msm_shape *shape, bool is_g2, unsigned level, void *bases,
                   void *scratch, void *stream)
{
    if (level == 0 || level >= shape->levels)
        return -EINVAL;
    return msm_errno(
        group_of(shape, is_g2)
            ->fill_table(shape, level, (uint32_t *)bases, (char *)scratch, (cudaStream_t)stream));
}
