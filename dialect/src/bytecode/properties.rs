//! The attributes that ops have as properties, in the order of their names, which is the order in files. Sources: the
//! dialects' definitions of ops.
//!
//! For the ops of StableHLO's portable form, in all its versions, also the conversion of these attributes to today's.
//! An attribute that an older version of an op lacks is equivalent to its default.

use crate::text::words::{CHANNEL_HANDLE, CONVOLUTION, DOT, DOT_ALGORITHM, GATHER, SCATTER};

/// An attribute of an op.
#[derive(Clone, Copy)]
pub(super) struct Property {
    pub(super) name: &'static str,
    /// Whether it may be missing.
    pub(super) optional: bool,
    /// Its conversion to today's form.
    pub(super) form: Conversion,
    /// The default value, which isn't written.
    pub(super) usual: Usual,
    /// The first version of the op that has it. Ops outside of the portable form have no versions: attributes that only
    /// newer files have are of version 2.
    pub(super) since: u32,
    /// The last version of the op that has it.
    pub(super) until: u32,
}

/// The conversion of an attribute to today's form.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    Same,
    /// A literal of integers becomes a list of them.
    Integers,
    /// A literal of booleans becomes a list of them.
    Truths,
    /// A string becomes a symbol.
    Symbol,
    /// Strings become symbols.
    Symbols,
    /// `true` becomes a unit attribute.
    Flag,
    /// A number becomes the handle of a channel.
    Channel,
    /// One part of another attribute.
    Part(&'static Whole),
    /// The sizes of this many segments of operands, which newer files encode in a special way.
    Segments(usize),
}

/// An attribute whose parts are stored separately.
pub(super) struct Whole {
    /// Its name.
    pub(super) name: &'static str,
    /// `#stablehlo.gather`
    pub(super) open: &'static str,
    /// The text before the first key.
    pub(super) before: &'static str,
    /// The names of its parts.
    pub(super) parts: &'static [&'static str],
    /// The names of its keys, if they differ.
    pub(super) keys: &'static [&'static str],
}

/// The value of an attribute that is equivalent to its absence.
#[derive(Clone, Copy)]
pub(super) enum Usual {
    Never,
    Int(i64),
    False,
    /// No elements, entries or characters.
    Empty,
    /// A literal of only this number.
    All(i64),
    /// A literal of only `false`.
    AllFalse,
    /// An enum's keyword.
    Word(&'static str),
    /// A list of only this keyword.
    Words(&'static str),
    Accuracy,
}

const GATHER_DIMS: Whole = Whole::new("dimension_numbers", "#stablehlo.gather", GATHER);
const SCATTER_DIMS: Whole = Whole::new("scatter_dimension_numbers", "#stablehlo.scatter", SCATTER);
const DOT_DIMS: Whole = Whole::new("dot_dimension_numbers", "#stablehlo.dot", DOT);
const ALGORITHM: Whole = Whole::new("algorithm", "#stablehlo.dot_algorithm", DOT_ALGORITHM);
const CONV_DIMS: Whole = Whole { before: "raw ", ..Whole::new("dimension_numbers", "#stablehlo.conv", CONVOLUTION) };
const HANDLE: Whole = Whole {
    keys: CHANNEL_HANDLE,
    ..Whole::new("channel_handle", "#stablehlo.channel_handle", &["channel_id", "channel_type"])
};

impl Whole {
    const fn new(name: &'static str, open: &'static str, parts: &'static [&'static str]) -> Self {
        Self { name, open, before: "", parts, keys: parts }
    }
}

impl Property {
    const fn of(name: &'static str, form: Conversion, usual: Usual) -> Self {
        Self { name, optional: false, form, usual, since: 1, until: u32::MAX }
    }

