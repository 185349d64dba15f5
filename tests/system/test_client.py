#!/usr/bin/python3
"""A client in another language, written from protocol/PROTOCOL.md alone, and hostile ones: whatever
arrives on the socket, the daemon goes on serving and holds nothing afterwards."""

import contextlib
import json
import os
import socket
import time

import msgpack

from harness import Circuit, Daemon, Failure, Suite, expect, expect_equal, seeded_random, verify
import rpc


# ---- the protocol used as it is meant

def submits_and_reads_result(daemon, circuit, witness):
    """witness: a path (sent as descriptor) or bytes (inline)."""
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [witness])
        answer = client.wait(job)
        expect_equal((answer["state"], answer["partitions"], answer["done"]), ("done", 1, 1), "wait")
        result = client.call("result", {"job": job})
        expect_equal(result["circuit"], circuit.label, "circuit")
        signals = client.public(job, 0)
        expect_equal(len(signals), result["public_count"], "public signals")
        proof, public = daemon.folder / "client.proof", daemon.folder / "client.public"
        proof.write_text(json.dumps(result["proofs"][0]))
        public.write_text(json.dumps(signals))
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        expect("total" in result["phases_ms"][0], f"phases: {result['phases_ms'][0]}")


def mixed_inputs(daemon, circuit):
    """Inline and descriptor inputs in one job, in order."""
    with rpc.Client(daemon.socket) as client:
        one, two = circuit.witnesses
        job = client.submit(circuit.label, [one, two.read_bytes(), two, one.read_bytes()])
        expect_equal(client.wait(job)["state"], "done", "state")
        signals = [client.public(job, i) for i in range(4)]
        expect(signals[0] == signals[3] != signals[1] == signals[2], f"order: {signals}")


def hello_and_status(daemon):
    with rpc.Client(daemon.socket) as client:
        hello = client.call("hello")
        expect_equal(hello["pid"], daemon.process.pid, "pid")
        expect_equal(hello["admin"], False, "admin")
        status = client.call("status")
        for key in ("version", "uptime_ms", "event_loop", "flags", "hugepages", "rings", "workers",
                    "gpu", "jobs", "circuits", "slots", "limits"):
            expect(key in status, f"status lacks {key}")
    with rpc.Client(daemon.socket.replace(".sock", "-admin.sock")) as client:
        expect_equal(client.call("hello")["admin"], True, "admin")


def requests_may_be_pipelined(daemon):
    with rpc.Client(daemon.socket) as client:
        client.send(b"".join(msgpack.packb([0, i, "hello", [{}]]) for i in range(50)))
        expect_equal(sorted(client.receive()[1] for _ in range(50)), list(range(50)), "msgids")


def wait_answers_after_its_timeout(daemon, circuit):
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [circuit.witnesses[0]] * 20)
        answer = client.call("wait", {"job": job, "timeout_ms": 0})
        expect(answer["state"] in ("queued", "running", "done"), f"{answer}")
        later = client.call("wait", {"job": job, "timeout_ms": 60000, "seen": answer["version"]})
        expect(later["version"] != answer["version"] or later["state"] == "done", f"{later}")
        expect_equal(client.wait(job)["state"], "done", "state")


def cancel_ends_a_job(daemon, circuit):
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [circuit.witnesses[0]] * 100)
        outcome = client.call("cancel", {"job": job})["outcome"]
        expect_equal(outcome, "cancelled", "outcome")
        expect_equal(client.wait(job)["state"], "cancelled", "state")
        expect_equal(client.call("cancel", {"job": job})["outcome"], "cancelled", "second cancel")
        expect_error(client, "cancelled", "result", {"job": job})


def job_outlives_its_connection(daemon, circuit):
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [circuit.witnesses[0]])
    with rpc.Client(daemon.socket) as client:
        expect_equal(client.wait(job)["state"], "done", "state")
        expect_equal(client.call("cancel", {"job": job})["outcome"], "too_late", "cancel")


