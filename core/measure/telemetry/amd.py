"""AMD GPUs on Linux, through the files of their driver (kernel documentation, amdgpu thermal)."""

from __future__ import annotations

from pathlib import Path

from core.measure.readings import GpuReading

_AMD = "0x1002"
_MEGAHERTZ = 1e6


class AmdGpus:
    """All cards of the amdgpu driver below a system's root; none elsewhere."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._cards: list[Path] = []
        try:
            cards = sorted((root / "sys/class/drm").glob("card[0-9]*/device"))
            self._cards = [card for card in cards if _text(card / "vendor") == _AMD]
        except OSError:
            pass

    def read(self) -> tuple[GpuReading, ...]:
        """One reading of each card."""
        return tuple(self._gpu(card) for card in self._cards)

    def _gpu(self, card: Path) -> GpuReading:
        sensors = next(iter(sorted((card / "hwmon").glob("hwmon*"))), card / "hwmon")
        power = _number(sensors / "power1_average")
        if power is None:
            power = _number(sensors / "power1_input")
        busy = _number(card / "gpu_busy_percent")
        used, total = _number(card / "mem_info_vram_used"), _number(card / "mem_info_vram_total")
        spilled = _number(card / "mem_info_gtt_used")
        return GpuReading(
            name=_text(card / "product_name") or "AMD GPU",
            use=None if busy is None else busy / 100,
            clock=_scaled(sensors / "freq1_input", 1 / _MEGAHERTZ),
            most_clock=_most_clock(card / "pp_dpm_sclk"),
            memory_clock=_scaled(sensors / "freq2_input", 1 / _MEGAHERTZ),
            power=None if power is None else power / 1e6,
            most_power=_scaled(sensors / "power1_cap", 1e-6),
            temperature=_scaled(sensors / "temp1_input", 1e-3),
            memory_used=used,
            memory_total=total,
            spilled=spilled,
            memory_use=_scaled(card / "mem_busy_percent", 0.01),
        )


def _most_clock(path: Path) -> float | None:
    """The highest of the clock's levels: lines like "2: 2404Mhz *"."""
    words = [line.split() for line in _text(path).splitlines()]
    clocks = [w[1].lower().removesuffix("mhz") for w in words if len(w) > 1]
    return max((float(c) for c in clocks if c.isdecimal()), default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _scaled(path: Path, factor: float) -> float | None:
    number = _number(path)
    return None if number is None else number * factor
