//! Lowers loops and branches, with the copies that the plan of memory puts before and after them.

use dialect::buffers::{BufferId, Move};
use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::Op;
use dialect::op::Control;

use super::Lowering;
use super::step::Step;

impl Lowering<'_> {
    fn copies(&mut self, moves: Option<&Vec<Move>>) -> Vec<Step> {
        let mut steps = Vec::new();
        for &(from, to) in moves.into_iter().flatten() {
            let mut slot = |id: BufferId| {
                let buffer = self.buffers.buffer(id);
                self.slot_of(id, buffer.element, buffer.shape.clone())
            };
            let (from, to) = (slot(from), slot(to));
            steps.push(Step::Copy { from, to });
        }
        steps
    }

    pub(super) fn control(&mut self, op: Op, control: Control, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let (program, buffers) = (self.program, self.buffers);
        let view = program.view(op);
        match control {
            // Its results share the operands' buffers, but for those in another memory.
            Control::Identity => {
                steps.extend(self.copies(buffers.before.get(&op)));
                Ok(())
            }
            Control::While => {
                // Checks the results first, because values of unsupported types give a better error here than inside
                // the loop.
                self.slots_of(program.results(op))?;
                steps.extend(self.copies(buffers.before.get(&op)));
                let (Some(condition_block), Some(body_block)) = (view.block(0), view.block(1)) else {
                    return Err(Diagnostic::error(
                        codes::MALFORMED_PROGRAM,
                        view.span(),
                        "a loop has no condition or no body",
                    ));
                };
                let mut condition = Vec::new();
                let predicate = self.block(condition_block, &mut condition)?;
                let Some(&predicate) = predicate.first() else {
                    return Err(Diagnostic::error(
                        codes::MALFORMED_PROGRAM,
                        view.span(),
                        "the condition of a loop returns no value",
                    ));
                };
                let predicate = self.slot(predicate)?;
                let mut body = Vec::new();
                self.block(body_block, &mut body)?;
                body.extend(self.copies(buffers.after.get(&body_block)).into_iter().map(|step| (op, step)));
                steps.push(Step::While { condition, predicate, body });
                Ok(())
            }
            Control::If | Control::Case => {
                let index = self.slot(program.op(op).operands[0])?;
                self.slots_of(program.results(op))?;
                let mut branches = Vec::new();
                for i in 0..program.op(op).regions.len() {
                    let Some(block) = view.block(i) else { continue };
                    let mut branch = Vec::new();
                    self.block(block, &mut branch)?;
                    branch.extend(self.copies(buffers.after.get(&block)).into_iter().map(|step| (op, step)));
                    branches.push(branch);
                }
                steps.push(Step::Branch { index, branches });
                Ok(())
            }
            Control::Call | Control::Manual | Control::Inline => {
                let message = format!("'{}' must be inlined before the program is run", view.name());
                Err(Diagnostic::error(codes::CALL_LEFT, view.span(), message)
                    .note("run the passes import, plan and partition first"))
            }
        }
    }
}
