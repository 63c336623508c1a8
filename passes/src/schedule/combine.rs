//! Combines collectives of one kind, over the same groups and with the same computation, into one with several
//! operands, or with one packed operand where the kind takes only one: a device pays the start-up latency once.
//!
//! Each candidate has a level: the length of the longest chain of candidates that lead to it. Candidates of one level
//! don't depend on each other, and merging them in any way creates no cycle, since levels rise along every path between
//! candidates.

use std::collections::BTreeSet;

use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, ElementType, Loc, LocData, Name, Op, Program, Ty, Value};
use dialect::kernel::Body;
use dialect::op::{Collective, CollectiveKind as Kind};
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;

use super::Forms;
use super::order::{Dependences, Merged};
use super::pack::{pack, unpack};
use crate::estimate::{Machine, bytes_of};
use crate::heuristics::HEURISTICS;

const SCATTERED: &str = "scatter_dimension";

/// Combines collectives in every block where that is faster, into the allowed `forms`; returns whether it combined any.
/// Reduce_scatters are packed, all others get several operands.
pub(super) fn combine(program: &mut Program, worth: &Worth<'_>, forms: Forms) -> bool {
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(program.body()) {
        combine_block(program, worth, forms, block, &mut renamed);
    }
    program.rename(&renamed);
    !renamed.is_empty()
}

/// The limits that decide whether combining is worth it.
pub(super) struct Worth<'a> {
    pub(super) machine: &'a Machine,
    /// The most bytes of operands and results of a combined collective.
    pub(super) largest: u64,
}

/// Collectives that may be combined.
struct Group {
    collective: Collective,
    /// Attributes except channel, cause and the dimension, which packing makes irrelevant.
    attrs: Vec<(Name, Attr)>,
    element: ElementType,
    level: usize,
    /// Positions in the block, ascending.
    members: Vec<usize>,
    /// Bytes of operands and of results.
    bytes: (u64, u64),
    seconds: f64,
}

/// Groups that may be combined with each other if that is faster.
#[derive(Default)]
struct Alike(FxHashMap<GroupKey, Vec<(Option<Body>, Sizes)>>);

/// The properties that such groups share besides the computation: level, kind, dimensions, element type and attributes.
/// Groups of one level don't depend on each other; equal groups of devices are one attribute.
type GroupKey = (usize, Kind, (usize, usize), ElementType, Vec<(Name, Attr)>);

impl Alike {
    /// Returns the groups of kind `kind` that are otherwise like `group`.
    fn of(&mut self, kind: Kind, group: &Group) -> &mut Sizes {
        let Collective { dim, concat_dim, computation, .. } = &group.collective;
        let key = (group.level, kind, (*dim, *concat_dim), group.element, group.attrs.clone());
        let by_computation = self.0.entry(key).or_default();
        let known = by_computation.iter().position(|of| of.0 == *computation);
        let at = known.unwrap_or_else(|| {
            by_computation.push((computation.clone(), Sizes::default()));
            by_computation.len() - 1
        });
        &mut by_computation[at].1
    }
}

/// Groups that are alike, by size. Whether combining is worth it depends only on the size and on whether a group has a
/// single member, so the time to find a group grows with the number of sizes, not with the number of groups.
#[derive(Default)]
struct Sizes(Vec<(Size, BTreeSet<usize>)>);

/// Bytes of operands and of results, and whether there is only one member.
type Size = ((u64, u64), bool);

impl Sizes {
    fn insert(&mut self, number: usize, group: &Group) {
        match self.0.iter_mut().find(|of| of.0 == group.size()) {
            Some((_, groups)) => drop(groups.insert(number)),
            None => self.0.push((group.size(), BTreeSet::from([number]))),
        }
    }

    fn remove(&mut self, number: usize, group: &Group) {
        for (_, groups) in self.0.iter_mut().filter(|of| of.0 == group.size()) {
            groups.remove(&number);
        }
        self.0.retain(|of| !of.1.is_empty());
    }

