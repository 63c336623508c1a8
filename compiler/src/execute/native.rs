//! Native execution, and the text of the kernels that it compiles.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Program, Shape};
use dialect::literal::Literal;
use dialect::sharding::Layout;
pub(super) use runtime::execute::Planned;
use runtime::execute::{Executable, Math};
use runtime::jit::{Cache, DEFAULT_LIMIT};
use runtime::subnormals::Subnormals;

use super::interface::blocks;
use super::{Compiled, ExecuteOptions, Execution, Interface, RankInputs, Ranks, ResultShard, replicas_and_partitions};
use crate::diagnostic::one;
use crate::module::Module;
use crate::trace::of_tracks;

/// Compiles the kernels of a program as [`native`] does, into the cache if there is one, without running them.
pub(super) fn compiled(module: &Module, planned: Planned, options: &ExecuteOptions) -> Result<Compiled, Diagnostics> {
    let start = Instant::now();
    let cache = cache(options);
    let executable = executable(module, planned, options, cache.as_ref())?;
    let compile = start.elapsed();
    let (kernels, arena_bytes) = (executable.kernel_texts().len(), executable.arena_bytes());
    Ok(Compiled { compile, kernels, arena_bytes, cache_refused: cache.and_then(|cache| cache.refused()) })
}

fn cache(options: &ExecuteOptions) -> Option<Cache> {
    options.cache.as_ref().map(|folder| Cache::new(folder, DEFAULT_LIMIT))
}

fn executable(
    module: &Module,
    planned: Planned,
    options: &ExecuteOptions,
    cache: Option<&Cache>,
) -> Result<Executable, Diagnostics> {
    let math = if options.strict_math { Math::Strict } else { Math::Fast };
    let (replicas, partitions) = replicas_and_partitions(module.program());
    // Devices of all processes on this machine share the cores.
    let here = options.ranks.as_ref().map(|r| replicas * partitions * r.neighbors / r.wire.ranks().max(1));
    Executable::compile_planned(planned, cache, math, here).map_err(one)
}

pub(super) fn native(
    module: &Module,
    planned: Planned,
    inputs: &[Vec<Literal>],
    ids: Vec<u32>,
    options: &ExecuteOptions,
) -> Result<Execution, Diagnostics> {
    let fault = |message: String| one(Diagnostic::error(codes::INPUT_TYPES, Default::default(), message));
    let start = Instant::now();
    let (replicas, partitions) = replicas_and_partitions(module.program());
    let cache = cache(options);
    let executable = executable(module, planned, options, cache.as_ref())?;
    let compile = start.elapsed();
    let cache_refused = cache.and_then(|cache| cache.refused());
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
        match options.ranks.as_ref().map(|ranks| &ranks.inputs) {
            _ if call > 1 && executable.keeps_arguments() => {}
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
            // All processes start together, so that waiting times in the run are caused by the program.
            ranks.wire.barrier().map_err(|e| one(Diagnostic::error(codes::DEVICE_FAILED, Span::default(), e)))?;
        }
        let start = Instant::now();
        if options.trace && call == calls {
            let tracks = session.run_traced().map_err(one)?;
            trace = Some(of_tracks(module, &executable, &tracks, &ids[session.held()]));
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
    let [peak_bytes, arena_bytes] = [executable.value_bytes(), executable.arena_bytes()].map(Some);
    let sent_bytes = session.sent();
    Ok(Execution { results, shards, sent_bytes, compile, calls: times, peak_bytes, arena_bytes, trace, cache_refused })
}

/// Returns the shards of the results on these devices; of devices with the same shard, only the one that `holders`
/// names.
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

/// Assembles the global results from all processes' shards, on the first process.
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
        // Of other processes' shards, only the types are used here.
        for shard in shards(session, rank * each..(rank + 1) * each, partitions) {
            let (literal, size) = (&shard.literal, shard.literal.dense_bytes().len());
            let Some((mine, behind)) = rest.split_at_checked(size) else {
                return Err(fault(format!("rank {rank} sent an incomplete result")));
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

/// Plans the memory of a program's devices.
pub(super) fn planned(program: Program) -> Result<Planned, Diagnostic> {
    Planned::of(program)
}

/// Checks that the devices' memory fits next to the global arguments and results.
pub(super) fn devices_fit(planned: &Planned, interface: &Interface) -> Result<(), Diagnostic> {
    planned.fits(interface.bytes().0 as u64)
}

/// Returns the kernels that native execution compiles, as MLIR or as LLVM IR.
pub(super) fn kernels(program: Program, llvm: bool) -> Result<String, Diagnostics> {
    let fault = |message: String| one(Diagnostic::error(codes::NATIVE_COMPILATION, Default::default(), message));
    let executable = runtime::execute::Executable::compile(program, None).map_err(one)?;
    if !llvm {
        return Ok(executable.kernel_text());
    }
    // Compile each kernel separately.
    let engine = runtime::jit::Engine::new().map_err(fault)?;
    executable.kernel_texts().map(|text| engine.llvm_ir(&text)).collect::<Result<String, String>>().map_err(fault)
}

pub(super) fn linalg(program: &Program) -> Result<String, Diagnostics> {
    runtime::execute::linalg(program).map_err(one)
}
