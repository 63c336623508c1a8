//! The costs of ops and values under the current plan: the upper bound on what a move can save.

use dialect::id::TiVec;

use super::roles::{Role, Roles, ValueRole, Values};
use crate::plan::program::graph::OpId;
use crate::plan::search::draft::Draft;

/// Costs under the current plan.
pub(super) struct Now {
    /// Seconds of work of all ops of each role.
    work: TiVec<Role, f64>,
    /// Whether redistributing the values of each role costs anything.
    moved: TiVec<ValueRole, bool>,
    /// The roles for which it does, in order.
    list: Vec<ValueRole>,
}

impl Now {
    pub(super) fn of(roles: &Roles, draft: &mut Draft<'_, '_>) -> Self {
        let work = roles.ops.iter().map(|ops| work(roles, draft, ops[0])).collect();
        let moved: TiVec<ValueRole, bool> = roles.values.iter().map(|values| is_moved(values, draft)).collect();
        let list = list(&moved);
        Self { work, moved, list }
    }

    /// Updates the costs after the roles of these ops, which read or make these values, got other strategies.
    pub(super) fn update(
        &mut self,
        roles: &Roles,
        draft: &mut Draft<'_, '_>,
        ops: impl IntoIterator<Item = OpId>,
        values: &[ValueRole],
    ) {
        ops.into_iter().for_each(|op| self.work[roles.of[op]] = work(roles, draft, op));
        values.iter().for_each(|&role| self.moved[role] = is_moved(&roles.values[role], draft));
        self.list = list(&self.moved);
    }

    /// Returns the seconds of work of all ops of a role.
    pub(super) fn work(&self, role: Role) -> f64 {
        self.work[role]
    }

    /// Returns the values that are redistributed at some cost, in order.
    pub(super) fn moved(&self) -> &[ValueRole] {
        &self.list
    }
}

fn list(moved: &TiVec<ValueRole, bool>) -> Vec<ValueRole> {
    moved.keys().filter(|&role| moved[role]).collect()
}

fn work(roles: &Roles, draft: &Draft<'_, '_>, op: OpId) -> f64 {
    roles.works(op).iter().map(|&(op, count)| draft.work(op, &draft.choice.places[op]) * count).sum()
}

fn is_moved(values: &Values, draft: &mut Draft<'_, '_>) -> bool {
    let v = &draft.graph.values[values.value];
    let made = draft.graph.made(&draft.choice.places, values.value);
    let needs = draft.graph.needs(&draft.choice.places, values.value);
    needs
        .into_iter()
        .any(|to| !draft.cache.is_free(v.rematerializable, to) && draft.cache.seconds(v.ty, made, to) > 0.0)
}
