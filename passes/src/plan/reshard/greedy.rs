//! Redistribution in Shardy's order: slice where it is free, permute axes that can be replaced in place, exchange
//! between dimensions, gather the rest, and repeat where sizes don't divide each other. The cost of these steps bounds
//! the search, and they are used where the search gives up.
//!
//! Semantics: Shardy's `reshard-to-collectives`. This code checks every step, because on dimensions that don't divide,
//! or with axes of which neither size divides the other, the order may need a step that no collective performs.

use std::collections::VecDeque;

use dialect::ir::{TensorType, gcd};
use dialect::sharding::axis::{after_prefix, common_prefix, merged, push_merged, set_difference, set_of, size_of};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution, Move, Reshard, ShardDim};

use super::aligned;
use super::atoms::agreed;
use super::step::Step;

/// Axes, major first.
type Queue = VecDeque<AxisPart>;

/// The rounds after which the redistribution is finished, if this order can finish it.
const ROUNDS: usize = 2;

/// One dimension during the redistribution.
#[derive(Default)]
struct Dim {
    /// Leading axes that are already as in the target.
    done: Axes,
    /// The axes after `done` now.
    have: Queue,
    /// The axes after `done` in the target.
    want: Queue,
    /// The factor by which more axes may still divide it.
    room: i64,
}

struct Greedy<'a> {
    ty: &'a TensorType,
    from: &'a Distribution,
    to: &'a Distribution,
    dims: Vec<Dim>,
    at: Distribution,
    steps: Vec<Step>,
}

/// Returns steps from `from` to `to` in Shardy's order; `None` where that order needs a step that no collective
/// performs.
pub(super) fn greedy(ty: &TensorType, from: &Distribution, to: &Distribution) -> Option<Vec<Step>> {
    if !ty.is_static() || !set_difference(&to.unreduced, &from.unreduced).is_empty() {
        return None;
    }
    let queue = |axes: &Axes| axes.iter().copied().collect::<Queue>();
    let dims = from.dims.iter().zip(&to.dims).map(|(a, b)| Dim { have: queue(a), want: queue(b), ..Dim::default() });
    let mut work = Greedy { ty, from, to, dims: dims.collect(), at: from.clone(), steps: Vec::new() };
    let pending = set_difference(&from.unreduced, &to.unreduced);
    if !pending.is_empty() {
        work.push(Reshard::AllReduce(pending.clone(), from.kind))?;
    }
    work.cut()?;
    for dim in &mut work.dims {
        while let (Some(a), Some(b)) = (dim.have.front(), dim.want.front())
            && a == b
        {
            push_merged(&mut dim.done, *a);
            dim.have.pop_front();
            dim.want.pop_front();
        }
    }
    for _ in 0..ROUNDS {
        if work.at == *to {
            break;
        }
        work.slice()?;
        work.permute()?;
        work.exchange(true)?;
        work.exchange(false)?;
        work.gather()?;
    }
    if work.at != *to {
        work.reorder()?;
    }
    Some(work.scattered(&pending))
}

/// Returns the part of an axis that divides `room` and the rest of the axis, and divides `room` by the part. `None`
/// where neither divides the other.
fn fit(axis: AxisPart, room: &mut i64) -> Option<(AxisPart, Option<AxisPart>)> {
    let size = i64::from(axis.size);
    if *room <= 1 || !divide(size, *room) {
        return None;
    }
    if *room >= size {
        *room /= size;
        return Some((axis, None));
    }
    let major = AxisPart { size: *room as u32, ..axis };
    let minor = AxisPart { pre: major.end(), size: axis.size / major.size, ..axis };
    *room = 1;
    Some((major, Some(minor)))
}

/// Returns whether one of two sizes divides the other.
fn divide(a: i64, b: i64) -> bool {
    a % b == 0 || b % a == 0
}

fn sizes(axes: &Queue) -> i64 {
    axes.iter().map(|a| i64::from(a.size)).product()
}

