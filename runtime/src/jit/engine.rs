//! The engine: compiles MLIR text to callable kernels.
//!
//! Compiling changes no state of an engine, so any number of threads may compile at once, and a kernel may be called
//! from any number of threads. Every failure is a `Result` with the message of MLIR or LLVM.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::abi::{self, FileType, Ir, Processor, TargetMachine};
use super::cache::{Cache, Entry};
use super::code::{Code, KernelFn};
use super::lower::{Parameter, entry_name};
use super::queue::{Queue, Unit};
use super::workbench::{self, Workbench};

/// Compiles MLIR text for this machine.
pub struct Engine {
    processor: Processor,
}

/// Compiled kernels by name. Cloning shares the code.
#[derive(Clone, Default)]
pub struct Module {
    functions: Arc<BTreeMap<String, KernelFn>>,
}

/// Returns the vector size in bytes with which kernels for this machine's processor should be written.
pub fn vector_bytes() -> usize {
    let processor = Processor::host();
    match () {
        () if processor.has_feature("avx512f") => 64,
        () if processor.has_feature("avx") => 32,
        () => 16,
    }
}

impl Engine {
    /// Creates an engine for the processor of this machine. Fails if LLVM can't generate code for it.
    pub fn new() -> Result<Self, String> {
        Self::for_processor(Processor::host())
    }

    pub(super) fn for_processor(processor: Processor) -> Result<Self, String> {
        TargetMachine::new(&processor)?;
        Ok(Self { processor })
    }

    /// Returns LLVM's name of the processor, such as `znver5`.
    pub fn processor(&self) -> &str {
        &self.processor.name
    }

    /// Compiles every public function of `text`. Errors are MLIR's or LLVM's diagnostics.
    pub fn compile(&self, text: &str) -> Result<Module, String> {
        let (objects, signatures) = workbench::with(&self.processor, |workbench| {
            let read = workbench.read(text)?;
            let signatures: Vec<_> = read
                .signatures
                .iter()
                .map(|s| (s.name.clone(), s.count(Parameter::Pointer), s.count(Parameter::Scalar)))
                .collect();
            let emit = |workbench: &Workbench<'_>, ir| workbench.emit(ir, FileType::Object);
            let calls = read.calls.clone();
            let kernels = workbench.kernels(read)?;
            let mut objects = vec![emit(workbench, kernels)?];
            for symbol in &calls {
                let function = workbench.function(symbol)?;
                objects.push(emit(workbench, function)?);
            }
            Ok((objects, signatures))
        })?;
        Module::link(&objects, signatures)
    }

    /// Compiles several texts into one module, in parallel on all processors. Each text has one public function, with a
    /// name that no other text has. Texts in the cache aren't compiled, and compiled ones are added to it. Functions
    /// that several kernels call are compiled once.
    pub fn compile_all(&self, texts: &[String], cache: Option<&Cache>) -> Result<Module, String> {
        let key = |text: &str| self.key(text);
        let queue = Queue::new(&self.processor, cache, &key);
        texts.iter().enumerate().for_each(|(i, text)| queue.add(Unit::Kernel(i, text)));
        let entries = queue.finish()?;
        let kernels = &entries[..texts.len()];
        let mut names: Vec<&str> = kernels.iter().map(|entry| entry.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two kernels are called @{}", twice[0]));
        }
        let signature = |entry: &Entry| (entry.name.clone(), entry.operands, entry.scalars);
        let signatures = kernels.iter().map(signature).collect();
        let objects: Vec<Vec<u8>> = entries.into_iter().map(|entry| entry.object).collect();
        Module::link(&objects, signatures)
    }

    /// Returns a key of everything that the machine code of a text depends on.
    fn key(&self, text: &str) -> String {
        let Processor { name, features } = &self.processor;
        format!("{} {}\n{name} {features}\n{text}", abi::version(), env!("SHARDC_JIT_SOURCES"))
    }

    /// Returns the optimized LLVM IR that [`Engine::compile`] turns into machine code: the kernels, then each function
    /// that they call.
    pub fn llvm_ir(&self, text: &str) -> Result<String, String> {
        self.print(text, |_, ir| Ok(ir.print()))
    }

    /// Returns the assembly that [`Engine::compile`] assembles.
    pub fn assembly(&self, text: &str) -> Result<String, String> {
        self.print(text, |workbench, ir| {
            let assembly = workbench.emit(ir, FileType::Assembly)?;
            Ok(String::from_utf8_lossy(&assembly).into_owned())
        })
    }

    fn print(
        &self,
        text: &str,
        print: impl Fn(&Workbench<'_>, Ir) -> Result<String, String>,
    ) -> Result<String, String> {
        workbench::with(&self.processor, |workbench| {
            let read = workbench.read(text)?;
            let calls = read.calls.clone();
            let kernels = workbench.kernels(read)?;
            let mut out = print(workbench, kernels)?;
            for symbol in &calls {
                let function = workbench.function(symbol)?;
                out += &print(workbench, function)?;
            }
            Ok(out)
        })
    }
}

impl Module {
    /// Links the kernels in objects, given by name and by their numbers of buffers and scalars.
    fn link(objects: &[Vec<u8>], signatures: Vec<(String, usize, usize)>) -> Result<Self, String> {
        let code = Arc::new(Code::link(objects.iter().map(Vec::as_slice))?);
        let mut functions = BTreeMap::new();
        for (name, operands, scalars) in signatures {
            let kernel = KernelFn::new(&code, &entry_name(&name), operands, scalars)?;
            functions.insert(name, kernel);
        }
        Ok(Self { functions: Arc::new(functions) })
    }

    /// Returns the kernel with this name.
    pub fn function(&self, name: &str) -> Option<KernelFn> {
        self.functions.get(name).cloned()
    }

    /// Returns the names of the kernels, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}
