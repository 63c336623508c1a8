//! Conversion of axes and shardings of a mesh between names and small integers, and between axes of two meshes.
//!
//! An axis is a run of digits of the row-major device number. If the axes of two meshes divide this number compatibly,
//! every axis of one is a list of parts of axes of the other.

use super::axis::{Axes, AxisPart, push_merged};
use super::distribution::Distribution;
use super::mesh::{AxisList, AxisRef, Mesh, SubAxis};
use super::sharding::{DimSharding, MeshRef, TensorSharding};

impl Mesh {
    /// Returns the part of an axis that `axis` names; `None` if the mesh has no such axis or its size doesn't fit.
    pub fn axis_part(&self, axis: AxisRef) -> Option<AxisPart> {
        let index = self.axis_index(axis.name)?;
        let (pre, size) = axis.sub.map_or((1, self.axes[index].1), |s| (s.pre, s.size));
        Some(AxisPart { axis: index as u32, pre: u32::try_from(pre).ok()?, size: u32::try_from(size).ok()? })
    }

    /// Returns the parts of axes that `axes` name, one for each.
    pub fn axis_parts(&self, axes: &[AxisRef]) -> Option<Axes> {
        axes.iter().map(|&a| self.axis_part(a)).collect()
    }

    /// Returns the axes that `axes` name, merged, without axes of size 1; `None` if the mesh lacks one of them.
    pub fn axes_of(&self, axes: &[AxisRef]) -> Option<Axes> {
        let mut parts = Axes::new();
        for &axis in axes {
            let part = self.axis_part(axis)?;
            if part.size > 1 {
                push_merged(&mut parts, part);
            }
        }
        Some(parts)
    }

    /// Returns the named reference for `part`, as in text.
    pub fn axis_ref(&self, part: AxisPart) -> AxisRef {
        let (name, size) = self.axes[part.axis as usize];
        let whole = part.pre == 1 && i64::from(part.size) == size;
        AxisRef { name, sub: (!whole).then_some(SubAxis { pre: part.pre.into(), size: part.size.into() }) }
    }

    /// Returns the named references for `axes`, as in text.
    pub fn axis_refs(&self, axes: &[AxisPart]) -> AxisList {
        axes.iter().map(|&a| self.axis_ref(a)).collect()
    }

    /// Translates axes of `from` to axes of this mesh, merged, without axes of size 1; `None` if the meshes order their
    /// devices differently or an axis of one straddles axes of the other.
    pub fn translate(&self, axes: &[AxisPart], from: &Mesh) -> Option<Axes> {
        if self.devices() != from.devices() || self.device_ids != from.device_ids {
            return None;
        }
        let mut out = Axes::new();
        for part in axes {
            let major: i64 = from.axes.get(..part.axis as usize)?.iter().map(|a| a.1).product();
            self.digits_of_position(major as u64 * u64::from(part.pre), part.size.into(), &mut out)?;
        }
        Some(out)
    }

    /// Translates named axes in the same way; also `None` if `from` lacks one of them.
    pub fn translate_refs(&self, axes: &[AxisRef], from: &Mesh) -> Option<AxisList> {
        Some(self.axis_refs(&self.translate(&from.axis_parts(axes)?, from)?))
    }

    /// Appends the axes that are the digits `pre .. pre * size` of the device number, seen as `[pre, size, rest]`.
    fn digits_of_position(&self, mut pre: u64, mut size: u64, out: &mut Axes) -> Option<()> {
        let mut begin = 1u64;
        for (axis, &(_, n)) in self.axes.iter().enumerate() {
            let end = begin * n as u64;
            if size > 1 && pre < end {
                if !pre.is_multiple_of(begin) || !end.is_multiple_of(pre) {
                    return None;
                }
                let rest = end / pre;
                let here = size.min(rest);
                if !rest.is_multiple_of(here) || !size.is_multiple_of(here) {
                    return None;
                }
                push_merged(out, AxisPart { axis: axis as u32, pre: (pre / begin) as u32, size: here as u32 });
                pre *= here;
                size /= here;
            }
            begin = end;
        }
        (size == 1).then_some(())
    }
}

/// The mesh of distributions, and the conversion from and to shardings.
#[derive(Clone, Debug)]
pub struct MeshAxes {
    /// The mesh's name in the program.
    pub mesh: MeshRef,
    /// The mesh.
    pub data: Mesh,
}

impl MeshAxes {
    /// Returns the axes of a mesh.
    pub fn new(mesh: MeshRef, data: Mesh) -> Self {
        Self { mesh, data }
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> usize {
        self.data.devices() as usize
    }

    /// Returns the number of axes, including those of size 1.
    pub fn len(&self) -> usize {
        self.data.axes.len()
    }

    /// Returns whether the mesh has no axes.
    pub fn is_empty(&self) -> bool {
        self.data.axes.is_empty()
    }

    /// Returns the whole of the axis at position `axis`.
    pub fn whole(&self, axis: usize) -> AxisPart {
        AxisPart::whole(axis as u32, self.data.axes[axis].1 as u32)
    }

    /// Iterates over the whole axes of more than one device, major first.
    pub fn nontrivial(&self) -> impl DoubleEndedIterator<Item = AxisPart> + Clone + '_ {
        (0..self.len()).map(|a| self.whole(a)).filter(|a| a.size > 1)
    }

    /// Translates axes of `mesh` to axes of this mesh, merged; see [`Mesh::translate`].
    pub fn axes_of(&self, axes: &[AxisRef], mesh: &Mesh) -> Option<Axes> {
        let parts = mesh.axes_of(axes)?;
        if mesh == &self.data || parts.is_empty() { Some(parts) } else { self.data.translate(&parts, mesh) }
    }

    /// Returns the distribution that a sharding over `mesh` describes; `None` if this mesh can't express it.
    pub fn distribution(&self, sharding: &TensorSharding, mesh: &Mesh) -> Option<Distribution> {
        let dims = sharding.dims.iter().map(|d| self.axes_of(&d.axes, mesh)).collect::<Option<_>>()?;
        let unreduced = self.axes_of(&sharding.unreduced, mesh)?;
        Some(Distribution { dims, ..Distribution::default() }.with_unreduced(&unreduced, sharding.kind))
    }

    /// Returns the named reference for a part.
    pub fn axis_ref(&self, part: AxisPart) -> AxisRef {
        self.data.axis_ref(part)
    }

    /// Returns the named references for axes.
    pub fn axis_refs(&self, axes: &[AxisPart]) -> AxisList {
        self.data.axis_refs(axes)
    }

    /// Returns the closed sharding equal to a distribution.
    pub fn sharding(&self, distribution: &Distribution) -> TensorSharding {
        let dims = distribution.dims.iter().map(|d| DimSharding::closed(&self.axis_refs(d))).collect();
        let mut sharding = TensorSharding::with_dims(self.mesh.clone(), dims);
        sharding.unreduced = self.axis_refs(&distribution.unreduced);
        sharding.kind = distribution.kind;
        sharding
    }
}
