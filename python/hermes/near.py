"""The name that was meant by one that is nearly right: as internal/near, so that a look and a hint say the same."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List


def one(name: str, names: Iterable[str]) -> str:
    """The one of names that name nearly is; "" if none is, or more than one."""
    found = [other for other in names if _is(name, other)]
    return found[0] if len(found) == 1 else ""


def _is(a: str, b: str) -> bool:
    """Tells whether two names differ by one slip in four letters, and each of their words does where there are as many."""
    words, others = a.split("_"), b.split("_")
    if len(words) == len(others) and not all(map(_similar, words, others)):
        return False
    return _similar("".join(words), "".join(others))


def _similar(a: str, b: str) -> bool:
    a, b = a.lower(), b.lower()
    most = max(1, min(len(a), len(b)) // 4)
    return abs(len(a) - len(b)) <= most and _distance(a, b) <= most


def _distance(a: str, b: str) -> int:
    """The slips between two words: a letter too many, one missing, a wrong one, or two that changed places."""
    before = []  # type: List[int]
    last = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]
