"""Pages that are watched: what they complain about, whom they call, whether a text has run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

TIMEOUT = 90_000.0
"""The first call of a kernel compiles it, and others may use this machine too."""
NARROW = {"width": 360, "height": 740}


def expect(what: Any) -> Any:
    """Playwright's; imported here, since the tests are read in where there is none, too."""
    from playwright.sync_api import expect as expecting

    return expecting(what)


class Watch:
    """Collects from every page of a context, and says at the end what should not have been."""

    def __init__(self, context: BrowserContext) -> None:
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.hosts: set[str] = set()
        self.forgiven: list[str] = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", self._request)
        context.on("dialog", self._dialog)

    def forget(self) -> None:
        for kept in (self.complaints, self.dialogs, self.hosts, self.forgiven):
            kept.clear()

    def forgive(self, words: str) -> None:
        """A complaint with these words is what a test is about."""
        self.forgiven.append(words)

    def check(self, page: Page | None = None) -> None:
        wrong = [c for c in self.complaints if not any(words in c for words in self.forgiven)]
        assert wrong == []
        assert self.dialogs == []
        assert self.hosts <= {"127.0.0.1", ""}, "a page has called another machine"
        if page is not None:
            assert page.evaluate("window.harmed") is None, "a text has run as a script"

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def _request(self, request: Any) -> None:
        place = urlsplit(request.url)
        if place.scheme not in ("data", "blob"):
            self.hosts.add(place.hostname or "")

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def as_new(page: Page) -> None:
    """As if nobody had used its profile."""
    context = page.context
    for other in context.pages:
        if other is not page:
            other.close()
    page.evaluate("() => { try { localStorage.clear(); sessionStorage.clear() } catch {} }")
    page.goto("about:blank")
    page.unroute_all()
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(media="null", color_scheme="null")
    context.clear_cookies()
    context.clear_permissions()


@contextmanager
def watched(browser: Browser, **settings: Any) -> Iterator[tuple[Page, Watch]]:
    """A page of a fresh profile; whatever happened in it is checked at the end."""
    context = browser.new_context(**settings)
    context.set_default_timeout(TIMEOUT)
    watch = Watch(context)
    try:
        page = context.new_page()
        yield page, watch
        watch.check(page)
    finally:
        context.close()


_FAULTS = """() => {
  const found = [];
  const all = (what) => [...document.querySelectorAll(what)];
  if (all("h1").length !== 1) found.push(`${all("h1").length} h1`);
  if (!document.title.trim()) found.push("no title");
  if (document.documentElement.lang !== "en") found.push("no language");
  for (const landmark of ["main", "nav", "header", "footer"])
    if (!all(landmark).length) found.push(`no ${landmark}`);
  for (const nav of all("nav"))
    if (!nav.getAttribute("aria-label")) found.push("a nav without a name");
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    const named = field.labels.length || field.getAttribute("aria-label")
      || document.getElementById(field.getAttribute("aria-labelledby"));
    if (!named) found.push(`no label: ${field.outerHTML.slice(0, 120)}`);
    for (const id of (field.getAttribute("aria-describedby") || "").split(" "))
      if (id && !document.getElementById(id)) found.push(`nothing has the id ${id}`);
  }
  for (const one of all("a[href], button"))
    if (!one.textContent.trim() && !one.getAttribute("aria-label"))
      found.push(`no name: ${one.outerHTML.slice(0, 120)}`);
  for (const one of all("[src], [href]")) {
    const place = one.getAttribute("src") || one.getAttribute("href") || "";
    if (/^\\s*javascript:/i.test(place)) found.push(`script as a link: ${place}`);
  }
  for (const image of all("img"))
    if (!image.hasAttribute("alt")) found.push("a picture without words");
  const ids = all("[id]").map((one) => one.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  if (twice.length) found.push(`ids twice: ${[...new Set(twice)].slice(0, 5)}`);
  let last = 1;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) found.push(`h${level} after h${last}: ${heading.textContent}`);
    last = level;
  }
  return found;
}"""


def faults(page: Page) -> list[str]:
    """What a screen reader would stumble over."""
    found: list[str] = page.evaluate(_FAULTS)
    return found


