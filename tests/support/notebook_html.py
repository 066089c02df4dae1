"""Reads what a notebook shows, and checks that its tags match."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Keeps the text, and complains of a tag that is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    """Return the tags and the text of a display."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader
