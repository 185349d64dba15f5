#!/usr/bin/env python3
"""Derives gpu-worker/known_answer_constants.h: the five sums of the built-in circuit of
known_answer.c, computed here without any of the product's code. Every point is a known multiple of
the generator, so each sum is one multiple; the quotient is interpolated term by term.

    python3 gpu-worker/known_answer.py > gpu-worker/known_answer_constants.h
    python3 gpu-worker/known_answer.py --check
"""

import contextlib
import io
import os
import sys

VARIABLES, PUBLIC, ROWS, LOG2 = 24, 3, 20, 5
DOMAIN = 1 << LOG2
MASK64 = (1 << 64) - 1


def mix(z):  # splitmix64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def scalar(seed, i):
    limbs = [mix((seed + (4 * i + j + 1) * 0x9E3779B97F4A7C15) & MASK64) for j in range(4)]
    limbs[3] &= 0x0FFFFFFFFFFFFFFF
    return sum(limb << (64 * j) for j, limb in enumerate(limbs))


class Fp2:
    """c0 + c1 u with u^2 = -1; also carries G1 coordinates as c1 = 0."""

    def __init__(self, p, c0, c1=0):
        self.p, self.c0, self.c1 = p, c0 % p, c1 % p

    def __add__(self, o):
        return Fp2(self.p, self.c0 + o.c0, self.c1 + o.c1)

    def __sub__(self, o):
        return Fp2(self.p, self.c0 - o.c0, self.c1 - o.c1)

    def __mul__(self, o):
        return Fp2(self.p, self.c0 * o.c0 - self.c1 * o.c1, self.c0 * o.c1 + self.c1 * o.c0)

    def __eq__(self, o):
        return (self.c0, self.c1) == (o.c0, o.c1)

    def inverse(self):
        n = pow(self.c0 * self.c0 + self.c1 * self.c1, -1, self.p)
        return Fp2(self.p, self.c0 * n, -self.c1 * n)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if not a[1] == b[1]:
            return None
        slope = (a[0] * a[0] + a[0] * a[0] + a[0] * a[0]) * (a[1] + a[1]).inverse()
    else:
        slope = (b[1] - a[1]) * (b[0] - a[0]).inverse()
    x = slope * slope - a[0] - b[0]
    return (x, slope * (a[0] - x) - a[1])


def multiply(k, point):
    result = None
    while k:
        if k & 1:
            result = add(result, point)
        point = add(point, point)
        k >>= 1
    return result


def circuit(r):
    """Witness, and the logarithms of the five sums to the generator's base."""
    w = [1 if i == 0 or i % 5 == 2 else 0 if i % 5 == 1 else scalar(1, i) for i in range(VARIABLES)]
    a = [0 if i % 7 == 3 else scalar(2, i) for i in range(VARIABLES)]
    b = [0 if i % 3 == 1 else scalar(3, i) for i in range(VARIABLES)]
    l = [scalar(4, i) for i in range(VARIABLES - PUBLIC - 1)]
    h = [scalar(5, i) for i in range(DOMAIN)]
    row_a = [(w[(7 * i + 1) % VARIABLES] + 5 * w[(5 * i + 2) % VARIABLES]) % r for i in range(ROWS)]
    row_b = [(-w[3 * i % VARIABLES] + 5 * w[(11 * i + 4) % VARIABLES]) % r for i in range(ROWS)]
    row_a += [0] * (DOMAIN - ROWS)
    row_b += [0] * (DOMAIN - ROWS)
    row_c = [x * y % r for x, y in zip(row_a, row_b)]

    # Both curves: 5 is the smallest non-residue; w_2n generates the domain of twice the size.
    w_2n = pow(5, (r - 1) >> (LOG2 + 1), r)
    root = w_2n * w_2n % r

    def on_coset(values):
        n_inverse = pow(DOMAIN, -1, r)
        c = [sum(v * pow(root, -i * j, r) for j, v in enumerate(values)) * n_inverse % r
             for i in range(DOMAIN)]
        return [sum(v * pow(w_2n, (2 * i + 1) * j, r) for j, v in enumerate(c)) % r
                for i in range(DOMAIN)]

    quotient = [(x * y - z) % r
                for x, y, z in zip(on_coset(row_a), on_coset(row_b), on_coset(row_c))]

    def dot(x, y):
        return sum(s * t for s, t in zip(x, y)) % r

    return [dot(a, w), dot(b, w), dot(b, w), dot(l, w[PUBLIC + 1:]), dot(h, quotient)]


