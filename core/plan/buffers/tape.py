"""What llama.cpp's graph allocator would reserve, from the operations of a few layers.

llama.cpp reserves its compute buffer by walking the prompt's graph once: a tensor is placed in the
best fitting free block when its operation comes, and its block is freed after its last reader
(ggml-alloc.c of b11434). A `Tape` records the same operations in the same order; `compile_tape`
works out what lives when, and `peaks` walks the blocks. Sizes are linear in the number of cells
of each cache, so that one tape serves every context.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NewType, TypeAlias

# A tensor by its number on the tape; a view of it is its complement.
Tensor = NewType("Tensor", int)

# A size in bytes: a constant, then bytes per cell of each cache (a part of one where blocks of
# cells share a value).
Size: TypeAlias = tuple[float, ...]

HOST = 0  # device 0 is always the host; GPUs follow
_ENDLESS = 1 << 62
_MOST = 1 << 60  # bytes of one tensor: what no memory holds
_COPIES = 4  # of everything that enters a device, where several work at once (ggml-backend.cpp)


def view(tensor: Tensor) -> Tensor:
    """The tensor seen through a reshape, permutation or slice: it cannot be written in place."""
    return tensor if tensor < 0 else Tensor(~tensor)


@dataclass(frozen=True, slots=True)
class _Op:
    size: Size
    reads: tuple[Tensor, ...]
    in_place: bool
    device: int | None  # None: wherever its neighbours run
    scratch: Size | None
    into: int = -1  # the tensor that the result is a part of; nothing is placed


@dataclass
class Tape:
    """The operations of a graph, in the order they run.

    A tensor is described first and runs when `run` reaches it: after everything that it reads,
    first readings first, as llama.cpp orders a graph. ``device`` is where operations that read a
    weight run; set it as layers are described.
    """

    caches: int
    device: int = HOST
    ops: list[_Op | None] = field(default_factory=list)  # None for an input
    sizes: list[Size] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    order: list[tuple[int, tuple[int, ...], int | None]] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    homes: dict[int, int] = field(default_factory=dict)  # of leaves that are not on the host
    externals: set[int] = field(default_factory=set)

    def fixed(self, size: float) -> Size:
        """A size that no context changes."""
        return (size,) + (0,) * self.caches

    def per_cell(self, cache: int, size: float) -> Size:
        """So many bytes for every cell of one cache."""
        return tuple(size if index == cache + 1 else 0 for index in range(self.caches + 1))

    def input(self, size: Size) -> Tensor:
        """A tensor that the host fills before the graph runs."""
        return self._new(size, None)

    def leaf(self, size: Size) -> Tensor:
        """A tensor that is placed before the graph runs, on the current layer's device."""
        tensor = self._new(size, None)
        self.homes[tensor] = self.device
        return tensor

    def external(self, size: Size) -> Tensor:
        """A tensor with memory of its own on the current device: it takes room only as a copy."""
        tensor = self._new(size, None)
        self.homes[tensor] = self.device
        self.externals.add(tensor)
        return tensor

    def weigh(self, size: Size, *reads: Tensor, in_place: bool = False) -> Tensor:
        """An operation that reads a weight: it runs where the weight lies."""
        return self._new(size, _Op(size, reads, in_place, self.device, None))

    def op(
        self, size: Size, *reads: Tensor, in_place: bool = False, scratch: Size | None = None
    ) -> Tensor:
        """An operation without weights. ``in_place`` allows the result over a first reader's block.

        ``scratch`` is what some backends keep behind the result.
        """
        return self._new(size, _Op(size, reads, in_place, None, scratch))

    def write(self, into: Tensor, *reads: Tensor) -> Tensor:
        """Rows set in an existing tensor; gives that tensor as it is afterwards."""
        root = into if into >= 0 else ~into
        op = _Op(self.sizes[root], (*reads, into), False, None, None, root)
        return view(self._new(self.sizes[root], op))

    def part(self, of: Tensor, size: Size) -> Tensor:
        """A named part of a tensor: read elsewhere, it is copied for itself."""
        return view(self._new(size, _Op(size, (), False, None, None, of)))

    def over(self, tensor: Tensor, *reads: Tensor) -> Tensor:
        """An operation of the same shape as what it reads first, in place where that is allowed."""
        root = tensor if tensor >= 0 else ~tensor
        return self.op(self.sizes[root], tensor, *reads, in_place=True)

    def over_weight(self, tensor: Tensor, *reads: Tensor) -> Tensor:
        """`over` with a weight: a scale, a bias."""
        root = tensor if tensor >= 0 else ~tensor
        return self.weigh(self.sizes[root], tensor, *reads, in_place=True)

    def run(self, tensor: Tensor) -> Tensor:
        """Let everything run that this tensor needs and has not run yet."""
        todo = [(tensor if tensor >= 0 else ~tensor, False)]
        while todo:
            number, read = todo.pop()
            op = self.ops[number]
            if op is not None and op.into >= 0 and not op.reads:
                todo.append((op.into, False))
                continue
            if read:
                assert op is not None
                self.order.append((number, op.reads, op.device))
            elif number not in self.seen:
                self.seen.add(number)
                if op is None:
                    if number not in self.externals:
                        self.inputs.append(number)
                else:
                    todo.append((number, True))
                    todo.extend((r if r >= 0 else ~r, False) for r in reversed(op.reads))
        return tensor

    def on_host(self, size: Size, *reads: Tensor) -> Tensor:
        """An operation that the GPU leaves to the host."""
        return self._new(size, _Op(size, reads, False, HOST, None))

    def store(self, *reads: Tensor) -> None:
        """A write into the cache of the current layer: nothing new is allocated."""
        for read in reads:
            self.run(read)
        self.order.append((-1, reads, self.device))

    def keep(self, tensor: Tensor) -> None:
        """An output of the graph: its block is never freed."""
        self.kept.add(tensor if tensor >= 0 else ~tensor)

    def _new(self, size: Size, op: _Op | None) -> Tensor:
        self.sizes.append(size)
        self.ops.append(op)
        return Tensor(len(self.sizes) - 1)


