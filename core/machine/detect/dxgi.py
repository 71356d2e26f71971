"""What Windows says of its graphics adapters, through DXGI: names, memory, and what is left of it.

COM is called by hand: an object is a pointer to a table of functions, whose order the interfaces'
definitions fix (dxgi.h, dxgi1_4.h). Nothing here makes a device, so that no sleeping GPU wakes.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

SOFTWARE = 2  # DXGI_ADAPTER_FLAG_SOFTWARE
_MOST = 32  # adapters
# Places in the tables of functions.
_QUERY_INTERFACE, _RELEASE = 0, 2
_ENUM_ADAPTERS1 = 12  # IDXGIFactory1
_GET_DESC1 = 10  # IDXGIAdapter1
_QUERY_VIDEO_MEMORY_INFO = 14  # IDXGIAdapter3
_FACTORY1 = bytes.fromhex("78ae0a776ff2ba4da829253c83d1b387")
_ADAPTER3 = bytes.fromhex("a467596492131043a7988053ce3e93fd")


class _Description(ctypes.Structure):
    """DXGI_ADAPTER_DESC1; a wide character of Windows is 16 bits."""

    _fields_ = (
        ("description", c_char * 256),
        ("vendor", c_uint32),
        ("device", c_uint32),
        ("subsystem", c_uint32),
        ("revision", c_uint32),
        ("dedicated_video", c_size_t),
        ("dedicated_system", c_size_t),
        ("shared_system", c_size_t),
        ("luid", c_uint32 * 2),
        ("flags", c_uint32),
    )


class _Budget(ctypes.Structure):
    """DXGI_QUERY_VIDEO_MEMORY_INFO."""

    _fields_ = (
        ("budget", c_uint64),
        ("current", c_uint64),
        ("available", c_uint64),
        ("reserved", c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter. Sizes in bytes: its own memory, RAM that it may use, and how much of its own
    memory Windows would give this program now (None if that is not told). ``vendor`` and ``device``
    are four hexadecimal digits."""

    name: str
    vendor: str
    device: str
    dedicated: int
    shared: int
    budget: int | None = None
    software: bool = False


def adapters(library: Any = None) -> tuple[Adapter, ...]:
    """The adapters of this system, one for each, in Windows' order; none where DXGI fails.

    ``library`` is dxgi.dll, loaded if it is not given. Raises nothing but what loading raises.
    """
    library = library or ctypes.CDLL("dxgi.dll")
    factory = c_void_p()
    if library.CreateDXGIFactory1(_FACTORY1, byref(factory)) < 0 or not factory:
        return ()
    found: dict[bytes, Adapter] = {}
    try:
        enum = _method(factory, _ENUM_ADAPTERS1, c_uint32, POINTER(c_void_p))
        for index in range(_MOST):
            adapter = c_void_p()
            if enum(factory, index, byref(adapter)) < 0 or not adapter:
                break
            try:
                luid, read = _read(adapter)
                found.setdefault(luid, read)
            finally:
                _release(adapter)
    finally:
        _release(factory)
    return tuple(found.values())


def _read(adapter: c_void_p) -> tuple[bytes, Adapter]:
    told = _Description()
    _method(adapter, _GET_DESC1, POINTER(_Description))(adapter, byref(told))
    name = bytes(told)[:256].decode("utf-16-le", "replace").split("\0")[0]
    return bytes(told.luid), Adapter(
        name=" ".join(name.split()),
        vendor=f"{told.vendor:04x}",
        device=f"{told.device:04x}",
        dedicated=told.dedicated_video,
        shared=told.shared_system,
        budget=_budget(adapter),
        software=bool(told.flags & SOFTWARE),
    )


def _budget(adapter: c_void_p) -> int | None:
    """Windows' budget for this program in the adapter's own memory."""
    newer = c_void_p()
    query = _method(adapter, _QUERY_INTERFACE, ctypes.c_char_p, POINTER(c_void_p))
    if query(adapter, _ADAPTER3, byref(newer)) < 0 or not newer:
        return None
    try:
        told = _Budget()
        ask = _method(newer, _QUERY_VIDEO_MEMORY_INFO, c_uint32, c_uint32, POINTER(_Budget))
        return told.budget or None if ask(newer, 0, 0, byref(told)) >= 0 else None
    finally:
        _release(newer)


def _release(pointer: c_void_p) -> None:
    _method(pointer, _RELEASE)(pointer)


def _method(pointer: c_void_p, index: int, *arguments: Any) -> Any:
    """The function at ``index`` in the object's table; its result is an HRESULT."""
    table = ctypes.cast(pointer, POINTER(POINTER(c_void_p))).contents
    if sys.platform == "win32":
        return ctypes.WINFUNCTYPE(c_int32, c_void_p, *arguments)(table[index])
    return ctypes.CFUNCTYPE(c_int32, c_void_p, *arguments)(table[index])
