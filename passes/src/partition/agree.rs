//! Checks the partitioner's precondition: every op can compute its results' shards from its operands' shards.
//!
//! The planner leaves only such programs. A program sharded by hand, or straight from propagation, may need data that a
//! device doesn't have: an op that sums over a sharded dimension into a result that isn't unreduced, operands sharded
//! differently, a loop whose body returns another sharding than it takes. Each of these is an error here, because the
//! local types alone may still match.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Block, Op, OpRef, Program, Value};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{Axes, Distribution, Distributions, FactorKind, MeshAxes, TensorSharding};

use crate::plan::model::meaning::{Model, Models, rematerializable};
use crate::plan::model::strategy::{OpModel, Strategy};
use crate::plan::reshard::cache::Rematerializable;

const PLAN_FIRST: &str = "run the pass plan first: it redistributes values for the ops that read them";

/// Reports every op under `block`, the body of `main`, whose results' shards can't be computed from its operands'
/// shards.
pub(super) fn check(
    program: &Program,
    main: Op,
    block: Block,
    axes: &MeshAxes,
    distributions: &Distributions,
    models: &mut Models,
    diagnostics: &mut Diagnostics,
) {
    let known = FxHashSet::default();
    let mut check = Check { program, axes, distributions, models, known, diagnostics };
    let results = func::signature(program, main).results.len();
    let wanted: Vec<ValueDistribution> =
        (0..results).map(|i| check.meaning(func::result_sharding(program, main, i))).collect();
    check.block(block, &wanted, "@main");
}

/// A distribution; `None` for a value that is replicated on all devices.
type ValueDistribution = Option<Rc<Distribution>>;

/// The key of a check that passed: a model of an op and its tensors' distributions, by address; equal distributions
/// share one address in the table.
type Fitting = (Model, SmallVec<[Option<*const Distribution>; 4]>);

struct Check<'a> {
    program: &'a Program,
    axes: &'a MeshAxes,
    distributions: &'a Distributions,
    models: &'a mut Models,
    /// The checks that passed.
    known: FxHashSet<Fitting>,
    diagnostics: &'a mut Diagnostics,
}

impl<'a> Check<'a> {
    /// Checks the ops of a block whose terminator must give `owner` values distributed as `wanted`.
    fn block(&mut self, block: Block, wanted: &[ValueDistribution], owner: &str) {
        for &op in self.program.block_ops(block) {
            let view = self.program.view(op);
            if view.def().terminator() {
                for (i, place) in wanted.iter().enumerate().take(view.operands().len()) {
                    let what = format!("the value it returns as result {i} of {owner}");
                    self.same(view, i, place, &what);
                }
            } else {
                self.op(view);
            }
        }
    }

    fn op(&mut self, op: OpRef<'a>) {
        match op.def().control(op) {
            // The verifier checks the sharding after each of Shardy's collectives.
            _ if op.def().reshard(op).is_some() => {}
            Some(Control::Call) => {}
            Some(Control::Identity) if sdy::stated_sharding(op).is_some() => self.constraint(op),
            Some(Control::Identity) => {
                let results: Vec<ValueDistribution> = op.results().map(|v| self.place(v)).collect();
                results.iter().enumerate().for_each(|(i, place)| self.same(op, i, place, "its result"));
            }
            Some(Control::Manual) => self.manual(op),
            Some(Control::While) => {
                let carried: Vec<ValueDistribution> = op.results().map(|v| self.place(v)).collect();
                carried
                    .iter()
                    .enumerate()
                    .for_each(|(i, place)| self.same(op, i, place, "the value that the loop carries"));
                self.region(op, 0, &[None]);
                self.region(op, 1, &carried);
            }
            Some(Control::Case | Control::If) => {
                self.same(op, 0, &None, "the branch's predicate, which must be the same on every device,");
                let results: Vec<ValueDistribution> = op.results().map(|v| self.place(v)).collect();
                (0..self.program.op(op.op).regions.len()).for_each(|region| self.region(op, region, &results));
            }
            Some(Control::Inline) => {
                let arguments: Vec<ValueDistribution> = op.region_args(0).iter().map(|&v| self.place(v)).collect();
                arguments.iter().enumerate().for_each(|(i, place)| self.same(op, i, place, "its region's argument"));
                let results: Vec<ValueDistribution> = op.results().map(|v| self.place(v)).collect();
                self.region(op, 0, &results);
            }
            None => {
                if let Err(d) = self.computation(op) {
                    self.diagnostics.push(d.note(PLAN_FIRST));
                }
            }
        }
    }

    fn region(&mut self, op: OpRef<'a>, region: usize, wanted: &[ValueDistribution]) {
        if let Some(block) = op.block(region) {
            self.block(block, wanted, &format!("'{}'", op.name()));
        }
    }

