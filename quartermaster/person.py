"""People as pseudonyms: a keyed hash of a name, so that the ledger knows the same person again and nobody by
name."""

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from quartermaster.config.secret import Secret
from quartermaster.errors import ConfigurationError

KEY_FILE = "pseudonym.key"
_SHORTEST = 16
_PREFIX = "person-"
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: none looks like another


def person_id(key: bytes, name: str) -> int:
    """The pseudonym of a person: a number in [0, 2**63), HMAC-SHA-256 of the name under the key.

    Names are compared as they are written. Without the key nobody can tell which name a number stands for,
    nor try names out; with another key every person becomes another number.
    """
    digest = hmac.new(key, b"person\x00" + name.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def pseudonym(person: int) -> str:
    """How a person without a name is called on pages and in reports: `person-` and 13 letters and digits."""
    letters = "".join(_LETTERS[person >> shift & 31] for shift in range(60, -5, -5))
    return _PREFIX + letters


def pseudonym_of(text: str) -> int | None:
    """The person that `pseudonym` called so, or None for text that is no pseudonym."""
    letters = text.removeprefix(_PREFIX)
    if letters == text or len(letters) != 13 or not set(letters) <= set(_LETTERS):
        return None
    number = 0
    for letter in letters:
        number = number << 5 | _LETTERS.index(letter)
    return number if number < 2**63 else None


def pseudonym_key(configured: Secret | None, folder: Path) -> bytes:
    """The key of the pseudonyms: the configured secret, or a file in the ledger's folder, made if need be.

    The file is made whole and readable by its owner alone; two processes at once end up with the same one.
    Raises ConfigurationError for a key that is missing, shorter than 16 bytes, or readable by everybody.
    """
    if configured is not None:
        return _long_enough(configured.reveal().encode(), str(configured))
    path = folder / KEY_FILE
    if not path.exists():
        _make(path)
    try:
        if path.stat().st_mode & 0o007:
            raise ConfigurationError(f"{path} can be read by everybody", f"chmod 600 {path}")
        return _long_enough(path.read_bytes().strip(), str(path))
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", "name a key with privacy: key:"
        ) from error


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another process was first: its key counts
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def _long_enough(key: bytes, where: str) -> bytes:
    if len(key) < _SHORTEST:
        raise ConfigurationError(
            f"the pseudonyms' key in {where} is shorter than {_SHORTEST} bytes", "make a longer one"
        )
    return key
