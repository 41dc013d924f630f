"""Which numbers of an exporter are values: blanks, absurd numbers and ratios outside their range are none."""

import numpy as np
import numpy.typing as npt

from collector.dcgm.metrics import SIGNALS

Floats = npt.NDArray[np.float64]

# DCGM's blanks: blank, not found, not supported, not permissioned, of its int32, double and int64 fields.
# As doubles the four of int64 are one number.
BLANKS = np.array(
    [*range(0x7FFFFFF0, 0x7FFFFFF4), *range(1 << 47, (1 << 47) + 4), 9_223_372_036_854_775_792], np.float64
)
_MULTIPLY = np.array([signal.multiply for signal in SIGNALS], np.float64)
_DIVIDE = np.array([signal.divide for signal in SIGNALS], np.float64)
_FLOORED = _DIVIDE > 1  # a counter never runs ahead; the rest is rounded half to even
_LOWEST = np.array([signal.lowest for signal in SIGNALS], np.float64)
_HIGHEST = np.array([signal.highest for signal in SIGNALS], np.float64)
# Of all other signals a blank is too high to be a value.
_MAY_BE_BLANK = BLANKS.min() <= (_HIGHEST + 1) * _DIVIDE / _MULTIPLY


def stored(signals: Floats) -> Floats:
    """The exporter's numbers (rows × signals) as whole numbers in the ledger's units; NaN: no value."""
    columns = np.broadcast_to(np.arange(len(SIGNALS)), signals.shape)
    return _stored(signals, columns)


def stored_column(numbers: Floats, signal: int) -> Floats:
    """The same of many numbers of one signal."""
    multiply, divide = _MULTIPLY[signal], _DIVIDE[signal]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = numbers * multiply if multiply > 1 else numbers
        whole = np.floor(scaled / divide) if divide > 1 else np.rint(scaled)
        fits = (whole >= _LOWEST[signal]) & (whole <= _HIGHEST[signal])
    if _MAY_BE_BLANK[signal]:
        fits &= ~np.isin(numbers, BLANKS)
    return np.where(fits, whole + 0.0, np.nan)


def is_value(numbers: Floats, signals: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Whether each number can be a value of the signal with that number."""
    return ~np.isnan(_stored(numbers, signals))


def _stored(numbers: Floats, columns: npt.NDArray[np.intp] | int) -> Floats:
    columns = np.asarray(columns)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = numbers * _MULTIPLY[columns] / _DIVIDE[columns]
        whole = np.where(_FLOORED[columns], np.floor(scaled), np.rint(scaled))
        fits = (whole >= _LOWEST[columns]) & (whole <= _HIGHEST[columns])
    return np.where(fits & ~np.isin(numbers, BLANKS), whole + 0.0, np.nan)
