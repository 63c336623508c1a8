//! mpmd-schedule: chooses the order in which the meshes run the fragments of microbatches.
//!
//! Fragments with a `call_counter` belong to that microbatch; one whose computation JAX transposed is a backward
//! fragment. The pass reorders `@main` accordingly, and writes the model's estimate as an attribute of the module.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, ElementType, Op, Program, TypeData};
use dialect::ops::func;
use dialect::ops::mpmd::{self, Topology};

use super::fragments::{Graph, Run};
use super::{assign, partition};
use crate::compile_options::{Keyword, Schedule};
use crate::estimate::Machine;
use crate::options::Options;
use crate::units;
use crate::variants::{Best, Figures};

/// The model's estimate of a program over several meshes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pipeline {
    /// The schedule, by its name in the option of `mpmd-schedule`.
    pub schedule: String,
    /// Seconds from start to end.
    pub seconds: f64,
    /// The share of all meshes' time in which they are idle.
    pub bubble: f64,
    /// Each mesh.
    pub meshes: Vec<PipelineMesh>,
}

/// One mesh of a [`Pipeline`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PipelineMesh {
    /// Its name in the topology.
    pub name: String,
    /// The seconds in which it runs fragments.
    pub busy_seconds: f64,
    /// The most bytes that one of its devices holds.
    pub peak_bytes: u64,
}

impl Pipeline {
    /// Reads the estimate that `mpmd-schedule` wrote into a program.
    pub fn of(program: &Program) -> Option<Self> {
        let AttrData::Dict(entries) = program.attr_data(program.attr(program.module, mpmd::PIPELINE)?) else {
            return None;
        };
        let get = |name: &str| entries.iter().find(|e| program.name_text(e.0) == name).map(|e| program.attr_data(e.1));
        let list = |name: &str| match get(name)? {
            AttrData::Array(list) => Some(list.iter().map(|&attr| program.attr_data(attr)).collect::<Vec<_>>()),
            _ => None,
        };
        let (names, busy, peaks) = (list("meshes")?, list("busy_seconds")?, list("peak_bytes")?);
        let mesh = |((name, busy), peak): ((&AttrData, &AttrData), &AttrData)| {
            Some(PipelineMesh {
                name: name.as_str()?.to_owned(),
                busy_seconds: busy.as_float()?,
                peak_bytes: peak.as_int()?.try_into().ok()?,
            })
        };
        Some(Self {
            schedule: get("schedule")?.as_str()?.to_owned(),
            seconds: get("seconds")?.as_float()?,
            bubble: get("bubble")?.as_float()?,
            meshes: names.into_iter().zip(busy).zip(peaks).map(mesh).collect::<Option<_>>()?,
        })
    }
}

/// The schedules that are compared, the first of equally fast ones first.
const COMPARED: [Schedule; 3] = [Schedule::OneForwardOneBackward, Schedule::Gpipe, Schedule::Interleaved];

pub(super) fn schedule(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(topology) = Topology::of(program, main) else { return };
    let Some((graph, found)) = choose(program, options, diagnostics) else { return };
    if found.excess() > 0.0 {
        let [peak, memory] = [found.figures.bytes, memory(options)].map(units::bytes);
        let message = format!("a device needs {peak} under schedule {}, more than {memory}", found.kept.word);
        let d = Diagnostic::warning(codes::DEVICE_MEMORY, program.op(main).span, message);
        diagnostics.push(d.note("use more microbatches or more stages, so that each needs less"));
    }
    reorder(program, main, &graph, &found.kept.run);
    state(program, &topology, found.kept.word, &found.kept.run);
}

/// A schedule that was run under the model.
struct Scheduled {
    word: &'static str,
    run: Run,
}

/// Returns the best of the schedules that the options allow; `None` where there is nothing to schedule.
fn choose(program: &Program, options: &Options, diagnostics: &mut Diagnostics) -> Option<(Graph, Best<Scheduled>)> {
    let main = func::function(program, "main")?;
    let (topology, block) = (Topology::of(program, main)?, func::block(program, main)?);
    let machine = Machine::of_mesh(options.target(diagnostics)?, &Default::default()).ok()?;
    let graph = Graph::of(program, block, &topology, &machine).filter(|graph| !graph.units.is_empty())?;
    let scheduled = |schedule| {
        let run = graph.run(schedule);
        let figures = Figures { seconds: run.seconds, bytes: run.peaks.iter().copied().fold(0.0, f64::max) };
        (Scheduled { word: Some(schedule).word(), run }, figures)
    };
    let schedules = options.compile.schedule.map_or(COMPARED.to_vec(), |given| vec![given]);
    let best = Best::of(schedules.into_iter().map(scheduled), memory(options))?;
    Some((graph, best))
}

