//! Running programs: natively if this build of shardc can, or by the reference evaluator.

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

/// What runs a program.
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
    /// Machine code, if this build can.
    fn default() -> Self {
        if HAS_NATIVE { Backend::Native } else { Backend::Reference }
    }
}

/// How to run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecuteOptions {
    /// What runs it.
    pub backend: Backend,
    /// Number of calls; 0 means one.
    pub calls: usize,
    /// Device numbers; empty means 0, 1, and so on.
    pub devices: Vec<u32>,
    /// A folder that compiled kernels are kept in, for programs that are run again; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// Whether machine code computes with subnormal floats. If not, they count as zeros, which is what XLA does; the
    /// reference evaluator always keeps them.
    pub keep_subnormals: bool,
    /// Whether machine code leaves elementary functions to the C library, in f64 and rounded once, as the reference
    /// evaluator does. If not, code that vectorizes computes them, within a few units in the last place.
    pub strict_math: bool,
    /// Whether to record what each device does in the last call; only native execution does.
    pub trace: bool,
    /// Where native execution says how far it is, for others to read meanwhile.
    pub progress: Option<Progress>,
    /// When the reference evaluator stops, with an error; native execution doesn't look at it.
    pub deadline: Option<Instant>,
    /// The processes that run the program's devices together, each as many of them; `None` if this one has them all.
    pub ranks: Option<Ranks>,
}

/// The processes that run a program together, as [`ExecuteOptions`] names them. All run the same program.
#[derive(Clone)]
pub struct Ranks {
    /// What they exchange bytes by.
    pub wire: Arc<dyn Wire>,
    /// How many of them are on this machine.
    pub neighbors: usize,
    /// Whether the first of them is to have all results in the end.
    pub gather: bool,
    /// Where this one gets its devices' inputs from.
    pub inputs: RankInputs,
    /// Whether sums between processes may be in any order, which sends fewer bytes; their bits then depend on how many
    /// processes there are.
    pub fast_reduce: bool,
}

/// Where one of several processes gets its devices' inputs from.
#[derive(Clone, PartialEq, Debug)]
pub enum RankInputs {
    /// The global inputs are given; it reads only what its devices need of them.
    Whole,
    /// For each replica and argument, the block that [`Interface::blocks`] tells of.
    Blocks(Vec<Vec<Literal>>),
    /// They are those of [`random_inputs`](crate::random_inputs) with this seed, of which it makes what its devices need.
    Random(u64),
}

/// A part of a tensor: where it begins, and its sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The index of its first element.
    pub start: Vec<i64>,
    /// How many there are along each dimension.
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

/// Where the values of a per-device program lie in its devices' memory, by [`Compiler::plan_memory`].
pub struct MemoryPlan(Planned);

/// How far a run is. Clones are of the same run.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Calls that are over.
    calls: AtomicU64,
    /// Turns of loops on the first device, in all calls.
    turns: Arc<AtomicU64>,
}

impl Progress {
    /// How many calls are over.
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// How many turns of loops the first device has made, in all calls together.
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
    /// The global results of the last call, for each replica. Where several processes run the program, the first of them has
    /// them, if that was asked for.
    pub results: Vec<Vec<Literal>>,
    /// The shards of the results that this process has, where several run the program.
    pub shards: Vec<ResultShard>,
    /// Bytes that this process has sent to others in all calls.
    pub sent_bytes: u64,
    /// Time spent compiling machine code; zero for the reference evaluator.
    pub compile: Duration,
    /// Time of each call, excluding sharding the inputs and assembling the results.
    pub calls: Vec<Duration>,
    /// The most bytes that one device's values take, where that is known.
    pub peak_bytes: Option<usize>,
    /// What each device did in the last call, if that was to be recorded.
    pub trace: Option<Trace>,
    /// Why kernels weren't taken from the cache or kept there, in words, if that was refused: others may write to it.
    pub cache_refused: Option<String>,
}

/// Machine code of a program, compiled and not called: [`Compiler::compile_kernels`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    /// Time spent compiling machine code, or reading it from the cache.
    pub compile: Duration,
    /// How many distinct kernels the program has.
    pub kernels: usize,
    /// The most bytes of memory that a device needs to run it.
    pub arena_bytes: usize,
    /// Why kernels weren't taken from the cache or kept there, in words, if that was refused: others may write to it.
    pub cache_refused: Option<String>,
}

