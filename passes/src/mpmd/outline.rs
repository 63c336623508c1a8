//! Computations of a program over several meshes: the values they read, a key for equal ones, and a way to make one the
//! only function of the module, so that passes for one mesh run on it.

use dialect::diagnostic::Span;
use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, AttrList, Block, Op, Program, Renaming, Ty, Value, ValueSource};
use dialect::ops::{build, func};
use dialect::sharding::{Mesh, MeshRef, TensorSharding};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the values that ops, including those inside their regions, read but don't define; each once, in order.
pub(super) fn reads(program: &Program, ops: &[Op]) -> Vec<Value> {
    let mut known: FxHashSet<Value> = ops.iter().flat_map(|&op| program.results(op)).collect();
    for &block in ops.iter().flat_map(|&op| &program.op(op).regions).flat_map(|&r| program.region_blocks(r)) {
        known.extend(program.values_under(block));
    }
    let mut read = Vec::new();
    for &op in ops {
        let mut see = |op: Op| read.extend(program.op(op).operands.iter().copied().filter(|&v| known.insert(v)));
        see(op);
        for &block in program.op(op).regions.iter().flat_map(|&r| program.region_blocks(r)) {
            program.walk(block, &mut see);
        }
    }
    read
}

/// Appends a copy of the op that defines a value, and of all ops that it depends on.
pub(super) fn clone_constant(b: &mut Builder<'_>, value: Value, renaming: &mut Renaming) {
    if renaming.values.contains_key(&value) {
        return;
    }
    let ValueSource::Result(op, _) = b.program.value_source(value) else { return };
    let operands = b.program.op(op).operands.clone();
    for operand in operands {
        clone_constant(b, operand, renaming);
    }
    let copy = b.program.clone_op(op, renaming);
    b.program.remove_attr(copy, func::SHARDING);
    b.ops.push(copy);
}

/// The key of a block's computation: equal for blocks that differ only in the names of values.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct BlockKey(Vec<u64>);

/// Returns the key of a block that reads no values from outside.
pub(super) fn key(program: &Program, block: Block) -> BlockKey {
    let (mut key, mut numbers) = (Vec::new(), FxHashMap::default());
    block_key(program, block, &mut numbers, &mut key);
    BlockKey(key)
}

fn block_key(program: &Program, block: Block, numbers: &mut FxHashMap<Value, u64>, key: &mut Vec<u64>) {
    let define = |value: Value, numbers: &mut FxHashMap<Value, u64>, key: &mut Vec<u64>| {
        let next = numbers.len() as u64;
        numbers.insert(value, next);
        key.push(program.value_type(value).index() as u64);
    };
    key.push(program.block_args(block).len() as u64);
    program.block_args(block).iter().for_each(|&v| define(v, numbers, key));
    for &op in program.block_ops(block) {
        let data = program.op(op);
        key.extend([u64::MAX, data.name.index() as u64, data.attrs.len() as u64, data.operands.len() as u64]);
        key.extend(data.attrs.iter().flat_map(|a| [a.0.index() as u64, a.1.index() as u64]));
        key.extend(data.operands.iter().map(|v| numbers.get(v).copied().unwrap_or(u64::MAX)));
        key.push(data.regions.len() as u64);
        for &inner in data.regions.iter().flat_map(|&r| program.region_blocks(r)) {
            block_key(program, inner, numbers, key);
        }
        program.results(op).for_each(|v| define(v, numbers, key));
    }
}

/// Replaces the body of a function by a block of these ops, which returns these values.
pub(super) fn replace_body(program: &mut Program, function: Op, block: Block, ops: Vec<Op>, returned: &[Value]) {
    program.set_block_ops(block, ops);
    let region = program.op(function).regions[0];
    program.set_region_blocks(region, &[block]);
    let types =
        |program: &Program, values: &[Value]| values.iter().map(|&v| program.value_type(v)).collect::<Vec<Ty>>();
    let (inputs, results) = (types(program, program.block_args(block)), types(program, returned));
    func::set_signature(program, function, &inputs, &results);
    let none = |n: usize| (0..n).map(|i| (i, None)).collect::<Vec<_>>();
    func::set_arg_attrs(program, function, func::SHARDING, &none(inputs.len()));
    func::set_result_attrs(program, function, func::SHARDING, &none(results.len()));
}

