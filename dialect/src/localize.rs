//! The environment of `OpDef::localize`: one op of the global program, its local operands, and the shards of operands
//! and results.

use crate::ir::build::Builder;
use crate::ir::{Attr, Name, Op, Ty, Value};
use crate::ops::sdy;
use crate::sharding::Shard;

use smallvec::SmallVec;

/// An operand or a result of an op, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tensor {
    /// An operand.
    Operand(usize),
    /// A result.
    Result(usize),
}

/// Builds, at its first use, the position at which a dimension of the device's shard begins; `None` if the dimension
/// isn't sharded. It has rank 0 and is `i32`, or `i64` if positions of the program don't fit; all starts of an op have
/// the same type. The sum of two positions fits, too.
pub type Start<'a> = dyn FnMut(&mut Builder<'_>, Tensor, usize) -> Option<Value> + 'a;

/// A sharded dimension of an operand of which the local value has the rows that the device reads instead of the
/// device's shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// The operand's number.
    pub operand: usize,
    /// The dimension's number.
    pub dim: usize,
    /// The first row that the first device reads, as a position in the global operand; negative in padding.
    pub start: i64,
    /// Number of rows.
    pub rows: i64,
}

/// The per-device form of one op under construction.
pub struct Localize<'a> {
    /// Builds local ops in place of the global op.
    pub build: Builder<'a>,
    /// The global op.
    pub op: Op,
    /// Its operands' local values.
    pub operands: &'a [Value],
    /// The shard of each operand by its own sharding; see also `fetched`.
    pub operand_shards: &'a [Shard],
    /// The shard of each result.
    pub result_shards: &'a [Shard],
    /// Its results' local types.
    pub result_types: Vec<Ty>,
    /// The local results, to be filled by `localize`.
    pub results: Vec<Value>,
    /// Dimensions along which operands were extended to the rows that the device reads; see [`OpDef::is_windowed`].
    ///
    /// [`OpDef::is_windowed`]: crate::op::OpDef::is_windowed
    ///
    /// [`OpDef::is_windowed`]: crate::op::OpDef::is_windowed
    pub fetched: &'a [Fetched],
    /// Builds the starts of the shards on the device that runs the program.
    pub start: &'a mut Start<'a>,
}

impl<'a> Localize<'a> {
    /// Builds the same op over local operands with local result types.
    pub fn same_op(&mut self) {
        self.same_op_with(&[]);
    }

    /// Builds the same op, with some attributes replaced.
    pub fn same_op_with(&mut self, changed: &[(&str, Attr)]) {
        self.same_op_on(self.operands, changed);
    }

    /// Builds the same op, over other operands.
    pub fn same_op_on(&mut self, operands: &[Value], changed: &[(&str, Attr)]) {
        let program = &*self.build.program;
        let op = program.op(self.op);
        let (def, name, regions) = (op.def, op.name, op.regions.clone());
        // Shardings describe the global program, so they are dropped.
        let kept = op.attrs.iter().filter(|a| !sdy::is_attribute(program.name_text(a.0)));
        let mut attrs: SmallVec<[(Name, Attr); 4]> = kept.copied().collect();
        for &(key, attr) in changed {
            let key = self.build.program.name(key);
            match attrs.iter_mut().find(|a| a.0 == key) {
                Some(a) => a.1 = attr,
                None => attrs.push((key, attr)),
            }
        }
        let local = self.build.named(def, name, operands, &self.result_types, &attrs, &regions);
        self.results = self.build.program.results(local).collect();
    }

    /// Returns the rows of the local operand along a dimension, if they aren't the device's shard.
    pub fn fetched(&self, operand: usize, dim: usize) -> Option<Fetched> {
        self.fetched.iter().copied().find(|f| (f.operand, f.dim) == (operand, dim))
    }

    /// Returns the shard of operand `i`.
    pub fn operand(&self, i: usize) -> &'a Shard {
        &self.operand_shards[i]
    }

    /// Returns the shard of result `i`.
    pub fn result(&self, i: usize) -> &'a Shard {
        &self.result_shards[i]
    }

    /// Returns the start of dimension `dim` of operand `operand` on this device, see [`Start`]; `None` if it isn't
    /// sharded.
    pub fn operand_start(&mut self, operand: usize, dim: usize) -> Option<Value> {
        (self.start)(&mut self.build, Tensor::Operand(operand), dim)
    }

    /// Returns the start of dimension `dim` of result `result` in the same way.
    pub fn result_start(&mut self, result: usize, dim: usize) -> Option<Value> {
        (self.start)(&mut self.build, Tensor::Result(result), dim)
    }
}
