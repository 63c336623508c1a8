//! `shardc explain --value %12`: the sharding of a value, and for each axis the annotation that it comes from and the
//! ops through which it propagated.

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};
use dialect::ir::{Op, Program, Value};
use dialect::ops::func;
use dialect::sharding::{AxisRef, ShardingTable, TensorSharding};
use passes::{CompileOptions, Stage};
use serde::Serialize;

use super::causes::{Annotation, Origins};
use crate::compiler::{Compiler, Watch};
use crate::diagnostic::{Diagnostic, Outcome, one};
use crate::module::Module;
use crate::place::{near_values, place, place_of, value_name, values_called};
use crate::source::Source;

/// The sharding of one value and its origins. Serialized, it is an entry of `values` of `shardc explain --value
/// --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ValueExplanation {
    /// The value's name.
    pub value: String,
    /// Its sharding; `None` if it is replicated.
    pub sharding: Option<String>,
    /// The axes of the sharding.
    pub axes: Vec<AxisOrigin>,
    /// The explanation in words, with source locations and the annotations it comes from.
    #[serde(skip)]
    pub remark: Diagnostic,
}

/// The origin of one axis of a value's sharding.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct AxisOrigin {
    /// The axis or sub-axis.
    pub axis: String,
    /// The dimension that it shards.
    pub dim: usize,
    /// The annotation that it comes from, if known.
    pub from: Option<String>,
    /// The ops through which it propagated from there.
    pub through: Vec<OpPlace>,
}

/// An op and its source location.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct OpPlace {
    /// Its name.
    pub op: String,
    /// Its line.
    pub loc: Option<String>,
}

impl Compiler {
    /// Explains the shardings after propagation of the values that the text calls `name`, and the annotations that they
    /// come from. A function that is called several times has several values of one name. `%0#1` is the second result
    /// of `%0`.
    pub fn explain_value(
        &self,
        module: Module,
        name: &str,
        options: &CompileOptions,
    ) -> Outcome<Vec<ValueExplanation>> {
        let steps = match self.steps("compile", options) {
            Ok(steps) => steps,
            Err(faults) => return Outcome::new(module.source(), None, &faults),
        };
        self.run_steps(module, &steps.before(Stage::Propagated), &mut Watch::default()).and_then(|imported| {
            let all = named_values(imported.program());
            let found = values_called(imported.program(), &all, name);
            if found.is_empty() {
                return Outcome::of(imported.source(), Err(one(missing(imported.program(), &all, name))));
            }
            self.propagate(&imported, &steps).map(|(propagated, origins)| {
                let (program, imported, source) = (propagated.program(), imported.program(), propagated.source());
                let explainer = Explainer { program, imported, origins, shardings: ShardingTable::of(program), source };
                found.iter().map(|&value| explainer.explanation(&explainer.report(value))).collect()
            })
        })
    }
}

fn named_values(program: &Program) -> Vec<Value> {
    let mut values = Vec::new();
    for (_, block) in program.functions() {
        values.extend_from_slice(program.block_args(block));
        for op in program.ops_under(block) {
            values.extend(program.results(op));
            for &region in &program.op(op).regions {
                program.region_blocks(region).iter().for_each(|&b| values.extend_from_slice(program.block_args(b)));
            }
        }
    }
    values
}

fn missing(program: &Program, values: &[Value], name: &str) -> Plain {
    let d = Plain::error(codes::UNKNOWN_VALUE, Span::default(), format!("no value is called '{name}'"));
    d.note(near_values(program, values, name))
}

/// The annotation that an axis comes from, and the ops that it propagated through.
type Origin = (Annotation, Vec<Op>);

/// The sharding of one value and its origins.
struct ValueReport {
    value: Value,
    sharding: Option<TensorSharding>,
    /// Each axis with the dimension it shards.
    axes: Vec<(AxisRef, usize, Option<Origin>)>,
}

/// The data that the texts refer to.
struct Explainer<'a> {
    program: &'a Program,
    imported: &'a Program,
    origins: Origins,
    shardings: ShardingTable,
    source: &'a Source,
}

