"""Readers and writers of the circom world's binary files (.zkey, .wtns, .r1cs), for tests only.

Written independently of groth16/key so that a shared mistake shows. All integers little-endian:
magic[4] | u32 version | u32 sections | sections x { u32 id | u64 size | bytes }.
"""

import struct

BN254_R = 21888242871839275222246405745257275088548364400416034343698204186575808495617
BN254_Q = 21888242871839275222246405745257275088696311157297823662689037894645226208583
BLS_R = 52435875175126190479447740508185965837690552500527637822603658699938581184513
BLS_Q = int("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f624"
            "1eabfffeb153ffffb9feffffffffaaab", 16)

PRIMES = {"bn128": BN254_R, "bls12381": BLS_R}


def le(value, size=32):
    return value.to_bytes(size, "little")


def u32(data, offset):
    return struct.unpack_from("<I", data, offset)[0]


class Container:
    """Sections in file order as [id, bytes] pairs, so that tests can move, drop and double them."""

    def __init__(self, magic, version, sections):
        self.magic, self.version, self.sections = magic, version, sections

    @classmethod
    def parse(cls, data):
        magic, version, count = struct.unpack_from("<4sII", data, 0)
        sections, offset = [], 12
        for _ in range(count):
            number, size = struct.unpack_from("<IQ", data, offset)
            offset += 12
            sections.append([number, bytes(data[offset:offset + size])])
            offset += size
        return cls(magic, version, sections)

    def __getitem__(self, number):
        return next(body for found, body in self.sections if found == number)

    def __setitem__(self, number, body):
        next(s for s in self.sections if s[0] == number)[1] = bytes(body)

    def patch(self, number, offset, body):
        old = self[number]
        self[number] = old[:offset] + body + old[offset + len(body):]
        return self

    def to_bytes(self):
        parts = [struct.pack("<4sII", self.magic, self.version, len(self.sections))]
        for number, body in self.sections:
            parts += [struct.pack("<IQ", number, len(body)), body]
        return b"".join(parts)

    def borders(self):
        """Offsets of every section's header, first data byte and end."""
        offset, found = 12, {4, 8, 12}
        for _, body in self.sections:
            found |= {offset, offset + 4, offset + 12, offset + 12 + len(body)}
            offset += 12 + len(body)
        return sorted(found)


def write_wtns(path, prime, values):
    header = struct.pack("<I", 32) + le(prime) + struct.pack("<I", len(values))
    data = b"".join(v.to_bytes(32, "little") for v in values)
    with open(path, "wb") as file:
        file.write(Container(b"wtns", 2, [[1, header], [2, data]]).to_bytes())


def read_wtns(data):
    """(prime, values)"""
    file = Container.parse(data)
    count, body = u32(file[1], 36), file[2]
    return (int.from_bytes(file[1][4:36], "little"),
            [int.from_bytes(body[32 * i:32 * i + 32], "little") for i in range(count)])


def write_r1cs(path, prime, wires, outputs, inputs, private, constraints, constraint_count):
    """constraints: an iterable of bytes, each one whole constraint as r1cs_constraint makes it."""
    header = struct.pack("<I", 32) + le(prime)
    header += struct.pack("<IIIIQI", wires, outputs, inputs, private, wires, constraint_count)
    body = b"".join(constraints)
    labels = struct.pack("<%dQ" % wires, *range(wires))
    with open(path, "wb") as file:
        file.write(Container(b"r1cs", 1, [[2, body], [1, header], [3, labels]]).to_bytes())


def r1cs_constraint(a, b, c):
    """a, b, c: lists of (wire, bytes of the 32-byte value)."""
    return b"".join(struct.pack("<I", len(terms)) +
                    b"".join(struct.pack("<I", wire) + value for wire, value in terms)
                    for terms in (a, b, c))