# Blocks, and for each the size index of what is placed, or -1 where it is freed. Arrays, because
# hundreds of programs are kept while sliders move: pairs take ten times the memory.
Events: TypeAlias = tuple["array[int]", "array[int]"]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled tape: blocks placed and freed, by device. ``sizes`` are the distinct ones."""

    sizes: tuple[Size, ...]
    events: tuple[Events, ...]


def _devices(tape: Tape) -> list[int]:
    """Where every operation runs: at its weight, else on a GPU beside it, else on the host.

    The scheduler hands operations without weights first downwards, then upwards from GPU
    operations, and what is left to the host's neighbours (ggml-backend.cpp, pass 2).
    """
    found = [device for _, _, device in tape.order]
    for gpu_only in (True, False):
        for order in (range(len(found)), range(len(found) - 1, -1, -1)):
            current: int | None = None
            for index in order:
                device = found[index]
                if device is not None:
                    current = None if gpu_only and device == HOST else device
                elif current is not None:
                    found[index] = current
    return [HOST if device is None else device for device in found]


def compile_tape(tape: Tape, devices: int, pipelined: bool = False) -> Program:
    """Work out copies between devices, results in place and the life of every block.

    ``pipelined`` devices work on several batches at once: inputs and copies exist several times,
    from the beginning to the end.
    """
    where = _devices(tape)
    into = {n: op.into for n, op in enumerate(tape.ops) if op is not None and op.into >= 0}
    home: dict[int, int] = dict.fromkeys(tape.inputs, HOST) | tape.homes
    for (result, _, _), device in zip(tape.order, where, strict=True):
        if result >= 0:
            home[result] = device
    sizes = list(tape.sizes)

    # What is read on another device is copied there, when that device's turn begins.
    copies: dict[tuple[int, int], int] = {}
    copied_at: dict[int, list[tuple[int, int]]] = {}
    steps: list[tuple[int, tuple[int, ...]]] = []
    turn = 0
    for index, ((result, reads, _), device) in enumerate(zip(tape.order, where, strict=True)):
        if index and device != where[index - 1]:
            turn = index
        local = []
        for read in reads:
            named = root = read if read >= 0 else ~read
            while root in into:
                root = into[root]
                read = Tensor(~root)
            if home[root] == device:
                local.append(int(read))
                continue
            copy = copies.get((named, device))
            if copy is None:
                copy = copies[named, device] = len(sizes)
                sizes.append(tape.sizes[named])
                home[copy] = device
                copied_at.setdefault(turn, []).append((root, copy))
            local.append(copy if read >= 0 else ~copy)
        steps.append((result, tuple(local)))

    uses = [0] * len(sizes)
    for pairs in copied_at.values():
        for root, _ in pairs:
            uses[root] += 1
    for _, local_reads in steps:
        for read in local_reads:
            uses[read if read >= 0 else ~read] += 1

    distinct: dict[Size, int] = {}
    events: list[Events] = [(array("i"), array("i")) for _ in range(devices)]
    block = list(range(len(sizes)))  # the block that a tensor lies in

    repeated = {*tape.inputs, *copies.values()} if pipelined else set()
    kept = tape.kept | repeated

    def note(device: int, tensor: int, index: int) -> None:
        blocks, indices = events[device]
        blocks.append(tensor)
        indices.append(index)

    def place(tensor: int) -> None:
        size = sizes[tensor]
        op = tape.ops[tensor] if tensor < len(tape.ops) else None
        if op is not None and op.scratch is not None:
            size = tuple(a + b for a, b in zip(size, op.scratch, strict=True))
        index = distinct.setdefault(size, len(distinct))
        for _ in range(_COPIES if tensor in repeated else 1):
            note(home[tensor], tensor, index)

    def release(tensor: int) -> None:
        if tensor not in kept and tensor not in tape.externals:
            note(home[tensor], block[tensor], -1)

    for tensor in tape.inputs:
        place(tensor)
    if pipelined:
        for copy in copies.values():
            place(copy)
    for index, (result, local_reads) in enumerate(steps):
        for root, copy in copied_at.get(index, ()):
            if not pipelined:
                place(copy)
            uses[root] -= 1
            if not uses[root]:
                release(root)
        taken = -1
        if result >= 0 and result not in into:
            op = tape.ops[result]
            assert op is not None
            if op.in_place:
                for read in local_reads:
                    if (
                        read >= 0
                        and uses[read] == 1
                        and sizes[read] == sizes[result]
                        and read not in kept
                    ):
                        taken = read
                        block[result] = block[read]
                        break
            if taken < 0:
                place(result)
        for read in local_reads:
            root = read if read >= 0 else ~read
            uses[root] -= 1
            if not uses[root] and root != taken:
                release(root)
    return Program(tuple(distinct), tuple(events))


def peaks(program: Program, cells: Sequence[int], alignment: Sequence[int]) -> list[int]:
    """Bytes that each device's allocator reaches with so many cells in each cache.

    Raises OverflowError where keys that lie give a tensor a size that none can have.
    """
    sizes: list[int] = []
    for constant, *slopes in program.sizes:
        size = constant
        for slope, count in zip(slopes, cells, strict=True):
            size += slope * count
        sizes.append(ceil(size))
    if sizes and not 0 <= min(sizes) <= max(sizes) <= _MOST:
        raise OverflowError("a tensor of the graph")
    return [
        _peak(events, [(size + a - 1) // a * a for size in sizes])
        for events, a in zip(program.events, alignment, strict=True)
    ]


def _peak(events: Events, sizes: list[int]) -> int:
    """The highest byte in use. Free blocks by address; the last one has no end."""
    starts, spaces = [0], [_ENDLESS]
    highest = 0
    placed: dict[int, tuple[int, int]] = {}
    for block, index in zip(*events, strict=True):
        if index >= 0:
            size = sizes[index]
            if not size:
                placed[block] = (0, 0)
                continue
            if size in spaces:  # the best fit of all, the last of several
                position = len(spaces) - 1 - spaces[::-1].index(size)
                offset = starts.pop(position)
                del spaces[position]
            else:
                best, position = _ENDLESS, 0
                for number, space in enumerate(spaces):
                    if size <= space <= best:
                        best, position = space, number
                offset = starts[position]
                starts[position] = offset + size
                if best < _ENDLESS:
                    spaces[position] = best - size
            end = offset + size
            if end > highest:
                highest = end
            placed[block] = (offset, end)
            continue
        offset, end = placed[block]
        if offset == end:
            continue
        position = bisect_left(starts, offset)
        before = position - 1
        if before >= 0 and starts[before] + spaces[before] == offset:
            if starts[position] == end:
                spaces[before] = _joined(spaces[before] + end - offset, spaces.pop(position))
                del starts[position]
            else:
                spaces[before] += end - offset
        elif starts[position] == end:
            starts[position] = offset
            spaces[position] = _joined(end - offset, spaces[position])
        else:
            starts.insert(position, offset)
            spaces.insert(position, end - offset)
    return highest


def _joined(size: int, space: int) -> int:
    return space if space == _ENDLESS else size + space