CURVES = [
    dict(name="bn254", limbs=4,
         p=21888242871839275222246405745257275088696311157297823662689037894645226208583,
         r=21888242871839275222246405745257275088548364400416034343698204186575808495617,
         g1=(1, 2),
         g2=((10857046999023057135944570762232829481370756359578518086990519993285655852781,
              11559732032986387107991004021392285783925812861821192530917403151452391805634),
             (8495653923123431417604973247489272438418190587263600148770280649306958101930,
              4082367875863433681332203403145435568316851327593401208105741076214120093531))),
    dict(name="bls12_381", limbs=6,
         p=int("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
               "1eabfffeb153ffffb9feffffffffaaab", 16),
         r=int("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001", 16),
         g1=(int("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac58"
                 "6c55e83ff97a1aeffb3af00adb22c6bb", 16),
             int("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3ed"
                 "d03cc744a2888ae40caa232946c5e7e1", 16)),
         g2=((int("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d177"
                  "0bac0326a805bbefd48056c8c121bdb8", 16),
              int("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049"
                  "334cf11213945d57e5ac7d055d042b7e", 16)),
             (int("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c"
                  "923ac9cc3baca289e193548608b82801", 16),
              int("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab"
                  "3f370d275cec1da1aaa9075ff05f79be", 16)))),
]


def limbs(value, count):
    return [(value >> (64 * i)) & MASK64 for i in range(count)]


def show(comment, values):
    print("    /* %s */" % comment)
    for i in range(0, len(values), 4):
        print("    " + " ".join("0x%016xu," % v for v in values[i:i + 4]))


def main():
    print("/* Made by gpu-worker/known_answer.py; do not edit. The five sums of the built-in circuit,\n"
          " * affine, Montgomery form, and its dictionary {1, -1, 5} R^2 mod r. */\n/* clang-format off */\n#pragma once\n\n"
          "#include <stdint.h>\n")
    for c in CURVES:
        p, r, n = c["p"], c["r"], c["limbs"]
        g1 = tuple(Fp2(p, x) for x in c["g1"])
        g2 = tuple(Fp2(p, x[0], x[1]) for x in c["g2"])
        assert multiply(r, g1) is None and multiply(r, g2) is None
        mont = 1 << (64 * n)
        print("static const uint64_t known_answer_dictionary_%s[3][4] = {" % c["name"])
        for value in (1, -1, 5):
            words = ["0x%016xu" % v for v in limbs(value * pow(2, 512, r) % r, 4)]
            print("    {%s,\n     %s}," % (", ".join(words[:2]), ", ".join(words[2:])))
        print("};\n")
        print("static const uint64_t known_answer_sums_%s[%d] = {" % (c["name"], 12 * n))
        for name, k in zip(("A", "B1", "B2", "L", "H"), circuit(r)):
            point = multiply(k, g2 if name == "B2" else g1)
            values = []
            for coordinate in point:
                values += limbs(coordinate.c0 * mont % p, n)
                if name == "B2":
                    values += limbs(coordinate.c1 * mont % p, n)
            show(name, values)
        print("};" if c is CURVES[-1] else "};\n")


def check():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_answer_constants.h")
    with open(path) as committed:
        if committed.read() != text.getvalue():
            sys.exit("known_answer_constants.h is not what known_answer.py makes")


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else main()
