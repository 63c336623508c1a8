//! Running programs: natively if this build of shardc can, or by the reference evaluator.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::eval::{EvalError, Lanes};
#[cfg(feature = "jit")]
use dialect::ir::Shape;
use dialect::ir::{ElementType, Program, Quantized, TensorType, Value};
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::sharding::{Layout, ReductionKind};
use dialect::signature::Signature;
use runtime::collective::Wire;
use runtime::reference;

use crate::compiler::Compiler;
use crate::diagnostic::{Outcome, one};
use crate::module::Module;
use crate::trace::Trace;
#[cfg(feature = "jit")]
use crate::trace::of_tracks;

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

/// The argument and result types of a program, and how many devices it runs on.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// The global types of `@main`'s arguments.
    pub arguments: Vec<TensorType>,
    /// The global types of `@main`'s results.
    pub results: Vec<TensorType>,
    /// Number of replicas, each with arguments of its own.
    pub replicas: usize,
    /// Number of devices that run one replica.
    pub partitions: usize,
}

impl Interface {
    /// The interface of a program at any stage; `None` if it has no `@main`, or if an argument or result isn't a
    /// tensor.
    pub fn of(module: &Module) -> Option<Self> {
        let mut program = module.program().clone();
        let signature = Signature::of(&mut program)?;
        let types = |sides: &[dialect::signature::Side]| sides.iter().map(|s| s.global.clone()).collect();
        let (replicas, partitions) = replicas_and_partitions(&program);
        let (arguments, results) = (types(&signature.arguments), types(&signature.results));
        Some(Self { arguments, results, replicas, partitions })
    }
}

/// Of each replica and argument or result of a program, the smallest block that holds the shards of all devices of one process,
/// which runs as many devices as every other.
fn blocks(layouts: &[Layout], partitions: usize, held: Range<usize>, replica: usize) -> Vec<Block> {
    let mine = || held.clone().filter(|device| device / partitions == replica).map(|device| device % partitions);
    let block = |layout: &Layout| {
        let rank = layout.ty.rank();
        let (mut start, mut end) = (vec![i64::MAX; rank], vec![0; rank]);
        for device in mine() {
            let (first, sizes) = layout.range(device);
            for d in 0..rank {
                start[d] = start[d].min(first[d]);
                end[d] = end[d].max(first[d] + sizes[d]);
            }
        }
        let start: Vec<i64> = start.iter().zip(&end).map(|(&start, &end)| start.min(end)).collect();
        let sizes = start.iter().zip(&end).map(|(start, end)| end - start).collect();
        Block { start, sizes }
    };
    layouts.iter().map(block).collect()
}

impl Interface {
    /// For each replica and argument, the block of it that the devices of one of several processes need.
    pub fn blocks(module: &Module, rank: usize, ranks: usize) -> Option<Vec<Vec<Block>>> {
        let mut program = module.program().clone();
        let signature = Signature::of(&mut program)?;
        let (replicas, partitions) = replicas_and_partitions(&program);
        let each = replicas * partitions / ranks.max(1);
        let layouts: Vec<Layout> = signature.arguments.iter().map(|side| signature.layout(side)).collect();
        let of = |replica| blocks(&layouts, partitions, rank * each..(rank + 1) * each, replica);
        Some((0..replicas).map(of).collect())
    }
}

impl Compiler {
    /// Runs a per-device program over the global inputs of each replica on simulated devices.
    /// [`random_inputs`](crate::random_inputs) makes inputs where any will do.
    pub fn execute(&self, module: &Module, inputs: &[Vec<Literal>], options: &ExecuteOptions) -> Outcome<Execution> {
        let program = module.program();
        let is_given = options.ranks.as_ref().is_none_or(|ranks| ranks.inputs == RankInputs::Whole);
        let checked = if is_given { check_inputs(module, inputs) } else { Ok(()) };
        let ran = checked.and_then(|()| runnable(program)).and_then(|()| run(module, inputs, options));
        Outcome::of(module.source(), ran)
    }

