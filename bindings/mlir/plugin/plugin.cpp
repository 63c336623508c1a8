// The passes of shardc for a stock mlir-opt: mlir-opt --load-pass-plugin=libShardcPlugin.so --pass-pipeline='builtin.module(shardc)'
#include "ShardcPass.h"
#include "llvm/Support/Compiler.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "shardc", shardc_version(), [] { shardc::registerPasses(); }};
}
