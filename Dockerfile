# The server of a session, or a party: no root, and nothing to write to but /data. docs/hosting.md says how to run it.
# The base by its digest, as in python@sha256:...: a tag is another image tomorrow.
ARG BASE
FROM ${BASE} AS build
ARG BASE
RUN case "$BASE" in *@sha256:*) ;; *) echo "give the base by its digest: --build-arg BASE=python@sha256:..." >&2; exit 1;; esac
WORKDIR /build
# By `make constraints`: nothing else is installed, and each file has a known hash.
COPY constraints.txt constraints-build.txt ./
RUN python -m venv /opt/psephos \
    && python -m pip install --no-cache-dir --require-hashes --no-deps -r constraints-build.txt \
    && /opt/psephos/bin/python -m pip install --no-cache-dir --require-hashes --no-deps -r constraints.txt
COPY pyproject.toml setup.py README.md LICENSE ./
COPY protocol protocol
COPY transports transports
COPY agents agents
COPY scenarios scenarios
RUN python -m pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /wheels . \
    && /opt/psephos/bin/python -m pip install --no-cache-dir --no-deps /wheels/psephos-*.whl \
    && /opt/psephos/bin/python -m pip uninstall --yes pip
# Smaller, and less to download: no tests of libraries, and nothing for compilers.
RUN find /opt/psephos -type d \( -name tests -o -name _tests -o -name include \) -prune -exec rm -r {} + \
    && find /opt/psephos -type f -regex '.*\.\(pyi\|pyx\|pxd\|pxi\|h\|a\)' -delete

FROM ${BASE}
RUN useradd --system --uid 10001 --home-dir /data --create-home psephos
COPY --from=build /opt/psephos /opt/psephos
ENV PATH=/opt/psephos/bin:$PATH HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 7000
ENTRYPOINT ["psephos"]
CMD ["--help"]
