"""Starts a program as a container engine would: no privilege, no new ones, and a system-call filter
that refuses what the default ones refuse, io_uring above all. `confine.py UID PROGRAM ARGUMENT...`"""

import ctypes
import os
import struct
import sys

EPERM, ENOSYS = 1, 38
REFUSED = {  # x86-64
    425: EPERM, 426: EPERM, 427: EPERM,  # io_uring_setup, _enter, _register
    237: EPERM, 238: EPERM, 239: EPERM,  # mbind, set_mempolicy, get_mempolicy
    101: EPERM, 165: EPERM, 166: EPERM, 272: EPERM, 308: EPERM,  # ptrace, mount, umount2, unshare, setns
    248: EPERM, 249: EPERM, 250: EPERM,  # add_key, request_key, keyctl
    298: EPERM, 321: EPERM, 323: EPERM,  # perf_event_open, bpf, userfaultfd
    435: ENOSYS,  # clone3
}
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def filter_program():
    code = [struct.pack("HBBI", LOAD, 0, 0, 0)]  # the number
    for number, error in REFUSED.items():
        code.append(struct.pack("HBBI", EQUAL, 0, 1, number))
        code.append(struct.pack("HBBI", RETURN, 0, 0, ERRNO | error))
    code.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
    return b"".join(code), len(code)


def main():
    uid = int(sys.argv[1])
    if os.geteuid() == 0 and uid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    libc = ctypes.CDLL(None, use_errno=True)
    text, count = filter_program()
    buffer = ctypes.create_string_buffer(text)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", count, ctypes.addressof(buffer)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        sys.exit(f"confine.py: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
