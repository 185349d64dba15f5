#!/usr/bin/python3
"""Writes .r1cs and .wtns of a multiplication chain of any length, for either curve, without circom.

  s[0] = x*y    s[1] = (s[0]+k)*(x+3)    s[i+1] = (s[i]+k)*(s[i-1]+(i+1)*y)

Outputs s[n] and s[n/2], public input k; n+1 constraints, n+5 wires, and a witness full of
full-size values: the dear kind for a multi-scalar multiplication.
"""

import argparse
import random
import sys

import formats


def witness(prime, length, seed):
    rng = random.Random(seed)
    x, y, k = (rng.randrange(prime) for _ in range(3))
    s = [x * y % prime]
    s.append((s[0] + k) * (x + 3) % prime)
    for i in range(1, length):
        s.append((s[i] + k) * (s[i - 1] + (i + 1) * y) % prime)
    inner = [v for i, v in enumerate(s) if i not in (length, length // 2)]
    return [1, s[length], s[length // 2], k, x, y] + inner


def constraints(prime, length):
    """Yields the constraints in order; wires: 1, out, mid, k, x, y, then the inner s."""
    middle = length // 2
    one, wire_k, wire_x, wire_y = formats.le(1), 3, 4, 5

    def wire(i):
        if i == length:
            return 1
        if i == middle:
            return 2
        return 6 + i - (1 if i > middle else 0)

    # Rows are negated on A and C, as circom writes them: coefficients of full size.
    minus = formats.le(prime - 1)
    yield formats.r1cs_constraint([(wire_x, minus)], [(wire_y, one)], [(wire(0), minus)])
    yield formats.r1cs_constraint([(wire_k, minus), (wire(0), minus)],
                                  [(0, formats.le(3)), (wire_x, one)], [(wire(1), minus)])
    for i in range(1, length):
        yield formats.r1cs_constraint([(wire_k, minus), (wire(i), minus)],
                                      [(wire_y, formats.le(i + 1)), (wire(i - 1), one)],
                                      [(wire(i + 1), minus)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curve", choices=sorted(formats.PRIMES), default="bn128")
    parser.add_argument("--length", type=int, required=True, help="at least 4")
    parser.add_argument("--r1cs", help="write the constraints here")
    parser.add_argument("--wtns", help="write a satisfying witness here")
    parser.add_argument("--seed", type=int, default=1, help="of the witness")
    args = parser.parse_args()
    if args.length < 4:
        parser.error("--length must be at least 4")
    prime = formats.PRIMES[args.curve]
    if args.r1cs:
        formats.write_r1cs(args.r1cs, prime, args.length + 5, 2, 1, 2,
                           constraints(prime, args.length), args.length + 1)
    if args.wtns:
        formats.write_wtns(args.wtns, prime, witness(prime, args.length, args.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