    const fn since(self, since: u32) -> Self {
        Self { since, ..self }
    }
}

const fn p(name: &'static str) -> Property {
    Property::of(name, Conversion::Same, Usual::Never)
}

/// Returns an optional property.
const fn o(name: &'static str) -> Property {
    Property { optional: true, ..p(name) }
}

/// Returns a property with the sizes of this many segments of operands.
const fn segments(name: &'static str, count: usize) -> Property {
    Property::of(name, Conversion::Segments(count), Usual::Never)
}

const fn usual(name: &'static str, usual: Usual) -> Property {
    Property::of(name, Conversion::Same, usual)
}

const fn ints(name: &'static str) -> Property {
    Property::of(name, Conversion::Integers, Usual::Never)
}

/// Returns a property of integers that all have the same default.
const fn ints_all(name: &'static str, value: i64) -> Property {
    Property::of(name, Conversion::Integers, Usual::All(value))
}

const fn part(name: &'static str, whole: &'static Whole) -> Property {
    Property::of(name, Conversion::Part(whole), Usual::Never)
}

const fn flag(name: &'static str) -> Property {
    Property::of(name, Conversion::Flag, Usual::False)
}

/// Returns the attributes of convolutions of the portable form, which differ in the form of the padding.
const fn convolution(padding: Property) -> [Property; 17] {
    [
        p("batch_group_count"),
        p("feature_group_count"),
        part("input_batch_dimension", &CONV_DIMS),
        part("input_feature_dimension", &CONV_DIMS),
        part("input_spatial_dimensions", &CONV_DIMS),
        part("kernel_input_feature_dimension", &CONV_DIMS),
        part("kernel_output_feature_dimension", &CONV_DIMS),
        part("kernel_spatial_dimensions", &CONV_DIMS),
        ints_all("lhs_dilation", 1),
        part("output_batch_dimension", &CONV_DIMS),
        part("output_feature_dimension", &CONV_DIMS),
        part("output_spatial_dimensions", &CONV_DIMS),
        padding,
        PRECISION,
        ints_all("rhs_dilation", 1),
        Property::of("window_reversal", Conversion::Truths, Usual::AllFalse),
        ints_all("window_strides", 1),
    ]
}

const CHANNEL: Property = Property::of("channel_id", Conversion::Channel, Usual::Int(0));
const GLOBAL_IDS: Property = flag("use_global_device_ids");
const ROOT: Property = flag("has_dynamic_root");
const PRECISION: Property = usual("precision_config", Usual::Words("DEFAULT"));
const SORTED: Property = usual("indices_are_sorted", Usual::False);

/// Ops with the same attributes.
type Row = (&'static [&'static str], &'static [Property]);

/// Returns the attributes of the op called `name`.
pub(super) fn of(name: &str) -> Option<&'static [Property]> {
    OPS.iter().find(|row| row.0.contains(&name)).map(|row| row.1)
}

/// Returns whether attribute `name` of op `op` is one of its properties, which generic text has in `<{…}>`: MLIR drops
/// unknown attributes there, and all other attributes come after the regions.
pub(crate) fn is_property(op: &str, name: &str) -> bool {
    of(op).is_some_and(|properties| properties.iter().any(|p| p.name == name))
}

/// Returns the attributes of an op of StableHLO's portable form, named without its version, and the newest version.
pub(super) fn portable(name: &str) -> (&'static [Property], u32) {
    let find = |rows: &'static [Row]| rows.iter().find(|row| row.0.contains(&name)).map(|row| row.1);
    match (find(SECOND), find(FIRST)) {
        (Some(properties), _) => (properties, 2),
        (_, Some(properties)) => (properties, 1),
        _ => (&[], 1),
    }
}

