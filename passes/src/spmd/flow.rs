//! Follows how values differ between devices through the program, to a fixpoint where loops carry values.

use dialect::ir::{Block, Op, OpRef, Program, Value};
use dialect::kernel::{External, Kernel};
use dialect::op::Control;
use rustc_hash::FxHashMap;

use super::known::SpreadCache;
use super::members::Groups;
use super::spread::{Spread, Spreads};

/// The limit on passes over a program with loops, after which every value that still changes counts as different on
/// every device.
const PASSES: usize = 16;

/// The spread of every value.
pub(super) struct Flow<'a> {
    program: &'a Program,
    /// Numbers of replicas and partitions.
    pub(super) devices: (i64, i64),
    pub(super) spreads: Spreads,
    pub(super) groups: Groups,
    known: SpreadCache,
    /// The spreads by value.
    of: Vec<Spread>,
    /// The condition of each loop.
    conditions: FxHashMap<Op, Value>,
    changed: bool,
    widen: bool,
}

impl<'a> Flow<'a> {
    /// Creates a flow in which no value has been seen.
    pub(super) fn new(program: &'a Program, devices: (i64, i64), spreads: Spreads) -> Self {
        let of = vec![Spread::UNSEEN; program.value_count()];
        let (groups, known, conditions) = (Groups::default(), SpreadCache::default(), FxHashMap::default());
        Self { program, devices, spreads, groups, known, of, conditions, changed: false, widen: false }
    }

    /// Analyzes `block`, the body of `@main`, until nothing changes.
    pub(super) fn run(&mut self, block: Block, arguments: &[Spread]) {
        for (&value, &spread) in self.program.block_args(block).iter().zip(arguments) {
            self.of[value.index()] = spread;
        }
        for pass in 0.. {
            (self.changed, self.widen) = (false, pass >= PASSES);
            self.block(block);
            if !self.changed {
                return;
            }
        }
    }

    /// Returns how a value differs between devices.
    pub(super) fn spread(&self, value: Value) -> Spread {
        self.of[value.index()]
    }

    /// Returns the value that decides whether the regions of an op with control flow run.
    pub(super) fn decider(&self, op: OpRef<'_>) -> Option<Value> {
        match op.def().control(op) {
            Some(Control::While) => self.conditions.get(&op.op).copied(),
            Some(Control::Case | Control::If) => op.operands().first().copied(),
            _ => None,
        }
    }

    fn block(&mut self, block: Block) {
        for &op in self.program.block_ops(block) {
            self.op(self.program.view(op));
        }
    }

    fn set(&mut self, value: Value, spread: Spread) {
        self.of[value.index()] = spread;
    }

    /// Adds `spread` to the spreads of the values that a region's argument may take.
    fn enter(&mut self, argument: Value, spread: Spread) {
        let before = self.of[argument.index()];
        let mut after = self.spreads.either(before, spread);
        if after != before {
            self.changed = true;
            if self.widen && before != Spread::UNSEEN {
                after = Spread::ANY;
            }
            self.of[argument.index()] = after;
        }
    }

    fn join(&mut self, values: &[Value]) -> Spread {
        let mut joined = Spread::UNIFORM;
        for &value in values {
            joined = self.spreads.join(joined, self.of[value.index()]);
        }
        joined
    }

    fn op(&mut self, op: OpRef<'a>) {
        if op.def().terminator() {
            return;
        }
        if op.def().groups(op).is_some() {
            return self.collective(op);
        }
        match op.def().control(op) {
            Some(Control::While) => self.whole_loop(op),
            Some(Control::Case | Control::If) => {
                let decides = op.operands().first().map_or(Spread::ANY, |&v| self.spread(v));
                op.results().for_each(|v| self.set(v, Spread::UNSEEN));
                for region in 0..self.program.op(op.op).regions.len() {
                    if let Some(block) = op.block(region) {
                        self.block(block);
                    }
                    for (result, &given) in op.results().zip(op.region_results(region)) {
                        let spread = self.spreads.either(self.spread(result), self.spread(given));
                        self.set(result, spread);
                    }
                }
                for result in op.results() {
                    let spread = self.spreads.join(self.spread(result), decides);
                    self.set(result, spread);
                }
            }
            Some(Control::Inline | Control::Manual) => self.inside(op),
            Some(Control::Identity) => {
                for (result, &operand) in op.results().zip(op.operands()) {
                    self.set(result, self.spread(operand));
                }
            }
            Some(Control::Call) => op.results().for_each(|v| self.set(v, Spread::ANY)),
            None if communicates(op) => self.inside(op),
            None => self.computation(op),
        }
    }

