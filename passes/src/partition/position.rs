//! The device's position: its coordinates along mesh axes as values of the per-device program.
//!
//! Digits of the partition id are computed by division and remainder, once per block: a value created inside a loop's
//! body isn't visible outside, so every block has a separate cache.

use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Value};
use dialect::literal::Literal;
use dialect::ops::build;
use dialect::scalar::Scalar;
use dialect::sharding::{Axes, AxisPart, Mesh, PerDevice, ReductionKind, digits, index};
use rustc_hash::FxHashMap;

/// The values that one block has already computed.
#[derive(Default, Clone)]
pub(crate) struct Positions {
    partition: Option<Value>,
    coordinates: FxHashMap<Axes, Value>,
    offsets: FxHashMap<(Axes, i64), Value>,
    /// Values whose padding along a dimension was replaced by the identity of a reduction.
    pub(super) masked: FxHashMap<(Value, usize, ReductionKind), Value>,
    /// Rows that were sent to neighbors.
    pub(super) sent: super::halo::AllSent,
    /// Values with the rows of neighbors that several ops read, by the index of the set of these ops.
    pub(super) shared: FxHashMap<(Value, usize), Value>,
}

impl Positions {
    /// Returns the device's index along `axes`, major first: rank-0 `i64`.
    pub(crate) fn coordinate(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart]) -> Value {
        let key = Axes::from_slice(axes);
        if let Some(&v) = self.coordinates.get(&key) {
            return v;
        }
        let id = self.partition_id(b);
        let digits = digits(mesh, axes);
        let value = if mesh.device_ids.is_some() {
            // The devices are in no regular order: a table maps each to its position.
            let entries = mesh.positions().into_iter().map(|at| Scalar::Int(index(&digits, at).into()));
            let table = Literal::from_scalars(ElementType::I64, &[mesh.devices()], entries);
            let table = build::constant(b, table);
            let entry = build::shape::dynamic_slice(b, table, &[id], &[1]);
            build::shape::reshape(b, entry, &[])
        } else {
            let devices = mesh.devices();
            let mut sum = None;
            for d in &digits {
                let mut v = id;
                if d.stride > 1 {
                    let stride = build::index(b, d.stride);
                    v = build::divide(b, v, stride);
                }
                if d.stride * d.size < devices {
                    let size = build::index(b, d.size);
                    v = build::remainder(b, v, size);
                }
                sum = Some(match sum {
                    None => v,
                    Some(high) => {
                        let size = build::index(b, d.size);
                        let high = build::multiply(b, high, size);
                        build::add(b, high, v)
                    }
                });
            }
            sum.unwrap_or_else(|| build::index(b, 0))
        };
        self.coordinates.insert(key, value);
        value
    }

    /// Returns the device's index along `axes` times `size`, the start of its shard: rank-0 `i64`.
    pub(super) fn offset(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart], size: i64) -> Value {
        let key = (Axes::from_slice(axes), size);
        if let Some(&v) = self.offsets.get(&key) {
            return v;
        }
        let mut value = self.coordinate(b, mesh, axes);
        if size != 1 {
            let size = build::index(b, size);
            value = build::multiply(b, value, size);
        }
        self.offsets.insert(key, value);
        value
    }

    /// Returns the device's number in `numbers`, by its position along `axes`: rank-0 `i64`.
    pub(crate) fn entry(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart], numbers: &PerDevice) -> Value {
        let list = match numbers {
            PerDevice::Same(v) => return build::index(b, *v),
            PerDevice::Each(list) => list,
        };
        let at = self.coordinate(b, mesh, axes);
        let n = [list.len() as i64];
        let table = Literal::from_scalars(ElementType::I64, &n, list.iter().map(|&v| Scalar::Int(v.into())));
        let table = build::constant(b, table);
        let entry = build::shape::dynamic_slice(b, table, &[at], &[1]);
        build::shape::reshape(b, entry, &[])
    }

    fn partition_id(&mut self, b: &mut Builder<'_>) -> Value {
        if let Some(v) = self.partition {
            return v;
        }
        let id = build::collective::partition_id(b);
        let value = build::convert(b, id, ElementType::I64);
        self.partition = Some(value);
        value
    }
}
