"""Words for three shells: each parsed back by its own documented rules, not by our reader alone."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.plan.commands.shells import Shell, guess, joined, quote, split, writable

WORDS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=0, max_size=40
)
NASTY = st.text(st.sampled_from("ab \"'$%&|<>^()!`\\;#‘’“”é日\t-=,~*?[]{}@"), max_size=30)
PATH = r"C:\Users\Zoë & Co\50% off (1)\it's a \"model\".gguf"


def powershell_parses(text: str) -> list[str]:
    """about_Quoting_Rules: in single quotes everything is literal, two quotes are one; the
    curly ones are quotes as well. Nothing else is written by `quote`."""
    words, at = [], 0
    marks = "'\u2018\u2019\u201a\u201b"
    while at < len(text):
        if text[at] == " ":
            at += 1
        elif text[at] in marks:
            at, made = at + 1, ""
            while True:
                if text[at] in marks:
                    if text[at + 1 : at + 2] and text[at + 1] in marks:
                        made += text[at]
                        at += 2
                        continue
                    break
                made += text[at]
                at += 1
            at += 1
            words.append(made)
        else:
            match = re.compile(r"[A-Za-z0-9_./:\\-]+").match(text, at)
            assert match is not None, f"PowerShell would read {text[at:]!r} as more than a word"
            words.append(match.group())
            at = match.end()
    return words


def cmd_passes_on(text: str, variables: dict[str, str]) -> str:
    """What the prompt hands to a program: %NAME% first, then carets outside quotes."""

    def expand(match: re.Match[str]) -> str:
        return variables.get(match[1], match[0])

    text = re.sub(r"%([^%:]+)(?::[^%]*)?%", expand, text)
    made, inside, at = "", False, 0
    while at < len(text):
        c = text[at]
        if c == "^" and not inside:
            at += 1
            c = text[at]
        elif c == '"':
            inside = not inside
        elif not inside:
            assert c not in "&|<>", f"the prompt would act on {c}"
        made += c
        at += 1
    return made


def windows_parses(line: str) -> list[str]:
    """ "Parsing C++ command-line arguments": 2n backslashes before a quote are n, 2n + 1 are n and
    a quote; others are themselves."""
    words: list[str] = []
    made, inside, started, at = "", False, False, 0
    while at < len(line):
        match = re.compile(r"(\\*)(\")?").match(line, at)
        assert match is not None
        slashes, mark = len(match[1]), match[2]
        if mark:
            made += "\\" * (slashes // 2)
            started = True
            if slashes % 2:
                made += '"'
            else:
                inside = not inside
            at = match.end()
        elif slashes:
            made, started, at = made + match[1], True, match.end()
        elif line[at] in " \t" and not inside:
            if started:
                words.append(made)
            made, started, at = "", False, at + 1
        else:
            made, started, at = made + line[at], True, at + 1
    return [*words, made] if started else words


@given(st.lists(WORDS | NASTY, min_size=1, max_size=4))
@example([PATH])
def test_bash_reads_back_every_word(words: list[str]) -> None:
    assert shlex.split(joined(words, Shell.BASH)) == words


@given(st.lists(WORDS | NASTY, min_size=1, max_size=4))
@example([PATH])
@example(["it’s"])
def test_powershell_reads_back_every_word(words: list[str]) -> None:
    written = " ".join(quote(word, Shell.POWERSHELL) for word in words)
    assert powershell_parses(written) == words


@given(st.lists(WORDS | NASTY, min_size=1, max_size=4))
@example([PATH])
@example(["100%PATH%", 'a"%PATH%"b', "a\\", '\\"', "%PATH:a=b%"])
def test_the_command_prompt_and_the_program_behind_it_read_back_every_word(
    words: list[str],
) -> None:
    words = [re.sub(r"[\n\r\v\f\x1c-\x1f\x85\u2028\u2029]", "", word) for word in words]
    line = " ".join(quote(word, Shell.CMD) for word in words)
    variables = {"PATH": "!!", "a": "!!", "b": "!!", '"b"': "!!"}
    assert windows_parses(cmd_passes_on(line, variables)) == words


@given(st.lists(WORDS | NASTY, min_size=1, max_size=4), st.sampled_from(Shell))
def test_our_own_reader_reads_what_is_written(words: list[str], shell: Shell) -> None:
    words = [word for word in words if writable(word, shell)]
    lines = split(joined(["llama-server", *words], shell), shell)
    assert [line.words for line in lines] == [["llama-server", *words]]


@given(st.text(max_size=200) | NASTY, st.sampled_from(Shell))
def test_no_text_stops_the_reader(text: str, shell: Shell) -> None:
    for line in split(text, shell):
        assert len(line.words) == len(line.quoted) > 0
    assert guess(text) in Shell


def test_a_line_break_cannot_be_written_for_the_command_prompt_nor_a_zero_for_any() -> None:
    assert not writable("a\nb", Shell.CMD)
    assert writable("a\nb", Shell.BASH)
    assert not any(writable("a\0b", shell) for shell in Shell)


@pytest.mark.parametrize(
    ("shell", "text"),
    [
        (Shell.BASH, "llama-server \\\n  -m 'my model.gguf' \\\n  -c 8192 # the context\n"),
        (Shell.POWERSHELL, "llama-server `\n  -m 'my model.gguf' `\n  -c 8192 # the context"),
        (Shell.CMD, 'llama-server ^\r\n  -m "my model.gguf" ^\r\n  -c 8192\r\n'),
    ],
)
def test_a_command_may_go_on_in_the_next_line(shell: Shell, text: str) -> None:
    assert guess(text) is shell
    (line,) = split(text, shell)
    assert line.words == ["llama-server", "-m", "my model.gguf", "-c", "8192"]


@pytest.mark.parametrize(
    ("shell", "text"),
    [
        (Shell.BASH, "nohup llama-server -c 1 > log.txt 2>&1 &"),
        (Shell.BASH, "nohup llama-server -c 1 2>/dev/null"),
        (Shell.CMD, "nohup llama-server -c 1 > log.txt 2>&1"),
        (Shell.POWERSHELL, "nohup llama-server -c 1 *> log.txt"),
    ],
)
def test_where_the_output_goes_is_no_word_of_the_command(shell: Shell, text: str) -> None:
    assert split(text, shell)[0].words == ["nohup", "llama-server", "-c", "1"]


def test_a_program_in_quotes_is_called_in_powershell() -> None:
    assert joined(["C:\\My Tools\\llama.exe"], Shell.POWERSHELL) == "& 'C:\\My Tools\\llama.exe'"


@pytest.mark.parametrize("shell", Shell)
def test_a_long_command_has_a_line_for_its_options_and_is_read_as_one(shell: Shell) -> None:
    words = [
        "llama-server",
        "-m",
        "a b" * 30,
        "-c",
        "8192",
        "-ngl",
        "-1",
        "--swa-full",
        "-fa",
        "on",
    ]
    text = joined(words, shell)
    assert len(text.split("\n")) > 1
    (line,) = split(text, shell)
    assert line.words == words
