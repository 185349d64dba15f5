#!/usr/bin/env python3
"""Independent arithmetic on both curves, for tests: writes tests/groth16/vectors.h, or with --check compares.

Nothing here shares code or method with the library. Points are affine, and Fp12 is Fp[w] / m(w), in one step:
the Miller loop runs on the untwisted curve over Fp12 with affine slopes, and the final exponentiation is one
power by (p^12 - 1) / r. Values in vectors.h are plain (not Montgomery).
"""

import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTPUT = "tests/groth16/vectors.h"


class Fp:
    """An element of Fp[w] / (w^12 - m6 w^6 - m0), as 12 coefficients; degree 0 stands for Fp itself."""

    p = m6 = m0 = None

    def __init__(self, c):
        self.c = [v % self.p for v in c] + [0] * (12 - len(c))

    def __eq__(self, o):
        return self.c == o.c

    def __add__(self, o):
        return type(self)([a + b for a, b in zip(self.c, o.c)])

    def __sub__(self, o):
        return type(self)([a - b for a, b in zip(self.c, o.c)])

    def __neg__(self):
        return type(self)([-a for a in self.c])

    def __mul__(self, o):
        t = [0] * 23
        for i, a in enumerate(self.c):
            if a:
                for j, b in enumerate(o.c):
                    t[i + j] += a * b
        for i in range(22, 11, -1):
            t[i - 6] += self.m6 * t[i]
            t[i - 12] += self.m0 * t[i]
        return type(self)(t[:12])

    def __pow__(self, e):
        r, a = type(self)([1]), self
        while e:
            if e & 1:
                r = r * a
            a, e = a * a, e >> 1
        return r

    def inverse(self):
        """By the conjugates: a^-1 = (product of a^(p^i), i > 0) / norm, with Frobenius as a power of w."""
        product, power = type(self)([1]), self
        for _ in range(11):
            power = power.frobenius()
            product = product * power
        norm = (product * self).c[0]
        return product * type(self)([pow(norm, -1, self.p)])

    def frobenius(self):
        if not hasattr(type(self), "w_p"):
            type(self).w_p = [type(self)([0, 1]) ** (i * self.p) for i in range(12)]
        r = type(self)([0])
        for i, a in enumerate(self.c):
            r = r + self.w_p[i] * type(self)([a])
        return r


def add(a, b):
    if a is None or b is None:
        return a or b
    (x1, y1), (x2, y2) = a, b
    if x1 == x2:
        if y1 == -y2:
            return None
        slope = x1 * x1 * type(x1)([3]) * (y1 + y1).inverse()
    else:
        slope = (y2 - y1) * (x2 - x1).inverse()
    x3 = slope * slope - x1 - x2
    return (x3, slope * (x1 - x3) - y1)


def line(a, b, at):
    (x1, y1), (x2, y2), (x, y) = a, b, at
    if x1 == x2 and y1 == -y2:
        return x - x1
    if x1 == x2:
        slope = x1 * x1 * type(x1)([3]) * (y1 + y1).inverse()
    else:
        slope = (y2 - y1) * (x2 - x1).inverse()
    return slope * (x - x1) - (y - y1)


class Fp2:
    """For points on the twist; only what scalar multiplication needs."""

    p = None

    def __init__(self, c):
        self.c = (c[0] % self.p, (c[1] if len(c) > 1 else 0) % self.p)

    def __eq__(self, o):
        return self.c == o.c

    def __add__(self, o):
        return type(self)([a + b for a, b in zip(self.c, o.c)])

    def __sub__(self, o):
        return type(self)([a - b for a, b in zip(self.c, o.c)])

    def __neg__(self):
        return type(self)([-a for a in self.c])

    def __mul__(self, o):
        (a, b), (c, d) = self.c, o.c
        return type(self)([a * c - b * d, a * d + b * c])

    def inverse(self):
        a, b = self.c
        n = pow(a * a + b * b, -1, self.p)
        return type(self)([a * n, -b * n])

    def __pow__(self, e):
        r, a = type(self)([1]), self
        while e:
            if e & 1:
                r = r * a
            a, e = a * a, e >> 1
        return r


