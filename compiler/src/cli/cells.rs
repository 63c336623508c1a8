//! The devices that hold each shard of a tensor: a sharding in expanded form, for pictures.

use dialect::sharding::{AxisRef, Mesh, ReductionKind, Shard, TensorSharding, digits, index};

/// A sharding expanded over the devices of its mesh.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Cells {
    /// The division of the tensor into shards.
    pub shard: Shard,
    /// The holders of every shard, in row-major order.
    pub cells: Vec<Cell>,
    /// How the partial results of a group are combined; `None` if every device holds final elements.
    pub unreduced: Option<ReductionKind>,
}

/// The holders of one shard.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell {
    /// The replicas of the shard. Each is the list of devices whose values combine to it: a single device, unless the
    /// value is unreduced.
    pub replicas: Vec<Vec<i64>>,
}

impl Cells {
    /// Expands `sharding` of a tensor of static `shape` over `mesh`.
    pub(crate) fn new(shape: &[i64], sharding: &TensorSharding, mesh: &Mesh) -> Self {
        let shard = sharding.shard(shape, mesh);
        let count: i64 = shard.dims.iter().map(|d| d.shards).product();
        let devices = if mesh.is_maximal() { 1 } else { mesh.devices() };
        let digits = |axes: &[AxisRef]| digits(mesh, &mesh.axes_of(axes).unwrap_or_default());
        let cuts: Vec<_> = sharding.dims.iter().take(shape.len()).map(|d| digits(&d.axes)).collect();
        let parts = digits(&sharding.unreduced);
        // (cell, position without its unreduced coordinates, position): neighbors with equal first and second fields
        // hold partial results of one replica.
        let mut holders: Vec<(i64, i64, i64)> = (0..devices)
            .map(|position| {
                let cell =
                    cuts.iter().zip(&shard.dims).fold(0, |at, (cut, dim)| at * dim.shards + index(cut, position));
                let part: i64 = parts.iter().map(|&d| index(&[d], position) * d.stride).sum();
                (cell, position - part, position)
            })
            .collect();
        holders.sort_unstable();
        let mut cells = vec![Cell::default(); count as usize];
        for (i, &(cell, replica, position)) in holders.iter().enumerate() {
            let replicas = &mut cells[cell as usize].replicas;
            if i == 0 || (holders[i - 1].0, holders[i - 1].1) != (cell, replica) {
                replicas.push(Vec::new());
            }
            if let Some(parts) = replicas.last_mut() {
                parts.push(mesh.device_at(position as usize));
            }
        }
        let unreduced = (!sharding.unreduced.is_empty()).then_some(sharding.kind);
        Self { shard, cells, unreduced }
    }

    /// Returns the first and one past the last global position of shard `index` along `dim`. They are equal if the
    /// shard contains only padding.
    pub(crate) fn range(&self, dim: usize, index: i64) -> (i64, i64) {
        let (start, size) = self.shard.dims[dim].valid(index);
        (start, start + size)
    }

    /// Returns the cell at `index`, which has one number per dimension.
    pub(crate) fn cell(&self, index: &[i64]) -> &Cell {
        let at = index.iter().zip(&self.shard.dims).fold(0, |at, (&i, dim)| at * dim.shards + i);
        &self.cells[at as usize]
    }
}

/// Returns device numbers in short form: `3`, `0-7`, `0,4`, `0,8..56`.
pub(crate) fn short_list(devices: &[i64]) -> String {
    let step = devices.get(1).map_or(0, |d| d - devices[0]);
    let even = devices.windows(2).all(|w| w[1] - w[0] == step);
    match devices {
        [] => "-".to_owned(),
        [first, .., last] if even && step == 1 && devices.len() > 2 => format!("{first}-{last}"),
        [first, second, .., last] if even && devices.len() > 4 => format!("{first},{second}..{last}"),
        [a, b, c, .., last] if devices.len() > 6 => format!("{a},{b},{c}..{last}"),
        _ => devices.iter().map(i64::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::Program;
    use dialect::sharding::{AxisList, DimSharding, MeshRef, SubAxis};

    /// Returns the cells over the mesh `"x"=2, "y"=4` of a sharding, given as names of axes per dimension and the
    /// unreduced axes.
    fn cells(shape: &[i64], dims: &[&[&str]], unreduced: &[&str]) -> Vec<Vec<Vec<i64>>> {
        let mut p = Program::new();
        let (x, y) = (p.name("x"), p.name("y"));
        let mesh = Mesh { axes: [(x, 2), (y, 4)].into_iter().collect(), device_ids: None };
        let axis = |text: &&str| match *text {
            "x" => AxisRef::full(x),
            "y" => AxisRef::full(y),
            "y:(1)2" => AxisRef { name: y, sub: Some(SubAxis { pre: 1, size: 2 }) },
            _ => AxisRef { name: y, sub: Some(SubAxis { pre: 2, size: 2 }) },
        };
        let dims = dims.iter().map(|d| DimSharding::closed(&d.iter().map(axis).collect::<Vec<_>>())).collect();
        let mut sharding = TensorSharding::with_dims(MeshRef::Symbol(x), dims);
        sharding.unreduced = unreduced.iter().map(axis).collect::<AxisList>();
        Cells::new(shape, &sharding, &mesh).cells.into_iter().map(|c| c.replicas).collect()
    }

    #[test]
    fn devices_hold_their_pieces() {
        let alone = |d: i64| vec![vec![d]];
        assert_eq!(cells(&[4, 8], &[&["x"], &["y"]], &[]), (0..8).map(alone).collect::<Vec<_>>());
        assert_eq!(cells(&[8], &[&["y", "x"]], &[]), [0, 4, 1, 5, 2, 6, 3, 7].map(alone));
        assert_eq!(cells(&[2], &[&["x"]], &[])[1], [[4], [5], [6], [7]]);
    }

    #[test]
    fn parts_of_axes_split_them_major_first() {
        assert_eq!(cells(&[2], &[&["y:(1)2"]], &[])[1], [[2], [3], [6], [7]]);
        assert_eq!(cells(&[2], &[&["y:(2)2"]], &[])[1], [[1], [3], [5], [7]]);
    }

    #[test]
    fn unreduced_devices_are_parts_of_one_replica() {
        assert_eq!(cells(&[4], &[&[]], &["y"])[0], [[0, 1, 2, 3], [4, 5, 6, 7]]);
        assert_eq!(cells(&[4], &[&["y"]], &["x"])[3], [[3, 7]]);
    }

    #[test]
    fn lists_of_devices_are_short() {
        assert_eq!(short_list(&[0, 1, 2, 3]), "0-3");
        assert_eq!(short_list(&[0, 4]), "0,4");
        assert_eq!(short_list(&[0, 8, 16, 24, 32]), "0,8..32");
        assert_eq!(short_list(&[3, 1, 2, 7, 8, 9, 4]), "3,1,2..4");
    }
}
