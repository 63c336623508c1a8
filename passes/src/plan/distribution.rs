//! Distributions: how a value lies on a mesh, in small integers.
//!
//! A [`Distribution`] says what a closed `sdy.sharding` says (axes per dimension, unreduced axes and how their parts
//! combine), without names: an axis is its position in a [`Grid`]. Two distributions of one grid are equal exactly when
//! every device holds the same piece: neighboring parts of one axis are always merged, axes of size 1 left out,
//! unreduced axes sorted.

use dialect::ir::{Name, Shape, TensorType};
use dialect::sharding::{AxisRef, DimSharding, Mesh, MeshRef, ReductionKind, TensorSharding};
use smallvec::SmallVec;

/// A part of a mesh axis: the axis seen as sizes `[pre, size, rest]`, major first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Part {
    /// Position of the axis in the grid.
    pub axis: u8,
    /// Product of the sizes to the left.
    pub pre: u32,
    /// Size of this part, at least 2.
    pub size: u32,
}

impl Part {
    /// `pre * size`: where the next part begins.
    pub fn end(self) -> u32 {
        self.pre * self.size
    }

    /// Whether one value can't be cut along both: they share coordinates of one axis, or cut it at places that don't
    /// divide each other (of 6 devices the first 2 and the last 2).
    pub fn overlaps(self, other: Part) -> bool {
        let (first, last) = if self.pre <= other.pre { (self, other) } else { (other, self) };
        self.axis == other.axis && (last.pre < first.end() || !last.pre.is_multiple_of(first.end()))
    }
}

/// Parts in order, major first.
pub type Parts = SmallVec<[Part; 2]>;

/// Product of the sizes.
pub fn size_of(parts: &[Part]) -> u64 {
    parts.iter().map(|p| u64::from(p.size)).product()
}

/// Appends `part`, merged with the last one where it continues it.
pub fn push_part(parts: &mut Parts, part: Part) {
    match parts.last_mut() {
        Some(last) if last.axis == part.axis && last.end() == part.pre => last.size *= part.size,
        _ if part.size > 1 => parts.push(part),
        _ => {}
    }
}

/// The same axes, neighbors merged.
pub fn merge_parts(parts: impl IntoIterator<Item = Part>) -> Parts {
    let mut out = Parts::new();
    parts.into_iter().for_each(|p| push_part(&mut out, p));
    out
}

/// A set of axes in canonical order.
pub fn part_set(parts: impl IntoIterator<Item = Part>) -> Parts {
    let mut all: Parts = parts.into_iter().collect();
    all.sort();
    merge_parts(all)
}

/// The axes of `a` without those of `b`, as a set; both must cut them at places that divide each other.
pub fn minus(a: &[Part], b: &[Part]) -> Parts {
    let mut out = Parts::new();
    for part in a {
        let mut at = part.pre;
        let mut cuts: Parts = b.iter().copied().filter(|c| c.overlaps(*part)).collect();
        cuts.sort();
        for cut in cuts {
            if cut.pre > at {
                out.push(Part { axis: part.axis, pre: at, size: cut.pre / at });
            }
            at = at.max(cut.end());
        }
        if part.end() > at {
            out.push(Part { axis: part.axis, pre: at, size: part.end() / at });
        }
    }
    part_set(out)
}

/// How a value lies on a grid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Distribution {
    /// For each dimension the axes that cut it, major first.
    pub dims: SmallVec<[Parts; 4]>,
    /// Axes along which devices hold parts still to be combined; sorted.
    pub unreduced: Parts,
    /// How they combine; `Sum` when there are none.
    pub kind: ReductionKind,
}

impl Distribution {
    /// Every device holds the whole value.
    pub fn replicated(rank: usize) -> Self {
        Self { dims: (0..rank).map(|_| Parts::new()).collect(), ..Self::default() }
    }

    /// Cut as given, nothing unreduced.
    pub fn of_dims(dims: impl IntoIterator<Item = Parts>) -> Self {
        Self { dims: dims.into_iter().map(merge_parts).collect(), ..Self::default() }
    }

    /// The same, unreduced along `parts` (besides what already is; then `kind` must agree).
    pub fn with_unreduced(mut self, parts: &[Part], kind: ReductionKind) -> Self {
        self.unreduced = part_set(self.unreduced.iter().chain(parts).copied());
        if !self.unreduced.is_empty() {
            self.kind = kind;
        }
        self
    }

    /// The same with everything reduced.
    pub fn reduced(&self) -> Self {
        Self { dims: self.dims.clone(), ..Self::default() }
    }

    /// Rank of the values it fits.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Whether every device holds the whole value.
    pub fn is_replicated(&self) -> bool {
        self.unreduced.is_empty() && self.dims.iter().all(|d| d.is_empty())
    }

    /// Number of pieces of dimension `dim`.
    pub fn shards(&self, dim: usize) -> u64 {
        size_of(&self.dims[dim])
    }

