//! Plans under a limit on memory, where later passes may make values again instead of holding them.
//!
//! The plan's own sum of what is held is only near what a device will hold, and rematerialization changes it. So what counts is
//! the per-device program: the plan that is cheapest without a limit is used if a device can hold what is made of it, unless
//! one that keeps the limit by itself leads to a shorter step.

use std::sync::Arc;

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;

use super::{PlanOptions, PlanReport, plan_with};
use crate::estimate::{Machine, estimate};
use crate::mpmd::Pipeline;
use crate::options::Options;
use crate::pass::run_unverified;
use crate::registry::Registry;

/// What is made of a plan: bytes that a device holds, and seconds of a step.
struct Made {
    bytes: f64,
    seconds: f64,
}

/// Plans `program` by the options of the pass, of which the plan's are read already.
pub(super) fn plan_within(
    program: &mut Program,
    given: &Options,
    options: &PlanOptions,
    diagnostics: &mut Diagnostics,
) -> PlanReport {
    let rewrites = &given.context().rewrites;
    let Some(memory) = options.memory.filter(|_| Pipeline::of(program).is_none()) else {
        return plan_with(program, options, rewrites, diagnostics);
    };
    let memory = memory as f64;
    let mut free = program.clone();
    let report = plan_with(&mut free, &PlanOptions { memory: None, ..*options }, rewrites, &mut Diagnostics::default());
    if let Some(made) = made_of(&free, given, false)
        && made.bytes <= memory
    {
        *program = free;
        return report;
    }
    let bound = plan_with(program, options, rewrites, diagnostics);
    let (Some(of_free), Some(of_bound)) = (made_of(&free, given, true), made_of(program, given, true)) else {
        return bound;
    };
    let better = match (of_free.bytes <= memory, of_bound.bytes <= memory) {
        (true, true) => of_free.seconds < of_bound.seconds,
        (false, false) => of_free.bytes < of_bound.bytes,
        (fits, _) => fits,
    };
    if better {
        *program = free;
        return report;
    }
    bound
}

/// What later passes make of a planned program; `None` if it can't be partitioned, which they will say.
fn made_of(program: &Program, given: &Options, again: bool) -> Option<Made> {
    let (target, memory) = (given.text("target"), given.text("memory"));
    let rematerialize = format!(",rematerialize{{target={target} memory={memory}}}");
    let text = format!("partition{}", if again { rematerialize.as_str() } else { "" });
    let mut steps = Registry::standard().parse(&text).ok()?;
    for step in &mut steps {
        step.options = std::mem::take(&mut step.options).within(Arc::new(given.context().clone()));
    }
    let mut made = program.clone();
    if !run_unverified(&mut made, &steps) {
        return None;
    }
    let (machine, _): (Machine, _) = given.machine(&mut made, &mut Diagnostics::default())?;
    let estimate = estimate(&made, &machine);
    Some(Made { bytes: estimate.peak_bytes, seconds: estimate.step_seconds })
}
