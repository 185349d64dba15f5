/* Constants of the prime fields, least significant limb first. Written by constants.py; a test
 * runs the script again and compares. */

#pragma once

#include <stdint.h>

/* clang-format off */

/* p = 36 x^4 + 36 x^3 + 24 x^2 + 6 x + 1, x = 4965661367192848881 */
static const uint64_t bn254_fp_modulus[4] = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029};

/* R mod p, R = 2^256 */
static const uint64_t bn254_fp_one[4] = {0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f};

/* R^2 mod p, for the conversion into Montgomery form */
static const uint64_t bn254_fp_r2[4] = {0xf32cfc5b538afa89, 0xb5e71911d44501fb, 0x47ab1eff0a417ff6, 0x06d89f71cab8351f};

/* p - 2 */
static const uint64_t bn254_fp_inverse_exponent[4] = {0x3c208c16d87cfd45, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029};

/* -1/p mod 2^64 */
static const uint64_t bn254_fp_n0 = 0x87d20782e4866389;

/* r = 36 x^4 + 36 x^3 + 18 x^2 + 6 x + 1 */
static const uint64_t bn254_fr_modulus[4] = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029};

/* R mod p, R = 2^256 */
static const uint64_t bn254_fr_one[4] = {0xac96341c4ffffffb, 0x36fc76959f60cd29, 0x666ea36f7879462e, 0x0e0a77c19a07df2f};

/* R^2 mod p, for the conversion into Montgomery form */
static const uint64_t bn254_fr_r2[4] = {0x1bb8e645ae216da7, 0x53fe3ab1e35c59e3, 0x8c49833d53bb8085, 0x0216d0b17f4e44a5};

/* p - 2 */
static const uint64_t bn254_fr_inverse_exponent[4] = {0x43e1f593efffffff, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029};

/* -1/p mod 2^64 */
static const uint64_t bn254_fr_n0 = 0xc2e1f593efffffff;

/* The largest s with 2^s dividing r - 1. */
#define BN254_FR_TWO_ADICITY 28

/* w R mod r, w = 5^((r - 1) / 2^28), of order 2^28; 5 is the smallest non-residue */
static const uint64_t bn254_fr_root[4] = {0x636e735580d13d9c, 0xa22bf3742445ffd6, 0x56452ac01eb203d8, 0x1860ef942963f9e7};

/* 5^2 R mod r: the coset shift at the largest domain, 2^28 */
static const uint64_t bn254_fr_coset_max[4] = {0xff7d5fb83fffff7c, 0x453c3aa13c61f518, 0xf69c0de5394e6ff7, 0x0c478cc3e2696a7c};

/* w R mod r, w = 7^((r - 1) / 2^28): the root of bellman's domains */
static const uint64_t bn254_fr_root_seven[4] = {0x9632c7c5b639feb8, 0x985ce3400d0ff299, 0xb2dd880001b0ecd8, 0x1d69070d6d98ce29};

/* p = (x - 1)^2 (x^4 - x^2 + 1) / 3 + x, x = -0xd201000000010000 */
static const uint64_t bls12_381_fp_modulus[6] = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624, 0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};

/* R mod p, R = 2^384 */
static const uint64_t bls12_381_fp_one[6] = {0x760900000002fffd, 0xebf4000bc40c0002, 0x5f48985753c758ba, 0x77ce585370525745, 0x5c071a97a256ec6d, 0x15f65ec3fa80e493};

/* R^2 mod p, for the conversion into Montgomery form */
static const uint64_t bls12_381_fp_r2[6] = {0xf4df1f341c341746, 0x0a76e6a609d104f1, 0x8de5476c4c95b6d5, 0x67eb88a9939d83c0, 0x9a793e85b519952d, 0x11988fe592cae3aa};

/* p - 2 */
static const uint64_t bls12_381_fp_inverse_exponent[6] = {0xb9feffffffffaaa9, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624, 0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};

/* -1/p mod 2^64 */
static const uint64_t bls12_381_fp_n0 = 0x89f3fffcfffcfffd;

/* (p + 1) / 4: a to this power is a root of a, where a has one, since p = 3 mod 4 */
static const uint64_t bls12_381_fp_sqrt_exponent[6] = {0xee7fbfffffffeaab, 0x07aaffffac54ffff, 0xd9cc34a83dac3d89, 0xd91dd2e13ce144af, 0x92c6e9ed90d2eb35, 0x0680447a8e5ff9a6};

/* r = x^4 - x^2 + 1 */
static const uint64_t bls12_381_fr_modulus[4] = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48};

/* R mod p, R = 2^256 */
static const uint64_t bls12_381_fr_one[4] = {0x00000001fffffffe, 0x5884b7fa00034802, 0x998c4fefecbc4ff5, 0x1824b159acc5056f};

/* R^2 mod p, for the conversion into Montgomery form */
static const uint64_t bls12_381_fr_r2[4] = {0xc999e990f3f29c6d, 0x2b6cedcb87925c23, 0x05d314967254398f, 0x0748d9d99f59ff11};

/* p - 2 */
static const uint64_t bls12_381_fr_inverse_exponent[4] = {0xfffffffeffffffff, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48};

/* -1/p mod 2^64 */
static const uint64_t bls12_381_fr_n0 = 0xfffffffeffffffff;

/* The largest s with 2^s dividing r - 1. */
#define BLS12_381_FR_TWO_ADICITY 32

/* w R mod r, w = 5^((r - 1) / 2^32), of order 2^32; 5 is the smallest non-residue */
static const uint64_t bls12_381_fr_root[4] = {0x9cab6d5c0c17f47c, 0x1ce1e93dfd4b71e5, 0x0d6db230471dd505, 0x3f0ee990743a3b6a};

/* 5^2 R mod r: the coset shift at the largest domain, 2^32 */
static const uint64_t bls12_381_fr_coset_max[4] = {0x00000036ffffffc9, 0x0241c35b005a3c37, 0xfe929645ee3a96db, 0x17f10d220f2a157c};

/* w R mod r, w = 7^((r - 1) / 2^32): the root of bellman's domains */
static const uint64_t bls12_381_fr_root_seven[4] = {0xb9b58d8c5f0e466a, 0x5b1b4c801819d7ec, 0x0af53ae352a31e64, 0x5bf3adda19e9b27b};

/* clang-format on */
