"""Makes malformed keys, witnesses, constraint systems and JSON files of many kinds from good ones.

Each generator yields (name, bytes, pattern): the pattern is what the error text must match.
"""

import copy
import json
import struct

import formats
import groth
from formats import Container, le


def _u32(value):
    return struct.pack("<I", value & 0xffffffff)


def _set_size(data, number, size):
    """Overwrites the size field of a section in the file's bytes."""
    offset = 12
    for _ in range(formats.u32(data, 8)):
        found, old = struct.unpack_from("<IQ", data, offset)
        if found == number:
            return data[:offset + 4] + struct.pack("<Q", size % (1 << 64)) + data[offset + 12:]
        offset += 12 + old
    raise AssertionError(number)


def _containers(data, needed):
    """What can be wrong with any of the three binary formats; needed: ids that must be there."""
    file = Container.parse(data)
    for border in file.borders():
        if border < len(data):
            yield f"cut_at_{border}", data[:border], r"truncat|short|end|empty|missing|past|beyond"
    offset = 12
    for number, body in file.sections:
        # header_end + size wraps to exactly where the next section starts.
        for name, size in (("wraps_to_itself", (1 << 64) - offset), ("all_ones", (1 << 64) - 1),
                           ("wraps_to_start", (1 << 64) - offset - 12),
                           ("one_too_long", len(data) - offset - 11)):
            yield f"section{number}_size_{name}", _set_size(data, number, size), \
                r"section|size|end|truncat|short"
        offset += 12 + len(body)
    for number in needed:
        less = Container(file.magic, file.version, [s for s in file.sections if s[0] != number])
        yield f"section{number}_missing", less.to_bytes(), r"missing|section"
        twice = Container(file.magic, file.version, file.sections + [[number, file[number]]])
        yield f"section{number}_twice", twice.to_bytes(), r"twice|duplicate|more than once|section"
        for change, body in (("empty", b""), ("one_byte_less", file[number][:-1]),
                             ("one_byte_more", file[number] + b"\0")):
            other = Container.parse(data)
            other[number] = body
            yield f"section{number}_{change}", other.to_bytes(), r"section|size|length|short|bytes"
    yield "sections_count_all_ones", data[:8] + _u32(-1) + data[12:], r"section|end|truncat|short"
    yield "version_0", data[:4] + _u32(0) + data[8:], r"version"
    yield "random_bytes", bytes((i * 73 + 5) & 255 for i in range(4096)), r"not a"
    yield "text", b'{"this": "is JSON"}\n' * 20, r"not a"