_AXE = """(rules) => {
  // Rows and entries of a list are alike: the first tell what is wrong with all. Others are away
  // meanwhile, since axe looks at the whole page first.
  const read = "details.rote-evidence", others = [
    "tbody tr:nth-child(n+6)", "article:nth-of-type(n+5)", `${read} ~ ${read} ~ ${read}`,
  ];
  const more = [...document.querySelectorAll(others)];
  const held = more.map((one) => [one, document.createComment("")]);
  held.forEach(([one, place]) => one.replaceWith(place));
  // Contrast, which takes longest, is looked at where colours, letters and what is behind them
  // are not those of three texts before.
  const behind = new Map([[null, ""]]), seen = new Map();
  for (const one of document.querySelectorAll("*")) {
    const its = getComputedStyle(one), { x, y, width, height } = one.getBoundingClientRect();
    const own = [
      its.backgroundColor, its.backgroundImage, its.opacity, its.filter,
      its.position === "static" ? "" : its.position + its.zIndex,
    ].join();
    const all = behind.get(one.parentElement);
    behind.set(one, all.endsWith(own) ? all : `${all} ${own}`);
    const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!(text || one.matches("input, select, textarea")) || !one.checkVisibility()) continue;
    const drawn = [
      behind.get(one), its.color, its.fontSize, its.fontWeight, its.textShadow, its.visibility,
      one.matches(":disabled, [aria-disabled]"), x + width > 0 && y + height > 0,
      width * height > 4,
    ].join();
    seen.set(drawn, (seen.get(drawn) || 0) + 1);
    one.toggleAttribute("data-unlike", seen.get(drawn) < 4);
  }
  axe.configure({rules: [{id: "color-contrast", selector: "[data-unlike]"}]});
  return axe.run(
    {resultTypes: ["violations"], preload: false, ...(rules ? {runOnly: rules} : {})},
  ).then((found) => found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`))
  .finally(() => held.forEach(([one, place]) => place.replaceWith(one)));
}"""


def axe_script() -> str:
    """Axe-core, for pages to begin with."""
    from importlib.resources import files

    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def axe_findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe-core finds wrong with a page, by all of its rules or by some."""
    found: list[str] = page.evaluate(_AXE, rules)
    return found


def overflow(page: Page) -> float:
    """How many pixels of the page stick out of a small screen."""
    before = page.viewport_size
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    found: float = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    if before:
        page.set_viewport_size(before)
    return found


def paper(page: Page) -> str:
    """The colour behind the text."""
    found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


def focus_ring(page: Page) -> str:
    """How the element that has the focus is drawn around."""
    found: str = page.evaluate(
        "(s => s.outlineStyle === 'none' ? 'none' : s.outlineWidth)"
        "(getComputedStyle(document.activeElement))"
    )
    return found


_CUT = """(fonts) => {
  const found = [];
  for (const svg of document.querySelectorAll("figure svg")) for (const font of fonts) {
    const box = svg.viewBox.baseVal, own = svg.getScreenCTM().inverse();
    for (const text of svg.querySelectorAll("text")) {
      if (font) text.setAttribute("font-family", font);
      const { x, y, width, height } = text.getBBox(), placed = own.multiply(text.getScreenCTM());
      for (const [across, down] of [[0, 0], [width, 0], [0, height], [width, height]]) {
        const at = new DOMPoint(x + across, y + down).matrixTransform(placed);
        const over = Math.max(box.x - at.x, at.x - box.x - box.width,
          box.y - at.y, at.y - box.y - box.height);
        if (over > 0.5) { found.push(`${font}: ${text.textContent}: ${over}`); break; }
      }
    }
  }
  return found;
}"""


def cut_labels(page: Page) -> list[str]:
    """Labels of figures that reach over its edge, in the font at hand and in others."""
    expect(page.locator("figure svg text").first).to_be_attached()
    fonts = ["", "DejaVu Sans", "Verdana", "Liberation Sans", "serif", "monospace"]
    found: list[str] = page.evaluate(_CUT, fonts)
    return found
