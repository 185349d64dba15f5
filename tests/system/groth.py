"""Groth16 over BN254 and BLS12-381 in plain Python: slow, short, and independent of the C code.

Computes the proof of a tiny circuit from its .zkey, witness and given blinding, straight from the
definition (naive interpolation, affine curve arithmetic). Also finds curve points outside the
subgroup, for keys that must be refused.
"""

import struct

import formats

CURVES = {}


class Curve:
    def __init__(self, name, q, r, size, b, twist_b):
        self.name, self.q, self.r, self.size = name, q, r, size
        self.b, self.twist_b = b, twist_b
        self.mont_inverse = pow(1 << (8 * size), -1, q)
        CURVES[name] = self

    # Coordinates are tuples: length 1 over Fq, length 2 over Fq2 = Fq[u]/(u^2+1).
    def add(self, x, y):
        return tuple((a + b) % self.q for a, b in zip(x, y))

    def sub(self, x, y):
        return tuple((a - b) % self.q for a, b in zip(x, y))

    def mul(self, x, y):
        if len(x) == 1:
            return (x[0] * y[0] % self.q,)
        return ((x[0] * y[0] - x[1] * y[1]) % self.q, (x[0] * y[1] + x[1] * y[0]) % self.q)

    def inverse(self, x):
        if len(x) == 1:
            return (pow(x[0], -1, self.q),)
        norm = pow(x[0] * x[0] + x[1] * x[1], -1, self.q)
        return (x[0] * norm % self.q, -x[1] * norm % self.q)

    def point_add(self, p, o):
        if p is None or o is None:
            return p if o is None else o
        if p[0] == o[0]:
            if self.add(p[1], o[1]) == tuple(0 for _ in p[1]):
                return None
            square = self.mul(p[0], p[0])
            slope = self.mul(self.add(square, self.add(square, square)),
                             self.inverse(self.add(p[1], p[1])))
        else:
            slope = self.mul(self.sub(o[1], p[1]), self.inverse(self.sub(o[0], p[0])))
        x = self.sub(self.sub(self.mul(slope, slope), p[0]), o[0])
        return x, self.sub(self.mul(slope, self.sub(p[0], x)), p[1])

    def point_mul(self, p, k):
        result = None
        while k:
            if k & 1:
                result = self.point_add(result, p)
            p, k = self.point_add(p, p), k >> 1
        return result

    def is_on_curve(self, p):
        b = (self.b,) if len(p[0]) == 1 else self.twist_b
        right = self.add(self.mul(self.mul(p[0], p[0]), p[0]), b)
        return self.mul(p[1], p[1]) == right

    def read_point(self, data, offset, degree):
        """degree 1: G1, 2: G2; raw Montgomery limbs, all zero is infinity."""
        body = data[offset:offset + 2 * degree * self.size]
        values = [int.from_bytes(body[i:i + self.size], "little") * self.mont_inverse % self.q
                  for i in range(0, len(body), self.size)]
        if not any(values):
            return None
        point = tuple(values[:degree]), tuple(values[degree:])
        assert self.is_on_curve(point)
        return point

    def write_point(self, point):
        return b"".join(formats.le((v << (8 * self.size)) % self.q, self.size)
                        for coordinate in point for v in coordinate)

    def sqrt(self, x):
        """A root of x in Fq or Fq2, or None. q = 3 mod 4 on both curves."""
        q = self.q
        if len(x) == 1:
            root = pow(x[0], (q + 1) // 4, q)
            return (root,) if root * root % q == x[0] else None
        norm = self.sqrt(((x[0] * x[0] + x[1] * x[1]) % q,))
        if norm is None:
            return None
        for sign in (1, -1):
            half = self.sqrt(((x[0] + sign * norm[0]) * pow(2, -1, q) % q,))
            if half and half[0]:
                root = (half[0], x[1] * pow(2 * half[0], -1, q) % q)
                if self.mul(root, root) == x:
                    return root
        return None

    def outside_subgroup(self, degree):
        """A point on the curve (or twist) whose order is not r."""
        b = (self.b,) if degree == 1 else self.twist_b
        for k in range(1, 1000):
            x = (k,) if degree == 1 else (k, 1)
            y = self.sqrt(self.add(self.mul(self.mul(x, x), x), b))
            if y and self.point_mul((x, y), self.r) is not None:
                return x, y
        raise AssertionError("no such point: the cofactor is 1")


def _bn254():
    q = formats.BN254_Q
    # 3 / (9 + u)
    inverse = pow(82, -1, q)
    Curve("bn128", q, formats.BN254_R, 32, 3, (27 * inverse % q, -3 * inverse % q))


_bn254()
Curve("bls12381", formats.BLS_Q, formats.BLS_R, 48, 4, (4, 4))


def _interpolate_odd(values, prime, domain):
    """Values on the domain of size n to values at the n odd points of the domain of size 2n."""
    root = pow(5, (prime - 1) // (2 * domain), prime)
    even = [pow(root, 2 * i, prime) for i in range(domain)]
    result = []
    for k in range(domain):
        x, total = pow(root, 2 * k + 1, prime), 0
        for i, value in enumerate(values):
            term = value
            for j in range(domain):
                if j != i:
                    term = term * (x - even[j]) * pow(even[i] - even[j], -1, prime) % prime
            total += term
        result.append(total % prime)
    return result


def prove(curve, zkey_bytes, witness, r, s):
    """(A, B, C) as affine points (coordinates are tuples)."""
    key, q_size, prime = formats.Container.parse(zkey_bytes), curve.size, curve.r
    header = key[2]
    offset = 4 + q_size + 4 + 32
    variables, public, domain = struct.unpack_from("<III", header, offset)
    offset += 12
    names = [("alpha1", 1), ("beta1", 1), ("beta2", 2), ("gamma2", 2), ("delta1", 1), ("delta2", 2)]
    head = {}
    for name, degree in names:
        head[name] = curve.read_point(header, offset, degree)
        offset += 2 * degree * q_size

    rows = [[0] * domain, [0] * domain]
    unscale = pow(pow(2, 256, prime), -2, prime)
    body = key[4]
    for i in range(formats.u32(body, 0)):
        matrix, row, wire = struct.unpack_from("<III", body, 4 + 44 * i)
        value = int.from_bytes(body[16 + 44 * i:48 + 44 * i], "little") * unscale
        rows[matrix][row] = (rows[matrix][row] + value * witness[wire]) % prime
    products = [x * y % prime for x, y in zip(*rows)]
    odd = [_interpolate_odd(v, prime, domain) for v in (*rows, products)]
    h = [(x * y - z) % prime for x, y, z in zip(*odd)]

    def combine(section, degree, scalars, start=None):
        total = start
        for i, scalar in enumerate(scalars):
            point = curve.read_point(key[section], 2 * degree * q_size * i, degree)
            if point is not None:
                total = curve.point_add(total, curve.point_mul(point, scalar % prime))
        return total

    add, mul = curve.point_add, curve.point_mul
    a = add(combine(5, 1, witness, head["alpha1"]), mul(head["delta1"], r))
    b1 = add(combine(6, 1, witness, head["beta1"]), mul(head["delta1"], s))
    b2 = add(combine(7, 2, witness, head["beta2"]), mul(head["delta2"], s))
    c = add(combine(8, 1, witness[public + 1:]), combine(9, 1, h))
    c = add(add(c, mul(a, s)), mul(b1, r))
    return a, b2, add(c, mul(head["delta1"], -r * s % prime))


def proof_json(curve, proof):
    """The same shape as proof.json of snarkjs."""
    a, b, c = proof
    return {"pi_a": [str(a[0][0]), str(a[1][0]), "1"],
            "pi_b": [[str(v) for v in b[0]], [str(v) for v in b[1]], ["1", "0"]],
            "pi_c": [str(c[0][0]), str(c[1][0]), "1"],
            "protocol": "groth16", "curve": curve.name}
