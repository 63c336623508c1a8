//! Attributes: the part of an op's text besides its operands.
//!
//! Shardy's attributes are structured, since passes compute with them; StableHLO's parameter structs
//! (`#stablehlo.gather<…>`) are lists of named fields that typed views read; unknown attributes stay text.

use super::byte_string::ByteString;
use super::entity::{Attr, Name, Ty};
use super::ty::ElementType;
use crate::literal::Literal;
use crate::sharding::{AxisList, AxisRef, Mesh, ShardingRule, TensorSharding};

/// An attribute's value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AttrData {
    /// `unit`: only its presence matters.
    Unit,
    /// `true`
    Bool(bool),
    /// `4 : i32`
    Int(i64, Ty),
    /// `1.0e-3 : f64`: the value as bits of an f64, and its type.
    Float(u64, Ty),
    /// `"text"`, or any other bytes.
    String(ByteString),
    /// `@name`, nested `@a::@b` as one text without the first `@`.
    Symbol(Box<str>),
    /// `[a, b]`
    Array(Vec<Attr>),
    /// `{a = 1}`, sorted by name.
    Dict(Vec<(Name, Attr)>),
    /// A type as attribute.
    Type(Ty),
    /// `dense<…> : tensor<…>`
    Dense(Ty, Literal),
    /// `dense_resource<key> : tensor<…>`
    Resource(ByteString, Ty),
    /// `array<i64: 1, 2>`
    DenseArray(ElementType, Vec<i64>),
    /// `#stablehlo<comparison_direction LT>`: dialect, kind, value.
    Enum(Box<str>, Box<str>, Box<str>),
    /// `#stablehlo.gather<offset_dims = [2], …>`: name with dialect, fields in order of the text.
    Struct(Box<str>, Vec<(Name, Attr)>),
    /// Convolution dimension numbers.
    ConvDims(ConvDims),
    /// `#dialect.whatever<…>`, or any other unknown attribute, by its text.
    Opaque(Box<str>),
    /// `<["x"=2]>`
    Mesh(Mesh),
    /// `#sdy.sharding<…>`
    Sharding(TensorSharding),
    /// `#sdy.sharding_per_value<[…]>`
    ShardingPerValue(Vec<TensorSharding>),
    /// `#sdy.op_sharding_rule<…>`
    ShardingRule(Box<ShardingRule>),
    /// `{"a", "b"}`: manual axes.
    ManualAxes(Vec<Name>),
    /// `{"x", "y":(1)2}`
    Axes(AxisList),
    /// `[{"x"}, {}]`: axes for each dimension.
    AxesPerDim(Vec<AxisList>),
    /// `[{"x"}: 0->1, …]`
    AllToAllParams(Vec<AllToAllParam>),
    /// `#sdy.propagation_edges<[…]>`
    PropagationEdges(Vec<PropagationStep>),
    /// `#mpmd.topology<<"m1": <["x"=2]>>, …>`: meshes with their names.
    Topology(Vec<(Name, Mesh)>),
    /// `#mpmd.user_origin<"f"(1)>`: the name of a computation, and how often JAX transposed it.
    Origin(Name, i64),
}

/// One step of propagation: the axes that spread from one value to others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PropagationStep {
    /// Its number.
    pub index: i64,
    /// Each axis, the value it came from, and the values it spread to.
    pub axes: Vec<(AxisRef, EdgeValue, Vec<EdgeValue>)>,
}

/// An operand or result of an op, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EdgeValue {
    /// `operand-0`
    Operand(i64),
    /// `result-0`
    Result(i64),
}

/// One move of an `sdy.all_to_all`: `axes` move from dimension `from` to dimension `to`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllToAllParam {
    /// The axes that move, major first.
    pub axes: AxisList,
    /// The dimension they leave.
    pub from: i64,
    /// The dimension they move to.
    pub to: i64,
}

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ConvDims {
    /// Batch dimension of the input.
    pub input_batch: i64,
    /// Feature dimension of the input.
    pub input_feature: i64,
    /// Spatial dimensions of the input.
    pub input_spatial: Vec<i64>,
    /// Input feature dimension of the kernel.
    pub kernel_input_feature: i64,
    /// Output feature dimension of the kernel.
    pub kernel_output_feature: i64,
    /// Spatial dimensions of the kernel.
    pub kernel_spatial: Vec<i64>,
    /// Batch dimension of the output.
    pub output_batch: i64,
    /// Feature dimension of the output.
    pub output_feature: i64,
    /// Spatial dimensions of the output.
    pub output_spatial: Vec<i64>,
}

impl ConvDims {
    /// Returns the input's dimensions, the kernel's and the output's: the two with letters, then the spatial ones.
    pub fn lists(&self) -> [Vec<i64>; 3] {
        let list = |a: i64, b: i64, spatial: &[i64]| [a, b].into_iter().chain(spatial.iter().copied()).collect();
        [
            list(self.input_batch, self.input_feature, &self.input_spatial),
            list(self.kernel_input_feature, self.kernel_output_feature, &self.kernel_spatial),
            list(self.output_batch, self.output_feature, &self.output_spatial),
        ]
    }

    /// Returns whether every list names each of its dimensions once, as the short text form requires.
    pub fn is_whole(&self) -> bool {
        self.lists().into_iter().all(|mut list| {
            list.sort_unstable();
            list.iter().copied().eq(0..list.len() as i64)
        })
    }
}

/// Methods that return the contents of an attribute of one kind, and `None` for all others.
macro_rules! contents {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $pattern:pat => $value:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> Option<$ty> {
            match self {
                $pattern => Some($value),
                _ => None,
            }
        }
    )*};
}

impl AttrData {
    /// Returns the integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrData::Int(v, _) => Some(*v),
            AttrData::Bool(b) => Some(i64::from(*b)),
            _ => None,
        }
    }

    /// Returns the text of a string or a symbol; `None` for a string of bytes that aren't UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AttrData::String(s) => s.as_str(),
            AttrData::Symbol(s) => Some(s),
            _ => None,
        }
    }

    contents! {
        /// Returns the float, if it is one.
        as_float: f64 = AttrData::Float(bits, _) => f64::from_bits(*bits);
        /// Returns the name, if it is a symbol.
        as_symbol: &str = AttrData::Symbol(name) => name;
        /// Returns the elements, if it is an array.
        as_array: &[Attr] = AttrData::Array(items) => items;
        /// Returns the literal, if it is one.
        as_literal: &Literal = AttrData::Dense(_, literal) => literal;
        /// Returns the value, if it is that of an enum.
        as_enum: &str = AttrData::Enum(_, _, value) => value;
        /// Returns the sharding, if it is one.
        as_sharding: &TensorSharding = AttrData::Sharding(sharding) => sharding;
        /// Returns the shardings, if it has one for each of several values.
        as_shardings: &[TensorSharding] = AttrData::ShardingPerValue(list) => list;
        /// Returns the sharding rule, if it is one.
        as_rule: &ShardingRule = AttrData::ShardingRule(rule) => rule;
        /// Returns the mesh, if it is one.
        as_mesh: &Mesh = AttrData::Mesh(mesh) => mesh;
        /// Returns the axes, if it is a flat list of them.
        as_axes: &[AxisRef] = AttrData::Axes(axes) => axes;
        /// Returns the name of a computation and how often JAX transposed it, if it is an origin.
        as_origin: (Name, i64) = AttrData::Origin(name, transposed) => (*name, *transposed);
    }
}
