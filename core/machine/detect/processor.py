"""The processor's name, and whether the computer is a virtual one."""

from __future__ import annotations

import platform
import re
import sys


def name_from_cpuinfo(cpuinfo: str) -> str:
    """The name in the text of /proc/cpuinfo; empty where it has none, as on most ARM systems."""
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return tidy(found[1]) if found else ""


def is_virtual(cpuinfo: str) -> bool:
    """Whether /proc/cpuinfo carries the hypervisor flag that x86 sets inside virtual machines."""
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    return flags is not None and "hypervisor" in flags[1].split()


def in_wsl() -> bool:
    """Whether this is Linux inside Windows, whose PCI bus shows no GPU."""
    return "microsoft" in platform.release().lower()


def tidy(name: str) -> str:
    """A processor's name without marks and doubled blanks."""
    return " ".join(re.sub(r"\((?:R|TM|r|tm)\)", " ", name).split())


def name_elsewhere() -> str:
    """The name on systems without /proc/cpuinfo: the registry on Windows, else the platform's."""
    if sys.platform == "win32":
        import winreg

        path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
                value, _ = winreg.QueryValueEx(key, "ProcessorNameString")
                return tidy(str(value))
        except OSError:
            pass
    # A name: what was measured is kept under it, in whatever language.
    return tidy(platform.processor()) or f"{platform.machine()} processor"