    /// Returns the first group from number `from` on that fits.
    fn first(&self, from: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let firsts = self.0.iter().filter_map(|of| of.1.range(from..).next().copied());
        firsts.filter(|&number| fits(number)).min()
    }
}

fn combine_block(
    program: &mut Program,
    worth: &Worth<'_>,
    forms: Forms,
    block: Block,
    renamed: &mut FxHashMap<Value, Value>,
) {
    let allowed = |group: &Group| match group.collective.kind {
        Kind::ReduceScatter => forms.packed,
        _ => forms.several_operands,
    };
    let each = program.block_ops(block).iter().enumerate();
    let candidates: Vec<(usize, Group)> =
        each.filter_map(|(i, &op)| Some((i, candidate(program, worth.machine, op).filter(allowed)?))).collect();
    if candidates.len() < 2 {
        return;
    }
    let dependences = Dependences::of(program, block);
    let mut levels: Vec<usize> = Vec::with_capacity(dependences.ops.len());
    let mut groups: Vec<Group> = Vec::new();
    let mut alike = Alike::default();
    let mut candidates = candidates.into_iter().peekable();
    for (i, waits) in dependences.waits.iter().enumerate() {
        let level = waits.iter().map(|&w| levels[w]).max().unwrap_or(0);
        let candidate = candidates.next_if(|c| c.0 == i);
        levels.push(level + usize::from(candidate.is_some()));
        let Some((_, new)) = candidate else { continue };
        let new = Group { level, members: vec![i], ..new };
        let sizes = alike.of(new.collective.kind, &new);
        let taking = sizes.first(0, |g| groups[g].takes(&new, worth));
        if let Some(g) = taking {
            sizes.remove(g, &groups[g]);
            groups[g].take(new, worth.machine);
        } else {
            groups.push(new);
        }
        let g = taking.unwrap_or(groups.len() - 1);
        sizes.insert(g, &groups[g]);
    }
    scatter_all_reduces(&mut groups, worth);
    groups.retain(|g| g.members.len() > 1);
    if groups.is_empty() {
        return;
    }
    let merged = groups.into_iter().map(|group| {
        let members: Vec<Op> = group.members.iter().map(|&m| dependences.ops[m]).collect();
        let old: Vec<Value> = members.iter().flat_map(|&m| program.results(m)).collect();
        let mut ops = Vec::new();
        let new = join(program, &members, &group, &mut ops);
        renamed.extend(old.into_iter().zip(new));
        Merged { members: group.members, ops }
    });
    let merged = merged.collect();
    dependences.replace(program, block, merged);
}

/// Packs all_reduces into reduce_scatters of their level where that saves enough time: every device keeps the
/// all_reduces' results in full.
fn scatter_all_reduces(groups: &mut Vec<Group>, worth: &Worth<'_>) {
    let (scattered, others): (Vec<Group>, Vec<Group>) =
        std::mem::take(groups).into_iter().partition(|g| g.collective.kind == Kind::ReduceScatter);
    let mut alike = Alike::default();
    for (i, other) in others.iter().enumerate().filter(|o| o.1.collective.kind == Kind::AllReduce) {
        alike.of(Kind::AllReduce, other).insert(i, other);
    }
    let mut joined = vec![false; others.len()];
    for mut group in scattered {
        let sizes = alike.of(Kind::AllReduce, &group);
        let mut next = 0;
        while let Some(i) = sizes.first(next, |i| group.takes_whole(&others[i], worth)) {
            let other = &others[i];
            sizes.remove(i, other);
            joined[i] = true;
            next = i + 1;
            group.bytes = group.bytes_with_whole(other);
            group.seconds = group.seconds_of(group.bytes, worth.machine);
            group.members.extend(&other.members);
            group.members.sort_unstable();
        }
        groups.push(group);
    }
    groups.extend(others.into_iter().zip(joined).filter(|o| !o.1).map(|o| o.0));
}

