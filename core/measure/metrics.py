"""What the stamps mean. Every figure is a pure function of samples, worked out anew each time.

Written N tokens whose first event brought n1 of them, TPOT = (last - first) / (N - n1), and decode
speed is 1 / TPOT: one pass of the model per token, which is what a ceiling of bandwidth predicts
(the same as vLLM's TPOT, aiperf's ITL and llama.cpp's own timings since b10434). Tokens are the
server's count, never the number of arrivals. Times are seconds, rates per second.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from statistics import median as middle

from core.measure.order import Summary, percentile, summary
from core.measure.run import Cell, Sample, SampleKind

BURST_NS = 1_000_000  # arrivals closer than this came of one step of the engine
LEAST_PREFILL = 256  # tokens without which a time to the first token says nothing about prefill
LEAST_READING = 0.02  # seconds of reading a prompt, below which other delays are as long
LEAST_GAPS_FOR_TAIL = 100
HAND_OVER_SECONDS = 1e-4
DELIVERY = 0.03  # by more than this the client and the server may not differ
KEPT_SLACK = 16  # tokens of a prompt that a server may read anew although it keeps the rest
DEPTH_SLACK = 2  # tokens by which a prompt of words may miss its depth
_LEAST_NUMBER = 1e-9  # of a time in any unit: no clock shows less


# One request ------------------------------------------------------------------------------------


def ttft(sample: Sample) -> float | None:
    """Seconds from the request to the first text, thinking counted."""
    return sample.arrivals_ns[0] / 1e9 if sample.arrivals_ns else None


def first_answer(sample: Sample) -> float | None:
    """Seconds from the request to the first text that is no thinking."""
    return None if sample.first_answer_ns is None else sample.first_answer_ns / 1e9


def tpot(sample: Sample) -> float | None:
    """Seconds per token after the first, by the stamps of this side."""
    if len(sample.arrivals_ns) < 2 or sample.tokens is None:
        return None
    first = sample.counts[0] if sample.counts else 1
    last = sample.counts[-1] if sample.counts else sample.tokens
    passed = sample.arrivals_ns[-1] - sample.arrivals_ns[0]
    if last <= first or passed <= 0:
        return None
    return passed / 1e9 / (last - first)


def decode_rate(sample: Sample) -> float | None:
    """Tokens per second by the stamps of this side."""
    seconds = tpot(sample)
    return None if seconds is None else 1 / seconds


def server_decode_rate(sample: Sample) -> float | None:
    """Tokens per second by the server's own timings: (n - 1) over the time of writing.

    Servers that print n over that time are too high by n / (n - 1).
    """
    timings = sample.server_timings
    for count, time, unit in (
        ("predicted_n", "predicted_ms", 1e3),
        ("eval_count", "eval_duration", 1e9),
    ):
        n, duration = _number(timings.get(count)), _number(timings.get(time))
        if n and duration and n >= 2:
            return (n - 1) * unit / duration
    return None


def best_decode_rate(sample: Sample) -> float | None:
    """The server's own figure where it gives one, else this side's."""
    rate = server_decode_rate(sample)
    return decode_rate(sample) if rate is None else rate


def uncached(sample: Sample) -> int | None:
    """Prompt tokens that really were read; None where the server does not say what it had kept.

    On a prompt that nobody sent before, all of them.
    """
    prompt_n = sample.server_timings.get("prompt_n")
    if isinstance(prompt_n, int):
        return prompt_n
    if sample.prompt_tokens is None:
        return None
    if sample.cached_tokens is not None:
        return max(0, sample.prompt_tokens - sample.cached_tokens)
    return sample.prompt_tokens if sample.kind is SampleKind.COLD else None


def prefill_rate(sample: Sample) -> float | None:
    """Prompt tokens read per second, of those that were not kept from before.

    By the server's time, or else by the time to the first token less the way there and back, where
    it is long enough to mean anything. A single token of prompt says nothing.
    """
    read = uncached(sample)
    if read is None or read < 2:
        return None
    seconds = None
    for name, unit in (("prompt_ms", 1e3), ("prompt_eval_duration", 1e9)):
        time = _number(sample.server_timings.get(name))
        if time:
            seconds = time / unit
            break
    if seconds is None:
        first, round_trip = ttft(sample), (sample.round_trip_ns or 0) / 1e9
        if first is None or read < LEAST_PREFILL or first <= 5 * round_trip:
            return None
        seconds = first - round_trip
    return read / seconds


def bursts(sample: Sample) -> tuple[tuple[int, int], ...]:
    """Arrivals of one step of the engine as one: (when the first came in ns, how many arrivals).

    Speculation, held-back characters and slow networks bring several at once.
    """
    found: list[list[int]] = []
    previous = None
    for at in sample.arrivals_ns:
        if previous is not None and at - previous < BURST_NS:
            found[-1][1] += 1
        else:
            found.append([at, 1])
        previous = at
    return tuple((at, count) for at, count in found)


def gaps(sample: Sample) -> tuple[float, ...]:
    """Seconds between the bursts."""
    starts = [at for at, _ in bursts(sample)]
    return tuple((b - a) / 1e9 for a, b in pairwise(starts))


def drafted(sample: Sample) -> tuple[int, int] | None:
    """Tokens that a draft proposed and those that were taken; None where none was used."""
    proposed = sample.server_timings.get("draft_n")
    taken = sample.server_timings.get("draft_n_accepted")
    if not isinstance(proposed, int) or not isinstance(taken, int) or proposed <= 0:
        return None
    return (proposed, taken) if 0 <= taken <= proposed else None


def step_rate(sample: Sample) -> float | None:
    """Passes of the model per second: with speculation fewer than tokens. This is what the ceiling
    bounds; tokens per second may exceed it."""
    rate = best_decode_rate(sample)
    draft = drafted(sample)
    if rate is None or draft is None or sample.tokens is None or sample.tokens < 2:
        return rate
    return rate * max(1, sample.tokens - draft[1] - 1) / (sample.tokens - 1)


def shared_reads(sample: Sample) -> float | None:
    """The share of arrivals that came with the one before in a single read: something on the way
    holds text back. Speculation does so as well."""
    stamps = sample.arrivals_ns
    if len(stamps) < 2:
        return None
    return sum(a == b for a, b in pairwise(stamps)) / (len(stamps) - 1)


# One cell ---------------------------------------------------------------------------------------


def decode(cell: Cell) -> Summary | None:
    """Tokens per second of one request, by this side's stamps."""
    return summary(map(decode_rate, cell.measured))


