//! Inlines calls and loops with a fixed number of iterations into `@main`, so that passes which split it see its ops in
//! one block.

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, Program, Renaming, Value};
use dialect::op::Control;
use dialect::ops::mpmd::{self, Kind};
use dialect::ops::{build, func};
use rustc_hash::FxHashMap;

/// Inlines calls and loops into a block; returns the iteration or microbatch of each op that belongs to one.
pub(super) fn flatten(program: &mut Program, block: Block) -> FxHashMap<Op, i64> {
    let mut flat = Flat { program, ops: Vec::new(), renaming: Renaming::default(), turns: FxHashMap::default() };
    flat.block(block, None);
    let Flat { ops, turns, .. } = flat;
    program.set_block_ops(block, ops);
    turns
}

/// The state of inlining calls and loops with a fixed number of iterations into a block.
struct Flat<'a> {
    program: &'a mut Program,
    ops: Vec<Op>,
    renaming: Renaming,
    /// The iteration that an op belongs to.
    turns: FxHashMap<Op, i64>,
}

impl Flat<'_> {
    fn block(&mut self, block: Block, turn: Option<i64>) {
        for op in self.program.block_ops(block).to_vec() {
            self.op(op, turn);
        }
    }

    fn op(&mut self, op: Op, turn: Option<i64>) {
        let view = self.program.view(op);
        let (kind, control) = (mpmd::kind(view), view.def().control(view));
        let operands: Vec<Value> = view.operands().iter().map(|&v| self.renaming.value(v)).collect();
        let results: Vec<Value> = view.results().collect();
        match kind {
            Some(Kind::For) => {
                let (count, Some(body)) = (view.int("iterations").unwrap_or(0), view.block(0)) else { return };
                let loc = self.program.op(op).loc;
                let mut values = operands;
                for i in 0..count {
                    let mut b = Builder::new(self.program, &mut self.ops, loc);
                    let number = build::scalar(&mut b, mpmd::INDEX, dialect::scalar::Scalar::Int(i.into()));
                    values.push(number);
                    values = self.body(body, &values, turn.or(Some(i)));
                }
                self.renaming.values.extend(results.into_iter().zip(values));
            }
            // A value that may be sent to several meshes is sent to those that read it.
            Some(Kind::Same) => self.renaming.values.extend(results.into_iter().zip(operands)),
            _ if control == Some(Control::Call) => {
                let callee = func::callee(view).and_then(|name| func::function(self.program, name));
                let Some(body) = callee.and_then(|f| func::block(self.program, f)) else {
                    return self.keep(op, operands, turn);
                };
                let turn = turn.or(self.program.view(op).int(mpmd::CALL_COUNTER));
                let values = self.body(body, &operands, turn);
                self.renaming.values.extend(results.into_iter().zip(values));
            }
            _ => {
                let turn = turn.or(self.program.view(op).int(mpmd::CALL_COUNTER));
                self.keep(op, operands, turn);
            }
        }
    }

    /// Inlines a body; returns its results for these arguments.
    fn body(&mut self, body: Block, arguments: &[Value], turn: Option<i64>) -> Vec<Value> {
        let copy = self.program.clone_block(body, &mut Renaming::default());
        let own = self.program.block_args(copy).to_vec();
        self.renaming.values.extend(own.into_iter().zip(arguments.iter().copied()));
        let mut ops = self.program.block_ops(copy).to_vec();
        let last = ops.pop();
        ops.into_iter().for_each(|op| self.op(op, turn));
        let given = last.map(|last| self.program.op(last).operands.to_vec()).unwrap_or_default();
        given.into_iter().map(|v| self.renaming.value(v)).collect()
    }

    fn keep(&mut self, op: Op, operands: Vec<Value>, turn: Option<i64>) {
        self.program.op_mut(op).operands = operands.into_iter().collect();
        for block in
            self.program.op(op).regions.iter().flat_map(|&r| self.program.region_blocks(r).to_vec()).collect::<Vec<_>>()
        {
            for inner in self.program.ops_under(block) {
                self.program.rename_operands(inner, &self.renaming.values);
            }
        }
        self.turns.extend(turn.map(|turn| (op, turn)));
        self.ops.push(op);
    }
}
