"""Whether MLIR reads what shardc prints as the module that was printed.

Standard input holds one JSON object a line: {"name", "original", "prints"}: the text of a program, and what shardc prints of it as
{form: text}; forms whose name ends in "locations" are compared with their locations, those whose name begins with "bytecode" are
bytes as hex digits. For each, one JSON object is printed:
{"name", "error"}, where error is null when jaxlib prints every one as it prints the original, or "skipped: …" where it doesn't read
the original.
"""

import json
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir


def asm(text, locations):
    """What MLIR itself prints of a text, in generic form: everything is said, nothing abbreviated."""
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)


def difference(a, b):
    lines = zip(a.splitlines(), b.splitlines())
    first = next((pair for pair in lines if pair[0] != pair[1]), ("", "one is longer"))
    return f"\n    {first[0].strip()[:300]}\n    {first[1].strip()[:300]}"


def judge(case):
    try:
        originals = {locations: asm(case["original"], locations) for locations in (False, True)}
    except Exception as e:
        return f"skipped: {str(e).strip().splitlines()[-1][:200]}"
    for form, text in case["prints"].items():
        try:
            locations = form.endswith("locations")
            again = asm(bytes.fromhex(text) if form.startswith("bytecode") else text, locations)
        except Exception as e:
            return f"the {form} form isn't read: {str(e).strip()[:600]}"
        if again != originals[locations]:
            return f"the {form} form is another module:{difference(originals[locations], again)}"
    return None


for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps({"name": case["name"], "error": judge(case)}), flush=True)
