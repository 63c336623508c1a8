//! replicate: reports values that the plan gathers only because an op can't be computed in shards.
//!
//! Gathers for a constraint, a result or a manual computation aren't reported, nor gathers that the plan prefers to
//! another form of the same op, such as that of weights before a product. The remaining ones put data on every device
//! that the user didn't ask for, which is easily overlooked in a program sharded by hand.

use crate::heuristics::HEURISTICS;
use std::cell::OnceCell;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Severity};
use dialect::ir::{AttrData, Block, Op, OpRef, Program, Uses, Value, ValueSource};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisPart, Distribution, Distributions, FactorKind, MeshAxes, axis};
use dialect::text::CAUSE;
use rustc_hash::FxHashSet;

use crate::compile_options::{Field, Replicate};
use crate::options::OptionDef;
use crate::plan::model::meaning::Models;
use crate::units;

/// The bytes from which gathers are reported by default: large enough to matter for a step's time or a device's memory.
const LARGE: f64 = 64.0 * 1024.0 * 1024.0;

/// The pass.
pub(crate) static PASS: crate::Pass = crate::Pass {
    name: "replicate",
    doc: "Reports values that the plan gathers only because an op can't be computed in shards of a dimension.",
    effect: crate::Effect::Report,
    options: &[OptionDef::field(
        "replicate",
        Field::Replicate,
        "large",
        "Warn of values of 64 MiB or more on a device, warn of all, make all errors, or suppress the warnings.",
    )],
    run: |program, options, diagnostics| {
        let (least, severity) = match options.compile.replicate {
            Replicate::Allow => return,
            Replicate::Large => (LARGE, Severity::Warning),
            Replicate::Warn => (0.0, Severity::Warning),
            Replicate::Deny => (0.0, Severity::Error),
        };
        let mut models = program.take_memo();
        report(program, &mut models, least, severity, diagnostics);
        program.keep_memo(models);
    },
};

/// A gather that an op needs.
struct Gather {
    /// The value before the plan moved it.
    value: Value,
    /// The first dimension that the op needs replicated.
    dim: usize,
    /// The index of the op's operand.
    operand: usize,
    /// The axes that sharded it.
    axes: Vec<AxisPart>,
    /// The bytes that a device receives.
    bytes: f64,
    /// A dimension that could be sharded along these axes instead.
    other: Option<usize>,
    /// The op before which it was gathered, if that isn't the op that needs it.
    before: Option<Op>,
}

/// Reports gathers of at least `least` bytes.
fn report(program: &Program, models: &mut Models, least: f64, severity: Severity, diagnostics: &mut Diagnostics) {
    let Some(block) = func::function(program, "main").and_then(|main| func::block(program, main)) else { return };
    let ops = program.ops_under(block);
    if !ops.iter().any(|&op| planned_user(program, op).is_some()) {
        return;
    }
    let Some(mesh) = sdy::meshes(program).find(|m| !m.2.axes.is_empty()) else { return };
    let axes = crate::partition::mesh::axes(program, Some(mesh.1), mesh.2.clone());
    let distributions = Distributions::of(program, &axes);
    let (mut seen, uses) = (FxHashSet::default(), OnceCell::new());
    // Values that the plan moved, and values that ops only pass on from these; most ops read none.
    let mut moved = vec![false; program.value_count()];
    for op in ops {
        let view = program.view(op);
        let def = view.def();
        let reads_moved = view.operands().iter().any(|v| moved[v.index()]);
        for value in view.results() {
            let passed = |(_, i): (Op, usize)| moved[view.operands()[i].index()];
            moved[value.index()] =
                planned_user(program, op).is_some() || reads_moved && passes_on(program, value).is_some_and(passed);
        }
        if !reads_moved {
            continue;
        }
        if def.reshard(view).is_some() || def.control(view).is_some() || def.terminator() {
            continue;
        }
        for (i, &value) in view.operands().iter().enumerate().filter(|o| moved[o.1.index()]) {
            let Some(gather) = gather(view, i, &distributions, &uses, models, block, least) else { continue };
            if seen.insert(value) {
                diagnostics.push(Diagnostic { severity, ..describe(view, &gather, &axes, &distributions) });
            }
        }
    }
}

/// Returns the op for which the plan wrote this change of distribution.
fn planned_user(program: &Program, op: Op) -> Option<&str> {
    let AttrData::Dict(cause) = program.attr_data(program.attr(op, CAUSE)?) else { return None };
    let field = |key| cause.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1))?.as_str();
    field("pass").filter(|pass| *pass == "plan")?;
    field("user")
}