def expect_error(client, codes, method, params, descriptors=()):
    try:
        answer = client.call(method, params, descriptors)
    except rpc.RemoteError as error:
        expect(error.code in codes.split(), f"{method} {params}: {error}, expected {codes}")
        expect(len(error.message) > 5, f"{method}: no message")
        return
    raise Failure(f"{method} {str(params)[:200]} was accepted: {answer}")


def wrong_requests_are_answered(daemon, circuit):
    witness = circuit.witnesses[0].read_bytes()
    inline = [{"inline": witness}]
    label = circuit.label
    table = [
        ("usage", "no_such_method", {}), ("usage", "", {}),
        ("usage", "hello", {"extra": 1}), ("usage", "submit", {}),
        ("usage", "submit", {"circuit": label}),
        ("usage", "submit", {"circuit": label, "inputs": []}),
        ("usage", "submit", {"circuit": label, "inputs": inline * 129}),
        ("usage", "submit", {"circuit": label, "inputs": inline, "priority": "urgent"}),
        ("usage", "submit", {"circuit": label, "inputs": inline, "priority": 7}),
        ("usage", "submit", {"circuit": label, "inputs": inline, "priorty": "low"}),
        ("usage", "submit", {"circuit": 5, "inputs": inline}),
        ("usage", "submit", {"circuit": "a/b", "inputs": inline}),
        ("usage", "submit", {"circuit": "x" * 65, "inputs": inline}),
        ("usage", "submit", {"circuit": "", "inputs": inline}),
        ("not_found", "submit", {"circuit": "absent", "inputs": inline}),
        ("usage", "submit", {"circuit": label, "inputs": [{"inline": "text"}]}),
        ("usage bad_input", "submit", {"circuit": label, "inputs": [{"inline": b""}]}),
        ("usage bad_input", "submit", {"circuit": label, "inputs": [{"inline": bytes(65537)}]}),
        ("usage", "submit", {"circuit": label, "inputs": [{}]}),
        ("usage", "submit", {"circuit": label, "inputs": [{"fd": False}]}),
        ("usage", "submit", {"circuit": label, "inputs": [{"inline": b"x", "fd": True}]}),
        ("usage", "submit", {"circuit": label, "inputs": {"inline": b"x"}}),
        ("usage", "submit", {"circuit": label, "inputs": inline, "fds": -1}),
        ("usage", "submit", {"circuit": label, "inputs": inline, "fds": "1"}),
        ("not_found", "wait", {"job": 999999, "timeout_ms": 0}),
        ("usage", "wait", {"job": 1}), ("usage", "wait", {"job": "1", "timeout_ms": 0}),
        ("usage not_found", "wait", {"job": 0, "timeout_ms": 0}),
        ("usage", "wait", {"job": -1, "timeout_ms": 0}),
        ("usage", "wait", {"job": 1, "timeout_ms": 60001}),
        ("usage", "wait", {"job": 1.5, "timeout_ms": 0}),
        ("not_found", "result", {"job": 1 << 63}),
        ("not_found", "cancel", {"job": 999999}),
        ("usage", "jobs", {"limit": 0}), ("usage", "jobs", {"limit": 1001}),
        ("usage", "jobs", {"state": "asleep"}), ("usage", "status", []),
        ("denied", "circuit_remove", {"name": label}),
    ]
    for codes, method, params in table:
        # Some wrong requests end the connection, so each has its own.
        with rpc.Client(daemon.socket) as client:
            expect_error(client, codes, method, params)


def public_is_bounded(daemon, circuit):
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, [circuit.witnesses[0]])
        client.wait(job)
        for params in ({"job": job, "partition": 1, "first": 0},
                       {"job": job, "partition": 0, "first": 99999},
                       {"job": job, "partition": 0, "first": -1},
                       {"job": job, "partition": 1 << 40, "first": 0}):
            expect_error(client, "usage not_found", "public", params)


# ---- bytes that are no request