    fn manual(&mut self, op: OpRef<'a>) {
        let Some(manual) = sdy::ManualComputation::of(op) else { return };
        for (i, sharding) in manual.in_shardings.iter().enumerate() {
            let place = self.meaning(Some(sharding));
            self.same(op, i, &place, "its in_sharding");
        }
        let wanted: Vec<ValueDistribution> =
            manual.out_shardings.iter().map(|s| self.meaning(Some(&manual.inside(s)))).collect();
        self.region(op, 0, &wanted);
    }

    /// Checks a constraint that the plan left: it must have no effect.
    fn constraint(&mut self, op: OpRef<'a>) {
        let same = op.operands().iter().zip(op.results()).all(|(&from, to)| self.place(from) == self.place(to));
        if !same {
            let message = "the program still has a constraint";
            let d = Diagnostic::error(codes::CONSTRAINT_LEFT, op.span(), message);
            self.diagnostics.push(d.note("run the pass plan first: it redistributes constrained values"));
        }
    }

    /// Reports operand `i` unless it is distributed as `wanted`, which `what` describes.
    fn same(&mut self, op: OpRef<'a>, i: usize, wanted: &ValueDistribution, what: &str) {
        let Some(&value) = op.operands().get(i) else { return };
        let found = self.place(value);
        if found == *wanted || self.program.tensor_type(value).is_none() {
            return;
        }
        let message =
            format!("operand {i} of '{}' is {}, but {what} is {}", op.name(), self.text(&found), self.text(wanted));
        let d = Diagnostic::error(codes::SHARDED_OPERAND, op.span(), message);
        self.diagnostics.push(d.note(PLAN_FIRST));
    }

    fn computation(&mut self, op: OpRef<'a>) -> Result<(), Diagnostic> {
        let values: SmallVec<[Value; 4]> = op.operands().iter().copied().chain(op.results()).collect();
        let places: SmallVec<[ValueDistribution; 4]> = values.iter().map(|&v| self.place(v)).collect();
        if places.iter().all(Option::is_none) {
            return Ok(());
        }
        if op.def().elementwise() && is_one_shard(&places) {
            return Ok(());
        }
        let fault = |message: String| Diagnostic::error(codes::SHARDED_OPERAND, op.span(), message);
        let remade = rematerializable(op);
        if remade != Rematerializable::No {
            // Every device computes its own shard; partial sums must be zeros.
            let wrong = places.iter().flatten().any(|d| !d.unreduced.is_empty() && remade != Rematerializable::Zero);
            return if wrong { Err(fault(format!("'{}' can't produce partial results", op.name()))) } else { Ok(()) };
        }
        let Some(model) = self.models.of(self.program, op.op) else {
            let tensor = places.iter().position(Option::is_some).unwrap_or(0);
            let (what, place) = (name(op, tensor), self.text(&places[tensor]));
            return Err(fault(format!("'{}' needs {what} replicated, but it is {place}", op.name())));
        };
        let fitting: Fitting = (model, places.iter().map(|place| place.as_ref().map(Rc::as_ptr)).collect());
        if self.known.contains(&fitting) {
            return Ok(());
        }
        let whole = |v: &Value| Distribution::replicated(self.program.tensor_type(*v).map_or(0, |t| t.rank()));
        let at: Vec<Distribution> =
            values.iter().zip(&places).map(|(v, p)| p.as_ref().map_or_else(|| whole(v), |d| (**d).clone())).collect();
        match strategy(self.models.get(model), &at) {
            Ok(()) => {
                self.known.insert(fitting);
                Ok(())
            }
            Err(Misfit::Sharded { tensor, dim }) => {
                let message = format!("'{}' needs dimension {dim} replicated, but it is sharded", op.name());
                let d = fault(message);
                Err(d.also(self.span(values[tensor]), self.text(&places[tensor])))
            }
            Err(Misfit::Apart(a, b)) => {
                let (first, second) = (name(op, a), name(op, b));
                let message = format!(
                    "'{}' can't compute with {first} {} and {second} {}",
                    op.name(),
                    self.text(&places[a]),
                    self.text(&places[b])
                );
                Err(fault(message))
            }
            Err(Misfit::Unreduced(tensor)) => {
                let (what, place) = (name(op, tensor), self.text(&places[tensor]));
                let message = format!("'{}' reduces values of several devices, but {what} is {place}", op.name());
                Err(fault(message)
                    .note("the result must be unreduced along the axes that shard the reduced dimensions"))
            }
            Err(Misfit::Partial(tensor)) => {
                let (what, place) = (name(op, tensor), self.text(&places[tensor]));
                Err(fault(format!("'{}' can't be computed from partial results: {what} is {place}", op.name())))
            }
            Err(Misfit::Other) => {
                let list: Vec<String> =
                    (0..values.len()).map(|t| format!("{} {}", name(op, t), self.text(&places[t]))).collect();
                Err(fault(format!("'{}' can't be computed in these shards: {}", op.name(), list.join(", "))))
            }
        }
    }

    fn place(&self, value: Value) -> ValueDistribution {
        let rank = self.program.tensor_type(value)?.rank();
        self.distributions.get(value).filter(|d| d.rank() == rank && !d.is_replicated()).cloned()
    }

