#!/usr/bin/env python3
"""Derives every constant of the two curves from its prime and curve equation.

Writes groth16/field/constants.h, groth16/curve/constants.h and gpu-worker/cuda/constants.cuh below the
root of the tree, or with --check compares them with what is committed and fails on a difference. The numbers that are given, not
derived: the curve parameters x, the equations' b, and the standard generators.
"""

import math
import os
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Curve:
    def __init__(self, name, x, p, r, p_limbs):
        self.name, self.x, self.p, self.r, self.p_limbs = name, x, p, r, p_limbs


def bn254():
    x = 4965661367192848881
    p = 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
    r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    return Curve("bn254", x, p, r, 4)


def bls12_381():
    x = -0xD201000000010000
    r = x**4 - x**2 + 1
    p = (x - 1) ** 2 * r // 3 + x
    return Curve("bls12_381", x, p, r, 6)


def limbs(value, count):
    words = [(value >> (64 * i)) & (2**64 - 1) for i in range(count)]
    assert value >> (64 * count) == 0
    return "{" + ", ".join(f"0x{w:016x}" for w in words) + "}"


def wrapped(name, values):
    """values as a C array of small integers, wrapped to the line."""
    text = textwrap.fill(", ".join(str(v) for v in values), 96, initial_indent="    ",
                         subsequent_indent="    ")
    return f"{name} = {{\n{text}\n}};\n"


def array(name, count, value, formula):
    lines = limbs(value, count)
    return f"/* {formula} */\nstatic const uint64_t {name}[{count}] = {lines};\n"