/// Ops of the portable form with two versions.
const SECOND: &[Row] = &[
    (&["all_gather"], &[p("all_gather_dim"), CHANNEL, p("replica_groups"), GLOBAL_IDS]),
    (&["all_reduce"], &[CHANNEL, p("replica_groups"), GLOBAL_IDS]),
    (&["all_to_all"], &[CHANNEL, p("concat_dimension"), p("replica_groups"), p("split_count"), p("split_dimension")]),
    (&["collective_broadcast"], &[CHANNEL, ROOT.since(2), p("replica_groups")]),
    (
        &[
            "cbrt",
            "cosine",
            "exponential",
            "exponential_minus_one",
            "log",
            "log_plus_one",
            "logistic",
            "rsqrt",
            "sine",
            "sqrt",
            "tan",
            "tanh",
        ],
        &[usual("result_accuracy", Usual::Accuracy).since(2)],
    ),
    (
        &["composite"],
        &[
            usual("composite_attributes", Usual::Empty),
            Property::of("decomposition", Conversion::Symbol, Usual::Never),
            p("name"),
            usual("version", Usual::Int(0)),
        ],
    ),
    (
        &["custom_call"],
        &[
            usual("api_version", Usual::Int(1)),
            usual("backend_config", Usual::Empty),
            p("call_target_name"),
            Property::of("called_computations", Conversion::Symbols, Usual::Empty),
            usual("has_side_effect", Usual::False),
            // Layouts of operands and results are either both missing or both present.
            p("operand_layouts"),
            usual("output_operand_aliases", Usual::Empty),
            p("result_layouts"),
            usual("result_tilings", Usual::Empty).since(2),
        ],
    ),
    (
        &["dot_general"],
        &[
            part("accumulation_type", &ALGORITHM).since(2),
            part("allow_imprecise_accumulation", &ALGORITHM).since(2),
            part("lhs_batching_dimensions", &DOT_DIMS),
            part("lhs_component_count", &ALGORITHM).since(2),
            part("lhs_contracting_dimensions", &DOT_DIMS),
            part("lhs_precision_type", &ALGORITHM).since(2),
            part("num_primitive_operations", &ALGORITHM).since(2),
            PRECISION,
            part("rhs_batching_dimensions", &DOT_DIMS),
            part("rhs_component_count", &ALGORITHM).since(2),
            part("rhs_contracting_dimensions", &DOT_DIMS),
            part("rhs_precision_type", &ALGORITHM).since(2),
        ],
    ),
    // An operand has the padding.
    (&["dynamic_conv"], &convolution(Property { until: 1, ..p("padding") })),
    (
        &["dynamic_gather"],
        &[
            part("collapsed_slice_dims", &GATHER_DIMS),
            part("index_vector_dim", &GATHER_DIMS),
            SORTED,
            part("offset_dims", &GATHER_DIMS),
            part("operand_batching_dims", &GATHER_DIMS).since(2),
            part("start_index_map", &GATHER_DIMS),
            part("start_indices_batching_dims", &GATHER_DIMS).since(2),
        ],
    ),
    (
        &["gather"],
        &[
            part("collapsed_slice_dims", &GATHER_DIMS),
            part("index_vector_dim", &GATHER_DIMS),
            SORTED,
            part("offset_dims", &GATHER_DIMS),
            part("operand_batching_dims", &GATHER_DIMS).since(2),
            ints("slice_sizes"),
            part("start_index_map", &GATHER_DIMS),
            part("start_indices_batching_dims", &GATHER_DIMS).since(2),
        ],
    ),
    (
        &["recv", "send"],
        &[
            part("channel_id", &HANDLE),
            part("channel_type", &HANDLE),
            usual("is_host_transfer", Usual::False),
            usual("source_target_pairs", Usual::Empty).since(2),
        ],
    ),
    (
        &["scatter"],
        &[
            part("index_vector_dim", &SCATTER_DIMS),
            SORTED,
            part("input_batching_dims", &SCATTER_DIMS).since(2),
            part("inserted_window_dims", &SCATTER_DIMS),
            part("scatter_dims_to_operand_dims", &SCATTER_DIMS),
            part("scatter_indices_batching_dims", &SCATTER_DIMS).since(2),
            usual("unique_indices", Usual::False),
            part("update_window_dims", &SCATTER_DIMS),
        ],
    ),
];

