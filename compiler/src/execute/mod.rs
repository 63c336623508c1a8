//! Execution of programs: natively if this build supports it, or by the reference evaluator.

mod checks;
mod interface;
#[cfg(feature = "jit")]
mod native;
#[cfg(not(feature = "jit"))]
#[path = "without_native.rs"]
mod native;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::eval::{EvalError, Lanes};
use dialect::ir::Program;
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::sharding::ReductionKind;
use dialect::signature::Signature;
use runtime::collective::Wire;
use runtime::reference::{self, Limits};

use crate::compiler::Compiler;
use crate::diagnostic::{Outcome, one};
use crate::effects;
use crate::module::Module;
use crate::trace::Trace;

pub(crate) use checks::runnable;
pub use interface::Interface;

use checks::{check_inputs, check_memory};
use native::{Planned, compiled, devices_fit, kernels, linalg, native, planned};

/// The backend that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code, one thread per device.
    Native,
    /// The reference evaluator: slow, but simple enough to be obviously right.
    Reference,
}

/// Whether this shardc was built with native execution.
pub const HAS_NATIVE: bool = cfg!(feature = "jit");

impl Default for Backend {
    /// Returns native execution if this build has it.
    fn default() -> Self {
        if HAS_NATIVE { Backend::Native } else { Backend::Reference }
    }
}

/// The options of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecuteOptions {
    /// The backend that runs it.
    pub backend: Backend,
    /// The number of calls; 0 means one.
    pub calls: usize,
    /// The device numbers; empty means 0, 1, and so on.
    pub devices: Vec<u32>,
    /// The folder that caches compiled kernels between runs; `None` caches nothing.
    pub cache: Option<PathBuf>,
    /// Whether machine code computes with subnormal floats. If not, they count as zeros, as in XLA. The reference
    /// evaluator always keeps them.
    pub keep_subnormals: bool,
    /// Whether machine code calls the C library for elementary functions, in f64 and rounded once, as the reference
    /// evaluator does. If not, vectorized code computes them, within a few units in the last place.
    pub strict_math: bool,
    /// Whether to record what each device does in the last call; only native execution supports it.
    pub trace: bool,
    /// The progress of native execution, which other threads can read while it runs.
    pub progress: Option<Progress>,
    /// The time at which the reference evaluator stops with an error; native execution ignores it.
    pub deadline: Option<Instant>,
    /// The processes that run the program's devices together, each the same number of devices; `None` if this process
    /// runs all.
    pub ranks: Option<Ranks>,
}

/// The processes that run a program together, for [`ExecuteOptions`]. All run the same program.
#[derive(Clone)]
pub struct Ranks {
    /// The transport by which they exchange bytes.
    pub wire: Arc<dyn Wire>,
    /// The number of these processes on this machine.
    pub neighbors: usize,
    /// Whether the first process gets all results in the end.
    pub gather: bool,
    /// The source of the inputs of this process's devices.
    pub inputs: RankInputs,
    /// Whether sums between processes may be in any order, which sends fewer bytes; the result bits then depend on the
    /// number of processes.
    pub fast_reduce: bool,
}

/// The source of the inputs of one process's devices.
#[derive(Clone, PartialEq, Debug)]
pub enum RankInputs {
    /// The global inputs; the process reads only what its devices need.
    Whole,
    /// For each replica and argument, the block of [`Interface::blocks`].
    Blocks(Vec<Vec<Literal>>),
    /// The inputs of [`random_inputs`](crate::random_inputs) with this seed, of which the process generates what its
    /// devices need.
    Random(u64),
}

/// A part of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The index of its first element.
    pub start: Vec<i64>,
    /// The size along each dimension.
    pub sizes: Vec<i64>,
}

impl PartialEq for Ranks {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.wire, &other.wire)
            && (self.neighbors, self.gather, &self.inputs) == (other.neighbors, other.gather, &other.inputs)
            && self.fast_reduce == other.fast_reduce
    }
}

impl Eq for Ranks {}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.wire.rank(), self.wire.ranks())
    }
}

/// The memory layout of the values of a per-device program, by [`Compiler::plan_memory`].
pub struct MemoryPlan(Planned);

/// The progress of a run. Clones share the state of one run.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<CallCounts>);

#[derive(Debug, Default)]
struct CallCounts {
    /// The number of finished calls.
    calls: AtomicU64,
    /// The number of loop iterations on the first device, in all calls.
    turns: Arc<AtomicU64>,
}

impl Progress {
    /// Returns the number of finished calls.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Returns the number of loop iterations on the first device, in all calls.
    pub fn turns(&self) -> u64 {
        self.0.turns.load(Ordering::Relaxed)
    }
}

impl PartialEq for Progress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Progress {}