    /// Every axis in use, dimensions first.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.dims.iter().flatten().chain(&self.unreduced).copied()
    }

    /// Sizes of one device's piece, rounded up where a dimension doesn't divide.
    pub fn local_shape(&self, shape: &[i64]) -> Shape {
        let size = |(&n, d): (&i64, &Parts)| if n < 0 { n } else { (n as u64).div_ceil(size_of(d)) as i64 };
        shape.iter().zip(&self.dims).map(size).collect()
    }

    /// Bytes of one device's piece.
    pub fn local_bytes(&self, ty: &TensorType) -> f64 {
        local_bytes(&self.local_shape(&ty.shape), ty.element.bytes())
    }

    /// Whether every dimension divides by the number of its pieces.
    pub fn is_even(&self, shape: &[i64]) -> bool {
        shape.iter().zip(&self.dims).all(|(&n, d)| n >= 0 && (n as u64).is_multiple_of(size_of(d)))
    }
}

/// Bytes of a piece of this shape.
pub fn local_bytes(shape: &[i64], element_bytes: usize) -> f64 {
    shape.iter().map(|&n| n.max(0) as f64).product::<f64>() * element_bytes as f64
}

/// The mesh that distributions speak of, and the translation from and to shardings.
#[derive(Clone, Debug)]
pub struct Grid {
    /// How the mesh is named in the program.
    pub mesh: MeshRef,
    /// The mesh.
    pub data: Mesh,
    axes: SmallVec<[(Name, u32); 4]>,
}

impl Grid {
    /// The grid of a mesh. Axes of size 1 cut nothing and are left out, so at most 16 stay.
    pub fn new(mesh: MeshRef, data: Mesh) -> Self {
        let axes = data.axes.iter().filter(|a| a.1 > 1).map(|&(name, size)| (name, size as u32)).collect();
        Self { mesh, data, axes }
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.axes.iter().map(|a| a.1 as usize).product()
    }