/// Ops of the portable form with one version. Ops that aren't listed have no attributes.
const FIRST: &[Row] = &[
    (&["batch_norm_grad", "batch_norm_inference", "batch_norm_training"], &[p("epsilon"), p("feature_index")]),
    (&["broadcast"], &[ints("broadcast_sizes")]),
    (&["broadcast_in_dim"], &[ints("broadcast_dimensions")]),
    (&["call"], &[Property::of("callee", Conversion::Symbol, Usual::Never)]),
    (&["cholesky"], &[usual("lower", Usual::False)]),
    (&["collective_permute"], &[CHANNEL, p("source_target_pairs")]),
    (&["collective_reduce"], &[CHANNEL, ROOT, p("replica_groups"), GLOBAL_IDS]),
    (&["compare"], &[usual("compare_type", Usual::Word("NOTYPE")), p("comparison_direction")]),
    (&["concatenate", "get_dimension_size", "set_dimension_size"], &[p("dimension")]),
    (&["constant"], &[p("value")]),
    (&["convolution"], &convolution(usual("padding", Usual::All(0)))),
    (&["cross-replica-sum"], &[p("replica_groups")]),
    (&["dot"], &[PRECISION]),
    (
        &["dynamic_broadcast_in_dim"],
        &[
            ints("broadcast_dimensions"),
            Property::of("known_expanding_dimensions", Conversion::Integers, Usual::Empty),
            Property::of("known_nonexpanding_dimensions", Conversion::Integers, Usual::Empty),
        ],
    ),
    (&["dynamic_iota", "iota"], &[p("iota_dimension")]),
    (&["dynamic_slice"], &[ints("slice_sizes")]),
    (&["einsum", "unary_einsum"], &[p("einsum_config")]),
    (&["fft"], &[ints("fft_length"), p("fft_type")]),
    (
        &["func"],
        &[
            usual("arg_attrs", Usual::Empty),
            p("function_type"),
            usual("res_attrs", Usual::Empty),
            p("sym_name"),
            usual("sym_visibility", Usual::Empty),
        ],
    ),
    (&["get_tuple_element"], &[p("index")]),
    (&["infeed"], &[usual("infeed_config", Usual::Empty), usual("layout", Usual::Empty)]),
    (&["map", "reduce", "reverse"], &[ints("dimensions")]),
    (&["outfeed"], &[usual("outfeed_config", Usual::Empty)]),
    (&["pad"], &[ints("edge_padding_high"), ints("edge_padding_low"), ints("interior_padding")]),
    (&["reduce_precision"], &[p("exponent_bits"), p("mantissa_bits")]),
    (&["reduce_scatter"], &[CHANNEL, p("replica_groups"), p("scatter_dimension"), GLOBAL_IDS]),
    (
        &["reduce_window"],
        &[
            ints_all("base_dilations", 1),
            usual("padding", Usual::All(0)),
            ints_all("window_dilations", 1),
            ints("window_dimensions"),
            ints_all("window_strides", 1),
        ],
    ),
    (&["rng"], &[p("rng_distribution")]),
    (&["rng_bit_generator"], &[p("rng_algorithm")]),
    (
        &["select_and_scatter"],
        &[usual("padding", Usual::All(0)), ints("window_dimensions"), ints_all("window_strides", 1)],
    ),
    (&["slice"], &[ints("limit_indices"), ints("start_indices"), ints("strides")]),
    (&["sort"], &[usual("dimension", Usual::Int(-1)), usual("is_stable", Usual::False)]),
    (&["torch_index_select"], &[p("batch_dims"), p("dim")]),
    (&["transpose"], &[ints("permutation")]),
    (&["triangular_solve"], &[p("left_side"), p("lower"), p("transpose_a"), p("unit_diagonal")]),
];

