"""What a host's collector knows, on the disk between two of its lives: so that who holds a GPU goes on."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from collector.nvml.book import Book
from collector.nvml.claims import Mark
from collector.nvml.fleet import Fleet
from collector.nvml.owner import Owner
from collector.spool import sync_folder
from quartermaster.errors import InputError
from quartermaster.records import Allocation, Device, Holding, Node, Workload

_FORM = 1


def save(path: Path, fleet: Fleet, book: Book) -> None:
    """Write what is known, whole or not at all. Raises OSError."""
    owners = sorted(book.allocations)
    number = {owner: place for place, owner in enumerate(owners)}
    value = {
        "form": _FORM,
        "boot_id": book.boot_id,
        "sick": fleet.sick,
        "nodes": [asdict(each) for each in fleet.nodes.open.values()],
        "devices": [asdict(each) for each in fleet.devices.open.values()],
        "looked": sorted(book.looked.items()),
        "owners": [
            {
                **asdict(owner),
                "seen_ms": book.seen[owner],
                "workload": asdict(book.workloads[owner]),
                "allocation": asdict(book.allocations[owner]),
            }
            for owner in owners
        ],
        "seats": [
            {
                "owner": number[owner],
                "holding": asdict(holding),
                "marks": sorted(book.marks[owner, device_id]),
            }
            for (owner, device_id), holding in book.holdings.items()
        ],
    }
    part = path.with_suffix(".part")
    # It has users' numbers, which stand nowhere else.
    with os.fdopen(
        os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    sync_folder(path.parent)


def restore(path: Path, fleet: Fleet, book: Book) -> bool:
    """Bring back what `save` wrote; False when there is nothing. Raises InputError for anything else."""
    if not path.exists():
        return False
    try:
        value = cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))
        _fill(value, fleet, book)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"{path} is damaged: {error}", "it is written anew; who holds a GPU begins anew"
        ) from error
    return True


def _fill(value: Mapping[str, Any], fleet: Fleet, book: Book) -> None:
    if value["form"] != _FORM:
        raise ValueError(f"it has form {value['form']}")
    nodes = [Node(**each) for each in value["nodes"]]
    devices = [Device(**each) for each in value["devices"]]
    owners: list[Owner] = [Owner(each["kind"], each["name"], each["uid"]) for each in value["owners"]]
    workloads = [Workload(**each["workload"]) for each in value["owners"]]
    allocations = [Allocation(**each["allocation"]) for each in value["owners"]]
    seen = [int(each["seen_ms"]) for each in value["owners"]]
    seats: list[tuple[Owner, Holding, frozenset[Mark]]] = [
        (
            owners[int(each["owner"])],
            Holding(**each["holding"]),
            frozenset((int(pid), int(ticks)) for pid, ticks in each["marks"]),
        )
        for each in value["seats"]
    ]
    looked, sick, boot_id = dict(value["looked"]), dict(value["sick"]), str(value["boot_id"])
    for node in nodes:
        fleet.nodes.open[node.node] = node
    for device in devices:
        fleet.devices.open[device.device_id] = device
    fleet.sick.update(sick)
    book.boot_id = boot_id
    book.looked.update(looked)
    book.workloads.update(zip(owners, workloads, strict=True))
    book.allocations.update(zip(owners, allocations, strict=True))
    book.seen.update(zip(owners, seen, strict=True))
    for owner, holding, marks in seats:
        book.holdings[owner, holding.device_id] = holding
        book.marks[owner, holding.device_id] = marks
