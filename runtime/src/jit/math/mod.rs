//! Elementary functions as straight-line code, so that loops over them vectorize.
//!
//! LLVM calls the C library once per element for `math.exp` and similar ops, which is forty times slower than memory.
//! Before lowering, every such op on f32, f16, bf16 or vectors of them becomes a call of a private function that this
//! module writes and LLVM inlines. f16 and bf16 compute in f32 and round once. Ops that aren't in the table, and most
//! in f64, use the C library. Ops marked as strict become calls of the C library. Rounding to bf16, and from f64 to
//! f16, is also expanded, because not every processor and C library supports it.

mod body;
mod exponential;
mod logarithm;
mod power;
mod trigonometric;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use melior::Context;
use melior::ir::attribute::FlatSymbolRefAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationBuilder, OperationLike, OperationMutLike, OperationRef};
use melior::ir::{BlockRef, Identifier, Module, RegionLike, ValueLike};

use body::{Body, V};

use super::abi;

/// The attribute of an op of the math dialect that stays a call of the C library.
pub(crate) const STRICT: &str = "strict";

/// The prefix of every function written here.
pub(super) const PREFIX: &str = "math.";

/// The number of calls in a kernel from which a function over vectors is called instead of inlined. A call costs little
/// compared with the computation, while each copy of a function takes as long to compile as the first. Called functions
/// are compiled once for all kernels, by another thread while the first kernel is compiled.
const MANY: usize = 2;

/// The functions that a module needs, by symbol: their text, and the number of calls.
type Functions = BTreeMap<String, (String, usize)>;

/// The code of an op.
#[derive(Clone, Copy)]
enum Expansion {
    Unary(fn(&mut Body, V) -> V),
    Binary(fn(&mut Body, V, V) -> V),
}

use Expansion::{Binary, Unary};

/// The ops that are expanded, in alphabetical order: the name without `math.`, whether f64 is expanded too, and the
/// code.
const TABLE: &[(&str, bool, Expansion)] = &[
    ("atan2", false, Binary(trigonometric::atan2)),
    ("cbrt", false, Unary(power::cbrt)),
    ("cos", false, Unary(trigonometric::cos)),
    ("exp", true, Unary(exponential::exp)),
    ("expm1", true, Unary(exponential::expm1)),
    ("log", true, Unary(logarithm::log)),
    ("log1p", true, Unary(logarithm::log1p)),
    ("powf", false, Binary(power::powf)),
    ("sin", false, Unary(trigonometric::sin)),
    ("tan", false, Unary(trigonometric::tan)),
    ("tanh", true, Unary(exponential::tanh)),
];

/// Replaces the ops of the table throughout a module and adds the functions they need. Returns the symbols of functions
/// that are only declared, because they are called from outside; [`definition`] returns their text.
pub(super) fn expand<'c>(context: &'c Context, module: &Module<'c>) -> Result<Vec<String>, String> {
    let mut functions = Functions::new();
    expand_block(context, module.body(), &mut functions)?;
    if functions.is_empty() {
        return Ok(Vec::new());
    }
    let (mut text, mut called) = (String::new(), Vec::new());
    for (symbol, (definition, calls)) in functions {
        match definition.split_once(" {\n") {
            Some((head, _)) if calls >= MANY && head.contains(") -> vector<") => {
                let _ = writeln!(text, "{head}");
                called.push(symbol);
            }
            _ => text.push_str(&definition),
        }
    }
    let written = Module::parse(context, &text).ok_or("an expansion does not parse")?;
    let mut next = written.body().first_operation_mut();
    while let Some(mut operation) = next {
        next = operation.next_in_block_mut();
        if let Some(first) = module.body().first_operation() {
            operation.move_before(first);
        }
    }
    Ok(called)
}

/// Returns the text of a function by its symbol, for example `math.exp.vector<16xf32>.vector<16xf32>`.
pub(super) fn definition(symbol: &str) -> Option<String> {
    let (name, types) = symbol.strip_prefix(PREFIX)?.split_once('.')?;
    let (from, to) = types.split_once('.')?;
    Some(function(symbol, expansion(name, from, to)?, from, to))
}

