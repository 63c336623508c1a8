//! Meshes and their axes. Source: Shardy's dialect documentation, `sdy.mesh`.

use smallvec::SmallVec;

use crate::ir::Name;

/// The largest number of devices of one mesh.
pub const MAX_DEVICES: i64 = 65_536;

/// A mesh: named axes, and devices in row-major order of their coordinates.
///
/// ```
/// use shardc_dialect::ir::Program;
/// use shardc_dialect::sharding::Mesh;
///
/// let mut program = Program::new();
/// let (x, y) = (program.name("x"), program.name("y"));
/// let mesh = Mesh { axes: [(x, 2), (y, 4)].into_iter().collect(), device_ids: None };
/// assert_eq!((mesh.devices(), mesh.axis_size(y)), (8, Some(4)));
/// assert_eq!(program.mesh_text(&mesh), r#"<["x"=2, "y"=4]>"#);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mesh {
    /// Axis names and sizes, major first.
    pub axes: SmallVec<[(Name, i64); 3]>,
    /// The logical device at each row-major position; `None` means 0, 1, 2, …
    pub device_ids: Option<Vec<i64>>,
}

impl Mesh {
    /// Returns the number of devices; saturating. A maximal mesh has one.
    pub fn devices(&self) -> i64 {
        self.axes.iter().fold(1i64, |n, a| n.saturating_mul(a.1))
    }

    /// Returns the size of the axis, if the mesh has it.
    pub fn axis_size(&self, name: Name) -> Option<i64> {
        self.axes.iter().find(|a| a.0 == name).map(|a| a.1)
    }

    /// Returns the axis's position in the mesh.
    pub fn axis_index(&self, name: Name) -> Option<usize> {
        self.axes.iter().position(|a| a.0 == name)
    }

    /// Returns whether the mesh is a single device (`<[], device_ids=[k]>`).
    pub fn is_maximal(&self) -> bool {
        self.axes.is_empty() && self.device_ids.is_some()
    }

    /// Returns the row-major position of each device, `0 .. devices`. Ids outside this range are ignored.
    pub fn positions(&self) -> Vec<i64> {
        let mut positions: Vec<i64> = (0..self.devices().max(1)).collect();
        if self.device_ids.is_some() {
            for at in 0..positions.len() {
                if let Some(p) = usize::try_from(self.device_at(at)).ok().and_then(|device| positions.get_mut(device)) {
                    *p = at as i64;
                }
            }
        }
        positions
    }

    /// Returns the device at row-major position `position`.
    pub fn device_at(&self, position: usize) -> i64 {
        match &self.device_ids {
            Some(ids) => ids.get(position).copied().unwrap_or(position as i64),
            None => position as i64,
        }
    }
}

/// A part of an axis: the axis is seen as sizes `[pre, size, rest]`, major first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubAxis {
    /// Product of the sizes to the left.
    pub pre: i64,
    /// Size of this part.
    pub size: i64,
}

/// A reference to an axis or to a part of one: `"x"` or `"x":(2)4`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisRef {
    /// The axis.
    pub name: Name,
    /// The part; `None` is the whole axis.
    pub sub: Option<SubAxis>,
}

impl AxisRef {
    /// Returns the whole axis.
    pub fn full(name: Name) -> Self {
        Self { name, sub: None }
    }

    /// Returns its size in `mesh`; 1 for an unknown axis.
    pub fn size(self, mesh: &Mesh) -> i64 {
        match self.sub {
            Some(s) => s.size,
            None => mesh.axis_size(self.name).unwrap_or(1),
        }
    }

    /// `(pre, size)` in `mesh`, with `(1, full size)` for a whole axis.
    pub fn range(self, mesh: &Mesh) -> (i64, i64) {
        match self.sub {
            Some(s) => (s.pre, s.size),
            None => (1, mesh.axis_size(self.name).unwrap_or(1)),
        }
    }

    /// Returns whether two references name parts of `mesh` that overlap.
    pub fn overlaps(self, other: Self, mesh: &Mesh) -> bool {
        mesh.axis_part(self).zip(mesh.axis_part(other)).is_some_and(|(a, b)| a.overlaps(b))
    }

    /// Returns the reference for `(pre, size)` of `name`, canonical: a whole-axis reference when the part is all of it.
    pub fn part(name: Name, pre: i64, size: i64, mesh: &Mesh) -> Self {
        let whole = pre == 1 && mesh.axis_size(name) == Some(size);
        Self { name, sub: (!whole).then_some(SubAxis { pre, size }) }
    }
}

/// Product of the sizes of `axes` in `mesh`.
pub fn axes_size(axes: &[AxisRef], mesh: &Mesh) -> i64 {
    axes.iter().fold(1i64, |n, a| n.saturating_mul(a.size(mesh)))
}

/// Axes of one dimension, major first.
pub type AxisList = SmallVec<[AxisRef; 2]>;
