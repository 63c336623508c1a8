//! replicate: says where the plan gathers a value that was sharded, only because an op can't be computed in shards.
//!
//! What a constraint, a result or a manual computation asks for is no fault, and neither is a gather that the plan prefers
//! to another form of the same op, such as that of weights before a product. What is left is data that every device holds
//! and nobody asked for, which is easily overlooked in a program that was sharded by hand.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Severity};
use dialect::ir::{AttrData, Op, OpRef, Program, Value, ValueSource};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisPart, Distribution, Distributions, FactorKind, MeshAxes, axis};
use dialect::text::CAUSE;
use rustc_hash::FxHashSet;

use crate::options::{OptionDef, OptionType};
use crate::plan::model::meaning::Models;

/// Bytes from which a gather is reported when nothing is said: what is noticed in a step or in a device's memory.
const LARGE: f64 = 64.0 * 1024.0 * 1024.0;

/// The pass.
pub(crate) static PASS: crate::Pass = crate::Pass {
    name: "replicate",
    doc: "Report values that the plan gathers only because an op can't be computed in shards of a dimension.",
    options: &[OptionDef {
        name: "replicate",
        ty: OptionType::Choice(&["large", "warn", "deny", "allow"]),
        default: "large",
        doc: "Warn of those that give a device 64 MiB or more, warn of all, make all errors, or say nothing.",
    }],
    run: |program, options, diagnostics| {
        let (least, severity) = match options.text("replicate") {
            "allow" => return,
            "large" => (LARGE, Severity::Warning),
            "warn" => (0.0, Severity::Warning),
            _ => (0.0, Severity::Error),
        };
        report(program, least, severity, diagnostics);
    },
};

/// A gather that an op needs.
struct Gather {
    /// The value before the plan moved it.
    value: Value,
    /// The first dimension that the op needs replicated.
    dim: usize,
    /// The axes that sharded it.
    axes: Vec<AxisPart>,
    /// What a device receives.
    bytes: f64,
    /// A dimension that could be sharded along these axes instead.
    other: Option<usize>,
}

fn report(program: &Program, least: f64, severity: Severity, diagnostics: &mut Diagnostics) {
    let Some(block) = func::function(program, "main").and_then(|main| func::block(program, main)) else { return };
    let ops = program.ops_under(block);
    if !ops.iter().any(|&op| planned_user(program, op).is_some()) {
        return;
    }
    let Some(mesh) = sdy::meshes(program).find(|m| !m.2.axes.is_empty()) else { return };
    let axes = crate::partition::mesh::axes(program, Some(mesh.1), mesh.2.clone());
    let distributions = Distributions::of(program, &axes);
    let (mut models, mut seen) = (Models::default(), FxHashSet::default());
    for op in ops {
        let view = program.view(op);
        let def = view.def();
        if def.reshard(view).is_some() || def.control(view).is_some() || def.terminator() {
            continue;
        }
        for (i, &value) in view.operands().iter().enumerate() {
            let Some(gather) = gather(view, i, &distributions, &mut models) else { continue };
            if gather.bytes >= least && seen.insert(value) {
                diagnostics.push(Diagnostic { severity, ..describe(view, &gather, &axes, &distributions) });
            }
        }
    }
}

/// The op for which the plan wrote this change of distribution.
fn planned_user(program: &Program, op: Op) -> Option<&str> {
    let AttrData::Dict(cause) = program.attr_data(program.attr(op, CAUSE)?) else { return None };
    let field = |key| cause.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1))?.as_str();
    field("pass").filter(|pass| *pass == "plan")?;
    field("user")
}

/// What the plan gathered of operand `i` because `op` needs it.
fn gather(op: OpRef<'_>, i: usize, distributions: &Distributions, models: &mut Models) -> Option<Gather> {
    let program = op.program;
    let value = op.operands()[i];
    let made_by = |value: Value| match program.value_source(value) {
        ValueSource::Result(op, _) => Some((op, planned_user(program, op)?)),
        ValueSource::Arg(..) => None,
    };
    // What a constraint asked for was moved for the constraint.
    made_by(value).filter(|(_, user)| *user == op.name())?;
    let mut before = value;
    while let Some((change, _)) = made_by(before) {
        before = *program.op(change).operands.first()?;
    }
    let ty = program.tensor_type(value)?;
    let from = distributions.get(before).filter(|d| d.rank() == ty.rank())?;
    let replicated = Distribution::replicated(ty.rank());
    let to = distributions.get(value).map_or(&replicated, |d| d);
    let model = models.of(program, op.op).map(|m| models.get(m.0).clone());
    let factors = |dim: usize| model.as_ref().map(|m| (m, &m.tensor(i)[dim]));
    let fixed = |dim: usize| {
        factors(dim).is_none_or(|(m, factors)| {
            factors.iter().any(|&f| m.rule.factors[f as usize].kind == FactorKind::NeedReplication)
        })
    };
    let lost = |dim: usize| -> Vec<AxisPart> {
        from.dims[dim].iter().copied().filter(|a| !to.axes().any(|b| b.overlaps(*a))).collect()
    };
    let (dim, axes) =
        (0..ty.rank()).filter(|&dim| fixed(dim)).map(|d| (d, lost(d))).find(|(_, lost)| !lost.is_empty())?;
    let shards = axis::size_of(&axes);
    let other = (0..ty.rank()).find(|&d| {
        let free = factors(d).is_some_and(|(m, factors)| {
            factors.len() == 1 && m.rule.factors[factors[0] as usize].kind == FactorKind::PassThrough
        });
        free && from.dims[d].is_empty() && ty.shape[d] > 1 && ty.shape[d] % shards == 0
    });
    Some(Gather { value: before, dim, axes, bytes: to.local_bytes(ty) - from.local_bytes(ty), other })
}

fn describe(op: OpRef<'_>, gather: &Gather, axes: &MeshAxes, distributions: &Distributions) -> Diagnostic {
    let program = op.program;
    let along: Vec<String> =
        axes.axis_refs(&gather.axes).iter().map(|a| format!("\"{}\"", axis_text(program, a))).collect();
    let along = along.join(", ");
    let at = program.user_frame(program.op(op.op).loc);
    let at = at.map_or_else(String::new, |f| format!(" at {}:{}:{}", f.file, f.line, f.column));
    let message = format!(
        "every device receives {} for '{}'{at}: it can't be computed in shards of dimension {}, which is sharded along {along}",
        bytes_text(gather.bytes),
        op.name(),
        gather.dim
    );
    let mut d = Diagnostic::warning(codes::REPLICATED, op.span(), message);
    if let Some(sharding) = distributions.shardings().get(gather.value) {
        d = d.also(program.value_span(gather.value), format!("sharded {}", program.sharding_text(sharding)));
    }
    d.note(match gather.other {
        Some(other) => format!("shard dimension {other} along {along} instead: then nothing is gathered"),
        None => "constrain the value to be replicated before the op if that is what you want".to_owned(),
    })
}

fn axis_text(program: &Program, axis: &dialect::sharding::AxisRef) -> String {
    let name = program.name_text(axis.name);
    axis.sub.map_or_else(|| name.to_owned(), |sub| format!("{name}:({}){}", sub.pre, sub.size))
}

/// `1.5 MiB`
fn bytes_text(bytes: f64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..units.len() - 1).find(|&i| bytes < 1024f64.powi(i as i32 + 1)).unwrap_or(units.len() - 1);
    let value = bytes / 1024f64.powi(step as i32);
    let text = format!("{value:.1}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), units[step])
}
