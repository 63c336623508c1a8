//! A function's attributes: name, types, and the dictionaries of arguments and results.
//!
//! `arg_attrs` and `res_attrs` are arrays of one dictionary per argument or result, left out when all are empty.

use rustc_hash::FxHashMap;

use crate::diagnostic::Span;
use crate::ir::{Attr, AttrData, Block, Loc, Name, Op, Program, Ty, TypeData, Value};
use crate::op::OpDef;
use crate::sharding::TensorSharding;

/// The attribute with the dictionaries of the arguments.
pub const ARG_ATTRS: &str = "arg_attrs";
/// The attribute with the dictionaries of the results.
pub const RES_ATTRS: &str = "res_attrs";
/// The attribute with the function's type.
pub const FUNCTION_TYPE: &str = "function_type";
/// The name of the sharding attribute in those dictionaries and on ops.
pub const SHARDING: &str = "sdy.sharding";

/// The types of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature<'a> {
    /// The types of its arguments.
    pub inputs: &'a [Ty],
    /// The types of its results.
    pub results: &'a [Ty],
}

/// Returns the name of a function, mesh or any other symbol, without `@`.
pub fn symbol(program: &Program, op: Op) -> Option<&str> {
    program.attr(op, "sym_name").and_then(|a| program.attr_data(a).as_str())
}

/// Returns the functions of a module, in order, declarations included.
pub fn functions(program: &Program) -> impl Iterator<Item = Op> + '_ {
    program.top_level(super::FUNC.name())
}

/// Returns the function called `name`.
pub fn function(program: &Program, name: &str) -> Option<Op> {
    functions(program).find(|&op| symbol(program, op) == Some(name))
}

/// Returns all functions by name, and the first of several with the same name. For passes with many lookups.
pub fn functions_by_name(program: &Program) -> FxHashMap<&str, Op> {
    let mut by_name = FxHashMap::default();
    for op in functions(program) {
        if let Some(name) = symbol(program, op) {
            by_name.entry(name).or_insert(op);
        }
    }
    by_name
}

/// Returns the block of a function; `None` for a declaration, and for a function of several blocks, which passes don't
/// change.
pub fn block(program: &Program, function: Op) -> Option<Block> {
    let &region = program.op(function).regions.first()?;
    match program.region_blocks(region) {
        &[block] => Some(block),
        _ => None,
    }
}

/// Returns whether a function has several blocks.
pub fn has_branches(program: &Program, function: Op) -> bool {
    program.op(function).regions.iter().any(|&region| program.region_blocks(region).len() > 1)
}

/// Returns the types of a function.
pub fn signature(program: &Program, function: Op) -> Signature<'_> {
    let ty = program.attr(function, FUNCTION_TYPE).map(|a| program.attr_data(a));
    if let Some(&AttrData::Type(ty)) = ty
        && let TypeData::Function(inputs, results) = program.type_data(ty)
    {
        return Signature { inputs, results };
    }
    Signature { inputs: &[], results: &[] }
}

/// Sets the types of a function. The caller must change its block's arguments and its return accordingly.
pub fn set_signature(program: &mut Program, function: Op, inputs: &[Ty], results: &[Ty]) {
    let ty = program.intern_type(TypeData::Function(inputs.to_vec(), results.to_vec()));
    let attr = program.intern_attr(AttrData::Type(ty));
    program.set_attr(function, FUNCTION_TYPE, attr);
}

/// Creates a function at the end of the module with an empty block over its arguments.
pub fn new_function(
    program: &mut Program,
    name: &str,
    visibility: Option<&str>,
    inputs: &[Ty],
    results: &[Ty],
    loc: Loc,
) -> (Op, Block) {
    let block = program.new_block();
    for &ty in inputs {
        program.add_block_arg(block, ty, loc, Span::default());
    }
    let region = program.new_region(&[block]);
    let op = program.new_op(&super::FUNC, &[], &[], &[], &[region], loc);
    let sym_name = program.attr_str(name);
    program.set_attr(op, "sym_name", sym_name);
    if let Some(visibility) = visibility {
        let attr = program.attr_str(visibility);
        program.set_attr(op, "sym_visibility", attr);
    }
    set_signature(program, op, inputs, results);
    program.append(program.body(), op);
    (op, block)
}

/// Appends an argument without attributes to a function and its block.
pub fn add_argument(program: &mut Program, function: Op, ty: Ty, loc: Loc) -> Option<Value> {
    let block = block(program, function)?;
    let Signature { inputs, results } = signature(program, function);
    let (mut inputs, results) = (inputs.to_vec(), results.to_vec());
    inputs.push(ty);
    set_signature(program, function, &inputs, &results);
    if let Some(mut dicts) = dicts(program, function, ARG_ATTRS) {
        dicts.resize_with(inputs.len(), Dict::new);
        set_dicts(program, function, ARG_ATTRS, dicts);
    }
    Some(program.add_block_arg(block, ty, loc, Span::default()))
}

