//! The engine: compiles MLIR text to callable kernels.
//!
//! Compiling changes no state of an engine, so any number of threads may compile at once, and a kernel may be called
//! from any number of threads. Every failure is a `Result` with the message of MLIR or LLVM.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::abi::{FileType, Ir, Processor, TargetMachine};
use super::code::{Code, KernelFn};
use super::lower::{Parameter, Signature, context, entry_name, lower, with_diagnostics};

/// LLVM's passes: enough to vectorize the loops that the lowering produces, in time linear in the number of kernels.
/// The default pipeline takes twice as long and gives code of the same speed.
const PASSES: &str = "always-inline,globaldce,function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-simplify,lcssa,loop-mssa(loop-rotate,licm),loop(loop-unroll-full),loop-vectorize,\
    early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// Compiles text for this machine.
pub struct Engine {
    processor: Processor,
}

/// Compiled kernels by name. Cloning shares the code.
#[derive(Clone, Default)]
pub struct Module {
    functions: Arc<BTreeMap<String, KernelFn>>,
}

impl Engine {
    /// An engine for the processor of this machine. An error if LLVM cannot generate code for it.
    pub fn new() -> Result<Self, String> {
        Self::for_processor(Processor::host())
    }

    pub(super) fn for_processor(processor: Processor) -> Result<Self, String> {
        TargetMachine::new(&processor)?;
        Ok(Self { processor })
    }

    /// LLVM's name of the processor, such as `znver5`.
    pub fn processor(&self) -> &str {
        &self.processor.name
    }

    /// Compiles every public function of `text`. Errors are MLIR's or LLVM's diagnostics.
    pub fn compile(&self, text: &str) -> Result<Module, String> {
        Ok(Module { functions: Arc::new(self.compile_functions(text)?) })
    }

    /// Compiles several texts in parallel, one per processor at a time, into one module. Kernels' names must differ.
    pub fn compile_all(&self, texts: &[String]) -> Result<Module, String> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(texts.len());
        let next = AtomicUsize::new(0);
        let results = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(text) = texts.get(index) else { break };
                        let result = self.compile_functions(text);
                        results.lock().unwrap_or_else(PoisonError::into_inner).insert(index, result);
                    }
                });
            }
        });
        let mut functions = BTreeMap::new();
        for result in results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
            merge(&mut functions, result?)?;
        }
        Ok(Module { functions: Arc::new(functions) })
    }

    /// The LLVM IR that [`Engine::compile`] turns into machine code, optimized.
    pub fn llvm_ir(&self, text: &str) -> Result<String, String> {
        let machine = TargetMachine::new(&self.processor)?;
        Ok(self.optimize(text, &machine)?.0.print())
    }

    /// The assembly that [`Engine::compile`] assembles.
    pub fn assembly(&self, text: &str) -> Result<String, String> {
        let machine = TargetMachine::new(&self.processor)?;
        let assembly = self.optimize(text, &machine)?.0.emit(&machine, FileType::Assembly)?;
        Ok(String::from_utf8_lossy(&assembly).into_owned())
    }

    fn compile_functions(&self, text: &str) -> Result<BTreeMap<String, KernelFn>, String> {
        let machine = TargetMachine::new(&self.processor)?;
        let (mut ir, signatures) = self.optimize(text, &machine)?;
        let object = ir.emit(&machine, FileType::Object)?;
        let code = Arc::new(Code::link(&object)?);
        let mut functions = BTreeMap::new();
        for signature in signatures {
            let (operands, scalars) = (signature.count(Parameter::Pointer), signature.count(Parameter::Scalar));
            let kernel = KernelFn::new(&code, &entry_name(&signature.name), operands, scalars)?;
            functions.insert(signature.name, kernel);
        }
        Ok(functions)
    }

    fn optimize(&self, text: &str, machine: &TargetMachine) -> Result<(Ir, Vec<Signature>), String> {
        let context = context();
        let (module, signatures) = lower(&context, text, self.processor.has_feature("avx512f"))?;
        let mut ir = with_diagnostics(&context, || Ir::translate(&module, machine))?;
        ir.run_passes(PASSES, machine)?;
        Ok((ir, signatures))
    }
}

fn merge(into: &mut BTreeMap<String, KernelFn>, from: BTreeMap<String, KernelFn>) -> Result<(), String> {
    for (name, kernel) in from {
        if into.contains_key(&name) {
            return Err(format!("two kernels are called @{name}"));
        }
        into.insert(name, kernel);
    }
    Ok(())
}

impl Module {
    /// The kernel with this name.
    pub fn function(&self, name: &str) -> Option<KernelFn> {
        self.functions.get(name).cloned()
    }

    /// The names of the kernels, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}
