//! Checks of `sdy.propagation_edges`: notes about how shardings propagated, which Shardy leaves on ops on request.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::Verifier;
use super::place::AttrRange;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{AttrData, EdgeValue, OpRef, PropagationStep};
use crate::op::Control;
use crate::ops::func;
use crate::sharding::TensorSharding;

const EDGES: &str = "sdy.propagation_edges";
/// The attributes with lists of such notes, one per result or argument.
const LISTS: [&str; 2] = ["sdy.result_propagation_edges", "sdy.block_arg_propagation_edges"];

impl<'a> Verifier<'a> {
    /// Checks the notes on an op.
    pub(super) fn propagation_edges(&mut self, op: OpRef<'a>) {
        match op.attr(EDGES) {
            None => {}
            Some(AttrData::PropagationEdges(steps)) => self.propagation_steps(op, steps),
            Some(_) => self.edges_fault(
                op,
                EDGES,
                format!("{EDGES} is not a list of propagation edges"),
                "write #sdy.propagation_edges<[…]>",
            ),
        }
        for list in LISTS {
            let Some(attr) = op.attr(list) else { continue };
            let edges = |&a: &crate::ir::Attr| matches!(self.program.attr_data(a), AttrData::PropagationEdges(_));
            if !matches!(attr, AttrData::Array(items) if items.iter().all(edges)) {
                self.edges_fault(
                    op,
                    list,
                    format!("{list} is not a list of propagation edges"),
                    "write [#sdy.propagation_edges<[…]>]",
                );
            }
        }
    }

    fn propagation_steps(&mut self, op: OpRef<'a>, steps: &[PropagationStep]) {
        let mut seen = FxHashSet::default();
        // An edge of a function's argument refers to the function's calls.
        let of_calls = op.name() == "sdy.func_data_flow_edge" || op.def().control(op) == Some(Control::Call);
        let counts = (op.operands().len() as i64, op.result_count() as i64);
        let mut faults = Vec::new();
        for step in steps {
            if step.index < 0 {
                faults.push(format!("the propagation edges have the negative step {}", step.index));
            }
            if !seen.insert(step.index) {
                faults.push(format!("the propagation edges have step {} twice", step.index));
            }
            for (_, source, targets) in &step.axes {
                if targets.contains(source) {
                    faults.push(format!("step {} of the propagation edges goes from a value to itself", step.index));
                }
                if (1..targets.len()).any(|i| targets[..i].contains(&targets[i])) {
                    faults.push(format!("step {} of the propagation edges reaches a value twice", step.index));
                }
                for value in targets.iter().chain([source]).filter(|_| !of_calls) {
                    let (what, index, count) = match *value {
                        EdgeValue::Operand(i) => ("operands", i, counts.0),
                        EdgeValue::Result(i) => ("results", i, counts.1),
                    };
                    if !(0..count).contains(&index) {
                        faults.push(format!(
                            "expected a number of the {what} below {count} in the propagation edges, found {index}"
                        ));
                    }
                }
            }
        }
        let unknown = steps.iter().flat_map(|s| &s.axes).find(|a| !self.is_axis_of_some_mesh(op, a.0));
        if let Some((axis, ..)) = unknown {
            faults.push(format!(
                "the propagation edges name axis \"{}\", which no mesh has",
                self.program.name_text(axis.name)
            ));
        }
        if !steps.is_empty() && self.all_shardings(op).is_empty() {
            faults.push("the op has propagation edges, but none of its values has a sharding".to_owned());
        }
        for message in faults {
            self.edges_fault(
                op,
                EDGES,
                message,
                "propagation edges record how shardings spread; remove them where none did",
            );
        }
    }

    fn is_axis_of_some_mesh(&self, op: OpRef<'a>, axis: crate::sharding::AxisRef) -> bool {
        let shardings = self.all_shardings(op);
        let inline = shardings.iter().filter_map(|s| crate::ops::sdy::resolve(self.program, &s.mesh));
        self.meshes.values().copied().chain(inline).any(|mesh| mesh.axis_size(axis.name).is_some())
    }

    /// Returns the known shardings of its operands and results.
    fn all_shardings(&self, op: OpRef<'a>) -> Vec<Rc<TensorSharding>> {
        let own = match op.attr(func::SHARDING) {
            Some(AttrData::ShardingPerValue(list)) => list.as_slice(),
            _ => &[],
        };
        let stated = crate::ops::sdy::stated_sharding(op);
        let operands = op.operands().iter().filter_map(|&v| self.sharding_of(v));
        own.iter().chain(stated).map(|s| Rc::new(s.clone())).chain(operands).collect()
    }

    fn edges_fault(&mut self, op: OpRef<'a>, at: &str, message: String, note: &str) {
        let span = AttrRange::of_op(op).find(self.program, at);
        self.push(Diagnostic::error(codes::PROPAGATION_EDGES, span, message).note(note));
    }
}
