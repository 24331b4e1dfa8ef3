"""Names that could break a page, and what the scripts of one hold."""

import json
from html.parser import HTMLParser

HOSTILE = [
    "</script ><script>window.broken=1</script>",
    "a & b \"q\" 'r'",
    "größe π 😀 \u2028 z",
    "<!-- <img src=x onerror=window.broken=1>",
    "$data ${x} \\u0041",
    "x" * 120,
]


class Scripts(HTMLParser):
    """The text of the scripts of a page, as a browser cuts it."""

    def __init__(self, page):
        super().__init__()
        self.found, self.inside = [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "script":
            self.found.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1] += data


def contents(page):
    scripts = Scripts(page.html).found
    assert len(scripts) == 2
    return json.loads(scripts[0])
