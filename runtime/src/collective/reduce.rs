//! Fast combination of many devices' operands, for the operations that reductions use.
//!
//! Operands are combined element by element in the order given. bf16 and f16 are combined in f32, f32 is summed in f64.
//! They are rounded once, whatever the number of devices. Blocks of partial results stay in the L1 cache, so every
//! operand is read once.

#![allow(unsafe_code, reason = "functions for wider vectors are called where the processor has them")]

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::plan::Combiner;

/// Combines these rows of the operands into the last argument, where the combined rows are contiguous.
pub(super) type Combine = fn(&[&[u8]], Rows, &mut [u8]);

/// Rows of an operand, in bytes of whole elements.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Byte offset of the first row.
    pub first: usize,
    /// Bytes of each row.
    pub row: usize,
    /// Bytes from the start of one row to the start of the next.
    pub stride: usize,
}

impl Rows {
    /// Returns the rows that cover all of an operand of `bytes` bytes.
    pub fn all(bytes: usize) -> Self {
        Self { first: 0, row: bytes, stride: bytes }
    }

    /// Returns the bytes of row `i` of an operand.
    pub(super) fn of(self, operand: &[u8], i: usize) -> &[u8] {
        &operand[self.first + i * self.stride..][..self.row]
    }
}

/// The number of elements combined at a time.
const BLOCK: usize = 512;

/// An element type in memory and the type of its partial results.
trait Element {
    /// The type of partial results.
    type Sum: Copy + Default;
    /// Bytes in memory.
    const BYTES: usize;

    /// Reads elements.
    fn load(from: &[u8], to: &mut [Self::Sum]);
    /// Writes elements, and rounds them if the type in memory is narrower.
    fn store(from: &[Self::Sum], to: &mut [u8]);
}

macro_rules! plain_elements {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            type Sum = $ty;
            const BYTES: usize = size_of::<$ty>();

            #[inline(always)]
            fn load(from: &[u8], to: &mut [$ty]) {
                for (to, from) in to.iter_mut().zip(from.as_chunks().0) {
                    *to = <$ty>::from_le_bytes(*from);
                }
            }

            #[inline(always)]
            fn store(from: &[$ty], to: &mut [u8]) {
                for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from) {
                    *to = from.to_le_bytes();
                }
            }
        }
    )*};
}

plain_elements!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// bf16: the upper half of an f32.
struct Bf16;

impl Element for Bf16 {
    type Sum = f32;
    const BYTES: usize = 2;

    #[inline(always)]
    fn load(from: &[u8], to: &mut [f32]) {
        for (to, from) in to.iter_mut().zip(from.as_chunks().0) {
            *to = f32::from_bits(u32::from(u16::from_le_bytes(*from)) << 16);
        }
    }

    #[inline(always)]
    fn store(from: &[f32], to: &mut [u8]) {
        for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from) {
            // Rounds to nearest even, without the branch that would prevent vectorization.
            let bits = from.to_bits();
            let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
            let nan = (bits >> 16) | 0x40;
            *to = ((if from.is_nan() { nan } else { rounded }) as u16).to_le_bytes();
        }
    }
}

/// f32 summed in f64.
struct Single;

impl Element for Single {
    type Sum = f64;
    const BYTES: usize = 4;

    #[inline(always)]
    fn load(from: &[u8], to: &mut [f64]) {
        for (to, from) in to.iter_mut().zip(from.as_chunks().0) {
            *to = f64::from(f32::from_le_bytes(*from));
        }
    }

    #[inline(always)]
    fn store(from: &[f64], to: &mut [u8]) {
        for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from) {
            *to = (*from as f32).to_le_bytes();
        }
    }
}

/// IEEE 754 half precision.
struct Half;

impl Element for Half {
    type Sum = f32;
    const BYTES: usize = 2;

    #[inline(always)]
    fn load(from: &[u8], to: &mut [f32]) {
        let mut bits = [f16::ZERO; BLOCK];
        let bits = &mut bits[..to.len()];
        for (to, from) in bits.iter_mut().zip(from.as_chunks().0) {
            *to = f16::from_le_bytes(*from);
        }
        bits.convert_to_f32_slice(to);
    }