/// Ops as their dialects define them today. Ops that aren't listed have no attributes.
const OPS: &[Row] = &[
    (&["builtin.module"], &[o("sym_name"), o("sym_visibility")]),
    (&["func.call"], &[o("arg_attrs"), p("callee"), o("no_inline"), o("res_attrs")]),
    (&["func.call_indirect"], &[o("arg_attrs"), o("res_attrs")]),
    (
        &["func.func"],
        &[o("arg_attrs"), p("function_type"), o("no_inline"), o("res_attrs"), p("sym_name"), o("sym_visibility")],
    ),
    (
        &[
            "arith.constant",
            "func.constant",
            "stablehlo.constant",
            "chlo.constant",
            "chlo.constant_like",
            "sdy.constant",
        ],
        &[p("value")],
    ),
    (
        &[
            "arith.addf",
            "arith.divf",
            "arith.extf",
            "arith.maximumf",
            "arith.minimumf",
            "arith.mulf",
            "arith.negf",
            "arith.remf",
            "arith.subf",
            "math.absf",
            "math.atan2",
            "math.cbrt",
            "math.ceil",
            "math.cos",
            "math.exp",
            "math.expm1",
            "math.floor",
            "math.isfinite",
            "math.log",
            "math.log1p",
            "math.powf",
            "math.round",
            "math.roundeven",
            "math.rsqrt",
            "math.sin",
            "math.sqrt",
            "math.tan",
            "math.tanh",
        ],
        &[o("fastmath")],
    ),
    (&["arith.addi", "arith.muli", "arith.shli", "arith.subi", "arith.trunci"], &[o("overflowFlags")]),
    (&["arith.cmpf"], &[o("fastmath"), p("predicate")]),
    (&["arith.cmpi"], &[p("predicate")]),
    (&["arith.divsi", "arith.divui", "arith.shrsi", "arith.shrui"], &[o("isExact")]),
    (&["arith.truncf"], &[o("fastmath"), o("roundingmode")]),
    (&["linalg.index"], &[p("dim")]),
    (&["linalg.broadcast", "linalg.reduce"], &[p("dimensions")]),
    (&["linalg.transpose"], &[p("permutation")]),
    (
        &["linalg.generic"],
        &[o("doc"), p("indexing_maps"), p("iterator_types"), o("library_call"), segments("operandSegmentSizes", 2)],
    ),
    (&["linalg.elementwise"], &[o("indexing_maps"), p("kind"), segments("operandSegmentSizes", 2)]),
    (&["linalg.batch_matmul", "linalg.matmul"], &[o("cast"), o("indexing_maps"), segments("operandSegmentSizes", 2)]),
    (&["linalg.copy"], &[o("cast"), segments("operandSegmentSizes", 2)]),
    (
        &[
            "linalg.abs",
            "linalg.add",
            "linalg.ceil",
            "linalg.div",
            "linalg.div_unsigned",
            "linalg.exp",
            "linalg.fill",
            "linalg.floor",
            "linalg.log",
            "linalg.max",
            "linalg.min",
            "linalg.mul",
            "linalg.negf",
            "linalg.powf",
            "linalg.round",
            "linalg.rsqrt",
            "linalg.select",
            "linalg.sqrt",
            "linalg.square",
            "linalg.sub",
            "linalg.tanh",
        ],
        &[segments("operandSegmentSizes", 2)],
    ),
    (&["cf.assert"], &[p("msg")]),
    (&["cf.cond_br"], &[o("branch_weights"), segments("operandSegmentSizes", 3)]),
    // Shardy.
    (&["sdy.all_gather"], &[p("gathering_axes"), p("out_sharding")]),
    (&["sdy.all_reduce"], &[p("out_sharding"), p("reduction_axes"), o("reduction_op")]),
    (&["sdy.all_slice"], &[p("out_sharding"), p("slicing_axes")]),
    (&["sdy.all_to_all"], &[p("out_sharding"), p("params")]),
    (&["sdy.collective_permute"], &[p("out_sharding")]),
    (&["sdy.data_flow_edge"], &[o("sharding")]),
    (&["sdy.manual_computation"], &[p("in_shardings"), p("manual_axes"), p("out_shardings")]),
    (&["sdy.mesh"], &[p("mesh"), p("sym_name")]),
    (&["sdy.named_computation"], &[o("in_shardings"), p("name"), o("out_shardings")]),
    (&["sdy.propagation_barrier"], &[p("allowed_direction")]),
    (&["sdy.reduce_scatter"], &[p("out_sharding"), p("reduce_scatter_axes"), o("reduction_op")]),
    (
        &["sdy.replicated_to_unreduced", "sdy.sharded_to_unreduced"],
        &[p("axes"), p("out_sharding"), o("reduction_op").since(2)],
    ),
    (&["sdy.reshard", "sdy.sharding_constraint"], &[p("sharding")]),
    (&["sdy.sharding_group"], &[p("group_id")]),
    // CHLO.
    (
        &[
            "chlo.broadcast_add",
            "chlo.broadcast_and",
            "chlo.broadcast_atan2",
            "chlo.broadcast_complex",
            "chlo.broadcast_divide",
            "chlo.broadcast_maximum",
            "chlo.broadcast_minimum",
            "chlo.broadcast_multiply",
            "chlo.broadcast_next_after",
            "chlo.broadcast_or",
            "chlo.broadcast_polygamma",
            "chlo.broadcast_power",
            "chlo.broadcast_remainder",
            "chlo.broadcast_shift_left",
            "chlo.broadcast_shift_right_arithmetic",
            "chlo.broadcast_shift_right_logical",
            "chlo.broadcast_subtract",
            "chlo.broadcast_xor",
            "chlo.broadcast_zeta",
        ],
        &[o("broadcast_dimensions")],
    ),
    (&["chlo.broadcast_compare"], &[o("broadcast_dimensions"), o("compare_type"), p("comparison_direction")]),
    (&["chlo.ragged_dot"], &[o("precision_config"), p("ragged_dot_dimension_numbers")]),
    (&["chlo.scan"], &[p("dimension"), o("is_associative"), o("is_reverse")]),
    (&["chlo.top_k"], &[o("is_stable").since(2), p("k")]),
    // StableHLO.
    (
        &["stablehlo.all_gather"],
        &[p("all_gather_dim"), o("channel_handle"), p("replica_groups"), o("use_global_device_ids")],
    ),
    (&["stablehlo.all_reduce"], &[o("channel_handle"), p("replica_groups"), o("use_global_device_ids")]),
    (
        &["stablehlo.all_to_all"],
        &[o("channel_handle"), p("concat_dimension"), p("replica_groups"), p("split_count"), p("split_dimension")],
    ),
    (
        &["stablehlo.batch_norm_grad", "stablehlo.batch_norm_inference", "stablehlo.batch_norm_training"],
        &[p("epsilon"), p("feature_index")],
    ),
    (&["stablehlo.broadcast"], &[p("broadcast_sizes")]),
    (&["stablehlo.broadcast_in_dim"], &[p("broadcast_dimensions")]),
    (
        &[
            "stablehlo.cbrt",
            "stablehlo.cosine",
            "stablehlo.exponential",
            "stablehlo.exponential_minus_one",
            "stablehlo.log",
            "stablehlo.log_plus_one",
            "stablehlo.logistic",
            "stablehlo.rsqrt",
            "stablehlo.sine",
            "stablehlo.sqrt",
            "stablehlo.tan",
            "stablehlo.tanh",
        ],
        &[o("result_accuracy")],
    ),
    (&["stablehlo.cholesky"], &[o("lower")]),
    (&["stablehlo.collective_broadcast"], &[o("channel_handle"), o("has_dynamic_root").since(2), p("replica_groups")]),
    (&["stablehlo.collective_permute"], &[o("channel_handle"), p("source_target_pairs")]),
    (
        &["stablehlo.collective_reduce"],
        &[o("channel_handle"), o("has_dynamic_root"), p("replica_groups"), o("use_global_device_ids")],
    ),
    (&["stablehlo.compare"], &[o("compare_type"), p("comparison_direction")]),
    (&["stablehlo.composite"], &[o("composite_attributes"), p("decomposition"), p("name"), o("version")]),
    (&["stablehlo.concatenate", "stablehlo.get_dimension_size", "stablehlo.set_dimension_size"], &[p("dimension")]),
    (
        &["stablehlo.convolution"],
        &[
            p("batch_group_count"),
            p("dimension_numbers"),
            p("feature_group_count"),
            o("lhs_dilation"),
            o("padding"),
            o("precision_config"),
            o("rhs_dilation"),
            o("window_reversal"),
            o("window_strides"),
        ],
    ),
    (&["stablehlo.cross-replica-sum"], &[p("replica_groups")]),
    (
        &["stablehlo.custom_call"],
        &[
            o("api_version"),
            o("backend_config"),
            p("call_target_name"),
            o("called_computations"),
            o("has_side_effect"),
            o("operand_layouts"),
            o("output_operand_aliases"),
            o("result_layouts"),
            o("result_tilings").since(2),
        ],
    ),
    (&["stablehlo.dot"], &[o("precision_config")]),
    (&["stablehlo.dot_general"], &[o("algorithm"), p("dot_dimension_numbers"), o("precision_config")]),
    (
        &["stablehlo.dynamic_broadcast_in_dim"],
        &[p("broadcast_dimensions"), o("known_expanding_dimensions"), o("known_nonexpanding_dimensions")],
    ),
    (
        &["stablehlo.dynamic_conv"],
        &[
            p("batch_group_count"),
            p("dimension_numbers"),
            p("feature_group_count"),
            o("lhs_dilation"),
            o("precision_config"),
            o("rhs_dilation"),
            o("window_reversal"),
            o("window_strides"),
        ],
    ),
    (&["stablehlo.dynamic_gather"], &[p("dimension_numbers"), o("indices_are_sorted")]),
    (&["stablehlo.dynamic_iota", "stablehlo.iota"], &[p("iota_dimension")]),
    (&["stablehlo.dynamic_slice"], &[p("slice_sizes")]),
    (&["stablehlo.einsum", "stablehlo.unary_einsum"], &[p("einsum_config")]),
    (&["stablehlo.fft"], &[p("fft_length"), p("fft_type")]),
    (&["stablehlo.gather"], &[p("dimension_numbers"), o("indices_are_sorted"), p("slice_sizes")]),
    (&["stablehlo.get_tuple_element"], &[p("index")]),
    (&["stablehlo.infeed"], &[o("infeed_config"), o("layout")]),
    (&["stablehlo.map", "stablehlo.reduce", "stablehlo.reverse"], &[p("dimensions")]),
    (&["stablehlo.outfeed"], &[o("outfeed_config")]),
    (&["stablehlo.pad"], &[p("edge_padding_high"), p("edge_padding_low"), p("interior_padding")]),
    (
        &["stablehlo.recv", "stablehlo.send"],
        &[p("channel_handle"), o("is_host_transfer"), o("source_target_pairs").since(2)],
    ),
    (&["stablehlo.reduce_precision"], &[p("exponent_bits"), p("mantissa_bits")]),
    (
        &["stablehlo.reduce_scatter"],
        &[o("channel_handle"), p("replica_groups"), p("scatter_dimension"), o("use_global_device_ids")],
    ),
    (
        &["stablehlo.reduce_window"],
        &[o("base_dilations"), o("padding"), o("window_dilations"), p("window_dimensions"), o("window_strides")],
    ),
    (&["stablehlo.rng"], &[p("rng_distribution")]),
    (&["stablehlo.rng_bit_generator"], &[p("rng_algorithm")]),
    (&["stablehlo.scatter"], &[o("indices_are_sorted"), p("scatter_dimension_numbers"), o("unique_indices")]),
    (&["stablehlo.select_and_scatter"], &[o("padding"), o("window_dimensions"), o("window_strides")]),
    (&["stablehlo.slice"], &[p("limit_indices"), p("start_indices"), p("strides")]),
    (&["stablehlo.sort"], &[o("dimension"), o("is_stable")]),
    (&["stablehlo.torch_index_select"], &[p("batch_dims"), p("dim")]),
    (&["stablehlo.transpose"], &[p("permutation")]),
    (&["stablehlo.triangular_solve"], &[p("left_side"), p("lower"), p("transpose_a"), p("unit_diagonal")]),
];
