//! Checks of unreduced axes from one value to the next, and of data-flow edges.
//!
//! Partial results are combined by the reduction that produced them; changes of sharding only produce partial sums.

use super::Verifier;
use super::collective::is_proper;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{OpRef, TensorType, Value, ValueSource};
use crate::op::Control;
use crate::ops::sdy;
use crate::sharding::{AxisRef, Mesh, ReductionKind, Reshard, TensorSharding};

impl<'a> Verifier<'a> {
    /// Checks what a constraint, reshard or reducing collective does to the unreduced axes of its operand.
    pub(super) fn unreduced(&mut self, op: OpRef<'a>) {
        // The reduction of axes that become unreduced, and of axes that are combined; any reduction if the op states
        // none.
        let (made, combined) = match op.def().reshard(op) {
            Some(Reshard::AllReduce(_, kind) | Reshard::ReduceScatter(_, kind)) => (None, Some(kind)),
            _ if matches!(op.name(), "sdy.sharding_constraint" | "sdy.reshard") => (Some(ReductionKind::Sum), None),
            _ => return,
        };
        let (Some(to), Some(&operand)) = (sdy::stated_sharding(op), op.operands().first()) else { return };
        let (whole, known);
        let from = match self.sharding_of(self.past_barriers(operand)) {
            Some(from) => {
                known = from;
                known.as_ref()
            }
            None if made.is_none() => {
                whole = TensorSharding::replicated(to.mesh.clone(), to.rank());
                &whole
            }
            None => return,
        };
        let (Some(from_mesh), Some(mesh)) =
            (sdy::resolve(self.program, &from.mesh), sdy::resolve(self.program, &to.mesh))
        else {
            return;
        };
        if from_mesh != mesh || !is_proper(from, mesh) || !is_proper(to, mesh) {
            return;
        }
        let name = op.name();
        let introduced = to.unreduced.iter().any(|&a| !is_covered(a, &from.unreduced, mesh));
        let removed = from.unreduced.iter().any(|&a| !is_covered(a, &to.unreduced, mesh));
        let kept = to.unreduced.iter().any(|&a| from.unreduced.iter().any(|&b| a.overlaps(b, mesh)));
        let (before, after) = (from.kind.text(), to.kind.text());
        let message = match (made, combined) {
            (None, _) if introduced => format!("'{name}' can't make a value unreduced"),
            (Some(kind), _) if introduced && to.kind != kind => {
                format!("'{name}' can produce parts that add up, but not parts that combine by {after}")
            }
            (_, Some(kind)) if removed && from.kind != kind => {
                format!("'{name}' combines by {}, but the operand is unreduced by {before}", kind.text())
            }
            _ if kept && from.kind != to.kind => {
                format!("'{name}' can't turn parts that combine by {before} into parts that combine by {after}")
            }
            _ => return,
        };
        let text = self.program.sharding_text(from);
        self.error(codes::UNREDUCED_AXES, op, message, &format!("the operand is sharded {text}"));
    }

    /// Returns the operand before any barriers.
    pub(super) fn past_barriers(&self, mut value: Value) -> Value {
        loop {
            match self.program.value_source(value) {
                ValueSource::Result(op, _) if sdy::barrier_direction(self.program.view(op)).is_some() => {
                    match self.program.op(op).operands.first() {
                        Some(&operand) if operand < value => value = operand,
                        _ => return value,
                    }
                }
                _ => return value,
            }
        }
    }

    /// Checks that a data-flow edge is the only user of its operand, whose sizes are static.
    pub(super) fn edge(&mut self, op: OpRef<'a>) {
        let name = op.name();
        let of_function = match name {
            "sdy.data_flow_edge" => false,
            "sdy.func_data_flow_edge" => true,
            _ => return,
        };
        let &[operand] = op.operands() else { return };
        if !op.result_tensor(0).is_some_and(TensorType::is_static) {
            self.error(
                codes::DYNAMIC_SHAPE,
                op,
                format!("'{name}' needs a tensor of static shape"),
                "give every dimension a size",
            );
        }
        if self.uses[operand.index()] != 1 {
            let d = Diagnostic::error(
                codes::DATA_FLOW_EDGE,
                op.operand_span(0),
                format!("the operand of '{name}' has other users"),
            );
            self.push(d.note("an edge replaces its operand: make the other users read the result of the edge"));
        }
        let source = self.program.value_source(operand);
        let fits = match source {
            ValueSource::Arg(block, _) => !of_function || self.function_of.contains_key(&block),
            ValueSource::Result(made, _) => {
                let made = self.program.view(made);
                let control = made.def().control(made);
                if of_function {
                    control == Some(Control::Call)
                } else {
                    !made.name().starts_with("sdy.") || matches!(control, Some(Control::Manual | Control::Inline))
                }
            }
        };
        if !fits {
            let message = match of_function {
                true => format!("the operand of '{name}' is neither an argument of a function nor a result of a call"),
                false => format!("the operand of '{name}' is produced by an op of Shardy without regions"),
            };
            let d = Diagnostic::error(codes::DATA_FLOW_EDGE, op.operand_span(0), message);
            self.push(d.also(self.program.value_span(operand), "defined here"));
        }
    }
}

/// Returns whether the union of `axes` contains `axis`.
pub(super) fn is_covered(axis: AxisRef, axes: &[AxisRef], mesh: &Mesh) -> bool {
    let mut parts: Vec<(i64, i64)> = axes.iter().filter(|a| a.name == axis.name).map(|a| a.range(mesh)).collect();
    parts.sort_unstable();
    let (pre, size) = axis.range(mesh);
    let end = parts.into_iter().fold(pre, |at, (pre, size)| if pre <= at { at.max(pre * size) } else { at });
    end >= pre * size
}
