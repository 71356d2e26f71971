"""Keeps one server for as long as somebody wants it, and not a moment longer.

    python -m core.measure.keeper PROGRAM [ARGUMENT ...]

starts the program and passes on what it prints. It ends the program when its own standard input
closes: when whoever started it says so, or has died, however suddenly. Where the keeper itself is
killed the system ends the program: Linux by a signal to the child of a parent that died, Windows by
a job that ends with its last handle (written by the documentation, not tested on Windows).

The exit status is the program's own, 128 + N for signal N; 0 where it was ended on purpose, and
`NOT_STARTED` after a line of `NOT_STARTED_WORDS` where it could not be started.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

NOT_STARTED = 127
NOT_STARTED_WORDS = "could not be started: "
# llama-server ends a request that runs first, which takes a batch at most; then it is killed.
GRACE_SECONDS = 3.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(command: list[str]) -> int:
    """Run this command until it ends or nobody wants it any more; returns the exit status."""
    if sys.platform == "win32":
        _end_with_this_process()
    unwanted = Event()
    started: list[subprocess.Popen[bytes]] = []

    def stop(*_: object) -> None:
        unwanted.set()
        for each in started:
            _signal(each, gently=True)

    # The child may speak, and somebody may answer by a signal, before this process runs again.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        # This is the only thread yet, and the one that lives longest: the signal of a parent's
        # death comes when the thread that made the child ends.
        child = _start(command, {**os.environ, "GGML_NO_BACKTRACE": "1"})
    except OSError as error:
        sys.stdout.write(f"{NOT_STARTED_WORDS}{error.strerror or error}\n")
        sys.stdout.flush()
        return NOT_STARTED
    started.append(child)
    if unwanted.is_set():
        _signal(child, gently=True)
    Thread(target=_listen, args=(child, unwanted), daemon=True).start()
    code: int = child.wait()
    _signal(child, gently=False)  # what it started and left behind
    if unwanted.is_set():
        return 0
    return 128 - code if code < 0 else code


def _listen(child: subprocess.Popen[bytes], unwanted: Event) -> None:
    """Until standard input closes; then end the child, first by asking."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    unwanted.set()
    _signal(child, gently=True)
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_SECONDS)
        return
    _signal(child, gently=False)


if sys.platform == "win32":
    from ctypes import wintypes

    _KILL_ON_JOB_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, winnt.h
    _EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("per_process_user_time", ctypes.c_int64),
            ("per_job_user_time", ctypes.c_int64),
            ("flags", wintypes.DWORD),
            ("minimum_working_set", ctypes.c_size_t),
            ("maximum_working_set", ctypes.c_size_t),
            ("active_processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority_class", wintypes.DWORD),
            ("scheduling_class", wintypes.DWORD),
        )

    class _Limits(ctypes.Structure):
        _fields_ = (
            ("basic", _BasicLimits),
            ("io", ctypes.c_uint64 * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process_memory", ctypes.c_size_t),
            ("peak_job_memory", ctypes.c_size_t),
        )

    def _end_with_this_process() -> None:
        """Put this process into a job whose only handle is its own: children join by themselves,
        and when the handle goes, they go."""
        system = ctypes.WinDLL("kernel32", use_last_error=True)
        system.CreateJobObjectW.restype = wintypes.HANDLE
        system.GetCurrentProcess.restype = wintypes.HANDLE
        job = wintypes.HANDLE(system.CreateJobObjectW(None, None))
        limits = _Limits()
        limits.basic.flags = _KILL_ON_JOB_CLOSE
        system.SetInformationJobObject(
            job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        system.AssignProcessToJobObject(job, wintypes.HANDLE(system.GetCurrentProcess()))

    def _start(command: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            env=environ,
            creationflags=subprocess.CREATE_NO_WINDOW,
        )

    def _signal(child: subprocess.Popen[bytes], *, gently: bool) -> None:
        with suppress(OSError):
            child.terminate()

else:

    def _start(command: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
        """In a group of its own, which is ended as a whole."""
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            env=environ,
            process_group=0,
            preexec_fn=_dying_with_the_parent(),
        )

    def _dying_with_the_parent() -> Callable[[], None] | None:
        if sys.platform != "linux":
            return None
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        parent = os.getpid()

        def end_with_the_parent() -> None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it died before it could be said
                os._exit(NOT_STARTED)

        return end_with_the_parent

    def _signal(child: subprocess.Popen[bytes], *, gently: bool) -> None:
        """To the whole group, which may outlive its first process."""
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGTERM if gently else signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
