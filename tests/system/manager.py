"""Plays the service manager for a daemon under test, as systemd would: listening sockets and stored
descriptors are handed over at start (LISTEN_FDS), and what the daemon says on NOTIFY_SOCKET is
received, with the descriptors that it puts into the store."""

import array
import os
import socket
import subprocess
import sys
import threading
import time

from harness import CUZKD, Daemon, PATIENCE, expect, expect_equal, wait_gone, wait_until

# Puts the inherited descriptors at 3 and up, as the protocol wants them, under the daemon's own pid.
LAUNCH = """
import fcntl, os, sys
count = int(sys.argv[1])
high = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 600) for fd in sys.argv[2:2 + count]]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i, inheritable=True)
    os.close(fd)
if count:
    os.environ["LISTEN_PID"] = str(os.getpid())
if "WATCHDOG_USEC" in os.environ:
    os.environ["WATCHDOG_PID"] = str(os.getpid())
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


class Managed(Daemon):
    """A daemon under the played manager. sockets: which of "submit" and "admin" are activated."""

    def __init__(self, sections=None, environment=None, sockets=("submit", "admin"), start=True,
                 watchdog_s=0):
        super().__init__(sections, environment, start=False)
        self.messages = []  # of the running process: [{key: value}]
        self.senders = set()
        self.store = []  # [(name, fd)]
        self.stored_order = []
        self.listening = []
        self.lock = threading.Lock()
        self.program = CUZKD
        if watchdog_s:
            self.environment["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        notify = f"{self.folder}/notify"
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.notify.bind(notify)
        self.environment["NOTIFY_SOCKET"] = notify
        for name in sockets:
            self.listen(name)
        self.thread = threading.Thread(target=self._hear, daemon=True)
        self.thread.start()
        if start:
            try:
                self.start()
            except BaseException:
                self.discard()
                raise

    def path_of(self, name):
        return self.socket if name == "submit" else self.socket.replace(".sock", "-admin.sock")

    def listen(self, name):
        path = self.path_of(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(64)
        self.listening.append((name, listener))

    def _hear(self):
        while True:
            try:
                data, ancillary, _, _ = self.notify.recvmsg(65536, 8192)
            except OSError:
                return
            if not data:
                return
            message, fds = {}, []
            for line in data.decode().split("\n"):
                key, _, value = line.partition("=")
                message[key] = value
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(content[:len(content) // 4 * 4])
                    fds += list(numbers)
                elif level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    numbers = array.array("i")
                    numbers.frombytes(content)
                    message["pid"] = numbers[0]
            with self.lock:
                if message.get("FDSTORE") == "1":
                    self.store += [(message.get("FDNAME", "stored"), fd) for fd in fds]
                    fds = []
                if message.get("FDSTOREREMOVE") == "1":
                    gone = [e for e in self.store if e[0] == message.get("FDNAME")]
                    self.store = [e for e in self.store if e[0] != message.get("FDNAME")]
                    fds += [fd for _, fd in gone]
                message["at"] = time.monotonic()
                self.messages.append(message)
            for fd in fds:
                os.close(fd)

    def heard(self, key):
        with self.lock:
            return [m[key] for m in self.messages if key in m]

    def stored(self):
        with self.lock:
            return sorted(name for name, _ in self.store)

    def launch(self):
        """Starts the daemon; does not wait."""
        with self.lock:
            self.messages = []
            given = [(name, l.fileno()) for name, l in self.listening] + self.store
        environment = dict(self.environment)
        if given:
            environment["LISTEN_FDS"] = str(len(given))
            environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in given)
        fds = [fd for _, fd in given]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", LAUNCH, str(len(fds)), *map(str, fds), self.program,
                 "--config", self.config], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=fds)

    def start(self, timeout=60):
        self.launch()
        wait_until(self.said_ready, timeout, "READY=1 is heard")

    def said_ready(self):
        expect(self.process.poll() is None, lambda: f"the daemon ended with "
               f"{self.process.returncode}:\n{self.log()[-3000:]}")
        return "1" in self.heard("READY")

    def kill(self):
        """kill -9, and waits for the workers to follow."""
        process, self.process = self.process, None
        process.kill()
        process.wait()
        expect_equal(wait_gone(self.mark), {}, "processes left after kill -9")

    def forget(self):
        """Empties the store, as the manager does when the unit is stopped."""
        with self.lock:
            for _, fd in self.store:
                os.close(fd)
            self.store = []

    def expect_nothing_left(self):
        expect_equal(wait_gone(self.mark), {}, "processes left behind")
        for name, _ in self.listening:
            expect(os.path.exists(self.path_of(name)), f"the manager's socket {name} was removed")

    def discard(self):
        super().discard()
        for _, listener in self.listening:
            listener.close()
        self.listening = []
        try:
            self.notify.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.notify.close()
        self.forget()