fn expand_block<'c>(context: &'c Context, block: BlockRef<'c, '_>, functions: &mut Functions) -> Result<(), String> {
    let mut next = block.first_operation();
    while let Some(operation) = next {
        next = operation.next_in_block();
        for region in operation.regions() {
            let mut inner = region.first_block();
            while let Some(block) = inner {
                expand_block(context, block, functions)?;
                inner = block.next_in_region();
            }
        }
        expand_operation(context, block, operation, functions).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn expand_operation<'c>(
    context: &'c Context,
    block: BlockRef<'c, '_>,
    operation: OperationRef<'c, '_>,
    functions: &mut Functions,
) -> Result<(), melior::Error> {
    let name = operation.name();
    let Ok(name) = name.as_string_ref().as_str() else {
        return Ok(());
    };
    let Some(short) = name.strip_prefix("math.").or_else(|| (name == "arith.truncf").then_some("truncf")) else {
        return Ok(());
    };
    let ty = operation.result(0)?.r#type();
    let from = operation.operand(0)?.r#type().to_string();
    let symbol = if operation.has_attribute(STRICT) {
        // MLIR would expand these two with exp and log, and lose most digits of small results.
        if !matches!(short, "expm1" | "log1p") {
            return Ok(());
        }
        functions
            .entry(short.to_owned())
            .or_insert_with(|| (format!("func.func private @{short}({from}) -> {ty}\n"), 0));
        short.to_owned()
    } else {
        let Some(expansion) = expansion(short, &from, &ty.to_string()) else {
            return Ok(());
        };
        let symbol = format!("{PREFIX}{short}.{from}.{ty}");
        let text = || (function(&symbol, expansion, &from, &ty.to_string()), 0);
        functions.entry(symbol.clone()).or_insert_with(text).1 += 1;
        symbol
    };
    let operands: Vec<_> = operation.operands().collect();
    let call = OperationBuilder::new("func.call", operation.location())
        .add_attributes(&[(Identifier::new(context, "callee"), FlatSymbolRefAttribute::new(context, &symbol).into())])
        .add_operands(&operands)
        .add_results(&[ty])
        .build()?;
    let call = block.insert_operation_before(operation, call);
    abi::replace(operation, call.result(0)?);
    Ok(())
}

/// Returns the code of an op, if it is expanded for these types.
fn expansion(name: &str, from: &str, to: &str) -> Option<Expansion> {
    if name == "truncf" {
        let is_written_out = matches!((element(from), element(to)), ("f32" | "f64", "bf16") | ("f64", "f16"));
        return is_written_out.then_some(Unary(|_, x| x));
    }
    let row = TABLE.binary_search_by_key(&name, |row| row.0).ok()?;
    let (_, in_double, expansion) = TABLE[row];
    (matches!(element(to), "f32" | "bf16" | "f16") || (in_double && element(to) == "f64")).then_some(expansion)
}

/// Returns the element type of a scalar or vector type.
fn element(ty: &str) -> &str {
    ty.strip_prefix("vector<")
        .and_then(|rest| rest.strip_suffix('>'))
        .map_or(ty, |rest| rest.rsplit_once('x').map_or(rest, |(_, element)| element))
}

/// Returns the text of one function.
fn function(symbol: &str, expansion: Expansion, from: &str, to: &str) -> String {
    let mut body = Body::new(from);
    let x = body.parameter("%x", element(from));
    let (result, parameters) = match expansion {
        Unary(write) => (write(&mut body, x), format!("%x: {from}")),
        Binary(write) => {
            let y = body.parameter("%y", element(from));
            (write(&mut body, x, y), format!("%x: {from}, %y: {from}"))
        }
    };
    body.finish(result, element(to));
    format!("func.func private @\"{symbol}\"({parameters}) -> {to} {{\n{}}}\n", body.into_text())
}
