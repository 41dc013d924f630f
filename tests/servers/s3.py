"""A real S3 server: SeaweedFS, with one identity."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import Process, free_port, listens
from tests.servers.recipes import program

KEY = "quartermaster"
SECRET = "a-secret-for-tests"
REGION = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """A running S3 server: `host:port`, its administrator's key, and its process."""

    endpoint: str
    key: str
    secret: str
    region: str
    process: Process


def start_s3(folder: Path) -> S3Server:
    """An S3 server over plain HTTP, ready, with its data and log in the folder. Raises ServerError."""
    path = program("weed")
    if path is None:
        raise LookupError("SeaweedFS is not built (make servers)")
    may_all = {
        "name": "admin",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin"],
    }
    (folder / "identities.json").write_text(json.dumps({"identities": [may_all]}), encoding="utf-8")
    (folder / "data").mkdir()
    port = free_port()
    # Each of its parts has a second port for gRPC: without being told, its own plus 10,000.
    ports = [f"-{part}.port={free_port()}" for part in ("master", "volume", "filer")]
    grpc = [f"-{part}.port.grpc={free_port()}" for part in ("master", "volume", "filer", "s3")]
    command: list[str | Path] = [
        path,
        "-v=0",
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-s3",
        f"-s3.port={port}",
        f"-s3.config={folder / 'identities.json'}",
        "-s3.iam=false",
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        *ports,
        *grpc,
    ]
    process = Process("seaweedfs", command, folder)
    try:
        process.wait_for(lambda: listens(port), "a port that listens")
    except BaseException:
        process.stop()
        raise
    return S3Server(f"127.0.0.1:{port}", KEY, SECRET, REGION, process)
