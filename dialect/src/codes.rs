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

    /// The name, in kebab-case.
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

/// The code called `name`.
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
    SYNTAX = "syntax", "The text is not what the grammar expects here.";
    UNCLOSED_BRACKET = "unclosed-bracket", "The text ends before a bracket is closed.";
    BYTECODE = "bytecode", "A file of MLIR bytecode is damaged, or has something in it that isn't read.";
    TEXT_SIZE = "text-size", "The text is longer than what is read.";
    NESTING_DEPTH = "nesting-depth", "Regions, types or attributes are nested too deeply.";
    UNKNOWN_OP = "unknown-op", "No op has this name.";
    UNDEFINED_VALUE = "undefined-value", "A value is used where it is not defined, or before it is.";
    DUPLICATE_VALUE = "duplicate-value", "Two values of one scope have one name.";
    UNKNOWN_ALIAS = "unknown-alias", "An attribute alias is used that is not defined before.";
    UNKNOWN_ATTRIBUTE_FIELD = "unknown-attribute-field", "An attribute has no field of this name.";
    UNKNOWN_ENUM_VALUE = "unknown-enum-value", "An enumeration has no such word.";
    UNKNOWN_ELEMENT_TYPE = "unknown-element-type", "No element type has this name.";
    QUANTIZED_TYPE = "quantized-type", "A quantized type is not written as the specification says.";
    TENSOR_SIZE = "tensor-size", "A tensor has more bytes than any device holds.";
    DIMENSION_BOUND = "dimension-bound", "A dimension of known size has a bound too.";
    LITERAL_SHAPE = "literal-shape", "A literal has not as many elements as its type.";
    OPERAND_TYPE = "operand-type", "An op says another type of an operand than the value has.";
    SHARDING_RULE_FACTOR = "sharding-rule-factor", "A factor of a sharding rule has a wrong name.";

    // Structure and types.
    MODULE_STRUCTURE = "module-structure", "A module has one region of one block, and neither operands nor arguments.";
    MISPLACED_OP = "misplaced-op", "An op stands where it can't.";
    REGION_STRUCTURE = "region-structure", "An op has not the regions and blocks it needs.";
    MISPLACED_TERMINATOR = "misplaced-terminator", "Ops follow the end of a block.";
    MISSING_TERMINATOR = "missing-terminator", "A block doesn't end with the op it must end with.";
    VALUE_FROM_OUTSIDE = "value-from-outside", "An isolated region reads a value from around it.";
    FUNCTION_ATTRIBUTES = "function-attributes", "A function has not one dictionary for each argument or result.";
    FUNCTION_TYPE = "function-type", "The body of a function takes other types than its type says.";
    RETURN_TYPES = "return-types", "A function returns other types than it declares.";
    DUPLICATE_SYMBOL = "duplicate-symbol", "Two functions or meshes have one name.";
    MISSING_SYMBOL = "missing-symbol", "An op that others refer to has no name.";
    UNKNOWN_FUNCTION = "unknown-function", "A function is called that there isn't.";
    FUNCTION_WITHOUT_BODY = "function-without-body", "A function is called that is only declared.";
    CALL_TYPES = "call-types", "A call says other types than the function has.";
    RECURSION = "recursion", "A function calls itself.";
    PARALLEL_FUNCTIONS = "parallel-functions", "The functions to run side by side are not what they should be.";
    RESULT_COUNT = "result-count", "An op declares another number of results than it gives.";
    RESULT_TYPE = "result-type", "An op declares another type than its operands and attributes give.";
    RESULT_ACCURACY = "result-accuracy", "Tolerances stand beside a mode that has none.";
    OP_CONSTRAINT = "op-constraint", "Operands or attributes of an op violate a constraint of the specification.";

    // Meshes.
    MESH_TOPOLOGY = "mesh-topology", "The meshes of a topology share devices, a name, or have impossible sizes.";
    MESH_TENSOR = "mesh-tensor", "A tensor on a mesh of the topology doesn't fit that mesh.";
    MESH_ASSIGNMENT = "mesh-assignment", "What is to run on which mesh can't be told, or can't be run there.";
    MICROBATCHES = "microbatches", "A program can't be cut into microbatches as it is wanted.";
    UNKNOWN_MESH = "unknown-mesh", "There is no mesh of this name, or none with these axes.";
    MESH_AXIS_SIZE = "mesh-axis-size", "An axis of a mesh has no devices.";
    MESH_AXIS_TWICE = "mesh-axis-twice", "A mesh has two axes of one name.";
    MESH_DEVICE_IDS = "mesh-device-ids", "The device ids of a mesh don't name every device once.";
    DEVICE_COUNT = "device-count", "A mesh or module has more devices than are supported.";
    MESH_DEVICE_COUNTS = "mesh-device-counts", "Meshes of one program have different numbers of devices.";
    UNRELATED_MESHES = "unrelated-meshes", "Meshes divide the devices in ways of which none refines the other.";
    BRANCHES = "branches", "A function that is to be sharded branches between blocks.";
    SEVERAL_MESHES = "several-meshes", "More than one mesh is left where one is needed.";
    CUSTOM_PARTITIONING = "custom-partitioning", "An op is partitioned by a function of the process that wrote the program.";
    MEMORY_KIND = "memory-kind", "An argument or result names a memory that isn't known.";
    PARTITION_COUNT = "partition-count", "The module's number of partitions is missing, or not that of its mesh.";

    // Shardings.
    SHARDING_ATTRIBUTE = "sharding-attribute", "An attribute that should be a sharding is something else.";
    SHARDING_COUNT = "sharding-count", "There is not one sharding for each value.";
    SHARDING_RANK = "sharding-rank", "A sharding has not as many dimensions as its tensor.";
    SHARDING_OF_NO_TENSOR = "sharding-of-no-tensor", "What is no tensor has a sharding with dimensions.";
    SHARDING_ON_ONE_DEVICE = "sharding-on-one-device", "A value on one device alone is sharded, or where it can't be.";
    SHARDING_PRIORITY = "sharding-priority", "A closed dimension without axes has a priority.";
    SHARDING_AXIS_TWICE = "sharding-axis-twice", "A sharding uses one mesh axis twice.";
    SHARDING_AXES_OVERLAP = "sharding-axes-overlap", "Two parts of one mesh axis overlap.";
    SHARDING_AXES_MERGE = "sharding-axes-merge", "Two neighboring parts of one mesh axis are not written as one.";
    UNKNOWN_AXIS = "unknown-axis", "The mesh has no axis of this name.";
    SUB_AXIS_SIZE = "sub-axis-size", "A part of a mesh axis doesn't fit the axis, or is all of it.";
    AXIS_ORDER = "axis-order", "Axes are not listed in the order of the mesh.";
    AXIS_IS_MANUAL = "axis-is-manual", "A mesh axis is used where it is manual already.";
    SHARDING_RULE = "sharding-rule", "A sharding rule is malformed or doesn't fit its op.";
    SHARDING_GROUP = "sharding-group", "The members of a sharding group don't fit together.";
    SHARDING_GROUP_START = "sharding-group-start", "The members of a sharding group start with different shardings.";
    SHARDING_BARRIER = "sharding-barrier", "A propagation barrier bars nothing.";
    PROPAGATION_EDGES = "propagation-edges", "Notes of how a sharding spread are malformed.";
    DATA_FLOW_EDGE = "data-flow-edge", "A data-flow edge doesn't stand alone behind the value it is for.";
    MANUAL_AXIS_TWICE = "manual-axis-twice", "A manual computation lists an axis twice.";
    MANUAL_AXES_FIRST = "manual-axes-first", "Manual axes don't come before the others of a dimension.";
    MANUAL_MESHES = "manual-meshes", "The shardings of a manual computation are over several meshes.";
    UNEVEN_MANUAL = "uneven-manual", "A dimension doesn't divide by the manual axes that shard it.";
    UNREDUCED_AXES = "unreduced-axes", "An op drops, changes or combines unreduced axes in a way it can't.";
    UNREDUCED_AXES_DIFFER = "unreduced-axes-differ", "A value becomes one that is unreduced along other axes.";
    NOT_UNREDUCED = "not-unreduced", "A reduction combines a value that nobody says is unreduced.";
    COLLECTIVE_OPERAND = "collective-operand", "The operand of a collective has no sharding, or one of another rank.";
    COLLECTIVE_MESH = "collective-mesh", "A collective goes from one mesh to another.";
    COLLECTIVE_SHARDING = "collective-sharding", "The out_sharding of a collective is not what its axes make of the operand.";

    // Import and propagation.
    MHLO_SHARDING = "mhlo-sharding", "An annotation from before Shardy can't be read.";
    FRONTEND_ATTRIBUTES = "frontend-attributes", "Shardings in mhlo.frontend_attributes can't be read.";
    SHARD_MAP = "shard-map", "A shard_map from before Shardy can't be read.";
    OP_LIMIT = "op-limit", "The program, or what inlining its calls makes, has more ops than are supported.";
    DYNAMIC_SHAPE = "dynamic-shape", "Sizes must be known here.";

    // Planning and partitioning.
    NO_MAIN = "no-main", "The module has no function @main.";
    LEFT_OUT = "left-out", "A sharded public function beside @main isn't in the per-device program.";
    UNKNOWN_TARGET = "unknown-target", "No target has this name.";
    TARGET_FILE = "target-file", "A file that describes a target can't be read.";
    TARGET_SIZE = "target-size", "The mesh doesn't fit on the target.";
    MEMORY_EXCEEDED = "memory-exceeded", "A device holds more than its memory, or than --memory allows.";
    MEMORY_COSTS_TIME = "memory-costs-time", "A faster plan was given up because it needs more memory than a device has.";
    NOTHING_TO_SEARCH = "nothing-to-search", "A search for shardings has nothing to decide, or nowhere to put it.";
    REPLICATED = "replicated", "A value is gathered because an op can't be computed in shards of a dimension.";
    BUDGET = "budget", "A program compiles to more than a comment in it expects.";
    BUDGET_SYNTAX = "budget-syntax", "A comment that states what to expect can't be read.";
    CALL_LEFT = "call-left", "A call is left where it should have been inlined.";
    CONSTRAINT_LEFT = "constraint-left", "A sharding constraint is left that planning should have replaced.";
    PARTITIONED = "partitioned", "The program is already what each device runs.";
    SHARDED_OPERAND = "sharded-operand", "An op reads a value that is sharded where the op can't work on shards.";
    UNEVEN_OP = "uneven-op", "An op can't work on shards of a dimension that doesn't divide.";
    COLLECTIVE_AXIS = "collective-axis", "A collective of the user's is along an axis that isn't manual there.";
    GLOBAL_DEVICE = "global-device", "The number of the device is asked for where the program is about global values.";
    GLOBAL_PROGRAM = "global-program", "The global program stands where a per-device one is expected.";
    COLLECTIVE_DIVERGES = "collective-diverges", "Not all devices of a group run a collective, or not certainly.";
    TRANSFER_UNMATCHED = "transfer-unmatched", "What is sent over a channel isn't received over it, or the other way around.";
    UNREDUCED_RESULT = "unreduced-result", "An unreduced result can't leave the per-device program in this form.";
    MANUAL_REPLICAS = "manual-replicas", "A program with replicas has no form under its global signature.";
    MANUAL_TOPOLOGY = "manual-topology", "A program over several meshes has no form under its global signature.";
    NO_GSPMD_FORM = "no-gspmd-form", "A sharding or an op of Shardy has no form from before Shardy.";
    UNKNOWN_PASS = "unknown-pass", "No pass or pipeline has this name.";
    PASS_LIST = "pass-list", "A list of passes is not written as it should be.";
    PASS_OPTION = "pass-option", "A pass has no such option, or the option no such value.";
    UNKNOWN_VALUE = "unknown-value", "No value of the text has this name.";

    // Running.
    INPUT_TYPES = "input-types", "Inputs are not of the types and replicas of @main.";
    NO_GLOBAL_TYPES = "no-global-types", "A per-device program doesn't say the types of the global one.";
    ELEMENT_TYPE_WITHOUT_ARITHMETIC = "element-type-without-arithmetic", "Nothing here computes with elements of this type.";
    HOST_EFFECT = "host-effect", "A value comes from the host, which a simulated run doesn't have.";
    NO_NATIVE_EXECUTION = "no-native-execution", "This shardc was built without native execution.";
    NO_NATIVE_FORM = "no-native-form", "An op or type has no native code; the reference evaluator runs it.";
    NATIVE_COMPILATION = "native-compilation", "The native compiler refuses a kernel.";
    EVALUATION = "evaluation", "An op can't be evaluated on these values.";
    DEVICE_FAILED = "device-failed", "A device failed while the program ran.";
    DEVICE_NUMBERS = "device-numbers", "Not as many devices are named as the program runs on.";
    DEVICE_MEMORY = "device-memory", "There isn't enough memory for the values of all devices.";
    MALFORMED_PROGRAM = "malformed-program", "A program that was not verified can't be run.";

    // The tool itself.
    EXPECTED_DIAGNOSTIC = "expected-diagnostic", "What the comments expect to be diagnosed was not, or is malformed.";
    BUG = "bug", "shardc is wrong, not the program.";
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
