/* Constants of the prime fields for device code: 32-bit words, least significant first, as
 * functions whose local tables fold away once loops are unrolled. Written by
 * groth16/field/constants.py; a test runs the script again and compares. */

#pragma once

#include <stdint.h>

/* clang-format off */

struct bn254_fp_constants {
    static constexpr int WORDS = 8;
    static constexpr int BITS = 254; /* of the modulus */
    static constexpr uint32_t N0 = 0xe4866389; /* -1/p mod 2^32 */
    /* p */
    static __host__ __device__ constexpr uint32_t modulus(int i)
    {
        constexpr uint32_t words[8] = {
            0xd87cfd47, 0x3c208c16, 0x6871ca8d, 0x97816a91, 0x8181585d, 0xb85045b6,
            0xe131a029, 0x30644e72};
        return words[i];
    }
    /* R mod p, R = 2^256 */
    static __host__ __device__ constexpr uint32_t one(int i)
    {
        constexpr uint32_t words[8] = {
            0xc58f0d9d, 0xd35d438d, 0xf5c70b3d, 0x0a78eb28, 0x7879462c, 0x666ea36f,
            0x9a07df2f, 0x0e0a77c1};
        return words[i];
    }
    /* R^2 mod p */
    static __host__ __device__ constexpr uint32_t r2(int i)
    {
        constexpr uint32_t words[8] = {
            0x538afa89, 0xf32cfc5b, 0xd44501fb, 0xb5e71911, 0x0a417ff6, 0x47ab1eff,
            0xcab8351f, 0x06d89f71};
        return words[i];
    }
};

struct bn254_fr_constants {
    static constexpr int WORDS = 8;
    static constexpr int BITS = 254; /* of the modulus */
    static constexpr uint32_t N0 = 0xefffffff; /* -1/p mod 2^32 */
    /* p */
    static __host__ __device__ constexpr uint32_t modulus(int i)
    {
        constexpr uint32_t words[8] = {
            0xf0000001, 0x43e1f593, 0x79b97091, 0x2833e848, 0x8181585d, 0xb85045b6,
            0xe131a029, 0x30644e72};
        return words[i];
    }
    /* R mod p, R = 2^256 */
    static __host__ __device__ constexpr uint32_t one(int i)
    {
        constexpr uint32_t words[8] = {
            0x4ffffffb, 0xac96341c, 0x9f60cd29, 0x36fc7695, 0x7879462e, 0x666ea36f,
            0x9a07df2f, 0x0e0a77c1};
        return words[i];
    }
    /* R^2 mod p */
    static __host__ __device__ constexpr uint32_t r2(int i)
    {
        constexpr uint32_t words[8] = {
            0xae216da7, 0x1bb8e645, 0xe35c59e3, 0x53fe3ab1, 0x53bb8085, 0x8c49833d,
            0x7f4e44a5, 0x0216d0b1};
        return words[i];
    }
    static constexpr int TWO_ADICITY = 28; /* of p - 1 */
    /* w R mod p, w = 5^((p - 1) / 2^28), of order 2^28 */
    static __host__ __device__ constexpr uint32_t root(int i)
    {
        constexpr uint32_t words[8] = {
            0x80d13d9c, 0x636e7355, 0x2445ffd6, 0xa22bf374, 0x1eb203d8, 0x56452ac0,
            0x2963f9e7, 0x1860ef94};
        return words[i];
    }
    /* R / 2 mod p */
    static __host__ __device__ constexpr uint32_t half(int i)
    {
        constexpr uint32_t words[8] = {
            0x1ffffffe, 0x783c14d8, 0x0c8d1edd, 0xaf982f6f, 0xfcfd4f45, 0x8f5f7492,
            0x3d9cbfac, 0x1f37631a};
        return words[i];
    }
};

struct bls12_381_fp_constants {
    static constexpr int WORDS = 12;
    static constexpr int BITS = 381; /* of the modulus */
    static constexpr uint32_t N0 = 0xfffcfffd; /* -1/p mod 2^32 */
    /* p */
    static __host__ __device__ constexpr uint32_t modulus(int i)
    {
        constexpr uint32_t words[12] = {
            0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
            0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
        return words[i];
    }
    /* R mod p, R = 2^384 */
    static __host__ __device__ constexpr uint32_t one(int i)
    {
        constexpr uint32_t words[12] = {
            0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
            0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};
        return words[i];
    }
    /* R^2 mod p */
    static __host__ __device__ constexpr uint32_t r2(int i)
    {
        constexpr uint32_t words[12] = {
            0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
            0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
        return words[i];
    }
};

struct bls12_381_fr_constants {
    static constexpr int WORDS = 8;
    static constexpr int BITS = 255; /* of the modulus */
    static constexpr uint32_t N0 = 0xffffffff; /* -1/p mod 2^32 */
    /* p */
    static __host__ __device__ constexpr uint32_t modulus(int i)
    {
        constexpr uint32_t words[8] = {
            0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808,
            0x299d7d48, 0x73eda753};
        return words[i];
    }
    /* R mod p, R = 2^256 */
    static __host__ __device__ constexpr uint32_t one(int i)
    {
        constexpr uint32_t words[8] = {
            0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa, 0xecbc4ff5, 0x998c4fef,
            0xacc5056f, 0x1824b159};
        return words[i];
    }
    /* R^2 mod p */
    static __host__ __device__ constexpr uint32_t r2(int i)
    {
        constexpr uint32_t words[8] = {
            0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb, 0x7254398f, 0x05d31496,
            0x9f59ff11, 0x0748d9d9};
        return words[i];
    }
    static constexpr int TWO_ADICITY = 32; /* of p - 1 */
    /* w R mod p, w = 5^((p - 1) / 2^32), of order 2^32 */
    static __host__ __device__ constexpr uint32_t root(int i)
    {
        constexpr uint32_t words[8] = {
            0x0c17f47c, 0x9cab6d5c, 0xfd4b71e5, 0x1ce1e93d, 0x471dd505, 0x0d6db230,
            0x743a3b6a, 0x3f0ee990};
        return words[i];
    }
    /* R / 2 mod p */
    static __host__ __device__ constexpr uint32_t half(int i)
    {
        constexpr uint32_t words[8] = {
            0xffffffff, 0x00000000, 0x0001a401, 0xac425bfd, 0xf65e27fa, 0xccc627f7,
            0xd66282b7, 0x0c1258ac};
        return words[i];
    }
};

/* clang-format on */
