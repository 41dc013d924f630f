"""Telling once: of what a collector tells after a start, the rows that the ledger does not have yet; pure."""

from collections.abc import Sequence

import polars as pl


def untold(told: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The rows of `told` that are not `known`, each once; both have the columns of `key`."""
    return told.unique(key, keep="first", maintain_order=True).join(known, on=key, how="anti")


def untold_versions(told: pl.DataFrame, known: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The versions to append, given those told and the ones that the ledger has open (integer `_at` columns).

    A version that is open in the ledger with the same content is not told again, whenever it started; one
    with other
    content ends where the told one starts; a told end ends the one that is open.
    """
    newest = told.sort("revision").unique([*key, "start_at"], keep="last").sort([*key, "start_at"])
    content = [
        name for name in newest.columns if name not in {*key, "start_at", "end_at", "revision", "recorded_at"}
    ]
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_told")) for name in content)
    end = pl.when(pl.col("end_at_told").is_not_null()).then("end_at_told").when(~same).then("start_at_told")
    pairs = known.join(newest, on=key, suffix="_told").with_columns(same.alias("same"), end.alias("ends_at"))
    endings = pairs.filter(pl.col("ends_at") > pl.col("start_at"))
    first = endings.sort("ends_at").unique([*key, "start_at"], keep="first")
    ended = first.with_columns(pl.col("ends_at").alias("end_at"), pl.col("revision") + 1).select(
        newest.columns
    )
    goes_on = pairs.filter("same").join(ended, on=[*key, "start_at"], how="anti")
    already = newest.filter(pl.col("end_at").is_null()).join(
        goes_on.select(*key, start_at="start_at_told"), on=[*key, "start_at"], how="semi"
    )
    used = newest.filter(pl.col("end_at").is_not_null()).join(
        first.select(*key, start_at="start_at_told", end_at="end_at_told"),
        on=[*key, "start_at", "end_at"],
        how="semi",
    )
    gone = pl.concat([already, used]).select(*key, "start_at")
    return pl.concat([newest.join(gone, on=[*key, "start_at"], how="anti"), ended], how="vertical_relaxed")


def untold_allocations(told: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The versions of allocations to append, given those told and the last that the ledger has of each.

    The same content is not told again; a change is a version above the known one. Of one that has ended, what
    it was worth stays as it was when it was seen to hold: its node's labels, its owners, its claims may be gone.
    So it does where its node was shared otherwise since, which a collector that comes later cannot know.
    """
    newest = told.sort("revision").unique("allocation_id", keep="last", maintain_order=True)
    pairs = newest.join(known, on=["cluster", "allocation_id"], how="left", suffix="_known")
    was_there = pl.col("revision_known").is_not_null()
    over = was_there & pl.col("end_at").is_not_null()
    weighed_before = over | (was_there & pl.col("shared_otherwise"))
    kept = [
        pl.when(weighed_before if name == "gpu_parts" else over)
        .then(pl.col(f"{name}_known"))
        .otherwise(pl.col(name))
        .alias(name)
        for name in ("gpu_parts", "workload_id", "labels", "user_patterns", "node", "preemptible")
    ]
    first = pl.min_horizontal("started_at", "started_at_known").alias("started_at")
    pairs = pairs.with_columns(*kept, first)
    content = [name for name in told.columns if name not in {"cluster", "allocation_id", "revision"}]
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_known")) for name in content)
    changed = pairs.filter(~(was_there & same))
    above = pl.max_horizontal("revision", pl.col("revision_known") + 1).alias("revision")
    return changed.with_columns(above).select(told.columns)
