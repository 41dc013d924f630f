"""Runs: the Job of a CronJob by which it is stopped. Pure."""

from collections.abc import Iterable

from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.values import Json, mapping, objects, text
from enforcer.act.mark import mark_of
from enforcer.act.served import NoWay

_OVER = {"Complete", "Failed"}


def cronjob_of(job: Json) -> Reference | None:
    """The CronJob whose run a Job is; None where it is nobody's."""
    owner = controller_of(mapping(job.get("metadata")))
    is_one = owner is not None and (owner.group, owner.kind) == ("batch", "CronJob")
    return owner if is_one else None


def run_of(jobs: Iterable[Json], cronjob: Json, known: str = "") -> Json | None:
    """The run that is `known` by its UID; else the one that we stopped; else the one that runs. None: it is not there.

    While one that we stopped waits, no other is stopped: each is to be found again. Raises NoWay where several run.
    """
    uid = text(mapping(cronjob.get("metadata")).get("uid"))
    runs = [
        each
        for each in jobs
        if (owner := cronjob_of(each)) is not None
        and owner.uid == uid
        and known in {"", mapping(each.get("metadata")).get("uid")}
        and not _is_over(each)
    ]
    stopped = [each for each in runs if mark_of(each) is not None]
    running = [each for each in runs if mapping(each.get("spec")).get("suspend") is not True]
    found = stopped or running or runs
    if len(found) > 1:
        raise NoWay(f"it has {len(found)} runs at once, where there is to be one")
    return found[0] if found else None


def _is_over(job: Json) -> bool:
    conditions = objects(mapping(job.get("status")).get("conditions"))
    ended = any(each.get("type") in _OVER and each.get("status") == "True" for each in conditions)
    return ended or bool(mapping(job.get("metadata")).get("deletionTimestamp"))
