//! Convolutions, and other products whose operand is read through windows.
//!
//! Floats are summed in f32, or in f64 if one of the types is f64. Narrow floats are widened and the sum is rounded
//! once. Integers wrap.

#![allow(unsafe_code, reason = "products read and write buffers by address and stride")]

use dialect::ir::{ElementClass, ElementType, OpRef, TensorType};
use dialect::kernel::{Affine, Contraction, Index, Input, Nest, Window};
use half::{bf16, f16};

use super::join::Spread;
use super::problem::{self, Problem};
use super::product::{Plan, are_finite};
use crate::kernels::micro::Number;
use crate::kernels::native::{Native, View, ViewMut, share};

/// A product over windows, and the plans that compute it.
pub(crate) struct Convolution {
    plans: Vec<Plan>,
    /// One product that replaces all of `plans`, of a copy of the right tensor.
    joined: Option<(Plan, Spread)>,
    /// The numbers of the operands that are the left and the right tensor.
    operands: [usize; 2],
    /// Element types of the left tensor, the right one and the result.
    types: [ElementType; 3],
    /// The type in which products are summed.
    sums: ElementType,
    parts: Parts,
}

/// The parts in which tensors are converted if their types differ from that of the sums.
#[derive(Clone, Copy)]
struct Parts {
    /// The number of parts of the left tensor, along its first dimension.
    count: usize,
    /// Whether they are parts of the sum, and therefore of the right tensor too; otherwise they are parts of the
    /// result.
    contracted: bool,
}

impl Parts {
    /// Number of elements in a part's tensors, if the first dimension is long enough.
    #[cfg(not(test))]
    const SIZE: i64 = 1 << 21;
    /// Tests have small tensors.
    #[cfg(test)]
    const SIZE: i64 = 64;

    /// Returns the parts, and the problem of one part, of this nest, whose inputs have these shapes. Returns `None` if
    /// there is only one part, or if the first dimension is read through windows.
    fn cut(nest: &Nest, mut shapes: [Vec<i64>; 2], left: usize) -> Option<(Self, Problem)> {
        let mut nest = nest.clone();
        let Some(&Index::Loop(l)) = nest.inputs[left].index.first() else { return None };
        let contracted = l >= nest.parallel;
        let first = |i: &Input| usize::from(i.index.first() == Some(&Index::Loop(l)));
        let depends = |i: &Input| {
            let indices = i.index[first(i)..].iter().chain(i.guards.iter().map(|g| &g.index));
            indices.clone().any(|x| x.depends_on(l))
        };
        let right = first(&nest.inputs[1 - left]) == 1;
        if nest.inputs.iter().any(depends) || right != contracted || !contracted && l > 0 {
            return None;
        }
        let elements = |shape: &[i64]| shape.iter().product::<i64>();
        let all = [elements(&shapes[0]), elements(&shapes[1]), elements(&nest.loops[..nest.parallel])];
        let (size, wanted) = (nest.loops[l], all.into_iter().max()? / Self::SIZE + 1);
        let count = (wanted.min(size)..=size).find(|n| *n > 0 && size % n == 0)?;
        nest.loops[l] = size / count;
        shapes[left][0] = size / count;
        if contracted {
            shapes[1 - left][0] = size / count;
        }
        let problem = problem::of(&nest, [&shapes[0], &shapes[1]]).filter(|_| count > 1)?;
        Some((Self { count: count as usize, contracted }, problem))
    }
}

impl Convolution {
    /// Returns the code for an op with this nest. Returns `None` if it isn't a product over windows, and for plain
    /// matrix products, which a library computes.
    pub(crate) fn of(op: OpRef<'_>, nest: &Nest) -> Option<Self> {
        Contraction::of(nest).filter(|c| is_windowed(nest, c))?;
        let inputs: [&TensorType; 2] =
            [op.operand_tensor(nest.inputs[0].operand)?, op.operand_tensor(nest.inputs[1].operand)?];
        let result = op.result_tensor(0)?;
        let shapes = inputs.map(|t| t.shape.to_vec());
        let whole = problem::of(nest, [&shapes[0], &shapes[1]])?;
        let left = whole.left;
        let types = [inputs[left].element, inputs[1 - left].element, result.element];
        let sums = sum_type(types)?;
        let narrow = types.iter().any(|&t| t != sums);
        let cut = narrow.then(|| Parts::cut(nest, shapes, left)).flatten().filter(|(_, problem)| problem.left == left);
        let (parts, Problem { products, joined, .. }) = cut.unwrap_or((Parts { count: 1, contracted: false }, whole));
        // A joined product may have to be computed again, which isn't possible if it adds to the result.
        let joined = joined.filter(|_| !parts.contracted);
        let operands = [nest.inputs[left].operand, nest.inputs[1 - left].operand];
        let plans = products.into_iter().map(Plan::new).collect();
        let joined = joined.map(|j| (Plan::new(j.product), j.copy));
        Some(Self { plans, joined, operands, types, sums, parts })
    }