/// The way of a value from the plan's gather to an operand.
struct Route {
    /// The value before the plan moved it.
    before: Value,
    gathered: Value,
    /// The ops that only pass it on, the last first, and the index of the operand that each passes on.
    between: Vec<(Op, usize)>,
}

impl Route {
    /// Returns the way to `value`, which `op` reads, if the plan gathered a value for the first op on it.
    fn to(op: OpRef<'_>, value: Value) -> Option<Self> {
        let program = op.program;
        let moved_by = |value: Value| match program.value_source(value) {
            ValueSource::Result(op, _) => Some((op, planned_user(program, op)?)),
            ValueSource::Arg(..) => None,
        };
        let (mut gathered, mut user, mut between) = (value, op.name(), Vec::new());
        while moved_by(gathered).is_none() {
            let (passes, from) = passes_on(program, gathered).filter(|_| between.len() < HEURISTICS.ops_to_the_user)?;
            between.push((passes, from));
            (gathered, user) = (program.op(passes).operands[from], program.op_name(passes));
        }
        // A value moved for a constraint was gathered for the constraint, not for the op.
        moved_by(gathered).filter(|(_, for_op)| *for_op == user)?;
        let mut before = gathered;
        while let Some((change, _)) = moved_by(before) {
            before = *program.op(change).operands.first()?;
        }
        Some(Self { before, gathered, between })
    }

    /// Returns whether no value on the way has other users, for which it would have been gathered, too.
    fn is_only_use(&self, program: &Program, uses: &Uses) -> bool {
        let passed = self.between.iter().map(|&(op, _)| program.result(op, 0));
        passed.chain([self.gathered]).all(|v| uses.get(v).len() == 1)
    }

    /// Returns for each dimension of the gathered value the dimensions of the operand, of this rank, that it becomes a
    /// part of.
    fn dims(&self, program: &Program, models: &mut Models, rank: usize) -> Option<Vec<Vec<usize>>> {
        let mut becomes: Vec<Vec<usize>> = (0..rank).map(|dim| vec![dim]).collect();
        for &(passes, from) in &self.between {
            let model = models.of(program, passes).map(|m| models.get(m).clone())?;
            let (ins, outs) = (&model.rule.operands[from], &model.rule.results[0]);
            let passed = |f: &u32| model.rule.factors[*f as usize].kind == FactorKind::PassThrough;
            let through = |dim: &[u32]| -> Vec<usize> {
                let outs = outs.iter().zip(&becomes);
                let shared = outs.filter(|(out, _)| out.iter().any(|f| dim.contains(f) && passed(f)));
                shared.flat_map(|(_, dims)| dims.iter().copied()).collect()
            };
            becomes = ins.iter().map(|dim| through(dim)).collect();
        }
        Some(becomes)
    }
}

/// Returns the gather of operand `i` because `op` needs it, directly or after ops that only pass it on, if it is of at
/// least `least` bytes.
fn gather(
    op: OpRef<'_>,
    i: usize,
    distributions: &Distributions,
    uses: &OnceCell<Uses>,
    models: &mut Models,
    block: Block,
    least: f64,
) -> Option<Gather> {
    let (program, value) = (op.program, op.operands()[i]);
    let route = Route::to(op, value)?;
    let ty = program.tensor_type(route.gathered)?;
    let replicated = Distribution::replicated(ty.rank());
    if replicated.local_bytes(ty) < least {
        return None;
    }
    let direct = route.between.is_empty();
    if !direct && !route.is_only_use(program, uses.get_or_init(|| Uses::of(program, block))) {
        return None;
    }
    let model = models.of(program, op.op).map(|m| models.get(m).clone());
    let kinds = |dim: usize| {
        let model = model.as_ref()?;
        Some(model.tensor(i)[dim].iter().map(|&f| model.rule.factors[f as usize].kind))
    };
    let combines = model.as_ref().is_some_and(|m| m.reduction.is_some()) || op.attr(sdy::SHARDING_RULE).is_none();
    let fixed = |dim: usize| {
        let is_fixed = |kind| kind == FactorKind::NeedReplication || kind == FactorKind::Reduction && !combines;
        kinds(dim).is_none_or(|mut kinds| kinds.any(is_fixed))
    };
    let free = |dim: usize| kinds(dim).is_some_and(|kinds| kinds.eq([FactorKind::PassThrough]));
    let becomes = route.dims(program, models, program.tensor_type(value)?.rank())?;
    let from = distributions.get(route.before).filter(|d| d.rank() == ty.rank())?;
    let to = distributions.get(route.gathered).map_or(&replicated, |d| d);
    // Axes that shard the gathered value or the operand afterwards aren't lost.
    let read = distributions.get(value).filter(|_| !direct);
    let used: Vec<AxisPart> = to.axes().chain(read.iter().flat_map(|d| d.axes())).collect();
    let lost = |dim: usize| -> Vec<AxisPart> {
        from.dims[dim].iter().copied().filter(|a| !used.iter().any(|b| b.overlaps(*a))).collect()
    };
    let needed = (0..ty.rank()).filter_map(|d| Some((d, *becomes[d].iter().find(|&&dim| fixed(dim))?)));
    let (dim, axes) = needed.map(|(d, dim)| (dim, lost(d))).find(|(_, lost)| !lost.is_empty())?;
    let shards = axis::size_of(&axes);
    let divides = |d: usize| from.dims[d].is_empty() && ty.shape[d] > 1 && ty.shape[d] % shards == 0;
    let other = (0..ty.rank()).find(|&d| matches!(becomes[d][..], [dim] if free(dim)) && divides(d));
    let bytes = to.local_bytes(ty) - from.local_bytes(ty);
    let before = route.between.last().map(|last| last.0);
    (bytes >= least).then_some(Gather { value: route.before, dim, operand: i, axes, bytes, other, before })
}

