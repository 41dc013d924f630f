"""The map of the fleet: a cell a GPU, by pool and node, coloured and hatched by state; one piece of HTML.

Ten thousand cells are 0.3 MB; above MANY GPUs a cell says nothing of its own, and its node's title tells.
"""

from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup, escape

from analytics.reports import legible
from analytics.reports.figures import Amount
from analytics.reports.summary import hours
from analytics.reports.theme import STATE, STATES
from analytics.views.fleet import Device, Fleet, Gpu, Node, Pool

MANY = 1_000
_CLASS = {state.name: f"s{place}" for place, state in enumerate(STATES)}
_HATCH = {  # as the legend's swatches; the lines keep their width whatever the cell's
    "rising": "repeating-linear-gradient(135deg, transparent 0 3px, var(--text) 3px 4px)",
    "falling": "repeating-linear-gradient(45deg, transparent 0 3px, var(--background) 3px 4px)",
    "upright": "repeating-linear-gradient(90deg, transparent 0 3px, var(--outline) 3px 4px)",
}
_CSS = """
.qm .pool { margin: 18px 0 0; }
.qm .pool h3 { margin: 0 0 6px; }
.qm .pool h3 span { font-weight: 400; color: var(--muted); font-size: 13px; margin-left: 6px; }
.qm .gpus { display: flex; flex-wrap: wrap; gap: 10px 14px; }
.qm .gpus > span { display: inline-block; }
.qm .gpus > span > em { display: block; font-style: normal; font-size: 11.5px; color: var(--muted); line-height: 1.4; }
.qm .gpus i { display: inline-flex; width: 18px; height: 18px; border-radius: 4px; margin-right: 3px; }
.qm .gpus i { overflow: hidden; vertical-align: top; }
.qm .gpus i.cut { width: 48px; }
.qm .gpus.many { gap: 4px 7px; }
.qm .gpus.many i, .qm .gpus.many i.cut { width: 10px; height: 10px; border-radius: 2px; margin-right: 1px; }
.qm .gpus i b { height: 100%; border-right: 1px solid var(--background); }
.qm .gpus i b:last-child { border-right: 0; }
""" + "".join(
    f".qm .gpus .{_CLASS[state.name]} {{ background-color: var(--{state.name});"
    + (f" background-image: {_HATCH[state.hatch]};" if state.hatch else "")
    + (" box-shadow: inset 0 0 0 1px var(--outline);" if state.name == "unobserved" else "")
    + " }\n"
    for state in STATES
)


def gpu_map(fleet: Fleet) -> str:
    """The map with its legend. Every name in it is escaped."""
    many = fleet.gpus > MANY
    pools = "".join(_pool(pool, many=many) for pool in fleet.pools)
    return f'<style>{_CSS}</style><div class="qm">{_legend(fleet)}{pools}</div>'


def words(devices: Iterable[Device]) -> str:
    """How many devices are in which state: `6 computing, 2 idle`."""
    counts = Counter(device.state for device in devices)
    return ", ".join(
        f"{counts[state.name]:,} {state.label.lower()}" for state in STATES if counts[state.name]
    )


def _legend(fleet: Fleet) -> str:
    rows = "".join(
        f'<li><span class="swatch {state.hatch}" style="--swatch: var(--{state.name})" aria-hidden="true"></span>'
        f'{state.label} <span class="muted">{hours(Amount(fleet.pms[state.name]))} GPU-h</span></li>'
        for state in STATES
        if fleet.pms[state.name]
    )
    return f'<ul class="legend" aria-label="Legend">{rows}</ul>'


def _pool(pool: Pool, *, many: bool) -> str:
    count = sum(len(node.gpus) for node in pool.nodes)
    title, model = _name(pool.title), _name(pool.model)
    about = f"{count:,} GPU{'' if count == 1 else 's'} on {len(pool.nodes):,} node{'' if len(pool.nodes) == 1 else 's'}"
    label = f"{title}: {about}; {words(pool.devices)}"
    nodes = "".join(_node(node, many=many) for node in pool.nodes)
    return (
        f'<section class="pool"><h3><b class="name">{title}</b> <span class="name">{model} · {_name(pool.cluster)} · '
        f'{about}</span></h3><div class="gpus{" many" if many else ""}" role="img" aria-label="{label}">{nodes}'
        "</div></section>"
    )


def _node(node: Node, *, many: bool) -> str:
    name = _name(node.name, 40)
    label = f"{name}: {words(device for gpu in node.gpus for device in gpu.devices)}"
    cells = "".join(_cell(gpu, many=many) for gpu in node.gpus)
    return f'<span title="{label}">{"" if many else f"<em>{name}</em>"}{cells}</span>'


def _cell(gpu: Gpu, *, many: bool) -> str:
    title = "" if many else f' title="{_about(gpu)}"'
    if not gpu.is_cut:
        return f'<i class="{_CLASS[gpu.devices[0].state]}"{title}></i>'
    cuts = "".join(
        f'<b class="{_CLASS[device.state]}" style="flex:{device.parts}"></b>' for device in gpu.devices
    )
    return f'<i class="cut"{title}>{cuts}</i>'


def _about(gpu: Gpu) -> str:
    place = f"GPU {'?' if gpu.index is None else gpu.index}"
    return f"{place}: " + "; ".join(_device(device) for device in gpu.devices)


def _device(device: Device) -> str:
    who = f" · {_name(device.team, 40)} · {_name(device.workload, 60)}" if device.team else ""
    profile = f"{_name(device.profile, 20)} " if device.profile else ""
    return f"{profile}{STATE[device.state].label.lower()}{who}"


def _name(text: str, most: int = legible.LONGEST) -> Markup:
    return escape(legible.name(text, most))
