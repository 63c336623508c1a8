//! Native code that is the same for all programs: products, windows, and a function for each [`External`]. Kernels
//! compute on bytes and addresses, with sizes and strides that were read from one op, and divide their work among
//! threads. They depend on no plan, device or collective.
//!
//! [`External`]: dialect::kernel::External

pub mod gemm;
mod micro;
pub(crate) mod native;
pub(crate) mod window;
