//! The seconds of an operation on one device: the larger of the times of its arithmetic and of its memory traffic.
//!
//! Loads overlap the arithmetic inside a chip, so the larger of the two is the time (jax-ml/scaling-book,
//! roofline.md:86-112). Shapes are always the local shard's.

use super::tiling::padded;

/// A contraction in the MXU's form: `batch` products of `[rows, contracting]` by `[contracting, columns]`.
///
/// `rows` is the product of the lhs's free dimensions, `columns` of the rhs's. A convolution is a contraction, too:
/// output positions by kernel elements per output feature by output features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// Independent products.
    pub batch: u64,
    /// Free dimensions of the lhs.
    pub rows: u64,
    /// Contracting dimensions.
    pub contracting: u64,
    /// Free dimensions of the rhs.
    pub columns: u64,
}

impl Matmul {
    /// Returns the FLOPs, a multiplication and an addition for each element of the iteration space. Saturates.
    pub fn flops(&self) -> u128 {
        product([2, self.batch, self.rows, self.contracting, self.columns])
    }

    /// Returns the FLOPs that an MXU of side `mxu_side` spends: the held operand's two dimensions pad to the side, the
    /// streamed operand's rows to 8 (tpus.md:90,169). Either operand may be the held one; the cheaper choice is taken.
    pub fn padded_flops(&self, mxu_side: u64) -> u128 {
        let streamed_by_held = |streamed, held| {
            product([2, self.batch, padded(streamed, 8), padded(self.contracting, mxu_side), padded(held, mxu_side)])
        };
        streamed_by_held(self.rows, self.columns).min(streamed_by_held(self.columns, self.rows))
    }
}

/// The work of one operation on one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Arithmetic, FLOP.
    pub flops: f64,
    /// Memory read and written, bytes.
    pub bytes: f64,
}

impl Work {
    /// Returns the FLOPs per byte.
    pub fn intensity(&self) -> f64 {
        self.flops / self.bytes
    }

    /// Returns the seconds at the given rates, FLOP/s and bytes/s.
    pub fn seconds(&self, peak_flops: f64, bandwidth: f64) -> OpSeconds {
        OpSeconds { math: self.flops / peak_flops, memory: self.bytes / bandwidth }
    }
}

/// The two sides of a roofline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpSeconds {
    /// Seconds of arithmetic at the peak rate.
    pub math: f64,
    /// Seconds of memory traffic at the memory bandwidth.
    pub memory: f64,
}

impl OpSeconds {
    /// Returns the time of the operation.
    pub fn total(&self) -> f64 {
        self.math.max(self.memory)
    }

    /// Returns whether arithmetic decides rather than memory.
    pub fn is_compute_bound(&self) -> bool {
        self.math >= self.memory
    }
}

/// Returns the FLOPs per byte above which arithmetic bounds work rather than the `bandwidth` (bytes/s) of its data.
pub fn critical_intensity(peak_flops: f64, bandwidth: f64) -> f64 {
    peak_flops / bandwidth
}

/// Returns the number of rows above which arithmetic bounds a matmul by a large weight of `weight_bytes` per element:
/// each weight element is loaded once and does two FLOPs per row (roofline.md:157-213).
pub fn critical_rows(peak_flops: f64, bandwidth: f64, weight_bytes: f64) -> f64 {
    weight_bytes * critical_intensity(peak_flops, bandwidth) / 2.0
}

fn product(factors: [u64; 5]) -> u128 {
    // A zero anywhere means no work, even next to factors that saturate.
    if factors.contains(&0) {
        return 0;
    }
    factors.iter().fold(1, |product: u128, &factor| product.saturating_mul(u128::from(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_takes_the_cheaper_operand_as_the_held_one() {
        let check = |[batch, rows, contracting, columns]: [u64; 4], side, expected| {
            assert_eq!(Matmul { batch, rows, contracting, columns }.padded_flops(side), expected);
        };
        check([1, 1024, 1024, 1024], 128, 2 << 30);
        check([3, 1, 128, 1000], 128, 3 * 2 * 8 * 128 * 1024);
        check([3, 1000, 128, 1], 128, 3 * 2 * 8 * 128 * 1024);
        check([1, 8, 64, 128], 128, 2 * 8 * 128 * 128);
        check([1, 8, 0, 128], 128, 0);
        check([0, u64::MAX, u64::MAX, u64::MAX], 256, 0);
        check([u64::MAX; 4], 256, u128::MAX);
    }

    #[test]
    fn the_larger_side_decides() {
        let seconds = Work { flops: 6.0, bytes: 2.0 }.seconds(3.0, 0.5);
        assert_eq!((seconds.math, seconds.memory, seconds.total()), (2.0, 4.0, 4.0));
        assert!(!seconds.is_compute_bound());
        assert!(Work { flops: 12.0, bytes: 2.0 }.seconds(3.0, 0.5).is_compute_bound());
    }
}