    /// Returns the numbers of the operands that are the left and the right tensor.
    pub(crate) fn operands(&self) -> [usize; 2] {
        self.operands
    }

    fn compute<T: Element>(&self, operands: &[View<'_>], out: &mut ViewMut<'_>, threads: usize) {
        let Parts { count, contracted } = self.parts;
        let kept = T::TYPE == self.types[2];
        let width = self.types[2].bytes();
        let results = out.bytes.len() / width / if contracted { 1 } else { count };
        let mut memory = vec![T::default(); if kept { 0 } else { results }];
        let (mut wide_left, mut wide_right) = (Vec::new(), Vec::new());
        for i in 0..count {
            let part = |bytes: &[u8]| i * (bytes.len() / count)..(i + 1) * (bytes.len() / count);
            let left = operands[0].bytes;
            let left = T::read(&left[part(left)], self.types[0], &mut wide_left, threads);
            let right = operands[1].bytes;
            let right = if contracted { &right[part(right)] } else { right };
            let right = T::read(right, self.types[1], &mut wide_right, threads);
            let mine = if contracted { 0..out.bytes.len() } else { part(out.bytes) };
            let bytes = &mut out.bytes[mine];
            let to = if kept { bytemuck::cast_slice_mut(bytes) } else { &mut memory[..] };
            self.part(left, right, to, contracted && i > 0, threads);
            if !kept && (!contracted || i + 1 == count) {
                share(threads, width, bytes, |first, bytes| {
                    for (value, to) in memory[first..].iter().zip(bytes.chunks_exact_mut(width)) {
                        value.write(self.types[2], to);
                    }
                });
            }
        }
    }

    /// Computes a part of the result, or adds a part of the sum to it.
    fn part<T: Element>(&self, left: &[T], right: &[T], to: &mut [T], adds: bool, threads: usize) {
        let (left, out) = (left.as_ptr(), to.as_mut_ptr());
        if let Some((plan, copy)) = &self.joined {
            // SAFETY: the tensors are aligned and have the sizes of the op's types. `copy.of` returns the copy of the
            // right one for which the plan was made.
            unsafe { plan.run(left, &copy.of(right), out, adds, threads) };
            // If values aren't finite, multiplying them with the copy's zeros may have made too many results not
            // finite.
            if are_finite(to) {
                return;
            }
        }
        for plan in &self.plans {
            // SAFETY: the tensors are aligned and have the sizes of the op's types, for which the plan was made.
            unsafe { plan.run(left, right, out, adds, threads) };
        }
    }
}

impl Native for Convolution {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let out = &mut results[0];
        match self.sums {
            ElementType::F64 => self.compute::<f64>(operands, out, threads),
            ElementType::I32 => self.compute::<i32>(operands, out, threads),
            ElementType::I64 => self.compute::<i64>(operands, out, threads),
            _ => self.compute::<f32>(operands, out, threads),
        }
        Ok(())
    }
}

/// Returns whether an input is read through windows, in groups or with padding, so that its index isn't just loop
/// positions.
fn is_windowed(nest: &Nest, contraction: &Contraction) -> bool {
    let long = |l: usize| nest.loops[l] > 1;
    let ranges = nest.ranges();
    let plain = |i: &Input| i.guards.is_empty() && i.index.iter().all(|x| Affine::of(x, &ranges).is_affine());
    let moves = |w: &Window| w.stride != 1 || w.divisor != 1 || long(w.outer) && long(w.inner);
    !nest.inputs.iter().all(plain) || contraction.windows.iter().any(moves)
}

