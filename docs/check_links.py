"""Every link of the built site that leads to another page of it must find the page and the place
in it:  python docs/check_links.py site
"""

import functools
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Places(HTMLParser):
    """The links of a page, and the names that links to it may have after "#"."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("href", "src") and value:
                self.links.append(value)
            elif key == "id" or (key == "name" and tag == "a"):
                self.names.add(value)


@functools.cache
def places(file):
    return Places(file.read_text(encoding="utf-8"))


def broken(site):
    """["page: link"] of links to files or places within `site` that are not there."""
    out = []
    for page in sorted(site.rglob("*.html")):
        for link in places(page).links:
            url = urlsplit(link)
            if url.scheme or url.netloc or page.name == "404.html":
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            target = target / "index.html" if target.is_dir() else target
            name = unquote(url.fragment)
            lost = name and target.suffix == ".html" and not name.startswith("__")
            if not target.exists() or (lost and name not in places(target).names):
                out.append(f"{page.relative_to(site)}: {link}")
    return out


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    sys.exit("\n".join(["links that lead nowhere:", *found]) if found else 0)