def smallest_non_residue(r):
    n = 2
    while pow(n, (r - 1) // 2, r) == 1:
        n += 1
    return n


def field_constants(name, p, count, p_formula):
    R = 1 << (64 * count)
    out = [array(f"{name}_modulus", count, p, p_formula)]
    out.append(array(f"{name}_one", count, R % p, f"R mod p, R = 2^{64 * count}"))
    out.append(array(f"{name}_r2", count, R * R % p, "R^2 mod p, for the conversion into Montgomery form"))
    out.append(array(f"{name}_inverse_exponent", count, p - 2, "p - 2"))
    n0 = -pow(p, -1, 2**64) % 2**64
    out.append(f"/* -1/p mod 2^64 */\nstatic const uint64_t {name}_n0 = 0x{n0:016x};\n")
    return out


def root_constants(name, r):
    R = 1 << 256
    s = ((r - 1) & -(r - 1)).bit_length() - 1
    nqr = smallest_non_residue(r)
    root = pow(nqr, (r - 1) >> s, r)
    out = [f"/* The largest s with 2^s dividing r - 1. */\n#define {name.upper()}_TWO_ADICITY {s}\n"]
    out.append(array(f"{name}_root", 4, root * R % r,
                     f"w R mod r, w = {nqr}^((r - 1) / 2^{s}), of order 2^{s}; "
                     f"{nqr} is the smallest non-residue"))
    out.append(array(f"{name}_coset_max", 4, nqr * nqr * R % r,
                     f"{nqr}^2 R mod r: the coset shift at the largest domain, 2^{s}"))
    assert pow(7, (r - 1) // 2, r) == r - 1
    out.append(array(f"{name}_root_seven", 4, pow(7, (r - 1) >> s, r) * R % r,
                     f"w R mod r, w = 7^((r - 1) / 2^{s}): the root of bellman's domains"))
    return out


def sqrt_constants(name, p):
    assert p % 4 == 3
    return [array(f"{name}_sqrt_exponent", 6, (p + 1) // 4,
                  "(p + 1) / 4: a to this power is a root of a, where a has one, since p = 3 mod 4")]


def field_header():
    head = """/* Constants of the prime fields, least significant limb first. Written by constants.py; a test
 * runs the script again and compares. */

#pragma once

#include <stdint.h>

/* clang-format off */

"""
    bn, bls = bn254(), bls12_381()
    out = field_constants("bn254_fp", bn.p, 4, "p = 36 x^4 + 36 x^3 + 24 x^2 + 6 x + 1, x = 4965661367192848881")
    out += field_constants("bn254_fr", bn.r, 4, "r = 36 x^4 + 36 x^3 + 18 x^2 + 6 x + 1")
    out += root_constants("bn254_fr", bn.r)
    out += field_constants("bls12_381_fp", bls.p, 6, "p = (x - 1)^2 (x^4 - x^2 + 1) / 3 + x, x = -0xd201000000010000")
    out += sqrt_constants("bls12_381_fp", bls.p)
    out += field_constants("bls12_381_fr", bls.r, 4, "r = x^4 - x^2 + 1")
    out += root_constants("bls12_381_fr", bls.r)
    return head + "\n".join(out) + "\n/* clang-format on */\n"


class Tower:
    """Fp2 = Fp[u]/(u^2 + 1) with xi = (xi0, 1), and affine points over Fp or Fp2 as pairs."""

    def __init__(self, p):
        self.p = p

    def mul(self, a, b):
        return ((a[0] * b[0] - a[1] * b[1]) % self.p, (a[0] * b[1] + a[1] * b[0]) % self.p)

    def pow(self, a, e):
        r = (1, 0)
        while e:
            if e & 1:
                r = self.mul(r, a)
            a, e = self.mul(a, a), e >> 1
        return r

    def inv(self, a):
        n = pow(a[0] * a[0] + a[1] * a[1], -1, self.p)
        return (a[0] * n % self.p, -a[1] * n % self.p)

    def sub(self, a, b):
        return ((a[0] - b[0]) % self.p, (a[1] - b[1]) % self.p)

    def add(self, a, b):
        """Affine addition of finite points with a result that is finite too."""
        (x1, y1), (x2, y2) = a, b
        if a == b:
            slope = self.mul(self.mul((3, 0), self.mul(x1, x1)), self.inv(self.mul((2, 0), y1)))
        else:
            slope = self.mul(self.sub(y2, y1), self.inv(self.sub(x2, x1)))
        x3 = self.sub(self.sub(self.mul(slope, slope), x1), x2)
        return (x3, self.sub(self.mul(slope, self.sub(x1, x3)), y1))

    def times(self, k, a):
        r = a
        for bit in bin(k)[3:]:
            r = self.add(r, r)
            if bit == "1":
                r = self.add(r, a)
        return r

    def is_on(self, a, b):
        (x, y) = a
        return self.sub(self.mul(y, y), self.mul(x, self.mul(x, x))) == b

    def has_order(self, a, r):
        """[r]a = 0, asked as [r - 1]a = -a."""
        return self.times(r - 1, a) == (a[0], self.sub((0, 0), a[1]))


def naf(k):
    """Non-adjacent form of k, most significant digit first."""
    digits = []
    while k:
        d = 2 - k % 4 if k & 1 else 0
        digits.append(d)
        k = (k - d) // 2
    return digits[::-1]


def curve_constants(curve, b, xi0, b_twist, psi_sign, g1, g2, loop, loop_formula):
    """psi_sign is 1 for a twist y^2 = x^3 + b / xi (D), -1 for y^2 = x^3 + b xi (M)."""
    p, r, n, name, t = curve.p, curve.r, curve.p_limbs, curve.name, Tower(curve.p)
    R, xi = 1 << (64 * n), (xi0, 1)
    twist = "b / xi" if psi_sign == 1 else "b xi"

    def fp(v):
        return limbs(v * R % p, n)

    def fp2(v):
        return "{" + "{" + fp(v[0]) + "},\n     {" + fp(v[1]) + "}" + "}"

    def point(q):
        return "{\n    " + q[0] + ",\n    " + q[1] + "\n}"

    lift = ((g1[0], 0), (g1[1], 0))
    assert t.is_on(lift, (b, 0)) and t.is_on(g2, b_twist)
    assert t.has_order(lift, r) and t.has_order(g2, r)
    assert b_twist == t.mul((b, 0), xi if psi_sign == -1 else t.inv(xi))
    gamma = [t.pow(xi, i * (p - 1) // 6) for i in range(6)]
    gamma2 = [t.pow(xi, i * (p * p - 1) // 6) for i in range(6)]
    assert all(g[1] == 0 for g in gamma2)
    psi = [gamma[i] if psi_sign == 1 else t.inv(gamma[i]) for i in (2, 3)]
    conj = lambda a: (a[0], -a[1] % p)
    image = (t.mul(conj(g2[0]), psi[0]), t.mul(conj(g2[1]), psi[1]))
    assert image == t.times(p % r, g2)
    check_subgroup_tests(curve)

    out = [f"/* {name}: y^2 = x^3 + {b}; xi = {xi0} + u; the twist is y^2 = x^3 + {twist}. */\n"]
    out.append(f"static const {name}_fp {name}_g1_b = {{{fp(b)}}};\n"
               f"static const {name}_fp2 {name}_g2_b =\n    {fp2(b_twist)};\n")
    out.append("/* The standard generators: x, y. */\n"
               f"static const {name}_fp {name}_g1_generator_xy[2] = "
               + point(["{" + fp(g1[0]) + "}", "{" + fp(g1[1]) + "}"]) + ";\n"
               f"static const {name}_fp2 {name}_g2_generator_xy[2] = "
               + point([fp2(g2[0]), fp2(g2[1])]) + ";\n")
    out.append("/* psi(x, y) = (conj(x) X, conj(y) Y), the p-power Frobenius seen on the twist:\n"
               f" * X = xi^({psi_sign} (p - 1) / 3), Y = xi^({psi_sign} (p - 1) / 2). */\n"
               f"static const {name}_fp2 {name}_psi_x =\n    {fp2(psi[0])};\n"
               f"static const {name}_fp2 {name}_psi_y =\n    {fp2(psi[1])};\n")
    out.append("/* w^i to the power p is [i] w^i, w^6 = xi: xi^(i (p - 1) / 6). */\n"
               f"static const {name}_fp2 {name}_frobenius[6] = {{\n    "
               + ",\n    ".join(fp2(g) for g in gamma) + ",\n};\n")
    out.append("/* w^i to the power p^2 is [i] w^i: xi^(i (p^2 - 1) / 6), in the base field. */\n"
               f"static const {name}_fp {name}_frobenius2[6] = {{\n    "
               + ",\n    ".join("{" + fp(g[0]) + "}" for g in gamma2) + ",\n};\n")
    out.append(f"/* |x|. */\nstatic const uint64_t {name}_x_abs = 0x{abs(curve.x):016x};\n")
    out.append("/* x in non-adjacent form, most significant digit first. */\n"
               + wrapped(f"static const int8_t {name}_x_digits[{len(naf(abs(curve.x)))}]",
                         [d if curve.x > 0 else -d for d in naf(abs(curve.x))]))
    out.append(f"/* {loop_formula} in non-adjacent form, most significant digit first. */\n"
               + wrapped(f"static const int8_t {name}_miller_digits[{len(naf(loop))}]", naf(loop)))
    return out


def check_subgroup_tests(curve):
    """The tests of subgroup_*.h are sound. psi satisfies psi^2 - t psi + p = 0, so f(psi) Q = 0 implies
    [N] Q = 0, N = norm of f; with #E'(Fp2) = h2 r and gcd(N, h2 r) = r the order of Q divides r."""
    p, r, x, bn = curve.p, curve.r, curve.x, curve.name == "bn254"
    trace = 6 * x**2 + 1 if bn else x + 1
    h2 = p - 1 + trace if bn else (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3
                                   - 4 * x**2 - 4 * x + 13) // 9
    f = [x + 1, x, x, -2 * x] if bn else [x, -1]
    a, b = 0, 0  # f(psi) = a + b psi, by Horner with psi^2 = trace psi - p
    for c in reversed(f):
        a, b = c - b * p, a + b * trace
    norm = a * a + a * b * trace + b * b * p
    assert math.gcd(norm, h2 * r) == r


def bls_beta(curve, g1):
    """The cube root of unity with (beta x, y) = [-x^2](x, y), for the subgroup test of G1."""
    p, t = curve.p, Tower(curve.p)
    lift = ((g1[0], 0), (g1[1], 0))
    target = t.times(-curve.x**2 % curve.r, lift)
    beta = target[0][0] * pow(g1[0], -1, p) % p
    assert beta != 1 and pow(beta, 3, p) == 1 and target[1] == lift[1]
    return (f"/* beta, a cube root of 1 with (beta x, y) = [-x^2](x, y) in G1. */\n"
            f"static const {curve.name}_fp {curve.name}_beta = "
            f"{{{limbs((beta << 384) % p, 6)}}};\n")


def curve_header():
    head = """/* Constants of the curves and their pairings, in Montgomery form. Written by field/constants.py; a test
 * runs the script again and compares. */

#pragma once

#include <stdint.h>

#include "groth16/field/bls12_381.h"
#include "groth16/field/bn254.h"

/* clang-format off */

"""
    bn, bls = bn254(), bls12_381()
    bn_twist = Tower(bn.p).mul((3, 0), Tower(bn.p).inv((9, 1)))
    out = curve_constants(bn, 3, 9, bn_twist, 1, BN254_G1, BN254_G2, 6 * bn.x + 2, "6 x + 2")
    out += curve_constants(bls, 4, 1, (4, 4), -1, BLS12_381_G1, BLS12_381_G2, -bls.x, "-x")
    out.append(bls_beta(bls, BLS12_381_G1))
    return head + "\n".join(out) + "\n/* clang-format on */\n"


def words(value, count):
    text = ", ".join(f"0x{(value >> (32 * i)) & 0xffffffff:08x}" for i in range(count))
    return textwrap.fill(text, 88, initial_indent=" " * 12, subsequent_indent=" " * 12)


def device_function(name, count, value, formula):
    return (f"    /* {formula} */\n"
            f"    static __host__ __device__ constexpr uint32_t {name}(int i)\n    {{\n"
            f"        constexpr uint32_t words[{count}] = {{\n{words(value, count)}}};\n"
            f"        return words[i];\n    }}\n")


def device_field(name, p, count, root):
    R = 1 << (32 * count)
    n0 = -pow(p, -1, 2**32) % 2**32
    out = [f"struct {name}_constants {{\n    static constexpr int WORDS = {count};\n"
           f"    static constexpr int BITS = {p.bit_length()}; /* of the modulus */\n"
           f"    static constexpr uint32_t N0 = 0x{n0:08x}; /* -1/p mod 2^32 */\n"]
    out.append(device_function("modulus", count, p, "p"))
    out.append(device_function("one", count, R % p, f"R mod p, R = 2^{32 * count}"))
    out.append(device_function("r2", count, R * R % p, "R^2 mod p"))
    if root:
        s = ((p - 1) & -(p - 1)).bit_length() - 1
        nqr = smallest_non_residue(p)
        out.append(f"    static constexpr int TWO_ADICITY = {s}; /* of p - 1 */\n")
        out.append(device_function("root", count, pow(nqr, (p - 1) >> s, p) * R % p,
                                   f"w R mod p, w = {nqr}^((p - 1) / 2^{s}), of order 2^{s}"))
        out.append(device_function("half", count, pow(2, -1, p) * R % p, "R / 2 mod p"))
    return "".join(out) + "};\n"


def device_header():
    head = """/* Constants of the prime fields for device code: 32-bit words, least significant first, as
 * functions whose local tables fold away once loops are unrolled. Written by
 * groth16/field/constants.py; a test runs the script again and compares. */

#pragma once

#include <stdint.h>

/* clang-format off */

"""
    bn, bls = bn254(), bls12_381()
    out = [device_field("bn254_fp", bn.p, 8, False), device_field("bn254_fr", bn.r, 8, True),
           device_field("bls12_381_fp", bls.p, 12, False),
           device_field("bls12_381_fr", bls.r, 8, True)]
    return head + "\n".join(out) + "\n/* clang-format on */\n"


# EIP-197 (BN254); draft-irtf-cfrg-pairing-friendly-curves (BLS12-381).
BN254_G1 = (1, 2)
BN254_G2 = (
    (0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
     0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2),
    (0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
     0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B),
)
BLS12_381_G1 = (
    0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
    0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
)
BLS12_381_G2 = (
    (0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
     0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E),
    (0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
     0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE),
)

FILES = {"groth16/field/constants.h": field_header, "groth16/curve/constants.h": curve_header,
         "gpu-worker/cuda/constants.cuh": device_header}


def main():
    status = 0
    for path, make in FILES.items():
        full = os.path.join(ROOT, path)
        text = make()
        if "--check" in sys.argv[1:]:
            with open(full, encoding="ascii") as f:
                if f.read() != text:
                    print(f"{path} differs from what constants.py derives", file=sys.stderr)
                    status = 1
        else:
            with open(full, "w", encoding="ascii") as f:
                f.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
