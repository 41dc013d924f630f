"""The book: a snapshot of an instant from the ledger's rows."""

import pytest

from enforcer.book import Book
from quartermaster.parts import GPU_PARTS
from tests.enforcer.past import CLUSTER, Past, h


@pytest.mark.patient
def test_a_booking_adds_to_a_promise_and_its_limit_while_it_lasts_and_an_offer_takes_off() -> None:
    past = Past(8)
    past.small.promise("vision", 4, limit_parts=6 * GPU_PARTS, weight=3)
    past.small.promise("vision", 2, 120, 240, kind="booking")
    past.small.promise("nlp", 3)
    past.small.promise("nlp", 1, 180, 300, kind="offer")
    past.small.promise("guest", 1, 120, 240, kind="booking")
    book = Book(past.told(), CLUSTER, h(0), h(8))

    def promised(hour: int) -> dict[str, tuple[int, int | None, int]]:
        return {
            each.team: (
                each.guaranteed_parts // GPU_PARTS,
                None if each.limit_parts is None else each.limit_parts // GPU_PARTS,
                each.weight,
            )
            for each in book.told(h(hour)).snapshot.promises
            if each.pool == "p" and each.guaranteed_parts
        }

    assert promised(1) == {"vision": (4, 6, 3), "nlp": (3, None, 1)}
    assert promised(2) == {"vision": (6, 8, 3), "nlp": (3, None, 1), "guest": (1, None, 1)}
    assert promised(3) == {"vision": (6, 8, 3), "nlp": (2, None, 1), "guest": (1, None, 1)}
    assert promised(4) == {"vision": (4, 6, 3), "nlp": (2, None, 1)}
    assert promised(5) == promised(1)


def test_the_pool_of_a_node_is_the_one_of_that_instant() -> None:
    past = Past(8)
    book = Book(past.told(), CLUSTER, h(0), h(8))
    assert book.pools(h(1)) == {each.name: each.pool for each in book.told(h(1)).snapshot.nodes} != {}
