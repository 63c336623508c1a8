//! The effect of collectives on differences between devices, and whether all members of their groups run them.

use std::rc::Rc;

use dialect::collective::{CollectiveKind, GroupsRule, IdMode};
use dialect::ir::{Attr, OpRef};
use rustc_hash::FxHashMap;

use super::spread::{Spread, Spreads};

/// The members of a collective's groups: computed once for all collectives with the same groups.
pub(super) struct Members {
    /// Each group in order.
    groups: Vec<Vec<u32>>,
    /// For each device the number of its group and its position in it; for a permute, the pair in which it receives.
    places: Vec<Option<(u32, u32)>>,
}

type MembersKey = (Attr, IdMode, bool);

/// The groups of all collectives, and caches of their results' spreads.
#[derive(Default)]
pub(super) struct Groups {
    known: FxHashMap<MembersKey, Option<Rc<Members>>>,
    made: FxHashMap<(MembersKey, Option<CollectiveKind>, Spread), Spread>,
    split: FxHashMap<(MembersKey, Spread), Option<(u32, u32)>>,
}

impl Groups {
    fn key(op: OpRef<'_>) -> Option<(MembersKey, GroupsRule)> {
        let rule = op.def().groups(op)?;
        Some(((op.attr_id(rule.attribute)?, rule.mode, rule.pairs), rule))
    }

    fn members(&mut self, op: OpRef<'_>, (replicas, partitions): (i64, i64)) -> Option<(MembersKey, Rc<Members>)> {
        let (key, rule) = Self::key(op)?;
        let read = || {
            let groups = rule.groups_on(op, replicas, partitions)?;
            let devices = (replicas * partitions) as usize;
            let inside = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < devices);
            let groups: Vec<Vec<u32>> = groups.iter().map(|group| group.filter_map(inside).collect()).collect();
            let mut places = vec![None; devices];
            for (g, group) in groups.iter().enumerate() {
                for (at, &device) in group.iter().enumerate().skip(usize::from(rule.pairs)) {
                    places[device as usize] = Some((g as u32, at as u32));
                }
            }
            Some(Rc::new(Members { groups, places }))
        };
        let members = self.known.entry(key).or_insert_with(read).clone()?;
        Some((key, members))
    }

    /// Returns whether no two members of a group of a collective are known to hold the same value.
    pub(super) fn all_differ(&mut self, op: OpRef<'_>, devices: (i64, i64), held: Spread, spreads: &Spreads) -> bool {
        let Some((_, members)) = self.members(op, devices) else { return false };
        let classes = spreads.classes(held);
        members.groups.iter().all(|group| {
            let mut seen: Vec<u32> = group.iter().map(|&d| classes[d as usize]).collect();
            seen.sort_unstable();
            seen.windows(2).all(|w| w[0] != w[1])
        })
    }

    /// Returns the spread of the result of a collective, given that of its operand.
    pub(super) fn result(
        &mut self,
        op: OpRef<'_>,
        devices: (i64, i64),
        operand: Spread,
        spreads: &mut Spreads,
    ) -> Spread {
        let Some((key, members)) = self.members(op, devices) else { return Spread::ANY };
        let kind = op.def().collective(op).map(|c| c.kind);
        if let Some(&known) = self.made.get(&(key, kind, operand)) {
            return known;
        }
        let classes: Vec<u32> = spreads.classes(operand).to_vec();
        // A number for the values of all members of a group together.
        let all = members.groups.iter().map(|group| group.iter().map(|&d| classes[d as usize]).collect::<Vec<u32>>());
        let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let together: Vec<u32> = all
            .map(|held| {
                let next = numbers.len() as u32;
                *numbers.entry(held).or_insert(next)
            })
            .collect();
        let first = |group: u32| members.groups[group as usize].first().map(|&d| classes[d as usize]);
        let made = spreads.by_key(members.places.iter().map(|place| match (kind, *place) {
            // Devices that receive nothing hold zeros.
            (_, None) => (0, None, 0),
            (Some(CollectiveKind::AllGather | CollectiveKind::AllReduce), Some((group, _))) => {
                (1, Some(together[group as usize]), 0)
            }
            (Some(CollectiveKind::CollectivePermute | CollectiveKind::CollectiveBroadcast), Some((group, _))) => {
                (1, first(group), 0)
            }
            (_, Some((group, at))) => (1, Some(together[group as usize]), at),
        }));
        self.made.insert((key, kind, operand), made);
        made
    }

    /// Returns two members of one group of a collective that `context`, the spread of the conditions around it, may
    /// tell apart.
    pub(super) fn split(
        &mut self,
        op: OpRef<'_>,
        devices: (i64, i64),
        context: Spread,
        spreads: &Spreads,
    ) -> Option<(u32, u32)> {
        let (key, members) = self.members(op, devices)?;
        *self.split.entry((key, context)).or_insert_with(|| {
            let classes = spreads.classes(context);
            members.groups.iter().find_map(|group| {
                let &first = group.first()?;
                let other = group.iter().find(|&&d| classes[d as usize] != classes[first as usize])?;
                Some((first, *other))
            })
        })
    }
}
