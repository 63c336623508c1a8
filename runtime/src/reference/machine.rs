//! The evaluator's state: every value on every device. Also runs regions and calls.
//!
//! Values are stored by their id. One slot per value suffices, because a function has at most one active call at a
//! time.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use dialect::buffers::Deaths;
use dialect::eval::{ChannelKey, Context, EvalError, EvalResult, Lanes, Mask};
use dialect::ir::{Block, ElementClass, Op, OpRef, Program, Region, TensorType, TypeData, Value, ValueSource};
use dialect::literal::Literal;
use dialect::ops::func;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Limits;
use super::noise::{self, Source};

pub(super) struct Machine<'p> {
    program: &'p Program,
    functions: FxHashMap<&'p str, Op>,
    replicas: usize,
    partitions: usize,
    /// Every value's literals by its id; `None` if the value isn't live.
    values: Vec<Option<Lanes>>,
    deaths: FxHashMap<Block, Rc<Deaths>>,
    /// The functions that are being called.
    running: FxHashSet<Op>,
    lane: usize,
    steps: u64,
    depth: usize,
    limits: Limits,
    /// The seed of the errors of every op; `None` for no errors.
    pub(super) noise: Option<u64>,
    /// The values that each probe recorded.
    probes: FxHashMap<String, Vec<Literal>>,
    /// Values that were sent but not yet received.
    mail: FxHashMap<ChannelKey, VecDeque<Vec<Literal>>>,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, replicas: usize, partitions: usize, limits: Limits) -> Self {
        Self {
            program,
            functions: func::functions_by_name(program),
            replicas,
            partitions,
            values: vec![None; program.value_count()],
            deaths: FxHashMap::default(),
            running: FxHashSet::default(),
            lane: 0,
            steps: 0,
            depth: 0,
            limits,
            noise: None,
            probes: FxHashMap::default(),
            mail: FxHashMap::default(),
        }
    }

    /// Runs a function.
    pub(super) fn function(&mut self, function: Op, args: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        let name = func::symbol(self.program, function).unwrap_or_default();
        let Some(block) = func::block(self.program, function) else {
            return Err(EvalError::new(format!("@{name} is declared but has no body, so it can't be run")));
        };
        if !self.running.insert(function) {
            return Err(EvalError::new(format!("@{name} calls itself; functions can't be recursive")));
        }
        let results = self.deeper(|machine| machine.block(block, args, mask));
        self.running.remove(&function);
        results
    }

    /// Runs each device's function: the devices with the same function in lockstep, one function after the other.
    fn grid(&mut self, names: &[&str], args: &[Literal]) -> EvalResult<Vec<Literal>> {
        let n = names.len();
        let mut given: Vec<&[Literal]> = Vec::with_capacity(n);
        let mut rest = args;
        for name in names {
            let function = *self.functions.get(name).ok_or_else(|| super::no_function(self.program, name))?;
            let count = func::signature(self.program, function).inputs.len();
            let (own, others) = rest.split_at_checked(count).ok_or_else(|| {
                EvalError::new(format!("the programs take more than the {} given values", args.len()))
            })?;
            given.push(own);
            rest = others;
        }
        let mut results: Vec<Vec<Literal>> = vec![Vec::new(); n];
        let mut done = vec![false; n];
        for first in 0..n {
            if done[first] {
                continue;
            }
            let mask: Mask = (0..n).map(|i| names[i] == names[first]).collect();
            let lanes = |k: usize| (0..n).map(|i| if mask[i] { given[i].get(k).cloned() } else { None }).collect();
            let args: Vec<Lanes> = (0..given[first].len()).map(lanes).collect();
            let values = self.function(self.functions[names[first]], &args, &mask)?;
            for lane in (0..n).filter(|&i| mask[i]) {
                done[lane] = true;
                results[lane] = values.iter().filter_map(|v| v[lane].clone()).collect();
            }
        }
        Ok(results.concat())
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> EvalResult<T>) -> EvalResult<T> {
        if self.depth >= self.limits.depth {
            return Err(EvalError::new(format!(
                "regions and calls are nested deeper than {} levels",
                self.limits.depth
            )));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs a block and returns the operands of its terminator.
    fn block(&mut self, block: Block, args: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        let program = self.program;
        let params = program.block_args(block);
        if params.len() != args.len() {
            return Err(EvalError::new(format!("a block takes {} values, but {} are given", params.len(), args.len())));
        }
        for (&param, value) in params.iter().zip(args) {
            self.values[param.index()] = Some(value.clone());
        }
        let deaths = self.deaths.entry(block).or_insert_with(|| Rc::new(Deaths::of(program, block))).clone();
        for (i, &op) in program.block_ops(block).iter().enumerate() {
            let view = program.view(op);
            let operands = self.read(view.operands()).map_err(|e| e.within(view))?;
            if view.def().terminator() {
                self.free(deaths.behind(i));
                return Ok(operands);
            }
            let results = self.op(view, &operands, mask).map_err(|e| e.within(view))?;
            for (value, lanes) in view.results().zip(results) {
                self.values[value.index()] = Some(lanes);
            }
            self.free(deaths.behind(i));
        }
        Ok(Vec::new())
    }

    fn op(&mut self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        dialect::interrupt::check();
        if self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(EvalError::new("the time is over"));
        }
        // A constant that repeats one element takes no memory, so its size isn't checked.
        if op.def().constant(op).is_none() {
            self.check_size(op, mask)?;
        }
        let results = match self.noise {
            Some(_) => self.in_another_order(op, operands, mask)?,
            None => op.def().evaluate_spmd(op, operands, mask, self)?,
        };
        if results.len() != op.result_count() {
            return Err(EvalError::new(format!("returned {} results instead of {}", results.len(), op.result_count())));
        }
        for (i, (lanes, ty)) in results.iter().zip(op.result_types()).enumerate() {
            for lane in (0..mask.len()).filter(|&lane| mask[lane]) {
                let Some(value) = &lanes[lane] else {
                    return Err(EvalError::new(format!("returned no result {i} on device {lane}")));
                };
                if !agrees(ty, &value.ty()) {
                    let (found, declared) =
                        (self.program.type_data_text(&value.ty().into()), self.program.type_data_text(ty));
                    return Err(EvalError::new(format!("result {i} is {found}, but {declared} is declared")));
                }
            }
        }
        match self.noise {
            Some(seed) => self.disturbed(op, operands, mask, results, seed),
            None => Ok(results),
        }
    }

    /// Returns the results of an op, which may sum in any order.
    fn in_another_order(&mut self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        #[cfg(feature = "jit")]
        if let Some(products) = super::product::products(op, operands, mask) {
            return Ok(vec![products]);
        }
        op.def().evaluate_spmd(op, operands, mask, self)
    }

    /// Returns the results of an op with rounding errors.
    fn disturbed(
        &mut self,
        op: OpRef<'_>,
        operands: &[Lanes],
        mask: &Mask,
        mut results: Vec<Lanes>,
        seed: u64,
    ) -> EvalResult<Vec<Lanes>> {
        let source = Source::of(op);
        if source == Source::Formula {
            let shifted: Vec<Lanes> = operands.iter().map(|lanes| noise::shifted(seed, lanes)).collect();
            results = op.def().evaluate_spmd(op, &shifted, mask, self)?;
        }
        if noise::flushes(seed) {
            results.iter_mut().flatten().for_each(|lane| *lane = lane.take().map(noise::flushed));
        }
        if source == Source::Exact {
            return Ok(results);
        }
        let sums = if let Source::Sum(_) = source {
            let sizes = noise::summands(op, operands);
            self.noise = None;
            let sums = self.in_another_order(op, &sizes, mask);
            self.noise = Some(seed);
            Some(sums?)
        } else {
            None
        };
        for lane in (0..mask.len()).filter(|&lane| mask[lane]) {
            let given: Vec<&Literal> = operands.iter().filter_map(|o| o[lane].as_ref()).collect();
            let found: Vec<Literal> = results.iter_mut().filter_map(|r| r[lane].take()).collect();
            let sums: Option<Vec<Literal>> =
                sums.as_ref().map(|sums| sums.iter().filter_map(|s| s[lane].clone()).collect());
            let disturbed = noise::disturb(seed, op, source, &given, found, sums.as_deref());
            for (result, value) in results.iter_mut().zip(disturbed) {
                result[lane] = Some(value);
            }
        }
        Ok(results)
    }

    /// Rejects results that exceed the memory limit.
    fn check_size(&self, op: OpRef<'_>, mask: &Mask) -> EvalResult<()> {
        let devices = mask.iter().filter(|&&runs| runs).count() as u64;
        let types = op.result_types().filter_map(TypeData::tensor).filter_map(TensorType::bytes);
        let bytes = types.fold(0u64, |sum, bytes| sum.saturating_add(bytes as u64)).saturating_mul(devices);
        if bytes > self.limits.bytes {
            let limit = self.limits.bytes;
            let message =
                format!("its results take {bytes} bytes on {devices} devices, more than the limit of {limit}");
            return Err(EvalError::new(message));
        }
        Ok(())
    }

    fn read(&self, values: &[Value]) -> EvalResult<Vec<Lanes>> {
        values.iter().map(|&value| self.read_one(value)).collect()
    }

    fn read_one(&self, value: Value) -> EvalResult<Lanes> {
        let found = self.values.get(value.index()).and_then(Option::as_ref);
        found.cloned().ok_or_else(|| match self.program.value_source(value) {
            ValueSource::Result(op, _) => {
                EvalError::new(format!("reads a result of {} before that op ran", self.program.op_name(op)))
            }
            ValueSource::Arg(..) => EvalError::new("reads an argument of a region that doesn't run"),
        })
    }

    fn free(&mut self, values: &[Value]) {
        for &value in values {
            self.values[value.index()] = None;
        }
    }
}

