//! An all_to_all whose pieces are only combined runs as one reduction, and gives the same results as the two ops.

use shardc::{Backend, Compiler, Tolerance, compare};
use shardc_tests::sharded::{module_and_inputs, results};

/// Returns a per-device program on four devices. Shards of one row are cut into four parts, and the parts that meet on
/// a device are combined along a dimension.
fn program(ty: &str, combine: &str, init: &str, dim: usize, returned: &str) -> String {
    let pieces = if dim == 0 { "4x6x5" } else { "6x4x5" };
    let (shard, split) = if dim == 0 { ("1x24x5", 1) } else { ("24x1x5", 0) };
    let global = if dim == 0 { "4x24x5" } else { "24x4x5" };
    let sharding = if dim == 0 { "{\\22x\\22}, {}, {}" } else { "{}, {\\22x\\22}, {}" };
    format!(
        "module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {{mesh = \"<[\\22x\\22=4]>\"}}}} {{
          func.func @main(%a: tensor<{shard}x{ty}> {{shardc.global_type = tensor<{global}x{ty}>, shardc.sharding = \"<@mesh, [{sharding}]>\"}})
              -> (tensor<6x5x{ty}> {{shardc.global_type = tensor<24x5x{ty}>, shardc.sharding = \"<@mesh, [{{\\22x\\22}}, {{}}]>\"}},
                  tensor<{pieces}x{ty}> {{shardc.global_type = tensor<{pieces}x{ty}>}}) {{
            %i = stablehlo.constant dense<{init}> : tensor<{ty}>
            %0 = \"stablehlo.all_to_all\"(%a) <{{split_dimension = {split} : i64, concat_dimension = {dim} : i64, split_count = 4 : i64, replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> : (tensor<{shard}x{ty}>) -> tensor<{pieces}x{ty}>
            %1 = stablehlo.reduce(%0 init: %i) applies stablehlo.{combine} across dimensions = [{dim}] : (tensor<{pieces}x{ty}>, tensor<{ty}>) -> tensor<6x5x{ty}>
            %2 = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<{ty}>) -> tensor<{pieces}x{ty}>
            return %1, {returned} : tensor<6x5x{ty}>, tensor<{pieces}x{ty}>
          }}
        }}"
    )
}

#[test]
fn pieces_are_combined_as_by_the_two_ops() {
    let compiler = Compiler::standard();
    let cases = [
        ("f32", "add", "0.0", 0, "%2"),
        ("f32", "add", "0.0", 1, "%2"),
        ("bf16", "maximum", "0xFF80", 0, "%2"),
        ("i32", "add", "0", 1, "%2"),
        ("i8", "minimum", "127", 0, "%2"),
        // These stay two ops: the sum starts with another number, or another op reads the pieces.
        ("f32", "add", "1.0", 0, "%2"),
        ("f32", "add", "0.0", 0, "%0"),
    ];
    for (ty, combine, init, dim, returned) in cases {
        let text = program(ty, combine, init, dim, returned);
        let (module, inputs) = module_and_inputs(&compiler, "exchange", &text, 7);
        let [got, want] =
            [Backend::Native, Backend::Reference].map(|backend| results(&text, &compiler, &module, &inputs, backend));
        let tolerance = Tolerance { relative: Some(1e-6), absolute: Some(1e-5) };
        for (got, want) in got[0].iter().zip(&want[0]) {
            let found = compare(got, want, tolerance, None);
            assert!(found.equal(), "{found:?}\n{text}");
        }
    }
}
