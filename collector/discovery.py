"""Discovery: the present targets of a cluster; files and DNS are asked again while the collector runs."""

import glob
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from collector.targets import Target, from_configuration, from_file_sd, from_srv, unique
from quartermaster.config.clusters import ClusterPart
from quartermaster.errors import InputError

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

Complain = Callable[[str, str], None]
_DNS_SECONDS = 5.0
_LARGEST_FILE = 16 * 1024 * 1024


@dataclass(frozen=True)
class _Answer:
    """What one source of targets said last: the stamp it was read under, and its targets."""

    stamp: tuple[int, ...]
    targets: tuple[Target, ...]


@dataclass
class Discovery:
    """A cluster's targets, from everywhere the configuration names; relative paths start from `folder`.

    A source in trouble keeps the targets it gave last, and `complain(source, what)` is called once.
    """

    cluster: ClusterPart
    folder: Path
    complain: Complain
    resolver: "Resolver | None" = None
    _files: dict[str, _Answer] = field(default_factory=dict[str, _Answer])
    _names: dict[str, tuple[Target, ...]] = field(default_factory=dict[str, tuple[Target, ...]])
    _troubles: dict[str, str] = field(default_factory=dict[str, str])

    async def targets(self) -> tuple[Target, ...]:
        """The targets now, each once, in order."""
        found = list(from_configuration(self.cluster.name, self.cluster.dcgm.targets))
        for answer in self._read_files().values():
            found += answer.targets
        for name in self.cluster.dcgm.dns_srv:
            await self._ask(name)
            found += self._names.get(name, ())
        return unique(found)

    @property
    def troubles(self) -> Mapping[str, str]:
        """The sources that are troubled now, and why."""
        return self._troubles

    def _read_files(self) -> dict[str, _Answer]:
        paths = {
            path
            for pattern in self.cluster.dcgm.file_sd
            for path in glob.glob(str(self.folder / pattern))  # noqa: PTH207
        }
        for gone in self._files.keys() - paths:
            del self._files[gone]
        for path in sorted(paths):
            self._read_file(path)
        return self._files

    def _read_file(self, path: str) -> None:
        stamp: tuple[int, ...] = ()
        try:
            status = Path(path).stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if path in self._files and self._files[path].stamp == stamp:
                return
            if status.st_size > _LARGEST_FILE:
                raise InputError(f"{path}: {status.st_size} bytes are too many for a list of targets")  # noqa: TRY301
            self._files[path] = _Answer(
                stamp, from_file_sd(self.cluster.name, Path(path).read_text(encoding="utf-8"), path)
            )
        except (OSError, UnicodeDecodeError, InputError) as error:
            self._files[path] = _Answer(stamp, self._files[path].targets if path in self._files else ())
            self._trouble(path, str(error))
        else:
            self._troubles.pop(path, None)

    async def _ask(self, name: str) -> None:
        import dns.asyncresolver
        import dns.exception
        import dns.resolver
        from dns.rdtypes.IN.SRV import SRV

        try:
            resolver = self.resolver or dns.asyncresolver.Resolver()
            answer = await resolver.resolve(name, "SRV", lifetime=_DNS_SECONDS)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            self._names[name] = ()
            self._trouble(name, "the name has no SRV records")
        except (dns.exception.DNSException, OSError) as error:
            self._trouble(name, f"the name server gives no answer: {' '.join(str(error).split())}")
        else:
            records = [record for record in answer if isinstance(record, SRV)]
            self._names[name] = from_srv(
                self.cluster.name, [(record.target.to_text(), record.port) for record in records]
            )
            self._troubles.pop(name, None)

    def _trouble(self, source: str, what: str) -> None:
        if self._troubles.get(source) != what:
            self._troubles[source] = what
            self.complain(source, what)