def times(k, a):
    r = None
    while k:
        if k & 1:
            r = add(r, a)
        a, k = add(a, a), k >> 1
    return r


class Curve:
    def __init__(self, name, p, r, limbs, b, b_twist, xi0, twist, g1, g2, loop, power):
        self.name, self.p, self.r, self.limbs, self.xi0, self.twist = name, p, r, limbs, xi0, twist
        self.loop, self.power, self.b = loop, power, b
        self.F12 = type(name + "_12", (Fp,), dict(p=p, m6=2 * xi0, m0=-(xi0 * xi0 + 1)))
        self.F2 = type(name + "_2", (Fp2,), dict(p=p))
        self.b_twist = self.F2(b_twist)
        self.g1 = tuple(self.F2([v]) for v in g1)
        self.g2 = tuple(self.F2(v) for v in g2)

    def lift(self, a):
        """Fp2 into Fp12: u = w^6 - xi0."""
        return self.F12([a.c[0] - self.xi0 * a.c[1], 0, 0, 0, 0, 0, a.c[1]])

    def untwist(self, q):
        w = self.F12([0, 1])
        if self.twist == "M":
            w = w.inverse()
        return (self.lift(q[0]) * w * w, self.lift(q[1]) * w * w * w)

    def pairing(self, p, q):
        """A fixed power of the reduced optimal ate pairing: self.power says which."""
        q, p = self.untwist(q), tuple(self.lift(v) for v in p)
        f, t = self.F12([1]), q
        for bit in bin(abs(self.loop))[3:]:
            f = f * f * line(t, t, p)
            t = add(t, t)
            if bit == "1":
                f = f * line(t, q, p)
                t = add(t, q)
        if self.loop < 0:
            f = f.inverse()
        if self.name == "bn254":
            q1 = tuple(v.frobenius() for v in q)
            q2 = tuple(v.frobenius() for v in q1)
            q2 = (q2[0], -q2[1])
            f = f * line(t, q1, p)
            f = f * line(add(t, q1), q2, p)
        return f ** ((self.p**12 - 1) // self.r * self.power)

    def tower(self, f):
        """Coefficients of 1, v, v^2, w, v w, v^2 w with v = w^2, each c0, c1 over u = w^6 - xi0."""
        out = []
        for i in (0, 2, 4, 1, 3, 5):
            high = f.c[i + 6]
            out += [(f.c[i] + self.xi0 * high) % self.p, high]
        return out

    def twist_point_outside(self, seed):
        """A point on the twist that is not in the subgroup, from small x."""
        rng = random.Random(seed)
        while True:
            x = self.F2([rng.randrange(self.p), rng.randrange(self.p)])
            y = sqrt2(x * x * x + self.b_twist)
            if y and times(self.r, (x, y)) is not None:
                return (x, y)

    def g1_point_outside(self):
        x = 1
        while True:
            y2 = (x**3 + self.b) % self.p
            y = pow(y2, (self.p + 1) // 4, self.p)
            point = (self.F2([x]), self.F2([y]))
            if y * y % self.p == y2 and times(self.r, point) is not None:
                return point
            x += 1


def sqrt2(a):
    """Square root in Fp2 for p = 3 mod 4, None if there is none (Adj, Rodriguez-Henriquez)."""
    F, p = type(a), a.p
    a1 = a ** ((p - 3) // 4)
    alpha, x0 = a1 * a1 * a, a1 * a
    x = x0 * F([0, 1]) if alpha == F([-1]) else (alpha + F([1])) ** ((p - 1) // 2) * x0
    return x if x * x == a else None


def curves():
    x = 4965661367192848881
    p = 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
    r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    n = pow(82, -1, p)
    yield Curve("bn254", p, r, 4, 3, (27 * n, -3 * n), 9, "D", (1, 2), (
        (10857046999023057135944570762232829481370756359578518086990519993285655852781,
         11559732032986387107991004021392285783925812861821192530917403151452391805634),
        (8495653923123431417604973247489272438418190587263600148770280649306958101930,
         4082367875863433681332203403145435568316851327593401208105741076214120093531)),
        6 * x + 2, 2 * x * (6 * x * x + 3 * x + 1))
    x = -0xD201000000010000
    r = x**4 - x**2 + 1
    p = (x - 1) ** 2 * r // 3 + x
    yield Curve("bls12_381", p, r, 6, 4, (4, 4), 1, "M", (
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1), (
        (0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
         0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E),
        (0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
         0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE)),
        x, 3)


def limbs(value, count):
    return "{" + ", ".join(f"0x{(value >> (64 * i)) & (2**64 - 1):016x}" for i in range(count)) + "}"


def table(name, values, count, formula):
    rows = ",\n".join("    " + limbs(v, count) for v in values)
    return f"/* {formula} */\nstatic const uint64_t {name}[{len(values)}][{count}] = {{\n{rows},\n}};\n"


def field_vectors(name, m, count):
    rng = random.Random(name)
    edges = [0, 1, m - 1, 2**(64 * count) % m, m // 2]
    samples = edges + [2**64 - 1] + [rng.randrange(m) for _ in range(7)]
    rows = []
    for a, b in [(a, b) for a in edges for b in edges] + list(zip(samples[5:], samples[6:])):
        rows += [a, b, (a + b) % m, (a - b) % m, a * b % m]
    inverses = [v for a in samples for v in (a, pow(a, -1, m) if a else 0)]
    return [table(f"{name}_vectors", rows, count, "Rows of five: a, b, a + b, a - b, a b."),
            table(f"{name}_inverses", inverses, count, "Pairs: a, 1 / a (0 for 0).")]


def flat(point):
    return [v for coordinate in point for v in coordinate.c]


def curve_vectors(curve):
    rng = random.Random(curve.name + " points")
    scalars = [1, 2, 3, curve.r - 1, curve.r - 2, 2**64, rng.randrange(curve.r), rng.randrange(curve.r)]
    n, name = curve.limbs, curve.name
    out = [table(f"{name}_scalars", scalars, 4, "k")]
    g1 = [v.c[0] for k in scalars for v in times(k, curve.g1)]
    g2 = [v for k in scalars for v in flat(times(k, curve.g2))]
    out.append(table(f"{name}_g1_multiples", g1, n, "[k]G1: x, y"))
    out.append(table(f"{name}_g2_multiples", g2, n, "[k]G2: x.c0, x.c1, y.c0, y.c1"))
    outside = [v for seed in range(3) for v in flat(curve.twist_point_outside(seed))]
    out.append(table(f"{name}_g2_outside", outside, n, "Points on the twist, not in G2."))
    if name != "bn254":
        point = [v.c[0] for v in curve.g1_point_outside()]
        out.append(table(f"{name}_g1_outside", point, n, "A point on the curve, not in G1."))
    a, b = scalars[6], scalars[7]
    f = curve.pairing(times(a, curve.g1), times(b, curve.g2))
    assert f == curve.pairing(curve.g1, curve.g2) ** (a * b % curve.r) != curve.F12([1])
    out.append(table(f"{name}_pairing", curve.tower(f), n,
                     "e([k6]G1, [k7]G2) to the power named in pairing_*.c, final exponentiation"))
    return out


def text():
    out = []
    for curve in curves():
        out += field_vectors(curve.name + "_fp", curve.p, curve.limbs)
        out += field_vectors(curve.name + "_fr", curve.r, 4)
        out += curve_vectors(curve)
    return ("/* Test vectors, plain values, least significant limb first. Written by vectors.py, which says\n"
            " * how; a test runs it again and compares. */\n\n#pragma once\n\n#include <stdint.h>\n\n"
            "/* clang-format off */\n\n" + "\n".join(out) + "\n/* clang-format on */\n")


def main():
    path = os.path.join(ROOT, OUTPUT)
    if "--check" not in sys.argv[1:]:
        with open(path, "w", encoding="ascii") as f:
            f.write(text())
        return 0
    with open(path, encoding="ascii") as f:
        if f.read() == text():
            return 0
    print(f"{OUTPUT} differs from what vectors.py computes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
