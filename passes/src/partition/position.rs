//! The device's position: its coordinates along mesh axes as values of the per-device program.
//!
//! Digits of the partition id are computed by division and remainder, once per block: a value created inside a loop's
//! body isn't visible outside, so every block has a separate cache. The digits are unsigned, because compilers then
//! replace divisions by powers of two by shifts. Positions are `i32` where those of all tensors fit, because TPUs have
//! no 64-bit integers.

use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Program, Value};
use dialect::literal::Literal;
use dialect::ops::build;
use dialect::scalar::Scalar;
use dialect::sharding::{Axes, AxisPart, Mesh, PerDevice, ReductionKind, digits, index};
use rustc_hash::FxHashMap;

/// Positions up to this number are `i32`: the sum of two is less than 2^31.
const MOST: i64 = (1 << 30) - 1;

/// Returns the type of positions in tensors of which `values` are all: `i32`, or `i64` if any dimension is too large.
pub(crate) fn element_of(program: &Program, mesh: &Mesh, values: &[Value]) -> ElementType {
    // Padding adds fewer elements to a dimension than there are devices.
    let most = MOST.saturating_sub(mesh.devices());
    let fits = |&v: &Value| program.tensor_type(v).is_none_or(|t| t.shape.iter().all(|&size| size <= most));
    if most > 0 && values.iter().all(fits) { ElementType::I32 } else { ElementType::I64 }
}

/// The values that one block has already computed.
#[derive(Clone)]
pub(crate) struct Positions {
    /// The type of positions, `i32` or `i64`.
    element: ElementType,
    partition: Option<Value>,
    coordinates: FxHashMap<Axes, Value>,
    offsets: FxHashMap<(Axes, i64, ElementType), Value>,
    /// Values whose padding along a dimension was replaced by the identity of a reduction.
    pub(super) masked: FxHashMap<(Value, usize, ReductionKind), Value>,
    /// Rows that were sent to neighbors.
    pub(super) sent: super::halo::AllSent,
    /// Values with the rows of neighbors that several ops read, by the index of the set of these ops.
    pub(super) shared: FxHashMap<(Value, usize), Value>,
}

impl Positions {
    /// Creates the cache of a block in which positions are of type `element`, see [`element_of`].
    pub(crate) fn new(element: ElementType) -> Self {
        Self {
            element,
            partition: None,
            coordinates: FxHashMap::default(),
            offsets: FxHashMap::default(),
            masked: FxHashMap::default(),
            sent: Default::default(),
            shared: FxHashMap::default(),
        }
    }

    /// Builds a rank-0 constant of the type of positions.
    pub(super) fn constant(&self, b: &mut Builder<'_>, value: i64) -> Value {
        build::integer(b, self.element, value)
    }

    /// Returns the type in which to compute numbers between `numbers`: that of positions if they fit.
    pub(super) fn element_for(&self, numbers: [i64; 2]) -> ElementType {
        if numbers.iter().all(|n| (-MOST..=MOST).contains(n)) { self.element } else { ElementType::I64 }
    }

    /// Returns the device's index along `axes`, major first, of rank 0 and the type of positions.
    pub(crate) fn coordinate(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart]) -> Value {
        let key = Axes::from_slice(axes);
        if let Some(&v) = self.coordinates.get(&key) {
            return v;
        }
        let id = self.partition_id(b, mesh);
        let digits = digits(mesh, axes);
        let value = if mesh.device_ids.is_some() {
            // The devices are in no regular order: a table maps each to its position.
            let entries = mesh.positions().into_iter().map(|at| Scalar::Int(index(&digits, at).into()));
            let table = Literal::from_scalars(self.element, &[mesh.devices()], entries);
            let id = build::convert(b, id, self.element);
            entry_of(b, table, id)
        } else {
            let (devices, integer) = (mesh.devices(), b.tensor(id).element);
            let mut sum = None;
            for d in &digits {
                let mut v = id;
                if d.stride > 1 {
                    let stride = build::integer(b, integer, d.stride);
                    v = build::divide(b, v, stride);
                }
                if d.stride * d.size < devices {
                    let size = build::integer(b, integer, d.size);
                    v = build::remainder(b, v, size);
                }
                sum = Some(match sum {
                    None => v,
                    Some(high) => {
                        let size = build::integer(b, integer, d.size);
                        let high = build::multiply(b, high, size);
                        build::add(b, high, v)
                    }
                });
            }
            match sum {
                Some(sum) => build::convert(b, sum, self.element),
                None => self.constant(b, 0),
            }
        };
        self.coordinates.insert(key, value);
        value
    }

    /// Returns the device's index along `axes` times `size`, the start of its shard, of rank 0 and the type of
    /// positions.
    pub(super) fn offset(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart], size: i64) -> Value {
        self.offset_as(b, mesh, axes, size, self.element)
    }

    /// Returns the device's index along `axes` times `size`, computed in the type `element`, of rank 0.
    pub(super) fn offset_as(
        &mut self,
        b: &mut Builder<'_>,
        mesh: &Mesh,
        axes: &[AxisPart],
        size: i64,
        element: ElementType,
    ) -> Value {
        let key = (Axes::from_slice(axes), size, element);
        if let Some(&v) = self.offsets.get(&key) {
            return v;
        }
        let mut value = self.coordinate(b, mesh, axes);
        value = build::convert(b, value, element);
        if size != 1 {
            let size = build::integer(b, element, size);
            value = build::multiply(b, value, size);
        }
        self.offsets.insert(key, value);
        value
    }

    /// Returns the device's number in `numbers`, by its position along `axes`, of rank 0 and the type of positions,
    /// which must have all of them.
    pub(crate) fn entry(&mut self, b: &mut Builder<'_>, mesh: &Mesh, axes: &[AxisPart], numbers: &PerDevice) -> Value {
        let list = match numbers {
            PerDevice::Same(v) => return self.constant(b, *v),
            PerDevice::Each(list) => list,
        };
        let at = self.coordinate(b, mesh, axes);
        let n = [list.len() as i64];
        let table = Literal::from_scalars(self.element, &n, list.iter().map(|&v| Scalar::Int(v.into())));
        entry_of(b, table, at)
    }

    /// Returns the partition id as the type in which digits are computed, of rank 0.
    fn partition_id(&mut self, b: &mut Builder<'_>, mesh: &Mesh) -> Value {
        *self.partition.get_or_insert_with(|| {
            let id = build::collective::partition_id(b);
            if mesh.devices() <= MOST { id } else { build::convert(b, id, ElementType::I64) }
        })
    }
}

/// Returns element `at` of a table of rank 1, of rank 0.
fn entry_of(b: &mut Builder<'_>, table: Literal, at: Value) -> Value {
    let table = build::constant(b, table);
    let entry = build::shape::dynamic_slice(b, table, &[at], &[1]);
    build::shape::reshape(b, entry, &[])
}
