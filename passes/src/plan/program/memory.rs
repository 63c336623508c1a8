//! Decides which values of a graph are in memory, and when, by the same code (`dialect::buffers`) as for native code.

use dialect::buffers::{self, FusionModel, Interval, Item, Liveness, Roots};
use dialect::id::TiVec;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::graph::{Graph, Node, OpId, ValueId};

/// An event of a program's run, in program order.
pub(crate) enum Moment {
    /// An op reads its operands and makes its results.
    Op(OpId),
    /// An op with regions reads its operands; then its regions run.
    Before(SmallVec<[ValueId; 3]>),
    /// An op with regions makes its results after they ran.
    After(OpId),
    /// A block begins, with these arguments.
    Begin(SmallVec<[ValueId; 3]>),
    /// A block ends; these arguments are live up to here.
    End(SmallVec<[ValueId; 3]>),
    /// Code that may run many times begins here.
    Enter,
    /// Code that may run many times ends here.
    Leave,
}

/// The intervals in which a value is in memory.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Held {
    /// The first and last step of the value in its own distribution.
    pub(crate) made: Interval,
    /// The first and last step of its copies in other distributions.
    pub(crate) copies: Interval,
}

impl Graph {
    /// Decides which values are in memory, and when.
    pub(crate) fn decide_memory(&mut self, moments: &[Moment]) {
        let kernels = self.kernels();
        for (op, kernels) in kernels.iter_enumerated() {
            for value in self.ops[op].results.iter().flatten() {
                self.values[*value].written = kernels[..] == [op.index() as u32];
            }
        }
        for (value, held) in self.lifetimes(&kernels, moments) {
            self.values[value].held = held;
        }
    }

    /// Returns the ops in whose kernels each op is computed: only itself when it writes its results to memory.
    fn kernels(&self) -> TiVec<OpId, Roots> {
        let mut weights: FxHashMap<u64, u32> = FxHashMap::default();
        let maker = |v: &Option<ValueId>| {
            v.and_then(|v| self.values[v].maker).map_or(buffers::NONE, |(op, _)| op.index() as u32)
        };
        let node = |op: &Node| {
            let next = weights.len() as u32;
            buffers::Node {
                facts: op.facts.clone(),
                runs: *weights.entry(op.weight.to_bits()).or_insert(next),
                by_host: op.by_host,
                operands: op.operands.iter().map(maker).collect(),
            }
        };
        let nodes: Vec<buffers::Node> = self.ops.iter().map(node).collect();
        buffers::decide(&nodes, FusionModel::TARGET).into()
    }

    /// Returns the intervals in which each value is live, given the kernels: a kernel reads the operands of all ops in
    /// it.
    fn lifetimes(&self, kernels: &TiVec<OpId, Roots>, moments: &[Moment]) -> Vec<(ValueId, Held)> {
        let mut inside: TiVec<OpId, SmallVec<[OpId; 2]>> = vec![SmallVec::new(); self.ops.len()].into();
        for (op, kernels) in kernels.iter_enumerated() {
            kernels.iter().for_each(|&kernel| inside[OpId::new(kernel as usize)].push(op));
        }
        let mut liveness = Liveness::default();
        let mut items: TiVec<ValueId, Option<Item>> = vec![None; self.values.len()].into();
        let mut ends: FxHashMap<ValueId, u32> = FxHashMap::default();
        for moment in moments {
            match moment {
                Moment::Op(op) => {
                    liveness.step();
                    let read = inside[*op].iter().flat_map(|&op| self.ops[op].operands.iter().flatten());
                    read.filter_map(|&v| items[v]).for_each(|item| liveness.read(item));
                    self.ops[*op].results.iter().flatten().for_each(|&v| items[v] = Some(liveness.define()));
                }
                Moment::Before(operands) => {
                    liveness.step();
                    operands.iter().filter_map(|&v| items[v]).for_each(|item| liveness.read(item));
                }
                Moment::After(op) => {
                    liveness.step();
                    self.ops[*op].results.iter().flatten().for_each(|&v| items[v] = Some(liveness.define()));
                }
                Moment::Begin(args) => {
                    liveness.step();
                    args.iter().for_each(|&v| items[v] = Some(liveness.define()));
                }
                Moment::End(args) => ends.extend(args.iter().map(|&v| (v, liveness.now()))),
                Moment::Enter => liveness.enter(),
                Moment::Leave => liveness.leave(),
            }
        }
        let held = items.into_iter_enumerated().filter_map(move |(value, item)| {
            let copies = liveness.live(item?);
            let last = ends.get(&value).copied().unwrap_or(0).max(copies.1);
            Some((value, Held { made: (copies.0, last), copies }))
        });
        held.collect()
    }
}
