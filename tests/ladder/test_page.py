"""docs/ladder.md is true: its configuration is in order, and its message is the one that is sent."""

from pathlib import Path

from enforcer.ladder.message import KEEP_UNTIL
from enforcer.live import seen
from quartermaster.config.load import check_configuration
from tests.ladder.test_message import WHOLE

PAGE = (Path(__file__).parents[2] / "docs" / "ladder.md").read_text(encoding="utf-8")


def test_its_configuration_is_in_order(tmp_path: Path) -> None:
    file = tmp_path / "q.yaml"
    file.write_text(PAGE.split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    (tmp_path / "mail-url").write_text("mailtos://x", encoding="utf-8")
    found = check_configuration(file, {"VISION_SLACK": "slack://x"})
    assert found.problems == ()
    notify = found.need().notify
    assert [each.name for each in notify.channels_of("vision-2")] == ["vision-chat", "mail"]
    assert [each.name for each in notify.channels_of("nlp")] == ["mail"]


def test_its_message_and_its_annotation_are_those_that_are_used() -> None:
    assert WHOLE in PAGE
    assert seen.KEEP_UNTIL == KEEP_UNTIL
    assert KEEP_UNTIL in PAGE
