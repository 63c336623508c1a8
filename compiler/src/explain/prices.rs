//! The cost of each collective in a plan: prices the per-device program and attributes each price to its cause.

use std::collections::HashMap;

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Span};
use dialect::ir::{Loc, LocData, Op, Program, TensorType, ValueSource};
use passes::Step;
use passes::estimate::{Communication, Machine};

use super::causes::Cause;
use crate::compiler::{Compiler, Watch};
use crate::cost::Priced;
use crate::diagnostic::{Outcome, one};
use crate::module::Module;

/// The cost of all per-device collectives that one collective became.
#[derive(Clone, Default)]
pub(super) struct Price {
    /// Seconds of all its executions in a step.
    pub(super) seconds: f64,
    /// Bytes that each device contributes.
    pub(super) operand_bytes: u64,
    /// Bytes that each device has afterwards.
    pub(super) result_bytes: u64,
    /// The number of executions in a step.
    pub(super) count: u64,
    /// Whether the number of executions is a guess.
    pub(super) guessed: bool,
    /// The mesh axes along which devices of its groups differ.
    pub(super) axes: Vec<String>,
    /// The number of other collectives that are sent together with it.
    pub(super) together: usize,
}

/// The cost of a plan.
pub(super) struct PlanPrice {
    /// The price of each cause.
    pub(super) causes: Vec<Price>,
    /// The machine that it is priced for.
    pub(super) machine: Machine,
    /// Seconds of a step.
    pub(super) step_seconds: f64,
    /// Bytes of each device's values.
    pub(super) peak_bytes: f64,
}

impl Compiler {
    /// Partitions and prices a planned program.
    pub(super) fn price_plan(
        &self,
        planned: &Module,
        found: &[Cause],
        partition: &[Step],
        target: &str,
    ) -> Outcome<PlanPrice> {
        let mut device = planned.program().clone();
        let marks = mark(&mut device, found.iter().map(|cause| cause.op));
        self.run_steps(planned.with_program(device), partition, &mut Watch::default()).and_then(|device| {
            let source = planned.source();
            let target = self.target(target).map_err(|e| e.to_string());
            let mut program = device.program().clone();
            let priced = target.and_then(|target| Priced::new(&mut program, target)).map(|priced| {
                let mut all = vec![Price::default(); found.len()];
                for c in &priced.estimate.collectives {
                    let shares = shares(&program, c, &marks);
                    for &(i, share) in &shares {
                        all[i].add(c, share);
                        all[i].together = all[i].together.max(shares.len() - 1);
                        all[i].axes = priced.axes(&program, c);
                    }
                }
                PlanPrice {
                    causes: all,
                    machine: priced.machine,
                    step_seconds: priced.estimate.step_seconds,
                    peak_bytes: priced.estimate.peak_bytes,
                }
            });
            Outcome::of(source, priced.map_err(|fault| one(Plain::error(codes::TARGET_SIZE, Span::default(), fault))))
        })
    }
}

/// Gives each op a unique location, and returns the index in `ops` for each. The partitioner copies an op's location to
/// all ops that it creates from it.
pub(crate) fn mark(program: &mut Program, ops: impl Iterator<Item = Op>) -> HashMap<Loc, usize> {
    let mark = |(i, op): (usize, Op)| {
        let name = program.attr_str(&format!("op {i}"));
        let inner = program.op(op).loc;
        let loc = program.intern_loc(LocData::Name(name, inner));
        program.op_mut(op).loc = loc;
        (loc, i)
    };
    ops.enumerate().map(mark).collect()
}

/// Returns the causes of a per-device collective with each cause's fraction of the bytes. The scheduler combines small
/// collectives and lists their locations in the order of their operands.
pub(crate) fn shares(device: &Program, c: &Communication, marks: &HashMap<Loc, usize>) -> Vec<(usize, f64)> {
    let loc = device.op(c.op).loc;
    let data = device.loc_data(loc);
    let LocData::Fused(None, parts) = &*data else {
        return marks.get(&loc).map(|&i| (i, 1.0)).into_iter().collect();
    };
    // A packed operand combines one operand per cause.
    let operands = &device.op(c.op).operands;
    let operands = match operands.first().map(|&v| device.value_source(v)) {
        Some(ValueSource::Result(op, _)) if operands.len() < parts.len() => &device.op(op).operands,
        _ => operands,
    };
    let size = |i: usize| operands.get(i).and_then(|&v| device.tensor_type(v)).map_or(0.0, tensor_bytes);
    let all: f64 = (0..operands.len()).map(size).sum();
    let one = |(i, part)| marks.get(part).map(|&cause| (cause, size(i) / all.max(1.0)));
    parts.iter().enumerate().filter_map(one).collect()
}

/// Returns the bytes of a tensor.
fn tensor_bytes(ty: &TensorType) -> f64 {
    ty.shape.iter().map(|&d| d.max(0) as f64).product::<f64>() * ty.element.bits() as f64 / 8.0
}

impl Price {
    /// Adds this fraction of a collective.
    fn add(&mut self, c: &Communication, share: f64) {
        self.seconds += c.seconds * c.count as f64 * share;
        let part = |bytes: u64| (bytes as f64 * share).round() as u64;
        if self.count == 0 {
            self.operand_bytes = part(c.operand_bytes);
        }
        self.result_bytes = part(c.result_bytes);
        self.count = self.count.max(c.count);
        self.guessed |= c.guessed;
    }
}