/// A mesh with its name.
pub(super) type NamedMesh = (String, Mesh);

/// A program whose `@main` is temporarily a single computation.
pub(super) struct Alone<'a> {
    pub(super) program: &'a mut Program,
    /// The other ops of the module.
    top: Vec<Op>,
    attrs: AttrList,
}

impl<'a> Alone<'a> {
    /// Makes a copy of `body` the program's `@main`, over `mesh` alone; `ins` and `outs` have the shardings of its
    /// arguments and results, as far as they are decided.
    pub(super) fn enter(
        program: &'a mut Program,
        body: Block,
        ins: &[Option<TensorSharding>],
        outs: &[Option<TensorSharding>],
        mesh: Option<&NamedMesh>,
    ) -> Self {
        let (module, all) = (program.module, program.body());
        let top = program.block_ops(all).to_vec();
        let attrs = std::mem::take(&mut program.op_mut(module).attrs);
        let is_main = |op: &Op| func::symbol(program, *op) == Some("main");
        let functions = |op: &Op| func::is_function(program.view(*op)) && !is_main(op);
        let mut rest: Vec<Op> = top.iter().copied().filter(functions).collect();
        if let Some((name, mesh)) = mesh {
            rest.insert(0, build::sdy::mesh(program, name, mesh.clone()));
        }
        program.set_block_ops(all, rest);
        let types =
            |program: &Program, values: &[Value]| values.iter().map(|&v| program.value_type(v)).collect::<Vec<Ty>>();
        let returned = program.terminator(body).map(|op| program.op(op).operands.to_vec()).unwrap_or_default();
        let (inputs, results) = (types(program, program.block_args(body)), types(program, &returned));
        let loc = program.terminator(body).map_or(dialect::ir::Loc::UNKNOWN, |op| program.op(op).loc);
        let (main, block) = func::new_function(program, "main", Some("public"), &inputs, &results, loc);
        let mut renaming = Renaming::default();
        renaming.values.extend(program.block_args(body).to_vec().into_iter().zip(program.block_args(block).to_vec()));
        let mut ops = program.block_ops(body).to_vec();
        ops.pop();
        let mut ops: Vec<Op> = ops.into_iter().map(|op| program.clone_op(op, &mut renaming)).collect();
        let returned: Vec<Value> = returned.into_iter().map(|v| renaming.value(v)).collect();
        Builder::new(program, &mut ops, loc).op(&func::RETURN, &returned, &[], &[]);
        program.set_block_ops(block, ops);
        if let Some((name, _)) = mesh {
            let name = program.name(name);
            let mut attrs = |shardings: &[Option<TensorSharding>]| -> Vec<(usize, Option<Attr>)> {
                let over = |s: &TensorSharding| TensorSharding { mesh: MeshRef::Symbol(name), ..s.clone() };
                let attr = |s: &TensorSharding| AttrData::Sharding(over(s));
                let stated = shardings.iter().enumerate().filter_map(|(i, s)| Some((i, attr(s.as_ref()?))));
                stated.map(|(i, data)| (i, Some(program.intern_attr(data)))).collect()
            };
            let (ins, outs) = (attrs(ins), attrs(outs));
            func::set_arg_attrs(program, main, func::SHARDING, &ins);
            func::set_result_attrs(program, main, func::SHARDING, &outs);
        }
        Self { program, top, attrs }
    }

    /// Restores the program, and returns the functions that passes made from the computation, `@main` first.
    pub(super) fn leave(self) -> Vec<Op> {
        let Self { program, top, attrs } = self;
        let before: FxHashSet<Op> = top.iter().copied().collect();
        let all = program.body();
        let mut made: Vec<Op> = func::functions(program).filter(|op| !before.contains(op)).collect();
        made.sort_by_key(|&op| func::symbol(program, op) != Some("main"));
        program.set_block_ops(all, top);
        program.op_mut(program.module).attrs = attrs;
        made
    }
}

/// Sets the source span of ops that have none.
pub(super) fn set_spans(program: &mut Program, ops: &[Op], span: Span) {
    for &op in ops {
        let data = program.op_mut(op);
        if data.span.is_empty() {
            data.span = span;
        }
    }
}
