//! Groups printed as mesh axes: the text parses to the same program, and is as short for 4,096 devices as for 8.

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use dialect::text::PrintOptions;
use passes::plan::{PlanOptions, plan};
use shardc_tests::sharded::parsed;

const AXES: PrintOptions =
    PrintOptions { locations: false, generic: false, causes: false, group_axes: true, local_scope: false };

fn per_device(text: &str) -> Program {
    let (mut program, mut diagnostics) = (parsed(text), Diagnostics::default());
    plan(&mut program, &PlanOptions::default(), &mut diagnostics);
    passes::partition::partition(&mut program, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
    program
}

#[test]
fn groups_printed_as_axes_parse_to_the_same_program() {
    let programs = [
        include_str!("../../plan/tpu_p3_mlp_block_auto.mlir"),
        include_str!("../../plan/several_dimensions.mlir"),
        include_str!("../../plan/train_2d.mlir"),
        include_str!("../../plan/train_fsdp.mlir"),
    ];
    let mut by_axes = 0;
    for text in programs {
        let program = per_device(text);
        let axes = dialect::print_with(&program, AXES);
        by_axes += axes.matches("replica_group_mesh_axes").count();
        let again = parsed(&axes);
        assert_eq!(dialect::print_with(&again, AXES), axes);
        // Groups that are axes in one text are lists in the other.
        let lists = dialect::print(&program);
        assert!(!lists.contains("replica_group_mesh_axes"));
        assert_eq!(dialect::print(&again), lists);
    }
    assert!(by_axes > 10, "{by_axes}");
}

/// Returns two layers of an MLP, sharded over both axes of an `x` by `y` mesh.
fn layers(x: i64, y: i64) -> String {
    format!(
        r#"sdy.mesh @mesh = <["x"={x}, "y"={y}]>
func.func @main(%a: tensor<8192x8192xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}, %v: tensor<8192x8192xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}}, %w: tensor<8192x8192xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{"x"}}]>}}) -> (tensor<8192x8192xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
  %0 = sdy.all_gather [{{"x"}}, {{}}] %v out_sharding=<@mesh, [{{}}, {{"y"}}]> : tensor<8192x8192xf32>
  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}, {{"y"}}]>]>}} : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  %2 = sdy.all_gather [{{}}, {{"x"}}] %w out_sharding=<@mesh, [{{"y"}}, {{}}]> : tensor<8192x8192xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}, {{}}], unreduced={{"y"}}>]>}} : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  %4 = sdy.all_reduce {{"y"}} %3 out_sharding=<@mesh, [{{"x"}}, {{}}]> : tensor<8192x8192xf32>
  return %4 : tensor<8192x8192xf32>
}}
"#
    )
}

#[test]
fn the_text_of_groups_printed_as_axes_does_not_grow_with_the_devices() {
    let [few, many] = [(2, 4), (64, 64)].map(|(x, y)| {
        let program = per_device(&layers(x, y));
        [dialect::print_with(&program, AXES).len(), dialect::print(&program).len()]
    });
    // Only the sizes have more digits.
    assert!(many[0] < few[0] + 200, "{few:?} {many:?}");
    // Each of three collectives lists every device.
    assert!(many[1] > few[1] + 3 * 4096 * 4, "{few:?} {many:?}");
}
