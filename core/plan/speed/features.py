"""What the time of one token depends on: the names of the coefficients that are fitted.

The plan, ``calibration check`` and the script that fits (``bench/calibration``) all go through
here, so that what is fitted is what is predicted.

    seconds = bytes of weights / bandwidth x exp(read) + bytes of cache / bandwidth x exp(cache)
              + layers x exp(layer) + layers with experts x exp(experts) + exp(token)

Each exponent is a sum of coefficients: one for everything, one for the backend, one for the
architecture, and so on. A coefficient without data stays at nothing, so a thin group falls back to
the wider one it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from core.machine.machine import Backend, Device
from core.machine.rows import RowKind
from core.provenance import Rank

LLAMA_CPP = "llama.cpp"
LLAMAFILE = "llamafile"
IPEX = "ipex-llm"

PLAIN = ""  # a quantization that is read like most
# Some formats are read slower or faster than their bytes say.
_FORMATS = {
    **dict.fromkeys(("Q2_K", "Q3_K"), "2 and 3 bits"),
    **dict.fromkeys(
        ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"), "small i-quants"
    ),
    "MXFP4": "mxfp4",
}
_AMD = ("RDNA", "CDNA", "GCN")
_INTEL = ("Xe", "Generation")
_NVIDIA = ("Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell")
# Backends with enough cards of each architecture to tell them apart.
_BY_ARCHITECTURE = (Backend.CUDA, Backend.METAL, Backend.ROCM)
_SMALL_GPU = 8e12  # 32-bit operations per second; a GPU on the processor below it computes too slow
_CPU_REFERENCE = 50e9  # bytes per second
_CPU_EXPONENT = 0.3  # of what a processor reaches less as its memory gets faster


@dataclass(frozen=True, slots=True)
class Hardware:
    """A device as far as its speed goes. Rates are bytes and operations per second; None and ""
    where they are not known. ``measured`` says that the bandwidth was timed on the computer."""

    backend: Backend
    bandwidth: float
    architecture: str = ""
    memory_type: str = ""
    part: RowKind | None = None
    catalogue_id: str = ""
    flops: float | None = None
    flops32: float | None = None
    cores: float | None = None
    measured: bool = False

    @property
    def vendor(self) -> str:
        """Of the GPU, as its architecture tells."""
        for words, name in ((_AMD, "amd"), (_INTEL, "intel"), (_NVIDIA, "nvidia")):
            if self.architecture.startswith(words):
                return name
        return ""

    @property
    def group(self) -> str:
        """Whose runs it is compared with: the backend, Vulkan by vendor."""
        if self.backend is Backend.VULKAN and self.vendor:
            return f"{self.backend}/{self.vendor}"
        return self.backend.value

    @property
    def bandwidth_counted(self) -> float:
        """What bytes are divided by. Processors reach the less of their memory's rate the higher it
        is; a rate that was measured on one says what it reaches."""
        if self.backend is not Backend.CPU or self.measured:
            return self.bandwidth
        return float(self.bandwidth * (self.bandwidth / _CPU_REFERENCE) ** -_CPU_EXPONENT)


class Names(NamedTuple):
    """Coefficients of each term of a token's time. ``packed`` is the cache where it is quantized,
    ``token`` empty where nothing is spent besides the layers."""

    read: tuple[str, ...]
    cache: tuple[str, ...]
    packed: tuple[str, ...]
    layer: tuple[str, ...]
    experts: tuple[str, ...]
    token: tuple[str, ...]


def names(
    hardware: Hardware, engine: str = LLAMA_CPP, *, old: bool = False, flash: bool = True
) -> Names:
    """The coefficients for a device. ``old`` is a llama.cpp from before 2025, ``flash`` whether
    attention went through flash attention."""
    backend, group, vendor = hardware.backend.value, hardware.group, hardware.vendor
    read = ["read", f"read {backend}"]
    layer = ["layer", f"layer {backend}"]
    experts = ["experts", f"experts {backend}"]
    if group != backend:
        read.append(f"read {group}")
        layer.append(f"layer {group}")
        experts.append(f"experts {group}")
    if hardware.measured and hardware.backend is Backend.CPU:
        read = ["read cpu measured"]
    if hardware.memory_type.startswith("HBM"):
        read.append("read HBM")
    if hardware.architecture and hardware.backend in _BY_ARCHITECTURE:
        read.append(f"read {backend} {hardware.architecture}")
        layer.append(f"layer {backend} {hardware.architecture}")
    if hardware.backend is Backend.METAL and "ultra" in hardware.catalogue_id:
        read.append("read two dies")
    small = hardware.part is RowKind.APU and (hardware.flops32 or _SMALL_GPU) < _SMALL_GPU
    if small and vendor in ("amd", "intel") and hardware.backend is not Backend.CPU:
        read.append("read small gpu")
    if old:
        layer.append("layer old")
    token: tuple[str, ...] = ()
    if engine != LLAMA_CPP and hardware.backend is not Backend.CPU:
        read += [f"read {engine}", f"read {engine} {backend}"]
        layer += [f"layer {engine}", f"layer {engine} {backend}"]
        token = (f"token {engine}", f"token {engine} {backend}")
    cache = ["cache", f"cache {backend}"]
    if not flash:
        cache += ["cache without flash", f"cache without flash {backend}"]
    return Names(
        tuple(read),
        tuple(cache),
        (*cache, "cache packed"),
        tuple(layer),
        tuple(experts),
        token,
    )


def format_class(type_name: str, backend: Backend, *, experts: bool) -> str:
    """How a tensor type is read: a name of few formats, or ``PLAIN``."""
    if type_name == "BF16":  # Vulkan is slow at picking experts in it
        return "bf16 experts" if experts and backend is Backend.VULKAN else PLAIN
    return _FORMATS.get(type_name, PLAIN)


def read_names(base: tuple[str, ...], format_class: str) -> tuple[str, ...]:
    """The coefficients for weights of such a class."""
    return (*base, f"format {format_class}") if format_class else base


def hardware_of(device: Device, backend: Backend) -> Hardware | None:
    """A device of a plan on one backend; None where its bandwidth is not known."""
    if not device.bandwidth.value:
        return None
    return Hardware(
        backend=backend,
        bandwidth=device.bandwidth.value,
        architecture=device.architecture,
        memory_type=device.memory_type,
        part=device.part,
        catalogue_id=device.catalogue_id,
        flops=device.flops.value,
        flops32=device.flops32.value,
        cores=None if device.cores is None else device.cores.value,
        measured=device.bandwidth.source.rank is Rank.MEASURED,
    )


class PrefillNames(NamedTuple):
    """Coefficients of the time of one token of a prompt: its arithmetic, and a pass over all
    weights that a chunk shares. ``rate`` is what the operations are divided by."""

    rate: float
    compute: tuple[str, ...]
    read: tuple[str, ...]


def prefill_names(
    hardware: Hardware, *, experts: bool, whole: bool = False, old: bool = False
) -> PrefillNames | None:
    """What a prompt is computed with; None where nobody tells how fast the device computes.

    The peak of 16-bit matrix arithmetic where it is known, else that of plain 32-bit arithmetic;
    for Apple's chips the cores of the GPU, at 10^12 operations per second each. ``whole`` is a
    model in 16 bits, which needs no unpacking; ``old`` a llama.cpp from before 2025.
    """
    backend = hardware.backend.value
    if hardware.backend is Backend.CPU:
        return None
    if hardware.flops:
        rate, kind = hardware.flops, "prefill"
    elif hardware.flops32:
        rate, kind = hardware.flops32, "prefill 32"
    elif hardware.cores and hardware.backend is Backend.METAL:
        rate, kind = hardware.cores * 1e12, "prefill cores"
    else:
        return None
    compute = [kind, f"{kind} {backend}"]
    if hardware.group != backend:
        compute.append(f"{kind} {hardware.group}")
    if hardware.architecture:
        compute.append(f"{kind} {backend} {hardware.architecture}")
    if experts:
        compute += ["prefill experts", f"prefill experts {backend}"]
    if whole:
        compute += ["prefill whole", f"prefill whole {backend}"]
    if old:
        compute += ["prefill old", f"prefill old {backend}"]
    return PrefillNames(rate, tuple(compute), ("prefill read",))
