//! The contract of every op, checked on its examples. For tests of our own ops and of other crates' ops.
//!
//! An op's [`examples`](OpDef::examples) are small programs around one instance of it. Each [`Proof`] takes one of them
//! and compares two things that must agree: the printed and parsed text, `infer` and `evaluate`, the loop nest and
//! `evaluate`, the assembled results of the op on shards and its results on the whole tensors. [`prove`] runs all of
//! them:
//!
//! ```
//! use shardc_dialect::op::Registry;
//! use shardc_dialect::ops::stablehlo::elementwise::TANH;
//!
//! let registry = Registry::standard().with_ops(&[&TANH]);
//! assert_eq!(shardc_dialect::proofs::prove(&[&TANH], &registry), Ok(1));
//! ```

mod context;
mod division;
mod example;

pub use division::holds;
pub use example::{Example, example_block, example_program};

use crate::diagnostic::Diagnostics;
use crate::ir::TypeData;
use crate::ir::build::Builder;
use crate::kernel::{Index, Kernel};
use crate::literal::Indices;
use crate::op::{OpDef, Registry};
use crate::text::PrintOptions;
pub(crate) use context::Plain;
use context::{evaluate, inputs, runs_alone, same};

/// One property that every op must have.
pub struct Proof {
    /// Its name, in words.
    pub name: &'static str,
    /// Checks an example. Succeeds for examples to which the property doesn't apply.
    pub check: fn(&Example) -> Result<(), String>,
}

/// All proofs.
pub static PROOFS: &[Proof] = &[
    Proof { name: "text survives a round trip", check: text },
    Proof { name: "infer gives the types of evaluate", check: types },
    Proof { name: "the nest computes what evaluate does", check: nest },
    Proof { name: "the nest reads inside its operands", check: positions },
    Proof { name: "the sharding rule is true", check: sharding_rule },
    Proof { name: "the rule that the nest says is true", check: rule_of_nest },
    Proof { name: "the result consists of the rows that the assembly says", check: assembly },
    Proof { name: "the expansion is the same computation", check: expansion },
];

