"""Ids: 63-bit hashes of what a thing is, so that nobody hands out numbers and a row sent twice has the same id."""

from hashlib import blake2b


def content_id(*parts: str | int | None) -> int:
    """A number in [0, 2**63) that depends on the parts and their borders alone: ("ab", "c") and ("a", "bc") differ."""
    digest = blake2b(digest_size=8)
    for part in parts:
        text = b"\x00" if part is None else str(part).encode()
        digest.update(len(text).to_bytes(4, "big"))
        digest.update(text)
    return int.from_bytes(digest.digest(), "big") >> 1


def device_id(cluster: str, gpu_uuid: str, gi_id: str = "") -> int:
    """The id of a whole GPU (no `gi_id`), of a MIG instance, or of what MIG left uncarved (`gi_id="uncarved"`)."""
    return content_id("device", cluster, gpu_uuid, gi_id)
