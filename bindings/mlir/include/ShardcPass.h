// shardc in the pipeline of any C++ program that uses MLIR: header-only, linked with the library of shardc.h.
//
//   #include "ShardcPass.h"
//   shardc::registerPasses();                                  // shardc{passes=import,propagate,plan,partition}
//   pm.addPass(shardc::createPass("compile{target=v5e:4x2}"));
//
// The pass prints the module in generic form with locations, runs shardc on the text, and replaces the module's body and
// attributes with the result. Ops of dialects that shardc doesn't define are kept. The context must have the dialects
// stablehlo and sdy, or allow unregistered dialects.
#ifndef SHARDC_PASS_H
#define SHARDC_PASS_H

#include <memory>
#include <string>

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "shardc.h"

namespace shardc {

/// Runs passes of shardc over a module.
class Pass : public mlir::PassWrapper<Pass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Pass)

  /// `argument` is the name of the pass in MLIR's pipelines; `list` is the default of its option `passes`.
  explicit Pass(llvm::StringRef list = "compile", llvm::StringRef argument = "shardc",
                llvm::StringRef description = "Propagate shardings and partition the program")
      : argument(argument), description(description) {
    passes = list.str();
  }
  Pass(const Pass &other)
      : PassWrapper(other), argument(other.argument), description(other.description) {
    copyOptionValuesFrom(&other);
  }

  llvm::StringRef getArgument() const override { return argument; }
  llvm::StringRef getDescription() const override { return description; }

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    std::string text;
    {
      llvm::raw_string_ostream out(text);
      mlir::OpPrintingFlags flags;
      flags.printGenericOpForm().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
      module.print(out, flags);
    }
    std::string list = passes;
    if (!options.empty())
      list += "{" + options + "}";
    std::unique_ptr<ShardcResult, void (*)(ShardcResult *)> result(
        shardc_run_passes(text.data(), text.size(), "module", list.c_str(), SHARDC_GENERIC | SHARDC_LOCATIONS),
        shardc_free);
    for (size_t i = 0; i < shardc_result_diagnostic_count(result.get()); ++i)
      report(module, shardc_result_diagnostic(result.get(), i));
    size_t length = 0;
    const char *made = shardc_result_text(result.get(), &length);
    if (!made)
      return signalPassFailure();
    mlir::ParserConfig config(&getContext());
    mlir::OwningOpRef<mlir::ModuleOp> parsed =
        mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(made, length), config, "shardc");
    if (!parsed)
      return signalPassFailure();
    module->setAttrs((*parsed)->getAttrDictionary());
    module.getBodyRegion().takeBody(parsed->getBodyRegion());
  }

private:
  static void report(mlir::ModuleOp module, const ShardcDiagnostic &found) {
    mlir::Location at = module.getLoc();
    if (found.source_file)
      at = mlir::FileLineColLoc::get(module.getContext(), found.source_file, found.source_line, found.source_column);
    mlir::InFlightDiagnostic diagnostic = found.severity == SHARDC_ERROR     ? mlir::emitError(at)
                                          : found.severity == SHARDC_WARNING ? mlir::emitWarning(at)
                                                                             : mlir::emitRemark(at);
    diagnostic << found.message;
  }

  std::string argument, description;
  Option<std::string> passes{*this, "passes",
                             llvm::cl::desc("Passes and pipelines of shardc, with options: import,plan{search=greedy}")};
  Option<std::string> options{*this, "options", llvm::cl::desc("Options for the last of the passes: target=v5e:4x2")};
};

/// A pass that runs these passes of shardc.
inline std::unique_ptr<mlir::Pass> createPass(llvm::StringRef passes) { return std::make_unique<Pass>(passes); }

/// Registers the pass `shardc`, and each pass of shardc by itself as `shardc-propagate`, `shardc-plan` and so on. One
/// `shardc` with a list is cheaper: every pass of MLIR hands the whole program over as text.
inline void registerPasses() {
  mlir::registerPass([] { return createPass("compile"); });
  for (size_t i = 0; i < shardc_pass_count(); ++i) {
    ShardcPassInfo info = shardc_pass(i);
    mlir::registerPass([info]() -> std::unique_ptr<mlir::Pass> {
      return std::make_unique<Pass>(info.name, std::string("shardc-") + info.name, info.description);
    });
  }
}

} // namespace shardc

#endif // SHARDC_PASS_H