impl Greedy<'_> {
    /// Splits axes so that any two are equal or disjoint.
    fn cut(&mut self) -> Option<()> {
        let parts = agreed(self.dims.iter().flat_map(|d| d.have.iter().chain(&d.want)).copied().collect())?;
        for axes in self.dims.iter_mut().flat_map(|dim| [&mut dim.have, &mut dim.want]) {
            *axes = axes
                .iter()
                .flat_map(|axis| parts.iter().copied().filter(|&p| p.size > 1 && axis.contains(p)))
                .collect();
        }
        Some(())
    }

    /// Returns whether a dimension is sharded along this axis, but not in the target's place.
    fn held(&self, axis: AxisPart) -> bool {
        self.dims.iter().any(|d| d.have.contains(&axis))
    }

    /// Returns the dimension that the target shards along this axis, and the axis's index in its `want`.
    fn place(&self, axis: AxisPart) -> Option<(usize, usize)> {
        self.dims.iter().enumerate().find_map(|(d, dim)| Some((d, dim.want.iter().position(|&a| a == axis)?)))
    }

    fn dim_axes(&self) -> AxesPerDim {
        self.dims.iter().map(|d| merged(d.done.iter().chain(&d.have).copied())).collect()
    }

    /// Adds a step, after which the distribution is as the dimensions now state.
    fn push(&mut self, kind: Reshard<AxisPart>) -> Option<()> {
        let next = Distribution { dims: self.dim_axes(), ..self.at.clone() };
        let next = match kind {
            Reshard::CollectivePermute => {
                let same = |(a, b): (&Axes, &Axes)| size_of(a) == size_of(b);
                self.at.dims.iter().zip(&next.dims).all(same).then_some(next)?
            }
            _ => kind.apply(&self.at).ok().filter(|to| to.dims == next.dims && self.fits(to))?,
        };
        self.at = next.clone();
        self.steps.push(Step { kind, to: next });
        Some(())
    }

    /// Returns whether no element shifts within a dimension on the way to `next`, and each dimension of `next` is even
    /// or a prefix of one of the ends.
    fn fits(&self, next: &Distribution) -> bool {
        let begins = |long: &Axes, short: &Axes| common_prefix(long, short) == *short;
        (0..next.rank()).all(|d| {
            let (n, a, b) = (self.ty.shape[d], &self.at.dims[d], &next.dims[d]);
            let even = |axes: &Axes| ShardDim::new(n, size_of(axes)).is_even();
            let known = || begins(&self.from.dims[d], b) || begins(&self.to.dims[d], b);
            let moves = match () {
                _ if begins(b, a) => aligned(n, a, b),
                _ if begins(a, b) => aligned(n, b, a),
                _ => even(a) && even(b),
            };
            a == b || moves && (even(b) || known())
        })
    }

    /// Adds axes to dimensions with room: from one list for each dimension, or from one list for all. Adds them before
    /// (`front`) or after the axes that the dimension has.
    fn fill(&mut self, axes: &mut [Queue], front: bool) -> Option<()> {
        for d in 0..self.dims.len() {
            let list = if axes.len() == 1 { &mut axes[0] } else { &mut axes[d] };
            let dim = &mut self.dims[d];
            let mut at = if front { 0 } else { dim.have.len() };
            let mut next = 0;
            while let Some(&axis) = list.get(next)
                && dim.room > 1
            {
                let Some((part, rest)) = fit(axis, &mut dim.room) else {
                    next += 1;
                    continue;
                };
                list.remove(next);
                dim.have.insert(at, part);
                at += 1;
                if let Some(rest) = rest {
                    list.push_front(rest);
                }
            }
        }
        self.cut()
    }

    /// Slices dimensions along unused axes: each dimension first by its own target axes, as far as the target has more
    /// shards of it, then by target axes of other dimensions.
    fn slice(&mut self) -> Option<()> {
        for dim in &mut self.dims {
            let (have, want) = (sizes(&dim.have), sizes(&dim.want));
            dim.room = want / gcd(have, want);
        }
        for d in 0..self.dims.len() {
            self.slice_before_exchange(d);
        }
        let mut others = Queue::new();
        for d in 0..self.dims.len() {
            let mut i = 0;
            while let Some(&axis) = self.dims[d].want.get(i) {
                if self.held(axis) {
                    i += 1;
                    continue;
                }
                let dim = &mut self.dims[d];
                let Some((part, rest)) = fit(axis, &mut dim.room) else {
                    others.push_back(axis);
                    i += 1;
                    continue;
                };
                if dim.have.is_empty() && i == 0 {
                    push_merged(&mut dim.done, part);
                    dim.want.pop_front();
                } else {
                    dim.have.push_back(part);
                    dim.want[i] = part;
                    i += 1;
                }
                if let Some(rest) = rest {
                    dim.want.insert(i, rest);
                    others.push_back(rest);
                    i += 1;
                }
            }
        }
        self.fill(&mut [others], false)?;
        let after = self.dim_axes();
        let added: AxesPerDim = after.iter().zip(&self.at.dims).map(|(b, a)| after_prefix(b, a)).collect();
        if added.iter().all(|a| a.is_empty()) { Some(()) } else { self.push(Reshard::AllSlice(added)) }
    }

    /// Slices dimension `d`, all of whose axes are to leave it, by the axes that follow its last axis in the target's
    /// dimension, so that one exchange moves all of them.
    fn slice_before_exchange(&mut self, d: usize) {
        let source = &self.dims[d];
        let Some((&last, ())) = source.have.back().zip(source.want.is_empty().then_some(())) else { return };
        let Some((e, at)) = self.place(last) else { return };
        let target = &self.dims[e];
        let new: Queue = target.want.iter().skip(at + 1).copied().take_while(|&a| !self.held(a)).collect();
        if !target.have.is_empty() || new.is_empty() {
            return;
        }
        let before = target.want.iter().take(at + 1).rev();
        let together = source.have.iter().rev().zip(before).take_while(|(a, b)| a == b).count();
        let scattered = source.have.iter().rev().skip(together).any(|a| target.want.contains(a));
        let shards = size_of(&source.done) * sizes(&source.have) * sizes(&new);
        if scattered || !ShardDim::new(self.ty.shape[d], shards).is_even() {
            return;
        }
        let leaving: i64 = source.have.iter().rev().take(together).map(|a| i64::from(a.size)).product();
        let room = leaving * sizes(&new);
        self.dims[e].room /= room;
        self.dims[d].have.extend(new);
    }

    /// Returns whether a permute moves axes to their target places, or next to each other for a later joint move.
    fn permute_helps(&self) -> bool {
        let (mut missing, mut spare) = (None, None);
        for (d, dim) in self.dims.iter().enumerate() {
            let fronts = dim.have.front().zip(dim.want.front());
            if fronts.is_some_and(|(a, b)| divide(a.size.into(), b.size.into())) {
                return true;
            }
            missing = dim.want.iter().rfind(|&&a| !self.held(a)).or(missing);
            let mut before: Option<(usize, usize)> = None;
            let mut seen = vec![false; self.dims.len()];
            for axis in &dim.have {
                let place = self.place(*axis);
                match place {
                    Some((e, i)) => {
                        if (e == d || seen[e]) && before.is_none_or(|(f, j)| f != e || i != j + 1) {
                            return true;
                        }
                        seen[e] = true;
                    }
                    // Axes to gather are behind axes that are to move.
                    None if before.is_some() && dim.want.is_empty() => return true,
                    None => spare = Some(axis),
                }
                before = place;
            }
        }
        missing.zip(spare).is_some_and(|(a, b)| divide(a.size.into(), b.size.into()))
    }

    /// Replaces the axes of all dimensions, keeping the number of shards of each: first by the dimension's own target
    /// axes, then by target axes of other dimensions in their order, then by axes to gather, which go to the front.
    fn permute(&mut self) -> Option<()> {
        if !self.permute_helps() {
            return Some(());
        }
        let wanted: Queue = self.dims.iter().flat_map(|d| d.want.iter().copied()).collect();
        let mut others = Queue::new();
        let mut gathered: Vec<Queue> = Vec::new();
        for dim in &mut self.dims {
            let all = sizes(&dim.have);
            dim.room = all;
            while let Some(&axis) = dim.want.front()
                && let Some((part, rest)) = fit(axis, &mut dim.room)
            {
                dim.want.pop_front();
                push_merged(&mut dim.done, part);
                if let Some(rest) = rest {
                    dim.want.push_front(rest);
                }
            }
            others.extend(&dim.want);
            // Axes whose place others now have come last.
            let mut taken = all / dim.room;
            let mut left: Queue = dim.have.drain(..).filter(|a| !wanted.contains(a)).collect();
            let mut replaced = Queue::new();
            while let Some(&axis) = left.front()
                && let Some((part, rest)) = fit(axis, &mut taken)
            {
                left.pop_front();
                replaced.push_back(part);
                if let Some(rest) = rest {
                    left.push_front(rest);
                }
            }
            left.extend(replaced);
            gathered.push(left);
        }
        self.fill(&mut [others], false)?;
        self.fill(&mut gathered, true)?;
        self.fill(&mut [gathered.into_iter().flatten().collect()], true)?;
        if self.dim_axes() == self.at.dims { Some(()) } else { self.push(Reshard::CollectivePermute) }
    }

    /// Moves the last axes of dimensions to other dimensions while there are any; with `in_place` only those that
    /// arrive at their target places.
    fn exchange(&mut self, in_place: bool) -> Option<()> {
        for d in 0..self.dims.len() {
            while let Some((e, count)) = self.leaving(d, in_place) {
                let keep = self.dims[d].have.len() - count;
                let moved = self.dims[d].have.split_off(keep);
                let target = &mut self.dims[e];
                for &axis in &moved {
                    if target.have.is_empty() && target.want.front() == Some(&axis) {
                        target.want.pop_front();
                        push_merged(&mut target.done, axis);
                    } else {
                        target.have.push_back(axis);
                    }
                }
                self.push(Reshard::AllToAll(vec![Move { axes: merged(moved), from: d, to: e }]))?;
            }
        }
        Some(())
    }

    /// Returns the dimension that the last axes of a dimension go to, and their number.
    fn leaving(&self, d: usize, in_place: bool) -> Option<(usize, usize)> {
        let have = &self.dims[d].have;
        let goes = |a: &AxisPart| self.place(*a).map(|(e, _)| e).filter(|&e| e != d);
        let e = goes(have.back()?)?;
        let count = have.iter().rev().take_while(|a| goes(a) == Some(e)).count();
        let arrives = have.iter().skip(have.len() - count).eq(self.dims[e].want.iter().take(count));
        (!in_place || arrives).then_some((e, count))
    }

    /// Gathers the last axes of dimensions that no dimension wants.
    fn gather(&mut self) -> Option<()> {
        for d in 0..self.dims.len() {
            while self.dims[d].have.back().is_some_and(|&a| self.place(a).is_none()) {
                self.dims[d].have.pop_back();
            }
        }
        let after = self.dim_axes();
        let taken: AxesPerDim = self.at.dims.iter().zip(&after).map(|(a, b)| after_prefix(a, b)).collect();
        if taken.iter().all(|a| a.is_empty()) { Some(()) } else { self.push(Reshard::AllGather(taken)) }
    }

    /// Permutes the axes into the target's order where each dimension already has all of its axes; Shardy omits this
    /// step.
    fn reorder(&mut self) -> Option<()> {
        for (dim, want) in self.dims.iter_mut().zip(&self.to.dims) {
            *dim = Dim { done: want.clone(), ..Dim::default() };
        }
        let even = |d: usize| ShardDim::new(self.ty.shape[d], size_of(&self.to.dims[d])).is_even();
        let moves = (0..self.dims.len()).all(|d| self.at.dims[d] == self.to.dims[d] || even(d));
        (moves && self.at.unreduced == self.to.unreduced).then(|| self.push(Reshard::CollectivePermute))?
    }

    /// Returns the steps; merges a leading all-reduce and slice into one reduce-scatter if the slice uses all reduced
    /// axes.
    fn scattered(mut self, pending: &[AxisPart]) -> Vec<Step> {
        if let [Step { kind: Reshard::AllReduce(_, kind), .. }, Step { kind: Reshard::AllSlice(axes), to }, ..] =
            &self.steps[..]
            && set_of(axes.iter().flatten().copied())[..] == *pending
        {
            let step = Step { kind: Reshard::ReduceScatter(axes.clone(), *kind), to: to.clone() };
            self.steps.splice(..2, [step]);
        }
        self.steps
    }
}