/// Returns, of programs that are not split yet, the one that is fastest under the schedules that the options allow,
/// within memory if any is; the first of equally fast ones. `None` if none can be split.
pub(super) fn fastest(programs: Vec<Program>, options: &Options) -> Option<Best<Program>> {
    let scheduled = |program: Program| {
        let (mut apart, mut faults) = (program.clone(), Diagnostics::default());
        assign::assign(&mut apart, options, &mut faults);
        if !faults.has_errors() {
            partition::partition(&mut apart, options, &mut faults);
        }
        // The passes that follow report errors in the program.
        let (_, found) = choose(&apart, options, &mut faults).filter(|_| !faults.has_errors())?;
        Some((program, found.figures))
    };
    Best::of(programs.into_iter().filter_map(scheduled), memory(options))
}

/// Returns the bytes that a device may hold.
fn memory(options: &Options) -> f64 {
    options.compile.memory.map_or(f64::INFINITY, |bytes| bytes as f64)
}

/// Sorts fragments by their start, and puts each transfer right after its value is computed.
fn reorder(program: &mut Program, main: Op, graph: &Graph, run: &Run) {
    let Some(block) = func::block(program, main) else { return };
    let last = program.terminator(block);
    // A transfer ends when its producer ends, before fragments that start then; transfers of one value keep their
    // order.
    let mut events: Vec<(f64, usize, usize, Op)> = Vec::new();
    let mut place = vec![0; graph.units.len()];
    run.order.iter().enumerate().for_each(|(at, &i)| place[i] = at);
    for (i, &(op, by)) in graph.transfers.iter().enumerate() {
        events.push((by.map_or(f64::NEG_INFINITY, |by| run.times[by].1), 0, i, op));
    }
    for (i, unit) in graph.units.iter().enumerate() {
        events.push((run.times[i].0, 1, place[i], unit.op));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    // A fragment that takes no time ends when it starts; its results are still sent after it.
    let mut ops: Vec<Op> = Vec::with_capacity(events.len() + 1);
    let mut waiting: Vec<Op> = Vec::new();
    let mut known: rustc_hash::FxHashSet<dialect::ir::Value> = program.block_args(block).iter().copied().collect();
    for (.., op) in events {
        waiting.push(op);
        while let Some(at) = waiting.iter().position(|&op| program.op(op).operands.iter().all(|v| known.contains(v))) {
            let op = waiting.remove(at);
            known.extend(program.results(op));
            ops.push(op);
        }
    }
    ops.extend(last);
    program.set_block_ops(block, ops);
}

/// Writes the model's estimate into the program.
fn state(program: &mut Program, topology: &Topology, word: &str, run: &Run) {
    let float = program.intern_type(TypeData::Scalar(ElementType::F64));
    let number = |v: f64| AttrData::Float(v.to_bits(), float);
    let names: Vec<String> = topology.meshes.iter().map(|m| program.name_text(m.0).to_owned()).collect();
    let mut entries = vec![
        ("bubble", number(run.bubble())),
        ("schedule", AttrData::String(word.into())),
        ("seconds", number(run.seconds)),
    ];
    let list = |program: &mut Program, values: Vec<AttrData>| {
        let values = values.into_iter().map(|v| program.intern_attr(v)).collect();
        AttrData::Array(values)
    };
    let busy = list(program, run.busy.iter().map(|&v| number(v)).collect());
    let int = program.intern_type(TypeData::Scalar(ElementType::I64));
    let peaks = list(program, run.peaks.iter().map(|&v| AttrData::Int(v as i64, int)).collect());
    let meshes = list(program, names.into_iter().map(|n| AttrData::String(n.into())).collect());
    entries.extend([("busy_seconds", busy), ("peak_bytes", peaks), ("meshes", meshes)]);
    entries.sort_by_key(|e| e.0);
    let entries = entries.into_iter().map(|(name, data)| (program.name(name), program.intern_attr(data))).collect();
    let attr = program.intern_attr(AttrData::Dict(entries));
    let module = program.module;
    program.set_attr(module, mpmd::PIPELINE, attr);
}