def hostile_frames(rng):
    hello = msgpack.packb([0, 1, "hello", [{}]])
    yield "never_used_byte", b"\xc1" * 10
    yield "array_of_4_billion", b"\xdd\xff\xff\xff\xff" + b"\x00" * 100
    yield "map_of_4_billion", b"\x94\x00\x01\xa5hello\x91\xdf\xff\xff\xff\xff" + b"\x00" * 100
    yield "string_of_4_gib", b"\x94\x00\x01\xdb\xff\xff\xff\xff" + b"a" * 100
    yield "binary_of_4_gib_cut_off", b"\x94\x00\x01\xc6\xff\xff\xff\xff" + b"a" * 1000
    yield "arrays_100000_deep", b"\x91" * 100000
    yield "maps_100000_deep", b"\x81\xa1a" * 100000
    yield "array32_in_array32", b"\xdd\x00\x01\x00\x00" * 10000
    yield "extension_type", b"\x94\x00\x01\xa5hello\x91\xc7\x04\x01abcd"
    yield "fixext_as_frame", b"\xd4\x01\x00"
    yield "map_as_frame", msgpack.packb({"method": "hello"})
    yield "integer_as_frame", b"\x07"
    yield "string_as_frame", msgpack.packb("hello")
    yield "nil_as_frame", b"\xc0"
    yield "http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield "tls_hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    yield "two_mebibytes_of_one_frame", msgpack.packb([0, 1, "hello", [{"x": bytes(2 << 20)}]])
    yield "many_values", msgpack.packb([0, 1, "hello", [{"x": [0] * 900000}]])
    yield "request_of_3", msgpack.packb([0, 1, "hello"])
    yield "request_of_5", msgpack.packb([0, 1, "hello", [{}], 1])
    yield "empty_array", b"\x90"
    yield "reply_as_request", msgpack.packb([1, 1, None, {}])
    yield "notification", msgpack.packb([2, "hello", [{}]])
    yield "type_is_text", msgpack.packb(["0", 1, "hello", [{}]])
    yield "msgid_negative", msgpack.packb([0, -1, "hello", [{}]])
    yield "msgid_too_large", msgpack.packb([0, 1 << 32, "hello", [{}]])
    yield "method_is_number", msgpack.packb([0, 1, 7, [{}]])
    yield "method_not_utf8", b"\x94\x00\x01\xa3\xff\xfe\xfd\x91\x80"
    yield "params_two_maps", msgpack.packb([0, 1, "hello", [{}, {}]])
    yield "params_none", msgpack.packb([0, 1, "hello", []])
    yield "params_key_is_number", msgpack.packb([0, 1, "hello", [{1: 2}]])
    yield "params_key_twice", b"\x94\x00\x01\xa4wait\x91\x82\xa3job\x01\xa3job\x01"
    for cut in range(1, len(hello)):
        yield f"cut_at_{cut}", hello[:cut]
    for number in range(20):
        yield f"random_{number}", rng.randbytes(rng.randrange(1, 5000))
    for number in range(20):
        changed = bytearray(msgpack.packb(
            [0, 5, "submit", [{"circuit": "mul.bn128", "inputs": [{"inline": b"x" * 40}]}]]))
        for _ in range(3):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        yield f"changed_{number}", bytes(changed)


