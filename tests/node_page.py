"""The ballot page's modules in Node.js, where its cryptography is the browsers': far cheaper than one of those."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

_PAGE: Final = Path(__file__).parents[1] / "scenarios" / "deployment" / "page"
_NODE: Final = shutil.which("node")
in_node: Final = pytest.mark.skipif(_NODE is None, reason="no Node.js is installed: apt-get install nodejs")
_SCRIPT: Final = """
import { readFileSync } from 'node:fs'
const folder = %s
const names = ['blake2', 'chacha', 'codec', 'group', 'masks', 'party', 'randomizer', 'sums', 'vote']
const [blake2, chacha, codec, group, masks, party, randomizer, sums, vote] = await Promise.all(
  names.map((name) => import(`${folder}/${name}.js`)))
const { hex, pack } = codec
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16))
const given = JSON.parse(readFileSync(0, 'utf8'))
const result = await (async () => { %s })()
const plain = (_, value) => typeof value === 'bigint' ? String(value) : value instanceof Uint8Array ? hex(value) : value
process.stdout.write(JSON.stringify(result ?? null, plain))
"""


def call(body: str, given: Any = None) -> Any:
    """Return what a script's body returns of `given`, where it sees the modules; bytes in hexadecimal."""
    assert _NODE is not None
    version = subprocess.run([_NODE, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603  our own
    is_old = int(version.removeprefix("v").partition(".")[0]) < 22  # which takes .js for something else
    flags = ["--experimental-default-type=module"] if is_old else []
    script = _SCRIPT % (json.dumps(_PAGE.as_uri()), body)
    command = [_NODE, *flags, "--no-warnings", "--input-type=module", "-e", script]
    ran = subprocess.run(  # noqa: S603  our own
        command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
