//! Common subexpression elimination: of ops that compute the same result from the same operands, only the first is
//! kept.
//!
//! An op can be replaced by an earlier op of its block or of an enclosing block whose values it may read. Ops with side
//! effects are kept. Attributes, shardings included, must be equal, but not locations; regions must be equal up to the
//! names of the values inside.
//!
//! Values are numbered, too: with `elementwise=false`, ops that are recomputed at each use (elementwise ones, copies,
//! constants) are kept, but results of equal ones count as one value, so that reductions over equal values are found.
//! Kept ops that then have no users are removed.

use std::hash::{Hash, Hasher};

use dialect::buffers::each_read;
use dialect::ir::{Block, Op, Program, Value, ValueSource};
use dialect::kernel::Kernel;
use dialect::memory::MemorySpaces;
use dialect::op::Control;
use dialect::ops::func;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use crate::options::{OptionDef, OptionType};
use crate::pass::{Effect, Pass};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "cse",
    doc: "Removes duplicate ops without side effects.",
    effect: Effect::Rewrite,
    options: &[OptionDef {
        name: "elementwise",
        ty: OptionType::Bool,
        default: "true",
        doc: "Also remove duplicate elementwise ops, copies and constants, which fusion would recompute in each kernel \
            that reads them.",
    }],
    run: |program, options, _| {
        let body = program.body();
        let main = func::function(program, "main");
        let spaces = main.map_or_else(MemorySpaces::default, |main| MemorySpaces::of(program, main));
        let mut cse = Cse {
            program,
            spaces,
            elementwise: options.flag("elementwise"),
            known: FxHashMap::default(),
            renamed: FxHashMap::default(),
            equal: FxHashMap::default(),
            gone: FxHashSet::default(),
            orphans: Vec::new(),
        };
        cse.block(body);
        let Cse { gone, orphans, .. } = cse;
        take_out_unread(program, orphans, gone);
    },
};

struct Cse<'p> {
    program: &'p mut Program,
    spaces: MemorySpaces,
    /// Whether elementwise ops go, too.
    elementwise: bool,
    /// The first op of each kind whose results are visible at the current position, by a hash of its computation.
    known: FxHashMap<u64, SmallVec<[Op; 1]>>,
    /// Results of removed ops, with their replacements.
    renamed: FxHashMap<Value, Value>,
    /// Results of ops that are kept although an earlier op is equal, with that op's results.
    equal: FxHashMap<Value, Value>,
    /// Removed ops, including those in their regions.
    gone: FxHashSet<Op>,
    /// The operands of removed ops.
    orphans: Vec<Value>,
}

/// Values inside a region that is compared with another region, with the corresponding values there; or with their
/// numbers.
type Inner<T> = FxHashMap<Value, T>;

