//! check-spmd: checks a per-device program before it runs, so that no device waits for another forever.
//!
//! Devices run one program, so the devices of a group execute the same collectives in the same order as long as they
//! take the same branches and run loops equally often. The pass follows how values differ between devices: partition
//! and replica ids, arguments that are sharded or have no stated sharding, and the results of collectives. It reports a
//! collective under a branch or loop that two members of a group may decide differently, together with the place of the
//! decision. The verifier checks that groups and pairs name each device once, and only existing devices.

mod flow;
mod known;
mod members;
mod spread;
mod transfers;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use dialect::ir::{Block, Op, OpRef, Program, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::{func, sdy};
use dialect::sharding::{MAX_DEVICES, Mesh, digits, index};
use dialect::signature::{self, Side, Signature};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::options::{OptionDef, Options};
use flow::{Flow, communicates};
use spread::{Spread, Spreads};

/// The pass.
pub static PASS: crate::Pass = crate::Pass {
    name: "check-spmd",
    doc: "Checks that the members of each group of a per-device program run the same collectives in the same order.",
    effect: crate::Effect::Report,
    options: &[OptionDef::flag("strict", false, "Report possible faults as errors instead of warnings.")],
    run: |program, options, diagnostics| check(program, options, diagnostics),
};

/// Checks a per-device program.
fn check(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else {
        let d = Diagnostic::error(codes::NO_MAIN, Span::default(), "the module has no function @main");
        return diagnostics.push(d.note("the function that every device runs must be called main"));
    };
    let Some(block) = func::block(program, main) else { return };
    if let Some((mesh, ..)) = sdy::meshes(program).next().filter(|_| !signature::is_stated(program, main)) {
        let d = Diagnostic::error(
            codes::GLOBAL_PROGRAM,
            program.op(mesh).span,
            "the program is not a per-device program, because it has a mesh",
        );
        return diagnostics
            .push(d.note("'shardc compile' produces the per-device program; if the mesh is unused, remove it"));
    }
    transfers::check(program, block, diagnostics);
    if !has_conditional_collective(program, block) {
        return;
    }
    let devices = devices(program, block);
    if !(2..=MAX_DEVICES).contains(&devices.0.saturating_mul(devices.1)) {
        return;
    }
    let mut spreads = Spreads::new((devices.0 * devices.1) as usize);
    let arguments = arguments(program, main, block, devices, &mut spreads);
    let mut flow = Flow::new(program, devices, spreads);
    flow.run(block, &arguments);
    let mut check = Check { program, flow, strict: options.flag("strict"), diagnostics, deciders: Vec::new() };
    check.block(block, Spread::UNIFORM);
}

/// Returns for each collective whether none of these values is known to be equal on two members of one of its groups.
pub(crate) fn all_differ(program: &mut Program, collectives: &[Op], values: &[Vec<Value>]) -> Vec<bool> {
    let main = func::function(program, "main").and_then(|main| Some((main, func::block(program, main)?)));
    let Some((main, block)) = main else { return vec![false; collectives.len()] };
    let devices = devices(program, block);
    if !(2..=MAX_DEVICES).contains(&devices.0.saturating_mul(devices.1)) {
        return vec![false; collectives.len()];
    }
    let mut spreads = Spreads::new((devices.0 * devices.1) as usize);
    let arguments = arguments(program, main, block, devices, &mut spreads);
    let mut flow = Flow::new(program, devices, spreads);
    flow.run(block, &arguments);
    let of: Vec<Vec<Spread>> = values.iter().map(|v| v.iter().map(|&v| flow.spread(v)).collect()).collect();
    let Flow { groups, spreads, .. } = &mut flow;
    let differ = |(&op, held): (&Op, &Vec<Spread>)| {
        held.iter().all(|&held| groups.all_differ(program.view(op), devices, held, spreads))
    };
    collectives.iter().zip(&of).map(differ).collect()
}

/// Returns whether a collective is in a loop or branch.
fn has_conditional_collective(program: &Program, block: Block) -> bool {
    program.block_ops(block).iter().any(|&op| {
        let view = program.view(op);
        !program.op(op).regions.is_empty() && communicates(view)
    })
}

/// Returns the numbers of replicas and partitions: as declared, or the largest that groups name.
fn devices(program: &Program, block: Block) -> (i64, i64) {
    if let Some(declared) = func::declared_devices(program) {
        return declared;
    }
    let (mut replicas, mut partitions) = (1, 1);
    program.walk(block, &mut |op| {
        let view = program.view(op);
        let Some(rule) = view.def().groups(view) else { return };
        let rows = view.attr_id(rule.attribute).and_then(|attr| dialect::collective::rows(program, attr));
        let Some(rows) = rows else { return };
        let last = (0..rows.count()).flat_map(|row| rows.row(row)).max().unwrap_or(0);
        use dialect::collective::IdMode;
        let count = match rule.mode {
            IdMode::CrossReplica | IdMode::CrossReplicaAndPartition => &mut replicas,
            IdMode::CrossPartition | IdMode::Flattened => &mut partitions,
        };
        *count = last.saturating_add(1).max(*count);
    });
    (replicas, partitions)
}

/// Returns how the arguments of `@main` differ between devices: by their shards, where a sharding is stated.
fn arguments(
    program: &mut Program,
    main: Op,
    block: Block,
    (replicas, partitions): (i64, i64),
    spreads: &mut Spreads,
) -> Vec<Spread> {
    let count = program.block_args(block).len();
    let Some(found) = Signature::of(program) else { return vec![Spread::ANY; count] };
    let mesh = found.mesh.map(|m| m.1).unwrap_or_default();
    let positions = mesh.positions();
    let mut of = |i: usize, side: &Side| {
        let stated = [signature::GLOBAL_TYPE, signature::SHARDING];
        if stated.iter().all(|name| func::arg_attr(program, main, i, name).is_none()) {
            return Spread::ANY;
        }
        let Some(shard) = shards(side, &mesh) else { return Spread::ANY };
        spreads.by_key((0..replicas * partitions).map(|device| {
            let at = positions.get((device % partitions) as usize).copied().unwrap_or(device);
            (device / partitions, shard(at))
        }))
    };
    (0..count).map(|i| found.arguments.get(i).map_or(Spread::ANY, |side| of(i, side))).collect()
}

/// Returns a function from a device's position to the number of its shard; `None` where the mesh lacks an axis.
fn shards(side: &Side, mesh: &Mesh) -> Option<impl Fn(i64) -> i64 + use<>> {
    let axes = match &side.sharding {
        Some(s) => s.dims.iter().flat_map(|d| d.axes.iter()).chain(&s.unreduced).copied().collect(),
        None => Vec::new(),
    };
    let digits = digits(mesh, &mesh.axis_parts(&axes)?);
    Some(move |at| index(&digits, at))
}

struct Check<'a, 'd> {
    program: &'a Program,
    flow: Flow<'a>,
    strict: bool,
    diagnostics: &'d mut Diagnostics,
    /// The enclosing loops and branches, outermost first, with the values that decide them.
    deciders: Vec<(Op, Value)>,
}

impl<'a> Check<'a, '_> {
    /// Checks the collectives under `block`. The devices that run them are those that `context` doesn't tell apart.
    fn block(&mut self, block: Block, context: Spread) {
        for &op in self.program.block_ops(block) {
            let view = self.program.view(op);
            if view.def().groups(view).is_some() {
                if context != Spread::UNIFORM {
                    self.collective(view, context);
                }
                continue;
            }
            let regions = &self.program.op(op).regions;
            if regions.is_empty() || !communicates(view) {
                continue;
            }
            let decider = self.flow.decider(view);
            let inside = match (decider, view.def().control(view)) {
                (Some(value), _) => {
                    let spread = self.flow.spread(value);
                    self.deciders.push((op, value));
                    self.flow.spreads.join(context, spread)
                }
                (None, Some(Control::Inline | Control::Manual)) => context,
                (None, _) if view.def().isolated() => context,
                // A comparator or a reduction's body runs an unspecified number of times.
                (None, _) => Spread::ANY,
            };
            for &inner in regions.iter().flat_map(|&region| self.program.region_blocks(region)) {
                self.block(inner, inside);
            }
            if decider.is_some() {
                self.deciders.pop();
            }
        }
    }

