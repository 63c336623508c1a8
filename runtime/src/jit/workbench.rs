//! The state with which one thread compiles kernels and functions, one after the other.

use std::sync::{Mutex, PoisonError};

use melior::Context;
use melior::ir::Module;

use super::abi::{FileType, Ir, Processor, TargetMachine, Tools, context};
use super::lower::{Passes, Read, with_diagnostics};

/// LLVM's passes: enough to vectorize the loops that the lowering produces, in time linear in the number of kernels.
/// The default pipeline takes twice as long, and its code isn't faster.
const PASSES: &str = "always-inline,globaldce,function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-simplify,lcssa,loop-mssa(loop-rotate,licm),loop(loop-unroll-full),loop-vectorize,\
    early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// LLVM's passes for kernels that are written with vectors. Elementary functions are simplified once, before they are
/// inlined, and loops aren't vectorized.
const VECTOR_PASSES: &str = "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>),always-inline,globaldce,\
    function(simplifycfg,loop-simplify,lcssa,loop-mssa(loop-rotate,licm),early-cse,simplifycfg)";

/// LLVM's passes for a function that kernels call, which is straight-line code.
const FUNCTION_PASSES: &str = "function(early-cse,instcombine<no-verify-fixpoint>)";

/// The maximum number of modules for one context, because a context keeps all types and attributes that it has seen.
const LIFETIME: usize = 4096;

/// A context of MLIR and a code generator. They are kept for the next program, because creating them takes as long as
/// compiling a small kernel.
struct Kept {
    tools: Tools,
    processor: Processor,
    used: usize,
}

/// The unused contexts and code generators. There are as many as threads have compiled at once.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The state with which one thread compiles.
pub(super) struct Workbench<'c> {
    context: &'c Context,
    machine: &'c TargetMachine,
    passes: Passes<'c>,
    wide_vectors: bool,
    used: usize,
}

/// Lets `work` compile for a processor. Fails if LLVM can't generate code for it.
pub(super) fn with<T>(
    processor: &Processor,
    work: impl FnOnce(&mut Workbench<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let lock = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = {
        let mut all = lock();
        all.iter().position(|kept| kept.processor == *processor).map(|at| all.swap_remove(at))
    };
    let mut kept = match kept {
        Some(kept) => kept,
        None => {
            let tools = Tools { context: context(), machine: TargetMachine::new(processor)? };
            Kept { tools, processor: processor.clone(), used: 0 }
        }
    };
    let Tools { context, machine } = &kept.tools;
    let wide_vectors = processor.has_feature("avx512f");
    let mut workbench = Workbench { context, machine, passes: Passes::new(context), wide_vectors, used: 0 };
    let result = work(&mut workbench);
    kept.used += workbench.used;
    drop(workbench);
    if kept.used < LIFETIME {
        lock().push(kept);
    }
    result
}

impl<'c> Workbench<'c> {
    /// Parses the kernels of a text.
    pub(super) fn read(&mut self, text: &str) -> Result<Read<'c>, String> {
        self.used += 1;
        self.passes.read(text)
    }

    /// Returns the optimized IR of kernels.
    pub(super) fn kernels(&self, read: Read<'c>) -> Result<Ir, String> {
        let passes = if read.has_vectors { VECTOR_PASSES } else { PASSES };
        self.optimize(&self.passes.lower(read, self.wide_vectors)?, passes)
    }

    /// Returns the optimized IR of a function that kernels call.
    pub(super) fn function(&mut self, symbol: &str) -> Result<Ir, String> {
        self.used += 1;
        self.optimize(&self.passes.function(symbol, self.wide_vectors)?, FUNCTION_PASSES)
    }

    /// Returns the object or the assembly of IR.
    pub(super) fn emit(&self, mut ir: Ir, file_type: FileType) -> Result<Vec<u8>, String> {
        ir.emit(self.machine, file_type)
    }

    fn optimize(&self, module: &Module<'c>, passes: &str) -> Result<Ir, String> {
        let mut ir = with_diagnostics(self.context, || Ir::translate(module, self.machine))?;
        ir.run_passes(passes, self.machine)?;
        Ok(ir)
    }
}
