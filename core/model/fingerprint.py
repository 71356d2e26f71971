"""What two copies of a model have in common, wherever they lie."""

from __future__ import annotations

from hashlib import sha256
from weakref import WeakKeyDictionary

from core.model.model import Model

_known: WeakKeyDictionary[Model, str] = WeakKeyDictionary()


def fingerprint(model: Model) -> str:
    """Sixteen hex digits of the architecture and the tensor table: name, type and shape of each.

    The same for every copy of a file, whatever its name, path or metadata; another for another
    quantization. Made once per model.
    """
    found = _known.get(model)
    if found is None:
        digest = sha256(model.architecture.encode())
        for tensor in model.file.tensors:
            digest.update(f"\n{tensor.name} {tensor.type_name} {tensor.shape}".encode())
        found = _known[model] = digest.hexdigest()[:16]
    return found
