# ruff: noqa: E501  (tables of lines)
"""Parts of MIG instances: every spelling of a profile, on every model that has MIG."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.parts import GPU_PARTS, mig_parts, mig_slices

SEVENTH, QUARTER, HALF = 24_000, 42_000, 84_000
A100_40, A100_80, H100 = "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"
H200, B200, GB200, B300 = "NVIDIA H200", "NVIDIA B200", "NVIDIA GB200", "NVIDIA B300 SXM6 AC"
GH200, H100_NVL, H20 = "NVIDIA GH200 480GB", "NVIDIA H100 NVL", "NVIDIA H20"
A30, PRO_6000 = "NVIDIA A30", "NVIDIA RTX PRO 6000 Blackwell Server Edition"


@pytest.mark.parametrize(
    ("parts", "divisor"),
    [(168_000 // 7, 7), (168_000 // 4, 4), (168_000 // 10, 10), (168_000 // 64, 64), (168_000 // 1000, 1000)],
)
def test_what_a_gpu_is_shared_into_is_whole(parts: int, divisor: int) -> None:
    assert parts * divisor == GPU_PARTS


@pytest.mark.parametrize(
    ("model", "profile", "parts"),
    [
        (A100_40, "1g.5gb", SEVENTH),
        (A100_40, "1g.5gb+me", SEVENTH),
        (A100_40, "1g.10gb", SEVENTH),
        (A100_40, "3g.20gb", 3 * SEVENTH),
        (A100_40, "7g.40gb", GPU_PARTS),
        (A100_80, "1g.20gb", SEVENTH),
        (A100_80, "4g.40gb", 4 * SEVENTH),
        (H100, "1g.10gb+me", SEVENTH),
        (H100, "2g.20gb", 2 * SEVENTH),
        (H100_NVL, "1g.12gb", SEVENTH),
        (H100_NVL, "3g.47gb", 3 * SEVENTH),
        (H20, "1g.12gb+me", SEVENTH),
        (GH200, "1g.12gb", SEVENTH),
        (GH200, "4g.48gb", 4 * SEVENTH),
        (GH200, "7g.96gb", GPU_PARTS),
        (H200, "1g.18gb+me", SEVENTH),
        (H200, "1g.35gb", SEVENTH),
        (H200, "3g.71gb", 3 * SEVENTH),
        (H200, "7g.141gb", GPU_PARTS),
        (B200, "1g.23gb", SEVENTH),
        (B200, "2g.45gb", 2 * SEVENTH),
        (B200, "7g.180gb", GPU_PARTS),
        (GB200, "4g.95gb", 4 * SEVENTH),
        (B300, "7g.269gb", GPU_PARTS),
        (A30, "1g.6gb", QUARTER),
        (A30, "1g.6gb+me", QUARTER),
        (A30, "2g.12gb+me", HALF),
        (A30, "4g.24gb", GPU_PARTS),
        ("NVIDIA A30X", "2g.12gb", HALF),
        (PRO_6000, "1g.24gb+gfx", QUARTER),
        (PRO_6000, "1g.24gb+me.all", QUARTER),
        (PRO_6000, "2g.48gb-me", HALF),
        (PRO_6000, "4g.96gb", GPU_PARTS),
        ("NVIDIA RTX PRO 5000 Blackwell", "1g.24gb", HALF),
        ("", "1g.10gb", SEVENTH),
        ("", "1g.6gb", QUARTER),
        ("", "4g.24gb", GPU_PARTS),
    ],
)
def test_an_instance_has_its_compute_slices(model: str, profile: str, parts: int) -> None:
    assert mig_parts(model, profile) == parts


@pytest.mark.parametrize(
    "spelling",
    [
        "1g.10gb",
        "MIG 1g.10gb",
        "mig-1g.10gb",
        "1g.10gb+me",
        "mig-1g.10gb.me",
        " 1g.10gb ",
        "1G.10GB",
        "1c.3g.40gb",
        "MIG 1c.7g.80gb",
    ],
)
def test_one_slice_in_every_spelling(spelling: str) -> None:
    assert mig_parts(H100, spelling) == SEVENTH


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        (H100, ""), (H100, "gpu"), (H100, "0g.10gb"), (H100, "8g.80gb"), (H100, "99g.80gb"), (H100, "1g"), (H100, "1g.10"), (H100, "10gb"),
        (H100, "1g.10gb; drop table"), (H100, "1g.10gb+"), (H100, "x1g.10gb"), (H100, "-1g.10gb"), (H100, "4c.3g.40gb"), (H100, "0c.3g.40gb"),
        (H100, "١g.10gb"), (A30, "7g.40gb"), (A30, "5g.24gb"), (PRO_6000, "7g.96gb"), ("", "8g.80gb"), (H100, "1g.10gb\n2g.20gb"),
    ],
)  # fmt: skip
def test_what_is_no_profile_of_the_model_is_refused(model: str, profile: str) -> None:
    with pytest.raises(ValueError, match="no MIG profile"):
        mig_parts(model, profile)


@pytest.mark.parametrize(
    ("model", "slices"),
    [
        (A30, 4), ("A30-24C", 4), ("nvidia a30", 4), ("NVIDIA RTX A3000", 7), ("NVIDIA A300", 7), (H100, 7), (GH200, 7), (B200, 7), ("", 7),
        (PRO_6000, 4), ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 4), ("NVIDIA-RTX-PRO-6000-Blackwell", 4), ("NVIDIA Thor", 2),
        ("NVIDIA-A30", 4), ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", 7),
    ],
)  # fmt: skip
def test_compute_slices_by_model(model: str, slices: int) -> None:
    assert mig_slices(model) == slices
    assert GPU_PARTS % slices == 0


@given(st.text(), st.text())
def test_any_text_is_parts_within_a_gpu_or_refused(model: str, profile: str) -> None:
    try:
        parts = mig_parts(model, profile)
    except ValueError:
        return
    assert 0 < parts <= GPU_PARTS