/// A part of a result. Those of all processes together make up the results.
#[derive(Clone, Debug)]
pub struct ResultShard {
    /// Which replica's result it is part of.
    pub replica: usize,
    /// Which result.
    pub result: usize,
    /// The device of the replica that holds it.
    pub device: usize,
    /// The shard, without padding.
    pub literal: Literal,
    /// Where it begins in the result.
    pub start: Vec<i64>,
    /// How shards of the same place are combined, if they are partial results.
    pub combine: Option<ReductionKind>,
}

impl Compiler {
    /// Runs a per-device program over the global inputs of each replica on simulated devices.
    /// [`random_inputs`](crate::random_inputs) makes inputs where any will do.
    pub fn execute(&self, module: &Module, inputs: &[Vec<Literal>], options: &ExecuteOptions) -> Outcome<Execution> {
        self.execute_planned(module, None, inputs, options)
    }

    /// The same of a program whose memory is planned already, by [`Self::plan_memory`] of the same module.
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

    /// Compiles the machine code that [`Self::execute`] runs a per-device program by, and calls nothing. With
    /// [`ExecuteOptions::cache`], the next run on a machine like this one has nothing left to compile. It needs no memory for
    /// the program's values.
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

    /// Whether the program can be run at all: an error at the first value of `@main` whose element type neither backend
    /// can compute with, such as a quantized one, and at what would come from the host. A remark for each op that only
    /// sends to the host, which is left out.
    pub fn runnable(&self, module: &Module) -> Outcome<()> {
        let remarks = Outcome::new(module.source(), Some(()), &effects::left_out(module.program()));
        remarks.and_then(|()| Outcome::of(module.source(), runnable(module.program())))
    }

    /// Whether there is memory for the global arguments and results of a program: an error that says how much they take,
    /// before any are made.
    pub fn fits_in_memory(&self, module: &Module) -> Outcome<()> {
        Outcome::of(module.source(), Interface::of(module).map_or(Ok(()), |interface| check_memory(&interface)))
    }

    /// Plans what the devices of a per-device program hold when machine code runs it. If there isn't the memory for that
    /// beside its global arguments and results, an error names the largest tensors, before any are made.
    pub fn plan_memory(&self, module: &Module) -> Outcome<MemoryPlan> {
        let plan = planned(module.program().clone()).and_then(|planned| {
            if let Some(interface) = Interface::of(module) {
                devices_fit(&planned, &interface)?;
            }
            Ok(MemoryPlan(planned))
        });
        Outcome::of(module.source(), plan.map_err(one))
    }

    /// A per-device program as a module of upstream MLIR: `@main` over tensors, `linalg.generic` for ops, calls of
    /// declared functions for collectives. The stock mlir-opt takes it down to LLVM.
    pub fn linalg(&self, module: &Module) -> Outcome<String> {
        Outcome::of(module.source(), linalg(module.program()))
    }

    /// The kernels that native execution generates for a per-device program, as MLIR or as LLVM IR.
    pub fn kernels(&self, module: &Module, llvm: bool) -> Outcome<String> {
        Outcome::of(module.source(), kernels(module.program().clone(), llvm))
    }
}

/// The number of replicas and of partitions that a per-device program runs on.
pub(crate) fn replicas_and_partitions(program: &Program) -> (usize, usize) {
    (func::num_replicas(program).max(1) as usize, func::num_partitions(program).max(1) as usize)
}

/// Runs a per-device program over each replica's global inputs, `calls` times, on the devices of these numbers, or on
/// the first ones if there are none.
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
        // Results must not depend on the padding past the end of an argument's shard.
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
        let missing = || evaluation_fault(EvalError::new("a device gave no value"), ids);
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
        trace: None,
        cache_refused: None,
    })
}

/// An evaluation error, naming the device if there are several.
pub(crate) fn evaluation_fault(error: EvalError, ids: &[u32]) -> Diagnostics {
    let (code, message) = match error.device.and_then(|d| ids.get(d)) {
        Some(id) if ids.len() > 1 => (codes::DEVICE_FAILED, format!("device {id} failed: {}", error.message)),
        _ => (codes::EVALUATION, error.message),
    };
    one(Diagnostic::error(code, error.span, message))
}

fn no_signature() -> Diagnostics {
    one(Diagnostic::error(codes::NO_GLOBAL_TYPES, Default::default(), "@main doesn't say its global types"))
}