impl Context for Machine<'_> {
    fn replicas(&self) -> usize {
        self.replicas
    }

    fn partitions(&self) -> usize {
        self.partitions
    }

    fn region(&mut self, region: Region, args: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        let &[block] = self.program.region_blocks(region) else {
            return Err(EvalError::new("expected a region of one block"));
        };
        self.deeper(|machine| machine.block(block, args, mask))
    }

    fn isolated(&mut self, partitions: usize, region: Region, args: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        let outer = (self.replicas, self.partitions, self.lane);
        self.partitions = partitions;
        let results = self.region(region, args, mask);
        (self.replicas, self.partitions, self.lane) = outer;
        results
    }

    fn parallel(&mut self, programs: &[Vec<&str>], args: &[Literal]) -> EvalResult<Vec<Literal>> {
        let outer = (self.replicas, self.partitions, self.lane);
        (self.replicas, self.partitions) = (programs.len(), programs.first().map_or(0, Vec::len));
        let results = self.deeper(|machine| machine.grid(&programs.concat(), args));
        (self.replicas, self.partitions, self.lane) = outer;
        results
    }

    fn post(&mut self, address: ChannelKey, values: Vec<Literal>) -> EvalResult<()> {
        self.mail.entry(address).or_default().push_back(values);
        Ok(())
    }

    fn collect(&mut self, address: ChannelKey) -> EvalResult<Vec<Literal>> {
        let waiting = self.mail.get_mut(&address).and_then(VecDeque::pop_front);
        waiting.ok_or_else(|| EvalError::new("no value was sent on this channel"))
    }

    fn record(&mut self, probe: &str, value: &Literal) {
        self.probes.entry(probe.to_owned()).or_default().push(value.clone());
    }

    fn recorded(&self, probe: &str, time: usize) -> Option<Literal> {
        self.probes.get(probe)?.get(time).cloned()
    }

    fn call(&mut self, callee: &str, args: &[Lanes], mask: &Mask) -> EvalResult<Vec<Lanes>> {
        match self.functions.get(callee) {
            Some(&function) => self.function(function, args, mask),
            None => Err(super::no_function(self.program, callee)),
        }
    }

    fn lane(&self) -> usize {
        self.lane
    }

    fn set_lane(&mut self, lane: usize) {
        self.lane = lane;
    }

    fn rounds_sums(&self) -> bool {
        self.noise.is_some_and(noise::rounds_sums)
    }

    fn step(&mut self) -> EvalResult<()> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return Err(EvalError::new(format!(
                "loops ran more than {} iterations; the program may never end",
                self.limits.steps
            )));
        }
        Ok(())
    }
}

/// Returns whether a value's type is compatible with the declared one, whose sizes may be dynamic and whose element
/// type may be unknown.
pub(super) fn agrees(declared: &TypeData, found: &TensorType) -> bool {
    let TypeData::Tensor(declared) = declared else { return true };
    let size = |(&d, &f): (&i64, &i64)| d == dialect::ir::DYNAMIC || d == f;
    declared.rank() == found.rank()
        && declared.shape.iter().zip(&found.shape).all(size)
        && (declared.element == found.element || declared.element.class() == ElementClass::Other)
}
