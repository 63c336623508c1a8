"""What jaxlib writes of programs as bytecode, and the text that it reads from that.

Standard input holds one JSON object a line: {"name", "text"}. For each, one JSON object is printed: {"name", "files"}, where each file
has its version, its bytes in hex digits and its text with locations: StableHLO's portable artifacts of the newest and the first
stable version, and MLIR's newest and oldest format; or "skipped": why jaxlib writes no more of them.

The files in dialect/src/bytecode/tests were made like this, of programs with most kinds of attributes.
"""

import io
import json
import sys

from jax._src.interpreters import mlir
from jax.extend.mlir import deserialize_portable_artifact, serialize_portable_artifact
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def asm(module):
    return module.operation.get_asm(enable_debug_info=True)


def files(text):
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        for version in (6, 0):
            out = io.BytesIO()
            module.operation.write_bytecode(out, desired_version=version)
            yield f"MLIR {version}", out.getvalue(), asm(module)
        for version in (stablehlo.get_current_version(), "1.0.0"):
            artifact = serialize_portable_artifact(text, version, True)
            read = deserialize_portable_artifact(artifact)
            yield version, artifact, read if isinstance(read, str) else asm(read)


for line in sys.stdin:
    case = json.loads(line)
    verdict = {"name": case["name"], "files": []}
    try:
        for version, data, text in files(case["text"]):
            verdict["files"].append({"version": version, "bytes": data.hex(), "text": text})
    except Exception as e:
        verdict["skipped"] = str(e).strip().splitlines()[-1][:200]
    print(json.dumps(verdict), flush=True)