impl Cse<'_> {
    /// Processes a block in order.
    fn block(&mut self, at: Block) {
        let mut added: Vec<u64> = Vec::new();
        let mut kept = Vec::new();
        for op in self.program.block_ops(at).to_vec() {
            self.program.rename_operands(op, &self.renamed);
            // Inner ops come first, so that equal regions look alike.
            self.regions(op);
            if !self.may_go(op) {
                kept.push(op);
                continue;
            }
            let hash = self.hash(op);
            let first = self.known.get(&hash).and_then(|ops| ops.iter().find(|&&first| self.is_same(first, op)));
            let Some(first) = first.copied() else {
                self.known.entry(hash).or_default().push(op);
                added.push(hash);
                kept.push(op);
                continue;
            };
            let results = self.program.results(op).zip(self.program.results(first));
            if self.elementwise || is_stored(self.program, op) {
                self.renamed.extend(results);
                each_read(self.program, op, &mut |value| self.orphans.push(value));
                with_inside(self.program, op, &mut self.gone);
            } else {
                self.equal.extend(results);
                kept.push(op);
            }
        }
        self.program.set_block_ops(at, kept);
        // Ops after the block may not read values defined inside it.
        for hash in added {
            if let Some(ops) = self.known.get_mut(&hash) {
                ops.pop();
            }
        }
    }

    fn regions(&mut self, op: Op) {
        let view = self.program.view(op);
        let control = view.def().control(view);
        let reads_around = matches!(control, Some(Control::While | Control::If | Control::Case | Control::Inline));
        for region in self.program.op(op).regions.clone() {
            let blocks = self.program.region_blocks(region).to_vec();
            match blocks[..] {
                [block] if reads_around => self.block(block),
                [block] => {
                    let around = std::mem::take(&mut self.known);
                    self.block(block);
                    self.known = around;
                }
                // Blocks may come in another order than the one in which they can read each other's values.
                _ => {
                    for block in blocks {
                        let ops = self.program.ops_under(block);
                        ops.into_iter().for_each(|inner| self.program.rename_operands(inner, &self.renamed));
                    }
                }
            }
        }
    }

    /// Returns whether an op may be replaced by an equal op.
    fn may_go(&self, op: Op) -> bool {
        let (data, view) = (self.program.op(op), self.program.view(op));
        // Values behind a barrier are to be computed again.
        let barrier = || view.def().control(view) == Some(Control::Identity) && view.def().annotation(view).is_none();
        // One buffer can't be in two memories, nor be the beginning of two that loops write to.
        let on_host = view.results().any(|v| self.spaces.is_on_host(v));
        !on_host && !has_effects(self.program, op) && data.successors.is_none() && (self.elementwise || !barrier())
    }

    /// Returns the first value that is equal to this one.
    fn number(&self, value: Value) -> Value {
        self.equal.get(&value).copied().unwrap_or(value)
    }

    fn hash(&self, op: Op) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_into(op, &mut Inner::default(), &mut hasher);
        hasher.finish()
    }

    /// Hashes the properties that [`Cse::is_same`] compares.
    fn hash_into(&self, op: Op, inner: &mut Inner<usize>, to: &mut FxHasher) {
        let data = self.program.op(op);
        (data.name, &data.attrs, data.operands.len(), data.regions.len()).hash(to);
        for &operand in &data.operands {
            let value = self.number(operand);
            match inner.get(&value) {
                Some(number) => number.hash(to),
                None => value.hash(to),
            }
        }
        self.program.results(op).for_each(|result| self.program.value_type(result).hash(to));
        for &region in &data.regions {
            for &block in self.program.region_blocks(region) {
                for &arg in self.program.block_args(block) {
                    inner.insert(arg, inner.len());
                    self.program.value_type(arg).hash(to);
                }
                for &op in self.program.block_ops(block) {
                    self.hash_into(op, inner, to);
                    for result in self.program.results(op) {
                        inner.insert(result, inner.len());
                    }
                }
            }
        }
    }

    /// Returns whether two ops compute the same results.
    fn is_same(&self, a: Op, b: Op) -> bool {
        self.is_same_inside(a, b, &mut Inner::default())
    }

    /// Calls [`Cse::is_same`] for ops in regions; `inner` maps the values in the region of `b` to those in the region
    /// of `a`.
    fn is_same_inside(&self, a: Op, b: Op, inner: &mut Inner<Value>) -> bool {
        let program = &*self.program;
        let (x, y) = (program.op(a), program.op(b));
        let value = |v: Value| {
            let v = self.number(v);
            inner.get(&v).copied().unwrap_or(v)
        };
        let types = |a: &[Value], b: &[Value]| {
            a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| program.value_type(a) == program.value_type(b))
        };
        let results = [a, b].map(|op| program.results(op).collect::<SmallVec<[Value; 2]>>());
        if (x.name, &x.attrs, x.operands.len(), x.regions.len())
            != (y.name, &y.attrs, y.operands.len(), y.regions.len())
            || !types(&results[0], &results[1])
            || x.operands.iter().zip(&y.operands).any(|(&a, &b)| self.number(a) != value(b))
        {
            return false;
        }
        for (&a, &b) in x.regions.iter().zip(&y.regions) {
            let (&[a], &[b]) = (program.region_blocks(a), program.region_blocks(b)) else { return false };
            let (args, others) = (program.block_args(a), program.block_args(b));
            let (a, b) = (program.block_ops(a), program.block_ops(b));
            if !types(args, others) || a.len() != b.len() {
                return false;
            }
            inner.extend(others.iter().copied().zip(args.iter().copied()));
            for (&a, &b) in a.iter().zip(b) {
                let ends = program.op(b).def.terminator() && program.op(b).successors.is_none();
                if !ends && has_effects(program, b) || !self.is_same_inside(a, b, inner) {
                    return false;
                }
                inner.extend(program.results(b).zip(program.results(a)));
            }
        }
        true
    }
}

/// Returns whether an op must be kept even without users.
fn has_effects(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    view.def().terminator() || view.def().side_effect(view)
}

/// Returns whether an op's result is always in memory: a reduction, a product, a loop, or an op that is no loop nest.
fn is_stored(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    match view.def().kernel(view) {
        Kernel::Nest(nest) => nest.loops.len() > nest.parallel,
        Kernel::External(_) => true,
        Kernel::Control => view.def().control(view) != Some(Control::Identity),
        Kernel::None => false,
    }
}

/// Adds an op and the ops inside it.
fn with_inside(program: &Program, op: Op, to: &mut FxHashSet<Op>) {
    to.insert(op);
    for block in program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region)) {
        program.walk(*block, &mut |inner| {
            to.insert(inner);
        });
    }
}

/// Removes the ops that define these values if they have no users, and then the ops that only those used; `gone` are
/// ops that have already been removed from their blocks.
fn take_out_unread(program: &mut Program, mut values: Vec<Value>, mut gone: FxHashSet<Op>) {
    let before = gone.len();
    if values.is_empty() {
        return;
    }
    let mut reads = vec![0u32; program.value_count()];
    program.walk(program.body(), &mut |op| program.op(op).operands.iter().for_each(|v| reads[v.index()] += 1));
    while let Some(value) = values.pop() {
        let ValueSource::Result(op, _) = program.value_source(value) else { continue };
        let read = program.results(op).any(|v| reads[v.index()] > 0);
        if read || gone.contains(&op) || has_effects(program, op) {
            continue;
        }
        with_inside(program, op, &mut gone);
        each_read(program, op, &mut |value| {
            reads[value.index()] -= 1;
            values.push(value);
        });
    }
    if gone.len() == before {
        return;
    }
    for block in program.blocks_under(program.body()) {
        let ops = program.block_ops(block);
        if ops.iter().any(|op| gone.contains(op)) {
            let kept = ops.iter().copied().filter(|op| !gone.contains(op)).collect();
            program.set_block_ops(block, kept);
        }
    }
}
