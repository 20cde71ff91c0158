"""The parts of a Markdown document that the checks look at: fenced blocks, headings, links, tables."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNTRACKED = {".git", "build", "node_modules"}


class Block:
    """A fenced block: its language, its lines, and the indexes of its fences in the document."""

    def __init__(self, language, opening, closing, lines):
        self.language = language
        self.opening = opening
        self.closing = closing
        self.lines = lines

    @property
    def text(self):
        return "\n".join(self.lines)


class Document:
    def __init__(self, path):
        self.path = path
        self.name = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.blocks = list(_blocks(self))

    def prose(self):
        """The lines outside fenced blocks, each with its index."""
        fenced = {i for b in self.blocks for i in range(b.opening, b.closing + 1)}
        return [(i, line) for i, line in enumerate(self.lines) if i not in fenced]

    def headings(self):
        """(index, level, text) of every heading."""
        found = []
        for index, line in self.prose():
            match = re.match(r"(#{1,6}) +(.*?) *#*$", line)
            if match:
                found.append((index, len(match[1]), match[2]))
        return found

    def sections(self, level):
        """(heading, first index, end index) of every section of that level."""
        headings = self.headings()
        for position, (index, own, text) in enumerate(headings):
            if own == level:
                later = [i for i, other, _ in headings[position + 1:] if other <= level]
                yield text, index + 1, later[0] if later else len(self.lines)

    def section(self, heading):
        """(first index, end index) of the section with that heading, or None."""
        for level in range(1, 7):
            for text, start, end in self.sections(level):
                if text.strip("`") == heading:
                    return start, end
        return None

    def rows(self, start, end):
        """The cells of each table row between two indexes, header and ruler left out."""
        found = []
        for index, line in self.prose():
            if start <= index < end and line.startswith("|"):
                found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]])
            elif found and found[-1] is not None:
                found.append(None)
        return [row for i, row in enumerate(found) if row is not None and not _is_head(found, i)]

    def anchors(self):
        """The anchors that GitHub gives to the headings."""
        seen = {}
        for _, _, text in self.headings():
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            yield slug if count == 0 else f"{slug}-{count}"

    def links(self):
        """(line number, target) of every inline link."""
        for index, line in self.prose():
            for target in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", re.sub(r"`[^`]*`", "", line)):
                yield index + 1, target


def _blocks(document):
    opening = None
    for index, line in enumerate(document.lines):
        match = re.match(r"```(\S*)", line)
        if not match:
            continue
        if opening is None:
            opening, language = index, match[1]
        else:
            yield Block(language, opening, index, document.lines[opening + 1:index])
            opening = None
    if opening is not None:
        raise SystemExit(f"{document.name}:{opening + 1}: the block is not closed")


def _is_head(rows, index):
    """A table's first two rows are its header and the ruler under it."""
    first = index == 0 or rows[index - 1] is None
    second = index == 1 or (index > 1 and rows[index - 2] is None)
    return first or second and rows[index - 1] is not None


def documents():
    """Every Markdown document of the checkout."""
    found = []
    for directory, below, files in os.walk(ROOT):
        below[:] = sorted(name for name in below if name not in UNTRACKED and not name.startswith("."))
        found += [os.path.join(directory, name) for name in sorted(files) if name.endswith(".md")]
    return [Document(path) for path in found]


def code_words(cell):
    """The words in backquotes within a cell or line."""
    return re.findall(r"`([^`]+)`", cell)