/// Attribute `name` of argument `i`.
pub fn arg_attr(program: &Program, function: Op, i: usize, name: &str) -> Option<Attr> {
    entry(program, function, ARG_ATTRS, i, name)
}

/// Returns whether the caller donates argument `i`, so that its memory may be overwritten.
pub fn is_donated(program: &Program, function: Op, i: usize) -> bool {
    ["jax.buffer_donor", "tf.aliasing_output"].iter().any(|name| arg_attr(program, function, i, name).is_some())
}

/// Attribute `name` of result `i`.
pub fn result_attr(program: &Program, function: Op, i: usize, name: &str) -> Option<Attr> {
    entry(program, function, RES_ATTRS, i, name)
}

/// Returns the sharding of argument `i`.
pub fn arg_sharding(program: &Program, function: Op, i: usize) -> Option<&TensorSharding> {
    arg_attr(program, function, i, SHARDING).and_then(|a| program.attr_data(a).as_sharding())
}

/// Returns the sharding of result `i`.
pub fn result_sharding(program: &Program, function: Op, i: usize) -> Option<&TensorSharding> {
    result_attr(program, function, i, SHARDING).and_then(|a| program.attr_data(a).as_sharding())
}

/// Sets attribute `name` of argument `i`.
pub fn set_arg_attr(program: &mut Program, function: Op, i: usize, name: &str, attr: Attr) {
    set_entries(program, function, ARG_ATTRS, name, &[(i, Some(attr))]);
}

/// Sets attribute `name` of result `i`.
pub fn set_result_attr(program: &mut Program, function: Op, i: usize, name: &str, attr: Attr) {
    set_entries(program, function, RES_ATTRS, name, &[(i, Some(attr))]);
}

/// Removes attribute `name` of argument `i`.
pub fn remove_arg_attr(program: &mut Program, function: Op, i: usize, name: &str) {
    set_entries(program, function, ARG_ATTRS, name, &[(i, None)]);
}

/// Removes attribute `name` of result `i`.
pub fn remove_result_attr(program: &mut Program, function: Op, i: usize, name: &str) {
    set_entries(program, function, RES_ATTRS, name, &[(i, None)]);
}

/// Sets or removes attribute `name` of many arguments at once: (argument, new value).
pub fn set_arg_attrs(program: &mut Program, function: Op, name: &str, attrs: &[(usize, Option<Attr>)]) {
    set_entries(program, function, ARG_ATTRS, name, attrs);
}

/// Sets or removes attribute `name` of many results at once: (result, new value).
pub fn set_result_attrs(program: &mut Program, function: Op, name: &str, attrs: &[(usize, Option<Attr>)]) {
    set_entries(program, function, RES_ATTRS, name, attrs);
}

type Dict = Vec<(Name, Attr)>;

fn entry(program: &Program, function: Op, list: &str, i: usize, name: &str) -> Option<Attr> {
    let AttrData::Array(items) = program.attr_data(program.attr(function, list)?) else { return None };
    let AttrData::Dict(dict) = program.attr_data(*items.get(i)?) else { return None };
    dict.iter().find(|e| program.name_text(e.0) == name).map(|e| e.1)
}

fn dicts(program: &Program, function: Op, list: &str) -> Option<Vec<Dict>> {
    let AttrData::Array(items) = program.attr_data(program.attr(function, list)?) else { return None };
    let dict = |&a: &Attr| match program.attr_data(a) {
        AttrData::Dict(entries) => entries.clone(),
        _ => Dict::new(),
    };
    Some(items.iter().map(dict).collect())
}

fn set_dicts(program: &mut Program, function: Op, list: &str, dicts: Vec<Dict>) {
    if dicts.iter().all(Vec::is_empty) {
        program.remove_attr(function, list);
        return;
    }
    let items: Vec<Attr> = dicts.into_iter().map(|d| program.intern_attr(AttrData::Dict(d))).collect();
    let attr = program.intern_attr(AttrData::Array(items));
    program.set_attr(function, list, attr);
}

fn set_entries(program: &mut Program, function: Op, list: &str, name: &str, changes: &[(usize, Option<Attr>)]) {
    let signature = signature(program, function);
    let count = if list == ARG_ATTRS { signature.inputs.len() } else { signature.results.len() };
    let mut dicts = dicts(program, function, list).unwrap_or_default();
    dicts.resize_with(count, Dict::new);
    let key = program.name(name);
    for &(i, attr) in changes {
        let Some(entries) = dicts.get_mut(i) else { continue };
        entries.retain(|e| e.0 != key);
        if let Some(attr) = attr {
            let at = entries.partition_point(|e| program.name_text(e.0) < name);
            entries.insert(at, (key, attr));
        }
    }
    set_dicts(program, function, list, dicts);
}