def zkeys(data, curve_name):
    """Malformed versions of a small good key."""
    yield from _containers(data, range(2, 10))
    curve = groth.CURVES[curve_name]
    n, file = curve.size, lambda: Container.parse(data)
    counts = 4 + n + 4 + 32
    points = counts + 12
    base = file()[2]
    variables, public, domain = struct.unpack_from("<III", base, counts)

    def head(offset, body):
        return file().patch(2, offset, body).to_bytes()

    yield "n8q_zero", head(0, _u32(0)), r"n8q|field|prime|curve|size"
    yield "n8r_31", head(4 + n, _u32(31)), r"n8r|field|prime|size"
    yield "q_plus_2", head(4, le(curve.q + 2, n)), r"prime|curve|field|q\b"
    yield "r_plus_2", head(8 + n, le(curve.r + 2)), r"prime|curve|field|r\b"
    yield "variables_zero", head(counts, _u32(0)), r"variable|nVars|section|public"
    yield "variables_one_more", head(counts, _u32(variables + 1)), r"variable|nVars|section|size"
    yield "public_all_ones", head(counts + 4, _u32(-1)), r"public|section|size|nVars|variable"
    yield "public_equals_variables", head(counts + 4, _u32(variables)), \
        r"public|section|size|variable"
    for value in (0, 1, domain * 2, domain // 2, 1 << 29, 1 << 30):
        yield f"domain_{value}", head(counts + 8, _u32(value)), r"domain|section|constraint|size"
    offset = points
    for name, degree in (("alpha1", 1), ("beta1", 1), ("beta2", 2), ("gamma2", 2), ("delta1", 1),
                         ("delta2", 2)):
        size = 2 * degree * n
        yield f"{name}_infinity", head(offset, bytes(size)), rf"{name}.*infinity|infinity"
        raw = int.from_bytes(base[offset:offset + n], "little")
        yield f"{name}_off_curve", head(offset, le(raw ^ 1, n)), rf"{name}.*curve|curve"
        if raw + curve.q < 1 << (8 * n):
            yield f"{name}_not_reduced", head(offset, le(raw + curve.q, n)), \
                r"reduced|canonical|coordinate|range|field"
        yield f"{name}_coordinate_all_ones", head(offset, b"\xff" * n), \
            r"reduced|canonical|coordinate|range|field|curve"
        if (curve_name, degree) != ("bn128", 1):
            point = curve.write_point(curve.outside_subgroup(degree))
            yield f"{name}_wrong_subgroup", head(offset, point), r"subgroup|order"
        offset += size
    if curve_name != "bn128":
        point = curve.write_point(curve.outside_subgroup(1))
        yield "ic_wrong_subgroup", file().patch(3, 0, point).to_bytes(), r"subgroup|order"
    for number, degree in ((3, 1), (5, 1), (6, 1), (7, 2), (8, 1), (9, 1)):
        body = file()[number]
        start = next((i for i in range(0, len(body), 2 * degree * n)
                      if any(body[i:i + 2 * degree * n])), None)
        if start is None:
            continue
        raw = int.from_bytes(body[start:start + n], "little")
        yield f"section{number}_point_off_curve", \
            file().patch(number, start, le(raw ^ 1, n)).to_bytes(), r"curve|reduced"
        yield f"section{number}_coordinate_all_ones", \
            file().patch(number, start, b"\xff" * n).to_bytes(), \
            r"reduced|canonical|coordinate|range|field|curve"
    # Coefficients: u32 count, then matrix, constraint, signal, value.
    for name, at, value, pattern in (
            ("constraint_is_domain", 8, domain, r"constraint|row|range"),
            ("constraint_all_ones", 8, 0xffffffff, r"constraint|row|range"),
            ("signal_is_variables", 12, variables, r"signal|wire|range"),
            ("signal_all_ones", 12, 0xffffffff, r"signal|wire|range"),
            ("matrix_2", 4, 2, r"matrix"),
            ("count_zero", 0, 0, r"coefficient|count|section|size|nCoefs"),
            ("count_one_more", 0, formats.u32(file()[4], 0) + 1,
             r"coefficient|count|section|size|nCoefs")):
        yield f"coefficient_{name}", file().patch(4, at, _u32(value)).to_bytes(), pattern
    yield "coefficient_value_r", file().patch(4, 16, le(curve.r)).to_bytes(), \
        r"reduced|canonical|value|range|coefficient"
    yield "coefficient_value_all_ones", file().patch(4, 16, b"\xff" * 32).to_bytes(), \
        r"reduced|canonical|value|range|coefficient"
    fflonk = file()
    fflonk[1] = _u32(10)
    yield "protocol_fflonk", fflonk.to_bytes(), r"groth16|protocol"


def witnesses(data, curve_name):
    """Malformed versions of a witness with at least 4 values."""
    yield from _containers(data, (1, 2))
    prime = formats.PRIMES[curve_name]
    other = formats.PRIMES["bls12381" if curve_name == "bn128" else "bn128"]
    file = lambda: Container.parse(data)
    _, values = formats.read_wtns(data)

    def with_value(index, raw):
        return file().patch(2, 32 * index, raw).to_bytes()

    yield "n8_31", file().patch(1, 0, _u32(31)).to_bytes(), r"n8|field|size|prime|bytes"
    yield "n8_all_ones", file().patch(1, 0, _u32(-1)).to_bytes(), r"n8|field|size|prime|bytes"
    yield "prime_of_the_other_curve", file().patch(1, 4, le(other)).to_bytes(), r"curve|prime|field"
    yield "prime_unknown", file().patch(1, 4, le(prime + 2)).to_bytes(), r"curve|prime|field"
    yield "count_zero", file().patch(1, 36, _u32(0)).to_bytes(), r"length|values|witness|count"
    for index in (0, 1, len(values) - 1):
        yield f"value{index}_is_r", with_value(index, le(prime)), r"value \d+ .*(below the prime|is not 1)"
        yield f"value{index}_all_ones", with_value(index, b"\xff" * 32), \
            r"value \d+ .*(below the prime|is not 1)"
    yield "first_value_zero", with_value(0, le(0)), r"value 0 .*is not 1"
    yield "first_value_two", with_value(0, le(2)), r"value 0 .*is not 1"
    for index in range(1, len(values)):
        yield f"value{index}_plus_one", with_value(index, le((values[index] + 1) % prime)), \
            r"constraint|satisf|check"
    for name, more in (("one_value_more", values + [0]), ("twice_as_long", values * 2)):
        longer = file().patch(1, 36, _u32(len(more)))
        longer[2] = b"".join(map(le, more))
        yield name, longer.to_bytes(), r"length|values|witness|count"


def constraint_systems(data, curve_name):
    """Malformed .r1cs files, and good ones of another circuit, for the key of `data`."""
    yield from _containers(data, (1, 2))
    prime = formats.PRIMES[curve_name]
    other = formats.PRIMES["bls12381" if curve_name == "bn128" else "bn128"]
    file = lambda: Container.parse(data)
    body = file()[2]
    yield "n8_31", file().patch(1, 0, _u32(31)).to_bytes(), r"n8|field|size|prime|bytes"
    yield "prime_of_the_other_curve", file().patch(1, 4, le(other)).to_bytes(), r"bls12-381.*bn254|bn254.*bls12-381"
    for name, at, value in (("wires_all_ones", 36, -1), ("wires_zero", 36, 0),
                            ("wires_one_more", 36, formats.u32(file()[1], 36) + 1),
                            ("outputs_all_ones", 40, -1), ("inputs_all_ones", 44, -1),
                            ("constraints_all_ones", 60, -1), ("constraints_zero", 60, 0)):
        yield name, file().patch(1, at, _u32(value)).to_bytes(), \
            r"wire|public|output|input|constraint|section|signal|variable|match|key"
    yield "terms_all_ones", file().patch(2, 0, _u32(-1)).to_bytes(), r"term|section|end|short|constraint"
    yield "wire_out_of_range", file().patch(2, 4, _u32(99)).to_bytes(), r"wire|signal|range"
    yield "value_is_r", file().patch(2, 8, le(prime)).to_bytes(), r"reduced|canonical|value|range|coefficient"
    value = int.from_bytes(body[8:40], "little")
    yield "matrix_differs_from_key", file().patch(2, 8, le((value + 1) % prime)).to_bytes(), \
        r"differ|match|key"


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) \
        if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, path + (key,))