def survives_bytes(daemon, data):
    """Sends, ends the sending side, reads whatever comes until the daemon closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(daemon.socket)
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            total = 0
            while chunk := connection.recv(1 << 16):
                total += len(chunk)
                expect(total < 4 << 20, "endless reply")
        except (BrokenPipeError, ConnectionResetError):
            pass
    with rpc.Client(daemon.socket, timeout=20) as client:
        client.call("hello")


def slow_sender_is_served(daemon):
    frame = msgpack.packb([0, 3, "hello", [{}]])
    with rpc.Client(daemon.socket) as slow, rpc.Client(daemon.socket) as other:
        for i in range(len(frame)):
            slow.send(frame[i:i + 1])
            begin = time.monotonic()
            other.call("hello")
            expect(time.monotonic() - begin < 2, "others wait for the slow sender")
            time.sleep(0.01)
        expect_equal(slow.receive()[1], 3, "msgid")


def stalled_readers_hurt_nobody(daemon):
    """Requests without end, no reply ever read: the daemon must neither block nor grow."""
    frame = msgpack.packb([0, 3, "status", [{}]]) * 50
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stalled = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            stalled.connect(daemon.socket)
            stalled.setblocking(False)
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                for _ in range(200):
                    stalled.send(frame)
        begin = time.monotonic()
        with rpc.Client(daemon.socket, timeout=20) as client:
            client.call("hello")
        expect(time.monotonic() - begin < 5, "stalled readers delay others")
        resident = int(next(line.split()[1] for line in open(f"/proc/{daemon.process.pid}/status")
                            if line.startswith("VmRSS")))
        expect(resident < 400 << 10, f"the daemon grew to {resident >> 10} MiB")


def too_many_connections(daemon):
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(rpc.Client(daemon.socket, timeout=20))
        first.call("hello")
        for _ in range(600):
            connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(5)
            with contextlib.suppress(OSError):
                connection.connect(daemon.socket)
        first.call("hello")
    deadline = time.monotonic() + 10
    while True:
        try:
            with rpc.Client(daemon.socket, timeout=20) as client:
                client.call("hello")
            return
        except (ConnectionError, OSError):
            expect(time.monotonic() < deadline, "serves nobody after the crowd has gone")
            time.sleep(0.1)


# ---- descriptors

@contextlib.contextmanager
def descriptors_of(daemon, kind, witness, count=1):
    opened = []
    try:
        for _ in range(count):
            if kind == "regular":
                opened.append(os.open(witness, os.O_RDONLY))
            elif kind == "o_path":
                opened.append(os.open(witness, os.O_PATH))
            elif kind == "direct":
                opened.append(os.open(witness, os.O_RDONLY | os.O_DIRECT))
            elif kind == "write_only":
                copy = daemon.folder / "write-only"
                copy.write_bytes(witness.read_bytes())
                opened.append(os.open(copy, os.O_WRONLY))
            elif kind == "fifo":
                path = daemon.folder / "client.fifo"
                if not path.exists():
                    os.mkfifo(path)
                opened.append(os.open(path, os.O_RDWR))
            elif kind == "socket":
                pair = socket.socketpair()
                opened += [pair[0].detach()]
                pair[1].close()
            elif kind == "directory":
                opened.append(os.open(daemon.folder, os.O_RDONLY))
            elif kind == "device":
                opened.append(os.open("/dev/zero", os.O_RDONLY))
            elif kind == "eventfd":
                opened.append(os.eventfd(1))
            elif kind == "memfd":
                opened.append(os.memfd_create("witness"))
                os.write(opened[-1], witness.read_bytes())
            elif kind == "the_daemons_own_socket":
                own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                own.connect(daemon.socket)
                opened.append(own.detach())
        yield opened
    finally:
        for descriptor in opened:
            os.close(descriptor)


def refuses_descriptor(daemon, circuit, kind):
    """Refused at submit, or the job fails with bad_input; never a hang."""
    with descriptors_of(daemon, kind, circuit.witnesses[0]) as fds, \
            rpc.Client(daemon.socket, timeout=30) as client:
        params = {"circuit": circuit.label, "inputs": [{"fd": True}], "fds": 1}
        try:
            job = client.call("submit", params, fds)["job"]
        except rpc.RemoteError as error:
            expect(error.code in ("usage", "bad_input"), f"{error}")
            return
        answer = client.wait(job)
        expect_equal((answer["state"], answer["error"]["code"]), ("failed", "bad_input"), "job")


def accepts_memfd(daemon, circuit):
    with descriptors_of(daemon, "memfd", circuit.witnesses[0]) as fds, \
            rpc.Client(daemon.socket) as client:
        job = client.call("submit", {"circuit": circuit.label, "inputs": [{"fd": True}], "fds": 1},
                          fds)["job"]
        expect_equal(client.wait(job)["state"], "done", "state")


def wrong_count(daemon, circuit, sent, said, inputs):
    """Answered with usage and closed (or just closed), never accepted."""
    with descriptors_of(daemon, "regular", circuit.witnesses[0], sent) as fds, \
            rpc.Client(daemon.socket, timeout=30) as client:
        params = {"circuit": circuit.label, "inputs": [{"fd": True}] * inputs, "fds": said}
        try:
            answer = client.call("submit", params, fds)
        except rpc.RemoteError as error:
            expect_equal(error.code, "usage", "code")
        except (ConnectionError, OSError):
            return
        else:
            raise Failure(f"accepted: {answer}")
        with contextlib.suppress(ConnectionError, OSError):
            expect_equal(client.receive(), None, "the connection is closed")


def descriptors_with_every_byte(daemon, circuit):
    """A descriptor beside every byte of a request, and none of them wanted."""
    frame = msgpack.packb([0, 1, "hello", [{}]])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(daemon.socket)
        with descriptors_of(daemon, "regular", circuit.witnesses[0], 250) as fds, \
                contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for i in range(len(frame)):
                socket.send_fds(connection, [frame[i:i + 1]], fds)
            connection.recv(1 << 16)
    with rpc.Client(daemon.socket, timeout=20) as client:
        client.call("hello")


def file_shrinks_after_submit(daemon, circuit):
    """The client breaks its word: the job may fail or not, the daemon lives."""
    path = daemon.folder / "shrinks.wtns"
    with rpc.Client(daemon.socket) as client:
        for size in (0, 70, 100):
            path.write_bytes(circuit.witnesses[0].read_bytes())
            job = client.submit(circuit.label, [path] * 8)
            os.truncate(path, size)
            expect(client.wait(job)["state"] in ("done", "failed"), "state")


def main():
    suite = Suite("client")
    circuit, bls = Circuit("mul", "bn128"), Circuit("chain12", "bls12381")
    rng = seeded_random()
    with Daemon() as daemon:
        for each in (circuit, bls):
            daemon.add(each)
            daemon.prove(each.label, [each.witnesses[0]])
        before = daemon.idle_state()
        one = suite.case
        one("submits_by_descriptor", submits_and_reads_result, daemon, bls, bls.witnesses[1])
        one("submits_inline", submits_and_reads_result, daemon, circuit,
            circuit.witnesses[0].read_bytes())
        one("mixed_inputs_keep_order", mixed_inputs, daemon, circuit)
        one("hello_and_status", hello_and_status, daemon)
        one("requests_may_be_pipelined", requests_may_be_pipelined, daemon)
        one("wait_answers_after_its_timeout", wait_answers_after_its_timeout, daemon, circuit)
        one("cancel_ends_a_job", cancel_ends_a_job, daemon, bls)
        one("job_outlives_its_connection", job_outlives_its_connection, daemon, circuit)
        one("wrong_requests_are_answered", wrong_requests_are_answered, daemon, circuit)
        one("public_is_bounded", public_is_bounded, daemon, circuit)
        for name, data in hostile_frames(rng):
            one(f"survives_{name}", survives_bytes, daemon, data)
        one("slow_sender_is_served", slow_sender_is_served, daemon)
        one("stalled_readers_hurt_nobody", stalled_readers_hurt_nobody, daemon)
        one("too_many_connections", too_many_connections, daemon)
        for kind in ("o_path", "direct", "write_only", "fifo", "socket", "directory", "device", "eventfd",
                     "the_daemons_own_socket"):
            one(f"refuses_{kind}_descriptor", refuses_descriptor, daemon, circuit, kind)
        one("accepts_memfd", accepts_memfd, daemon, circuit)
        for sent, said, inputs in ((0, 1, 1), (1, 2, 2), (2, 1, 1), (1, 0, 1), (1, 1, 2), (200, 1, 1),
                                   (200, 200, 200), (1, 200, 1)):
            one(f"refuses_{sent}_sent_{said}_said_{inputs}_inputs", wrong_count, daemon, circuit,
                sent, said, inputs)
        one("descriptors_with_every_byte", descriptors_with_every_byte, daemon, circuit)
        one("file_shrinks_after_submit", file_shrinks_after_submit, daemon, circuit)
        one("proves_the_next_good_job", submits_and_reads_result, daemon, bls, bls.witnesses[0])
        one("nothing_is_held_afterwards", daemon.expect_back_to, before)
        one("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
