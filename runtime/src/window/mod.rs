//! Native code for nests that read through windows: convolutions and everything like them.

mod convolution;
mod micro;
mod pack;
mod problem;
mod product;
#[cfg(test)]
mod tests;

use dialect::ir::OpRef;
use dialect::kernel::Nest;

use crate::native::Native;
use convolution::Convolution;

/// Native code for an op with this nest, whose operands are all in memory; `None` where compiled code is as good.
pub(crate) fn of(op: OpRef<'_>, nest: &Nest) -> Option<Box<dyn Native>> {
    Some(Box::new(Convolution::of(op, nest)?))
}