    #[inline(always)]
    fn store(from: &[f32], to: &mut [u8]) {
        let mut bits = [f16::ZERO; BLOCK];
        let bits = &mut bits[..from.len()];
        bits.convert_from_f32_slice(from);
        for (to, from) in to.as_chunks_mut().0.iter_mut().zip(bits) {
            *to = from.to_le_bytes();
        }
    }
}

/// Combines operands with the widest vectors of the processor. Results are the same for any width.
fn blocks<E: Element>(operands: &[&[u8]], rows: Rows, out: &mut [u8], combine: impl Fn(E::Sum, E::Sum) -> E::Sum) {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: `has_avx512` has just found these instructions on this processor.
            return unsafe { blocks_avx512::<E>(operands, rows, out, combine) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: `is_x86_feature_detected!` has just found AVX2 on this processor.
            return unsafe { blocks_avx2::<E>(operands, rows, out, combine) };
        }
    }
    blocks_plain::<E>(operands, rows, out, combine);
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn blocks_avx512<E: Element>(
    operands: &[&[u8]],
    rows: Rows,
    out: &mut [u8],
    combine: impl Fn(E::Sum, E::Sum) -> E::Sum,
) {
    blocks_plain::<E>(operands, rows, out, combine);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn blocks_avx2<E: Element>(operands: &[&[u8]], rows: Rows, out: &mut [u8], combine: impl Fn(E::Sum, E::Sum) -> E::Sum) {
    blocks_plain::<E>(operands, rows, out, combine);
}

#[inline(always)]
fn blocks_plain<E: Element>(
    operands: &[&[u8]],
    rows: Rows,
    out: &mut [u8],
    combine: impl Fn(E::Sum, E::Sum) -> E::Sum,
) {
    let Some((first, rest)) = operands.split_first() else { return };
    let (fit, row) = (BLOCK * E::BYTES, rows.row.max(E::BYTES));
    // Combines several short rows at a time, so that their loads from memory overlap; splits a long row into parts.
    let together = (fit / row).max(1);
    let (mut sums, mut values) = ([E::Sum::default(); BLOCK], [E::Sum::default(); BLOCK]);
    for (index, out) in out.chunks_mut(together * row).enumerate() {
        let begin = rows.first + index * together * rows.stride;
        for (part, out) in out.chunks_mut(fit).enumerate() {
            let (begin, piece) = (begin + part * fit, out.len().min(row));
            let load = |operand: &[u8], to: &mut [E::Sum]| {
                for (i, to) in to.chunks_mut(piece / E::BYTES).enumerate() {
                    E::load(&operand[begin + i * rows.stride..][..piece], to);
                }
            };
            let count = out.len() / E::BYTES;
            let (sums, values) = (&mut sums[..count], &mut values[..count]);
            load(first, sums);
            for operand in rest {
                load(operand, values);
                for (sum, &value) in sums.iter_mut().zip(values.iter()) {
                    *sum = combine(*sum, value);
                }
            }
            E::store(sums, out);
        }
    }
}

/// Combines elements of `width` bytes by compiled code, block by block, through buffers with the alignment that the
/// code needs.
pub(super) fn by_code(combiner: &Combiner, width: usize, operands: &[&[u8]], out: &mut [u8]) {
    let Some((first, rest)) = operands.split_first() else { return };
    let [mut sums, mut values, mut combined] = [(); 3].map(|()| vec![0u64; BLOCK * width.div_ceil(8)]);
    let block = BLOCK * width.div_ceil(8) * 8 / width * width;
    for (index, out) in out.chunks_mut(block).enumerate() {
        let range = index * block..index * block + out.len();
        bytemuck::cast_slice_mut(&mut sums)[..out.len()].copy_from_slice(&first[range.clone()]);
        for operand in rest {
            bytemuck::cast_slice_mut(&mut values)[..out.len()].copy_from_slice(&operand[range.clone()]);
            combiner(&sums, &values, &mut combined, out.len() / width);
            std::mem::swap(&mut sums, &mut combined);
        }
        out.copy_from_slice(&bytemuck::cast_slice(&sums)[..out.len()]);
    }
}

macro_rules! of_integers {
    ($ty:ty, $op:expr) => {
        match $op {
            ScalarOp::Add => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a.wrapping_add(b)),
            ScalarOp::Mul => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a.wrapping_mul(b)),
            ScalarOp::Max => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a.max(b)),
            ScalarOp::Min => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a.min(b)),
            ScalarOp::And => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a & b),
            ScalarOp::Or => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a | b),
            ScalarOp::Xor => |all, rows, out| blocks::<$ty>(all, rows, out, |a, b| a ^ b),
            _ => return None,
        }
    };
}

