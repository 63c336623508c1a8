//! Splitting a global tensor into the devices' shards by a sharding, and assembling it from shards. Padding is zero
//! unless stated otherwise.

use super::axis::{AxesPerDim, size_of};
use super::groups::{Digit, digits, index};
use super::mesh::{AxisRef, Mesh};
use super::shard::{Padding, Shard};
use super::sharding::{ReductionKind, TensorSharding};
use crate::ir::{ElementClass, ElementType, Shape, TensorType};
use crate::literal::{Indices, Literal};
use crate::scalar::{Scalar, ScalarOp};

/// The sharding of one tensor on the devices of a mesh.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The global type.
    pub ty: TensorType,
    /// One device's shard of it.
    pub shard: Shard,
    /// The padding of shards made by [`Layout::cut`].
    padding: Padding,
    /// The digits of a device's position that number the shards of each dimension.
    digits_of_dims: Vec<Vec<Digit>>,
    unreduced: Vec<Digit>,
    kind: ReductionKind,
    /// The row-major position of each device; -1 for devices outside the mesh.
    positions: Vec<i64>,
}

impl Layout {
    /// Returns the layout of `ty` on `mesh` by `sharding`; replicated without a sharding.
    pub fn new(ty: &TensorType, sharding: Option<&TensorSharding>, mesh: &Mesh) -> Self {
        let axes = |named: &[AxisRef]| mesh.axes_of(named).unwrap_or_default();
        let dim = |d: usize| sharding.and_then(|s| s.dims.get(d)).map(|d| axes(&d.axes)).unwrap_or_default();
        let dims: AxesPerDim = (0..ty.rank()).map(dim).collect();
        Self {
            ty: ty.clone(),
            shard: Shard::new(&ty.shape, dims.iter().map(|d| size_of(d))),
            padding: Padding::Filled(Scalar::zero(ty.element)),
            digits_of_dims: dims.iter().map(|d| digits(mesh, d)).collect(),
            unreduced: sharding.map(|s| digits(mesh, &axes(&s.unreduced))).unwrap_or_default(),
            kind: sharding.map(|s| s.kind).unwrap_or_default(),
            positions: mesh.positions(),
        }
    }

    /// Returns the same layout among `devices` devices, if the mesh has only those that its `device_ids` name: the
    /// other devices hold zeros, which are never read.
    pub fn among(mut self, mesh: &Mesh, devices: usize) -> Self {
        let mut positions = vec![-1; devices];
        for at in 0..mesh.devices().max(0) as usize {
            let device = usize::try_from(mesh.device_at(at)).ok();
            if let Some(position) = device.and_then(|device| positions.get_mut(device)) {
                *position = at as i64;
            }
        }
        self.positions = positions;
        self
    }

    /// Returns whether a device is in the mesh.
    pub fn has(&self, device: usize) -> bool {
        self.positions.get(device).is_none_or(|&at| at >= 0)
    }

    /// Returns the position of a device; for a device outside the mesh, the first position.
    fn position(&self, device: usize) -> i64 {
        self.positions.get(device).copied().unwrap_or(0).max(0)
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.positions.len()
    }

    /// Returns the local type.
    pub fn local_type(&self) -> TensorType {
        TensorType::new(&self.shard.shape(), self.ty.element)
    }

    /// Returns the number of `device`'s shard along each dimension.
    pub fn piece(&self, device: usize) -> Shape {
        let at = self.position(device);
        self.digits_of_dims.iter().map(|d| index(d, at)).collect()
    }

    /// Returns the start and sizes of the part of the global tensor in `device`'s shard.
    pub fn range(&self, device: usize) -> (Shape, Shape) {
        self.shard.valid(&self.piece(device))
    }

    /// Returns `device`'s shard of `whole`. For an unreduced value, the first device of each group gets the value, the
    /// others the reduction's identity.
    pub fn shard(&self, whole: &Literal, device: usize) -> Literal {
        self.shard_from(device, |start, sizes| whole.piece(start, sizes))
    }