    /// Sizes of the axes, major first.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.axes.iter().map(|a| a.1)
    }

    /// The whole of axis `axis`.
    pub fn whole(&self, axis: usize) -> Part {
        Part { axis: axis as u8, pre: 1, size: self.axes[axis].1 }
    }

    /// Axes of `mesh` in words of this grid; `None` when the meshes order their devices differently or an axis
    /// of one straddles axes of the other.
    pub fn parts_of(&self, axes: &[AxisRef], mesh: &Mesh) -> Option<Parts> {
        let mut parts = Parts::new();
        for axis in axes {
            let (pre, size) = axis.range(mesh);
            if size <= 1 {
                continue;
            }
            let own = self.axes.iter().position(|a| a.0 == axis.name);
            match own {
                Some(i) if mesh == &self.data => {
                    push_part(&mut parts, Part { axis: i as u8, pre: pre as u32, size: size as u32 })
                }
                _ => {
                    if mesh.device_ids != self.data.device_ids || mesh.devices() != self.data.devices() {
                        return None;
                    }
                    let at = mesh.axis_index(axis.name)?;
                    let major: i64 = mesh.axes[..at].iter().map(|a| a.1).product();
                    self.parts_of_range((major * pre) as u64, size as u64, &mut parts)?;
                }
            }
        }
        Some(parts)
    }

    /// Digits `pre .. pre * size` of the device number, devices seen as `[pre, size, rest]`.
    fn parts_of_range(&self, mut pre: u64, mut size: u64, parts: &mut Parts) -> Option<()> {
        let mut begin = 1u64;
        for (i, &(_, n)) in self.axes.iter().enumerate() {
            let end = begin * u64::from(n);
            if size > 1 && pre < end {
                if !pre.is_multiple_of(begin) || !end.is_multiple_of(pre) {
                    return None;
                }
                let rest = end / pre;
                let here = if size <= rest { size } else { rest };
                if !rest.is_multiple_of(here) || !size.is_multiple_of(here) {
                    return None;
                }
                push_part(parts, Part { axis: i as u8, pre: (pre / begin) as u32, size: here as u32 });
                pre *= here;
                size /= here;
            }
            begin = end;
        }
        (size == 1).then_some(())
    }

    /// The distribution a sharding over `mesh` describes; `None` when this grid has no words for it.
    pub fn distribution(&self, sharding: &TensorSharding, mesh: &Mesh) -> Option<Distribution> {
        let dims = sharding.dims.iter().map(|d| self.parts_of(&d.axes, mesh)).collect::<Option<_>>()?;
        let unreduced = self.parts_of(&sharding.unreduced, mesh)?;
        Some(Distribution { dims, ..Distribution::default() }.with_unreduced(&unreduced, sharding.kind))
    }

    /// A part as the program writes it.
    pub fn axis_ref(&self, part: Part) -> AxisRef {
        AxisRef::part(self.axes[part.axis as usize].0, i64::from(part.pre), i64::from(part.size), &self.data)
    }

    /// Axes as the program writes them.
    pub fn axis_refs(&self, parts: &[Part]) -> dialect::sharding::AxisList {
        parts.iter().map(|&p| self.axis_ref(p)).collect()
    }

    /// The closed sharding of a distribution.
    pub fn sharding(&self, distribution: &Distribution) -> TensorSharding {
        let dims = distribution.dims.iter().map(|d| DimSharding::closed(&self.axis_refs(d))).collect();
        let mut sharding = TensorSharding::with_dims(self.mesh.clone(), dims);
        sharding.unreduced = self.axis_refs(&distribution.unreduced);
        sharding.kind = distribution.kind;
        sharding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::Program;

    fn mesh(p: &mut Program, axes: &[(&str, i64)]) -> Mesh {
        Mesh { axes: axes.iter().map(|&(n, s)| (p.name(n), s)).collect(), device_ids: None }
    }

    fn grid(p: &mut Program, axes: &[(&str, i64)]) -> Grid {
        let data = mesh(p, axes);
        Grid::new(MeshRef::Symbol(p.name("mesh")), data)
    }

    #[test]
    fn parts_of_one_axis_merge() {
        let part = |axis, pre, size| Part { axis, pre, size };
        let merged = merge_parts([part(0, 1, 2), part(0, 2, 4), part(1, 1, 2), part(0, 8, 2)]);
        assert_eq!(merged[..], [part(0, 1, 8), part(1, 1, 2), part(0, 8, 2)]);
        assert_eq!(minus(&[part(0, 1, 8)], &[part(0, 4, 2), part(0, 1, 2)])[..], [part(0, 2, 2)]);
        assert_eq!(part_set([part(1, 1, 2), part(0, 4, 2), part(0, 1, 4)])[..], [part(0, 1, 8), part(1, 1, 2)]);
        assert!(part(0, 1, 2).overlaps(part(0, 3, 2)) && !part(0, 1, 3).overlaps(part(0, 3, 2)));
        assert!(part(0, 2, 4).overlaps(part(0, 4, 4)) && !part(0, 2, 2).overlaps(part(0, 4, 2)));
    }

    #[test]
    fn shardings_translate_both_ways() {
        let mut p = Program::new();
        let g = grid(&mut p, &[("one", 1), ("x", 4), ("y", 8)]);
        let (x, y) = (p.name("x"), p.name("y"));
        let dims = [
            DimSharding::closed(&[AxisRef::full(x), AxisRef::part(y, 2, 4, &g.data)]),
            DimSharding::closed(&[AxisRef::full(p.name("one"))]),
        ];
        let mut s = TensorSharding::with_dims(g.mesh.clone(), dims.into_iter().collect());
        s.unreduced.push(AxisRef::part(y, 1, 2, &g.data));
        s.kind = ReductionKind::Max;
        let d = g.distribution(&s, &g.data).expect("a distribution");
        assert_eq!(d.shards(0), 16);
        assert_eq!(d.dims[0][..], [Part { axis: 0, pre: 1, size: 4 }, Part { axis: 1, pre: 2, size: 4 }]);
        assert_eq!(d.local_shape(&[40, 5])[..], [3, 5]);
        assert!(!d.is_even(&[40, 5]) && d.is_even(&[32, 5]));
        s.dims[1] = DimSharding::closed(&[]);
        assert_eq!(g.sharding(&d), s);
    }

    #[test]
    fn another_mesh_over_the_same_devices_translates() {
        let mut p = Program::new();
        let g = grid(&mut p, &[("x", 2), ("y", 4)]);
        let other = mesh(&mut p, &[("a", 4), ("b", 2)]);
        let (a, b) = (p.name("a"), p.name("b"));
        let parts = |axes: &[AxisRef]| g.parts_of(axes, &other);
        let (x, y) = (g.whole(0), |pre, size| Part { axis: 1, pre, size });
        assert_eq!(parts(&[AxisRef::full(a)]).unwrap()[..], [x, y(1, 2)]);
        assert_eq!(parts(&[AxisRef::full(b)]).unwrap()[..], [y(2, 2)]);
        assert_eq!(parts(&[AxisRef::full(a), AxisRef::full(b)]).unwrap()[..], [x, g.whole(1)]);
        let thirds = mesh(&mut p, &[("a", 3), ("b", 2)]);
        let six = grid(&mut p, &[("u", 2), ("v", 3)]);
        assert_eq!(six.parts_of(&[AxisRef::full(a)], &thirds), None);
        let reordered = Mesh { device_ids: Some(vec![0, 2, 4, 6, 1, 3, 5, 7]), ..other.clone() };
        assert_eq!(g.parts_of(&[AxisRef::full(a)], &reordered), None);
    }
}
