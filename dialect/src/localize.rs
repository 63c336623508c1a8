//! What `OpDef::localize` works with: one op of the global program, its local operands, and its results' shardings.

use crate::ir::build::Builder;
use crate::ir::{Attr, Name, Op, Shape, TensorType, Ty, Value};
use crate::ops::sdy;

/// Where one op's shards begin on the device that runs the program being built. Offsets are rank-0 values, built on
/// first demand.
pub trait Position {
    /// The device's first global position (`i64`) in dimension `dim` of result `result`; `None` when it isn't sharded.
    fn result_offset(&mut self, build: &mut Builder<'_>, result: usize, dim: usize) -> Option<Value>;

    /// The same of operand `operand`.
    fn operand_offset(&mut self, _build: &mut Builder<'_>, _operand: usize, _dim: usize) -> Option<Value> {
        None
    }
}

/// Most ops only need the results' offsets.
impl<F: FnMut(&mut Builder<'_>, usize, usize) -> Option<Value>> Position for F {
    fn result_offset(&mut self, build: &mut Builder<'_>, result: usize, dim: usize) -> Option<Value> {
        self(build, result, dim)
    }
}

/// A dimension of an operand that is sharded, and of which the local value has the rows that the device reads instead of
/// its own shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// Which operand.
    pub operand: usize,
    /// Which of its dimensions.
    pub dim: usize,
    /// The first row that the first device reads, as a position in the global operand; negative in padding.
    pub start: i64,
    /// Number of rows.
    pub rows: i64,
}

/// The per-device form of one op, being built.
pub struct Localize<'a> {
    /// Builds local ops where the global op stood.
    pub build: Builder<'a>,
    /// The global op.
    pub op: Op,
    /// Its operands' local values.
    pub operands: &'a [Value],
    /// Its results' local types.
    pub result_types: Vec<Ty>,
    /// The local results, to be filled by `localize`.
    pub results: Vec<Value>,
    /// Dimensions along which operands have been extended to what the device reads; see [`OpDef::is_windowed`].
    ///
    /// [`OpDef::is_windowed`]: crate::op::OpDef::is_windowed
    pub fetched: &'a [Fetched],
    /// The offsets of the shards of results and operands.
    pub offsets: &'a mut dyn Position,
}

impl Localize<'_> {
    /// The same op over local operands with local result types.
    pub fn same_op(&mut self) {
        self.same_op_with(&[]);
    }

    /// The same, with some attributes replaced.
    pub fn same_op_with(&mut self, changed: &[(&str, Attr)]) {
        let operands = self.operands.to_vec();
        self.same_op_on(&operands, changed);
    }

    /// The same, over other operands.
    pub fn same_op_on(&mut self, operands: &[Value], changed: &[(&str, Attr)]) {
        let op = self.build.program.op(self.op).clone();
        let name = self.build.program.op_name(self.op).to_owned();
        let mut attrs: Vec<(Name, Attr)> = op.attrs.to_vec();
        for &(key, attr) in changed {
            let key = self.build.program.name(key);
            match attrs.iter_mut().find(|a| a.0 == key) {
                Some(a) => a.1 = attr,
                None => attrs.push((key, attr)),
            }
        }
        // Shardings describe the global program.
        attrs.retain(|a| !sdy::is_attribute(self.build.program.name_text(a.0)));
        let local = self.build.raw(op.def, &name, operands, &self.result_types.clone(), &attrs, &op.regions);
        self.results = self.build.program.results(local).collect();
    }

    /// The rows that the local operand has along a dimension, where they aren't the device's shard.
    pub fn fetched(&self, operand: usize, dim: usize) -> Option<Fetched> {
        self.fetched.iter().copied().find(|f| (f.operand, f.dim) == (operand, dim))
    }

    /// The global type of result `i`.
    pub fn global_result(&self, i: usize) -> Option<&TensorType> {
        self.build.program.view(self.op).result_tensor(i)
    }

    /// The local shape of result `i`.
    pub fn local_shape(&self, i: usize) -> Shape {
        self.build.program.type_data(self.result_types[i]).tensor().map(|t| t.shape.clone()).unwrap_or_default()
    }

    /// The local shape of operand `i`.
    pub fn operand_shape(&self, i: usize) -> Shape {
        self.build.program.tensor_type(self.operands[i]).map(|t| t.shape.clone()).unwrap_or_default()
    }

    /// Where dimension `dim` of result `result` begins on this device (rank-0 `i64`); `None` when it isn't sharded.
    pub fn offset(&mut self, result: usize, dim: usize) -> Option<Value> {
        self.offsets.result_offset(&mut self.build, result, dim)
    }

    /// The same of operand `operand`.
    pub fn operand_offset(&mut self, operand: usize, dim: usize) -> Option<Value> {
        self.offsets.operand_offset(&mut self.build, operand, dim)
    }

    /// The global shape of operand `i`.
    pub fn global_operand_shape(&self, i: usize) -> Shape {
        self.build.program.view(self.op).operand_tensor(i).map(|t| t.shape.clone()).unwrap_or_default()
    }
}
