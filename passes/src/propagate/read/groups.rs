//! Sharding groups: values that always have the same sharding. Source: Shardy, `sharding-group-import`,
//! `ShardingGroupMap`.

use std::collections::BTreeMap;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::Program;

use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::sharding::{Sharding, ShardingId};
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Graph, Node, Val};

/// Checks that all members of every group have the same shape, and reports differences. Runs before constants are
/// copied for their uses, because that removes constants that only groups read.
pub fn check(graph: &Graph, program: &Program, diagnostics: &mut Diagnostics) -> bool {
    let mut fine = true;
    for members in united(graph, program) {
        fine &= same_shape(graph, program, &members, diagnostics);
    }
    fine
}

/// Reads the groups, merges those that share a value, and gives the members of each group a common sharding.
pub fn read(engine: &mut Engine, program: &mut Program, diagnostics: &mut Diagnostics) {
    for members in united(&engine.graph, program) {
        let group = engine.groups.len() as u32;
        let mut list = Vec::new();
        for (value, _) in members {
            if engine.group_of.insert(value, group).is_none() {
                list.push(value);
            }
        }
        engine.groups.push(list);
    }
    for group in 0..engine.groups.len() {
        synchronize(engine, program, group, diagnostics);
    }
}

/// Returns the members of each group, in the order of the text; groups that share a value are merged.
fn united(graph: &Graph, program: &Program) -> Vec<Vec<(Val, Node)>> {
    if !graph.has(Kind::Group) {
        return Vec::new();
    }
    let mut members: BTreeMap<i64, Vec<(Val, Node)>> = BTreeMap::new();
    for node in graph.postorder(program, program.body()) {
        if graph.node(node).role.kind == Kind::Group
            && let Some(op) = graph.op(node)
            && let Some(value) = graph.operands(node).next()
        {
            members.entry(program.view(op).int("group_id").unwrap_or(0)).or_default().push((value, node));
        }
    }
    let mut leader_of: BTreeMap<i64, i64> = members.keys().map(|&id| (id, id)).collect();
    unite(&members, &mut leader_of);
    let mut united: BTreeMap<i64, Vec<(Val, Node)>> = BTreeMap::new();
    for (id, values) in members {
        united.entry(leader_of[&id]).or_default().extend(values);
    }
    united.values_mut().for_each(|values| values.sort_by_key(|&(_, node)| node));
    united.into_values().collect()
}

/// Merges groups that share a value; the smallest id represents them all.
fn unite(members: &BTreeMap<i64, Vec<(Val, Node)>>, leader_of: &mut BTreeMap<i64, i64>) {
    fn leader(of: &BTreeMap<i64, i64>, mut id: i64) -> i64 {
        while of[&id] != id {
            id = of[&id];
        }
        id
    }
    let mut group_of: BTreeMap<Val, i64> = BTreeMap::new();
    for (&id, values) in members {
        for &(value, _) in values {
            let other = *group_of.entry(value).or_insert(id);
            let (a, b) = (leader(leader_of, id), leader(leader_of, other));
            leader_of.insert(a.max(b), a.min(b));
        }
    }
    for id in leader_of.keys().copied().collect::<Vec<_>>() {
        let found = leader(leader_of, id);
        leader_of.insert(id, found);
    }
}

/// The limit on the members of a group that a diagnostic points at.
const MAX_SHOWN: usize = 8;

fn same_shape(graph: &Graph, program: &Program, values: &[(Val, Node)], diagnostics: &mut Diagnostics) -> bool {
    let shape = |value: Val| program.tensor_type(graph.program_value(value)).map(|t| t.shape.clone());
    let Some(&(first, _)) = values.first() else {
        return true;
    };
    for &(value, node) in values {
        if shape(value) != shape(first) {
            let span = graph.op(node).map(|op| program.op(op).span).unwrap_or_default();
            let text = |v: Val| program.type_text(program.value_type(graph.program_value(v)));
            let d =
                Diagnostic::error(codes::SHARDING_GROUP, span, "values of one sharding group must have the same shape");
            let first_span = program.value_span(graph.program_value(first));
            let d = d.label(format!("a {}", text(value))).also(first_span, format!("a {}", text(first)));
            diagnostics.push(d.note("group only values that should have the same sharding"));
            return false;
        }
    }
    true
}

/// Gives all members the sharding that some of them have. If their shardings differ, every member is read through an
/// open constraint instead, so that the group still gets one sharding.
fn synchronize(engine: &mut Engine, program: &mut Program, group: usize, diagnostics: &mut Diagnostics) {
    let list = engine.groups[group].clone();
    let mut common = ShardingId::NONE;
    let mut conflict = false;
    for &member in &list {
        let own = engine.graph.sharding(member);
        let says_nothing = engine.shardings.get(own).is_none_or(|s| s.dims.iter().all(|d| d.axes.is_empty() && d.open));
        if list.len() > 1 && says_nothing {
            continue;
        }
        conflict |= common.is_some() && own != common;
        if !common.is_some() {
            common = own;
        }
    }
    let Some(sharding) = engine.shardings.get(common).cloned() else {
        return;
    };
    if !conflict {
        for member in list {
            engine.set_sharding(member, common);
        }
        return;
    }
    let first = engine.graph.program_value(list[0]);
    let message = "values of one sharding group have different initial shardings, so each gets an open constraint";
    let mut warning = Diagnostic::warning(codes::SHARDING_GROUP_START, program.value_span(first), message);
    for (i, &member) in list.iter().enumerate().take(MAX_SHOWN) {
        let own = engine.shardings.get(engine.graph.sharding(member)).map(|s| engine.meshes.write(s));
        let text = own.map_or("no initial sharding".to_owned(), |s| format!("initially {}", program.sharding_text(&s)));
        let span = program.value_span(engine.graph.program_value(member));
        warning = if i == 0 { warning.label(text) } else { warning.also(span, text) };
    }
    diagnostics.push(warning.note("annotate all members with the same sharding, or only one member"));
    let open = engine.shardings.intern(Sharding::open(sharding.mesh, sharding.rank()));
    for (i, member) in list.into_iter().enumerate() {
        let place = engine.graph.after(member);
        let Some(node) = engine.new_constraint(program, member, open, place) else {
            continue;
        };
        let rule = engine.identity_rule(program, member, 1);
        engine.graph.nodes[node].rule = rule;
        let result = engine.graph.result(node, 0);
        engine.graph.replace_uses(member, result, |graph, u| graph.user(u) != node);
        engine.group_of.remove(&member);
        engine.group_of.insert(result, group as u32);
        engine.groups[group][i] = result;
    }
}