/// The outcome of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Execution {
    /// The global results of the last call, for each replica. With several processes, only the first has them, and only
    /// if [`Ranks::gather`] is set.
    pub results: Vec<Vec<Literal>>,
    /// The shards of the results on this process, if several run the program.
    pub shards: Vec<ResultShard>,
    /// Bytes that this process sent to others in all calls.
    pub sent_bytes: u64,
    /// Time spent compiling machine code; zero for the reference evaluator.
    pub compile: Duration,
    /// Time of each call, excluding sharding the inputs and assembling the results.
    pub calls: Vec<Duration>,
    /// The maximum number of bytes that one device's values take, if known.
    pub peak_bytes: Option<usize>,
    /// The bytes of memory that the runtime allocates for a device: `peak_bytes`, and copies of operands in the order
    /// in which this machine multiplies them. `None` for the reference evaluator.
    pub arena_bytes: Option<usize>,
    /// What each device did in the last call, if it was recorded.
    pub trace: Option<Trace>,
    /// The reason, in words, why the kernel cache was refused: other users may write to it.
    pub cache_refused: Option<String>,
}

/// The result of [`Compiler::compile_kernels`], which compiles machine code without calling it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// Time spent compiling machine code, or reading it from the cache.
    pub compile: Duration,
    /// The number of distinct kernels in the program.
    pub kernels: usize,
    /// The bytes of memory that a device needs to run it.
    pub arena_bytes: usize,
    /// The reason, in words, why the kernel cache was refused: other users may write to it.
    pub cache_refused: Option<String>,
}

/// A part of a result. The parts on all processes together make up the results.
#[derive(Clone, Debug)]
pub struct ResultShard {
    /// The replica that computes the result.
    pub replica: usize,
    /// The index of the result.
    pub result: usize,
    /// The device, within the replica, that holds the shard.
    pub device: usize,
    /// The shard, without padding.
    pub literal: Literal,
    /// The index in the result at which the shard begins.
    pub start: Vec<i64>,
    /// How shards of the same position are combined, if they are partial results.
    pub combine: Option<ReductionKind>,
}

impl Compiler {
    /// Runs a per-device program over the global inputs of each replica on simulated devices.
    /// [`random_inputs`](crate::random_inputs) generates inputs.
    pub fn execute(&self, module: &Module, inputs: &[Vec<Literal>], options: &ExecuteOptions) -> Outcome<Execution> {
        self.execute_planned(module, None, inputs, options)
    }

    /// Like [`Self::execute`], for a program whose memory [`Self::plan_memory`] planned from the same module.
    pub fn execute_planned(
        &self,
        module: &Module,
        plan: Option<MemoryPlan>,
        inputs: &[Vec<Literal>],
        options: &ExecuteOptions,
    ) -> Outcome<Execution> {
        let program = module.program();
        let is_given = options.ranks.as_ref().is_none_or(|ranks| ranks.inputs == RankInputs::Whole);
        let checked = if is_given { check_inputs(module, inputs) } else { Ok(()) };
        let ran = checked.and_then(|()| runnable(program)).and_then(|()| run(module, plan, inputs, options));
        Outcome::of(module.source(), ran)
    }

    /// Compiles the machine code that [`Self::execute`] would run for a per-device program, without running it. With
    /// [`ExecuteOptions::cache`], the next run on the same kind of machine finds everything compiled. It allocates no
    /// memory for the program's values.
    pub fn compile_kernels(&self, module: &Module, options: &ExecuteOptions) -> Outcome<Compiled> {
        let program = module.program();
        let planned = runnable(program).and_then(|()| planned(program.clone()).map_err(one));
        Outcome::of(module.source(), planned.and_then(|planned| compiled(module, planned, options)))
    }

    /// Evaluates a program of global values with the reference evaluator, once for each replica's inputs.
    pub fn evaluate(&self, module: &Module, inputs: &[Vec<Literal>]) -> Outcome<Vec<Vec<Literal>>> {
        let program = module.program();
        let results = check_inputs(module, inputs)
            .and_then(|()| runnable(program))
            .and_then(|()| run_global(program, inputs, Limits::default()));
        Outcome::of(module.source(), results)
    }

    /// Checks whether the program can be run: returns an error at the first value of `@main` whose element type neither
    /// backend supports, such as a quantized one, and at ops that receive data from the host; and a remark for each op
    /// that only sends to the host, which runs skip.
    pub fn runnable(&self, module: &Module) -> Outcome<()> {
        let remarks = Outcome::new(module.source(), Some(()), &effects::left_out(module.program()));
        remarks.and_then(|()| Outcome::of(module.source(), runnable(module.program())))
    }

    /// Checks whether the global arguments and results of a program fit into memory, before any is allocated. The error
    /// states their size.
    pub fn fits_in_memory(&self, module: &Module) -> Outcome<()> {
        Outcome::of(module.source(), Interface::of(module).map_or(Ok(()), |interface| check_memory(&interface)))
    }

    /// Plans the memory of a per-device program's devices for native execution. If it doesn't fit into memory in
    /// addition to the global arguments and results, an error names the largest tensors, before any is allocated.
    pub fn plan_memory(&self, module: &Module) -> Outcome<MemoryPlan> {
        let plan = planned(module.program().clone()).and_then(|planned| {
            if let Some(interface) = Interface::of(module) {
                devices_fit(&planned, &interface)?;
            }
            Ok(MemoryPlan(planned))
        });
        Outcome::of(module.source(), plan.map_err(one))
    }