/// Runs all proofs on all examples of `ops`, parsed with the ops of `registry`; returns the number of examples.
///
/// # Errors
/// Every proof that fails, with its example and the reason; an op without examples, if it computes anything.
pub fn prove(ops: &[&'static dyn OpDef], registry: &Registry) -> Result<usize, String> {
    let (mut failures, mut count) = (Vec::new(), 0);
    for &def in ops {
        match Example::all_of(def, registry) {
            Ok(examples) if examples.is_empty() => failures.push(format!("{} has no examples", def.name())),
            Ok(examples) => {
                count += examples.len();
                for (example, proof) in examples.iter().flat_map(|e| PROOFS.iter().map(move |p| (e, p))) {
                    if let Err(message) = (proof.check)(example) {
                        failures.push(format!("{}: {}\n    {message}", proof.name, example.text));
                    }
                }
            }
            Err(message) => failures.push(message),
        }
    }
    if failures.is_empty() { Ok(count) } else { Err(failures.join("\n")) }
}

fn text(example: &Example) -> Result<(), String> {
    let program = &example.program;
    let text = crate::print(program);
    let generic = crate::print_with(program, PrintOptions { generic: true, ..PrintOptions::default() });
    for form in [&text, &generic] {
        let mut diagnostics = Diagnostics::default();
        let again = crate::parse_with(form, program.registry(), &mut diagnostics);
        if diagnostics.has_errors() {
            return Err(format!("{form}: {diagnostics:?}"));
        }
        let printed = crate::print(&again);
        if printed != text {
            return Err(format!("\n{text}became\n{printed}"));
        }
    }
    Ok(())
}

fn types(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let view = program.view(*op);
    let types = def.infer(view).map_err(|p| format!("{p:?}"))?;
    let declared: Vec<TypeData> = view.result_types().cloned().collect();
    if types != declared {
        return Err(format!("inferred {types:?}, declared {declared:?}"));
    }
    if !runs_alone(*def, program, *op) {
        return Ok(());
    }
    let results = evaluate(program, *op, &inputs(program, *op))?;
    let found: Vec<TypeData> = results.iter().map(|r| r.ty().into()).collect();
    if found == types { Ok(()) } else { Err(format!("inferred {types:?}, evaluated {found:?}")) }
}

fn nest(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let Kernel::Nest(nest) = def.kernel(program.view(*op)) else { return Ok(()) };
    let operands = inputs(program, *op);
    let want = evaluate(program, *op, &operands)?;
    let found = nest.eval(&operands);
    if want.len() != found.len() {
        return Err(format!("{} results, the nest has {}", want.len(), found.len()));
    }
    want.iter().zip(&found).try_for_each(|(w, f)| same(w, f, 1e-6))
}

/// Checks that the analysis of positions includes every position that the nest reads, and none outside of the operand
/// unless loaded indices are used.
fn positions(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let Kernel::Nest(nest) = def.kernel(program.view(*op)) else { return Ok(()) };
    let operands = inputs(program, *op);
    for input in &nest.inputs {
        let Some(positions) = input.positions(&nest.ranges()) else { continue };
        let shape = &operands[input.operand].shape;
        for ((found, &size), index) in positions.iter().zip(shape).zip(&input.index) {
            let known = !index.any(|i| matches!(i, Index::Load { .. }));
            if known && (found.first < 0 || found.last >= size) {
                return Err(format!("{found:?} of {size} at {index:?}"));
            }
        }
        for at in Indices::of(&nest.loops) {
            let mut load = |operand: usize, place: &[i64]| {
                let table = &operands[operand];
                table.get(table.position(place)).as_i64().unwrap_or(0)
            };
            let inside = input.guards.iter().all(|g| (g.lo..g.hi).contains(&g.index.eval(&at, &mut load)));
            let mut pairs = input.index.iter().zip(&positions);
            if inside && let Some((i, found)) = pairs.find(|(i, p)| !p.contains(i.eval(&at, &mut load))) {
                return Err(format!("{i:?} at {at:?} is not in {found:?}"));
            }
        }
    }
    Ok(())
}

fn sharding_rule(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    match def.sharding_rule(program.view(*op)) {
        Some(rule) if runs_alone(*def, program, *op) => holds(program, *op, &rule),
        _ => Ok(()),
    }
}

fn rule_of_nest(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let view = program.view(*op);
    let Kernel::Nest(nest) = def.kernel(view) else { return Ok(()) };
    // The nest has no information about an operand that is never read (an empty part of a concatenation).
    if inputs(program, *op).iter().any(|l| l.is_empty()) {
        return Ok(());
    }
    holds(program, *op, &crate::sharding::rule_of_nest(view, &nest))
}

fn assembly(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let Some(assembly) = def.assembly(program.view(*op)) else { return Ok(()) };
    let operands = inputs(program, *op);
    let result = &evaluate(program, *op, &operands)?[0];
    for at in Indices::of(&result.shape) {
        let row = at[assembly.dim];
        let (operand, from) = assembly.source(row).ok_or_else(|| format!("nothing makes row {row}"))?;
        let operand = &operands[operand];
        let mut place = at.to_vec();
        place[assembly.dim] = from;
        let place = if operand.shape.is_empty() { 0 } else { operand.position(&place) };
        if operand.get(place) != result.get(result.position(&at)) {
            return Err(format!("row {row} isn't row {from} of {assembly:?}"));
        }
    }
    Ok(())
}

fn expansion(Example { def, program, op, .. }: &Example) -> Result<(), String> {
    let mut expanded = program.clone();
    let mut ops = Vec::new();
    let mut build = Builder::new(&mut expanded, &mut ops, crate::ir::Loc::UNKNOWN);
    let foreign = def.name().starts_with("chlo.");
    let Some(results) = def.expand(*op, &mut build) else {
        // Long formulas aren't expanded; they have operations that StableHLO lacks.
        let stays = match def.kernel(program.view(*op)) {
            Kernel::External(_) => true,
            Kernel::Nest(nest) => !crate::ops::build::is_expressible(&nest.body),
            _ => false,
        };
        return if foreign && !stays { Err("it has no StableHLO form".to_owned()) } else { Ok(()) };
    };
    if !runs_alone(*def, program, *op) {
        return Ok(());
    }
    let operands = inputs(program, *op);
    let want = evaluate(program, *op, &operands)?;
    if let Some(&other) = ops.iter().find(|&&op| !expanded.op_name(op).starts_with("stablehlo.")) {
        return Err(format!("it expands to {}", expanded.op_name(other)));
    }
    let mut context = Plain::new(&expanded);
    for (&value, literal) in expanded.view(*op).operands().iter().zip(&operands) {
        context.set(value, literal.clone());
    }
    context.run(&ops).map_err(|e| e.message)?;
    let found = context.get(&results).map_err(|e| e.message)?;
    // Formulas agree bit for bit; sums may be grouped differently.
    let tolerance = if foreign { 0.0 } else { 1e-5 };
    want.iter().zip(&found).try_for_each(|(w, f)| same(w, f, tolerance))
}
