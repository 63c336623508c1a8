//! Records the global signature on the per-device `@main`.

use dialect::ir::{Attr, AttrData, Block, Op, Program, Ty, Value};
use dialect::ops::func;
use dialect::sharding::{Mesh, TensorSharding};
use dialect::signature::{GLOBAL_TYPE, MESHES, SHARDING, is_stated};
use rustc_hash::FxHashSet;

/// Records the global signature of `main`, given its global arguments and the values that it returns.
pub(super) fn record_global(program: &mut Program, main: Op, arguments: &[Value], returned: &[Value]) {
    let argument_types: Vec<Ty> = arguments.iter().map(|&v| program.value_type(v)).collect();
    let result_types: Vec<Ty> = returned.iter().map(|&v| program.value_type(v)).collect();
    // A program that was partitioned before already states its global signature; its own types are local.
    let stated = is_stated(program, main);
    record(program, main, &argument_types, stated, func::arg_sharding, func::set_arg_attrs);
    record(program, main, &result_types, stated, func::result_sharding, func::set_result_attrs);
}

/// Replaces the body of `main`, for the devices of `mesh`; keeps only `kept` of the other ops in the module.
pub(super) fn replace_body(
    program: &mut Program,
    main: Op,
    block: Block,
    kept: &FxHashSet<Op>,
    mesh_name: Option<&str>,
    mesh: &Mesh,
) {
    let region = program.op(main).regions[0];
    program.set_region_blocks(region, &[block]);
    let inputs: Vec<Ty> = program.block_args(block).iter().map(|&v| program.value_type(v)).collect();
    let last = program.terminator(block);
    let results: Vec<Ty> = last
        .map_or_else(Vec::new, |op| program.op(op).operands.clone().iter().map(|&v| program.value_type(v)).collect());
    func::set_signature(program, main, &inputs, &results);
    let body = program.body();
    let ops = program.block_ops(body).iter().copied().filter(|op| kept.contains(op)).collect();
    program.set_block_ops(body, ops);
    let (replicas, partitions) = (func::num_replicas(program), func::num_partitions(program).max(mesh.devices()));
    // Functions that ops name run on devices that those ops choose.
    let chosen = func::functions(program).count() > 1 && func::declared_devices(program).is_none();
    if replicas * partitions > 1 || !chosen {
        func::set_devices(program, replicas, partitions);
    }
    if let Some(name) = mesh_name {
        let text = program.mesh_text(mesh);
        let text = program.attr_str(&text);
        let name = program.name(name);
        let meshes = program.intern_attr(AttrData::Dict(vec![(name, text)]));
        let module = program.module;
        program.set_attr(module, MESHES, meshes);
    }
}

/// Sets or removes an attribute of some arguments or results.
type SetAttrs = fn(&mut Program, Op, &str, &[(usize, Option<Attr>)]);

/// Records the global types and the shardings of all arguments or all results, and removes the shardings themselves.
fn record(
    program: &mut Program,
    main: Op,
    types: &[Ty],
    stated: bool,
    sharding: fn(&Program, Op, usize) -> Option<&TensorSharding>,
    set: SetAttrs,
) {
    if !stated {
        let attrs: Vec<_> = types.iter().map(|&ty| Some(program.intern_attr(AttrData::Type(ty)))).enumerate().collect();
        let texts = (0..types.len()).map(|i| sharding(program, main, i).map(|s| program.sharding_text(&s.closed())));
        let texts: Vec<_> = texts.collect();
        let texts = texts.into_iter().enumerate().filter_map(|(i, text)| Some((i, Some(program.attr_str(&text?)))));
        let texts: Vec<_> = texts.collect();
        set(program, main, GLOBAL_TYPE, &attrs);
        set(program, main, SHARDING, &texts);
    }
    set(program, main, func::SHARDING, &(0..types.len()).map(|i| (i, None)).collect::<Vec<_>>());
}
