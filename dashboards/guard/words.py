"""The few pages of the guard's own: the way to sign in, and why one is not let in."""

from dataclasses import dataclass
from html import escape

from dashboards.guard.doors import SIGN_IN

_STYLE = """
:root { color-scheme: light dark; --ground: #f6f8fa; --card: #ffffff; --text: #17212b; --soft: #5a6673; --line: #dde3ea;
  --link: #14569d; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ground: #12181f; --card: #1a222b; --text: #e7edf3; --soft: #a3b0bd;
  --line: #2d3844; --link: #6cb0f7; --on: #0d1620; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--ground); color: var(--text);
  font: 16px/1.5 Inter, system-ui, sans-serif; }
main { box-sizing: border-box; width: min(25rem, calc(100vw - 32px)); padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; }
b { color: var(--soft); font-size: .9rem; }
h1 { margin: .2rem 0 .4rem; font-size: 1.4rem; }
p { margin: 0; color: var(--soft); }
a { display: inline-block; margin-top: 1.4rem; padding: .55rem 1.1rem; border-radius: 10px; background: var(--link);
  color: var(--on); font-weight: 600; text-decoration: none; }
a:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
"""


@dataclass(frozen=True)
class Notice:
    """What is said in place of a page: its status, one thing, and one way on."""

    status: int
    title: str
    text: str
    link: str = ""
    label: str = ""


NOT_OUR_NAME = Notice(
    421, "That is not our name", "These pages answer to the address that they are configured with."
)
NOT_TO_BE_DONE = Notice(
    405, "That cannot be done here", "Pages are read; what is asked for goes through them."
)
ODD = Notice(400, "That is no address of ours", "Look at it again.")
TOO_MUCH_SAID = Notice(
    431, "That is too much", "A browser that brings so much should forget its cookies for this name."
)
NOTHING_TAKEN = Notice(413, "Nothing is taken here", "Pages take no files.")
NOTHING_HERE = Notice(404, "There is nothing here", "Look at the address again.", "/", "To the pages")
NOT_OFFERED = Notice(
    404,
    "There is nothing here",
    "A file is for whom it was made, while their page is open.",
    "/",
    "To the pages",
)
NOT_LET_IN = Notice(
    403,
    "You are not let in",
    "Nobody is known who comes this way: the pages stand behind a proxy that signs people in.",
)
NOT_SIGNED_IN = Notice(401, "You are not signed in", "Sign in first.", SIGN_IN, "Sign in")
ASK = Notice(
    200,
    "Sign in",
    "What the fleet costs, and who holds it, is for those who belong to it.",
    SIGN_IN,
    "Sign in",
)
SIGNED_OUT = Notice(200, "You are signed out", "Nothing is open here any more.", SIGN_IN, "Sign in")
FAILED = Notice(
    403,
    "Signing in did not work",
    "The provider did not say who you are, or what it said is too old.",
    SIGN_IN,
    "Try again",
)


def page(notice: Notice) -> bytes:
    """A notice as HTML."""
    title, text = escape(notice.title), escape(notice.text)
    way = f'<a href="{escape(notice.link)}">{escape(notice.label)}</a>' if notice.link else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{title} · Quartermaster</title><style>{_STYLE}</style></head>"
        f"<body><main><b>Quartermaster</b><h1>{title}</h1><p>{text}</p>{way}</main></body></html>"
    ).encode()
