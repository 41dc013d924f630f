"""Every error that a person may see, as one small tree; each says what was wrong, where, and what to do next.

QuartermasterError
├── ConfigurationError    the configuration file, or a reference in it, is wrong
├── InputError            an argument, a file or a request is wrong
├── LedgerError           the ledger cannot be opened, read or written
│   ├── LedgerBusyError   somebody else holds the write lock for too long
│   └── LedgerVersionError  the ledger's revision is not this program's
└── SourceError           a system that we read from does not answer as it should
"""


class QuartermasterError(Exception):
    """Something a person can mend: `what` went wrong and where, `hint` the next step, `exit_code` the command's."""

    exit_code = 1

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class ConfigurationError(QuartermasterError):
    """The configuration file, or a reference in it, is wrong."""

    exit_code = 3


class InputError(QuartermasterError):
    """An argument, a file or a request is wrong."""

    exit_code = 2


class LedgerError(QuartermasterError):
    """The ledger cannot be opened, read or written."""

    exit_code = 4


class LedgerBusyError(LedgerError):
    """Somebody else holds the write lock for too long."""


class LedgerVersionError(LedgerError):
    """The ledger's revision is not the one that this program knows."""


class SourceError(QuartermasterError):
    """A system that we read from does not answer as it should."""

    exit_code = 5
