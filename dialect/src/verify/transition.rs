//! Checks of unreduced axes through every op: axes unreduced before an op must be unreduced after it, unless a
//! constraint, a reshard, a reducing collective or a manual computation combines them.
//!
//! This isn't a rule of the language, because propagation inserts the ops that combine partial results; passes that run
//! on its output may rely on it. Source: Shardy, `sdy-verify-unreduced-axes`. In contrast to that pass, manual
//! computations may combine by their own collectives; and an op may produce partial sums, or partial results of its own
//! reduction.

use std::rc::Rc;

use super::Verifier;
use super::unreduced::is_covered;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ir::{AttrData, Block, OpRef, Program, Value, ValueSource};
use crate::op::{CollectiveKind, Control};
use crate::ops::{func, sdy};
use crate::sharding::{AxisRef, Mesh, ReductionKind, Reshard, TensorSharding};

/// Checks every op of a verified program; reports each op that drops, adds or changes unreduced axes but can't do that.
pub fn verify_transitions(program: &Program, diagnostics: &mut Diagnostics) {
    let mut verifier = Verifier::new(program, diagnostics);
    let partial = verifier.is_anything_unreduced();
    verifier.transitions(program.body(), partial);
}

type Stated = Option<Rc<TensorSharding>>;

impl<'a> Verifier<'a> {
    /// Returns whether any value or any result of a function is unreduced. If no attribute of the program has unreduced
    /// axes, it returns early.
    fn is_anything_unreduced(&self) -> bool {
        let program = self.program;
        let has_unreduced = |attr: &AttrData| match attr {
            AttrData::Sharding(sharding) => !sharding.unreduced.is_empty(),
            AttrData::ShardingPerValue(list) => list.iter().any(|s| !s.unreduced.is_empty()),
            _ => false,
        };
        if !program.all_attrs().any(has_unreduced) {
            return false;
        }
        let stated = func::functions(program).any(|f| {
            let results = 0..func::signature(program, f).results.len();
            results.filter_map(|i| func::result_sharding(program, f, i)).any(|s| !s.unreduced.is_empty())
        });
        stated || self.table().iter().any(|s| !s.unreduced.is_empty())
    }

