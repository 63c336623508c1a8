//! The devices that exchange data in a collective. For groups along mesh axes, only the requested group is computed.

use dialect::collective::Groups;

/// The groups of devices that exchange data in one collective. The groups of a permute are its chains: each device of a
/// chain sends to the next one only.
#[derive(Clone, Debug)]
pub struct Members {
    groups: Groups,
    permutes: bool,
    devices: usize,
    /// For each device, its group and its position in the group; for a permute, its source and its target. Only filled
    /// if the groups are lists.
    table: Option<Vec<(Option<usize>, Option<usize>)>>,
}

impl Members {
    /// Returns the members for `groups` on `devices` devices. `groups` are pairs if the collective `permutes`.
    pub fn new(groups: &Groups, permutes: bool, devices: usize) -> Self {
        let known = |id: i64| usize::try_from(id).ok().filter(|&d| d < devices);
        let table = groups.are_lists().then(|| {
            let mut table = vec![(None, None); devices];
            if permutes {
                for (source, target) in groups.pairs() {
                    if let (Some(source), Some(target)) = (known(source), known(target)) {
                        table[target].0 = Some(source);
                        table[source].1 = Some(target);
                    }
                }
            } else {
                for (g, group) in groups.iter().enumerate() {
                    group.filter_map(known).enumerate().for_each(|(i, d)| table[d] = (Some(g), Some(i)));
                }
            }
            table
        });
        Self { groups: groups.clone(), permutes, devices, table }
    }

    /// Returns whether the groups are chains of a permute.
    pub fn permutes(&self) -> bool {
        self.permutes
    }

    /// Returns an upper bound on the number of groups.
    pub fn count(&self) -> usize {
        if self.permutes { self.devices } else { self.groups.count() }
    }

    /// Returns the devices of a group, in order.
    pub fn of_group(&self, group: usize) -> Vec<usize> {
        if !self.permutes {
            let known = |id: i64| usize::try_from(id).ok().filter(|&d| d < self.devices);
            return self.groups.group(group).filter_map(known).collect();
        }
        let mut chain = vec![group];
        while let Some(next) = self.target(chain[chain.len() - 1]).filter(|&d| d != group) {
            chain.push(next);
        }
        chain
    }

    /// Returns the number of devices of a group.
    pub fn size(&self, group: usize) -> usize {
        // Axes divide all devices into groups of equal size.
        if self.table.is_none() && !self.permutes { self.groups.size() } else { self.of_group(group).len() }
    }

    /// Returns the group of a device and the device's position in it.
    pub fn place(&self, device: usize) -> Option<(usize, usize)> {
        if self.permutes {
            return self.place_in_chain(device);
        }
        match &self.table {
            Some(table) => table.get(device).and_then(|&(group, at)| Some((group?, at?))),
            None => self.groups.place(device as i64).filter(|_| device < self.devices),
        }
    }

    /// Returns the chain of a device and its position in the chain. The first device of a chain identifies it. A cycle
    /// begins with its smallest device.
    fn place_in_chain(&self, device: usize) -> Option<(usize, usize)> {
        let takes_part = self.source(device).is_some() || self.target(device).is_some();
        takes_part.then_some(())?;
        let (mut at, mut steps) = (device, 0);
        let mut smallest = (device, 0);
        while let Some(source) = self.source(at) {
            if source == device {
                return Some(smallest);
            }
            (at, steps) = (source, steps + 1);
            smallest = smallest.min((at, steps));
        }
        Some((at, steps))
    }

    /// Returns the device from which a permute sends a value to `device`.
    pub fn source(&self, device: usize) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(device)?.0,
            None => self.partner(self.groups.source(device as i64)),
        }
    }

    /// Returns the device to which a permute sends the value of `device`.
    fn target(&self, device: usize) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(device)?.1,
            None => self.partner(self.groups.target(device as i64)),
        }
    }

    fn partner(&self, device: Option<i64>) -> Option<usize> {
        usize::try_from(device?).ok().filter(|&d| d < self.devices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_of_a_permute() {
        // A cycle of three, a chain of two, and a device that sends to itself; device 6 takes no part.
        let pairs: Vec<Vec<i64>> = [[4, 0], [0, 2], [2, 4], [5, 1], [3, 3]].map(|p| p.to_vec()).to_vec();
        let members = Members::new(&Groups::of_lists(&pairs), true, 7);
        let groups: Vec<Vec<usize>> = [0, 5, 3].into_iter().map(|g| members.of_group(g)).collect();
        assert_eq!(groups, [vec![0, 2, 4], vec![5, 1], vec![3]]);
        let places: Vec<Option<(usize, usize)>> = (0..7).map(|d| members.place(d)).collect();
        let expected = [(0, 0), (5, 1), (0, 1), (3, 0), (0, 2), (5, 0)].map(Some);
        assert_eq!(places[..6], expected);
        assert_eq!(places[6], None);
        let sources: Vec<Option<usize>> = (0..7).map(|d| members.source(d)).collect();
        assert_eq!(sources, [Some(4), Some(5), Some(0), Some(3), Some(2), None, None]);
    }

    #[test]
    fn of_groups_those_that_are_there() {
        let members = Members::new(&Groups::of_lists(&[vec![2, 0], vec![1, 3]]), false, 3);
        assert_eq!((members.of_group(0), members.of_group(1)), (vec![2, 0], vec![1]));
        assert_eq!([0, 1, 2, 3].map(|d| members.place(d)), [Some((0, 1)), Some((1, 0)), Some((0, 0)), None]);
    }
}