    fn collective(&mut self, op: OpRef<'a>, context: Spread) {
        let Some((a, b)) = self.flow.groups.split(op, self.flow.devices, context, &self.flow.spreads) else { return };
        let tells = |flow: &Flow<'_>, value: Value| {
            let classes = flow.spreads.classes(flow.spread(value));
            classes[a as usize] != classes[b as usize]
        };
        let found = self.deciders.iter().copied().find(|d| tells(&self.flow, d.1));
        let certain = found.is_some_and(|d| self.flow.spreads.values(self.flow.spread(d.1)).is_some());
        let verb = if certain { "don't" } else { "may not" };
        let message = format!("devices {a} and {b} of a group {verb} both run this '{}'", op.name());
        let mut d = Diagnostic::error(codes::COLLECTIVE_DIVERGES, op.span(), message);
        if !certain && !self.strict {
            d.severity = Severity::Warning;
        }
        if let Some((around, value)) = found {
            let around = self.program.view(around);
            let what = if around.def().control(around) == Some(Control::While) { "loop" } else { "branch" };
            d = d.also(around.span(), format!("each device decides this {what} independently"));
            if let Some((span, why)) = self.origin(value, &|value| tells(&self.flow, value)) {
                d = d.also(span, why);
            }
        }
        let note = "one device would wait for the other forever: decide by a value that is equal on both, such as an \
            all_reduce";
        self.diagnostics.push(d.note(note));
    }

    /// Returns the place where a value begins to differ between the devices that `tells` tells apart.
    fn origin(&self, value: Value, tells: &dyn Fn(Value) -> bool) -> Option<(Span, String)> {
        let program = self.program;
        let mut owners: FxHashMap<Block, Op> = FxHashMap::default();
        let main = func::function(program, "main").and_then(|main| func::block(program, main))?;
        program.walk(main, &mut |op| {
            let blocks = program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r));
            owners.extend(blocks.map(|&block| (block, op)));
        });
        let (mut seen, mut open) = (FxHashSet::default(), vec![value]);
        while let Some(value) = open.pop() {
            if !seen.insert(value) || !tells(value) {
                continue;
            }
            let before: Vec<Value> = match program.value_source(value) {
                ValueSource::Arg(block, i) => match owners.get(&block) {
                    None => {
                        let stated = signature::is_stated(program, func::function(program, "main")?);
                        let why = if stated {
                            "devices hold different shards of this argument"
                        } else {
                            "devices may receive different values for this argument"
                        };
                        return Some((program.value_span(value), why.to_owned()));
                    }
                    Some(&op) => {
                        let view = program.view(op);
                        let given =
                            (0..program.op(op).regions.len()).flat_map(|r| view.region_results(r).get(i as usize));
                        view.operands().get(i as usize).into_iter().chain(given).copied().collect()
                    }
                },
                ValueSource::Result(op, i) => {
                    let view = program.view(op);
                    let regions = 0..program.op(op).regions.len();
                    let given = regions.flat_map(|r| view.region_results(r).get(i as usize));
                    match self.flow.decider(view) {
                        Some(decides) => given.copied().chain([decides]).collect(),
                        None => view.operands().to_vec(),
                    }
                }
            };
            let differ: Vec<Value> = before.into_iter().filter(|&v| tells(v)).collect();
            match program.value_source(value) {
                ValueSource::Result(op, _) if differ.is_empty() => {
                    let view = program.view(op);
                    return Some((view.span(), format!("'{}' differs between devices", view.name())));
                }
                _ => open.extend(differ),
            }
        }
        None
    }
}
