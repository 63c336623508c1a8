//! The codes of diagnostics: stable names for kinds of errors, for scripts and editors to match on.
//!
//! Codes are added only here; a published name never changes its meaning. Embedders define custom codes with
//! [`Code::custom`].

use std::fmt;

/// The name and the meaning of a kind of error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code {
    name: &'static str,
    says: &'static str,
}

impl Code {
    /// The code of remarks, which report no error.
    pub const NONE: Code = Code { name: "", says: "" };

    /// Creates an embedder's code, whose name begins with a prefix of the embedder.
    pub const fn custom(name: &'static str, says: &'static str) -> Code {
        Code { name, says }
    }

    /// Returns the name, in kebab-case.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns one sentence that explains it.
    pub fn says(self) -> &'static str {
        self.says
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns the code called `name`.
pub fn find(name: &str) -> Option<Code> {
    CODES.iter().copied().find(|code| code.name == name)
}

macro_rules! codes {
    ($($constant:ident = $name:literal, $says:literal;)*) => {
        $(#[doc = $says] pub const $constant: Code = Code { name: $name, says: $says };)*

        /// All codes.
        pub static CODES: &[Code] = &[$($constant),*];
    };
}

codes! {
    // Reading.
    SYNTAX = "syntax", "The text violates the grammar at this position.";
    UNCLOSED_BRACKET = "unclosed-bracket", "The text ends before a bracket is closed.";
    BYTECODE = "bytecode", "A file of MLIR bytecode is damaged, or uses an unsupported feature.";
    TEXT_SIZE = "text-size", "The text is longer than the supported limit.";
    NESTING_DEPTH = "nesting-depth", "Regions, types or attributes are nested too deeply.";
    UNKNOWN_OP = "unknown-op", "No op has this name.";
    UNDEFINED_VALUE = "undefined-value", "A value is used outside its scope or before its definition.";
    DUPLICATE_VALUE = "duplicate-value", "Two values in one scope have the same name.";
    UNKNOWN_ALIAS = "unknown-alias", "An attribute alias is used before its definition, or has none.";
    UNKNOWN_ATTRIBUTE_FIELD = "unknown-attribute-field", "An attribute has no field of this name.";
    UNKNOWN_ENUM_VALUE = "unknown-enum-value", "An enumeration has no value of this name.";
    UNKNOWN_ELEMENT_TYPE = "unknown-element-type", "No element type has this name.";
    QUANTIZED_TYPE = "quantized-type", "A quantized type violates the specification.";
    TENSOR_SIZE = "tensor-size", "A tensor is larger than the memory of any device.";
    DIMENSION_BOUND = "dimension-bound", "A dimension has both a static size and a bound.";
    LITERAL_SHAPE = "literal-shape", "A literal has a different number of elements than its type.";
    OPERAND_TYPE = "operand-type", "An op declares another operand type than the value has.";
    SHARDING_RULE_FACTOR = "sharding-rule-factor", "A factor of a sharding rule has an invalid name.";

    // Structure and types.
    MODULE_STRUCTURE = "module-structure", "A module has operands or arguments, or more than one block.";
    MISPLACED_OP = "misplaced-op", "An op is in a place where it isn't allowed.";
    REGION_STRUCTURE = "region-structure", "An op has the wrong number of regions or blocks.";
    MISPLACED_TERMINATOR = "misplaced-terminator", "Ops follow the terminator of a block.";
    MISSING_TERMINATOR = "missing-terminator", "A block doesn't end with the required terminator.";
    VALUE_FROM_OUTSIDE = "value-from-outside", "An isolated region uses a value that is defined outside of it.";
    FUNCTION_ATTRIBUTES = "function-attributes", "A function has too few or too many attribute dictionaries.";
    FUNCTION_TYPE = "function-type", "The body of a function takes other types than the function declares.";
    RETURN_TYPES = "return-types", "A function returns other types than it declares.";
    DUPLICATE_SYMBOL = "duplicate-symbol", "Two functions or meshes have the same name.";
    MISSING_SYMBOL = "missing-symbol", "An op that others refer to has no name.";
    UNKNOWN_FUNCTION = "unknown-function", "A call names an undefined function.";
    FUNCTION_WITHOUT_BODY = "function-without-body", "A call names a function that is declared but has no body.";
    CALL_TYPES = "call-types", "A call declares other types than the function has.";
    RECURSION = "recursion", "A function calls itself.";
    PARALLEL_FUNCTIONS = "parallel-functions", "The functions to run in parallel have unsuitable signatures.";
    RESULT_COUNT = "result-count", "An op declares a different number of results than it returns.";
    RESULT_TYPE = "result-type", "An op declares a result type that its operands and attributes don't imply.";
    RESULT_ACCURACY = "result-accuracy", "An op states tolerances for a mode of accuracy that takes none.";
    OP_CONSTRAINT = "op-constraint", "Operands or attributes of an op violate a constraint of the specification.";

    // Meshes.
    MESH_TOPOLOGY = "mesh-topology", "Meshes of a topology share devices or a name, or have invalid sizes.";
    MESH_TENSOR = "mesh-tensor", "A tensor on a mesh of the topology doesn't fit that mesh.";
    MESH_ASSIGNMENT = "mesh-assignment", "The mesh of an op or value can't be determined, or can't hold it.";
    MICROBATCHES = "microbatches", "A program can't be split into the requested microbatches.";
    UNKNOWN_MESH = "unknown-mesh", "No mesh has this name, or these axes.";
    MESH_AXIS_SIZE = "mesh-axis-size", "An axis of a mesh has no devices.";
    MESH_AXIS_TWICE = "mesh-axis-twice", "A mesh has two axes with the same name.";
    MESH_DEVICE_IDS = "mesh-device-ids", "The device ids of a mesh don't name each device exactly once.";
    DEVICE_COUNT = "device-count", "A mesh or module has more devices than are supported.";
    MESH_DEVICE_COUNTS = "mesh-device-counts", "Meshes of one program have different numbers of devices.";
    UNRELATED_MESHES = "unrelated-meshes", "Two meshes divide the devices so that neither refines the other.";
    BRANCHES = "branches", "A function to be sharded has branches between blocks.";
    SEVERAL_MESHES = "several-meshes", "The program still has several meshes where one is required.";
    CUSTOM_PARTITIONING = "custom-partitioning", "Only the Python process that wrote the op can partition it.";
    MEMORY_KIND = "memory-kind", "An argument or result names an unknown memory kind.";
    PARTITION_COUNT = "partition-count", "The module lacks its number of partitions, or it contradicts the mesh.";

    // Shardings.
    SHARDING_ATTRIBUTE = "sharding-attribute", "An attribute that must be a sharding has another form.";
    SHARDING_COUNT = "sharding-count", "The number of shardings differs from the number of values.";
    SHARDING_RANK = "sharding-rank", "A sharding has a different number of dimensions than its tensor.";
    SHARDING_OF_NO_TENSOR = "sharding-of-no-tensor", "A value that is not a tensor has a sharding with dimensions.";
    SHARDING_ON_ONE_DEVICE = "sharding-on-one-device", "A value on a single device is sharded or unsupported.";
    SHARDING_PRIORITY = "sharding-priority", "A closed dimension without axes has a priority.";
    SHARDING_AXIS_TWICE = "sharding-axis-twice", "A sharding uses the same mesh axis twice.";
    SHARDING_AXES_OVERLAP = "sharding-axes-overlap", "Two parts of one mesh axis overlap.";
    SHARDING_AXES_MERGE = "sharding-axes-merge", "Two adjacent parts of one mesh axis must be written as one.";
    UNKNOWN_AXIS = "unknown-axis", "The mesh has no axis of this name.";
    SUB_AXIS_SIZE = "sub-axis-size", "A part of a mesh axis doesn't fit the axis, or is the whole axis.";
    AXIS_ORDER = "axis-order", "Axes are not listed in the order of the mesh.";
    AXIS_IS_MANUAL = "axis-is-manual", "A mesh axis is used where it is already manual.";
    SHARDING_RULE = "sharding-rule", "A sharding rule is malformed or doesn't fit its op.";
    SHARDING_GROUP = "sharding-group", "The members of a sharding group are incompatible.";
    SHARDING_GROUP_START = "sharding-group-start", "The members of a sharding group start with different shardings.";
    SHARDING_BARRIER = "sharding-barrier", "A propagation barrier allows both directions and has no effect.";
    PROPAGATION_EDGES = "propagation-edges", "The recorded propagation edges are malformed.";
    DATA_FLOW_EDGE = "data-flow-edge", "A data-flow edge has an invalid operand, or is not the operand's only user.";
    MANUAL_AXIS_TWICE = "manual-axis-twice", "A manual computation lists an axis twice.";
    MANUAL_AXES_FIRST = "manual-axes-first", "A dimension lists free axes before its manual axes.";
    MANUAL_MESHES = "manual-meshes", "The shardings of a manual computation are on several meshes.";
    UNEVEN_MANUAL = "uneven-manual", "The size of a dimension is not divisible by the manual axes that shard it.";
    UNREDUCED_AXES = "unreduced-axes", "An op drops, changes or combines unreduced axes in an unsupported way.";
    UNREDUCED_AXES_DIFFER = "unreduced-axes-differ", "A value is passed on as one that is unreduced along other axes.";
    NOT_UNREDUCED = "not-unreduced", "The operand of a reduction is not stated to be unreduced.";
    COLLECTIVE_OPERAND = "collective-operand", "The operand of a collective has no sharding, or one with another rank.";
    COLLECTIVE_MESH = "collective-mesh", "The operand and result of a collective are on different meshes.";
    COLLECTIVE_SHARDING = "collective-sharding", "A collective's out_sharding doesn't follow from its operand.";

    // Import and propagation.
    MHLO_SHARDING = "mhlo-sharding", "An annotation in GSPMD form (mhlo.sharding) can't be read.";
    FRONTEND_ATTRIBUTES = "frontend-attributes", "Shardings in mhlo.frontend_attributes can't be read.";
    SHARD_MAP = "shard-map", "A shard_map in GSPMD form can't be read.";
    OP_LIMIT = "op-limit", "The program, with its calls inlined, has more ops than are supported.";
    DYNAMIC_SHAPE = "dynamic-shape", "A shape must be static here.";

    // Planning and partitioning.
    NO_MAIN = "no-main", "The module has no function @main.";
    LEFT_OUT = "left-out", "The per-device program leaves out a sharded public function other than @main.";
    UNKNOWN_TARGET = "unknown-target", "No target has this name.";
    TARGET_FILE = "target-file", "A file that describes a target can't be read.";
    MEASUREMENTS = "measurements", "A file with the measurements of another program can't be read.";
    TARGET_SIZE = "target-size", "The mesh doesn't fit on the target.";
    MEMORY_EXCEEDED = "memory-exceeded", "A device needs more memory than it has, or than --memory allows.";
    MEMORY_COSTS_TIME = "memory-costs-time", "A faster plan was rejected because it exceeds a device's memory.";
    NOTHING_TO_SEARCH = "nothing-to-search", "A search has no shardings to decide, or no devices.";
    REPLICATED = "replicated", "A value is gathered because an op can't be computed in shards of a dimension.";
    BUDGET = "budget", "A compiled program violates a limit that a comment in it states.";
    BUDGET_SYNTAX = "budget-syntax", "A comment that states a limit can't be read.";
    CALL_LEFT = "call-left", "A call remains that should have been inlined.";
    CONSTRAINT_LEFT = "constraint-left", "A sharding constraint remains that planning should have replaced.";
    PARTITIONED = "partitioned", "The program is already partitioned.";
    SHARDED_OPERAND = "sharded-operand", "An op reads a sharded value but can't be computed in shards of it.";
    UNEVEN_OP = "uneven-op", "An op can't be computed in shards of a dimension that isn't divisible.";
    COLLECTIVE_AXIS = "collective-axis", "A collective of the user runs along an axis that is not manual.";
    GLOBAL_DEVICE = "global-device", "A program over global values reads the number of the device.";
    GLOBAL_PROGRAM = "global-program", "The program is global, but a per-device program is required.";
    COLLECTIVE_DIVERGES = "collective-diverges", "Some devices of a group don't, or may not, run a collective.";
    TRANSFER_UNMATCHED = "transfer-unmatched", "A send or recv has no counterpart on its channel.";
    UNREDUCED_RESULT = "unreduced-result", "This form of output can't express an unreduced result.";
    MANUAL_REPLICAS = "manual-replicas", "A program with replicas can't be written under its global signature.";
    MANUAL_TOPOLOGY = "manual-topology", "A program over several meshes can't be written under its global signature.";
    NO_GSPMD_FORM = "no-gspmd-form", "A sharding or an op of Shardy has no GSPMD form.";
    UNKNOWN_PASS = "unknown-pass", "No pass or pipeline has this name.";
    PASS_LIST = "pass-list", "A list of passes is malformed.";
    PASS_OPTION = "pass-option", "A pass has no such option, or the option doesn't accept the value.";
    UNKNOWN_VALUE = "unknown-value", "The program has no value of this name.";

    // Running.
    INPUT_TYPES = "input-types", "The inputs differ from the arguments of @main in types or number of replicas.";
    NO_GLOBAL_TYPES = "no-global-types", "A per-device program doesn't state its global types.";
    ELEMENT_TYPE_WITHOUT_ARITHMETIC = "element-type-without-arithmetic", "Arithmetic on this element type is not \
        supported.";
    HOST_EFFECT = "host-effect", "A simulated run has no host from which to receive a value.";
    NO_NATIVE_EXECUTION = "no-native-execution", "This shardc was built without native execution.";
    NO_NATIVE_FORM = "no-native-form", "An op or type has no native code; the reference evaluator runs it.";
    NATIVE_COMPILATION = "native-compilation", "The native compiler rejects a kernel.";
    EVALUATION = "evaluation", "An op can't be evaluated on these values.";
    DEVICE_FAILED = "device-failed", "A device failed while the program ran.";
    DEVICE_NUMBERS = "device-numbers", "The number of listed devices differs from the devices of the program.";
    DEVICE_MEMORY = "device-memory", "The values of all devices need more memory than is available.";
    MALFORMED_PROGRAM = "malformed-program", "A program can't be run because it was not verified.";

    // The tool itself.
    EXPECTED_DIAGNOSTIC = "expected-diagnostic", "An expected diagnostic was not reported, or its comment is \
        malformed.";
    BUG = "bug", "This is an error in shardc, not in the program; please report it.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_words_with_a_sentence_each() {
        let mut names = BTreeSet::new();
        for code in CODES {
            assert!(names.insert(code.name), "two codes are called '{code}'");
            assert!(code.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "'{code}' is not in kebab-case");
            assert!(code.says.ends_with('.') && code.says.len() <= 110, "'{code}' says '{}'", code.says);
            assert_eq!(find(code.name), Some(*code));
        }
        assert_eq!(find("nonsense"), None);
    }
}
