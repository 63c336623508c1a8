//! mpmd-microbatch: cuts the batch of a program over several meshes into microbatches.
//!
//! The first dimensions of arguments are cut into parts of equal size, and the ops that depend on them run for each
//! part (`divide`): products of a part, sums over it that are added up where an op needs the whole sum, results that
//! are concatenated again. Ops that read no part run once. Every op of a microbatch records its microbatch, as
//! `mpmd-schedule` requires; named computations stay named computations, over parts.

mod divide;
mod emit;

use crate::heuristics::HEURISTICS;
use std::collections::BTreeMap;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Block, Op, Program, Value};
use dialect::ops::func;
use dialect::ops::mpmd::{self, Kind, Topology};
use rustc_hash::FxHashMap;

use self::divide::{Division, Each};
use self::emit::MicrobatchEmitter;
use super::{flat, schedule};
use crate::compile_options::Microbatches;
use crate::dimension_classes::{ClassId, DimensionClasses};
use crate::options::Options;
use crate::plan::model::meaning::Models;

pub(super) fn microbatch(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let count = match options.compile.microbatches {
        None | Some(Microbatches::Count(1)) => return,
        Some(Microbatches::Count(count)) => Some(i64::from(count)),
        Some(Microbatches::Auto) => None,
    };
    let Some(main) = func::function(program, "main") else { return };
    let (Some(_), Some(block)) = (Topology::of(program, main), func::block(program, main)) else { return };
    let on_meshes = program.values_under(block).iter().any(|&v| mpmd::mesh_of(program, v).is_some());
    if on_meshes || dialect::signature::is_stated(program, main) {
        return;
    }
    let span = program.op(main).span;
    let fault =
        |message: String, note: &str| Diagnostic::error(codes::MICROBATCHES, span, message).note(note.to_owned());
    if count == Some(0) {
        return diagnostics.push(fault("0 microbatches".to_owned(), "write a positive number, or auto"));
    }
    let given = options.text("batch");
    let argument = given.parse::<usize>().ok().and_then(|i| program.block_args(block).get(i).copied());
    if argument.is_none() && !given.is_empty() {
        return diagnostics.push(fault(format!("@main has no argument {given}"), "number arguments from 0"));
    }
    let turns = flat::flatten(program, block);
    if !turns.is_empty() {
        if count.is_some() {
            let message = "the program is already split into microbatches".to_owned();
            diagnostics
                .push(fault(message, "remove the option microbatches, or the calls and loops over microbatches"));
        }
        return;
    }
    // Parts can't pass through a call, so calls are inlined.
    for op in program.block_ops(block).to_vec() {
        if mpmd::kind(program.view(op)) == Some(Kind::NamedComputation)
            && let Some(body) = program.region_block(op, 0)
        {
            flat::flatten(program, body);
        }
    }
    let mut models = Models::default();
    match count {
        Some(count) => {
            let Some(found) = best(program, &mut models, block, argument, count) else {
                let message = format!("no argument's first dimension can be split into {count} microbatches");
                let note = "its size must be a multiple of them, and ops must compute each part independently; loops \
                    and branches aren't split";
                return diagnostics.push(fault(message, note));
            };
            cut(program, &mut models, block, found, count);
        }
        None => {
            let mut tried = vec![program.clone()];
            let mut count = 2;
            while count <= HEURISTICS.most_microbatches {
                if let Some(found) = best(program, &mut models, block, argument, count) {
                    let mut copy = program.clone();
                    cut(&mut copy, &mut models, block, found, count);
                    tried.push(copy);
                }
                count *= 2;
            }
            if let Some(best) = schedule::fastest(tried, options) {
                best.report(program, options, diagnostics);
                *program = best.kept;
            }
        }
    }
}

/// The parts, and the ops that run for each microbatch.
type SplitProgram = (FxHashMap<Value, dialect::sharding::Distribution>, FxHashMap<Op, Each>);

/// Returns the division by arguments that leaves the least work to be done on whole values.
fn best(
    program: &Program,
    models: &mut Models,
    block: Block,
    argument: Option<Value>,
    count: i64,
) -> Option<SplitProgram> {
    let mut best: Option<(f64, SplitProgram)> = None;
    for arguments in candidates(program, block, argument) {
        let Some(division) = Division::of(program, models, block, &arguments, count) else { continue };
        let Division { parts, each, work, .. } = division;
        if !each.is_empty() && best.as_ref().is_none_or(|b| work < b.0) {
            best = Some((work, (parts, each)));
        }
    }
    best.map(|b| b.1)
}

/// Returns candidates for the arguments with the batch, grouped by the class of their first dimension: that of
/// `argument`, or those of the largest values.
fn candidates(program: &Program, block: Block, argument: Option<Value>) -> Vec<Vec<Value>> {
    let classes = DimensionClasses::of(program, block);
    let first = |value: Value| classes.of_value(program, value).first().copied();
    let mut found: BTreeMap<ClassId, Vec<Value>> = BTreeMap::new();
    for &value in program.block_args(block) {
        if let Some(class) = first(value).filter(|&class| argument.is_none_or(|given| first(given) == Some(class))) {
            found.entry(class).or_default().push(value);
        }
    }
    let mut found: Vec<(ClassId, Vec<Value>)> = found.into_iter().collect();
    found.sort_by(|a, b| classes.bytes(b.0).total_cmp(&classes.bytes(a.0)));
    found.truncate(HEURISTICS.batch_candidates);
    found.into_iter().map(|f| f.1).collect()
}

fn cut(program: &mut Program, models: &mut Models, block: Block, (parts, each): SplitProgram, count: i64) {
    let emit =
        MicrobatchEmitter { program, models, parts, each, whole: FxHashMap::default(), cut: FxHashMap::default() };
    emit.block(block, count);
}