/// Returns a group with only `op`, if it is a collective of a kind that can be combined.
fn candidate(program: &Program, machine: &Machine, op: Op) -> Option<Group> {
    let view = program.view(op);
    let mut collective = view.def().collective(view)?;
    let joins = match collective.kind {
        Kind::AllReduce => collective.computation.is_some(),
        Kind::ReduceScatter => collective.computation.is_some() && view.operands().len() == 1,
        Kind::AllGather => true,
        Kind::AllToAll
        | Kind::CollectivePermute
        | Kind::CollectiveBroadcast
        | Kind::CollectiveReduce
        | Kind::RaggedAllToAll => false,
    };
    if !joins || view.def().side_effect(view) {
        return None;
    }
    let element = view.operand_tensor(0)?.element;
    let same =
        |v: Value| program.tensor_type(v).is_some_and(|t| t.element == element && t.shape.iter().all(|&d| d > 0));
    if !view.operands().iter().copied().chain(view.results()).all(same) {
        return None;
    }
    let sum = |values: &mut dyn Iterator<Item = Value>| values.map(|v| bytes_of(program, v)).sum::<f64>() as u64;
    let bytes = (sum(&mut view.operands().iter().copied()), sum(&mut view.results()));
    let mut skipped = vec!["channel_handle", CAUSE];
    if collective.kind == Kind::ReduceScatter {
        (collective.dim, collective.concat_dim) = (0, 0);
        skipped.push(SCATTERED);
    }
    let kept = program.op(op).attrs.iter().filter(|a| !skipped.contains(&program.name_text(a.0)));
    let mut attrs: Vec<(Name, Attr)> = kept.copied().collect();
    attrs.sort_unstable_by_key(|a| program.name_text(a.0));
    let mut group = Group { collective, attrs, element, level: 0, members: Vec::new(), bytes, seconds: 0.0 };
    group.seconds = group.seconds_of(bytes, machine);
    Some(group)
}

impl Group {
    /// Returns whether combining it with `other`, which is [`Alike`], is worth it.
    fn takes(&self, other: &Group, worth: &Worth<'_>) -> bool {
        let packed = (self.collective.kind == Kind::ReduceScatter).then(|| other.bytes.0.saturating_add(other.bytes.1));
        self.pays(other, self.bytes_with(other), packed, worth)
    }

    /// Returns whether packing the all_reduces of `other`, which are otherwise [`Alike`], into these reduce_scatters is
    /// worth it.
    fn takes_whole(&self, other: &Group, worth: &Worth<'_>) -> bool {
        let bytes = self.bytes_with_whole(other);
        let rows = bytes.0 - self.bytes.0;
        self.pays(other, bytes, Some(rows.saturating_add(other.bytes.1)), worth)
    }

    fn size(&self) -> Size {
        (self.bytes, self.members.len() == 1)
    }

    /// Returns whether the combination with `other`, of `bytes` in total, isn't too large and saves enough time. Every
    /// packed byte costs a read and a write: of operands before, of results after.
    fn pays(&self, other: &Group, bytes: (u64, u64), packed: Option<u64>, worth: &Worth<'_>) -> bool {
        if bytes.0.saturating_add(bytes.1) > worth.largest {
            return false;
        }
        let mut saved = self.seconds + other.seconds - self.seconds_of(bytes, worth.machine);
        if let Some(mut packed) = packed {
            if self.members.len() == 1 {
                packed += self.bytes.0 + self.bytes.1;
            }
            saved -= worth.machine.memory_seconds(2.0 * packed as f64);
        }
        saved >= HEURISTICS.gain * self.seconds.min(other.seconds)
    }

    /// Returns the bytes if every device's row also holds the operands of `other`.
    fn bytes_with_whole(&self, other: &Group) -> (u64, u64) {
        let devices = self.collective.groups.size().max(1) as u64;
        let rows = other.bytes.0.saturating_mul(devices);
        (self.bytes.0.saturating_add(rows), self.bytes.1.saturating_add(other.bytes.1))
    }