    /// Returns a per-device program as a module of upstream MLIR: `@main` over tensors, `linalg.generic` for ops, calls
    /// of declared functions for collectives. The stock mlir-opt lowers it to LLVM.
    pub fn linalg(&self, module: &Module) -> Outcome<String> {
        Outcome::of(module.source(), linalg(module.program()))
    }

    /// Returns the kernels that native execution generates for a per-device program, as MLIR or as LLVM IR.
    pub fn kernels(&self, module: &Module, llvm: bool) -> Outcome<String> {
        Outcome::of(module.source(), kernels(module.program().clone(), llvm))
    }
}

/// Returns the number of replicas and of partitions of a per-device program.
pub(crate) fn replicas_and_partitions(program: &Program) -> (usize, usize) {
    (func::num_replicas(program).max(1) as usize, func::num_partitions(program).max(1) as usize)
}

/// Runs a per-device program over each replica's global inputs, `calls` times, on the given devices, or on the first
/// ones if none are given.
fn run(
    module: &Module,
    plan: Option<MemoryPlan>,
    inputs: &[Vec<Literal>],
    options: &ExecuteOptions,
) -> Result<Execution, Diagnostics> {
    let (replicas, partitions) = replicas_and_partitions(module.program());
    let devices = &options.devices;
    let ids = if devices.is_empty() { (0..(replicas * partitions) as u32).collect() } else { devices.clone() };
    match options.backend {
        Backend::Native => {
            let plan = match plan {
                Some(MemoryPlan(planned)) => planned,
                None => planned(module.program().clone()).map_err(one)?,
            };
            native(module, plan, inputs, ids, options)
        }
        Backend::Reference => by_reference(module.program().clone(), inputs, options, &ids),
    }
}

/// Evaluates a program of global values on full tensors, for each replica's inputs.
pub(crate) fn run_global(
    program: &Program,
    inputs: &[Vec<Literal>],
    limits: Limits,
) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    reference::evaluate_replicas_within(program, inputs, limits).map_err(|e| evaluation_fault(e, &[]))
}

fn by_reference(
    mut program: Program,
    inputs: &[Vec<Literal>],
    options: &ExecuteOptions,
    ids: &[u32],
) -> Result<Execution, Diagnostics> {
    let limits = Limits::until(options.deadline);
    let signature = Signature::of(&mut program).ok_or_else(no_signature)?;
    let (replicas, partitions) = replicas_and_partitions(&program);
    let shards = |(i, side): (usize, _)| -> Lanes {
        // Padding past the end of an argument's shard is undefined, so that results can't depend on it.
        let layout = signature.layout(side).with_undefined_padding();
        let of_replica = |values: &Vec<Literal>| -> Lanes {
            (0..partitions).map(|p| values.get(i).map(|value| layout.shard(value, p))).collect()
        };
        inputs.iter().flat_map(of_replica).collect()
    };
    let arguments: Vec<Lanes> = signature.arguments.iter().enumerate().map(shards).collect();
    let (mut times, mut lanes) = (Vec::new(), Vec::new());
    for _ in 0..options.calls.max(1) {
        let start = Instant::now();
        lanes = reference::evaluate_within(&program, "main", replicas, partitions, &arguments, limits)
            .map_err(|e| evaluation_fault(e, ids))?;
        times.push(start.elapsed());
    }
    let mut results = vec![Vec::with_capacity(lanes.len()); replicas];
    for (side, lanes) in signature.results.iter().zip(lanes) {
        let of_replica: Option<Vec<Literal>> = lanes.into_iter().collect();
        let missing = || evaluation_fault(EvalError::new("a device returned no value"), ids);
        let (of_replica, layout) = (of_replica.ok_or_else(missing)?, signature.layout(side));
        for (replica, of_replica) in results.iter_mut().zip(of_replica.chunks(partitions)) {
            replica.push(layout.assemble(of_replica));
        }
    }
    let (shards, compile) = (Vec::new(), Duration::ZERO);
    Ok(Execution {
        results,
        shards,
        sent_bytes: 0,
        compile,
        calls: times,
        peak_bytes: None,
        arena_bytes: None,
        trace: None,
        cache_refused: None,
    })
}

/// Converts an evaluation error, naming the device if there are several.
pub(crate) fn evaluation_fault(error: EvalError, ids: &[u32]) -> Diagnostics {
    let (code, message) = match error.device.and_then(|d| ids.get(d)) {
        Some(id) if ids.len() > 1 => (codes::DEVICE_FAILED, format!("device {id} failed: {}", error.message)),
        _ => (codes::EVALUATION, error.message),
    };
    one(Diagnostic::error(code, error.span, message))
}

fn no_signature() -> Diagnostics {
    one(Diagnostic::error(codes::NO_GLOBAL_TYPES, Default::default(), "@main doesn't state its global types"))
}
