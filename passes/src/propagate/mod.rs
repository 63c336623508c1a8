//! Sharding propagation: gives every value a sharding, starting from the values that the user annotated.
//!
//! The semantics are Shardy's, conflict for conflict. The pass is built in layers, each a full run of the layer below:
//! user priorities ([`priority`]), op priorities ([`driver`]), a worklist run to a fixpoint ([`driver`]), one step over
//! one op ([`factor`](algorithm::factor)) on its tensors projected to factors ([`projection`](algorithm::projection)).
//! Before that, the program is read into a graph ([`graph`], [`read`]), constants are copied for every use
//! ([`constants`]), ops with regions get data-flow edges ([`edges`]), and constraints give their shardings to their
//! operands ([`constraints`]). Afterwards the edges are removed and the results are written back ([`mod@write`]).
//!
//! The result has the same ops except for constants and unused ops, `sdy.reshard` in place of
//! `sdy.sharding_constraint`, and closed `sdy.sharding` on arguments, results and ops.

pub mod algorithm;
pub mod graph;
pub mod read;
pub mod write;

use dialect::diagnostic::Diagnostics;
use dialect::ir::{AttrData, Program, Stage};
use dialect::ops::{func, sdy};

pub use algorithm::factor::Strategy;
pub use algorithm::origin::{Origin, OriginTable, Start, written_origin};

use algorithm::engine::Engine;
use algorithm::origin::Origins;
use algorithm::{driver, priority};
use graph::Graph;
use graph::mesh::Meshes;
use read::{calls, constants, constraints, edges, groups};
use write::{annotated, conflict, outline, trivial};

use crate::options::{OptionDef, Options};
use crate::pass::{Effect, Pass};

/// The pass.
pub static PASS: Pass = Pass {
    name: "propagate",
    doc: "Propagates the user's shardings to all values, as Shardy does.",
    effect: Effect::Reach(Stage::Propagated),
    options: &[
        OptionDef::flag(
            "conservative-propagation",
            false,
            "don't split axes, and don't propagate along dimensions whose shards would need data from neighbors",
        ),
        OptionDef::choice(
            "propagation-strategy",
            &["aggressive", "basic"],
            "shard each tensor of an op along all axes that it can take, or only along those that all can take",
        ),
        OptionDef::flag("run-op-priority-propagation", true, "visit ops in rounds by priority, elementwise ops first"),
        OptionDef::flag("keep-sharding-rules", false, "write every op's sharding rule as sdy.sharding_rule"),
        OptionDef::flag("origins", false, "write the annotations that axes come from as sdy.sharding_origins"),
        OptionDef::flag(
            "keep-annotated",
            false,
            "keep uneven annotated shardings of @main's arguments and results, which Shardy would make even",
        ),
        OptionDef::flag(
            "keep-conflicts",
            false,
            "leave concatenations and dots with differently sharded tensors to the pass plan, where Shardy inserts \
            reshards",
        ),
    ],
    run: |program, options, diagnostics| {
        run_pass(program, options, options.flag("origins"), diagnostics);
    },
};

/// Runs the pass, and returns the origin of every axis.
pub fn run_with_origins(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) -> OriginTable {
    run_pass(program, options, true, diagnostics)
}

fn run_pass(program: &mut Program, options: &Options, origins: bool, diagnostics: &mut Diagnostics) -> OriginTable {
    let annotated = options.flag("keep-annotated").then(|| annotated::Annotated::read(program)).flatten();
    let options = PropagateOptions {
        conservative: options.flag("conservative-propagation"),
        keep_sharding_rules: options.flag("keep-sharding-rules"),
        origins: options.flag("origins"),
        strategy: match options.text("propagation-strategy") {
            "basic" => Strategy::Basic,
            _ => Strategy::Aggressive,
        },
        op_priorities: options.flag("run-op-priority-propagation"),
        keep_conflicts: options.flag("keep-conflicts"),
    };
    let table = run(program, &options, origins, diagnostics);
    if let Some(annotated) = annotated {
        annotated.restore(program);
    }
    table
}

