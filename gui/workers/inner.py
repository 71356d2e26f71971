"""A program of our own beside the window, spoken to in lines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from core.measure import inner

# What it may take to end by itself once it was asked to.
_END_MS = 5000


class InnerProcess(QObject):
    """One process at a time. It ends with this object, and with this program however that ends:
    its standard input closes then, and whatever runs in it watches that."""

    said = Signal(str)  # text as it comes, with its line ends
    ended = Signal(int)  # its exit status; -1 where it crashed or did not start

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._rest = b""

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Its process id; 0 where none runs."""
        return self._process.processId() if self._process is not None else 0

    def start(self, module: str, words: Sequence[str] = ()) -> None:
        """Run a module of `core.measure.inner`. Nothing happens where one runs already."""
        if self._process is not None:
            return
        program, *arguments = inner.command(module, *words)
        process = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUTF8", "1")
        environment.insert("PYTHONPATH", inner.python_path())
        process.setProcessEnvironment(environment)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._failed)
        self._process, self._rest = process, b""
        process.start(program, arguments)

    def write(self, line: str) -> None:
        """Say one line to it."""
        if self._process is not None:
            self._process.write(line.encode() + b"\n")

    def close(self) -> None:
        """Close its standard input: it ends by itself, and says what it has left to say."""
        if self._process is not None:
            self._process.closeWriteChannel()

    def end(self) -> None:
        """End it now and wait for that; nothing is heard of it any more."""
        process, self._process = self._process, None
        if process is None:
            return
        process.blockSignals(True)
        process.closeWriteChannel()
        if not process.waitForFinished(_END_MS):
            process.kill()
            process.waitForFinished(_END_MS)
        process.deleteLater()

    def _read(self) -> None:
        process = self._process
        if process is None:
            return
        data = self._rest + bytes(process.readAllStandardOutput().data())
        self._rest = b""
        text = ""
        # A letter may be cut in two by the end of a read.
        for cut in range(4):
            with suppress(UnicodeDecodeError):
                text = data[: len(data) - cut].decode()
                self._rest = data[len(data) - cut :]
                break
        else:
            text = data.decode("utf-8", "replace")
        if text:
            self.said.emit(text)

    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        self._over(code if status is QProcess.ExitStatus.NormalExit else -1)

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._over(-1)

    def _over(self, code: int) -> None:
        process = self._process
        if process is None:
            return
        self._read()
        if self._rest:
            self.said.emit(self._rest.decode("utf-8", "replace"))
        self._process = None
        process.deleteLater()
        self.ended.emit(code)
