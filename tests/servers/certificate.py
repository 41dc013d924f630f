"""A key and a certificate of its own authority for 127.0.0.1, made with openssl in a moment."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate for 127.0.0.1; it is its own authority."""

    certificate: Path
    key: Path


def certificate(folder: Path, names: Sequence[str] = (), *, rsa: bool = False) -> Certificate:
    """A new certificate in the folder, as `tls.crt` and `tls.key`; it is good for the names, too.

    Its key is of an elliptic curve, or RSA in its old form (PKCS #1), where a server takes nothing else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificate(folder / "tls.crt", folder / "tls.key")
    extensions = [
        ",".join(("subjectAltName=IP:127.0.0.1", *(f"DNS:{name}" for name in ("localhost", *names)))),
        "basicConstraints=critical,CA:TRUE",
        "keyUsage=critical,digitalSignature,keyCertSign",
    ]
    command = ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=127.0.0.1"]
    command += (
        ["-newkey", "rsa:2048"] if rsa else ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    )
    command += [part for extension in extensions for part in ("-addext", extension)]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(command, check=True, capture_output=True)
    if rsa:
        command = ["openssl", "rsa", "-traditional", "-in", str(made.key), "-out", str(made.key)]
        subprocess.run(command, check=True, capture_output=True)
    return made
