//! Manual computations: their shardings list manual axes before the free ones in every dimension, and propagation uses
//! only the free ones inside the computation and across its border. Source: Shardy, `ManualComputationOp`,
//! `manual-axes-cleanup`.

use super::sharding::Sharding;
use crate::propagate::graph::mesh::Meshes;
use dialect::sharding::axis::{difference, sort_and_merge};
use dialect::sharding::{Axes, AxisPart, DimSharding};

/// A manual computation.
pub struct Manual {
    /// The shardings of its operands.
    pub inputs: Vec<Sharding>,
    /// The shardings of its results.
    pub outputs: Vec<Sharding>,
    /// Its manual axes, as numbers in the mesh.
    pub axes: Vec<u32>,
}

impl Manual {
    /// Returns how many of a dimension's axes are manual.
    fn manual_axes(&self, axes: &[AxisPart]) -> usize {
        axes.iter().take_while(|a| self.axes.contains(&a.axis)).count()
    }

    fn part(&self, sharding: &Sharding, keep: impl Fn(&DimSharding<AxisPart>, usize) -> Axes) -> Sharding {
        let dims = sharding
            .dims
            .iter()
            .map(|d| DimSharding { axes: keep(d, self.manual_axes(&d.axes)), ..d.clone() })
            .collect();
        let free = |axes: &Axes| axes.iter().copied().filter(|a| !self.axes.contains(&a.axis)).collect();
        Sharding {
            mesh: sharding.mesh,
            dims,
            replicated: free(&sharding.replicated),
            unreduced: free(&sharding.unreduced),
            kind: sharding.kind,
        }
    }

    /// Returns `sharding` in the form used inside.
    pub fn without_manual(&self, sharding: &Sharding) -> Sharding {
        if self.axes.is_empty() {
            return sharding.clone();
        }
        self.part(sharding, |d, manual| Axes::from_slice(&d.axes[manual..]))
    }

    /// Returns `inner` in the form used outside, with the manual axes of `outer`.
    pub fn with_manual(&self, outer: &Sharding, inner: &Sharding) -> Sharding {
        let mut out = self.part(outer, |d, manual| Axes::from_slice(&d.axes[..manual]));
        for (dim, new) in out.dims.iter_mut().zip(&inner.dims) {
            dim.axes.extend_from_slice(&new.axes);
            dim.open = new.open;
            dim.priority = new.priority;
        }
        out.mesh = inner.mesh;
        out.replicated = outer.replicated.clone();
        out.unreduced = outer.unreduced.clone();
        out.kind = outer.kind;
        out
    }

    /// Names every manual axis in every sharding: those that shard no dimension are listed as replicated.
    pub fn clean_up(&mut self, meshes: &Meshes) {
        let mesh = self.inputs.iter().chain(&self.outputs).map(|s| s.mesh).find(|&m| !meshes.is_empty_mesh(m));
        let Some(mesh) = mesh else { return };
        self.axes.sort_unstable();
        let sizes = &meshes.get(mesh).mesh.axes;
        let whole: Axes = (self.axes.iter())
            .filter_map(|&a| Some(AxisPart { axis: a, pre: 1, size: u32::try_from(sizes.get(a as usize)?.1).ok()? }))
            .collect();
        for sharding in self.inputs.iter_mut().chain(&mut self.outputs) {
            let used: Axes = sharding.all_axes().collect();
            let unused = difference(&whole, &used);
            if !unused.is_empty() {
                sharding.mesh = mesh;
                sharding.replicated.extend(unused);
                sort_and_merge(&mut sharding.replicated);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_axes_come_and_go_behind_the_manual_ones() {
        let axis = |axis| AxisPart { axis, pre: 1, size: 2 };
        let mut outer = Sharding::replicated(0, 2);
        outer.dims[0].axes = Axes::from_slice(&[axis(0), axis(1)]);
        outer.replicated = Axes::from_slice(&[axis(2)]);
        let manual = Manual { inputs: vec![], outputs: vec![], axes: vec![0, 2] };
        let mut inner = manual.without_manual(&outer);
        assert_eq!(inner.dims[0].axes[..], [axis(1)]);
        assert!(inner.replicated.is_empty() && !inner.dims[0].open);
        inner.dims[1].axes.push(axis(3));
        inner.dims[1].open = true;
        let back = manual.with_manual(&outer, &inner);
        assert_eq!(back.dims[0].axes[..], [axis(0), axis(1)]);
        assert_eq!(back.dims[1].axes[..], [axis(3)]);
        assert!(back.dims[1].open && back.replicated[..] == [axis(2)]);
    }
}
