"""The style of the page: two themes by what the reader's system prefers, and for paper."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files

from core.drawing import tones


def style() -> str:
    """Colours as variables, light and dark, and the rules that use them."""
    rules = (files("resources") / "report.css").read_text(encoding="utf-8")
    parts = "\n".join(
        f".fill-{kind.value} {{ fill: var(--{kind.value}); }}" for kind in tones.PARTS
    )
    light, dark = (_variables(number) for number in (0, 1))
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"{parts}\n{rules}"
    )


def _variables(theme: int) -> str:
    shades = asdict((tones.LIGHT, tones.DARK)[theme])
    shades |= {kind.value: hue[theme] for kind, (hue, _) in tones.PARTS.items()}
    return " ".join(f"--{name.replace('_', '-')}: {color};" for name, color in shades.items())
