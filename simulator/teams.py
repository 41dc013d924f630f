"""The demo's teams: departments, promises in pools, and the rules by which a pod is known to be a team's."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Team:
    """Who pays."""

    name: str
    department: str
    cost_centre: str


@dataclass(frozen=True)
class Promise:
    """A guarantee in a pool, in whole GPUs; `limit_gpus` None: as much as there is."""

    team: str
    pool: str
    gpus: int
    limit_gpus: int | None = None
    weight: int = 1


@dataclass(frozen=True)
class Rule:
    """How a pod is known: all that are given must match. Globs, the first rule that matches wins."""

    team: str
    namespace: str = ""
    label: tuple[str, str] | None = None
    user: str = ""


TEAMS = (
    Team("language", "research", "4710"),
    Team("vision", "research", "4711"),
    Team("speech", "research", "4712"),
    Team("search", "products", "5210"),
    Team("recommend", "products", "5220"),
    Team("genomics", "science", "6100"),
    Team("climate", "science", "6200"),
    Team("evaluation", "platform", "7000"),
)

PROMISES = (
    Promise("language", "training", 24, 40, 2),
    Promise("vision", "training", 8, 32),
    Promise("recommend", "training", 8, 16),
    Promise("genomics", "training", 4, 16),
    Promise("climate", "training", 0, 16),
    Promise("vision", "research", 8),
    Promise("speech", "research", 6),
    Promise("genomics", "research", 4),
    Promise("evaluation", "research", 2, 4),
    Promise("search", "serving", 8),
    Promise("recommend", "serving", 6),
    Promise("language", "notebooks", 4),
    Promise("vision", "notebooks", 4),
    Promise("speech", "notebooks", 2),
    Promise("genomics", "notebooks", 2),
)

RULES = (
    Rule("language", namespace="lm-*"),
    Rule("vision", namespace="vision-*"),
    Rule("speech", namespace="speech-*"),
    Rule("search", namespace="search-*"),
    Rule("recommend", namespace="recommend*"),
    Rule("genomics", namespace="bio-*"),
    Rule("evaluation", namespace="eval-*"),
    Rule("climate", namespace="shared-*", user="clim-*"),
    *(Rule(team.name, namespace="shared-*", label=("team", team.name)) for team in TEAMS),
    Rule("climate", namespace="climate-*"),
)


def promises(gpus: dict[str, int], full: dict[str, int]) -> list[Promise]:
    """The promises for pools of these sizes, in proportion to the full ones and rounded down."""

    def part(value: int | None, pool: str) -> int | None:
        return None if value is None else value * gpus[pool] // full[pool]

    return [
        Promise(p.team, p.pool, p.gpus * gpus[p.pool] // full[p.pool], part(p.limit_gpus, p.pool), p.weight)
        for p in PROMISES
        if p.pool in gpus
    ]
