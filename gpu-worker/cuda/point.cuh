/* Points of y^2 = x^3 + b in affine and XYZZ coordinates (x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2)
 * over a field F of one or two threads an element. Formulas: explicit-formulas database (Bernstein,
 * Lange), short Weierstrass "xyzz", a = 0: madd-2008-s, add-2008-s, dbl-2008-s-1. Infinity is ZZ =
 * 0 here and all zero in affine form, as in curve.h. Every case is complete. */
#pragma once

#include "gpu-worker/cuda/field.cuh"
#include "gpu-worker/cuda/pair.cuh"

template <class F> struct affine {
    static constexpr int POINT_WORDS = 2 * F::ELEMENT_WORDS;

    F x, y;

    static __device__ __forceinline__ affine load(const uint32_t *at)
    {
        affine r;

        r.x = F::load(at);
        r.y = F::load(at + F::ELEMENT_WORDS);
        return r;
    }

    __device__ __forceinline__ void store(uint32_t *at) const
    {
        x.store(at);
        y.store(at + F::ELEMENT_WORDS);
    }

    __device__ __forceinline__ bool is_infinity() const
    {
        bool x_zero = x.is_zero(), y_zero = y.is_zero();

        return x_zero && y_zero;
    }
};

template <class F> struct xyzz {
    static constexpr int POINT_WORDS = 4 * F::ELEMENT_WORDS;

    F x, y, zz, zzz;

    static __device__ __forceinline__ xyzz infinity()
    {
        xyzz r;

        r.x = r.y = r.zz = r.zzz = F::zero();
        return r;
    }

    static __device__ __forceinline__ xyzz from(const affine<F> &p)
    {
        xyzz r;

        r.x = p.x;
        r.y = p.y;
        r.zz = r.zzz = F::one();
        return r;
    }

    static __device__ __forceinline__ xyzz load(const uint32_t *at)
    {
        xyzz r;

        r.x = F::load(at);
        r.y = F::load(at + F::ELEMENT_WORDS);
        r.zz = F::load(at + 2 * F::ELEMENT_WORDS);
        r.zzz = F::load(at + 3 * F::ELEMENT_WORDS);
        return r;
    }

    __device__ __forceinline__ void store(uint32_t *at) const
    {
        x.store(at);
        y.store(at + F::ELEMENT_WORDS);
        zz.store(at + 2 * F::ELEMENT_WORDS);
        zzz.store(at + 3 * F::ELEMENT_WORDS);
    }

    __device__ __forceinline__ bool is_infinity() const
    {
        return zz.is_zero();
    }

    /* 6M + 3S. Twice a point with y = 0 (none in groups of odd order) gives ZZ = 0 as it must. */
    __device__ __noinline__ void twice()
    {
        F u = y + y;
        F v = u.squared();
        F w = u * v;
        F s = x * v;
        F x2 = x.squared();
        F m = x2 + x2 + x2;

        x = m.squared() - s - s;
        y = F::product_difference(m, s - x, w, y);
        zz = v * zz;
        zzz = w * zzz;
    }

    /* this += p, which is not infinity: 8M + 2S. */
    __device__ __forceinline__ void add_affine(const affine<F> &p)
    {
        if (is_infinity()) {
            *this = from(p);
            return;
        }
        F d = p.x * zz - x;
        F r = p.y * zzz - y;
        if (d.is_zero()) {
            add_same_x(r.is_zero());
            return;
        }
        F dd = d.squared();
        F ddd = d * dd;
        F q = x * dd;

        zz = zz * dd;
        zzz = zzz * ddd;
        x = r.squared() - ddd - q - q;
        y = F::product_difference(r, q - x, y, ddd);
    }

    /* this += b: 12M + 2S. */
    __device__ __noinline__ void add(const xyzz &b)
    {
        if (b.is_infinity())
            return;
        if (is_infinity()) {
            *this = b;
            return;
        }
        F u1 = x * b.zz, s1 = y * b.zzz;
        F d = b.x * zz - u1;
        F r = b.y * zzz - s1;
        if (d.is_zero()) {
            add_same_x(r.is_zero());
            return;
        }
        F dd = d.squared();
        F ddd = d * dd;
        F q = u1 * dd;

        zz = zz * b.zz * dd;
        zzz = zzz * b.zzz * ddd;
        x = r.squared() - ddd - q - q;
        y = F::product_difference(r, q - x, s1, ddd);
    }

    /* this += a point of the same x: itself or its negative. The copy keeps the address of *this
     * from escaping, which would push it out of registers. */
    __device__ __forceinline__ void add_same_x(bool is_same)
    {
        xyzz copy = *this;

        if (is_same)
            copy.twice();
        else
            copy = infinity();
        *this = copy;
    }

    /* The inversion makes this slow: 1I + 4M + 1S. */
    __device__ affine<F> to_affine() const
    {
        affine<F> r;

        if (is_infinity()) {
            r.x = r.y = F::zero();
            return r;
        }
        F inverse = (zz * zzz).inverse();
        F zz_inverse = inverse * zzz;

        r.x = x * zz_inverse;
        r.y = y * (inverse * zz);
        return r;
    }
};
