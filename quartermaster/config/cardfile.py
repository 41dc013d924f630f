"""A rate card in a file of its own, as `quartermaster prices set` takes it: the same keys, the same checks."""

from dataclasses import replace

from pydantic import ValidationError

from quartermaster.config.cards import cards
from quartermaster.config.complaint import complaints
from quartermaster.config.model import Configuration
from quartermaster.config.prices import RateCardPart
from quartermaster.config.problem import BrokenConfigurationError, Complaint, Key
from quartermaster.config.source import read_yaml


def read_card(text: str, file: str, configuration: Configuration) -> RateCardPart:
    """The card of a file's text, in order with the configuration's pools, teams and tariffs.

    Raises BrokenConfigurationError with every error and its line.
    """
    source = read_yaml(text, file)
    try:
        card = RateCardPart.model_validate(source.value)
    except ValidationError as error:
        wrong = complaints(error)
        told = [one for one in wrong if not (one.follows and any(_under(two, one) for two in wrong))]
        found = [source.problem(complaint, lambda key: key) for complaint in told]
        raise BrokenConfigurationError((*source.problems, *found)) from error
    doubts = (_within(doubt) for doubt in cards(configuration.model_copy(update={"rate_cards": (card,)})))
    problems = [
        *source.problems,
        *(source.problem(doubt, lambda key: key) for doubt in doubts if doubt is not None),
    ]
    if any(problem.severity == "error" for problem in problems):
        raise BrokenConfigurationError(problems)
    return card


def _under(complaint: Complaint, above: Complaint) -> bool:
    """Whether it is about a part of what the other is about: a list whose every item is wrong is not also too short."""
    return complaint is not above and complaint.key[: len(above.key)] == above.key


def _within(doubt: Complaint) -> Complaint | None:
    """The doubt by the card's own keys; None for one about something else."""
    if doubt.key[:2] != ("rate_cards", 0):
        return None
    other: Key | None = doubt.other
    return replace(doubt, key=doubt.key[2:], other=other[2:] if other and other[0] == "rate_cards" else None)
