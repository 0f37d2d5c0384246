# The server of a session, or a party: no root, and nothing to write to but /data. docs/hosting.md says how to run it.
FROM python:3.13-slim-bookworm AS build
WORKDIR /build
# constraints.txt is there after `make constraints`: then nothing else is installed, and each file has a known hash.
COPY pyproject.toml setup.py README.md LICENSE constraints.tx[t] ./
COPY protocol protocol
COPY transports transports
COPY agents agents
COPY scenarios scenarios
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/psephos \
    && if [ -f constraints.txt ]; then /opt/psephos/bin/python -m pip install --no-cache-dir --require-hashes -r constraints.txt; fi \
    && /opt/psephos/bin/python -m pip install --no-cache-dir /wheels/psephos-*.whl \
    && /opt/psephos/bin/python -m pip uninstall --yes pip
# Smaller, and less to download: no tests of libraries, and nothing for compilers.
RUN find /opt/psephos -type d \( -name tests -o -name _tests -o -name include \) -prune -exec rm -r {} + \
    && find /opt/psephos -type f -regex '.*\.\(pyi\|pyx\|pxd\|pxi\|h\|a\)' -delete

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --create-home psephos
COPY --from=build /opt/psephos /opt/psephos
ENV PATH=/opt/psephos/bin:$PATH HOME=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 7000
ENTRYPOINT ["psephos"]
CMD ["--help"]
