"""How late a token is stamped while a window is busy: the worker against a bare loop.

    python -m bench.arrival [PAIRS]

A server sends an event every 10 ms and writes down when. The same stream is read by the worker's
own loop (`core.measure.exchange`, with its telemetry thread and its outbox, in a process of its
own) and by a bare loop of recv and clock in another process, in turns, while this process keeps a
window painting. Lag is the stamp less the moment of sending; the clock is the system's monotonic
one, which all processes share.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from statistics import median
from threading import Event, Thread

BAR_RATIO, BAR_MS = 1.2, 0.1
PAIRS = 7
EVENTS, STEP = 200, 0.010


def serve(count: int) -> None:
    """Answer so many requests, one after the other; the stamps of sending are printed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        for _ in range(count):
            connection, _ = listening.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while b"\r\n\r\n" not in connection.recv(65536):
                    pass
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                )
                sent, due = [], time.perf_counter()
                for number in range(EVENTS):
                    due += STEP
                    time.sleep(max(0.0, due - time.perf_counter()))
                    values = {"content": " word", "tokens_predicted": number + 1, "stop": False}
                    data = f"data: {json.dumps(values)}\n\n".encode()
                    sent.append(time.perf_counter_ns())
                    connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
                data = b'data: {"content":"","stop":true,"tokens_predicted":200}\n\n'
                connection.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
            print(json.dumps(sent), flush=True)


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


def _lags(server: subprocess.Popen[str], way: str, port: int) -> list[float]:
    """Milliseconds from sending to stamp, for each event."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.arrival", way, str(port)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    assert server.stdout is not None
    sent = json.loads(server.stdout.readline())
    stamps = json.loads(done.stdout)
    return [(stamp - at) / 1e6 for stamp, at in zip(stamps, sent, strict=True)]


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


def main(pairs: int = PAIRS) -> None:
    """Print both ways' lags and how they compare."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.arrival", "--serve", str(2 * pairs)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    found: dict[str, list[list[float]]] = {"--worker": [], "--bare": []}
    over = Event()

    def measure() -> None:
        for number in range(pairs):
            ways = list(found)
            for way in ways if number % 2 else reversed(ways):
                found[way].append(_lags(server, way, port))
        over.set()

    measuring = Thread(target=measure)
    measuring.start()
    _paint(over)
    measuring.join()
    server.wait(10)
    for name, share in (("median", 0.5), ("p99", 0.99)):
        ours, theirs = (
            median(sorted(lags)[int(share * (len(lags) - 1))] for lags in found[way])
            for way in ("--worker", "--bare")
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
