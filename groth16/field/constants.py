#!/usr/bin/env python3
"""Derives every constant of the two curves from its prime and curve equation.

Writes groth16/field/constants.h and groth16/curve/constants.h below the root of the tree, or with
--check compares them with what is committed and fails on a difference. The numbers that are given, not
derived: the curve parameters x, the equations' b, and the standard generators.
"""

import os
import sys

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


def array(name, count, value, formula):
    lines = limbs(value, count)
    return f"// {formula}\nstatic const uint64_t {name}[{count}] = {lines};\n"


def smallest_non_residue(r):
    n = 2
    while pow(n, (r - 1) // 2, r) == 1:
        n += 1
    return n


def field_constants(name, p, count, p_formula):
    R = 1 << (64 * count)
    out = [array(f"{name}_modulus", count, p, f"p = {p_formula}")]
    out.append(array(f"{name}_one", count, R % p, f"R mod p, R = 2^{64 * count}"))
    out.append(array(f"{name}_r2", count, R * R % p, "R^2 mod p"))
    out.append(array(f"{name}_inverse_exponent", count, p - 2, "p - 2"))
    n0 = -pow(p, -1, 2**64) % 2**64
    out.append(f"// -1/p mod 2^64\nstatic const uint64_t {name}_n0 = 0x{n0:016x};\n")
    return out


def root_constants(name, r):
    R = 1 << 256
    s = ((r - 1) & -(r - 1)).bit_length() - 1
    nqr = smallest_non_residue(r)
    root = pow(nqr, (r - 1) >> s, r)
    out = [f"// The largest s with 2^s dividing r - 1.\n#define {name.upper()}_TWO_ADICITY {s}\n"]
    out.append(array(f"{name}_root", 4, root * R % r,
                     f"w R mod r, w = {nqr}^((r - 1) / 2^{s}), of order 2^{s}; "
                     f"{nqr} is the smallest non-residue"))
    out.append(array(f"{name}_coset_max", 4, nqr * nqr * R % r,
                     f"{nqr}^2 R mod r: the coset shift at the largest domain, 2^{s}"))
    return out


def field_header():
    head = """// Constants of the prime fields, least significant limb first. Written by constants.py; a test runs the
// script again and compares. Elements are in Montgomery form unless the comment says otherwise.

#pragma once

#include <stdint.h>

// clang-format off

"""
    bn, bls = bn254(), bls12_381()
    out = field_constants("bn254_fp", bn.p, 4, "36 x^4 + 36 x^3 + 24 x^2 + 6 x + 1, x = 4965661367192848881")
    out += field_constants("bn254_fr", bn.r, 4, "r = 36 x^4 + 36 x^3 + 18 x^2 + 6 x + 1")
    out += root_constants("bn254_fr", bn.r)
    out += field_constants("bls12_381_fp", bls.p, 6, "(x - 1)^2 (x^4 - x^2 + 1) / 3 + x, x = -0xd201000000010000")
    out += field_constants("bls12_381_fr", bls.r, 4, "r = x^4 - x^2 + 1")
    out += root_constants("bls12_381_fr", bls.r)
    return head + "\n".join(out) + "\n// clang-format on\n"


FILES = {"groth16/field/constants.h": field_header}


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