def server_decode(cell: Cell) -> Summary | None:
    """Tokens per second of one request, by the server's timings."""
    return summary(map(server_decode_rate, cell.measured))


def best_decode(cell: Cell) -> Summary | None:
    """The headline: the server's figures where every request has one, else this side's."""
    ours = decode(cell)
    theirs = server_decode(cell)
    return theirs if theirs is not None and theirs.n == len(cell.measured) else ours


def steps(cell: Cell) -> Summary | None:
    """Passes of the model per second, to be held against the ceiling."""
    return summary(map(step_rate, cell.measured))


def time_per_token(cell: Cell) -> Summary | None:
    """Seconds per token, by this side's stamps."""
    return summary(map(tpot, cell.measured))


def fresh(cell: Cell) -> tuple[Sample, ...]:
    """The sound requests whose whole prompt was read, at the cell's own depth: cold ones, and a
    fill that found nothing. A prompt of words may first have missed the depth."""
    depth = exact_depth(cell)

    def whole(s: Sample) -> bool:
        found_nothing = s.cached_tokens is not None and s.cached_tokens <= 1
        return s.kind is SampleKind.COLD or (s.kind is SampleKind.FILL and found_nothing)

    def there(s: Sample) -> bool:
        counted = s.prompt_tokens
        return depth is None or counted is None or abs(counted - depth) <= DEPTH_SLACK

    return tuple(s for s in cell.samples if s.sound and whole(s) and there(s))


def time_to_first(cell: Cell) -> Summary | None:
    """Seconds to the first text on a prompt that was not in the cache."""
    return summary(map(ttft, fresh(cell)))


def time_to_answer(cell: Cell) -> Summary | None:
    """Seconds to the first text that is no thinking, of the same requests."""
    return summary(map(first_answer, fresh(cell)))


def prefill(cell: Cell) -> Summary | None:
    """Prompt tokens per second: of cold requests, else of what a fill added."""
    cold = summary(map(prefill_rate, fresh(cell)))
    if cold is not None:
        return cold
    fills = [s for s in cell.samples if s.kind is SampleKind.FILL and s.sound]
    return summary(map(prefill_rate, fills))


def reads_again(cell: Cell) -> bool | None:
    """Whether most requests read their prompt again although it had been read before.

    By what the server says that it had kept; one that does not say is judged by the time to the
    first text, which is then at least half of that of a prompt that is new. None where neither
    tells.
    """
    kept = [s.cached_tokens for s in cell.measured if s.cached_tokens is not None]
    if kept:
        return sum(tokens < cell.depth - KEPT_SLACK for tokens in kept) > len(kept) / 2
    new, known = time_to_first(cell), summary(map(ttft, cell.measured))
    token = time_per_token(cell)
    if new is None or known is None or token is None or cell.depth < LEAST_PREFILL:
        return None
    reading = new.median - token.median
    if reading < LEAST_READING:
        return None
    return known.median - token.median > reading / 2