    /// Does the same as [`Layout::shard`], for a tensor of which `piece` returns any part by start and sizes.
    pub fn shard_from(&self, device: usize, piece: impl FnOnce(&[i64], &[i64]) -> Literal) -> Literal {
        let (at, local, element) = (self.position(device), self.shard.shape(), self.ty.element);
        if !self.has(device) {
            return Literal::splat(element, &local, Scalar::zero(element));
        }
        if index(&self.unreduced, at) != 0 {
            return Literal::splat(element, &local, identity(self.kind, element));
        }
        let (start, sizes) = self.range(device);
        let part = piece(&start, &sizes);
        if sizes == local {
            return part;
        }
        let zeros: Shape = sizes.iter().map(|_| 0).collect();
        let zero = Scalar::zero(element);
        match self.padding.value().unwrap_or_else(|| noticeable(element)) {
            value if value == zero => Literal::assemble(element, &local, [(zeros, &part)]),
            value => {
                let inside = |at: &Shape| at.iter().zip(&sizes).all(|(i, n)| i < n);
                let element = |at: Shape| if inside(&at) { part.get(part.position(&at)) } else { value };
                Literal::from_scalars(self.ty.element, &local, Indices::of(&local).map(element))
            }
        }
    }

    /// Returns how the shards of the same part are combined, if devices hold partial results.
    pub fn reduction(&self) -> Option<ReductionKind> {
        (!self.unreduced.is_empty()).then_some(self.kind)
    }

    /// Returns the devices whose shards together make up the tensor: the first device of those with the same shard.
    pub fn holders(&self) -> Vec<usize> {
        let mut seen = rustc_hash::FxHashSet::default();
        let is_first = |&device: &usize| {
            let at = self.position(device);
            seen.insert((self.range(device).0, index(&self.unreduced, at)))
        };
        (0..self.devices()).filter(|&d| self.has(d)).filter(is_first).collect()
    }

    /// Returns, for each device, the first one that has the same shard, padding included.
    pub fn same_shards(&self) -> Vec<usize> {
        // One number identifies a shard, because a program may have hundreds of arguments on thousands of devices.
        let all: Vec<Digit> = self.digits_of_dims.iter().chain([&self.unreduced]).flatten().copied().collect();
        let mut first = rustc_hash::FxHashMap::default();
        let shard = |device: usize| if self.has(device) { index(&all, self.position(device)) } else { -1 };
        (0..self.devices()).map(|device| *first.entry(shard(device)).or_insert(device)).collect()
    }

    /// Makes the padding undefined: shards are padded with values that show in any result that uses them.
    pub fn with_undefined_padding(mut self) -> Self {
        self.padding = Padding::Undefined;
        self
    }

    /// Assembles the global tensor from every device's shard. Of devices with the same shard the first one counts;
    /// partial results are combined in order of devices.
    pub fn assemble(&self, pieces: &[Literal]) -> Literal {
        self.assemble_held(pieces.iter().enumerate())
    }

    /// Does the same as [`Layout::assemble`] for the shards of some devices: (device, shard). Positions that are in
    /// none of them are zero.
    pub fn assemble_held<'a>(&self, pieces: impl IntoIterator<Item = (usize, &'a Literal)>) -> Literal {
        let pieces: Vec<(usize, &Literal)> = pieces.into_iter().collect();
        self.assemble_shards(pieces.iter().map(|piece| piece.0), |i| self.valid(pieces[i].0, pieces[i].1))
    }

    /// Does the same as [`Layout::assemble`] for some devices, calling `read` only for the shards that count.
    pub fn assemble_from(&self, devices: std::ops::Range<usize>, read: impl Fn(usize) -> Literal) -> Literal {
        let first = devices.start;
        self.assemble_shards(devices, |i| self.valid(first + i, &read(first + i)))
    }

    /// Returns the part of a device's shard that isn't padding.
    fn valid(&self, device: usize, shard: &Literal) -> Literal {
        let sizes = self.range(device).1;
        let zeros: Shape = sizes.iter().map(|_| 0).collect();
        shard.piece(&zeros, &sizes)
    }

    /// Assembles the global tensor from shards of `devices`; `read` returns a shard by its index in `devices`.
    fn assemble_shards(&self, devices: impl Iterator<Item = usize>, read: impl Fn(usize) -> Literal) -> Literal {
        let mut combined: Vec<(Shape, Literal)> = Vec::new();
        let mut seen = rustc_hash::FxHashMap::default();
        for (number, device) in devices.enumerate().filter(|(_, device)| self.has(*device)) {
            let at = self.position(device);
            let (start, _) = self.range(device);
            match seen.get(&start) {
                None => {
                    seen.insert(start.clone(), (combined.len(), vec![index(&self.unreduced, at)]));
                    combined.push((start, read(number)));
                }
                Some((i, parts)) if !self.unreduced.is_empty() && !parts.contains(&index(&self.unreduced, at)) => {
                    let i: usize = *i;
                    combined[i].1 = combine(self.kind, &combined[i].1, &read(number));
                    if let Some(entry) = seen.get_mut(&combined[i].0) {
                        entry.1.push(index(&self.unreduced, at));
                    }
                }
                Some(_) => {}
            }
        }
        let full: Vec<(Shape, &Literal)> =
            combined.iter().filter(|c| !c.1.is_empty()).map(|c| (c.0.clone(), &c.1)).collect();
        Literal::assemble(self.ty.element, &self.ty.shape, full)
    }
}

