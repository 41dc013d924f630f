"""The S3 server takes an object and gives it back, and knows nobody without a key."""

from typing import Any

import pytest
from pyarrow import fs  # pyright: ignore[reportMissingTypeStubs]

from tests.servers.s3 import S3Server


def files(server: S3Server, secret: str) -> Any:
    return fs.S3FileSystem(
        access_key=server.key,
        secret_key=secret,
        region=server.region,
        scheme="http",
        endpoint_override=server.endpoint,
        allow_bucket_creation=True,
    )


def test_what_was_put_is_got(s3_server: S3Server) -> None:
    store = files(s3_server, s3_server.secret)
    store.create_dir("lake")
    with store.open_output_stream("lake/data/one.parquet") as stream:
        stream.write(b"rows" * 1000)
    with store.open_input_stream("lake/data/one.parquet") as stream:
        assert stream.read() == b"rows" * 1000


def test_a_wrong_secret_is_refused(s3_server: S3Server) -> None:
    with pytest.raises(OSError, match=r"SignatureDoesNotMatch|ACCESS_DENIED|403"):
        files(s3_server, "wrong").get_file_info(fs.FileSelector("lake"))
