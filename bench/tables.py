"""100,000 tensors: opening the table, sorting by every column, filtering, first paint, copying.

    python -m bench.tables

Each figure is the median of five rounds with cold key lists, in milliseconds of wall time; the
processor's own time stands beside it, for a machine that is busy with other things.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time

ROWS = 100_000
ROUNDS = 5
BAR_MS = 200


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication

    from core.gguf.header import Header, Kind, ModelFile, Tensor
    from core.gguf.source import FilePlace
    from core.model.model import WHOLE, CacheFacts, Model, Role, Shape, Weights
    from core.tabular import TextFormat
    from gui.tables.tensors import TensorTable
    from gui.tables.view import SheetView

    app = QApplication.instance() or QApplication([])
    chance = Random(1)
    parts = (
        "attn_q",
        "attn_k",
        "attn_v",
        "attn_output",
        "ffn_up_exps",
        "ffn_down_exps",
        "ffn_norm",
    )
    types = (("Q4_K", 12, 144), ("Q6_K", 14, 210), ("IQ4_XS", 23, 136))
    shapes = [(256 * chance.randint(1, 64), chance.randint(1, 4096)) for _ in range(200)]
    tensors, layers, roles, offset = [], [], [], 0
    for number in range(ROWS):
        layer = number // len(parts)
        part = parts[number % len(parts)]
        name, type_id, block = chance.choice(types)
        shape = chance.choice(shapes)
        size = shape[0] * shape[1] // 256 * block
        tensors.append(
            Tensor(
                f"blk.{layer}.{part}.weight",
                shape,
                type_id,
                name,
                offset,
                size,
                shape[0] * shape[1],
            )
        )
        layers.append(layer)
        roles.append(Role.EXPERTS if "exps" in part else Role.ATTENTION)
        offset += -(-size // 32) * 32
    chance.shuffle(tensors)
    header = Header(
        FilePlace(Path("many.gguf")), offset, 0, 3, data_offset=0, tensors=tuple(tensors)
    )
    weights = Weights(
        label="",
        blocks=(),
        formats=(),
        tensor_types=tuple(t.type_name for t in tensors),
        tensor_bytes=tuple(t.bytes for t in tensors),
        bytes=sum(t.bytes for t in tensors),
        read_per_token=0,
        parameters=sum(t.parameters for t in tensors),
        active_parameters=0,
        file_bytes=None,
    )
    model = Model(
        file=ModelFile(header, (header,), Kind.MODEL, tuple(tensors)),
        architecture="llama",
        name="many",
        label="",
        mix="",
        tied=False,
        shape=Shape(0, 0, None, None, None, (), (), None, None, (), 0, 0, None),
        weights=weights,
        cache=CacheFacts(known=True),
        tensor_roles=tuple(roles),
        tensor_layers=tuple(int(t.name.split(".")[1]) for t in tensors),
        tensor_reads=(WHOLE,) * len(tensors),
    )

    def timed(words: str, work: Callable[[TensorTable], object], bar: int | None = BAR_MS) -> None:
        times, own = [], []
        for _ in range(ROUNDS):
            table = TensorTable()
            table.set_model(model)
            start, start_own = perf_counter(), process_time()
            work(table)
            times.append((perf_counter() - start) * 1000)
            own.append((process_time() - start_own) * 1000)
        figures = f"{median(times):7.1f} ms   processor {median(own):7.1f} ms"
        print(f"{words:46} {figures}" + (f"   bar {bar}" if bar else ""))

    def sorting(column: int) -> Callable[[TensorTable], object]:
        return lambda table: table.sort(column, Qt.SortOrder.DescendingOrder)

    def filtering(text: str) -> Callable[[TensorTable], object]:
        return lambda table: table.set_filter(text)

    def copying(form: TextFormat) -> Callable[[TensorTable], object]:
        return lambda table: table.copied(table.rows, [0, 1, 2, 5, 6, 7, 8, 9], form)

    print(f"{ROWS:,} tensors")
    timed("set the model", lambda table: table.set_model(model), None)
    probe = TensorTable()
    probe.set_model(model)
    for column in range(len(probe.columns)):
        timed(
            f"sort by {probe.columns[column].title}",
            sorting(column),
        )
    for text in ("attn", "blk.77 exps q6_k", "nowhere"):
        timed(f"filter “{text}”", filtering(text))

    def sort_then_filter(table: TensorTable) -> None:
        table.sort(0, Qt.SortOrder.DescendingOrder)
        table.set_filter("attn q6_k")

    timed("sort by Bytes, then filter", sort_then_filter)

    def shown(table: TensorTable) -> None:
        view = SheetView(table, "tensor")
        view.resize(420, 700)
        view.show_columns(table.hidden_columns())
        view.show()
        view.grab()
        app.processEvents()

    timed("first view, to painted", shown, None)

    table = TensorTable()
    table.set_model(model)
    view = SheetView(table, "tensor")
    view.resize(420, 700)
    view.show_columns(table.hidden_columns())
    view.show()
    view.grab()
    view.selectRow(500)
    times = []
    for column in (0, 2, 6) * ROUNDS:
        start = perf_counter()
        table.sort(column, Qt.SortOrder.AscendingOrder)
        view.grab()
        times.append((perf_counter() - start) * 1000)
    print(f"{'sort again in the view, a row kept, painted':46} {median(times):7.1f} ms")
    times = []
    for text in ("a", "at", "att", "attn", "attn q") * ROUNDS:
        start = perf_counter()
        table.set_filter(text)
        view.grab()
        times.append((perf_counter() - start) * 1000)
    words = "a letter typed in the filter, painted"
    print(f"{words:46} {median(times):7.1f} ms   worst {max(times):.1f} ms")
    for form in TextFormat:
        timed(
            f"copy all as {form.value}",
            copying(form),
            None,
        )
    view.close()


if __name__ == "__main__":
    main()
