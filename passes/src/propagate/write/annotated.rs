//! Restores the axes that the user wrote on `@main`.
//!
//! At the end, Shardy reduces the shardings of arguments and results to whole axes that divide their sizes, since JAX
//! accepts no others at a function's boundary. A compiler that pads can accept more: with `keep-annotated` the axes of
//! an annotated argument or result stay as written. Collectives that combine an argument's partial results then follow
//! its sharding; other collectives read the argument as Shardy shards it.

use dialect::ir::{AttrData, Block, Program, Value};
use dialect::ops::{build, func, sdy};
use dialect::sharding::{Reshard, TensorSharding};
use rustc_hash::FxHashMap;

/// The shardings on the arguments and results of `@main`.
pub(crate) struct Annotated {
    arguments: Vec<Option<TensorSharding>>,
    results: Vec<Option<TensorSharding>>,
}

impl Annotated {
    /// Reads the shardings as written in the program.
    pub(crate) fn read(program: &Program) -> Option<Self> {
        let main = func::function(program, "main")?;
        let types = func::signature(program, main);
        Some(Self {
            arguments: (0..types.inputs.len()).map(|i| func::arg_sharding(program, main, i).cloned()).collect(),
            results: (0..types.results.len()).map(|i| func::result_sharding(program, main, i).cloned()).collect(),
        })
    }

    /// Restores the axes that were removed.
    pub(crate) fn restore(&self, program: &mut Program) {
        let Some(main) = func::function(program, "main") else { return };
        let Some(block) = func::block(program, main) else { return };
        let mut moved = FxHashMap::default();
        let mut restored = Vec::new();
        for (i, wrote) in self.arguments.iter().enumerate() {
            let now = func::arg_sharding(program, main, i).cloned();
            if let (Some(now), Some(new)) = (&now, with_axes(wrote, now.as_ref())) {
                moved.extend(program.block_args(block).get(i).map(|&arg| (arg, (now.clone(), new.clone()))));
                restored.push((i, Some(program.intern_attr(AttrData::Sharding(new)))));
            }
        }
        func::set_arg_attrs(program, main, func::SHARDING, &restored);
        if !moved.is_empty() {
            follow(program, block, &mut moved);
        }
        restored.clear();
        for (i, wrote) in self.results.iter().enumerate() {
            if let Some(new) = with_axes(wrote, func::result_sharding(program, main, i)) {
                restored.push((i, Some(program.intern_attr(AttrData::Sharding(new)))));
            }
        }
        func::set_result_attrs(program, main, func::SHARDING, &restored);
    }
}

/// Adapts collectives to the values in `moved`, which now have the second sharding instead of the first.
fn follow(program: &mut Program, block: Block, moved: &mut FxHashMap<Value, (TensorSharding, TensorSharding)>) {
    let mut ops = Vec::new();
    for op in program.block_ops(block).to_vec() {
        for region in program.op(op).regions.clone() {
            for inner in program.region_blocks(region).to_vec() {
                follow(program, inner, moved);
            }
        }
        let view = program.view(op);
        let change = view.operands().first().and_then(|operand| Some((*operand, moved.get(operand)?.clone())));
        match (view.def().reshard(view), change) {
            (Some(Reshard::AllReduce(..)), Some((_, (_, new)))) => {
                let result = program.result(op, 0);
                if let Some(now) = sdy::stated_sharding(program.view(op)).cloned() {
                    let new = TensorSharding { dims: new.dims, ..now.clone() };
                    let attr = program.intern_attr(AttrData::Sharding(new.clone()));
                    program.set_attr(op, sdy::OUT_SHARDING, attr);
                    moved.insert(result, (now, new));
                }
            }
            (None | Some(Reshard::Identity), _) | (_, None) => {}
            (_, Some((operand, (now, _)))) => {
                let read = build::sdy::reshard(program, operand, now);
                ops.push(read);
                program.op_mut(op).operands[0] = program.result(read, 0);
            }
        }
        ops.push(op);
    }
    program.set_block_ops(block, ops);
}

/// Returns `now` with the axes that `wrote` begins with in every dimension; `None` where it already has them.
fn with_axes(wrote: &Option<TensorSharding>, now: Option<&TensorSharding>) -> Option<TensorSharding> {
    let (wrote, now) = (wrote.as_ref()?, now?);
    let kept = wrote.dims.iter().zip(&now.dims).all(|(w, n)| n.axes.starts_with(&w.axes));
    if kept || wrote.mesh != now.mesh {
        return None;
    }
    let mut new = now.clone();
    for (dim, wrote) in new.dims.iter_mut().zip(&wrote.dims) {
        if !dim.axes.starts_with(&wrote.axes) {
            dim.axes = wrote.axes.clone();
        }
    }
    Some(new)
}
