//! Calls of kernels that are written elsewhere: Pallas, Triton, cuDNN, libraries.

/// The attribute that states the floating-point operations of one call of a kernel on one device, a number or, among
/// the frontend's attributes, its text.
pub const FLOPS: &str = "shardc.flops";
/// The attribute that states the bytes that one call of a kernel reads and writes on one device.
pub const BYTES: &str = "shardc.bytes";

/// The call of a kernel that the program names but doesn't contain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LibraryCall<'a> {
    /// The target of the call, such as `tpu_custom_call`.
    pub target: &'a str,
    /// The kernel's own name, where the target runs kernels of several names.
    pub kernel: Option<&'a str>,
    /// The configuration that the frontend wrote for the target, as text.
    pub config: Option<&'a str>,
    /// The stated floating-point operations.
    pub flops: Option<f64>,
    /// The stated bytes of memory traffic.
    pub bytes: Option<f64>,
}

impl<'a> LibraryCall<'a> {
    /// Returns the kernel's name if it has one, or else the target.
    pub fn name(&self) -> &'a str {
        self.kernel.unwrap_or(self.target)
    }
}
