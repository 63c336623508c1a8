//! The ops of StableHLO, by family. Source: the StableHLO specification.

pub mod asynchronous;
pub mod collective;
pub mod constant;
pub mod contraction;
pub mod control;
pub mod deprecated;
pub mod dynamic;
pub mod einsum;
pub mod elementwise;
pub mod indexing;
pub mod joining;
pub mod linalg;
pub mod normalization;
pub mod random;
pub mod reduction;
pub mod reshape;
pub mod shape;
pub mod slicing;
pub mod sort;
mod syntax;
pub mod transfer;
pub mod tuple;
pub mod window;

use crate::op::OpDef;

/// The ops of this dialect. They are in the order of the families, which has no meaning.
pub static OPS: &[&dyn OpDef] = &[
    // control
    &control::While,
    &control::Case,
    &control::If,
    &control::OptimizationBarrier,
    &control::CustomCall,
    &control::Composite,
    &control::Return,
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
    &elementwise::Map,
    // shape
    &shape::BroadcastInDim,
    &deprecated::Broadcast,
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
    &einsum::Einsum,
    &einsum::UnaryEinsum,
    // reduction
    &reduction::Reduce,
    // indexing
    &indexing::Gather,
    &indexing::Scatter,
    &indexing::DynamicGather,
    &deprecated::TorchIndexSelect,
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
