"""Pseudonyms: the same person again, nobody by name, and the key's file."""

import subprocess
import sys
from pathlib import Path

import pytest

from quartermaster.config.secret import Secret
from quartermaster.errors import ConfigurationError
from quartermaster.person import KEY_FILE, person_id, pseudonym, pseudonym_key


def test_a_person_is_the_same_number_under_the_same_key_alone():
    key, other = b"k" * 32, b"l" * 32
    assert person_id(key, "alice") == person_id(key, "alice")
    assert person_id(key, "alice") != person_id(key, "Alice")
    assert person_id(key, "alice") != person_id(other, "alice")
    assert 0 <= person_id(key, "alice") < 2**63
    assert pseudonym(person_id(key, "alice")).startswith("person-")
    assert pseudonym(0) == "person-0000000000000"
    assert pseudonym(2**63 - 1) == "person-7zzzzzzzzzzzz"


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path):
    first = pseudonym_key(None, tmp_path / "ledger")
    assert pseudonym_key(None, tmp_path / "ledger") == first
    assert (tmp_path / "ledger" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert [file.name for file in (tmp_path / "ledger").iterdir()] == [KEY_FILE]


@pytest.mark.patient
def test_processes_at_once_have_one_key(tmp_path: Path):
    code = "from pathlib import Path; from quartermaster.person import pseudonym_key as key; "
    code += f"print(key(None, Path({str(tmp_path)!r})))"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(4)]
    assert len({process.communicate()[0] for process in running}) == 1


def test_a_key_that_everybody_can_read_is_refused(tmp_path: Path):
    pseudonym_key(None, tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(ConfigurationError, match="everybody"):
        pseudonym_key(None, tmp_path)


@pytest.mark.parametrize(
    "secret", [Secret("${env:K}", "short"), Secret("${env:K}", None, "the environment variable K is not set")]
)
def test_a_short_or_missing_key_is_refused(secret: Secret, tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"shorter than|not set"):
        pseudonym_key(secret, tmp_path)


def test_a_configured_key_counts(tmp_path: Path):
    assert pseudonym_key(Secret("${env:K}", "k" * 16), tmp_path) == b"k" * 16
    assert not list(tmp_path.iterdir())
