//! Changed annotations that would remove a collective. Each is tried by planning the program again.

use std::collections::HashSet;
use std::time::Instant;

use dialect::ir::{AttrData, Op, Program, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, DimSharding, ShardingTable, TensorSharding};
use passes::estimate::{Machine, estimate};
use passes::{Steps, run_unverified};

use super::causes::{Annotation, Cause, Key, Origins, causes, written};
use crate::module::main_block;
use crate::place::{place, value_name};
use crate::source::Source;
use dialect::parallel::on_all_cores;

/// A new sharding for one annotation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Change {
    /// The annotation.
    pub(super) annotation: Annotation,
    /// Its new sharding.
    pub(super) sharding: TensorSharding,
}

/// The result of planning a program.
pub(super) struct Outcome {
    /// Modelled seconds of a step.
    pub(super) seconds: f64,
    /// Bytes of values on each device.
    pub(super) peak_bytes: f64,
    /// Its collectives.
    pub(super) keys: HashSet<Key>,
}

/// The outcome of a trial.
pub(super) enum Tried {
    /// The trial didn't start before the deadline.
    Not,
    /// A pass reported an error.
    Failed,
    /// The program was planned.
    Done(Outcome),
}

/// Plans variants of one program.
pub(super) struct Trial<'a> {
    /// The program before propagation.
    pub(super) imported: &'a Program,
    /// The passes from the imported to the planned program.
    pub(super) plan: Steps,
    /// The passes from the planned to the per-device program.
    pub(super) partition: Steps,
    /// The machine used for prices.
    pub(super) machine: &'a Machine,
}

impl Trial<'_> {
    /// Tries each list of changes, which are made together, on all cores. Lists that don't start before `deadline`
    /// aren't tried.
    pub(super) fn all(&self, changes: &[Vec<Change>], deadline: Option<Instant>) -> Vec<Tried> {
        on_all_cores(changes.len(), |i| match deadline {
            Some(deadline) if Instant::now() >= deadline => Tried::Not,
            _ => self.changed(&changes[i]).map_or(Tried::Failed, Tried::Done),
        })
    }

    /// Returns the outcome of changes that are made together.
    fn changed(&self, changes: &[Change]) -> Option<Outcome> {
        let mut program = self.imported.clone();
        changes.iter().for_each(|change| change.apply(&mut program));
        run_unverified(&mut program, &self.plan).then_some(())?;
        let keys = causes(&program).iter().map(Cause::key).collect();
        run_unverified(&mut program, &self.partition).then_some(())?;
        let estimate = estimate(&program, self.machine);
        Some(Outcome { seconds: estimate.step_seconds, peak_bytes: estimate.peak_bytes, keys })
    }
}

impl Annotation {
    /// Returns its sharding in the imported program.
    fn sharding(self, imported: &Program) -> Option<&TensorSharding> {
        let main = func::function(imported, "main")?;
        match self {
            Annotation::Argument(i) => func::arg_sharding(imported, main, i),
            Annotation::Result(i) => func::result_sharding(imported, main, i),
            Annotation::Op(op) => {
                let view = imported.view(op);
                view.attr("sharding").and_then(AttrData::as_sharding).or_else(|| match view.attr(func::SHARDING)? {
                    AttrData::ShardingPerValue(all) if all.len() == 1 => all.first(),
                    _ => None,
                })
            }
        }
    }
}

impl Change {
    fn apply(&self, program: &mut Program) {
        let attr = program.intern_attr(AttrData::Sharding(self.sharding.clone()));
        let main = func::function(program, "main");
        match (self.annotation, main) {
            (Annotation::Argument(i), Some(main)) => func::set_arg_attr(program, main, i, func::SHARDING, attr),
            (Annotation::Result(i), Some(main)) => func::set_result_attr(program, main, i, func::SHARDING, attr),
            (Annotation::Op(op), _) if program.attr(op, "sharding").is_some() => program.set_attr(op, "sharding", attr),
            (Annotation::Op(op), _) => {
                let one = program.intern_attr(AttrData::ShardingPerValue(vec![self.sharding.clone()]));
                program.set_attr(op, func::SHARDING, one);
            }
            _ => {}
        }
    }

    /// Returns the sharding in JAX's syntax; `None` if JAX can't express it.
    pub(super) fn spec(&self, program: &Program) -> Option<String> {
        partition_spec(program, &self.sharding)
    }

    /// Returns whether the other change sets the same sharding on another annotation of the same kind.
    pub(super) fn is_like(&self, other: &Change) -> bool {
        let kind = std::mem::discriminant(&self.annotation) == std::mem::discriminant(&other.annotation);
        kind && self.sharding == other.sharding
    }

    /// `annotating %arg0 and 31 like it as <@mesh, [{}]>`, where `others` is the number 31.
    pub(super) fn text(&self, others: usize, program: &Program, source: &Source) -> String {
        let like = if others == 0 { String::new() } else { format!(" and {others} like it") };
        let sharding = program.sharding_text(&self.sharding);
        let free = self.sharding.dims.iter().all(|d| d.open && d.axes.is_empty());
        match self.annotation {
            Annotation::Argument(i) => {
                let argument = main_block(program);
                let value = argument.and_then(|b| program.block_args(b).get(i)).copied();
                let name = value.map_or(format!("argument {i}"), |v| value_name(program, v));
                format!("annotating {name}{like} as {sharding}")
            }
            Annotation::Result(i) => format!("annotating result {i}{like} as {sharding}"),
            Annotation::Op(op) => {
                let place = place(program, source, op).unwrap_or_default();
                let what = program.op_name(op);
                if free {
                    format!("dropping the {what} at {place}{like}")
                } else {
                    format!("changing the {what} at {place}{like} to {sharding}")
                }
            }
        }
    }
}

