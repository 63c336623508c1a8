//! Sites where a sharding may be stated in addition to those of arguments: values that take a fraction of the step to
//! move or to compute repeatedly on all devices, and results without a stated sharding. The most expensive site is
//! tried first.

use std::collections::{HashMap, HashSet};

use dialect::ir::{Op, Program, Ty, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisRef, ShardingTable, TensorSharding};
use passes::estimate::{Stream, Trips, estimate};
use passes::{Stage, run_unverified};

use super::axis::referred;
use super::candidate::{Candidate, Pin, Pinned, Placed};
use super::constrain::placeable;
use super::survey::{Survey, Tensor};
use super::trial::{Measure, Trial};
use crate::explain::{Cause, causes, mark, shares};
use crate::module::main_block;

/// The fraction of a step that a constraint has to save.
pub(super) const WORTHWHILE: f64 = 0.01;

/// A value, or several similar ones, with the seconds that might be saved and the placements to try.
struct Site {
    at: Pinned,
    seconds: f64,
    places: Vec<Placed>,
}

/// The key that similar values share: their op and type, the roles of their dimensions, the shardings before and after
/// the move, and the op that reads them.
type Likeness = (String, Ty, Vec<Option<usize>>, [Option<TensorSharding>; 2], Option<String>);

/// Returns the pins to add to a candidate, most promising first.
pub(super) fn pins(trial: &Trial<'_>, candidate: &Candidate, measure: &Measure) -> Vec<Pin> {
    let Some(spent) = Spent::of(trial, candidate) else { return Vec::new() };
    let mut finder = Finder {
        imported: trial.program,
        survey: trial.survey,
        candidate,
        spent: &spent,
        placeable: placeable(trial.program).into_keys().filter(|&v| is_free(trial.program, v)).collect(),
        alike: HashMap::new(),
        sites: Vec::new(),
    };
    if measure.exposed >= WORTHWHILE * measure.step {
        spent.causes.iter().for_each(|(cause, seconds)| finder.moved(cause, *seconds));
    }
    spent.work.iter().for_each(|&(op, seconds)| finder.repeated(op, seconds));
    let mut sites = finder.sites;
    sites.retain(|site| site.seconds >= WORTHWHILE * measure.step);
    sites.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let most = sites.iter().map(|site| site.places.len()).max().unwrap_or(0);
    let nth = |n: usize| sites.iter().filter_map(move |site| Some((&site.at, site.places.get(n)?)));
    (0..most).flat_map(nth).map(|(at, placed)| Pin { at: at.clone(), placed: placed.clone() }).collect()
}

/// Returns whether a value has no stated sharding.
fn is_free(program: &Program, value: Value) -> bool {
    match program.value_source(value) {
        ValueSource::Result(op, _) => {
            sdy::stated_sharding(program.view(op)).is_none() && program.attr(op, func::SHARDING).is_none()
        }
        ValueSource::Arg(..) => true,
    }
}

/// The time of a candidate's step, by moves and ops.
struct Spent {
    planned: Program,
    shardings: ShardingTable,
    /// The moves, with their seconds.
    causes: Vec<(Cause, f64)>,
    /// The ops that compute, with their seconds.
    work: Vec<(Op, f64)>,
}

impl Spent {
    fn of(trial: &Trial<'_>, candidate: &Candidate) -> Option<Self> {
        let mut program = trial.program.clone();
        candidate.annotate(trial.survey, &mut program, trial.mesh, false);
        run_unverified(&mut program, &trial.full.until(Stage::Planned)).then_some(())?;
        let planned = program.clone();
        let main = main_block(&planned)?;
        let ops = planned.ops_under(main);
        let marks = mark(&mut program, ops.iter().copied());
        run_unverified(&mut program, &trial.full.after(Stage::Planned)).then_some(())?;
        let machine = trial.machine(&mut program)?;
        let cost = estimate(&program, &machine);
        let mut seconds = vec![0.0; ops.len()];
        for c in &cost.collectives {
            shares(&program, c, &marks).iter().for_each(|&(i, share)| seconds[i] += c.seconds * c.count as f64 * share);
        }
        let trips = trips(&planned);
        let mut work = vec![0.0; ops.len()];
        for event in cost.timeline.iter().filter(|e| e.stream == Stream::Compute && e.op.index() < program.op_count()) {
            if let Some(&i) = marks.get(&program.op(event.op).loc) {
                work[i] += event.seconds * trips.get(&ops[i]).copied().unwrap_or(1.0);
            }
        }
        let at: HashMap<Op, usize> = ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
        let priced = |cause: Cause| {
            let seconds = at.get(&cause.op).map_or(0.0, |&i| seconds[i]);
            (cause, seconds)
        };
        let causes = causes(&planned).into_iter().map(priced).collect();
        let work = ops.into_iter().zip(work).filter(|op| op.1 > 0.0).collect();
        Some(Self { shardings: ShardingTable::of(&planned), planned, causes, work })
    }
}

