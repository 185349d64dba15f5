#!/usr/bin/python3
"""Lays several copies of one circuit side by side: .r1cs and .wtns in (plain or .xz), larger ones out.

The copies share nothing but the constant 1; the first keeps its public signals, those of the others
become private. So a SHA-256 circuit grows to any size with the shape of its witness (zeros and
ones) unchanged.
"""

import argparse
import lzma
import struct
import sys

import formats


def load(path):
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rb") as file:
        return file.read()


def shifted(body, count, shift):
    """One copy's constraints with every wire but the constant moved up by `shift`."""
    out, offset = bytearray(body), 0
    word = struct.Struct("<I")
    for _ in range(3 * count):
        terms, = word.unpack_from(body, offset)
        offset += 4
        for _ in range(terms):
            wire, = word.unpack_from(body, offset)
            if wire:
                word.pack_into(out, offset, wire + shift)
            offset += 36
    return bytes(out)


def tile_r1cs(data, copies):
    file = formats.Container.parse(data)
    header = file[1]
    prime = int.from_bytes(header[4:36], "little")
    wires, outputs, inputs, private = struct.unpack_from("<IIII", header, 36)
    count = formats.u32(header, 60)
    total = 1 + copies * (wires - 1)
    private = total - 1 - outputs - inputs
    bodies = [shifted(file[2], count, copy * (wires - 1)) for copy in range(copies)]
    return prime, total, outputs, inputs, private, bodies, copies * count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--r1cs-in")
    parser.add_argument("--r1cs")
    parser.add_argument("--wtns-in")
    parser.add_argument("--wtns")
    args = parser.parse_args()
    if args.copies < 1:
        parser.error("--copies must be at least 1")
    if args.r1cs_in:
        formats.write_r1cs(args.r1cs, *tile_r1cs(load(args.r1cs_in), args.copies))
    if args.wtns_in:
        prime, values = formats.read_wtns(load(args.wtns_in))
        formats.write_wtns(args.wtns, prime, values[:1] + values[1:] * args.copies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