    fn meaning(&self, sharding: Option<&TensorSharding>) -> ValueDistribution {
        self.axes.meaning(self.program, sharding?).filter(|d| !d.is_replicated()).map(Rc::new)
    }

    fn span(&self, value: Value) -> Span {
        self.program.value_span(value)
    }

    fn text(&self, place: &ValueDistribution) -> String {
        match place {
            Some(place) => format!("sharded {}", self.program.sharding_text(&self.axes.sharding(place))),
            None => "replicated".to_owned(),
        }
    }
}

/// Returns whether all of these hold the same shards of whole values, so that any elementwise op can compute with them.
fn is_one_shard(places: &[ValueDistribution]) -> bool {
    let Some((Some(first), rest)) = places.split_first() else { return false };
    first.unreduced.is_empty()
        && rest.iter().all(|place| place.as_ref().is_some_and(|place| Rc::ptr_eq(place, first) || place == first))
}

/// Returns the name of a tensor of an op, operands counted before results: `operand 1`, `the result`.
fn name(op: OpRef<'_>, tensor: usize) -> String {
    let operands = op.operands().len();
    match tensor.checked_sub(operands) {
        None => format!("operand {tensor}"),
        Some(_) if op.result_count() == 1 => "the result".to_owned(),
        Some(i) => format!("result {i}"),
    }
}

/// The reason why no strategy places an op's tensors as they are; tensors are counted operands before results.
enum Misfit {
    /// A dimension that must be replicated is sharded.
    Sharded { tensor: usize, dim: usize },
    /// Two tensors shard one factor differently.
    Apart(usize, usize),
    /// A tensor isn't unreduced along the axes that it should be.
    Unreduced(usize),
    /// A tensor is unreduced along axes that it shouldn't be.
    Partial(usize),
    /// Something else, such as shards that a reshape can't make.
    Other,
}

/// Checks that some strategy of the model places operands and results as in `at`.
fn strategy(model: &OpModel, at: &[Distribution]) -> Result<(), Misfit> {
    let operands = model.rule.operands.len();
    if at.len() != operands + model.rule.results.len() {
        return Err(Misfit::Other);
    }
    // The axes of each factor, and the tensor that determined them.
    let mut factors: Vec<Option<(Axes, usize)>> = vec![None; model.rule.factors.len()];
    for (tensor, place) in at.iter().enumerate() {
        let dims = model.tensor(tensor);
        if dims.len() != place.rank() {
            return Err(Misfit::Other);
        }
        for (dim, _) in dims.iter().enumerate().filter(|d| !place.dims[d.0].is_empty()) {
            let fixed = |&f: &u32| model.rule.factors[f as usize].kind == FactorKind::NeedReplication;
            if dims[dim].first().is_some_and(fixed) {
                return Err(Misfit::Sharded { tensor, dim });
            }
        }
        let mut found = model.project(dims, place);
        let rest = dims.iter().flatten().map(|&f| f as usize).filter(|f| found.iter().all(|have| have.0 != *f));
        let rest: Vec<_> = rest.map(|f| (f, Axes::new())).collect();
        found.extend(rest);
        for (factor, axes) in found {
            match &factors[factor] {
                Some((known, first)) if *known != axes => return Err(Misfit::Apart(*first, tensor)),
                Some(_) => {}
                None => factors[factor] = Some((axes, tensor)),
            }
        }
    }
    let factors: Vec<Axes> = factors.into_iter().map(|f| f.map(|f| f.0).unwrap_or_default()).collect();
    if (0..factors.len()).any(|f| !factors[f].is_empty() && !model.divisible(f)) {
        return Err(Misfit::Other);
    }
    let mut plain = Strategy { factors, ..Strategy::default() };
    let given = plain.clone();
    model.legalize(&mut plain);
    if plain != given {
        return Err(Misfit::Other);
    }
    let fits = |strategy: &Strategy| {
        let assigned = model.assignment(strategy);
        assigned.operands.iter().chain(&assigned.results).zip(at).position(|(a, b)| a != b)
    };
    let Some(tensor) = fits(&plain) else { return Ok(()) };
    // Partial sums may also pass through, along the unreduced axes of an operand that nothing is added to.
    let passes = |set: &BTreeSet<usize>| {
        let Some(operand) = set.iter().copied().find(|i| !model.accumulated.contains(i)) else { return false };
        let through = at[operand].unreduced.clone();
        let strategy = Strategy { through, set: set.clone(), ..plain.clone() };
        fits(&strategy).is_none()
    };
    if model.linear.iter().any(passes) {
        return Ok(());
    }
    let assigned = model.assignment(&plain);
    let mut expected = assigned.operands.iter().chain(&assigned.results);
    match expected.nth(tensor) {
        Some(expected) if expected.dims == at[tensor].dims => {
            let partial = at[tensor].unreduced.iter().any(|axis| !expected.unreduced.contains(axis));
            Err(if partial { Misfit::Partial(tensor) } else { Misfit::Unreduced(tensor) })
        }
        _ => Err(Misfit::Other),
    }
}
