"""Entitlements: what a team or department is promised in a pool, how much of the rest is its, and what it asks for.

All amounts are parts (1 GPU is `quartermaster.parts.GPU_PARTS`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entitlement:
    """A team, or a department with its teams (or departments) in `members`.

    A team's `request_parts` is what it holds and waits for together; a department's is its members', and its
    own is not looked at. A department without a `guarantee_parts` has what its members' guarantees ask for; one
    that states more keeps among its members what they leave of it.
    """

    name: str
    guarantee_parts: int = 0
    limit_parts: int | None = None  # None: no limit
    weight: int = 1
    priority: int = 0  # higher is served first
    request_parts: int = 0
    remembered_parts: int = 0  # past borrowing that still counts
    members: tuple["Entitlement", ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be divided by: raises ValueError that names the entitlement and the amount."""
        amounts = (self.guarantee_parts, self.limit_parts or 0, self.request_parts, self.remembered_parts)
        if min(amounts) < 0:
            raise ValueError(f"{self.name!r}: an amount is below zero")
        if self.weight < 1:
            raise ValueError(f"{self.name!r}: a weight is at least 1, not {self.weight}")