def exact_depth(cell: Cell) -> int | None:
    """Tokens in the cache when writing began, as the server counted them; None where it did not.

    Some servers count only what they read anew; the depth is then that of the fill before.
    """
    filled = [
        s.prompt_tokens
        for s in cell.samples
        if s.sound and s.kind in (SampleKind.COLD, SampleKind.FILL) and s.prompt_tokens is not None
    ]
    counts = [
        filled[-1] if filled and s.cached_tokens is None else s.prompt_tokens
        for s in cell.measured
        if s.prompt_tokens is not None or (filled and s.cached_tokens is None)
    ]
    return round(middle(count for count in counts if count is not None)) if counts else None


def point_depth(cell: Cell) -> float | None:
    """The depth that the decode rate belongs to: the cache grows while it writes."""
    depth = exact_depth(cell)
    counts = [s.tokens for s in cell.measured if s.tokens is not None]
    if depth is None or not counts:
        return None
    return depth + (middle(counts) - 1) / 2


def longest_gaps(cell: Cell) -> float | None:
    """The 95th percentile of the seconds between bursts, over all requests of a cell."""
    pooled = sorted(gap for s in cell.measured for gap in gaps(s))
    return percentile(pooled, 0.95) if len(pooled) >= LEAST_GAPS_FOR_TAIL else None


def total_rate(cell: Cell) -> Summary | None:
    """Tokens per second of all requests at the same time, round by round: tokens written from the
    first text of any to the last text of any, over that time."""
    rounds: dict[int, list[Sample]] = {}
    for s in cell.measured:
        if len(s.arrivals_ns) >= 2 and s.tokens is not None:
            rounds.setdefault(s.round, []).append(s)
    rates = []
    for together in rounds.values():
        if len(together) < cell.concurrency:
            continue
        begin = min(s.started_ns + s.arrivals_ns[0] for s in together)
        end = max(s.started_ns + s.arrivals_ns[-1] for s in together)
        written = sum((s.tokens or 0) - (s.counts[0] if s.counts else 1) for s in together)
        if end > begin:
            rates.append(written * 1e9 / (end - begin))
    return summary(rates)


def disagreement(cell: Cell) -> float | None:
    """This side's rate over the server's, less one, as the median of the requests.

    None where one of the two is missing, and where the difference is less than what it takes to
    hand a token over: a tiny model's passes are no longer than that.
    """
    pairs = [(decode_rate(s), server_decode_rate(s)) for s in cell.measured]
    known = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    if not known or middle(abs(1 / a - 1 / b) for a, b in known) < HAND_OVER_SECONDS:
        return None
    return middle(ours / theirs - 1 for ours, theirs in known)


def drift(cell: Cell) -> float | None:
    """The last third's median rate over the first third's, less one.

    None below six requests, and where their order is not telling: by the test of Mann and Kendall,
    which counts the pairs that rise and fall, chance explains it at 95 %.
    """
    rates = [r for r in map(best_decode_rate, cell.measured) if r is not None]
    n = len(rates)
    if n < 6:
        return None
    rising = sum((b > a) - (b < a) for a, b in combinations(rates, 2))
    if abs(rising) < 1.96 * (n * (n - 1) * (2 * n + 5) / 18) ** 0.5:
        return None
    third = n // 3
    return middle(rates[-third:]) / middle(rates[:third]) - 1


def spread(cell: Cell) -> float | None:
    """The coefficient of variation of the decode rate; None below two requests."""
    rates = [r for r in map(best_decode_rate, cell.measured) if r is not None]
    if len(rates) < 2:
        return None
    mean = sum(rates) / len(rates)
    return float((sum((r - mean) ** 2 for r in rates) / (len(rates) - 1)) ** 0.5 / mean)


def outliers(cell: Cell) -> tuple[Sample, ...]:
    """Requests far from the rest (modified z above 3.5): shown, never left out."""
    rated = [(s, r) for s in cell.measured if (r := best_decode_rate(s)) is not None]
    if len(rated) < 3:
        return ()
    center = middle(r for _, r in rated)
    deviation = middle(abs(r - center) for _, r in rated)
    if not deviation:
        return ()
    return tuple(s for s, r in rated if 0.6745 * abs(r - center) / deviation > 3.5)


def _number(value: object) -> float | None:
    """A count or a time above nothing, as any clock could show it."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= _LEAST_NUMBER:
        return float(value)
    return None
