"""Processes whose clock is wrong, for OpenSSL too: a library tells it, which the loader puts before the system's."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

DAY: Final = 86_400
_SOURCE: Final = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += atol(getenv("CLOCK_SHIFT"));
    return failed;
}

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *told, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    told->tv_sec = now.tv_sec;
    told->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def with_clock(seconds: int, *, folder: Path) -> Sequence[str]:
    """Return the words of a command that runs another one whose clock is so many seconds ahead; skip where none can be.

    Args:
        seconds: how many; below 0 it is behind.
        folder: gets the library.
    """
    compiler = shutil.which("cc")
    library, source = folder / "clock.so", folder / "clock.c"
    if compiler is None:
        pytest.skip("there is no compiler of C, by which a clock is made wrong")
    if not library.exists():
        source.write_text(_SOURCE, encoding="ascii")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)  # noqa: S603  our own
    return ("env", f"LD_PRELOAD={library}", f"CLOCK_SHIFT={seconds}")
