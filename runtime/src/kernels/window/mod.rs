//! Native code for nests that read through windows: products ([`convolution`]), reductions and scans by one operation
//! ([`reduce`]), and scans by several operations, which are compiled ([`scan`]).

mod block;
mod cells;
mod convolution;
mod form;
mod join;
mod lines;
mod loops;
mod pack;
mod problem;
mod product;
mod reduce;
mod scan;
mod tasks;
#[cfg(test)]
mod tests;

use dialect::ir::OpRef;
use dialect::kernel::Nest;
use smallvec::SmallVec;

use crate::kernels::native::Native;
use convolution::Convolution;
use reduce::Windows;
pub(crate) use scan::Running;

/// Native code, and the numbers of the op's operands that it reads.
pub(crate) struct Code {
    pub native: Box<dyn Native>,
    pub operands: SmallVec<[usize; 2]>,
}

/// Returns native code for an op with this nest; `None` if compiled code is as fast.
pub(crate) fn of(op: OpRef<'_>, nest: &Nest) -> Option<Code> {
    if let Some(convolution) = Convolution::of(op, nest) {
        let operands = convolution.operands().into_iter().collect();
        return Some(Code { native: Box::new(convolution), operands });
    }
    let windows = Windows::of(op, nest)?;
    let operands = std::iter::once(windows.operand()).collect();
    Some(Code { native: Box::new(windows), operands })
}
