//! Every op, by family. An op is a unit struct with one `impl OpDef` and one line in [`OPS`]; a new op touches its
//! family's file alone.

pub mod asynchronous;
pub mod build;
pub mod build_collective;
pub mod build_region;
pub mod build_shape;
pub mod check;
pub mod collective;
pub mod combiner;
mod comparator;
pub mod constant;
pub(crate) mod constraint;
pub mod contraction;
pub mod control;
pub mod dynamic;
pub mod einsum;
pub mod elementwise;
mod example;
pub mod func;
pub mod indexing;
pub mod interpreter;
pub mod joining;
pub mod linalg;
pub mod normalization;
pub mod older;
pub mod ragged_dot;
pub mod random;
mod reduce_syntax;
pub mod reduction;
pub mod reshape;
pub mod scan;
pub mod shape;
pub mod sharding;
pub mod slicing;
mod slicing_local;
pub mod sort;
mod syntax;
pub mod top_k;
pub mod transfer;
pub mod tuple;
mod unknown;
pub mod window;

pub use example::{example_block, example_program};
pub use unknown::UNKNOWN;

use crate::op::OpDef;

/// All known ops. Order is that of the families and has no meaning.
pub static OPS: &[&dyn OpDef] = &[
    // func
    &func::MODULE,
    &func::FUNC,
    &func::RETURN,
    &func::CALL,
    // control
    &control::While,
    &control::Case,
    &control::If,
    &control::OptimizationBarrier,
    &control::CustomCall,
    &control::Composite,
    &control::Return,
    // check
    &check::ExpectEq,
    &check::ExpectEqConst,
    &check::ExpectAlmostEq,
    &check::ExpectAlmostEqConst,
    &check::ExpectClose,
    &interpreter::ExpectSerializedEq,
    // interpreter
    &interpreter::RunParallel,
    &interpreter::Print,
    &interpreter::Probe,
    // collectives
    &collective::AllGather,
    &collective::AllReduce,
    &collective::ReduceScatter,
    &collective::AllToAll,
    &collective::CollectivePermute,
    &collective::CollectiveBroadcast,
    &collective::CollectiveReduce,
    &collective::CrossReplicaSum,
    &collective::PartitionId,
    &collective::ReplicaId,
    // tokens, tuples, futures
    &transfer::AfterAll,
    &transfer::CreateToken,
    &transfer::Send,
    &transfer::Recv,
    &transfer::Infeed,
    &transfer::Outfeed,
    &tuple::Tuple,
    &tuple::GetTupleElement,
    &asynchronous::AsyncStart,
    &asynchronous::AsyncDone,
    // constant
    &constant::CONSTANT,
    &constant::IOTA,
    // Shardy
    &sharding::MESH,
    &sharding::ShardingConstraint,
    &sharding::Reshard,
    &sharding::Constant,
    &sharding::PropagationBarrier,
    &sharding::ShardingGroup,
    &sharding::DataFlowEdge,
    &sharding::FuncDataFlowEdge,
    &sharding::MANUAL_COMPUTATION,
    &sharding::NAMED_COMPUTATION,
    &sharding::Return,
    &sharding::ALL_GATHER,
    &sharding::ALL_SLICE,
    &sharding::ALL_TO_ALL,
    &sharding::COLLECTIVE_PERMUTE,
    &sharding::ALL_REDUCE,
    &sharding::REDUCE_SCATTER,
    &sharding::REPLICATED_TO_UNREDUCED,
    &sharding::SHARDED_TO_UNREDUCED,
    // elementwise
    &elementwise::BitcastConvert,
    &elementwise::ABS,
    &elementwise::ADD,
    &elementwise::AND,
    &elementwise::ATAN2,
    &elementwise::CBRT,
    &elementwise::CEIL,
    &elementwise::COMPLEX,
    &elementwise::COSINE,
    &elementwise::COUNT_LEADING_ZEROS,
    &elementwise::DIVIDE,
    &elementwise::EXPONENTIAL,
    &elementwise::EXPONENTIAL_MINUS_ONE,
    &elementwise::FLOOR,
    &elementwise::IMAG,
    &elementwise::IS_FINITE,
    &elementwise::LOG,
    &elementwise::LOG_PLUS_ONE,
    &elementwise::LOGISTIC,
    &elementwise::MAXIMUM,
    &elementwise::MINIMUM,
    &elementwise::MULTIPLY,
    &elementwise::NEGATE,
    &elementwise::NOT,
    &elementwise::OR,
    &elementwise::POPCNT,
    &elementwise::POWER,
    &elementwise::REAL,
    &elementwise::REMAINDER,
    &elementwise::ROUND_NEAREST_AFZ,
    &elementwise::ROUND_NEAREST_EVEN,
    &elementwise::RSQRT,
    &elementwise::SHIFT_LEFT,
    &elementwise::SHIFT_RIGHT_ARITHMETIC,
    &elementwise::SHIFT_RIGHT_LOGICAL,
    &elementwise::SIGN,
    &elementwise::SINE,
    &elementwise::SQRT,
    &elementwise::SUBTRACT,
    &elementwise::TAN,
    &elementwise::TANH,
    &elementwise::XOR,
    &elementwise::CLAMP,
    &elementwise::COMPARE,
    &elementwise::CONVERT,
    &elementwise::REDUCE_PRECISION,
    &elementwise::SELECT,
    &elementwise::UNIFORM_QUANTIZE,
    &elementwise::UNIFORM_DEQUANTIZE,
    &elementwise::CHLO_SQUARE,
    &elementwise::CHLO_TAN,
    &elementwise::CHLO_ATAN,
    &elementwise::CHLO_ASIN,
    &elementwise::CHLO_ACOS,
    &elementwise::CHLO_SINH,
    &elementwise::CHLO_COSH,
    &elementwise::CHLO_ASINH,
    &elementwise::CHLO_ACOSH,
    &elementwise::CHLO_ATANH,
    &elementwise::CHLO_ASIN_ACOS_KERNEL,
    &elementwise::CHLO_CONJ,
    &elementwise::CHLO_IS_INF,
    &elementwise::CHLO_IS_POS_INF,
    &elementwise::CHLO_IS_NEG_INF,
    &elementwise::CHLO_ERF,
    &elementwise::CHLO_ERFC,
    &elementwise::CHLO_ERF_INV,
    &elementwise::CHLO_LGAMMA,
    &elementwise::CHLO_DIGAMMA,
    &elementwise::CHLO_BESSEL_I1E,
    &elementwise::CHLO_NEXT_AFTER,
    &elementwise::CHLO_ZETA,
    &elementwise::CHLO_POLYGAMMA,
    &elementwise::CHLO_MULHI,
    &elementwise::CHLO_CONSTANT,
    &elementwise::ARITH_CONSTANT,
    &elementwise::ConstantLike,
    &elementwise::BROADCAST_ADD,
    &elementwise::BROADCAST_AND,
    &elementwise::BROADCAST_ATAN2,
    &elementwise::BROADCAST_COMPARE,
    &elementwise::BROADCAST_COMPLEX,
    &elementwise::BROADCAST_DIVIDE,
    &elementwise::BROADCAST_MAXIMUM,
    &elementwise::BROADCAST_MINIMUM,
    &elementwise::BROADCAST_MULTIPLY,
    &elementwise::BROADCAST_NEXT_AFTER,
    &elementwise::BROADCAST_OR,
    &elementwise::BROADCAST_POLYGAMMA,
    &elementwise::BROADCAST_POWER,
    &elementwise::BROADCAST_REMAINDER,
    &elementwise::BROADCAST_SELECT,
    &elementwise::BROADCAST_SHIFT_LEFT,
    &elementwise::BROADCAST_SHIFT_RIGHT_ARITHMETIC,
    &elementwise::BROADCAST_SHIFT_RIGHT_LOGICAL,
    &elementwise::BROADCAST_SUBTRACT,
    &elementwise::BROADCAST_XOR,
    &elementwise::BROADCAST_ZETA,
    &elementwise::Map,
    // shape
    &shape::BroadcastInDim,
    &older::Broadcast,
    &shape::Transpose,
    &shape::Reverse,
    &reshape::Reshape,
    &joining::Concatenate,
    &joining::Pad,
    // slicing
    &slicing::Slice,
    &slicing::DynamicSlice,
    &slicing::DynamicUpdateSlice,
    // contraction
    &contraction::DotGeneral,
    &contraction::Dot,
    &ragged_dot::RaggedDot,
    &einsum::Einsum,
    &einsum::UnaryEinsum,
    // reduction
    &reduction::Reduce,
    // indexing
    &indexing::Gather,
    &indexing::Scatter,
    &indexing::DynamicGather,
    &older::TorchIndexSelect,
    // shapes as operands
    &dynamic::DYNAMIC_IOTA,
    &dynamic::DYNAMIC_BROADCAST_IN_DIM,
    &dynamic::DYNAMIC_RESHAPE,
    &dynamic::DYNAMIC_PAD,
    &dynamic::REAL_DYNAMIC_SLICE,
    &dynamic::GET_DIMENSION_SIZE,
    &dynamic::SET_DIMENSION_SIZE,
    // windows
    &window::Convolution,
    &window::DynamicConv,
    &window::ReduceWindow,
    &window::SelectAndScatter,
    // sort
    &sort::Sort,
    &top_k::TopK,
    &scan::Scan,
    // linear algebra
    &linalg::Fft,
    &linalg::Cholesky,
    &linalg::TriangularSolve,
    // normalization
    &normalization::BatchNormInference,
    &normalization::BatchNormTraining,
    &normalization::BatchNormGrad,
    // random numbers
    &random::RngBitGenerator,
    &random::Rng,
];