/// Options of propagation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropagateOptions {
    /// Never split an axis and don't propagate along factors that would need data from neighbors.
    pub conservative: bool,
    /// Write the sharding rule of every op into the program as `sdy.sharding_rule`.
    pub keep_sharding_rules: bool,
    /// Write the origins of every value's axes into the program as `sdy.sharding_origins`.
    pub origins: bool,
    /// The resolution of conflicts between the tensors of an op.
    pub strategy: Strategy,
    /// Whether ops are visited in rounds by op priority, pass-through ops first.
    pub op_priorities: bool,
    /// Whether ops whose tensors are sharded differently keep them, without reshards.
    pub keep_conflicts: bool,
}

impl Default for PropagateOptions {
    fn default() -> Self {
        Self {
            conservative: false,
            keep_sharding_rules: false,
            origins: false,
            strategy: Strategy::Aggressive,
            op_priorities: true,
            keep_conflicts: false,
        }
    }
}

/// Propagates shardings through `program`. Programs with dynamic shapes or tuples are left unchanged, with a
/// diagnostic.
pub fn propagate(program: &mut Program, options: &PropagateOptions, diagnostics: &mut Diagnostics) {
    run(program, options, options.origins, diagnostics);
}

fn run(program: &mut Program, options: &PropagateOptions, origins: bool, diagnostics: &mut Diagnostics) -> OriginTable {
    if !crate::mpmd::is_on_one_mesh(program, diagnostics) {
        return OriginTable::default();
    }
    let Some(copies) = calls::inline(program, diagnostics) else {
        return OriginTable::default();
    };
    trivial::forget(program);
    let graph = Graph::new(program);
    let mut engine = Engine::new(graph, Meshes::default(), options.strategy, options.conservative);
    if !read::read(&mut engine, program, diagnostics) {
        return OriginTable::default();
    }
    engine.first_round = if options.op_priorities { 0 } else { driver::ROUNDS - 1 };
    engine.origins = origins.then(Origins::default);
    if !groups::check(&engine.graph, program, diagnostics) {
        return OriginTable::default();
    }
    constants::split(&mut engine.graph, program);
    edges::add(&mut engine, program, &copies);
    constraints::apply(&mut engine, program);
    read::find_main(&mut engine, program);
    engine.find_rules(program);
    groups::read(&mut engine, program, diagnostics);
    priority::run(&mut engine, program);
    read::find_others(&mut engine, program);
    outline::outline(&mut engine, program);
    constants::merge(&mut engine.graph, program);
    write::finish(&mut engine, program);
    conflict::settle(&mut engine, program, options.keep_conflicts);
    engine.erase_unread(program);
    write::write(&mut engine, program);
    write_rules(program, options.keep_sharding_rules);
    let table = engine.take_origins();
    if options.origins {
        table.write(program);
    }
    table
}

/// Writes the rule of every op into the program, or only the user's own rules.
fn write_rules(program: &mut Program, keep: bool) {
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        match view.attr(sdy::SHARDING_RULE) {
            Some(AttrData::ShardingRule(rule)) if !keep && !rule.custom => {
                let said = program.attr(op, sdy::SHARDING_RULE);
                program.remove_attr(op, sdy::SHARDING_RULE);
                // A user-defined op has no other rule.
                let other = program.op(op).def.propagation_rule(program.view(op));
                if let Some(said) = said.filter(|_| other.is_none()) {
                    program.set_attr(op, sdy::SHARDING_RULE, said);
                }
            }
            None if keep && func::callee(view).is_none() => {
                if let Some(rule) = program.op(op).def.propagation_rule(view) {
                    let attr = program.intern_attr(AttrData::ShardingRule(Box::new(rule)));
                    program.set_attr(op, sdy::SHARDING_RULE, attr);
                }
            }
            _ => {}
        }
    }
}