/// Returns the op that computes `value` from the only one of its operands with several elements, and the index of that
/// operand.
fn passes_on(program: &Program, value: Value) -> Option<(Op, usize)> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    let view = program.view(op);
    let def = view.def();
    if view.result_count() != 1
        || def.side_effect(view)
        || def.control(view).is_some()
        || def.collective(view).is_some()
    {
        return None;
    }
    let several = |v: &Value| program.tensor_type(*v).is_some_and(|t| t.shape.iter().any(|&d| d != 1));
    let mut operands = view.operands().iter().enumerate().filter(|(_, v)| several(v));
    let (only, _) = operands.next()?;
    operands.next().is_none().then_some((op, only))
}

fn describe(op: OpRef<'_>, gather: &Gather, axes: &MeshAxes, distributions: &Distributions) -> Diagnostic {
    let program = op.program;
    let along: Vec<String> =
        axes.axis_refs(&gather.axes).iter().map(|a| format!("\"{}\"", axis_text(program, a))).collect();
    let along = along.join(", ");
    let rule = match op.attr(sdy::SHARDING_RULE) {
        Some(AttrData::ShardingRule(rule)) => Some(rule),
        _ => None,
    };
    // A position in the text itself is shown anyway.
    let at = program.user_frame(program.op(op.op).loc).filter(|frame| !frame.of_text);
    let at = at.map_or_else(String::new, |f| format!(" at {}:{}:{}", f.file, f.line, f.column));
    let message = format!(
        "every device receives {} for '{}'{at}: it can't be computed in shards of dimension {}, which is sharded along {along}",
        units::bytes(gather.bytes),
        op.name(),
        gather.dim
    );
    let mut d = Diagnostic::warning(codes::REPLICATED, op.span(), message);
    if let Some(sharding) = distributions.shardings().get(gather.value) {
        d = d.also(program.value_span(gather.value), format!("sharded {}", program.sharding_text(sharding)));
    }
    if let Some(before) = gather.before {
        d = d.note(format!("it is gathered before '{}', which only forwards it", program.op_name(before)));
    }
    let combined = |f: &u32| rule.is_some_and(|r| r.factors[*f as usize].kind == FactorKind::Reduction);
    if rule.is_some_and(|r| r.operands.get(gather.operand).is_some_and(|t| t[gather.dim].iter().any(combined))) {
        let note = "state how partial results combine: shardc.reduction = \"sum\", \"max\" or \"min\" on the op";
        return d.note(note);
    }
    d.note(match gather.other {
        Some(other) => format!("shard dimension {other} along {along} instead, which needs no gathering"),
        None => "constrain the value to be replicated before the op if gathering it is intended".to_owned(),
    })
}

fn axis_text(program: &Program, axis: &dialect::sharding::AxisRef) -> String {
    let name = program.name_text(axis.name);
    axis.sub.map_or_else(|| name.to_owned(), |sub| format!("{name}:({}){}", sub.pre, sub.size))
}
