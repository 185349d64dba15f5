#!/usr/bin/python3
"""A key of one of Filecoin's circuits through the whole daemon on the CPU: with the blinding of the
published test proof, the proof is that one, byte for byte."""

import hashlib
import json
import struct

from harness import CUZK_BENCH, ROOT, Daemon, Suite, expect, expect_equal, run
import formats
import groth

GOLDEN = ROOT / "tests" / "fixtures" / "filecoin"
CURVE = groth.CURVES["bls12381"]


def secret(name):
    digest = bytearray(hashlib.sha256(f"oracle-toxic-{name}".encode()).digest())
    digest[31] &= 0x3f
    return int.from_bytes(digest, "little")


def witness():
    """Of post-tiny: u32 inputs, u32 others, a class byte a value (2: explicit), explicit values."""
    data = (GOLDEN / "post-tiny.wit").read_bytes()
    count = sum(struct.unpack("<II", data[:8]))
    values, at = [], 8 + count
    for kind in data[8:8 + count]:
        if kind < 2:
            values.append(kind)
        else:
            values.append(int.from_bytes(data[at:at + 32], "little"))
            at += 32
    return values


def compressed(x, y):
    """x and y as lists, the highest coefficient first; the sign is that of y's first that is not 0."""
    data = bytearray(b"".join(v.to_bytes(48, "big") for v in x))
    sign = next(v for v in y if v)
    data[0] |= 0x80 | (0x20 if sign > (CURVE.q - 1) // 2 else 0)
    return bytes(data)


def chain_bytes(proof):
    def point(part):
        x, y = proof[part][:2]
        if isinstance(x, list):
            return compressed([int(x[1]), int(x[0])], [int(y[1]), int(y[0])])
        return compressed([int(x)], [int(y)])
    return point("pi_a") + point("pi_b") + point("pi_c")


def proves(daemon, key, with_c):
    name = "post-c" if with_c else "post"
    daemon.ctl_ok("circuit", "add", name, "--zkey", key, timeout=120)
    values = witness()
    file = daemon.folder / f"{name}.wtns"
    formats.write_wtns(file, CURVE.r, values)
    proof, public = daemon.prove(name, [file], name)
    expect_equal([int(v) for v in json.loads(public.read_text())], values[1:3], "public signals")
    expect_equal(chain_bytes(json.loads(proof.read_text())),
                 (GOLDEN / "post-tiny.proof").read_bytes(), "proof")


def refuses_a_broken_witness(daemon):
    values = witness()
    values[-1] = (values[-1] + 1) % CURVE.r
    file = daemon.folder / "broken.wtns"
    formats.write_wtns(file, CURVE.r, values)
    result = daemon.ctl("prove", "--circuit", "post-c", "--witness", file, "--proof",
                        daemon.folder / "no.proof", "--public", daemon.folder / "no.public")
    expect(result.code != 0 and "constraint" in result.err + result.out, lambda: f"{result}")


def main():
    suite = Suite("filecoin")
    blinding = f"{secret('r'):064x}:{secret('s'):064x}"
    with Daemon(environment={"CUZK_TEST_BLINDING": blinding}) as daemon:
        keys = {}
        for with_c in (False, True):
            keys[with_c] = daemon.folder / f"post-{with_c}.czk"
            more = [] if with_c else ["--without-c"]
            result = run(CUZK_BENCH, "make-key", "--filecoin", "window", "--sector", "2KiB",
                         "--sectors", "1", "--challenges", "1", "--prepared", keys[with_c], *more)
            expect_equal(result.code, 0, "make-key")
            suite.case(f"a_key_{'with' if with_c else 'without'}_c_gives_the_published_proof",
                       proves, daemon, keys[with_c], with_c)
        suite.case("a_broken_witness_is_refused", refuses_a_broken_witness, daemon)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
