# LLVM's lit over `shardc opt`: `make test` runs it, and `lit tests/filecheck` with shardc and FileCheck on the PATH.
import os

import lit.formats

config.name = "shardc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.environ.get("SHARDC_LIT_OUTPUT", config.test_source_root)
config.environment["PATH"] = os.environ["PATH"]
# Shardy's own files name its tool.
config.substitutions.append(("sdy_opt", "shardc opt"))
