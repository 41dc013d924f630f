"""Check a closed period without Quartermaster: python3 verify.py books/2026-11/7 prints the hash of its manifest."""  # noqa: INP001

from decimal import Decimal
from hashlib import sha256
from json import loads
from pathlib import Path
from sys import argv, exit, stdout  # noqa: A004

files = {file.name: file.read_bytes() for file in Path(argv[1]).iterdir()}
manifest, sums, told = (loads(files[f"{name}.json"]) for name in ("manifest", "sums", "statements"))
hashes = {each["name"]: each["sha256"] for each in manifest["files"]}
changed = [name for name in hashes if sha256(files.get(name, b"")).hexdigest() != hashes[name]]
lines = sum(Decimal(each["amount"]) for each in sums)
owed = sum(Decimal(each["exact_amount"]) for each in told)
off = [a["statement"] for a in told if abs(Decimal(a["amount"]) - Decimal(a["exact_amount"])) * 100 >= 1]
stdout.write(f"{sha256(files['manifest.json']).hexdigest()} changed: {changed} off: {off}\n")
stdout.write(f"lines: {lines} statements: {owed}\n")
exit(bool(changed or lines != owed or off))
