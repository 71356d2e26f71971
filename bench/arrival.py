"""How late a token is stamped while a window is busy: the worker against a bare loop.

    python -m bench.arrival [ROUNDS]

A server sends an event every 10 ms to two readers, one right after the other and in turns first,
and writes down when. One reader is the worker's own loop (`core.measure.exchange`, with its
telemetry thread and its outbox, in a process of its own), the other a bare loop of recv and clock
in another process; whatever else the computer does hits both. Meanwhile this process keeps a window
painting. Lag is the stamp less the moment of sending; the clock is the system's monotonic one,
which all processes share.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from threading import Event, Thread

BAR_RATIO, BAR_MS = 1.2, 0.1
ROUNDS = 10
EVENTS, STEP = 200, 0.010


def serve(count: int) -> None:
    """Stream so many times to two readers at once; the stamps of sending are printed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        for _ in range(count):
            readers: dict[str, socket.socket] = {}
            while len(readers) < 2:
                connection, _ = listening.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += connection.recv(65536)
                readers["--worker" if b"/completion" in asked else "--bare"] = connection
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                )
            sent: dict[str, list[int]] = {name: [] for name in readers}
            due = time.perf_counter()
            for number in range(EVENTS):
                due += STEP
                values = {"content": " word", "tokens_predicted": number + 1, "stop": False}
                data = _chunk(values)
                time.sleep(max(0.0, due - time.perf_counter()))
                for name in sorted(readers, reverse=bool(number % 2)):
                    sent[name].append(time.perf_counter_ns())
                    readers[name].sendall(data)
            for connection in readers.values():
                connection.sendall(_chunk({"stop": True, "tokens_predicted": EVENTS}) + _END)
                connection.close()
            print(json.dumps(sent), flush=True)


_END = b"0\r\n\r\n"


def _chunk(values: dict[str, object]) -> bytes:
    data = f"data: {json.dumps(values)}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def worker(port: int) -> None:
    """The program's own way to read a stream; its stamps are printed."""
    from core.measure import exchange
    from core.measure.control import Control
    from core.measure.dialects import llama_server
    from core.measure.events import Progress, TelemetryRead
    from core.measure.recorder import Recorder
    from core.measure.run import SampleKind
    from core.measure.telemetry import Sampler
    from core.measure.telemetry.system import System
    from core.measure.wire.http import Address, request_bytes
    from core.measure.worker import SWITCH_SECONDS, Outbox

    sys.setswitchinterval(SWITCH_SECONDS)
    control = Control()
    outbox = Outbox(io.BytesIO(), control.cancel)
    sampler = Sampler(lambda r: outbox.say(TelemetryRead(r)), System(os.getppid()), [], zero_ns=0)
    sampler.start()
    address = Address("127.0.0.1", port)
    one = exchange.Exchange(request_bytes(address, "/completion"), Recorder(llama_server.read))
    exchange.exchange_all(
        address,
        [one],
        control,
        first_seconds=10,
        stall_seconds=10,
        most_tokens=10**9,
        watch=lambda now: outbox.say(Progress(0, 1, "run", 0.5, now[0].recorder.written)),
    )
    sampler.stop()
    outbox.close()
    sample = one.recorder.sample(SampleKind.RUN, one.started_ns)
    print(json.dumps([one.started_ns + at for at in sample.arrivals_ns]))


def bare(port: int) -> None:
    """The least that anybody can do."""
    stamps = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while data := connection.recv(65536):
            now = time.perf_counter_ns()
            stamps += [now] * data.count(b'"content": " word"')
    print(json.dumps(stamps))


def _lags(server: subprocess.Popen[str], port: int) -> dict[str, list[float]]:
    """Milliseconds from sending to stamp, for each reader and event."""
    readers = {
        way: subprocess.Popen(
            [sys.executable, "-m", "bench.arrival", way, str(port)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for way in ("--worker", "--bare")
    }
    stamps = {
        way: json.loads(process.communicate(timeout=120)[0]) for way, process in readers.items()
    }
    assert server.stdout is not None
    sent = json.loads(server.stdout.readline())
    return {
        way: [(stamp - at) / 1e6 for stamp, at in zip(stamps[way], sent[way], strict=True)]
        for way in readers
    }


def _paint(over: Event) -> None:
    """A window that paints all the time, as a plot does that grows."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QApplication, QWidget

    class Busy(QWidget):
        def paintEvent(self, event: object) -> None:
            painter = QPainter(self)
            for x in range(0, 1280, 4):
                painter.drawLine(x, 0, 1280 - x, 800)
            painter.end()

    application = QApplication.instance() or QApplication([])
    window = Busy()
    window.resize(1280, 800)
    window.show()
    while not over.is_set():
        window.repaint()
        application.processEvents()
    window.close()


def main(rounds: int = ROUNDS) -> None:
    """Print both readers' lags and how they compare."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.arrival", "--serve", str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    found: dict[str, list[float]] = {"--worker": [], "--bare": []}
    over = Event()

    def measure() -> None:
        for _ in range(rounds):
            for way, lags in _lags(server, port).items():
                found[way] += lags
        over.set()

    measuring = Thread(target=measure)
    measuring.start()
    _paint(over)
    measuring.join()
    server.wait(10)
    for name, share in (("median", 0.5), ("p99", 0.99)):
        ours, theirs = (
            sorted(found[way])[int(share * (len(found[way]) - 1))] for way in ("--worker", "--bare")
        )
        bar = BAR_RATIO * theirs + BAR_MS
        print(f"{name:6}  worker {ours:.3f} ms  bare {theirs:.3f} ms  (bar: {bar:.3f} ms)")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--serve", count]:
            serve(int(count))
        case ["--worker", port]:
            worker(int(port))
        case ["--bare", port]:
            bare(int(port))
        case [count]:
            main(int(count))
        case _:
            main()