/// Returns the type in which products of the first two types are summed for a result of the third.
fn sum_type(types: [ElementType; 3]) -> Option<ElementType> {
    use ElementType::{BF16, F16, F32, F64, I1, I32, I64};
    let integer = |t: ElementType| matches!(t.class(), ElementClass::Signed | ElementClass::Unsigned) && t.bits() >= 8;
    let [left, right, result] = types;
    if types.iter().all(|t| matches!(t, BF16 | F16 | F32 | F64)) {
        return Some(if types.contains(&F64) { F64 } else { F32 });
    }
    // The sum of booleans is whether any is true. Only products of booleans have boolean sums.
    let whole = types.iter().all(|&t| integer(t) || t == I1) && (result != I1 || (left, right) == (I1, I1));
    whole.then_some(if result.bits() > 32 { I64 } else { I32 })
}

/// A type of sums.
trait Element: Number + bytemuck::AnyBitPattern + bytemuck::NoUninit {
    const TYPE: ElementType;
    /// Reads a value of type `from` from the first bytes.
    fn of(from: ElementType, bytes: &[u8]) -> Self;
    /// Writes the value as type `to`.
    fn write(self, to: ElementType, bytes: &mut [u8]);

    /// Returns the tensor in this type: itself, or a copy in `memory`.
    fn read<'a>(bytes: &'a [u8], from: ElementType, memory: &'a mut Vec<Self>, threads: usize) -> &'a [Self] {
        if from == Self::TYPE {
            return bytemuck::cast_slice(bytes);
        }
        let width = from.bytes();
        memory.resize(bytes.len() / width, Self::default());
        share(threads, 1, memory, |first, values| {
            for (value, bytes) in values.iter_mut().zip(bytes[first * width..].chunks_exact(width)) {
                *value = Self::of(from, bytes);
            }
        });
        memory
    }
}

macro_rules! floats {
    ($($t:ty, $name:ident, $narrow:ident;)*) => {$(
        impl Element for $t {
            const TYPE: ElementType = ElementType::$name;

            #[inline(always)]
            fn of(from: ElementType, b: &[u8]) -> Self {
                match from {
                    ElementType::BF16 => bf16::from_le_bytes([b[0], b[1]]).into(),
                    ElementType::F16 => f16::from_le_bytes([b[0], b[1]]).into(),
                    ElementType::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into(),
                    _ => f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as Self,
                }
            }

            #[inline(always)]
            fn write(self, to: ElementType, bytes: &mut [u8]) {
                match to {
                    ElementType::BF16 => bytes.copy_from_slice(&bf16::$narrow(self).to_le_bytes()),
                    ElementType::F16 => bytes.copy_from_slice(&f16::$narrow(self).to_le_bytes()),
                    ElementType::F32 => bytes.copy_from_slice(&(self as f32).to_le_bytes()),
                    _ => bytes.copy_from_slice(&f64::from(self).to_le_bytes()),
                }
            }
        }
    )*};
}

floats! {
    f32, F32, from_f32;
    f64, F64, from_f64;
}

macro_rules! integers {
    ($($t:ty, $name:ident;)*) => {$(
        impl Element for $t {
            const TYPE: ElementType = ElementType::$name;

            #[inline(always)]
            fn of(from: ElementType, b: &[u8]) -> Self {
                // Only the low bits of sums are needed, so wider values are truncated.
                match from {
                    ElementType::I1 => Self::from(b[0] != 0),
                    ElementType::I8 => b[0] as i8 as Self,
                    ElementType::UI8 => b[0] as Self,
                    ElementType::I16 => i16::from_le_bytes([b[0], b[1]]) as Self,
                    ElementType::UI16 => u16::from_le_bytes([b[0], b[1]]) as Self,
                    ElementType::I32 => i32::from_le_bytes([b[0], b[1], b[2], b[3]]) as Self,
                    ElementType::UI32 => u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as Self,
                    _ => i64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as Self,
                }
            }

            #[inline(always)]
            fn write(self, to: ElementType, bytes: &mut [u8]) {
                match to {
                    ElementType::I1 => bytes[0] = u8::from(self != 0),
                    _ => bytes.copy_from_slice(&self.to_le_bytes()[..bytes.len()]),
                }
            }
        }
    )*};
}

integers! {
    i32, I32;
    i64, I64;
}
