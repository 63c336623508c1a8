//! Who meets whom at a collective. Of groups along mesh axes nothing is listed but the group a device is in.

use dialect::collective::Groups;

/// The groups of one collective as devices that meet. A permute's are its chains: devices that send to each other, one
/// after the other, and nobody else.
#[derive(Clone, Debug)]
pub struct Members {
    groups: Groups,
    permutes: bool,
    devices: usize,
    /// Looked up once where groups are lists: each device's group and place in it, or its source and target.
    table: Option<Vec<(Option<usize>, Option<usize>)>>,
}

impl Members {
    /// Of `groups`, which are pairs where it `permutes`, on `devices` devices.
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

    /// How many groups there may be.
    pub fn count(&self) -> usize {
        if self.permutes { self.devices } else { self.groups.count() }
    }

    /// The devices of a group, in order.
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

    /// The group a device is in, and its place there.
    pub fn place(&self, device: usize) -> Option<(usize, usize)> {
        if self.permutes {
            return self.place_in_chain(device);
        }
        match &self.table {
            Some(table) => table.get(device).and_then(|&(group, at)| Some((group?, at?))),
            None => self.groups.place(device as i64).filter(|_| device < self.devices),
        }
    }

    /// A chain is called after its first device, a ring after the smallest of its devices, with which it begins.
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

    /// Whom a permute brings `device` a value from.
    pub fn source(&self, device: usize) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(device)?.0,
            None => self.partner(self.groups.source(device as i64)),
        }
    }

    /// Whom a permute brings the value of `device`.
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
