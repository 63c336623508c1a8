//! Rows that several ops of a block read of one value, fetched once for all of them.
//!
//! A stencil reads its neighbors through several ops, each of which needs rows on one side, or at a corner. If each op
//! fetched its rows separately, the same rows would be sent again wherever two dimensions move, and the shard would be
//! copied once per op. So the windows of all ops that read a value are merged as far as that sends no more rows, and
//! each op takes its part of the fetched rows.

use crate::heuristics::HEURISTICS;
use dialect::ir::{Block, Op, Program, Value, ValueSource};
use dialect::kernel::Outside;
use dialect::scalar::Scalar;
use dialect::sharding::{Axes, Distributions, Exchange, PerDevice, Reach, axis};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::halo::{Halo, halos, in_order};

/// The value that is read in place of rows that don't exist.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filler {
    /// The rank-0 value of the global program, if it is one.
    pub(super) value: Option<Value>,
    /// Its number, if it is a constant.
    pub(super) constant: Option<Scalar>,
}

impl PartialEq for Filler {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: Scalar, b: Scalar| match (a, b) {
            // Zeros of different signs are different fillers.
            (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        };
        let same_value = self.value.is_some() && self.value == other.value;
        same_value || self.constant.zip(other.constant).is_some_and(|(a, b)| same(a, b))
    }
}

impl Filler {
    fn of(program: &Program, op: Op, halo: &Halo) -> Option<Self> {
        let outside = halo.read.outside.as_ref().filter(|_| halo.exchange.reads_outside)?;
        let value = match outside {
            Outside::Const(number) => return Some(Filler { value: None, constant: Some(*number) }),
            Outside::Operand(i) => program.op(op).operands[*i],
        };
        let constant = match program.value_source(value) {
            ValueSource::Result(maker, _) => program.op(maker).def.constant(program.view(maker)),
            ValueSource::Arg(..) => None,
        };
        Some(Filler { value: Some(value), constant: constant.and_then(|l| l.splat_value()) })
    }
}

/// Rows along one dimension that several ops read.
#[derive(Clone)]
pub(super) struct SharedDim {
    pub(super) dim: usize,
    pub(super) axes: Axes,
    pub(super) exchange: Exchange,
    pub(super) filler: Option<Filler>,
    reach: Reach,
}

impl SharedDim {
    /// Returns the union of both reads, if it can be concatenated from runs and sends no more rows than both.
    fn with(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.reach, other.reach);
        let alike = (a.iterations, a.size, a.step, a.divisor) == (b.iterations, b.size, b.step, b.divisor);
        if !alike || self.axes != other.axes {
            return None;
        }
        let filler = match (self.filler, other.filler) {
            (Some(x), Some(y)) if x != y => return None,
            (x, y) => x.or(y),
        };
        let reach = Reach { first: a.first.min(b.first), last: a.last.max(b.last), ..a };
        if reach == a {
            return Some(Self { filler, ..self.clone() });
        }
        let exchange = Exchange::uniform(reach, axis::size_of(&self.axes))?;
        let moved = |e: &Exchange| e.moved().sum::<i64>();
        let fits = moved(&exchange) <= moved(&self.exchange) + moved(&other.exchange);
        (fits && in_order(&exchange).is_some()).then_some(Self { exchange, filler, reach, ..self.clone() })
    }

    /// Returns the start of a device's own shard among the rows, if all of the shard is there.
    pub(super) fn own(&self) -> Option<i64> {
        let own = self.exchange.own.as_ref()?;
        match (&own.from, &own.to) {
            (PerDevice::Same(0), PerDevice::Same(to)) if own.rows == self.exchange.shards.size() => Some(*to),
            _ => None,
        }
    }
}

/// Ops that read rows of one value, and the rows that they read together.
#[derive(Default)]
pub(super) struct SharedRows {
    /// The dimensions, in the order in which their rows are fetched.
    pub(super) dims: Vec<SharedDim>,
    members: usize,
}

impl SharedRows {
    /// Adds the reads of another op, if all can then be fetched together; returns whether it did.
    fn take(&mut self, read: &[SharedDim]) -> bool {
        // An op that reads none of the other ops' dimensions would only wait for their rows.
        if !read.iter().any(|r| self.dims.iter().any(|d| d.dim == r.dim)) {
            return false;
        }
        let mut dims = self.dims.clone();
        for r in read {
            match dims.iter_mut().find(|d| d.dim == r.dim) {
                Some(d) => match d.with(r) {
                    Some(both) => *d = both,
                    None => return false,
                },
                None => dims.push(r.clone()),
            }
        }
        // An op that reads a dimension unshifted finds its own shard among the rows.
        let all = dims.iter().all(|d| d.own().is_some());
        if !all && (dims.len() != self.dims.len() || dims.len() != read.len()) {
            return false;
        }
        dims.sort_by_key(|d| d.dim);
        (self.dims, self.members) = (dims, self.members + 1);
        true
    }
}

/// The rows that the ops of a program read together.
#[derive(Default)]
pub(super) struct Shared {
    of: FxHashMap<(Op, usize), usize>,
    sets: Vec<SharedRows>,
}

impl Shared {
    /// Finds the shared rows of all ops under `block`.
    pub(super) fn of(program: &Program, distributions: &Distributions, block: Block) -> Self {
        let mut shared = Self::default();
        for block in program.blocks_under(block) {
            shared.read(program, distributions, block);
        }
        let sets = &shared.sets;
        shared.of.retain(|_, set| sets[*set].members > 1);
        shared
    }

    fn read(&mut self, program: &Program, distributions: &Distributions, block: Block) {
        let mut known: FxHashMap<Value, SmallVec<[usize; 2]>> = FxHashMap::default();
        // Ops that move several dimensions come first, because ops that move one of them find their rows there.
        let mut reads: Vec<(Op, usize, Vec<SharedDim>)> = Vec::new();
        for &op in program.block_ops(block) {
            for halo in halos(program, distributions, op).into_iter().flatten() {
                let filler = Filler::of(program, op, &halo);
                let Halo { read, axes, exchange } = halo;
                let dim = SharedDim { dim: read.dim, axes, exchange, filler, reach: read.reach };
                let same = |r: &&mut (Op, usize, Vec<SharedDim>)| (r.0, r.1) == (op, read.operand);
                match reads.iter_mut().rev().take_while(|r| r.0 == op).find(same) {
                    Some(known) => known.2.push(dim),
                    None => reads.push((op, read.operand, vec![dim])),
                }
            }
        }
        reads.sort_by_key(|r| std::cmp::Reverse(r.2.len()));
        for (op, operand, dims) in reads {
            if dims.iter().any(|d| in_order(&d.exchange).is_none()) {
                continue;
            }
            let sets = known.entry(program.op(op).operands[operand]).or_default();
            let found = sets.iter().rev().take(HEURISTICS.tried_sets).copied().find(|&s| self.sets[s].take(&dims));
            let set = found.unwrap_or(self.sets.len());
            if set == self.sets.len() {
                sets.push(set);
                self.sets.push(SharedRows { dims, members: 1 });
            }
            self.of.insert((op, operand), set);
        }
    }

    /// Returns the rows that `op` reads of an operand together with other ops, and the index of their set.
    pub(super) fn get(&self, op: Op, operand: usize) -> Option<(usize, &SharedRows)> {
        let set = *self.of.get(&(op, operand))?;
        Some((set, &self.sets[set]))
    }
}
