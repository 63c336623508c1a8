//! Which values die where: the evaluator frees a value behind its last use in the block that defines it.

use dialect::ir::{Block, Op, Program, Value, ValueSource};

/// For every op of a block, in order, the block's own values that nothing behind it reads.
pub(super) struct Deaths {
    /// The values that die behind op `i` are `values[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    values: Vec<Value>,
}

impl Deaths {
    /// Those of `block`. Uses inside an op's regions count as the op's.
    pub(super) fn of(program: &Program, block: Block) -> Self {
        let ops = program.block_ops(block);
        let mut last: Vec<(u32, Value)> = Vec::new();
        // Arguments and results die with the op that makes them unless somebody reads them later.
        let mut own: rustc_hash::FxHashMap<Value, u32> = rustc_hash::FxHashMap::default();
        own.extend(program.block_args(block).iter().map(|&arg| (arg, 0)));
        for (i, &op) in ops.iter().enumerate() {
            own.extend(program.results(op).map(|result| (result, i as u32)));
            let mut read = |op: Op| {
                for value in &program.op(op).operands {
                    if let Some(at) = own.get_mut(value) {
                        *at = i as u32;
                    }
                }
            };
            read(op);
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    program.walk(inner, &mut read);
                }
            }
        }
        last.extend(own.into_iter().map(|(value, at)| (at, value)));
        last.sort_unstable();
        let mut starts = vec![0u32; ops.len() + 1];
        for &(at, _) in &last {
            if let Some(start) = starts.get_mut(at as usize + 1) {
                *start += 1;
            }
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Self { starts, values: last.into_iter().map(|l| l.1).collect() }
    }

    /// The values that die behind op `i`.
    pub(super) fn behind(&self, i: usize) -> &[Value] {
        &self.values[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// The op that defines a value, if one does.
pub(super) fn definition(program: &Program, value: Value) -> Option<Op> {
    match program.value_source(value) {
        ValueSource::Result(op, _) => Some(op),
        ValueSource::Arg(..) => None,
    }
}
