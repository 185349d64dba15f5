/* Who adds two points: one holder of the point (a thread, or a pair for G2), or a team of four such
 * holders that all keep the same points and share out the products of an addition. A team does more
 * work in all but answers three times sooner: for the ends of reductions, where most of the device
 * is idle and only latency counts. Same formulas as point.cuh. */
#pragma once

#include "gpu-worker/cuda/point.cuh"

template <class F> struct solo {
    using field_type = F;
    static constexpr int THREADS = F::LANES;

    static __device__ __forceinline__ void add(xyzz<F> &a, const xyzz<F> &b)
    {
        a.add(b);
    }

    static __device__ __forceinline__ void twice(xyzz<F> &a)
    {
        a.twice();
    }

    static __device__ __forceinline__ bool is_writer()
    {
        return true;
    }
};

template <class F> struct team {
    using field_type = F;
    static constexpr int MEMBERS = 4;
    static constexpr int THREADS = MEMBERS * F::LANES;

    static __device__ __forceinline__ int member()
    {
        return threadIdx.x / F::LANES % MEMBERS;
    }

    static __device__ __forceinline__ bool is_writer()
    {
        return member() == 0;
    }

    static __device__ __forceinline__ uint32_t mask()
    {
        return ((1u << THREADS) - 1) << (threadIdx.x % 32 / THREADS * THREADS);
    }

    static __device__ __forceinline__ F choose(const F &a, const F &b, const F &c, const F &d)
    {
        return F::select(member() & 2, F::select(member() & 1, d, c),
                         F::select(member() & 1, b, a));
    }

    /* What the member `from` has. */
    static __device__ __forceinline__ F get(const F &mine, int from)
    {
        return mine.from_thread(mask(), threadIdx.x % 32 / THREADS * THREADS + from * F::LANES);
    }

    static __device__ __noinline__ void twice(xyzz<F> &a)
    {
        F u = a.y + a.y;
        F one = choose(u, a.x, u, u).squared();
        F v = get(one, 0), x2 = get(one, 1);
        F m = x2 + x2 + x2;
        F two = choose(u, a.x, m, a.zz) * choose(v, v, m, v);
        F w = get(two, 0), s = get(two, 1);

        a.x = get(two, 2) - s - s;
        a.zz = get(two, 3);
        F three = choose(m, w, w, w) * choose(s - a.x, a.y, a.zzz, w);
        a.y = get(three, 0) - get(three, 1);
        a.zzz = get(three, 2);
    }

    static __device__ __noinline__ void add(xyzz<F> &a, const xyzz<F> &b)
    {
        if (b.is_infinity())
            return;
        if (a.is_infinity()) {
            a = b;
            return;
        }
        F one = choose(a.x, a.y, b.x, b.y) * choose(b.zz, b.zzz, a.zz, a.zzz);
        F u = get(one, 0), s = get(one, 1);
        F d = get(one, 2) - u, r = get(one, 3) - s;
        if (d.is_zero()) {
            if (r.is_zero())
                twice(a);
            else
                a = xyzz<F>::infinity();
            return;
        }
        F two = choose(d, r, a.zz, a.zzz) * choose(d, r, b.zz, b.zzz);
        F dd = get(two, 0), zzz = get(two, 3);
        F three = choose(d, u, get(two, 2), d) * dd;
        F ddd = get(three, 0), q = get(three, 1);

        a.x = get(two, 1) - ddd - q - q;
        a.zz = get(three, 2);
        F four = choose(r, s, zzz, zzz) * choose(q - a.x, ddd, ddd, ddd);
        a.y = get(four, 0) - get(four, 1);
        a.zzz = get(four, 2);
    }
};