    fn computation(&mut self, op: OpRef<'a>) {
        let (replicas, partitions) = self.devices;
        // The ops that tell devices apart have no operands.
        let source = op.operands().is_empty().then(|| op.def().kernel(op));
        let spread = match source {
            Some(Kernel::External(External::PartitionId)) => {
                self.spreads.by_value((0..replicas * partitions).map(|d| d % partitions))
            }
            Some(Kernel::External(External::ReplicaId)) => {
                self.spreads.by_value((0..replicas * partitions).map(|d| d / partitions))
            }
            _ if op.def().side_effect(op) => Spread::ANY,
            _ => {
                let operands: Vec<Spread> = op.operands().iter().map(|&v| self.spread(v)).collect();
                let known = self.known.result(op, &operands, &mut self.spreads);
                known.unwrap_or_else(|| self.join(op.operands()))
            }
        };
        op.results().for_each(|v| self.set(v, spread));
    }

    fn collective(&mut self, op: OpRef<'a>) {
        // With roots chosen at run time every result depends on the last operand, too.
        let pairs = op.operands().len() == op.result_count();
        for (i, result) in op.results().enumerate() {
            let operand = if pairs { self.spread(op.operands()[i]) } else { self.join(op.operands()) };
            let made = self.groups.result(op, self.devices, operand, &mut self.spreads);
            self.set(result, made);
        }
    }

    /// Analyzes a region that runs once, on the operands.
    fn inside(&mut self, op: OpRef<'a>) {
        let Some(block) = op.block(0) else { return };
        for (&argument, &operand) in op.region_args(0).iter().zip(op.operands()) {
            self.set(argument, self.spread(operand));
        }
        self.block(block);
        let given = op.region_results(0);
        if given.len() == op.result_count() {
            for (result, &value) in op.results().zip(given) {
                self.set(result, self.spread(value));
            }
        } else {
            let all = self.join(given);
            op.results().for_each(|v| self.set(v, all));
        }
    }

    fn whole_loop(&mut self, op: OpRef<'a>) {
        for region in 0..2 {
            for (&argument, &operand) in op.region_args(region).iter().zip(op.operands()) {
                self.enter(argument, self.spread(operand));
            }
            if let Some(block) = op.block(region) {
                self.block(block);
            }
        }
        for (i, &given) in op.region_results(1).iter().enumerate() {
            for region in 0..2 {
                if let Some(&argument) = op.region_args(region).get(i) {
                    self.enter(argument, self.spread(given));
                }
            }
        }
        let decides = op.region_results(0).first().copied();
        if let Some(condition) = decides {
            self.conditions.insert(op.op, condition);
        }
        // Devices that leave the loop in different iterations leave with different values.
        let decides = decides.map_or(Spread::ANY, |v| self.spread(v));
        for (result, &argument) in op.results().zip(op.region_args(1)) {
            let spread = match self.spreads.values(self.spread(argument)) {
                Some(_) => self.spread(argument),
                None => self.spreads.join(self.spread(argument), decides),
            };
            self.set(result, spread);
        }
    }
}

/// Returns whether some op in the regions of `op` is a collective.
pub(super) fn communicates(op: OpRef<'_>) -> bool {
    let program = op.program;
    let mut found = false;
    for block in program.op(op.op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
        program.walk(*block, &mut |inner| found |= program.op(inner).def.groups(program.view(inner)).is_some());
    }
    found
}
