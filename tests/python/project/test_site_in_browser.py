"""The site of the documents, as a browser shows it: what a reader sees, wide and narrow.

With ADJIT_SITE_PICTURES=folder a picture of each page is kept there.
"""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import browser as browsers
import pytest

ROOT = Path(__file__).resolve().parents[3]
MAKE = ROOT / "tools" / "documents" / "site" / "make"
PAGES = {
    "": "adjit",
    "architecture/": "Architecture",
    "walkthrough/": "Walk-through",
    "walkthrough/5-passes/": "5 Passes",
    "walkthrough/7-llvm/": "7 LLVM",
    "moves/": "Moves",
    "limits/": "Limits",
    "glossary/": "Glossary",
    "text-notation/": "Text notation",
    "howto/add-a-move/": "Add a move",
    "performance/benchmarks/": "Benchmarks",
    "api/python/": "Python",
    "api/c/": "C",
}
WIDTHS = (1280, 400)

BROKEN = """<!doctype html><title>broken</title><img src="missing.png">
<script>console.error("said by a script"); setTimeout(() => { throw Error("thrown") })</script>"""

browser_program = browsers.program()
pytestmark = [
    pytest.mark.skipif(browser_program is None, reason="no browser: apt-get install chromium"),
    pytest.mark.skipif(
        not (ROOT / "build" / "site-tools" / "requirements.txt").exists(),
        reason="no MkDocs: tools/documents/site/make installs it",
    ),
]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, made from the documents as they are."""
    folder = tmp_path_factory.mktemp("site")
    made = subprocess.run([MAKE, "--site-dir", folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    (folder / "broken.html").write_text(BROKEN)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[browsers.Browser]:
    assert browser_program
    with browsers.Browser(browser_program) as opened:
        yield opened


@pytest.fixture(params=[(p, w) for p in PAGES for w in WIDTHS], ids=lambda c: f"{c[0]}{c[1]}")
def page(
    request: pytest.FixtureRequest, site: str, browser: browsers.Browser
) -> Iterator[tuple[str, int]]:
    path, width = request.param
    browser.open(site + path, width)
    if folder := os.environ.get("ADJIT_SITE_PICTURES"):
        name = path.strip("/").replace("/", "-") or "index"
        browser.picture(Path(folder) / f"{name}-{width}.png")
    yield path, width


def test_page(page: tuple[str, int], browser: browsers.Browser) -> None:
    path, width = page
    heading = browser.value("document.querySelector('h1').textContent")
    assert heading.startswith(PAGES[path])
    # Everything that the page asks for is there, and its scripts run.
    assert browser.faults == []
    missing = "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
    assert browser.value(missing) == []
    # The page is as wide as the window: what is wider (code, tables) scrolls inside its frame.
    assert browser.value("document.scrollingElement.scrollWidth") <= width
    wider = """[...document.querySelectorAll('.md-content *')].filter(e =>
        e.getClientRects().length && !e.parentElement.closest('pre, .md-typeset__scrollwrap') &&
        e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"""
    assert browser.value(wider) == []
    # At the width of a desk, code of 100 columns needs no scrolling sideways.
    if width == 1280 and path in ("api/c/", "howto/add-a-move/"):
        cut = "[...document.querySelectorAll('pre code')].some(e => e.scrollWidth > e.clientWidth)"
        assert not browser.value(cut)
    # Navigation: in the margin where there is room, else behind the button.
    shown = "e => e.getBoundingClientRect().width > 0 && getComputedStyle(e).display != 'none'"
    place = ".md-sidebar--primary a" if width > 1220 else ".md-header label[for=__drawer]"
    assert browser.value(f"[...document.querySelectorAll('{place}')].some({shown})")
    # No mark of Markdown is left in the text outside code.
    left = r"""[...document.querySelectorAll('.md-content p, .md-content li, .md-content td')]
        .map(e => { const c = e.cloneNode(true);
                    c.querySelectorAll('code, pre').forEach(x => x.remove());
                    return c.textContent; })
        .filter(t => /```|\]\(|^\s*\|.*\|\s*$|^#+ |\*\*/m.test(t))"""
    assert browser.value(left) == []


@pytest.mark.parametrize(
    ("path", "rows"), [("limits/", 30), ("glossary/", 40), ("performance/benchmarks/", 20)]
)
def test_tables_are_tables(path: str, rows: int, site: str, browser: browsers.Browser) -> None:
    browser.open(site + path, 1280)
    assert browser.value("document.querySelectorAll('.md-content table tr').length") >= rows


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("walkthrough/5-passes/", "compute_at"),
        ("walkthrough/7-llvm/", "define void @kernel"),
        ("api/c/", "adjit_context"),
        ("api/python/", "value_and_grad"),
    ],
)
def test_page_has_what_it_is_about(
    path: str, text: str, site: str, browser: browsers.Browser
) -> None:
    browser.open(site + path, 1280)
    assert text in browser.value("document.querySelector('.md-content').innerText")


@pytest.mark.parametrize("word", ["compute_at", "cotangent"])
def test_search_finds_a_word(word: str, site: str, browser: browsers.Browser) -> None:
    browser.open(site, 1280)
    browser.value("document.querySelector('label[for=__search]').click()")
    script = f"""(() => {{ const box = document.querySelector('.md-search__input');
        box.focus(); box.value = '{word}';
        box.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}})); return true; }})()"""
    browser.value(script)
    found = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    assert browser.wait_for(f"{found}.length")
    assert all(address.startswith(site) for address in browser.value(found))
    assert browser.faults == []


def test_what_is_broken_is_seen(site: str, browser: browsers.Browser) -> None:
    browser.open(site + "broken.html", 1280)
    browser.wait_for("false", 0.2)  # until what was thrown has been told
    faults = "\n".join(browser.faults)
    assert f"404 {site}missing.png" in faults
    assert "said by a script" in faults
    assert "Uncaught" in faults