/// Returns a padding value that spoils any result that uses it: NaN, or an integer other than zero, one and the
/// extremes.
fn noticeable(element: ElementType) -> Scalar {
    match element.class() {
        ElementClass::Float => Scalar::Float(f64::NAN).round(element),
        ElementClass::Complex => Scalar::Complex(f64::NAN, f64::NAN),
        ElementClass::Bool => Scalar::Int(1),
        _ => Scalar::Int(-3).round(element),
    }
}

/// Returns the identity of a reduction: combining it with any value returns that value.
pub fn identity(kind: ReductionKind, element: ElementType) -> Scalar {
    reduction_op(kind).identity(element).unwrap_or_else(|| Scalar::zero(element))
}

/// Returns the scalar operation of a reduction kind.
pub fn reduction_op(kind: ReductionKind) -> ScalarOp {
    match kind {
        ReductionKind::Sum => ScalarOp::Add,
        ReductionKind::Max => ScalarOp::Max,
        ReductionKind::Min => ScalarOp::Min,
    }
}

fn combine(kind: ReductionKind, a: &Literal, b: &Literal) -> Literal {
    let op = reduction_op(kind);
    let values = (0..a.len()).map(|i| op.apply(a.element, a.element, &[a.get(i), b.get(i)]));
    Literal::from_scalars(a.element, &a.shape, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Program;
    use crate::sharding::{DimSharding, MeshRef};

    #[test]
    fn devices_with_the_same_shard() {
        let mut p = Program::new();
        let names = ["x", "y", "z"].map(|name| p.name(name));
        let device_ids = Some(vec![3, 1, 2, 0, 4, 7, 6, 5, 8, 9, 11, 10]);
        let mesh = Mesh { axes: names.iter().copied().zip([2, 3, 2]).collect(), device_ids };
        let [x, y, z] = names.map(AxisRef::full);
        let ty = TensorType::new(&[5, 4], ElementType::F32);
        for (rows, columns, unreduced) in [
            (vec![], vec![], vec![]),
            (vec![x, z], vec![], vec![]),
            (vec![z], vec![x], vec![y]),
            (vec![y], vec![x], vec![]),
        ] {
            let dims = [rows, columns].iter().map(|axes| DimSharding::closed(axes)).collect();
            let mut sharding = TensorSharding::with_dims(MeshRef::Symbol(names[0]), dims);
            sharding.unreduced.extend(unreduced);
            for layout in
                [Layout::new(&ty, Some(&sharding), &mesh), Layout::new(&ty, Some(&sharding), &mesh).among(&mesh, 14)]
            {
                let held = |d: usize| {
                    let unreduced = index(&layout.unreduced, layout.position(d));
                    layout.has(d).then(|| (layout.piece(d), unreduced))
                };
                let all = 0..layout.devices();
                let first = |d: usize| all.clone().find(|&other| held(other) == held(d)).expect("itself");
                assert_eq!(layout.same_shards(), all.clone().map(first).collect::<Vec<_>>());
            }
        }
    }
}
