//! Which attributes MLIR stores as an op's properties, `<{…}>` in generic form; all others are discardable and printed
//! after the regions. MLIR drops unknown attributes inside `<{…}>`, so this must be right for text that MLIR is to
//! read. Source: the definitions of StableHLO's, CHLO's, Shardy's and MLIR's own ops.

const GROUPS: &str = "channel_handle replica_groups use_global_device_ids";
const WINDOW: &str = "batch_group_count dimension_numbers feature_group_count lhs_dilation padding precision_config rhs_dilation \
    window_reversal window_strides";

/// Ops and their properties; after single ops, families of ops by how their names start or end.
#[rustfmt::skip]
const PROPERTIES: &[(&str, &str)] = &[
    ("builtin.module", "sym_name sym_visibility"),
    ("func.func", "arg_attrs function_type no_inline res_attrs sym_name sym_visibility"),
    ("func.call", "arg_attrs callee no_inline res_attrs"),
    ("sdy.mesh", "mesh sym_name"),
    ("sdy.sharding_constraint", "sharding"),
    ("sdy.reshard", "sharding"),
    ("sdy.constant", "value"),
    ("sdy.data_flow_edge", "sharding"),
    ("sdy.propagation_barrier", "allowed_direction"),
    ("sdy.sharding_group", "group_id"),
    ("sdy.manual_computation", "in_shardings manual_axes out_shardings"),
    ("sdy.named_computation", "in_shardings name out_shardings"),
    ("sdy.all_gather", "gathering_axes out_sharding"),
    ("sdy.all_reduce", "out_sharding reduction_axes reduction_op"),
    ("sdy.all_slice", "out_sharding slicing_axes"),
    ("sdy.all_to_all", "out_sharding params"),
    ("sdy.collective_permute", "out_sharding"),
    ("sdy.reduce_scatter", "out_sharding reduce_scatter_axes reduction_op"),
    ("sdy.replicated_to_unreduced", "axes out_sharding reduction_op"),
    ("sdy.sharded_to_unreduced", "axes out_sharding reduction_op"),
    ("stablehlo.all_reduce", GROUPS),
    ("stablehlo.collective_reduce", GROUPS),
    ("stablehlo.collective_broadcast", GROUPS),
    ("stablehlo.broadcast", "broadcast_sizes"),
    ("stablehlo.broadcast_in_dim", "broadcast_dimensions"),
    ("stablehlo.cholesky", "lower"),
    ("stablehlo.collective_permute", "channel_handle source_target_pairs"),
    ("stablehlo.compare", "compare_type comparison_direction"),
    ("stablehlo.composite", "composite_attributes decomposition name version"),
    ("stablehlo.concatenate", "dimension"),
    ("stablehlo.constant", "value"),
    ("stablehlo.convolution", WINDOW),
    ("stablehlo.dynamic_conv", WINDOW),
    ("stablehlo.cross-replica-sum", "replica_groups"),
    (
        "stablehlo.custom_call",
        "api_version backend_config call_target_name called_computations has_side_effect operand_layouts output_operand_aliases result_layouts",
    ),
    ("stablehlo.dot", "precision_config"),
    ("stablehlo.dot_general", "algorithm dot_dimension_numbers precision_config"),
    ("stablehlo.dynamic_broadcast_in_dim", "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"),
    ("stablehlo.dynamic_gather", "dimension_numbers indices_are_sorted"),
    ("stablehlo.dynamic_iota", "iota_dimension"),
    ("stablehlo.iota", "iota_dimension"),
    ("stablehlo.dynamic_slice", "slice_sizes"),
    ("stablehlo.einsum", "einsum_config"),
    ("stablehlo.unary_einsum", "einsum_config"),
    ("stablehlo.fft", "fft_length fft_type"),
    ("stablehlo.gather", "dimension_numbers indices_are_sorted slice_sizes"),
    ("stablehlo.get_dimension_size", "dimension"),
    ("stablehlo.set_dimension_size", "dimension"),
    ("stablehlo.get_tuple_element", "index"),
    ("stablehlo.infeed", "infeed_config layout"),
    ("stablehlo.outfeed", "outfeed_config"),
    ("stablehlo.map", "dimensions"),
    ("stablehlo.pad", "edge_padding_high edge_padding_low interior_padding"),
    ("stablehlo.recv", "channel_handle is_host_transfer source_target_pairs"),
    ("stablehlo.send", "channel_handle is_host_transfer source_target_pairs"),
    ("stablehlo.reduce", "dimensions"),
    ("stablehlo.reverse", "dimensions"),
    ("stablehlo.reduce_precision", "exponent_bits mantissa_bits"),
    ("stablehlo.reduce_window", "base_dilations padding window_dilations window_dimensions window_strides"),
    ("stablehlo.select_and_scatter", "padding window_dimensions window_strides"),
    ("stablehlo.rng", "rng_distribution"),
    ("stablehlo.rng_bit_generator", "rng_algorithm"),
    ("stablehlo.scatter", "indices_are_sorted scatter_dimension_numbers unique_indices"),
    ("stablehlo.slice", "limit_indices start_indices strides"),
    ("stablehlo.sort", "dimension is_stable"),
    ("stablehlo.torch_index_select", "batch_dims dim"),
    ("stablehlo.transpose", "permutation"),
    ("stablehlo.triangular_solve", "left_side lower transpose_a unit_diagonal"),
    ("chlo.constant", "value"),
    ("arith.constant", "value"),
    ("cf.cond_br", "operandSegmentSizes"),
    ("chlo.constant_like", "value"),
    ("chlo.top_k", "is_stable k"),
    ("chlo.ragged_dot", "precision_config ragged_dot_dimension_numbers"),
    ("chlo.broadcast_compare", "broadcast_dimensions compare_type comparison_direction"),
];

/// Whether attribute `name` of op `op` is one of its properties.
pub(super) fn is_property(op: &str, name: &str) -> bool {
    let has = |list: &str| list.split(' ').any(|n| n == name);
    if let Some(row) = PROPERTIES.iter().find(|p| p.0 == op) {
        return has(row.1);
    }
    match op {
        "stablehlo.all_gather" => name == "all_gather_dim" || has(GROUPS),
        "stablehlo.reduce_scatter" => name == "scatter_dimension" || has(GROUPS),
        "stablehlo.all_to_all" => has("channel_handle concat_dimension replica_groups split_count split_dimension"),
        _ if op.starts_with("stablehlo.batch_norm_") => has("epsilon feature_index"),
        _ if op.starts_with("chlo.broadcast_") => name == "broadcast_dimensions",
        // Elementary functions.
        _ => op.starts_with("stablehlo.") && name == "result_accuracy",
    }
}
