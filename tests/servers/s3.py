"""A real S3 server: SeaweedFS, with one identity."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import Process, free_port, listens
from tests.servers.recipes import program

KEY = "quartermaster"
SECRET = "a-secret-for-tests"
REGION = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """A running S3 server: `host:port`, its administrator's key, its process, and a first bucket, `ready`."""

    endpoint: str
    key: str
    secret: str
    region: str
    process: Process
    ports: tuple[int, ...]

    def stop(self) -> None:
        """End it, and take its sockets away. Its own end waits for parts that have ended before: it is cut short."""
        self.process.stop(kill_after_s=0.5)
        for port in self.ports:
            for socket in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):  # noqa: S108  (its choice)
                socket.unlink(missing_ok=True)

    def files(self, secret: str = "") -> Any:
        """Its buckets as a file system of pyarrow, with the administrator's secret or another."""
        from pyarrow import fs  # pyright: ignore[reportMissingTypeStubs]

        return fs.S3FileSystem(
            access_key=self.key,
            secret_key=secret or self.secret,
            region=self.region,
            scheme="http",
            endpoint_override=self.endpoint,
            allow_bucket_creation=True,
        )

    def takes_objects(self) -> bool:
        """Whether it takes an object: its port listens some ten seconds before."""
        try:
            self.files().create_dir("ready")
            with self.files().open_output_stream("ready/object") as stream:
                stream.write(b"object")
        except OSError:
            return False
        return True


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
    # Each of its parts has a second port for gRPC: without being told, its own plus 10,000.
    flags = [f"{part}.port{kind}" for part in ("s3", "master", "volume", "filer") for kind in ("", ".grpc")]
    ports = {flag: free_port() for flag in flags}
    port = ports["s3.port"]
    command: list[str | Path] = [
        path,
        "-v=0",
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-s3",
        f"-s3.config={folder / 'identities.json'}",
        "-s3.iam=false",
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
        "-master.peers=none",
        "-volume.preStopSeconds=0",
        "-master.volumeSizeLimitMB=64",
        *(f"-{flag}={value}" for flag, value in ports.items()),
    ]
    process = Process("seaweedfs", command, folder)
    server = S3Server(f"127.0.0.1:{port}", KEY, SECRET, REGION, process, tuple(ports.values()))
    try:
        process.wait_for(lambda: listens(port), "a port that listens")
        process.wait_for(server.takes_objects, "an object that it takes")
    except BaseException:
        server.stop()
        raise
    return server
