"""Three shells: a word written so that it arrives as it is, and a pasted text cut into words.

bash by its manual (QUOTING), PowerShell by about_Quoting_Rules and about_Parsing, the command
prompt by "Parsing C++ command-line arguments" and the characters that ``help cmd`` lists. Cutting
never fails: a quote that does not end goes on to the end of the text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Shell(StrEnum):
    BASH = "bash"
    POWERSHELL = "PowerShell"
    CMD = "cmd"


# PowerShell takes the curly quotes of word processors for quotes as well.
_SINGLE = "'\u2018\u2019\u201a\u201b"
_DOUBLE = '"\u201c\u201d\u201e'
_PLAIN_POWERSHELL = re.compile(r"[A-Za-z0-9_./:\\-]+")
_PLAIN_CMD = re.compile(r"[A-Za-z0-9_./:\\-]+")
# A longer command has several lines, each with options up to about this many characters.
_LINE, _ROW = 80, 50
_GOES_ON = {Shell.BASH: " \\\n  ", Shell.POWERSHELL: " `\n  ", Shell.CMD: " ^\n  "}
_SPECIAL_CMD = frozenset('()%!^"<>&|')


def quote(word: str, shell: Shell) -> str:
    """A word as this shell must have it. The command prompt cannot have a line break in one."""
    if shell is Shell.BASH:
        return shlex.quote(word)
    if shell is Shell.POWERSHELL:
        if _PLAIN_POWERSHELL.fullmatch(word):
            return word
        return "'" + "".join(2 * c if c in _SINGLE else c for c in word) + "'"
    return _quote_cmd(word)


def writable(word: str, shell: Shell) -> bool:
    """Whether this shell can pass on a word at all."""
    if "\0" in word:
        return False
    return shell is not Shell.CMD or not ("\n" in word or "\r" in word)


def _quote_cmd(word: str) -> str:
    if _PLAIN_CMD.fullmatch(word):
        return word
    # A program reads \" as a quote and 2n backslashes before a quote as n.
    inner = re.sub(r'(\\*)"', r'\1\1\\"', word)
    inner = re.sub(r"(\\+)$", r"\1\1", inner)
    if not set(word) & set('%!"'):
        return f'"{inner}"'
    # The prompt looks for %NAME% even inside quotes, and reads \" as the end of them: so there are
    # none for it, every special character has a caret, and no name can follow a per cent sign.
    made, after = "", False
    for c in f'"{inner}"':
        made += f"^{c}" if c in _SPECIAL_CMD or after else c
        after = c == "%"
    return made


@dataclass(slots=True)
class Line:
    """One command: its words, and the variables that were set before it."""

    words: list[str] = field(default_factory=list)
    quoted: list[bool] = field(default_factory=list)  # by word: whether a part of it was in quotes


_POWERSHELL_ONLY = re.compile(r"`[ \t\r]*$|\$env:|^[ \t]*& ['\"]", re.MULTILINE | re.IGNORECASE)
_CMD_ONLY = re.compile(
    r"\^[ \t\r]*$|\^[\"%&]|^[ \t]*@?set[ \t]+\"?\w+=|^[ \t]*@?rem\b", re.MULTILINE | re.IGNORECASE
)
_DRIVE = re.compile(r"[A-Za-z]:\\")
_BASH_GOES_ON = re.compile(r"\\[ \t\r]*$", re.MULTILINE)
_TO_STREAM = re.compile(r"[ \t]*&\d")
_REMARK = re.compile(r"[ \t]*@?(rem\b|::)", re.IGNORECASE)


def guess(text: str) -> Shell:
    """The shell that a text was written for, by what the others would not write."""
    if _POWERSHELL_ONLY.search(text):
        return Shell.POWERSHELL
    if _CMD_ONLY.search(text):
        return Shell.CMD
    if _DRIVE.search(text) and not _BASH_GOES_ON.search(text):
        return Shell.CMD if "'" not in text else Shell.POWERSHELL
    return Shell.BASH


def split(text: str, shell: Shell) -> list[Line]:
    """The commands of a text, in order. What a command is sent to (``| tee log``) is a command of
    its own; where its output goes (``> log``) is left out."""
    pieces = {Shell.BASH: _bash, Shell.POWERSHELL: _powershell, Shell.CMD: _cmd}[shell](text)
    lines, line, skip = [], Line(), False
    for piece in pieces:
        if piece.kind == "word":
            if not skip:
                line.words.append(piece.text)
                line.quoted.append(piece.quoted)
            skip = False
        elif piece.kind == "redirection":
            skip = True
        else:
            skip = False
            if line.words:
                lines.append(line)
                line = Line()
    return [*lines, line] if line.words else lines


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: str  # "word", "redirection", "end"
    text: str = ""
    quoted: bool = False


_END = _Piece("end")
_REDIRECTION = _Piece("redirection")


class _Words:
    """Collects characters of a word; a word of quotes alone is a word too."""

    def __init__(self) -> None:
        self.text, self.open, self.quoted = "", False, False

    def add(self, text: str, quoted: bool = False) -> None:
        self.text += text
        self.open = True
        self.quoted = self.quoted or quoted

    def take(self) -> Iterator[_Piece]:
        if self.open:
            yield _Piece("word", self.text, self.quoted)
        self.text, self.open, self.quoted = "", False, False


def _bash(text: str) -> Iterator[_Piece]:
    word = _Words()
    at, end = 0, len(text)
    while at < end:
        c = text[at]
        at += 1
        if c == "\\":
            escaped, at = _escaped(text, at)
            if escaped:
                word.add(escaped, True)
        elif c == "'":
            close = _find(text, at, "'")
            word.add(text[at:close], True)
            at = close + 1
        elif c == '"':
            word.add("", True)
            while at < end and text[at] != '"':
                if text[at] == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                    at += 1
                    if text[at] != "\n":
                        word.add(text[at], True)
                else:
                    word.add(text[at], True)
                at += 1
            at += 1
        elif c == "#" and not word.open:
            at = _find(text, at, "\n")
        elif c in "<>":
            if c == ">" and word.text in ("1", "2") and not word.quoted:
                word.text, word.open = "", False
            yield from word.take()
            at = _skip(text, at, "<>&")
            yield _REDIRECTION
        elif c in ";|&\n":
            yield from word.take()
            yield _END
        elif c.isspace():
            yield from word.take()
        else:
            word.add(c)
    yield from word.take()


def _powershell(text: str) -> Iterator[_Piece]:
    word = _Words()
    at, end = 0, len(text)
    while at < end:
        c = text[at]
        at += 1
        if c == "`":
            escaped, at = _escaped(text, at)
            if escaped:
                word.add(escaped, True)
        elif c in _SINGLE or c in _DOUBLE:
            kinds = _SINGLE if c in _SINGLE else _DOUBLE
            word.add("", True)
            while at < end:
                if text[at] in kinds:
                    if text[at + 1 : at + 2] in tuple(kinds):
                        at += 1  # two stand for one, which is the first
                        word.add(text[at - 1], True)
                        at += 1
                        continue
                    break
                if text[at] == "`" and kinds is _DOUBLE:
                    at += 1
                word.add(text[at : at + 1], True)
                at += 1
            at += 1
        elif c == "#" and not word.open:
            at = _find(text, at, "\n")
        elif c == ">":
            if word.text in ("1", "2", "*") and not word.quoted:
                word.text, word.open = "", False
            yield from word.take()
            at = _skip(text, at, ">&")
            yield _REDIRECTION
        elif c in ";|\n":
            yield from word.take()
            yield _END
        elif c.isspace() or (c == "&" and not word.open):  # & calls what follows
            yield from word.take()
        else:
            word.add(c)
    yield from word.take()


def _cmd(text: str) -> Iterator[_Piece]:
    """The prompt's own turn first (carets, operators), then the program's (quotes, backslashes)."""
    at, end, inside = 0, len(text), False
    raw = ""
    while at < end:
        c = text[at]
        at += 1
        if c == "^" and not inside:
            escaped, at = _escaped(text, at)
            raw += escaped
        elif c == '"':
            inside = not inside
            raw += c
        elif c == "\n" or (c in "&|" and not inside):
            inside = False
            yield from _arguments(raw)
            yield _END
            raw = ""
        elif c in "<>" and not inside:
            yield from _arguments(re.sub(r"(?<!\S)[12]$", "", raw))
            raw = ""
            at = _skip(text, at, "<>")
            if (stream := _TO_STREAM.match(text, at)) is not None:  # 2>&1
                at = stream.end()
            else:
                yield _REDIRECTION
        else:
            raw += c
    yield from _arguments(raw)


def _arguments(raw: str) -> Iterator[_Piece]:
    """The words of one line, as a program for Windows finds them."""
    if _REMARK.match(raw):
        return
    word, inside, at = _Words(), False, 0
    while at < len(raw):
        c = raw[at]
        if c == "\\":
            slashes = _skip(raw, at, "\\") - at
            at += slashes
            if raw[at : at + 1] == '"':
                word.add("\\" * (slashes // 2))
                if slashes % 2:
                    word.add('"', True)
                    at += 1
            else:
                word.add("\\" * slashes)
            continue
        at += 1
        if c == '"':
            if inside and raw[at : at + 1] == '"':
                word.add('"', True)
                at += 1
            else:
                inside = not inside
                word.add("", True)
        elif c in " \t\r\v\f" and not inside:
            yield from word.take()
        else:
            word.add(c)
    yield from word.take()


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character after an escape, none where the line goes on behind its end; and what
    follows."""
    following = text[at : at + 1]
    if following == "\r" and text[at + 1 : at + 2] == "\n":
        return "", at + 2
    return ("" if following == "\n" else following), at + 1


def _find(text: str, at: int, what: str) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found


def _skip(text: str, at: int, what: str) -> int:
    while at < len(text) and text[at] in what:
        at += 1
    return at


def joined(words: Sequence[str], shell: Shell) -> str:
    """A command: in one line where that is short, else an option a line, as this shell goes on."""
    written = [quote(word, shell) for word in words]
    if shell is Shell.POWERSHELL and written and written[0][:1] == "'":
        written[0] = f"& {written[0]}"
    line = " ".join(written)
    if len(line) <= _LINE:
        return line
    rows = [written[0]]
    for word, text in zip(words[1:], written[1:], strict=True):
        option = word.startswith("-") and not word[1:2].isdigit()
        if option and len(rows[-1]) + len(text) > _ROW:
            rows.append(text)
        else:
            rows[-1] += f" {text}"
    return _GOES_ON[shell].join(rows)
