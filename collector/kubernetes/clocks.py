"""An API server's clock against the collector's: by how much they differ, as every answer bounds it; pure."""

import threading
from collections import deque
from email.utils import parsedate_to_datetime

from quartermaster.clock import MINUTE_MS, SECOND_MS

# What is nearer is taken as one clock: times of the API are whole seconds.
APART_MS = 2 * SECOND_MS
_KEPT, _KEPT_MS = 64, 10 * MINUTE_MS


class ServerClock:
    """Bounds of (the server's clock − ours), from the Date of its answers; may be asked from any thread.

    A Date is a whole second, floored, of some moment between our asking and our getting the answer: so the
    difference is at least date − received and less than date + 1 s − sent. The newest answers that agree count.
    """

    def __init__(self) -> None:
        self._bounds: deque[tuple[int, int, int]] = deque(maxlen=_KEPT)  # received, least, most
        self._lock = threading.Lock()

    def observe(self, sent_ms: int, received_ms: int, date: str) -> None:
        """Take an answer's Date (RFC 9110) into account; one that is none is passed over."""
        try:
            date_ms = int(parsedate_to_datetime(date).timestamp()) * SECOND_MS
        except (TypeError, ValueError, OverflowError):
            return
        with self._lock:
            self._bounds.append((received_ms, date_ms - received_ms, date_ms + SECOND_MS - sent_ms))

    def bounds(self) -> tuple[int, int] | None:
        """The least and the most that the server's clock is ahead of ours, in ms; None where nothing tells."""
        with self._lock:
            known = list(self._bounds)
        if not known:
            return None
        least, most = known[-1][1], known[-1][2]
        for received_ms, low, high in reversed(known):
            if known[-1][0] - received_ms > _KEPT_MS or max(least, low) > min(most, high):
                break  # older, or before one of the clocks was set
            least, most = max(least, low), min(most, high)
        return least, most

    @property
    def offset_ms(self) -> int:
        """The server's clock − ours, in the middle of its bounds; 0 where nothing tells."""
        known = self.bounds()
        return 0 if known is None else (known[0] + known[1]) // 2

    @property
    def apart_ms(self) -> int:
        """The same where the clocks are surely apart, else 0: what is added to a receipt to be on the API's clock."""
        least, most = self.bounds() or (0, 0)
        return (least + most) // 2 if least > APART_MS or most < -APART_MS else 0
