//! The environment of `OpDef::evaluate`: the values of all devices in parallel lanes, and the evaluator that runs
//! regions.

use crate::diagnostic::Span;
use crate::ir::{OpRef, Region};
use crate::literal::Literal;

/// The reason why an evaluation stopped.
#[derive(Clone, PartialEq, Debug)]
pub struct EvalError {
    /// The error message.
    pub message: String,
    /// The name of the op at fault, `stablehlo.add`.
    pub op: Option<Box<str>>,
    /// The op's span in the source; empty for an op that a pass made.
    pub span: Span,
    /// The device at fault, by its number in the program, if it was a single one.
    pub device: Option<usize>,
}

impl EvalError {
    /// Creates an error without an op; the evaluator adds the op.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), op: None, span: Span::default(), device: None }
    }

    /// Sets the op to `op`, unless an op inside it is already known to be at fault.
    pub fn within(mut self, op: OpRef<'_>) -> Self {
        if self.op.is_none() {
            self.op = Some(op.name().into());
            self.span = op.span();
        }
        self
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.op {
            Some(op) => write!(f, "{op}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for EvalError {}

impl From<crate::op::Problem> for EvalError {
    fn from(problem: crate::op::Problem) -> Self {
        Self::new(problem.message)
    }
}

/// A value, or the reason why there is none.
pub type EvalResult<T> = Result<T, EvalError>;

/// One value on every device: `None` if the device did not run.
pub type Lanes = Vec<Option<Literal>>;

/// The results of an op, a region or a function on every device.
pub type LaneResults = EvalResult<Vec<Lanes>>;

/// The devices that run.
pub type Mask = Vec<bool>;

/// A queue that stores values between sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelKey {
    /// A channel's number and the receiving device; `None` for the host.
    Channel(i64, Option<i64>),
    /// The host's infeed.
    Infeed,
}

/// The interface of the evaluator to ops. Regions read the values around them through it, too.
pub trait Context {
    /// Returns the number of replicas.
    fn replicas(&self) -> usize;

    /// Returns the number of partitions; devices are `replica * partitions + partition`.
    fn partitions(&self) -> usize;

    /// Runs a region on the devices of `mask` and returns its terminator's operands.
    fn region(&mut self, region: Region, args: &[Lanes], mask: &Mask) -> LaneResults;

    /// Runs a region that reads no values around it on `partitions` separate devices in every replica, such as the
    /// devices of a manual computation's mesh in an unpartitioned program. `args` and `mask` are over those devices.
    fn isolated(&mut self, partitions: usize, region: Region, args: &[Lanes], mask: &Mask) -> LaneResults;

    /// Runs the function called `callee`.
    fn call(&mut self, callee: &str, args: &[Lanes], mask: &Mask) -> LaneResults;

    /// Returns the device on which an `evaluate` of one lane runs.
    fn lane(&self) -> usize;

    /// Sets the device on which an `evaluate` of one lane runs.
    fn set_lane(&mut self, lane: usize);

    /// Runs `programs[replica][partition]` on separate devices and returns the concatenation of the devices' results;
    /// `args` are their arguments in the same order.
    fn parallel(&mut self, _programs: &[Vec<&str>], _args: &[Literal]) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("the evaluator can't run programs in parallel here"))
    }

    /// Appends values to the queue at `address`.
    fn post(&mut self, _address: ChannelKey, _values: Vec<Literal>) -> EvalResult<()> {
        Err(EvalError::new("the evaluator can't send values here"))
    }

    /// Removes the oldest values from the queue at `address`.
    fn collect(&mut self, _address: ChannelKey) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("the evaluator can't receive values here"))
    }

    /// Records a value for a probe.
    fn record(&mut self, _probe: &str, _value: &Literal) {}

    /// Returns the `time`-th value recorded for a probe, from 0.
    fn recorded(&self, _probe: &str, _time: usize) -> Option<Literal> {
        None
    }

    /// Returns whether long sums of f32 and f64 are rounded after every term, as in hardware, instead of once.
    fn rounds_sums(&self) -> bool {
        false
    }

    /// Counts one step of a loop, so that an endless program is stopped.
    fn step(&mut self) -> EvalResult<()>;
}

/// Calls `run` with values that only the current lane of `cx` has; returns the results on this lane.
pub fn on_lane(
    cx: &mut dyn Context,
    args: &[Literal],
    run: impl FnOnce(&mut dyn Context, &[Lanes], &Mask) -> LaneResults,
) -> EvalResult<Vec<Literal>> {
    let lane = cx.lane();
    let mask: Mask = (0..cx.replicas() * cx.partitions()).map(|l| l == lane).collect();
    let on_one = |value: &Literal| -> Lanes { mask.iter().map(|&runs| runs.then(|| value.clone())).collect() };
    let args: Vec<Lanes> = args.iter().map(on_one).collect();
    let results = run(cx, &args, &mask)?;
    cx.set_lane(lane);
    results.into_iter().map(|mut r| r[lane].take().ok_or_else(|| EvalError::new("a result has no value"))).collect()
}

/// Runs a region on the current lane of `cx`.
pub fn region_on_lane(cx: &mut dyn Context, region: Region, args: &[Literal]) -> EvalResult<Vec<Literal>> {
    on_lane(cx, args, |cx, args, mask| cx.region(region, args, mask))
}

/// Evaluates an op on the current lane of `cx`; errors name no device.
pub fn evaluate(op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
    let results = on_lane(cx, operands, |cx, operands, mask| op.def().evaluate_spmd(op, operands, mask, cx));
    results.map_err(|error| EvalError { device: None, ..error })
}

/// Runs `evaluate` on each running device: the implementation of `evaluate_spmd` for ops that don't communicate.
pub fn each_lane(op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
    let mut results = vec![vec![None; mask.len()]; op.result_count()];
    for lane in (0..mask.len()).filter(|&l| mask[l]) {
        let args: Option<Vec<Literal>> = operands.iter().map(|o| o[lane].clone()).collect();
        let args = args.ok_or_else(|| EvalError::new("an operand has no value on a running device"))?;
        cx.set_lane(lane);
        let values =
            op.def().evaluate(op, &args, cx).map_err(|e| EvalError { device: e.device.or(Some(lane)), ..e })?;
        for (r, value) in values.into_iter().enumerate() {
            results[r][lane] = Some(value);
        }
    }
    Ok(results)
}
