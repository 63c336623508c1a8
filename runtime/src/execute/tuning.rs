//! The sizes from which chains and shared memory pay. They are compared with sizes of a program, never with times, so
//! that a plan depends on the program and the number of threads only. Tests, whose tensors are small, set smaller ones.
//!
//! Where a measurement is named, it is the processor time of a call, from `shardc run --repeat N PROGRAM` with many and
//! with few calls, on two cores of a shared machine. The other values come from sizes of caches. They weren't varied
//! alone.

use crate::kernels::gemm::SharedSizes;

/// The thresholds of [chains](super::fuse::chain) and of [memory that devices share](super::fuse::common).
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    /// The minimum number of bytes that the kernels of a chain pass to each other, because smaller tensors stay in the
    /// second and third cache anyway. The softmax of 1,024 rows of 1,024 f32, which passes 12 MiB, takes 1.2 ms with a
    /// chain and 2.0 ms without.
    pub passed_bytes: usize,
    /// The bytes of one block of rows, in all the slots of a chain of kernels together: a part of a core's second
    /// cache.
    pub block_bytes: usize,
    /// The same for chains with products, whose right operands or panels are in that cache, too.
    pub product_block_bytes: usize,
    /// The minimum number of rows that a product in a chain multiplies at a time, because each block reads the whole
    /// right operand.
    pub product_rows: usize,
    /// The minimum number of iterations of a kernel in a chain, because each block of rows calls the kernel.
    pub chained_iterations: i64,
    /// The maximum size in bytes of a value that a chain moves to other memory, which is added to the device's.
    pub moved_bytes: usize,
    /// The size in bytes from which devices with equal shards of an argument share it. Smaller ones fit in each core's
    /// own caches.
    pub argument_bytes: usize,
    /// The sizes from which devices that share an argument share its panels.
    pub panels: SharedSizes,
}

impl Tuning {
    /// The thresholds of the program.
    pub(super) const SHIPPED: &'static Self = &Self {
        passed_bytes: 4 << 20,
        block_bytes: 256 << 10,
        product_block_bytes: 512 << 10,
        product_rows: 16,
        chained_iterations: 1 << 10,
        moved_bytes: 4 << 20,
        argument_bytes: 1 << 16,
        panels: SharedSizes { rows: 16, all_rows: 512, elements: 1 << 18 },
    };

    /// Thresholds at which the small programs of tests have chains and share memory.
    #[cfg(test)]
    pub(super) const SMALL: &'static Self = &Self {
        passed_bytes: 1 << 12,
        block_bytes: 1 << 10,
        product_block_bytes: 1 << 15,
        product_rows: 2,
        chained_iterations: 16,
        moved_bytes: 1 << 16,
        argument_bytes: 1,
        panels: SharedSizes { rows: 2, all_rows: 4, elements: 1 << 12 },
    };
}