impl Explainer<'_> {
    fn report(&self, value: Value) -> ValueReport {
        let sharding = self.shardings.get(value).map(|s| TensorSharding::clone(s));
        let mut axes = Vec::new();
        for (d, dim) in sharding.iter().flat_map(|s| s.dims.iter().enumerate()) {
            axes.extend(dim.axes.iter().map(|&axis| (axis, d, self.origins.find(self.program, value, axis))));
        }
        ValueReport { value, sharding, axes }
    }

    fn axis(&self, axis: AxisRef) -> String {
        let name = self.program.name_text(axis.name);
        axis.sub.map_or(format!("\"{name}\""), |s| format!("\"{name}\":({}){}", s.pre, s.size))
    }

    /// Returns the source span of an annotation, and its description.
    fn annotation(&self, annotation: Annotation, value: Value) -> (Span, String) {
        let p = self.imported;
        let main = func::function(p, "main");
        match annotation {
            Annotation::Argument(i) => {
                let argument = main.and_then(|f| func::block(p, f)).and_then(|b| p.block_args(b).get(i)).copied();
                let Some(argument) = argument else { return (Span::default(), format!("argument {i}")) };
                let name = if argument == value {
                    "its own annotation".to_owned()
                } else {
                    format!("the annotation of {}", value_name(p, argument))
                };
                (
                    p.value_span(argument),
                    self.with_place(name, place_of(p, self.source, p.value_loc(argument), p.value_span(argument))),
                )
            }
            Annotation::Result(i) => (Span::default(), format!("the annotation of result {i}")),
            Annotation::Op(op) => {
                // Propagation turns constraints into reshards; show the op that the user wrote.
                let p = if self.program.op(op).is_made() { self.program } else { p };
                let own = p.results(op).any(|v| v == value);
                let what = if own { "its own annotation".to_owned() } else { format!("the {}", p.op_name(op)) };
                (p.op(op).span, self.with_place(what, place(p, self.source, op)))
            }
        }
    }

    fn with_place(&self, what: String, place: Option<String>) -> String {
        match place {
            Some(place) => format!("{what} ({place})"),
            None => what,
        }
    }

    /// `through dot_general (model.py:12:5), then add (model.py:13:5)`
    fn path(&self, path: &[Op]) -> String {
        let step = |&op: &Op| {
            let name = self.program.op_name(op);
            let short = name.split_once('.').map_or(name, |n| n.1);
            self.with_place(short.to_owned(), place(self.program, self.source, op))
        };
        let steps: Vec<String> = path.iter().map(step).collect();
        if steps.is_empty() { String::new() } else { format!(" through {}", steps.join(", then ")) }
    }

    fn remark(&self, report: &ValueReport) -> Plain {
        let p = self.program;
        let sharding = report.sharding.as_ref().map_or("replicated on every device".to_owned(), |s| p.sharding_text(s));
        let name = value_name(p, report.value);
        let (mut labels, mut notes) = (vec![(p.value_span(report.value), String::new())], Vec::new());
        if report.axes.is_empty() {
            notes.push("no annotation shards it".to_owned());
        }
        for (axis, d, origin) in &report.axes {
            let axis = self.axis(*axis);
            let text = match origin {
                None => format!("{axis} shards dimension {d}"),
                Some((annotation, path)) => {
                    let (span, what) = self.annotation(*annotation, report.value);
                    if span != Span::default() && span != p.value_span(report.value) {
                        labels.push((span, format!("{axis} is annotated here")));
                    }
                    format!("{axis} shards dimension {d}, from {what}{}", self.path(path))
                }
            };
            notes.push(text);
        }
        Plain { labels, notes, ..Plain::remark(Span::default(), format!("{name} is sharded as {sharding}")) }
    }

    fn explanation(&self, report: &ValueReport) -> ValueExplanation {
        let p = self.program;
        let axis = |(axis, d, origin): &(AxisRef, usize, Option<(Annotation, Vec<Op>)>)| {
            let place = |&op: &Op| OpPlace { op: p.op_name(op).to_owned(), loc: place(p, self.source, op) };
            let (from, through) = match origin {
                Some((annotation, path)) => {
                    (Some(self.annotation(*annotation, report.value).1), path.iter().map(place).collect())
                }
                None => (None, Vec::new()),
            };
            AxisOrigin { axis: self.axis(*axis).trim_matches('"').to_owned(), dim: *d, from, through }
        };
        ValueExplanation {
            value: value_name(p, report.value),
            sharding: report.sharding.as_ref().map(|s| p.sharding_text(s)),
            axes: report.axes.iter().map(axis).collect(),
            remark: Diagnostic::new(self.source, &self.remark(report)),
        }
    }
}