    fn take(&mut self, other: Group, machine: &Machine) {
        self.bytes = self.bytes_with(&other);
        self.members.extend(other.members);
        self.seconds = self.seconds_of(self.bytes, machine);
    }

    fn bytes_with(&self, other: &Group) -> (u64, u64) {
        (self.bytes.0.saturating_add(other.bytes.0), self.bytes.1.saturating_add(other.bytes.1))
    }

    /// Returns the seconds of the collective over these bytes.
    fn seconds_of(&self, (operand, result): (u64, u64), machine: &Machine) -> f64 {
        if self.collective.groups.size() < 2 {
            return 0.0;
        }
        let group = machine.group_of(&self.collective.groups, |device| device);
        machine.collective_seconds(self.collective.kind, operand as f64, result as f64, &group)
    }
}

/// Merges `members` into one op, with the channel and the computation of the first of its kind, and the ops that pack
/// and unpack its operand; returns the values that replace the members' results, in order.
fn join(program: &mut Program, members: &[Op], group: &Group, ops: &mut Vec<Op>) -> Vec<Value> {
    let scatters = |m: &&Op| group.collective.kind != Kind::ReduceScatter || program.attr(**m, SCATTERED).is_some();
    let model = members.iter().find(scatters).copied().unwrap_or(members[0]);
    let first = program.op(model).clone();
    let name = program.op_name(model).to_owned();
    let mut operands: Vec<Value> = members.iter().flat_map(|&m| program.op(m).operands.to_vec()).collect();
    let results: Vec<Value> = members.iter().flat_map(|&m| program.results(m)).collect();
    let mut types: Vec<Ty> = results.iter().map(|&v| program.value_type(v)).collect();
    // One location per operand, and the causes in the same order.
    let mut locs: Vec<Loc> =
        members.iter().flat_map(|&m| vec![program.op(m).loc; program.op(m).operands.len()]).collect();
    let loc = if locs.windows(2).all(|w| w[0] == w[1]) {
        locs.remove(0)
    } else {
        program.intern_loc(LocData::Fused(None, locs))
    };
    let causes: Vec<Attr> = members.iter().filter_map(|&m| program.attr(m, CAUSE)).collect();
    let mut attrs = first.attrs.to_vec();
    attrs.retain(|a| program.name_text(a.0) != CAUSE);
    if causes.len() == members.len() {
        attrs.push((program.name(CAUSE), program.intern_attr(AttrData::Array(causes))));
    }
    let shapes: Vec<Vec<i64>> =
        results.iter().filter_map(|&v| program.tensor_type(v)).map(|t| t.shape.to_vec()).collect();
    let packs = group.collective.kind == Kind::ReduceScatter;
    let mut b = Builder::new(program, ops, loc);
    if packs {
        let n = group.collective.groups.size().max(1) as i64;
        let dim = |m: Op| b.program.view(m).int(SCATTERED).and_then(|d| usize::try_from(d).ok());
        let of = |&m: &Op| b.program.op(m).operands.iter().map(|&v| (v, dim(m))).collect::<Vec<_>>();
        let scattered: Vec<(Value, Option<usize>)> = members.iter().flat_map(of).collect();
        operands = vec![pack(&mut b, &scattered, n)];
        let elements = shapes.iter().map(|s| s.iter().product::<i64>()).sum();
        types = vec![b.program.tensor(&[1, elements], group.element)];
        let zero = b.program.attr_i64(0);
        let scattered = b.program.name(SCATTERED);
        attrs.iter_mut().filter(|a| a.0 == scattered).for_each(|a| a.1 = zero);
    }
    let op = b.raw(first.def, &name, &operands, &types, &attrs, &first.regions);
    b.program.op_mut(op).span = first.span;
    let given: Vec<Value> = b.program.results(op).collect();
    if packs { unpack(&mut b, given[0], &shapes) } else { given }
}
