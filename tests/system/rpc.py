"""A client of cuzkd in Python, written from protocol/PROTOCOL.md alone.

Needs Debian's python3-msgpack. Blocking, one request at a time.
"""

import os
import socket

import msgpack


class RemoteError(Exception):
    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message = error["code"], error["message"]
        self.retry_after_ms = error.get("retry_after_ms")


class Client:
    def __init__(self, path, timeout=120):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        connection.connect(path)
        self.adopt(connection, timeout)

    def adopt(self, connection, timeout):
        """A socket that is connected already."""
        self.socket = connection
        self.socket.settimeout(timeout)
        self.unpacker = msgpack.Unpacker(raw=False, max_buffer_size=1 << 21)
        self.next_id = 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame, descriptors=()):
        """The first byte carries the descriptors."""
        if descriptors:
            sent = socket.send_fds(self.socket, [frame], list(descriptors))
            frame = frame[sent:]
        self.socket.sendall(frame)

    def receive(self):
        """The next frame, or None at the end of the connection."""
        while True:
            for frame in self.unpacker:
                return frame
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.unpacker.feed(data)

    def call(self, method, params=None, descriptors=()):
        msgid, self.next_id = self.next_id, self.next_id + 1
        self.send(msgpack.packb([0, msgid, method, [{} if params is None else params]]), descriptors)
        reply = self.receive()
        if reply is None:
            raise ConnectionError("the daemon closed the connection")
        kind, answered, error, result = reply
        assert (kind, answered) == (1, msgid), reply
        if error is not None:
            raise RemoteError(error)
        return result

    def submit(self, circuit, inputs, **more):
        """inputs: bytes (sent inline) or paths (sent as descriptors). Returns the job's number."""
        items, descriptors = [], []
        for item in inputs:
            if isinstance(item, bytes):
                items.append({"inline": item})
            else:
                descriptors.append(os.open(item, os.O_RDONLY))
                items.append({"fd": True})
        try:
            params = dict(circuit=circuit, inputs=items, fds=len(descriptors), **more)
            return self.call("submit", params, descriptors)["job"]
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def wait(self, job):
        """The last answer of `wait`, once the job has ended."""
        while True:
            answer = self.call("wait", {"job": job, "timeout_ms": 60000})
            if answer["state"] in ("done", "failed", "cancelled"):
                return answer

    def public(self, job, partition):
        values, total = [], 1
        while len(values) < total:
            answer = self.call("public", {"job": job, "partition": partition,
                                          "first": len(values)})
            total = answer["total"]
            if not total:
                break
            values += answer["values"]
        return values
