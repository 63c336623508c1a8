//! decompose-sharded: writes ops that need all of a dimension which propagation shards as several ops that don't.
//!
//! Reductions whose partial results no collective combines (the index of a maximum) and the first elements of a sort
//! are computed in each shard and then over the shards' results. Cumulative sums start in each shard from the total of
//! the shards before it. Long sorts deal elements out to all devices between two sorts of shards. Triangular systems
//! are solved block by block, and transforms over several dimensions are done one dimension after the other.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;

use dialect::diagnostic::Diagnostics;
use dialect::ir::build::Builder;
use dialect::ir::{Program, Uses, Value};
use dialect::op::{CollectiveKind, Like, Surroundings};
use dialect::ops::stablehlo::slicing::SliceRanges;
use dialect::sharding::Distribution;
use dialect::sharding::axis::size_of;

use super::Prepared;
use crate::compile_options::{Field, TARGET};
use crate::estimate::Target;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::plan::Search;
use crate::plan::model::cost::CollectiveCost;
use crate::plan::model::machine_cost::MachineCost;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "decompose-sharded",
    doc: "Writes ops that need all of a sharded dimension as several that don't, where that saves moving data.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef::field("search", Field::Search, "full", "A plan that chooses for each op alone keeps all ops."),
        OptionDef { doc: "What runs it: flat, or a slice of TPUs like v5e:4x2.", ..TARGET },
    ],
    run: |program, given, diagnostics| {
        if let Some(target) = given.target(diagnostics) {
            decompose(program, given.compile.search, target, diagnostics);
        }
    },
};

/// Decomposes the ops under `@main`.
pub(super) fn decompose(program: &mut Program, search: Search, target: Target, diagnostics: &mut Diagnostics) {
    let Some(prepared) = Prepared::of(program).filter(|_| search == Search::Full) else { return };
    // Most programs have no such op, so what describes the surroundings is computed for the first one.
    let (machine, cost, uses) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
    let diagnostics = RefCell::new(diagnostics);
    let init =
        |prepared: &Prepared, program: &Program| prepared.machine(program, target, &mut diagnostics.borrow_mut());
    prepared.rewrite(program, |prepared, program, (op, _), ops| {
        let (def, loc) = (program.op(op).def, program.op(op).loc);
        let cost = |program: &Program| {
            let machine = machine.get_or_init(|| init(prepared, program)).as_ref()?;
            Some(cost.get_or_init(|| MachineCost::new(machine)))
        };
        let around = Around { prepared, cost: &cost, uses: &uses };
        let steps = def.in_steps(op, &around, &mut Builder::new(program, ops, loc))?;
        for (new, old) in steps.results.iter().zip(program.results(op)) {
            let layout = prepared.get(program, old);
            prepared.set(*new, layout);
        }
        for (value, Like { of, dims }) in steps.made {
            let like = |of: &Distribution| {
                let axes = |list: &Vec<usize>| list.iter().flat_map(|&d| of.dims[d].iter().copied()).collect();
                Distribution::of_dims(dims.iter().map(axes).collect::<Vec<_>>())
            };
            let stated = like(&prepared.get(program, of));
            let divides = program.tensor_type(value).is_some_and(|ty| stated.is_even(&ty.shape));
            prepared.set(value, if divides { stated } else { like(&prepared.even(program, of)) });
        }
        Some(steps.results)
    });
}

struct Around<'a> {
    prepared: &'a Prepared,
    /// `None` where the target doesn't fit the mesh, which is reported.
    cost: &'a dyn Fn(&Program) -> Option<&'a MachineCost<'a>>,
    /// The uses in the program before any rewrite.
    uses: &'a OnceCell<Uses>,
}

impl Surroundings for Around<'_> {
    fn pieces(&self, program: &Program, value: Value) -> Vec<i64> {
        self.prepared.even(program, value).dims.iter().map(|axes| size_of(axes)).collect()
    }

    fn shards(&self, program: &Program, value: Value) -> Vec<i64> {
        self.prepared.get(program, value).dims.iter().map(|axes| size_of(axes)).collect()
    }

    fn read(&self, program: &Program, value: Value, dim: usize) -> Range<i64> {
        let Some(&size) = program.tensor_type(value).and_then(|t| t.shape.get(dim)) else { return 0..0 };
        let uses = self.uses.get_or_init(|| Uses::of(program, self.prepared.block)).get(value).iter();
        let ranges = uses.map(|u| SliceRanges::of(program.view(u.0)).map_or(0..size, |r| r.start[dim]..r.limit[dim]));
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    fn seconds(&self, program: &Program, kind: CollectiveKind, of: (Value, usize), bytes: (f64, f64)) -> f64 {
        let layout = self.prepared.get(program, of.0);
        let cost = layout.dims.get(of.1).zip((self.cost)(program));
        cost.map_or(0.0, |(axes, cost)| cost.seconds(kind, bytes.0, bytes.1, axes))
    }
}
