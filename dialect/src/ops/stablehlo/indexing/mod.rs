//! Ops that read or write slices at positions given by a tensor of indices: gather and scatter.
//!
//! Both relate three tensors: the operand, the indices, and the slices (gather's result, scatter's updates).
//! [`SliceDims`] defines the relation between their dimensions once. Source: the StableHLO specification; sharding
//! rules as Shardy registers them.

mod gather;
mod local;
mod scatter;
mod steps;

pub use gather::{DynamicGather, Gather, GatherDims};
pub use scatter::{Scatter, ScatterDims};

use smallvec::SmallVec;

use crate::ir::{AttrData, OpRef, Shape, TensorType};
use crate::literal::Literal;
use crate::op::OpDef;
use crate::ops::support::constraint::{Checked, dims, others, require, tensor, unique};
use crate::scalar::Scalar;
use crate::sharding::FactorKind;

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Gather, &Scatter, &DynamicGather];

/// The relation between the dimensions of operand, indices and slices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceDims {
    /// Dimensions of the slices tensor inside one slice, ascending: `offset_dims`, `update_window_dims`.
    pub window: Vec<usize>,
    /// The other dimensions of the slices tensor, ascending, which run over the indices.
    pub batch: Vec<usize>,
    /// The operand dimension for each of `window`, ascending.
    pub operand_window: Vec<usize>,
    /// Operand dimensions in which a slice has a single position: `collapsed_slice_dims`, `inserted_window_dims`.
    pub collapsed: Vec<usize>,
    /// Operand batching dimensions, paired with `indices_batching`.
    pub operand_batching: Vec<usize>,
    /// Batching dimensions of the indices, paired with `operand_batching`.
    pub indices_batching: Vec<usize>,
    /// For each component of an index, the operand dimension whose start it states.
    pub index_map: Vec<usize>,
    /// The dimension of the indices with an index's components; the rank of the indices if an index has one component
    /// and no dimension for it.
    pub index_vector_dim: usize,
}

