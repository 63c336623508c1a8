//! The keys of StableHLO's parameter structs and the keywords of its enums, in the order of the specification's
//! numbers, for text and bytecode.

pub(crate) const DIRECTIONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];
pub(crate) const COMPARISONS: &[&str] = &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
pub(crate) const PRECISIONS: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];
pub(crate) const FFTS: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];
pub(crate) const ALGORITHMS: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];
/// The number 0 isn't assigned.
pub(crate) const DISTRIBUTIONS: &[&str] = &["", "UNIFORM", "NORMAL"];
pub(crate) const TRANSPOSES: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
pub(crate) const ACCURACIES: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];

/// The dimensions of a gather in their textual order; the last is one number.
pub(crate) const GATHER: &[&str] = &[
    "offset_dims",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
    "index_vector_dim",
];
pub(crate) const SCATTER: &[&str] = &[
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
];
pub(crate) const DOT: &[&str] =
    &["lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"];
pub(crate) const CONVOLUTION: &[&str] = &[
    "input_batch_dimension",
    "input_feature_dimension",
    "input_spatial_dimensions",
    "kernel_input_feature_dimension",
    "kernel_output_feature_dimension",
    "kernel_spatial_dimensions",
    "output_batch_dimension",
    "output_feature_dimension",
    "output_spatial_dimensions",
];
pub(crate) const DOT_ALGORITHM: &[&str] = &[
    "lhs_precision_type",
    "rhs_precision_type",
    "accumulation_type",
    "lhs_component_count",
    "rhs_component_count",
    "num_primitive_operations",
    "allow_imprecise_accumulation",
];
pub(crate) const CHANNEL_HANDLE: &[&str] = &["handle", "type"];

/// The enums, by their names in the text.
pub(super) const ENUMS: &[(&str, &[&str])] = &[
    ("comparison_direction", DIRECTIONS),
    ("comparison_type", COMPARISONS),
    ("precision", PRECISIONS),
    ("fft_type", FFTS),
    ("transpose", TRANSPOSES),
    ("rng_distribution", DISTRIBUTIONS.split_at(1).1),
    ("rng_algorithm", ALGORITHMS),
    ("result_accuracy_mode", ACCURACIES),
];

/// The structs whose keys are checked.
pub(super) const STRUCTS: &[(&str, &[&str])] = &[
    ("stablehlo.gather", GATHER),
    ("stablehlo.scatter", SCATTER),
    ("stablehlo.dot", DOT),
    ("stablehlo.channel_handle", CHANNEL_HANDLE),
];