macro_rules! of_floats {
    ($element:ty, $sum:ident, $op:expr) => {
        match $op {
            ScalarOp::Add => |all, rows, out| blocks::<$element>(all, rows, out, |a, b| a + b),
            ScalarOp::Mul => |all, rows, out| blocks::<$element>(all, rows, out, |a, b| a * b),
            // NaN wins. Equal numbers differ at most in the sign of zero, and +0 counts as the larger zero.
            ScalarOp::Max => |all, rows, out| {
                blocks::<$element>(all, rows, out, |a, b| {
                    let larger = if a > b { a } else { b };
                    let ordered = if a == b { $sum::from_bits(a.to_bits() & b.to_bits()) } else { larger };
                    if a.is_nan() || b.is_nan() { a + b } else { ordered }
                })
            },
            ScalarOp::Min => |all, rows, out| {
                blocks::<$element>(all, rows, out, |a, b| {
                    let smaller = if a < b { a } else { b };
                    let ordered = if a == b { $sum::from_bits(a.to_bits() | b.to_bits()) } else { smaller };
                    if a.is_nan() || b.is_nan() { a + b } else { ordered }
                })
            },
            _ => return None,
        }
    };
}

/// Returns a fast function that combines elements of a type by `op`; `None` if there is none.
pub(super) fn combine(op: ScalarOp, element: ElementType) -> Option<Combine> {
    Some(match element {
        ElementType::I1 => match op {
            ScalarOp::Add | ScalarOp::Max | ScalarOp::Or => |all, rows, out| blocks::<u8>(all, rows, out, |a, b| a | b),
            ScalarOp::Mul | ScalarOp::Min | ScalarOp::And => {
                |all, rows, out| blocks::<u8>(all, rows, out, |a, b| a & b)
            }
            _ => return None,
        },
        ElementType::I8 => of_integers!(i8, op),
        ElementType::I16 => of_integers!(i16, op),
        ElementType::I32 => of_integers!(i32, op),
        ElementType::I64 => of_integers!(i64, op),
        ElementType::UI8 => of_integers!(u8, op),
        ElementType::UI16 => of_integers!(u16, op),
        ElementType::UI32 => of_integers!(u32, op),
        ElementType::UI64 => of_integers!(u64, op),
        ElementType::BF16 => of_floats!(Bf16, f32, op),
        ElementType::F16 => of_floats!(Half, f32, op),
        ElementType::F32 if op == ScalarOp::Add => |all, rows, out| blocks::<Single>(all, rows, out, |a, b| a + b),
        ElementType::F32 => of_floats!(f32, f32, op),
        ElementType::F64 => of_floats!(f64, f64, op),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use dialect::scalar::Scalar;

    use super::*;

    /// Returns elements of random bits, among them zeros of both signs, infinities and NaN.
    fn random(element: ElementType, count: usize, seed: u64) -> Vec<u8> {
        let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0];
        let mut random = fastrand::Rng::with_seed(seed);
        let mut out = Vec::new();
        for _ in 0..count {
            let value = match element {
                _ if !element.is_float() => Scalar::Int(random.u64(..).into()),
                _ if random.u8(..3) == 0 => Scalar::Float(special[random.usize(..special.len())]),
                _ => Scalar::Float(f64::from(random.u16(..4096)) / 64.0 - 32.0),
            };
            value.encode(element, &mut out);
        }
        out
    }

    #[test]
    fn two_operands_combine_as_the_operation_says() {
        let ops =
            [ScalarOp::Add, ScalarOp::Mul, ScalarOp::Max, ScalarOp::Min, ScalarOp::And, ScalarOp::Or, ScalarOp::Xor];
        let mut count = 0;
        for &element in ElementType::ALL {
            for op in ops {
                let Some(combine) = combine(op, element) else { continue };
                count += 1;
                let operands = [random(element, 1300, 1), random(element, 1300, 2)];
                let mut out = vec![0; operands[0].len()];
                combine(&[&operands[0], &operands[1]], Rows::all(out.len()), &mut out);
                let width = element.bytes();
                for (at, got) in out.chunks(width).enumerate() {
                    let value = |d: usize| Scalar::decode(element, &operands[d][at * width..(at + 1) * width]);
                    let mut want = Vec::new();
                    op.apply(element, element, &[value(0), value(1)]).encode(element, &mut want);
                    let is_nan =
                        |bytes: &[u8]| matches!(Scalar::decode(element, bytes), Scalar::Float(v) if v.is_nan());
                    let is_same = got == want || (is_nan(got) && is_nan(&want));
                    assert!(is_same, "{op:?} {element:?} {:?} {:?}: {got:?} {want:?}", value(0), value(1));
                }
            }
        }
        // Booleans have six operations, each of eight integer types seven, each of four float types four.
        assert_eq!(count, 6 + 8 * 7 + 4 * 4);
    }

    #[test]
    fn rows_are_those_of_the_operands() {
        let mut random_size = fastrand::Rng::with_seed(4);
        for (round, element) in
            [ElementType::F32, ElementType::BF16, ElementType::F16, ElementType::I32, ElementType::F64]
                .into_iter()
                .cycle()
                .take(60)
                .enumerate()
        {
            let width = element.bytes();
            let count = random_size.usize(..9);
            let row = width * if round % 3 == 0 { random_size.usize(..2000) } else { random_size.usize(..40) };
            let stride = row + width * random_size.usize(..50);
            let first = width * random_size.usize(..30);
            let operands: Vec<Vec<u8>> =
                (0..3).map(|i| random(element, (first + count * stride) / width + 1, 10 + i)).collect();
            let all: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
            let combine = combine(ScalarOp::Add, element).expect("sums");
            let rows = Rows { first, row, stride };
            let mut got = vec![0; count * row];
            combine(&all, rows, &mut got);
            let mut want = vec![0; count * row];
            for (i, to) in want.chunks_mut(row.max(1)).enumerate() {
                let parts: Vec<&[u8]> = all.iter().map(|operand| rows.of(operand, i)).collect();
                combine(&parts, Rows::all(row), to);
            }
            for (got, want) in got.chunks(width).zip(want.chunks(width)) {
                let is_nan = |bytes: &[u8]| matches!(Scalar::decode(element, bytes), Scalar::Float(v) if v.is_nan());
                assert!(got == want || is_nan(got) && is_nan(want), "{element:?} {rows:?}");
            }
        }
    }

    #[test]
    fn narrow_floats_round_once() {
        // The sum is 256 + 7. It would stay at 256 if every step were rounded to bf16.
        let all: Vec<Vec<u8>> = [256.0f64, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
            .iter()
            .map(|&v| {
                let mut bytes = Vec::new();
                Scalar::Float(v).encode(ElementType::BF16, &mut bytes);
                bytes
            })
            .collect();
        let mut out = [0; 2];
        let add = combine(ScalarOp::Add, ElementType::BF16).expect("sums of bf16");
        add(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), Rows::all(2), &mut out);
        // 263 is halfway between 262 and 264, whose mantissa is even.
        assert_eq!(Scalar::decode(ElementType::BF16, &out), Scalar::Float(264.0));
    }
}
