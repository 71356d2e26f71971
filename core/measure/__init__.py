"""Measuring a server that runs a model: find it, sweep its depths, and say how fast it wrote.

A run is a value (`run`), made by a sweep (`sweep`, with `client`, `prompts`, `checks`, `pace` and
`waiting`) in a process of its own (`worker`, started by `session`), which says what happens as JSON
lines (`events`). `wire` and `exchange` stamp what arrives, `dialects` and `recorder` understand it,
`metrics` works every figure out of the stamps. `discovery` finds servers, `telemetry` watches the
computer meanwhile, `export` prints, `history` keeps, `diagnosis` explains.
"""
