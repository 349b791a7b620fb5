"""What every page must have: tags that nest, and links inside the page that lead somewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "path", "use", "rect"}


class Checker(HTMLParser):
    """Counts what a report must have, and that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.refs: list[str] = []
        self.seen: dict[str, int] = {}

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if "id" in found:
            self.ids.append(found["id"])
        self.refs += re.findall(r"\S+", found.get("aria-labelledby", ""))
        if tag == "a":
            assert found["href"].startswith("#")
            self.refs.append(found["href"][1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    assert set(checker.refs) <= set(checker.ids)
    return checker
