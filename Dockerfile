# One image for every part: the command after `quartermaster` says which. docs/install.md.
# Pinned by version. No digest could be looked up where this was written: add yours as image:tag@sha256:…
FROM python:3.11.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python -m venv /opt/quartermaster
COPY requirements/ requirements/
# What it stands on comes by hash, and as wheels: nothing of it is built, or run, while it is installed.
RUN /opt/quartermaster/bin/pip install --require-hashes --only-binary :all: -r requirements/base.txt \
    && sed -e '/--hash=/d' -e 's/ \\$//' requirements/dev.txt > constraints.txt
COPY pyproject.toml README.md LICENSE ./
COPY quartermaster/ quartermaster/
COPY sql/ sql/
COPY collector/ collector/
COPY analytics/ analytics/
COPY simulator/ simulator/
COPY enforcer/ enforcer/
COPY dashboards/ dashboards/
COPY cli/ cli/
RUN PIP_CONSTRAINT=/src/constraints.txt /opt/quartermaster/bin/pip install --no-deps . \
    && /opt/quartermaster/bin/python -m compileall -q /opt/quartermaster/lib

FROM python:3.11.11-slim-bookworm
LABEL org.opencontainers.image.title="Quartermaster" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 quartermaster \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/quartermaster quartermaster \
    && install -d -o 10001 -g 10001 /var/lib/quartermaster /etc/quartermaster
COPY --from=build /opt/quartermaster /opt/quartermaster
ENV PATH=/opt/quartermaster/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 NO_COLOR=1 \
    HOME=/var/lib/quartermaster QUARTERMASTER_CONFIG=/etc/quartermaster/quartermaster.yaml
USER 10001:10001
WORKDIR /var/lib/quartermaster
ENTRYPOINT ["quartermaster"]
CMD ["--help"]
