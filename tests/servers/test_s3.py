"""The S3 server takes an object and gives it back, and knows nobody without a key."""

import pytest

from tests.servers.s3 import S3Server


def test_what_was_put_is_got(s3_server: S3Server) -> None:
    store = s3_server.files()
    store.create_dir("lake")
    with store.open_output_stream("lake/data/one.parquet") as stream:
        stream.write(b"rows" * 1000)
    with store.open_input_stream("lake/data/one.parquet") as stream:
        assert stream.read() == b"rows" * 1000


def test_a_wrong_secret_is_refused(s3_server: S3Server) -> None:
    with pytest.raises(OSError, match=r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH"):
        s3_server.files("wrong").open_input_stream("ready/object").read()