/// Returns the number of executions of the ops of loops in a step.
fn trips(program: &Program) -> HashMap<Op, f64> {
    let mut times: HashMap<Op, f64> = HashMap::new();
    for op in program.ops_under(program.body()) {
        let own = times.get(&op).copied().unwrap_or(1.0);
        let view = program.view(op);
        let inner = match view.def().control(view) {
            Some(Control::While) => own * Trips::of(view).count as f64,
            _ => own,
        };
        if inner > 1.0 {
            let blocks = program.op(op).regions.iter().flat_map(|&region| program.region_blocks(region));
            blocks.flat_map(|&block| program.block_ops(block)).for_each(|&op| {
                times.insert(op, inner);
            });
        }
    }
    times
}

struct Finder<'a> {
    imported: &'a Program,
    survey: &'a Survey,
    candidate: &'a Candidate,
    spent: &'a Spent,
    placeable: HashSet<Value>,
    alike: HashMap<Likeness, usize>,
    sites: Vec<Site>,
}

impl Finder<'_> {
    /// Adds a site for a moved value: its producer may use the needed sharding, or a sum may stay in shards.
    fn moved(&mut self, cause: &Cause, seconds: f64) {
        if cause.manual || cause.neighbors || seconds <= 0.0 {
            return;
        }
        let Some(ty) = self.spent.planned.tensor_type(cause.value) else { return };
        let shape = ty.shape.to_vec();
        let from = cause.from.as_ref().and_then(|s| self.placed(s));
        let mut places = Vec::new();
        if let (Some(dims), Some(sharding)) = (&from, &cause.from) {
            let sums = sharding.unreduced.iter().map(|&axis| self.referred(axis)).collect::<Option<Vec<_>>>();
            places = self.sharded_more(dims, &sums.unwrap_or_default().concat(), &shape);
        }
        let main = main_block(&self.spent.planned);
        let end = main.and_then(|block| self.spent.planned.terminator(block));
        match cause.user {
            Some((user, i)) if Some(user) == end => {
                let own = |result: &Tensor| !result.fixed && result.like.is_none() && result.shape == shape;
                let free = self.survey.results.get(i).is_some_and(own);
                if free && !self.candidate.pins.iter().any(|pin| pin.at == Pinned::Result(i)) {
                    // A value without partial sums is returned with its own sharding if the shards are equal, because
                    // JAX returns no uneven shards.
                    let whole = cause.from.as_ref().is_some_and(|s| s.unreduced.is_empty());
                    places.extend(from.filter(|dims| whole && self.is_even(dims, &shape)));
                    self.sites.push(Site { at: Pinned::Result(i), seconds, places });
                }
            }
            user => {
                places.splice(0..0, cause.to.as_ref().and_then(|s| self.placed(s)));
                let moves = [cause.from.clone(), cause.to.clone()];
                let reader = user.map(|(op, _)| self.spent.planned.op_name(op).to_owned());
                self.add(cause.value, seconds, places, moves, reader);
            }
        }
    }

    /// Adds a site for an op whose work several devices repeat: its result may be computed in shards.
    fn repeated(&mut self, op: Op, seconds: f64) {
        let Some(value) = self.spent.planned.results(op).next() else { return };
        let Some(sharding) = self.spent.shardings.get(value).cloned() else { return };
        let Some(dims) = self.placed(&sharding) else { return };
        let summed = sharding.unreduced.iter().map(|&axis| self.referred(axis)).collect::<Option<Vec<_>>>();
        let Some(summed) = summed.map(|axes| axes.concat()) else { return };
        let is_unused = |a: &usize| !dims.iter().flatten().chain(&summed).any(|other| other == a);
        let unused: Vec<usize> = (0..self.candidate.axes.len()).filter(is_unused).collect();
        let devices: i64 = unused.iter().map(|&a| self.candidate.axes[a].size).product();
        let shape = self.spent.planned.tensor_type(value).map_or_else(Vec::new, |ty| ty.shape.to_vec());
        let places = self.sharded_more(&dims, &unused, &shape);
        let repeated = seconds * (1.0 - 1.0 / devices.max(1) as f64);
        self.add(value, repeated, places, [Some((*sharding).clone()), None], None);
    }

    /// Returns the placements that also shard one of the dimensions along these axes.
    fn sharded_more(&self, dims: &Placed, axes: &[usize], shape: &[i64]) -> Vec<Placed> {
        let more = |d: usize| {
            let mut placed = dims.clone();
            placed[d].extend(axes);
            self.is_even(&placed, shape).then_some(placed)
        };
        let dims = if axes.is_empty() { 0 } else { dims.len().min(shape.len()) };
        (0..dims).filter_map(more).collect()
    }

    /// Returns whether all shards have the same size.
    fn is_even(&self, placed: &Placed, shape: &[i64]) -> bool {
        let shards = |axes: &[usize]| axes.iter().map(|&a| self.candidate.axes[a].size).product::<i64>();
        placed.iter().zip(shape).all(|(axes, &size)| size > 0 && size % shards(axes) == 0)
    }

    /// Adds a value that another placement might improve, together with all similar values.
    fn add(
        &mut self,
        value: Value,
        seconds: f64,
        mut places: Vec<Placed>,
        moves: [Option<TensorSharding>; 2],
        reader: Option<String>,
    ) {
        let pinned = |pin: &Pin| matches!(&pin.at, Pinned::Values(values) if values.contains(&value));
        if !self.placeable.contains(&value) || self.candidate.pins.iter().any(pinned) {
            return;
        }
        // The plan may have rewritten its op.
        let Some(ty) = self.imported.tensor_type(value).filter(|&ty| self.spent.planned.tensor_type(value) == Some(ty))
        else {
            return;
        };
        let classes = self.survey.classes.of_value(self.imported, value);
        let by_class = self.candidate.by_class(self.survey, classes, &ty.shape);
        if by_class.iter().any(|axes| !axes.is_empty()) && !places.contains(&by_class) {
            places.push(by_class);
        }
        let own = moves[0].as_ref().filter(|s| s.unreduced.is_empty()).and_then(|s| self.placed(s));
        places.retain(|place| Some(place) != own.as_ref());
        let role = |class| self.survey.roles.iter().position(|role| role.classes.contains(class));
        let made_by = match self.imported.value_source(value) {
            ValueSource::Result(op, _) => self.imported.op_name(op).to_owned(),
            ValueSource::Arg(..) => String::new(),
        };
        let roles = classes.iter().map(role).collect();
        let likeness = (made_by, self.imported.value_type(value), roles, moves, reader);
        match self.alike.get(&likeness).map(|&at| &mut self.sites[at]) {
            Some(Site { at: Pinned::Values(values), seconds: all, .. }) => {
                if !values.contains(&value) {
                    values.push(value);
                }
                *all += seconds;
            }
            _ => {
                self.alike.insert(likeness, self.sites.len());
                self.sites.push(Site { at: Pinned::Values(vec![value]), seconds, places });
            }
        }
    }

    fn placed(&self, sharding: &TensorSharding) -> Option<Placed> {
        let dim = |axes: &[_]| axes.iter().map(|&axis| self.referred(axis)).collect::<Option<Vec<_>>>();
        sharding.dims.iter().map(|d| Some(dim(&d.axes)?.concat())).collect()
    }

    fn referred(&self, axis: AxisRef) -> Option<Vec<usize>> {
        referred(&self.spent.planned, &self.candidate.axes, axis)
    }
}
