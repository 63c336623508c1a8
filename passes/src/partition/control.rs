//! Partitions control flow: inlines computations of all axes, and partitions loops and branches inside.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::build::Builder;
use dialect::ir::{Op, Region, Ty, Value};
use dialect::ops::sdy;

use super::Partition;
use super::position::Positions;

impl Partition<'_> {
    /// Handles a constraint that the plan left in a manual computation of all axes: it has no effect.
    pub(super) fn constraint(&mut self, op: Op, operand: Option<Value>) {
        let result = self.program.result(op, 0);
        match operand {
            Some(local) if self.program.value_type(local) == self.local_type(result) => {
                self.values.insert(result, local);
            }
            _ => {
                let d = Diagnostic::error(
                    codes::CONSTRAINT_LEFT,
                    self.program.op(op).span,
                    "the program still has a constraint",
                );
                self.diagnostics.push(d.note("run the pass plan first: it redistributes constrained values"));
            }
        }
    }

    /// Inlines the body of a manual or named computation in place of the op.
    pub(super) fn inline(&mut self, op: Op, operands: &[Value], ops: &mut Vec<Op>, positions: &mut Positions) {
        let Some(body) = self.program.region_block(op, 0) else { return };
        let manual = sdy::ManualComputation::of(self.program.view(op)).map(|manual| manual.manual_axes.to_vec());
        let globals = self.program.op(op).operands.to_vec();
        for (i, &arg) in self.program.block_args(body).to_vec().iter().enumerate() {
            let value = match &manual {
                Some(manual) => self.enter(op, globals[i], operands[i], manual, ops, positions),
                None => operands[i],
            };
            self.values.insert(arg, value);
        }
        let inside = self.program.block_ops(body).to_vec();
        let Some((&last, body_ops)) = inside.split_last() else { return };
        let around = self.manual.len();
        self.manual.extend(manual.iter().flatten());
        for &inner in body_ops {
            self.op_with_span(inner, ops, positions);
        }
        self.manual.truncate(around);
        let returned = self.program.op(last).operands.clone();
        for (i, v) in returned.iter().enumerate() {
            if let Some(&local) = self.values.get(v)
                && i < self.program.result_count(op)
            {
                let result = self.program.result(op, i);
                let value = match &manual {
                    Some(manual) => self.leave(op, result, local, manual, ops, positions),
                    None => local,
                };
                self.values.insert(result, value);
            }
        }
    }

    /// Builds a loop or branch: the same op over local types with partitioned regions.
    pub(super) fn with_regions(&mut self, op: Op, operands: &[Value], ops: &mut Vec<Op>) {
        let data = self.program.op(op).clone();
        let mut regions: Vec<Region> = Vec::new();
        for &region in &data.regions {
            let Some(&old) = self.program.region_blocks(region).first() else { continue };
            let new = self.program.new_block();
            for arg in self.program.block_args(old).to_vec() {
                let ty = self.local_type(arg);
                let (loc, span) = (self.program.value_loc(arg), self.program.value_span(arg));
                let local = self.program.add_block_arg(new, ty, loc, span);
                self.values.insert(arg, local);
            }
            self.fill(old, new);
            regions.push(self.program.new_region(&[new]));
        }
        let globals: Vec<Value> = self.program.results(op).collect();
        let types: Vec<Ty> = globals.iter().map(|&v| self.local_type(v)).collect();
        let name = self.program.op_name(op).to_owned();
        let attrs: Vec<_> =
            data.attrs.iter().filter(|a| !sdy::is_attribute(self.program.name_text(a.0))).copied().collect();
        let local = Builder::new(self.program, ops, data.loc).raw(data.def, &name, operands, &types, &attrs, &regions);
        for (i, global) in globals.into_iter().enumerate() {
            let value = self.program.result(local, i);
            self.values.insert(global, value);
        }
    }
}
