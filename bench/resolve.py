"""One plan, as a slider asks for it: ``python -m bench.resolve``.

The model is the bundled Qwen3.6-35B-A3B (753 tensors), and the same with more layers (2,000
tensors), on a graphics card beside 64 GiB of RAM. Milliseconds of processor time, so that what else
runs here counts little. "new" options have not been chosen before: what is kept from one plan to
the next (weights by device, the walk through the graph) has to be made first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from statistics import median
from time import process_time

from core.gguf import open_file
from core.gguf.header import ModelFile, Tensor
from core.machine import catalogue, with_ram
from core.model import model_from
from core.model.model import Model
from core.plan import resolve
from core.plan.choice import CACHE_TYPES, Choice
from core.plan.plan import Plan

SPECIMEN = "Qwen3.6-35B-A3B-Q4_K_M.gguf"
MACHINE = with_ram(catalogue.machine("nvidia-geforce-rtx-3090"), 64 * 2**30)
MANY = 2_000
BAR_MS = 1.0
TIMES = 200


def main() -> None:
    path = Path(str(files("resources") / "specimens" / SPECIMEN))
    print(f"bar: {BAR_MS:g} ms")
    for file in (open_file(path), larger(open_file(path))):
        points = len(resolve(model_from(file), MACHINE, Choice(context=262_144)).speed.curve)
        print(f"{len(file.tensors):,} tensors, curve of {points} points")
        steps("context", file, lambda n: Choice(context=1024 * (n + 1)))
        steps("depth", file, lambda n: Choice(context=262_144, depth=1000 * n))
        steps("cache type, new", file, _cache_types, fresh=True)
        steps("layers on the GPU", file, lambda n: Choice(gpu_layers=n % 40))
        steps("layers on the GPU, new", file, lambda n: Choice(gpu_layers=n % 40), fresh=True)


def larger(file: ModelFile) -> ModelFile:
    """The file with the blocks of its trunk repeated until it has so many tensors."""
    architecture = file.header.metadata["general.architecture"]
    layers = model_from(file).shape.layers
    blocks: dict[int, list[Tensor]] = {}
    tensors = []
    for tensor in file.tensors:
        if tensor.name.startswith("blk."):
            blocks.setdefault(int(tensor.name.split(".")[1]), []).append(tensor)
        else:
            tensors.append(tensor)
    count = 0
    while len(tensors) < MANY:
        for tensor in blocks[count % layers]:
            name = re.sub(r"\d+", str(count), tensor.name, count=1)
            tensors.append(tensor._replace(name=name))
        count += 1
    header = file.header
    metadata = {
        **header.metadata,
        f"{architecture}.block_count": count,
        f"{architecture}.nextn_predict_layers": 0,
    }
    grown = replace(header, metadata=metadata, tensors=tuple(tensors))
    return replace(file, header=grown, headers=(grown,), tensors=tuple(tensors))


def _cache_types(n: int) -> Choice:
    types = len(CACHE_TYPES)
    return Choice(cache_k=CACHE_TYPES[n % types], cache_v=CACHE_TYPES[n // types % types])


def steps(
    words: str, file: ModelFile, choice: Callable[[int], Choice], *, fresh: bool = False
) -> None:
    """Median and worst time of so many choices; a ``fresh`` model has no earlier plan."""
    model = model_from(file)
    if not fresh:
        for n in range(TIMES):
            resolve(model, MACHINE, choice(n))
    times = sorted(_times(model, choice, TIMES if not fresh else len(CACHE_TYPES) ** 2))
    print(
        f"  {words:24} median {median(times):6.2f} ms   p99 {times[int(0.99 * len(times))]:6.2f} ms"
    )


def _times(model: Model, choice: Callable[[int], Choice], count: int) -> Iterator[float]:
    plan: Plan | None = None
    for n in range(count):
        asked = choice(n)
        start = process_time()
        plan = resolve(model, MACHINE, asked)
        yield 1000 * (process_time() - start)
    assert plan is not None


if __name__ == "__main__":
    main()
