//! The IR: ids, arenas, types, attributes, locations.

mod attr;
pub mod build;
mod byte_string;
mod clone;
mod entity;
mod frame;
mod key;
mod loc;
mod memo;
mod program;
mod quantized;
mod stage;
mod ty;
mod view;
mod walk;

pub use attr::{AllToAllParam, AttrData, ConvDims, EdgeValue, PropagationStep};
pub use byte_string::ByteString;
pub use clone::Renaming;
pub use entity::{Attr, Block, Loc, Name, Op, Region, Ty, Value};
pub use frame::Frame;
pub use key::op_key;
pub use loc::{LocData, MAX_TEXT};
pub(crate) use program::LOC_ALIAS;
pub use program::{AttrList, MAX_OPS, OpData, Program, ValueSource};
pub use quantized::Quantized;
pub use stage::Stage;
pub use ty::{DYNAMIC, ElementClass, ElementType, MeshTensor, Shape, TensorType, TypeData, gcd};
pub use view::OpRef;
pub use walk::Uses;
