//! The engine: compiles MLIR text to callable kernels.
//!
//! Compiling changes no state of an engine, so any number of threads may compile at once, and a kernel may be called
//! from any number of threads. Every failure is a `Result` with the message of MLIR or LLVM.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use melior::Context;
use melior::pass::PassManager;

use super::abi::{self, FileType, Ir, Processor, TargetMachine};
use super::cache::{Cache, Entry};
use super::code::{Code, KernelFn};
use super::lower::{Parameter, Signature, context, entry_name, lower, passes, with_diagnostics};

/// LLVM's passes: enough to vectorize the loops that the lowering produces, in time linear in the number of kernels.
/// The default pipeline takes twice as long and gives code of the same speed.
const PASSES: &str = "always-inline,globaldce,function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg,\
    loop-simplify,lcssa,loop-mssa(loop-rotate,licm),loop(loop-unroll-full),loop-vectorize,\
    early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";

/// LLVM's passes for kernels that are written with vectors: elementary functions are simplified once, before they are
/// inlined, and no loop is looked at for vectors.
const VECTOR_PASSES: &str = "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>),always-inline,globaldce,\
    function(simplifycfg,loop-simplify,lcssa,loop-mssa(loop-rotate,licm),early-cse,simplifycfg)";

/// Compiles text for this machine.
pub struct Engine {
    processor: Processor,
}

/// Compiled kernels by name. Cloning shares the code.
#[derive(Clone, Default)]
pub struct Module {
    functions: Arc<BTreeMap<String, KernelFn>>,
}

/// Bytes of the vectors that kernels for this machine's processor should be written with.
pub fn vector_bytes() -> usize {
    let processor = Processor::host();
    match () {
        () if processor.has_feature("avx512f") => 64,
        () if processor.has_feature("avx") => 32,
        () => 16,
    }
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

    /// Compiles several texts in parallel, one per processor at a time, into one module. Each has one public function,
    /// under a name that no other has. A text that is in the cache isn't compiled, and what is compiled goes there.
    pub fn compile_all(&self, texts: &[String], cache: Option<&Cache>) -> Result<Module, String> {
        let keys: Vec<String> = texts.iter().map(|text| self.key(text)).collect();
        let cached = |key: &String| cache.and_then(|cache| cache.read(key));
        let mut entries: Vec<Option<Entry>> = keys.iter().map(cached).collect();
        let missing: Vec<usize> = (0..texts.len()).filter(|&i| entries[i].is_none()).collect();
        let mut compiled = self.compile_in_parallel(texts, &missing)?;
        compiled.sort_unstable_by_key(|kernel| kernel.0);
        for (i, entry) in compiled {
            let entry = entry?;
            if let Some(cache) = cache {
                cache.write(&keys[i], &entry);
            }
            entries[i] = Some(entry);
        }
        if let (false, Some(cache)) = (missing.is_empty(), cache) {
            cache.trim();
        }
        let entries: Vec<Entry> = entries.into_iter().flatten().collect();
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two kernels are called @{}", twice[0]));
        }
        let code = Arc::new(Code::link(entries.iter().map(|entry| entry.object.as_slice()))?);
        let mut functions = BTreeMap::new();
        for entry in entries {
            let kernel = KernelFn::new(&code, &entry_name(&entry.name), entry.operands, entry.scalars)?;
            functions.insert(entry.name, kernel);
        }
        Ok(Module { functions: Arc::new(functions) })
    }

    /// What the machine code of a text depends on.
    fn key(&self, text: &str) -> String {
        let Processor { name, features } = &self.processor;
        format!("{} {}\n{name} {features}\n{text}", abi::version(), env!("SHARDC_JIT_SOURCES"))
    }

    /// Compiles some of the texts, each by itself. The order of the results is any.
    fn compile_in_parallel(
        &self,
        texts: &[String],
        which: &[usize],
    ) -> Result<Vec<(usize, Result<Entry, String>)>, String> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(which.len());
        let next = AtomicUsize::new(0);
        let worker = || {
            let (context, machine) = (context(), TargetMachine::new(&self.processor)?);
            let passes = passes(&context);
            let mut out = Vec::new();
            while let Some(&i) = which.get(next.fetch_add(1, Ordering::Relaxed)) {
                out.push((i, self.compile_alone(&context, &passes, &machine, &texts[i])));
            }
            Ok(out)
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            let join = |worker: thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|_| Err("the compiler of kernels panicked".to_owned()))
            };
            let results: Result<Vec<Vec<_>>, String> = workers.into_iter().map(join).collect();
            Ok(results?.into_iter().flatten().collect())
        })
    }

    fn compile_alone<'c>(
        &self,
        context: &'c Context,
        passes: &PassManager<'c>,
        machine: &TargetMachine,
        text: &str,
    ) -> Result<Entry, String> {
        let (mut ir, signatures) = self.optimize(context, passes, text, machine)?;
        let [signature] = &signatures[..] else {
            return Err(format!("a text has {} kernels, not one", signatures.len()));
        };
        let (operands, scalars) = (signature.count(Parameter::Pointer), signature.count(Parameter::Scalar));
        let object = ir.emit(machine, FileType::Object)?;
        Ok(Entry { name: signature.name.clone(), operands, scalars, object })
    }

    /// The LLVM IR that [`Engine::compile`] turns into machine code, optimized.
    pub fn llvm_ir(&self, text: &str) -> Result<String, String> {
        Ok(self.optimize_alone(text, &TargetMachine::new(&self.processor)?)?.0.print())
    }

    /// The assembly that [`Engine::compile`] assembles.
    pub fn assembly(&self, text: &str) -> Result<String, String> {
        let machine = TargetMachine::new(&self.processor)?;
        let assembly = self.optimize_alone(text, &machine)?.0.emit(&machine, FileType::Assembly)?;
        Ok(String::from_utf8_lossy(&assembly).into_owned())
    }

    fn compile_functions(&self, text: &str) -> Result<BTreeMap<String, KernelFn>, String> {
        let machine = TargetMachine::new(&self.processor)?;
        let (mut ir, signatures) = self.optimize_alone(text, &machine)?;
        let object = ir.emit(&machine, FileType::Object)?;
        let code = Arc::new(Code::link([object.as_slice()])?);
        let mut functions = BTreeMap::new();
        for signature in signatures {
            let (operands, scalars) = (signature.count(Parameter::Pointer), signature.count(Parameter::Scalar));
            let kernel = KernelFn::new(&code, &entry_name(&signature.name), operands, scalars)?;
            functions.insert(signature.name, kernel);
        }
        Ok(functions)
    }

    fn optimize_alone(&self, text: &str, machine: &TargetMachine) -> Result<(Ir, Vec<Signature>), String> {
        let context = context();
        let passes = passes(&context);
        self.optimize(&context, &passes, text, machine)
    }

    fn optimize<'c>(
        &self,
        context: &'c Context,
        passes: &PassManager<'c>,
        text: &str,
        machine: &TargetMachine,
    ) -> Result<(Ir, Vec<Signature>), String> {
        let (module, signatures) = lower(context, passes, text, self.processor.has_feature("avx512f"))?;
        let mut ir = with_diagnostics(context, || Ir::translate(&module, machine))?;
        ir.run_passes(if text.contains("vector.store") { VECTOR_PASSES } else { PASSES }, machine)?;
        Ok((ir, signatures))
    }
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
