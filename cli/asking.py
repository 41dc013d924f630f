"""Who asks for something, as the ledger keeps it: a pseudonym."""

import getpass
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration


def asker(configuration: "Configuration") -> str:
    """The pseudonym of who runs the command. Raises ConfigurationError where the pseudonyms' key cannot be used."""
    from quartermaster.person import person_id, pseudonym, pseudonym_key

    key = pseudonym_key(configuration.privacy.key, configuration.ledger.path)
    return pseudonym(person_id(key, _user()))


def _user() -> str:
    """The user's name or, as in many a container, the number that has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
