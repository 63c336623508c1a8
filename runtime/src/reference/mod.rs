//! The reference evaluator: all devices in lockstep, each op by its simple and slow definition. All other ways to run a
//! program are tested against it.
//!
//! A value is one literal per device. A per-device program runs with [`evaluate`]. An unpartitioned program, including
//! manual computations, runs with [`evaluate_global`] on full tensors. [`Limits`] bound a program's resources, so that
//! no program hangs or exhausts memory.

mod machine;
mod noise;
#[cfg(feature = "jit")]
mod product;

use std::time::Instant;

use dialect::eval::{EvalError, EvalResult, Lanes};
use dialect::ir::{Op, Program, TypeData};
use dialect::literal::Literal;
use dialect::ops::func;

use machine::Machine;

/// Limits of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum iterations of all loops together.
    pub steps: u64,
    /// Maximum bytes of the results of one op on all devices together.
    pub bytes: u64,
    /// Maximum nesting depth of regions and calls.
    pub depth: usize,
    /// The time after which no op begins.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// Returns the default limits with a deadline.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 10_000_000, bytes: 1 << 34, depth: 300, deadline: None }
    }
}

/// Runs `function` on `replicas * partitions` devices; every input and result is one literal per device. Errors carry
/// the op's name and source location.
pub fn evaluate(
    program: &Program,
    function: &str,
    replicas: usize,
    partitions: usize,
    inputs: &[Lanes],
) -> EvalResult<Vec<Lanes>> {
    evaluate_within(program, function, replicas, partitions, inputs, Limits::default())
}

/// Does the same as [`evaluate`] with other limits.
pub fn evaluate_within(
    program: &Program,
    function: &str,
    replicas: usize,
    partitions: usize,
    inputs: &[Lanes],
    limits: Limits,
) -> EvalResult<Vec<Lanes>> {
    evaluate_with(program, function, (replicas, partitions), inputs, limits, None)
}

fn evaluate_with(
    program: &Program,
    function: &str,
    (replicas, partitions): (usize, usize),
    inputs: &[Lanes],
    limits: Limits,
    noise: Option<u64>,
) -> EvalResult<Vec<Lanes>> {
    let op = func::function(program, function).ok_or_else(|| no_function(program, function))?;
    let devices = replicas.saturating_mul(partitions);
    if devices == 0 || devices as i64 > dialect::sharding::MAX_DEVICES {
        let most = dialect::sharding::MAX_DEVICES;
        return Err(EvalError::new(format!("expected between 1 and {most} devices to evaluate, found {devices}")));
    }
    check_inputs(program, op, devices, inputs)?;
    let mut machine = Machine::new(program, replicas, partitions, limits);
    machine.noise = noise;
    machine.function(op, inputs, &vec![true; devices])
}

/// Runs an unpartitioned program's `@main` on full tensors. Manual computations run on the devices of their mesh.
pub fn evaluate_global(program: &Program, inputs: &[Literal]) -> EvalResult<Vec<Literal>> {
    Ok(evaluate_replicas(program, &[inputs.to_vec()])?.remove(0))
}

/// Does the same as [`evaluate_global`] for several replicas of the program, with the inputs and results of each.
pub fn evaluate_replicas(program: &Program, inputs: &[Vec<Literal>]) -> EvalResult<Vec<Vec<Literal>>> {
    evaluate_replicas_within(program, inputs, Limits::default())
}

/// Does the same as [`evaluate_replicas`] with other limits.
pub fn evaluate_replicas_within(
    program: &Program,
    inputs: &[Vec<Literal>],
    limits: Limits,
) -> EvalResult<Vec<Vec<Literal>>> {
    global(program, inputs, limits, None)
}

/// Does the same as [`evaluate_replicas`] with rounding errors in every op, chosen by `seed`. Another order of
/// summation or other hardware may cause such errors.
pub fn evaluate_disturbed(
    program: &Program,
    inputs: &[Vec<Literal>],
    limits: Limits,
    seed: u64,
) -> EvalResult<Vec<Vec<Literal>>> {
    global(program, inputs, limits, Some(seed))
}

fn global(
    program: &Program,
    inputs: &[Vec<Literal>],
    limits: Limits,
    noise: Option<u64>,
) -> EvalResult<Vec<Vec<Literal>>> {
    let count = inputs.first().map_or(0, Vec::len);
    let given = |value: &Literal| match noise {
        Some(seed) if noise::flushes(seed) => noise::flushed(value.clone()),
        _ => value.clone(),
    };
    let lanes = |i: usize| inputs.iter().map(|values| values.get(i).map(given)).collect();
    let lanes: Vec<Lanes> = (0..count).map(lanes).collect();
    let mut results = evaluate_with(program, "main", (inputs.len(), 1), &lanes, limits, noise)?;
    let missing = || EvalError::new("a result has no value");
    let mut of = |r: usize| results.iter_mut().map(|lanes| lanes[r].take().ok_or_else(missing)).collect();
    (0..inputs.len()).map(&mut of).collect()
}

/// Runs one op of a program on one device with the given operands, for an executor that has no native code for it.
pub fn evaluate_op(program: &Program, op: Op, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    let mut machine = Machine::new(program, 1, 1, Limits::default());
    let view = program.view(op);
    dialect::eval::evaluate(view, operands, &mut machine).map_err(|e| e.within(view))
}

fn no_function(program: &Program, name: &str) -> EvalError {
    let mut known: Vec<&str> = func::functions_by_name(program).into_keys().collect();
    known.sort_unstable();
    known.truncate(8);
    EvalError::new(format!("function @{name} is undefined; the module has @{}", known.join(", @")))
}

fn check_inputs(program: &Program, function: Op, devices: usize, inputs: &[Lanes]) -> EvalResult<()> {
    let expected = func::signature(program, function).inputs;
    let name = func::symbol(program, function).unwrap_or_default();
    if inputs.len() != expected.len() {
        return Err(EvalError::new(format!("@{name} takes {} inputs, but {} are given", expected.len(), inputs.len())));
    }
    for (i, (lanes, &ty)) in inputs.iter().zip(expected).enumerate() {
        if lanes.len() != devices {
            return Err(EvalError::new(format!("input {i} has values for {} of {devices} devices", lanes.len())));
        }
        for (device, value) in lanes.iter().enumerate() {
            let Some(value) = value else {
                return Err(EvalError::new(format!("input {i} has no value on device {device}")));
            };
            let found = TypeData::Tensor(value.ty());
            if !machine::agrees(program.type_data(ty), &value.ty()) {
                let (found, expected) = (program.type_data_text(&found), program.type_text(ty));
                return Err(EvalError::new(format!("input {i} of @{name} is {expected}, but {found} is given")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