    /// Checks the ops under `block`; if nothing is `partial`, ops that only pass on their operands are skipped.
    fn transitions(&mut self, block: Block, partial: bool) {
        let program = self.program;
        for &op in program.block_ops(block) {
            self.transition(program.view(op), block, partial);
            for &inner in program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)) {
                self.transitions(inner, partial);
            }
        }
    }

    fn transition(&mut self, op: OpRef<'a>, block: Block, partial: bool) {
        match op.def().reshard(op) {
            Some(Reshard::AllReduce(..) | Reshard::ReduceScatter(..)) => {
                let placed = op.operands().first().is_none_or(|&v| self.sharding_of(self.past_barriers(v)).is_some());
                if !placed {
                    let message = format!("'{}' reduces a value that isn't stated to be unreduced", op.name());
                    let d = Diagnostic::error(codes::NOT_UNREDUCED, op.span(), message);
                    let d = d.also(op.operand_span(0), "this value has no sharding");
                    self.push(d.note("state a sharding of the value, with the axes it is unreduced along"));
                }
            }
            // The verifier has checked the axes that these add.
            Some(Reshard::ReplicatedToUnreduced(..) | Reshard::ShardedToUnreduced(..)) => {}
            _ if !partial || is_explicit(op) || sdy::group_id(op).is_some() => {}
            _ if op.def().terminator() => self.returned(op, block),
            _ => match op.def().control(op) {
                Some(Control::Manual) => {}
                Some(Control::Call) => self.called(op),
                _ => self.through(op),
            },
        }
    }

    /// Returns the sharding of an operand; `None` if an explicit op just stated it, because that op may combine partial
    /// results.
    fn read(&self, value: Value) -> Stated {
        let value = self.past_barriers(value);
        match self.program.value_source(value) {
            ValueSource::Result(op, _) if is_explicit(self.program.view(op)) => None,
            _ => self.sharding_of(value),
        }
    }

    fn through(&mut self, op: OpRef<'a>) {
        let before: Vec<_> = op.operands().iter().filter_map(|&v| self.read(v)).collect();
        let after: Vec<_> = op.results().filter_map(|v| self.sharding_of(self.past_barriers(v))).collect();
        let Some(mesh) = self.common_mesh(before.iter().chain(&after)) else { return };
        let all = |list: &[Rc<TensorSharding>]| -> Vec<AxisRef> {
            list.iter().flat_map(|s| s.unreduced.iter().copied()).collect()
        };
        let (have, want) = (all(&before), all(&after));
        if have.is_empty() && want.is_empty() {
            return;
        }
        let combines = match op.def().collective(op).map(|c| c.kind) {
            Some(CollectiveKind::AllReduce | CollectiveKind::ReduceScatter) => op.def().reduction(op),
            _ => None,
        };
        let makes = op.def().reduction(op);
        let fault = after.iter().find_map(|s| {
            let made = s.unreduced.iter().find(|&&a| !is_covered(a, &have, mesh))?;
            let fine = s.kind == ReductionKind::Sum || makes == Some(s.kind);
            let (axis, kind) = (self.program.name_text(made.name), s.kind.text());
            (!fine).then(|| {
                (format!("'{}' can't produce parts along \"{axis}\" that combine by {kind}", op.name()), OWN_PARTS)
            })
        });
        let fault = fault.or_else(|| {
            before.iter().find_map(|s| {
                let gone = s.unreduced.iter().find(|&&a| !is_covered(a, &want, mesh))?;
                let axis = self.program.name_text(gone.name);
                match combines {
                    None => {
                        let message = format!("'{}' drops the unreduced axis \"{axis}\" of its operand", op.name());
                        Some((message, COMBINE_FIRST))
                    }
                    Some(kind) if kind != s.kind => {
                        let (kind, parts) = (kind.text(), s.kind.text());
                        let message = format!(
                            "'{}' combines by {kind}, but the parts along \"{axis}\" combine by {parts}",
                            op.name()
                        );
                        Some((message, "combine the parts by the reduction that produced them"))
                    }
                    Some(_) => None,
                }
            })
        });
        let fault = fault.or_else(|| {
            let turns = |s: &TensorSharding, to: &TensorSharding| {
                s.kind != to.kind && s.unreduced.iter().any(|&a| to.unreduced.iter().any(|&b| a.overlaps(b, mesh)))
            };
            let (s, to) = before.iter().find_map(|s| after.iter().find(|to| turns(s, to)).map(|to| (s, to)))?;
            let (from, to) = (s.kind.text(), to.kind.text());
            let message =
                format!("'{}' can't turn parts that combine by {from} into parts that combine by {to}", op.name());
            Some((message, COMBINE_FIRST))
        });
        if let Some((message, note)) = fault {
            self.error(codes::UNREDUCED_AXES, op, message, note);
        }
    }

    /// Checks that a returned value has the same unreduced axes as the result that it becomes.
    fn returned(&mut self, op: OpRef<'a>, block: Block) {
        let Some(&owner) = self.owners.get(&block) else { return };
        let around = self.program.view(owner);
        // Scalar code and conditions don't return tensors that the enclosing op returns.
        let first = around.block(0) == Some(block);
        match around.def().control(around) {
            _ if self.function_of.contains_key(&block) => {}
            None => return,
            Some(Control::While) if first => return,
            Some(_) => {}
        }
        for (i, &value) in op.operands().iter().enumerate() {
            let wanted =
                match self.function_of.get(&block) {
                    Some(&function) => func::result_sharding(self.program, function, i).map(|s| Rc::new(s.clone())),
                    None => around.results().nth(i).and_then(|v| self.sharding_of(v)).map(|s| {
                        match sdy::ManualComputation::of(around) {
                            Some(manual) => Rc::new(manual.inside(&s)),
                            None => s,
                        }
                    }),
                };
            let Some(wanted) = wanted.filter(|_| !self.is_stated(value)) else { continue };
            // A value without a sharding may get any sharding, and a value on another mesh is resharded anyway.
            let Some(own) = self.sharding_of(self.past_barriers(value)) else { continue };
            if sdy::resolve(self.program, &own.mesh) != sdy::resolve(self.program, &wanted.mesh) {
                continue;
            }
            self.same(Some(&own), Some(&wanted), op.operand_span(i), &format!("'{}' returns a value", op.name()));
        }
    }

    /// Checks that arguments and results of a call have the same unreduced axes as those of the function.
    fn called(&mut self, op: OpRef<'a>) {
        let Some(&function) = func::callee(op).and_then(|name| self.functions.get(name)) else { return };
        let name = op.name();
        for (i, &value) in op.operands().iter().enumerate() {
            if !self.is_stated(value) {
                let own = self.sharding_of(self.past_barriers(value));
                let taken = func::arg_sharding(self.program, function, i);
                self.same(own.as_deref(), taken, op.span(), &format!("operand {i} of '{name}' is"));
            }
        }
        for (i, value) in op.results().enumerate() {
            let own = self.sharding_of(value);
            let given = func::result_sharding(self.program, function, i);
            self.same(own.as_deref(), given, op.span(), &format!("result {i} of '{name}' is"));
        }
    }

    /// Returns whether the op that defines `value` states its unreduced axes, possibly an op that propagation inserted
    /// for a constraint.
    fn is_stated(&self, value: Value) -> bool {
        match self.program.value_source(self.past_barriers(value)) {
            ValueSource::Result(op, _) => {
                let op = self.program.view(op);
                let reshard = op.def().reshard(op);
                is_explicit(op)
                    || matches!(reshard, Some(Reshard::ReplicatedToUnreduced(..) | Reshard::ShardedToUnreduced(..)))
            }
            ValueSource::Arg(..) => false,
        }
    }

    fn same(&mut self, own: Option<&TensorSharding>, other: Option<&TensorSharding>, span: Span, what: &str) {
        let axes = |s: Option<&TensorSharding>| s.map(|s| s.unreduced.clone()).unwrap_or_default();
        let (a, b) = (axes(own), axes(other));
        if a != b {
            let text = |axes: &[AxisRef]| match axes {
                [] => "not unreduced".to_owned(),
                axes => format!("unreduced along {}", super::collective::axes_text(self.program, axes)),
            };
            let message = format!("{what} {}, but is passed on as {}", text(&a), text(&b));
            let note =
                "state the same axes for both, or combine the parts with a constraint, a reshard or an all-reduce";
            self.push(Diagnostic::error(codes::UNREDUCED_AXES_DIFFER, span, message).note(note));
        }
    }

    /// Returns the mesh of all of them, if it is the same.
    fn common_mesh<'s>(&self, shardings: impl Iterator<Item = &'s Rc<TensorSharding>>) -> Option<&'s Mesh>
    where
        'a: 's,
    {
        let mut meshes = shardings.filter_map(|s| sdy::resolve(self.program, &s.mesh));
        let first = meshes.next()?;
        meshes.all(|m| m == first).then_some(first)
    }
}

const COMBINE_FIRST: &str =
    "combine the parts first with a constraint, a reshard or an all-reduce; the pass propagate does that";
const OWN_PARTS: &str = "the parts of an op's results add up, or combine as the op's own reduction does";

fn is_explicit(op: OpRef<'_>) -> bool {
    matches!(op.name(), "sdy.sharding_constraint" | "sdy.reshard")
}