/// Returns a sharding in JAX's syntax, `P('data', None)`; `None` if JAX can't express it.
fn partition_spec(program: &Program, sharding: &TensorSharding) -> Option<String> {
    partition_spec_with(sharding, &|axis| axis.sub.is_none().then(|| vec![program.name_text(axis.name).to_owned()]))
}

/// Like [`partition_spec`], over a mesh with other axes: `names` maps an axis to its names in that mesh, major first.
pub(crate) fn partition_spec_with(
    sharding: &TensorSharding,
    names: &dyn Fn(AxisRef) -> Option<Vec<String>>,
) -> Option<String> {
    if !sharding.replicated.is_empty() || !sharding.unreduced.is_empty() {
        return None;
    }
    let dim = |d: &DimSharding| -> Option<String> {
        let axes = d.axes.iter().map(|&axis| names(axis)).collect::<Option<Vec<_>>>()?;
        let axes: Vec<String> = axes.into_iter().flatten().map(|name| format!("'{name}'")).collect();
        Some(match &axes[..] {
            [] if d.open => "P.UNCONSTRAINED".to_owned(),
            [] => "None".to_owned(),
            [one] => one.clone(),
            all => format!("({})", all.join(", ")),
        })
    };
    Some(format!("P({})", sharding.dims.iter().map(dim).collect::<Option<Vec<String>>>()?.join(", ")))
}

/// Returns changes that may remove `cause`, most likely first.
pub(super) fn candidates(
    imported: &Program,
    planned: &Program,
    shardings: &ShardingTable,
    origins: &Origins,
    cause: &Cause,
) -> Vec<Change> {
    let mut list: Vec<Change> = Vec::new();
    let of_user = |op: Op| (!planned.op(op).is_made()).then(|| imported.view(op));
    let annotated = |annotation: Annotation| match annotation {
        // The compiler created this op, so the user didn't annotate it.
        Annotation::Op(op) if planned.op(op).is_made() => None,
        _ => annotation.sharding(imported),
    };
    let mut add = |annotation: Annotation, sharding: Option<TensorSharding>| {
        if let Some(sharding) = sharding.map(|s| s.closed())
            && annotated(annotation).is_some_and(|s| s.closed() != sharding)
        {
            let change = Change { annotation, sharding };
            if !list.contains(&change) {
                list.push(change);
            }
        }
    };
    let main_block = main_block(planned);
    // Give the value itself the needed sharding, if it can be annotated.
    if let ValueSource::Arg(block, i) = planned.value_source(cause.value)
        && main_block == Some(block)
    {
        add(Annotation::Argument(i as usize), cause.to.clone());
    }
    // Give the returned result the value's sharding.
    let returned = cause.user.filter(|&(op, _)| planned.view(op).def().terminator());
    if let (Some((_, i)), Some(from)) = (returned, &cause.from)
        && from.unreduced.is_empty()
    {
        add(Annotation::Result(i), Some(from.clone()));
    }
    // Remove the moved axes from the annotations that they come from: those of the value, of its producer's operands,
    // and of its reader.
    let mut values = vec![cause.value];
    if let ValueSource::Result(op, _) = planned.value_source(cause.value) {
        values.extend(planned.op(op).operands.iter().map(|&v| written(planned, v)));
    }
    if let Some((user, _)) = cause.user {
        values.extend(planned.op(user).operands.iter().map(|&v| written(planned, v)));
        values.extend(planned.results(user));
    }
    for &axis in &cause.axes {
        for &value in &values {
            if shardings.get(value).is_some_and(|s| s.all_axes().any(|a| a.name == axis.name))
                && let Some((annotation, _)) = origins.find(planned, value, axis)
            {
                add(annotation, annotated(annotation).map(|s| without(s, axis)));
            }
        }
        if let Some((_, i)) = returned {
            add(Annotation::Result(i), annotated(Annotation::Result(i)).map(|s| without(s, axis)));
        }
    }
    // Remove a constraint that reads or produces the value.
    for value in values {
        if let ValueSource::Result(op, _) = planned.value_source(value)
            && let Some(s) = of_user(op).and_then(|op| op.attr("sharding")?.as_sharding())
        {
            let sharding = TensorSharding::open(s.mesh.clone(), s.rank());
            let change = Change { annotation: Annotation::Op(op), sharding };
            if !list.contains(&change) {
                list.push(change);
            }
        }
    }
    list
}

/// Returns the sharding without one axis and its sub-axes.
fn without(sharding: &TensorSharding, axis: AxisRef) -> TensorSharding {
    let mut new = sharding.clone();
    for DimSharding { axes, .. } in &mut new.dims {
        axes.retain(|a| a.name != axis.name);
    }
    new.replicated.retain(|a| a.name != axis.name);
    new.unreduced.retain(|a| a.name != axis.name);
    new
}
