//! Records, on the per-device `@main`, the global signature.

use dialect::ir::{AttrData, Block, Op, Program, Ty, Value};
use dialect::ops::func;
use dialect::sharding::Mesh;
use dialect::signature::{GLOBAL_TYPE, MESHES, SHARDING, is_stated};

use crate::symbols::led_to;

/// Replaces the body of `main` and records its global signature.
pub(super) fn finish(
    program: &mut Program,
    main: Op,
    block: Block,
    arguments: &[Value],
    returned: &[Value],
    mesh_name: Option<&str>,
    mesh: &Mesh,
) {
    let argument_types: Vec<Ty> = arguments.iter().map(|&v| program.value_type(v)).collect();
    let result_types: Vec<Ty> = returned.iter().map(|&v| program.value_type(v)).collect();
    // A program that was partitioned before knows its global signature; its own types are local.
    let stated = is_stated(program, main);
    for (i, &ty) in argument_types.iter().enumerate() {
        let sharding = func::arg_sharding(program, main, i).filter(|_| !stated).cloned();
        if !stated {
            let attr = program.intern_attr(AttrData::Type(ty));
            func::set_arg_attr(program, main, i, GLOBAL_TYPE, attr);
        }
        if let Some(s) = sharding {
            let text = program.sharding_text(&s.closed());
            let attr = program.attr_str(&text);
            func::set_arg_attr(program, main, i, SHARDING, attr);
        }
        func::remove_arg_attr(program, main, i, func::SHARDING);
    }
    for (i, &ty) in result_types.iter().enumerate() {
        let sharding = func::result_sharding(program, main, i).filter(|_| !stated).cloned();
        if !stated {
            let attr = program.intern_attr(AttrData::Type(ty));
            func::set_result_attr(program, main, i, GLOBAL_TYPE, attr);
        }
        if let Some(s) = sharding {
            let text = program.sharding_text(&s.closed());
            let attr = program.attr_str(&text);
            func::set_result_attr(program, main, i, SHARDING, attr);
        }
        func::remove_result_attr(program, main, i, func::SHARDING);
    }
    let region = program.op(main).regions[0];
    program.set_region_blocks(region, &[block]);
    let inputs: Vec<Ty> = program.block_args(block).iter().map(|&v| program.value_type(v)).collect();
    let last = program.terminator(block);
    let results: Vec<Ty> = last
        .map_or_else(Vec::new, |op| program.op(op).operands.clone().iter().map(|&v| program.value_type(v)).collect());
    func::set_signature(program, main, &inputs, &results);
    let body = program.body();
    let kept = led_to(program, &[main]);
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
