"""A file system that answers until it is told to hang: one file, /input, over /dev/fuse, served by a
process of its own that dies with the test. Needs root and /dev/fuse.

Requests of the test itself are always answered, those of its children are not: nothing may be
forked while the file is open here and hangs."""

import ctypes
import mmap
import os
import signal
import stat
import struct
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
LOOKUP, FORGET, GETATTR, OPEN, READ, FLUSH, RELEASE, INIT = 1, 2, 3, 14, 15, 25, 18, 26
INTERRUPT, BATCH_FORGET = 36, 42
NOT_ANSWERED = (FORGET, INTERRUPT, BATCH_FORGET)
MNT_DETACH = 2


class Unavailable(Exception):
    """Why such a file system cannot be had here."""


class HangingFolder:
    def __init__(self, size):
        self.size, self.shared, self.test = size, mmap.mmap(-1, 1), os.getpid()
        try:
            fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"/dev/fuse: {error.strerror}") from None
        self.folder = tempfile.mkdtemp(prefix="cuzk-test-fuse-")
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"cuzk-test", self.folder.encode(), b"fuse", 6, options) < 0:
            error = os.strerror(ctypes.get_errno())
            os.close(fd)
            os.rmdir(self.folder)
            raise Unavailable(f"mount: {error}")
        self.server = os.fork()
        if self.server == 0:
            try:
                LIBC.prctl(1, signal.SIGKILL)
                self._serve(fd)
            finally:
                os._exit(0)
        os.close(fd)

    def hang(self):
        self.shared[0] = 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Whoever waits gets an error."""
        if self.server == 0:
            return
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        self.server = 0
        LIBC.umount2(self.folder.encode(), MNT_DETACH)
        os.rmdir(self.folder)

    @property
    def path(self):
        return os.path.join(self.folder, "input")

    def _attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 0) if node == 1 else (stat.S_IFREG | 0o644, self.size)
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0,
                           0, 0, 4096, 0)

    def _answer(self, opcode, node, body):
        if opcode == INIT:
            return struct.pack("<IIIIHHII12I", 7, 31, 0, 0, 12, 9, 1 << 17, 1, *[0] * 12)[:64]
        if opcode == LOOKUP:
            if body != b"input\0":
                return 2  # ENOENT
            return struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + self._attributes(2)
        if opcode == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if opcode == OPEN:
            return struct.pack("<QII", 1, 1, 0)  # direct: no page cache
        if opcode == READ:
            count = struct.unpack_from("<I", body, 16)[0]
            return b"\0" * count
        if opcode in (FLUSH, RELEASE):
            return b""
        return 38  # ENOSYS

    def _serve(self, fd):
        while True:
            request = os.read(fd, (1 << 17) + 4096)
            length, opcode, unique, node, _, _, pid = struct.unpack_from("<IIQQIII", request)
            is_ours = os.path.exists(f"/proc/{self.test}/task/{pid}")
            if opcode in NOT_ANSWERED or (self.shared[0] and not is_ours and opcode != RELEASE):
                continue
            answer = self._answer(opcode, node, request[40:length])
            error, answer = (-answer, b"") if isinstance(answer, int) else (0, answer)
            try:
                os.write(fd, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)
            except OSError:
                pass  # who asked is gone