def _replaced(value, path, new):
    if not path:
        return new
    result = copy.deepcopy(value)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return result


def documents(data, skip=()):
    """Malformed versions of a JSON file, as (name, bytes). Keys in `skip` are not read by a
    verifier, so changing them is no fault."""
    value = json.loads(data)
    text = data.decode()
    for cut in (0, 1, len(data) // 2, len(data) - 2):
        yield f"cut_at_{cut}", data[:cut]
    yield "nul_byte_inside", data.replace(b'"', b'"\0', 1) if b'"' in data else b"[\0]"
    yield "not_utf8", data.replace(b'"', b'"\xff\xfe', 1) if b'"' in data else b'["\xff"]'
    yield "trailing_words", data + b" and more"
    yield "two_documents", data + b"\n" + data
    yield "nested_100000_deep", b"[" * 100000
    yield "nested_and_closed", b"[" * 5000 + b"]" * 5000
    yield "number_of_a_million_digits", b"[" + b'"' + b"7" * 1000000 + b'"' + b"]"
    yield "only_null", b"null"
    yield "utf16", text.encode("utf-16")
    if isinstance(value, dict):
        for key in value:
            if key in skip:
                continue
            less = {k: v for k, v in value.items() if k != key}
            yield f"without_{key}", json.dumps(less).encode()
            yield f"{key}_twice", (text.rstrip()[:-1] + f', "{key}": {json.dumps(value[key])}}}').encode()
    for path in _paths(value):
        if path and path[0] in skip:
            continue
        label = "_".join(map(str, path)) or "root"
        for name, new in (("number", 7), ("null", None), ("object", {"x": "1"}), ("list", []),
                          ("true", True), ("empty_string", ""), ("words", "twelve"),
                          ("negative", "-1"), ("hexadecimal", "0x10"), ("space", " 1"),
                          ("enormous", "9" * 400)):
            if _is_leaf(value, path) or name in ("number", "null", "object", "list", "true"):
                if _at(value, path) != new and not (name == "number" and path == ("nPublic",)):
                    yield f"{label}_is_{name}", json.dumps(_replaced(value, path, new)).encode()


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def _is_leaf(value, path):
    return isinstance(_at(value, path), str)