/// The names of the attribute's fields and the specification's labels for their constraints.
struct Words {
    attr: &'static str,
    window: (&'static str, &'static str, &'static str),
    collapsed: (&'static str, &'static str, &'static str),
    operand_batching: (&'static str, &'static str),
    indices_batching: (&'static str, &'static str, &'static str),
    index_map: (&'static str, &'static str, &'static str, &'static str),
    taken: &'static str,
    rank: &'static str,
    vector: &'static str,
    vector_batching: &'static str,
    batching_count: &'static str,
    batching_size: &'static str,
}

fn ascending(values: &[usize], name: &str, label: &str) -> Checked<()> {
    require!(values.is_sorted(), "expected {name} to be sorted, found {values:?} ({label})");
    Ok(())
}

impl SliceDims {
    /// Reads and checks the dimensions; `indices` is the number of the operand with the indices, `operand` the type of
    /// the sliced tensor.
    fn check(op: OpRef<'_>, operand: &TensorType, indices: usize, words: &Words) -> Checked<Self> {
        let indices = tensor(op, indices)?;
        require!(matches!(op.attr(words.attr), Some(AttrData::Struct(..))), "expected an attribute '{}'", words.attr);
        let list = |name: &str, rank: usize, label: &str| dims(&op.field_ints(words.attr, name), rank, name, label);
        let index_vector_dim = op.field(words.attr, "index_vector_dim").and_then(AttrData::as_int).unwrap_or(0);
        let most = indices.rank();
        let fits = (0..=most as i64).contains(&index_vector_dim);
        require!(fits, "expected index_vector_dim in 0..={most}, found {index_vector_dim} ({})", words.vector);
        let index_vector_dim = index_vector_dim as usize;
        let batch_rank = indices.rank() - usize::from(index_vector_dim < indices.rank());

        let (name, order, range) = words.collapsed;
        let collapsed = list(name, operand.rank(), range)?;
        ascending(&collapsed, name, order)?;
        let (name, range) = words.operand_batching;
        let operand_batching = list(name, operand.rank(), range)?;
        ascending(&operand_batching, name, range)?;
        let one_position = [&collapsed[..], &operand_batching].concat();
        unique(&one_position, "collapsed and batching dimensions", words.taken)?;
        let operand_window = others(operand.rank(), &one_position);

        let (name, order, range) = words.window;
        let window = op.field_ints(words.attr, name);
        let (want, found, rank) = (operand_window.len(), window.len(), operand.rank());
        require!(want == found, "expected {want} {name} for operand rank {rank}, found {found} ({})", words.rank);
        let window = dims(&window, batch_rank + window.len(), name, range)?;
        unique(&window, name, order)?;
        ascending(&window, name, order)?;
        let batch = others(batch_rank + window.len(), &window);

        let (name, once, range) = words.indices_batching;
        let indices_batching = list(name, indices.rank(), range)?;
        unique(&indices_batching, name, once)?;
        let (apart, label) = (!indices_batching.contains(&index_vector_dim), words.vector_batching);
        require!(apart, "expected {name} without index_vector_dim, found {indices_batching:?} ({label})");
        let (a, b, label) = (operand_batching.len(), indices_batching.len(), words.batching_count);
        require!(a == b, "expected as many batching dimensions of operand and indices, found {a} and {b} ({label})");
        for (&o, &i) in operand_batching.iter().zip(&indices_batching) {
            let (a, b) = (operand.shape[o], indices.shape[i]);
            let fits = a == b || a < 0 || b < 0;
            require!(fits, "expected batching dimensions of one size, found {a} and {b} ({})", words.batching_size);
        }

        let (name, count, once, range) = words.index_map;
        let index_map = list(name, operand.rank(), range)?;
        let components = indices.shape.get(index_vector_dim).copied().unwrap_or(1);
        let fits = components < 0 || index_map.len() as i64 == components;
        require!(fits, "expected {name} of {components} dimensions, found {} ({count})", index_map.len());
        unique(&[&index_map[..], &operand_batching].concat(), name, once)?;
        Ok(Self {
            window,
            batch,
            operand_window,
            collapsed,
            operand_batching,
            indices_batching,
            index_map,
            index_vector_dim,
        })
    }

    /// Returns the dimension of the indices for the `k`-th batch dimension.
    pub fn indices_dim(&self, k: usize) -> usize {
        if k < self.index_vector_dim { k } else { k + 1 }
    }

    /// Returns the number of the batch dimension for dimension `d` of the indices.
    pub fn batch_number(&self, d: usize) -> usize {
        if d < self.index_vector_dim { d } else { d - 1 }
    }

    /// Returns the shape of the slices tensor for indices of shape `indices` and slices of `sizes`, one per operand
    /// dimension.
    pub fn slices_shape(&self, indices: &[i64], sizes: &[i64]) -> Shape {
        let mut shape: Shape = smallvec::smallvec![0; self.batch.len() + self.window.len()];
        for (k, &d) in self.batch.iter().enumerate() {
            shape[d] = indices[self.indices_dim(k)];
        }
        for (&d, &from) in self.window.iter().zip(&self.operand_window) {
            shape[d] = sizes[from];
        }
        shape
    }

    /// Returns, for the element at `at` of the slices tensor and every operand dimension, the position inside its slice
    /// plus that of its batch; and the start from its index, not clamped, 0 if the index has none.
    fn locate(&self, at: &[i64], rank: usize, indices: &Literal) -> (Shape, SmallVec<[i128; 4]>) {
        let mut offset: Shape = smallvec::smallvec![0; rank];
        for (&d, &to) in self.window.iter().zip(&self.operand_window) {
            offset[to] = at[d];
        }
        for (&to, &d) in self.operand_batching.iter().zip(&self.indices_batching) {
            offset[to] = at[self.batch[self.batch_number(d)]];
        }
        let mut index: Shape = smallvec::smallvec![0; indices.shape.len()];
        for (k, &d) in self.batch.iter().enumerate() {
            index[self.indices_dim(k)] = at[d];
        }
        let mut start: SmallVec<[i128; 4]> = smallvec::smallvec![0; rank];
        for (component, &to) in self.index_map.iter().enumerate() {
            if let Some(i) = index.get_mut(self.index_vector_dim) {
                *i = component as i64;
            }
            if let Scalar::Int(v) = indices.get(indices.position(&index)) {
                start[to] = v;
            }
        }
        (offset, start)
    }
}

/// One factor of a gather or scatter: its dimension in the operand, the indices and the slices.
struct SliceFactor {
    operand: Option<usize>,
    indices: Option<usize>,
    slices: Option<usize>,
    size: i64,
    kind: FactorKind,
    blocked: bool,
}

/// Returns the factors in order: those of the slices' dimensions, of collapsed dimensions, of the index vector.
/// `scatter` is the kind of factor, and so states how results combine, if only indices and updates are sharded; `None`
/// for a gather. `exact` asks for the rule along which devices compute, otherwise for Shardy's rule, which ignores into
/// which dimensions indices point, and replicates dimensions in which slices have several positions.
fn factors(
    dims: &SliceDims,
    operand: &[i64],
    indices: &[i64],
    slices: &[i64],
    scatter: Option<FactorKind>,
    exact: bool,
) -> Vec<SliceFactor> {
    let mut list = Vec::new();
    let mut add = |operand, indices, slices, size, kind| {
        list.push(SliceFactor { operand, indices, slices, size, kind, blocked: false });
    };
    use FactorKind::{NeedReplication, PassThrough, Reduction};
    // If a gather takes a part of a dimension, each device can contribute the slices that it holds; if a scatter writes
    // one position, each device writes those that it holds. The indices determine the position.
    let part = |d: usize| match scatter {
        _ if exact && !dims.index_map.contains(&d) => NeedReplication,
        None => Reduction,
        Some(_) => PassThrough,
    };
    let (mut batch, mut window) = (0, 0);
    let mut partial = Vec::new();
    for (d, &size) in slices.iter().enumerate() {
        if dims.window.contains(&d) {
            let from = dims.operand_window[window];
            let whole = operand[from];
            window += 1;
            if whole == size {
                add(Some(from), None, Some(d), whole, PassThrough);
            } else if exact || scatter.is_some() || size == 1 {
                let kind = if scatter.is_none() || exact && size == 1 { part(from) } else { NeedReplication };
                add(Some(from), None, None, whole, kind);
                add(None, None, Some(d), size, NeedReplication);
            } else {
                partial.push(d);
                add(Some(from), None, Some(d), whole, NeedReplication);
            }
        } else {
            let i = dims.indices_dim(batch);
            batch += 1;
            let together = dims.indices_batching.iter().position(|&b| b == i).map(|k| dims.operand_batching[k]);
            let kind = scatter.filter(|_| together.is_none()).unwrap_or(PassThrough);
            add(together, Some(i), Some(d), size, kind);
        }
    }
    for &d in &dims.collapsed {
        let kind = match operand[d] {
            1 if scatter.is_none() => NeedReplication,
            _ => part(d),
        };
        add(Some(d), None, None, operand[d], kind);
    }
    if let Some(&size) = indices.get(dims.index_vector_dim) {
        add(None, Some(dims.index_vector_dim), None, size, NeedReplication);
    }
    for f in &mut list {
        f.blocked = f.operand.is_some() && f.slices.is_some_and(|d| partial.contains(&d));
    }
    list
}