    /// Evaluates a program of global values with the reference evaluator, once for each replica's inputs.
    pub fn evaluate(&self, module: &Module, inputs: &[Vec<Literal>]) -> Outcome<Vec<Vec<Literal>>> {
        let program = module.program();
        let results =
            check_inputs(module, inputs).and_then(|()| runnable(program)).and_then(|()| run_global(program, inputs));
        Outcome::of(module.source(), results)
    }

    /// Whether the program can be run at all: an error at the first value of `@main` whose element type neither backend
    /// can compute with, such as a quantized one.
    pub fn runnable(&self, module: &Module) -> Outcome<()> {
        Outcome::of(module.source(), runnable(module.program()))
    }

    /// Whether there is memory for the global arguments and results of a program: an error that says how much they take,
    /// before any are made.
    pub fn fits_in_memory(&self, module: &Module) -> Outcome<()> {
        Outcome::of(module.source(), Interface::of(module).map_or(Ok(()), |interface| check_memory(&interface)))
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

/// Refuses a program whose global arguments and results don't fit in memory, before any are made.
fn check_memory(interface: &Interface) -> Result<(), Diagnostics> {
    let bytes = |types: &[TensorType]| types.iter().map(|t| t.bytes().unwrap_or(usize::MAX) as f64).sum::<f64>();
    let replicas = interface.replicas as f64;
    // The global arguments, then the shards of each.
    let (arguments, results) = (bytes(&interface.arguments) * replicas, bytes(&interface.results) * replicas);
    let Some(free) = runtime::files::available_memory() else { return Ok(()) };
    if 2.0 * arguments + results <= free as f64 {
        return Ok(());
    }
    let text = |bytes: f64| crate::units::bytes(bytes);
    let message = format!(
        "the program's arguments take {}, their shards as much again, and its results {}; {} of memory are available",
        text(arguments),
        text(results),
        text(free as f64)
    );
    let d = Diagnostic::error(codes::DEVICE_MEMORY, Span::default(), message);
    Err(one(d.note("run a smaller version of it; 'shardc cost' and 'shardc explain' need no memory for values")))
}

/// Checks that there are inputs for every replica, and that they have the types of `@main`'s arguments.
fn check_inputs(module: &Module, inputs: &[Vec<Literal>]) -> Result<(), Diagnostics> {
    let fault = |message: String| Err(one(Diagnostic::error(codes::INPUT_TYPES, Span::default(), message)));
    let Some(interface) = Interface::of(module) else {
        return fault("@main takes or gives something that is no tensor".to_owned());
    };
    if inputs.len() != interface.replicas {
        let (wanted, given) = (interface.replicas, inputs.len());
        return fault(format!("the program runs on {wanted} replicas, inputs are given for {given}"));
    }
    for given in inputs {
        let (wanted, given) = (&interface.arguments, given.iter().map(Literal::ty).collect::<Vec<_>>());
        if *wanted != given {
            let program = module.program();
            let texts = |types: &[TensorType]| {
                types.iter().map(|t| program.type_data_text(&t.clone().into())).collect::<Vec<_>>().join(", ")
            };
            return fault(format!("@main takes ({}), not ({})", texts(wanted), texts(&given)));
        }
    }
    Ok(())
}

/// An error at the first value of `@main` whose element type neither backend can compute with, such as a quantized one.
pub(crate) fn runnable(program: &Program) -> Result<(), Diagnostics> {
    let Some(block) = func::function(program, "main").and_then(|main| func::block(program, main)) else {
        return Ok(());
    };
    let unknown = |&value: &Value| match program.tensor_type(value).map(|t| t.element) {
        Some(element @ ElementType::Other(name)) => {
            Some((program.name_text(name), Quantized::of(program, element).is_some()))
        }
        _ => None,
    };
    let args = program.block_args(block).iter().map(|&arg| (arg, program.value_span(arg)));
    let ops = program.ops_under(block).into_iter();
    let results = ops.flat_map(|op| program.results(op).map(move |result| (result, program.op(op).span)));
    let found = args.chain(results).find_map(|(value, span)| Some((span, unknown(&value)?)));
    let Some((span, (text, quantized))) = found else { return Ok(()) };
    let d = Diagnostic::error(
        codes::ELEMENT_TYPE_WITHOUT_ARITHMETIC,
        span,
        format!("nothing here computes with elements of type {text}"),
    );
    Err(one(if quantized {
        d.note("rewrite it over integers first: stablehlo-opt --stablehlo-legalize-quant-to-math")
    } else {
        d
    }))
}

/// The number of replicas and of partitions that a per-device program runs on.
pub(crate) fn replicas_and_partitions(program: &Program) -> (usize, usize) {
    (func::num_replicas(program).max(1) as usize, func::num_partitions(program).max(1) as usize)
}

/// Runs a per-device program over each replica's global inputs, `calls` times, on the devices of these numbers, or on
/// the first ones if there are none.
fn run(module: &Module, inputs: &[Vec<Literal>], options: &ExecuteOptions) -> Result<Execution, Diagnostics> {
    let program = module.program().clone();
    let (replicas, partitions) = replicas_and_partitions(&program);
    let devices = &options.devices;
    let ids = if devices.is_empty() { (0..(replicas * partitions) as u32).collect() } else { devices.clone() };
    match options.backend {
        Backend::Native => native(module, program, inputs, ids, options),
        Backend::Reference => by_reference(program, inputs, options.calls, &ids),
    }
}

/// Evaluates a program of global values on full tensors, for each replica's inputs.
pub(crate) fn run_global(program: &Program, inputs: &[Vec<Literal>]) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    reference::evaluate_replicas(program, inputs).map_err(|e| evaluation_fault(e, &[]))
}

fn by_reference(
    mut program: Program,
    inputs: &[Vec<Literal>],
    calls: usize,
    ids: &[u32],
) -> Result<Execution, Diagnostics> {
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
    for _ in 0..calls.max(1) {
        let start = Instant::now();
        lanes = reference::evaluate(&program, "main", replicas, partitions, &arguments)
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
    Ok(Execution { results, shards, sent_bytes: 0, compile, calls: times, peak_bytes: None, trace: None })
}

#[cfg(feature = "jit")]
fn native(
    module: &Module,
    program: Program,
    inputs: &[Vec<Literal>],
    ids: Vec<u32>,
    options: &ExecuteOptions,
) -> Result<Execution, Diagnostics> {
    use runtime::execute::{Executable, Math};
    use runtime::jit::{Cache, DEFAULT_LIMIT};
    use runtime::subnormals::Subnormals;
    let cache = options.cache.as_ref().map(|folder| Cache::new(folder, DEFAULT_LIMIT));
    let fault = |message: String| one(Diagnostic::error(codes::INPUT_TYPES, Default::default(), message));
    let start = Instant::now();
    let math = if options.strict_math { Math::Strict } else { Math::Fast };
    let (replicas, partitions) = replicas_and_partitions(&program);
    // Devices of all processes here share the cores.
    let here = options.ranks.as_ref().map(|r| replicas * partitions * r.neighbors / r.wire.ranks().max(1));
    let executable = Executable::compile_with(program, cache.as_ref(), math, here).map_err(one)?;
    let compile = start.elapsed();
    let subnormals = if options.keep_subnormals { Subnormals::Keep } else { Subnormals::Flush };
    let session = executable
        .session_among(ids.clone(), options.ranks.as_ref().map(|ranks| ranks.wire.clone()))
        .map_err(one)?
        .with_subnormals(subnormals)
        .with_fast_sums(options.ranks.as_ref().is_some_and(|ranks| ranks.fast_reduce));
    let progress = options.progress.clone().unwrap_or_default();
    let session = session.with_turns(Arc::clone(&progress.0.turns));
    let (mut times, mut trace) = (Vec::new(), None);
    let calls = options.calls.max(1);
    for call in 1..=calls {
        // A program may write into its donated arguments.
        match options.ranks.as_ref().map(|ranks| &ranks.inputs) {
            None | Some(RankInputs::Whole) => {
                for (replica, values) in inputs.iter().enumerate() {
                    session.set_inputs_of(replica, values).map_err(fault)?;
                }
            }
            Some(RankInputs::Random(seed)) => {
                for replica in 0..replicas {
                    session.set_pieces(replica, |i, start, sizes| {
                        let ty = &session.argument_layouts()[i].ty;
                        crate::inputs::random_piece((i, ty), *seed, replica, start, sizes)
                    });
                }
            }
            Some(RankInputs::Blocks(of_replicas)) => {
                for (replica, values) in of_replicas.iter().enumerate() {
                    let origins = blocks(session.argument_layouts(), partitions, session.held(), replica);
                    session.set_pieces(replica, |i, start, sizes| {
                        let inside: Vec<i64> = start.iter().zip(&origins[i].start).map(|(s, o)| s - o).collect();
                        values[i].piece(&inside, sizes)
                    });
                }
            }
        }
        if let Some(ranks) = &options.ranks {
            // All begin together, so that what one waits for another is the program's.
            ranks.wire.barrier().map_err(|e| one(Diagnostic::error(codes::DEVICE_FAILED, Span::default(), e)))?;
        }
        let start = Instant::now();
        if options.trace && call == calls {
            trace = Some(of_tracks(module, &session.run_traced().map_err(one)?, &ids[session.held()]));
        } else {
            session.run().map_err(one)?;
        }
        progress.0.calls.fetch_add(1, Ordering::Relaxed);
        times.push(start.elapsed());
    }
    let (results, shards) = match &options.ranks {
        None => ((0..executable.replicas()).map(|replica| session.results_of(replica)).collect(), Vec::new()),
        Some(ranks) => {
            let shards = shards(&session, session.held(), partitions);
            let results =
                if ranks.gather { gather(&session, ranks, replicas, partitions, &shards)? } else { Vec::new() };
            (results, shards)
        }
    };
    let (sent_bytes, peak_bytes) = (session.sent(), Some(executable.arena_bytes()));
    Ok(Execution { results, shards, sent_bytes, compile, calls: times, peak_bytes, trace })
}

/// The shards of results that make up the results, of those of these devices.
#[cfg(feature = "jit")]
fn shards(session: &runtime::execute::Session<'_>, held: Range<usize>, partitions: usize) -> Vec<ResultShard> {
    let mut shards = Vec::new();
    for (result, layout) in session.result_layouts().iter().enumerate() {
        let holders = layout.holders();
        for (replica, device) in held.clone().map(|device| (device / partitions, device % partitions)) {
            if holders.binary_search(&device).is_ok() {
                let (start, sizes) = layout.range(device);
                let zeros: Shape = sizes.iter().map(|_| 0).collect();
                let literal = session.result(result, replica * partitions + device).piece(&zeros, &sizes);
                let (start, combine) = (start.to_vec(), layout.reduction());
                shards.push(ResultShard { replica, result, device, literal, start, combine });
            }
        }
    }
    shards
}

/// The global results from all processes' shards, on the first of them.
#[cfg(feature = "jit")]
fn gather(
    session: &runtime::execute::Session<'_>,
    ranks: &Ranks,
    replicas: usize,
    partitions: usize,
    mine: &[ResultShard],
) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    let bytes: Vec<u8> = mine.iter().flat_map(|shard| shard.literal.dense_bytes().into_owned()).collect();
    let fault = |message: String| one(Diagnostic::error(codes::DEVICE_FAILED, Span::default(), message));
    let all = ranks.wire.to_first(&bytes).map_err(fault)?;
    let each = replicas * partitions / ranks.wire.ranks().max(1);
    let mut pieces: Vec<Vec<Vec<(usize, Literal)>>> = vec![vec![Vec::new(); session.result_layouts().len()]; replicas];
    for (rank, bytes) in all.iter().enumerate() {
        let mut rest = &bytes[..];
        // Of other processes' shards, only the types count.
        for shard in shards(session, rank * each..(rank + 1) * each, partitions) {
            let (literal, size) = (&shard.literal, shard.literal.dense_bytes().len());
            let Some((mine, behind)) = rest.split_at_checked(size) else {
                return Err(fault(format!("rank {rank} has sent too little of a result")));
            };
            rest = behind;
            let literal = Literal::from_bytes(literal.element, &literal.shape, mine.to_vec());
            pieces[shard.replica][shard.result].push((shard.device, literal));
        }
    }
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let assemble = |(layout, pieces): (&Layout, &Vec<(usize, Literal)>)| {
        layout.assemble_held(pieces.iter().map(|(device, literal)| (*device, literal)))
    };
    let of_replica =
        |pieces: &Vec<Vec<(usize, Literal)>>| session.result_layouts().iter().zip(pieces).map(assemble).collect();
    Ok(pieces.iter().map(of_replica).collect())
}

#[cfg(not(feature = "jit"))]
fn native(
    _: &Module,
    _: Program,
    _: &[Vec<Literal>],
    _: Vec<u32>,
    _: &ExecuteOptions,
) -> Result<Execution, Diagnostics> {
    Err(no_native())
}

#[cfg(not(feature = "jit"))]
fn no_native() -> Diagnostics {
    let d = Diagnostic::error(
        codes::NO_NATIVE_EXECUTION,
        Default::default(),
        "this shardc was built without native execution",
    );
    one(d.note("the reference evaluator runs programs: add --interpret"))
}

/// The kernels that native execution compiles, as MLIR or as LLVM IR.
#[cfg(feature = "jit")]
fn kernels(program: Program, llvm: bool) -> Result<String, Diagnostics> {
    let fault = |message: String| one(Diagnostic::error(codes::NATIVE_COMPILATION, Default::default(), message));
    let executable = runtime::execute::Executable::compile(program, None).map_err(one)?;
    if !llvm {
        return Ok(executable.kernel_text());
    }
    // Each kernel is compiled by itself.
    let engine = runtime::jit::Engine::new().map_err(fault)?;
    executable.kernel_texts().map(|text| engine.llvm_ir(&text)).collect::<Result<String, String>>().map_err(fault)
}

#[cfg(feature = "jit")]
fn linalg(program: &Program) -> Result<String, Diagnostics> {
    runtime::execute::linalg(program).map_err(one)
}

#[cfg(not(feature = "jit"))]
fn linalg(_: &Program) -> Result<String, Diagnostics> {
    Err(no_native())
}

/// The kernels that native execution compiles, as MLIR or as LLVM IR.
#[cfg(not(feature = "jit"))]
fn kernels(_: Program, _: bool) -> Result<String, Diagnostics> {
    Err(no_native())
}

/// An evaluation error, naming the device if there are several.
fn evaluation_fault(error: EvalError, ids: &[u32]) -> Diagnostics {
    let (code, message) = match error.device.and_then(|d| ids.get(d)) {
        Some(id) if ids.len() > 1 => (codes::DEVICE_FAILED, format!("device {id} failed: {}", error.message)),
        _ => (codes::EVALUATION, error.message),
    };
    one(Diagnostic::error(code, error.span, message))
}

fn no_signature() -> Diagnostics {
    one(Diagnostic::error(codes::NO_GLOBAL_TYPES, Default::default(), "@main doesn't say its global types"))
}
