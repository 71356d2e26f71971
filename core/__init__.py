"""Weighbridge without a screen: a header in, a plan out.

Nothing in here imports Qt or draws. Facts flow one way:
``gguf`` -> ``model``, and ``machine``, into ``plan``; ``report`` and the window only show plans.
"""
