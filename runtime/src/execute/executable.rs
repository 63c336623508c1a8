//! Compiles a program whose memory is planned.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use dialect::ir::{Op, Program};
use dialect::ops::func;

use super::codegen::Target;
use super::codegen::arith::Math;
use super::lower::planned::{Planned, Requirements};
use super::lower::{KERNEL, Lowered, SharedKernel, lower};
use super::tuning::Tuning;
use crate::jit::{Cache, Engine, KernelFn, vector_bytes};
use crate::rates;

/// A compiled per-device program: code and plan, shared by all devices.
pub struct Executable {
    pub(super) program: Arc<Program>,
    pub(super) lowered: Lowered,
    pub(super) kernels: Vec<KernelFn>,
    pub(super) requirements: Requirements,
    /// The maximum number of threads that one device uses inside an op.
    pub(super) threads: usize,
}

impl Executable {
    /// Compiles a program that `partition` has written, or an unpartitioned one that needs only one device.
    ///
    /// Kernels that are in `cache` are read from it; the others are compiled and added to it.
    pub fn compile(program: Program, cache: Option<&Cache>) -> Result<Self, Diagnostic> {
        Self::compile_planned(Planned::of(program)?, cache, Math::Fast, None)
    }

    /// Does the same for a program whose memory is planned, with this implementation of elementary functions. `here` is
    /// the number of the program's devices that this machine runs; `None` means all of them.
    pub fn compile_planned(
        planned: Planned,
        cache: Option<&Cache>,
        math: Math,
        here: Option<usize>,
    ) -> Result<Self, Diagnostic> {
        Self::compile_tuned(planned, cache, math, here, Tuning::SHIPPED)
    }

    /// Does the same with these thresholds.
    fn compile_tuned(
        planned: Planned,
        cache: Option<&Cache>,
        math: Math,
        here: Option<usize>,
        tuning: &'static Tuning,
    ) -> Result<Self, Diagnostic> {
        let threads = (rates::cores() / here.unwrap_or(planned.requirements.devices)).max(1);
        let target = Target { threads, math, vector_bytes: vector_bytes(), tuning };
        let Planned { program, block, buffers, mut requirements, written } = planned;
        let mut lowered = lower(&program, &buffers, block, &requirements, target)?;
        requirements.grow(lowered.bytes);
        let kernels = compile_kernels(&lowered.kernels, cache).map_err(|e| {
            let message = format!("no native code for a kernel: {e}");
            Diagnostic::error(codes::NATIVE_COMPILATION, Span::default(), message)
        })?;
        lowered.link(&kernels);
        lowered.name(&written);
        Ok(Self { program: Arc::new(program), lowered, kernels, requirements, threads: target.threads })
    }

    /// Compiles a program so that small tensors have chains and share memory.
    #[cfg(test)]
    pub(super) fn compile_small(program: Program) -> Result<Self, Diagnostic> {
        Self::compile_tuned(Planned::of(program)?, None, Math::Fast, None, Tuning::SMALL)
    }

    /// Returns the MLIR text of all kernels.
    pub fn kernel_text(&self) -> String {
        self.kernel_texts().collect()
    }

    /// Returns the MLIR text of each kernel.
    pub fn kernel_texts(&self) -> impl ExactSizeIterator<Item = String> {
        self.lowered.kernels.iter().enumerate().map(|(i, text)| rename(text, &format!("k{i}")))
    }

    /// Returns the other ops of the kernel that a step of `op` runs, if the kernel has several ops.
    pub fn shared_kernel(&self, op: Op) -> Option<&SharedKernel> {
        self.lowered.shared.get(&op)
    }

    /// Returns the number of devices, of all replicas together.
    pub fn devices(&self) -> usize {
        self.requirements.devices
    }

    /// Returns the number of replicas.
    pub fn replicas(&self) -> usize {
        self.requirements.devices / self.requirements.partitions
    }

    /// Returns the program that it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns whether a call leaves its arguments in memory for the next call. It may overwrite donated arguments.
    pub fn keeps_arguments(&self) -> bool {
        let donates = |main: Op| {
            let block = func::block(&self.program, main);
            let count = block.map_or(0, |block| self.program.block_args(block).len());
            (0..count).any(|i| func::is_donated(&self.program, main, i))
        };
        !func::function(&self.program, "main").is_none_or(donates)
    }

    /// Returns the most bytes of memory that any device needs: its arena, without the values of other meshes than its
    /// own.
    pub fn arena_bytes(&self) -> usize {
        self.requirements.most() as usize
    }

    /// Returns the part of [`Self::arena_bytes`] that values take, which are planned alike on every machine. The rest
    /// is for panels of products and values that a chain moves.
    pub fn value_bytes(&self) -> usize {
        self.requirements.most_of_values() as usize
    }
}

/// Compiles kernels under names that are hashes of their text: a kernel's code is cached by its text, which contains
/// its name.
fn compile_kernels(kernels: &[String], cache: Option<&Cache>) -> Result<Vec<KernelFn>, String> {
    let name = |text: &String| {
        let half = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, text).hash(&mut hasher);
            hasher.finish()
        };
        format!("k{:016x}{:016x}", half(0), half(1))
    };
    let names: Vec<String> = kernels.iter().map(name).collect();
    let texts: Vec<String> = kernels.iter().zip(&names).map(|(text, name)| rename(text, name)).collect();
    let module = Engine::new()?.compile_all(&texts, cache)?;
    let kernel = |name: &String| module.function(name).ok_or_else(|| format!("kernel {name} was not compiled"));
    names.iter().map(kernel).collect()
}

/// Returns the text of a kernel under another name.
fn rename(text: &str, name: &str) -> String {
    text.replacen(&format!("@{KERNEL}("), &format!("@{name}("), 1)
}
