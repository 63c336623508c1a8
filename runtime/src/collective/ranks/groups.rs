//! The ranks that have the devices of a group.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::collective::Site;

/// The maximum number of groups of ranks that the wire is asked to prepare: MPI has few communicators, and each takes
/// memory.
const MAX_GROUPS: usize = 128;

/// The positions of a group's members, by rank.
pub(super) struct Spanning {
    /// For each member on this rank, its index among the members on this rank; `None` for the others.
    pub(super) local: Vec<Option<usize>>,
    /// The positions of the members on this rank.
    pub(super) mine: Vec<usize>,
    /// Each other rank with the positions of its members.
    pub(super) others: Vec<(usize, Vec<usize>)>,
    /// The first device of the group on this rank.
    pub(super) leader: usize,
}

impl Spanning {
    /// Returns the distribution of these members; `None` if all of them are among the devices `held` on this rank.
    pub(super) fn of(members: &[usize], held: &Range<usize>) -> Option<Self> {
        let mine: Vec<usize> = (0..members.len()).filter(|&i| held.contains(&members[i])).collect();
        if mine.len() == members.len() {
            return None;
        }
        let mut local = vec![None; members.len()];
        mine.iter().enumerate().for_each(|(i, &place)| local[place] = Some(i));
        let mut others: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut index: FxHashMap<usize, usize> = FxHashMap::default();
        for place in (0..members.len()).filter(|&i| local[i].is_none()) {
            let rank = members[place] / held.len();
            let at = *index.entry(rank).or_insert(others.len());
            if at == others.len() {
                others.push((rank, Vec::new()));
            }
            others[at].1.push(place);
        }
        let leader = mine.first().map_or(usize::MAX, |&place| members[place]);
        Some(Self { local, mine, others, leader })
    }

    /// Returns the number of ranks.
    pub(super) fn ranks(&self) -> usize {
        self.others.len() + 1
    }

    /// Returns the positions of the members of each rank, ranks in ascending order. `rank` is the number of this rank.
    pub(super) fn by_rank(&self, rank: usize) -> Vec<&[usize]> {
        let mine = [(rank, &self.mine[..])];
        let others = self.others.iter().map(|(rank, places)| (*rank, &places[..]));
        let mut all: Vec<(usize, &[usize])> = others.chain(mine).collect();
        all.sort_unstable_by_key(|entry| entry.0);
        all.into_iter().map(|entry| entry.1).collect()
    }
}

/// The number of a group of ranks, by collective and group of devices.
type Numbers = Vec<((usize, usize), usize)>;

/// Returns the groups of ranks that the groups of these collectives span, if each rank has `devices` devices. Also
/// returns the number of the group of ranks for each collective and group of devices.
///
/// Exchanges in one group of ranks must come in the same order on all its ranks. Members of a group of devices run
/// collectives in one order if there are no loops and branches. Each collective inside a loop or branch gets groups of
/// its own, so that devices which are at different collectives never receive each other's bytes.
pub(super) fn of_sites(sites: &[(Site, bool)], devices: usize) -> (Vec<Vec<usize>>, Numbers) {
    let (mut groups, mut of): (Vec<Vec<usize>>, Numbers) = Default::default();
    let mut known: FxHashMap<(Option<usize>, Vec<usize>), usize> = FxHashMap::default();
    // Permutes use messages between two ranks, so they need no groups.
    for (number, (site, once)) in sites.iter().enumerate().filter(|(_, (site, _))| !site.members.permutes()) {
        for group in 0..site.members.count() {
            let members = site.members.of_group(group);
            let mut ranks: Vec<usize> = members.iter().map(|device| device / devices.max(1)).collect();
            ranks.sort_unstable();
            ranks.dedup();
            if ranks.len() < 2 {
                continue;
            }
            let key = ((!once).then_some(number), members);
            let is_full = groups.len() >= MAX_GROUPS;
            match known.entry(key) {
                std::collections::hash_map::Entry::Occupied(entry) => of.push(((number, group), *entry.get())),
                std::collections::hash_map::Entry::Vacant(_) if is_full => {}
                std::collections::hash_map::Entry::Vacant(entry) => {
                    of.push(((number, group), *entry.insert(groups.len())));
                    groups.push(ranks);
                }
            }
        }
    }
    (groups, of)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dialect::collective::Groups;

    use super::*;
    use crate::collective::Members;

    #[test]
    fn what_may_come_in_another_order_has_a_group_of_its_own() {
        let site = |lists: &[&[i64]], permutes| {
            let lists: Vec<Vec<i64>> = lists.iter().map(|list| list.to_vec()).collect();
            let members = Arc::new(Members::new(&Groups::of_lists(&lists), permutes, 8));
            Site { name: "op".to_owned(), members }
        };
        let across: &[&[i64]] = &[&[0, 2, 4, 6], &[1, 3, 5, 7]];
        let sites = [
            (site(across, false), true),
            (site(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]], false), true),
            (site(across, false), true),
            (site(across, false), false),
            (site(&[&[0, 2]], true), true),
        ];
        // Each rank has two devices. Both groups are on all ranks, but not at the same time.
        let (groups, of) = of_sites(&sites, 2);
        assert_eq!(groups, vec![vec![0, 1, 2, 3]; 4]);
        let wanted = [((0, 0), 0), ((0, 1), 1), ((2, 0), 0), ((2, 1), 1), ((3, 0), 2), ((3, 1), 3)];
        assert_eq!(of, wanted);
    }

    #[test]
    fn who_is_where() {
        let spanning = Spanning::of(&[6, 2, 0, 3, 5], &(2..4)).expect("it spans ranks");
        assert_eq!((&spanning.mine[..], spanning.leader, spanning.ranks()), (&[1, 3][..], 2, 4));
        assert_eq!(spanning.others, [(3, vec![0]), (0, vec![2]), (2, vec![4])]);
        assert_eq!(spanning.by_rank(1), [&[2][..], &[1, 3], &[4], &[0]]);
        assert!(Spanning::of(&[2, 3], &(2..4)).is_none());
    }
}
