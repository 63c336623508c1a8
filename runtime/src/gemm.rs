//! Matrix products through a GEMM library for floats: any loop nest that is a [`Contraction`] with evenly strided
//! operands, such as a `dot_general`, an einsum with diagonals, or a convolution without padding.
//!
//! The loops of each role (batch, rows, contracted, columns) that can be walked with one stride in every tensor are
//! joined; the longest loop of each of rows, contracted and columns goes to the library, the others become loops around
//! it. bf16 and f16 are widened, summed in f32 and rounded once; integers wrap.

#![allow(unsafe_code, reason = "products read and write buffers by address and stride")]

use dialect::ir::{ElementClass, ElementType, OpRef};
use dialect::kernel::{Contraction, Kernel, Role};
use gemm::Parallelism;
use half::{bf16, f16};
use smallvec::SmallVec;

/// A strided loop: its number of positions, and the stride in each tensor, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    size: usize,
    lhs: isize,
    rhs: isize,
    out: isize,
}

/// A planned product.
#[derive(Clone, Debug)]
pub struct Gemm {
    /// Which operands of the op are multiplied.
    operands: [usize; 2],
    /// Element types of the left operand, the right operand and the result.
    types: [ElementType; 3],
    /// Number of elements of each.
    lengths: [usize; 3],
    /// Offset of the first element that is read of the left and of the right operand.
    start: [isize; 2],
    /// Loops around the library's product; `true` for contracted ones.
    outer: SmallVec<[(Run, bool); 4]>,
    rows: Run,
    columns: Run,
    contracted: Run,
}

const ONE: Run = Run { size: 1, lhs: 0, rhs: 0, out: 0 };

impl Gemm {
    /// The product that `op` computes; `None` for other ops and for types without native code.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
        let contraction = Contraction::of(&nest)?;
        let [lhs, rhs] = [0, 1].map(|i| op.operand_tensor(nest.inputs[i].operand));
        let (lhs, rhs, out) = (lhs?, rhs?, op.result_tensor(0)?);
        let types = [lhs.element, rhs.element, out.element];
        if !types.iter().all(|&t| is_supported(t)) || types.iter().any(|t| t.is_float() != out.element.is_float()) {
            return None;
        }
        let [left, right] = contraction.strides(&nest, [&lhs.shape, &rhs.shape])?;
        let result = strides(&nest.loops[..nest.parallel]);
        let run = |l: usize| Run {
            size: nest.loops[l].max(0) as usize,
            lhs: left.loops[l] as isize,
            rhs: right.loops[l] as isize,
            out: result.get(l).copied().unwrap_or(0),
        };
        let runs = |role| contraction.loops(role).map(run).collect::<Vec<Run>>();
        let mut contracted = runs(Role::Contracted);
        // Summands may be in any order: take that of the left operand, so that neighboring loops can be joined.
        contracted.sort_by_key(|r| std::cmp::Reverse(r.lhs));
        let mut outer: SmallVec<[(Run, bool); 4]> = join(runs(Role::Batch)).into_iter().map(|r| (r, false)).collect();
        let (rows, columns, contracted) = (
            longest(runs(Role::Left), &mut outer, false),
            longest(runs(Role::Right), &mut outer, false),
            longest(contracted, &mut outer, true),
        );
        let length = |shape: &[i64]| shape.iter().product::<i64>().max(0) as usize;
        let lengths = [length(&lhs.shape), length(&rhs.shape), length(&out.shape)];
        let operands = [0, 1].map(|i| nest.inputs[i].operand);
        let start = [left.constant as isize, right.constant as isize];
        Some(Self { operands, types, lengths, start, outer, rows, columns, contracted })
    }

    /// Indices of the op's operands that are the left and the right one.
    pub fn operands(&self) -> [usize; 2] {
        self.operands
    }

    /// Multiplies and adds.
    ///
    /// # Safety
    ///
    /// The pointers are aligned to their elements and reach as many of them as the operands and the result have;
    /// nobody writes the operands or touches the result meanwhile.
    pub unsafe fn run(&self, lhs: *const u8, rhs: *const u8, out: *mut u8) {
        let [l, r, o] = self.types;
        // SAFETY: the caller's promise, passed on; buffers made here are as long as the tensors.
        unsafe {
            match (l, r, o) {
                (ElementType::F32, ElementType::F32, ElementType::F32) if !self.is_small() => {
                    self.floats::<f32>(lhs.cast(), rhs.cast(), out.cast())
                }
                (ElementType::F64, ElementType::F64, ElementType::F64) => {
                    self.floats::<f64>(lhs.cast(), rhs.cast(), out.cast())
                }
                _ if !o.is_float() => self.integers(lhs, rhs, out),
                _ if self.types.contains(&ElementType::F64) || self.is_small() => {
                    let (a, b) = (widened::<f64>(lhs, l, self.lengths[0]), widened::<f64>(rhs, r, self.lengths[1]));
                    let mut c = vec![0f64; self.lengths[2]];
                    self.floats::<f64>(a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                    c.iter().enumerate().for_each(|(i, &v)| store(out, o, i, v));
                }
                _ => {
                    let (a, b) = (widened::<f32>(lhs, l, self.lengths[0]), widened::<f32>(rhs, r, self.lengths[1]));
                    let mut c = vec![0f32; self.lengths[2]];
                    self.floats::<f32>(a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                    c.iter().enumerate().for_each(|(i, &v)| store(out, o, i, v.into()));
                }
            }
        }
    }

    /// Small products are summed in f64: it costs next to nothing, and the result is the rounded exact one.
    fn is_small(&self) -> bool {
        let around = self.outer.iter().fold(1usize, |n, o| n.saturating_mul(o.0.size));
        let inner = [self.rows, self.columns, self.contracted].iter().fold(around, |n, r| n.saturating_mul(r.size));
        inner <= 1 << 22
    }

    /// Calls `f` with the offsets of every library product, and whether it adds to the existing result.
    fn each(&self, mut f: impl FnMut(isize, isize, isize, bool)) {
        if self.outer.iter().any(|o| o.0.size == 0) {
            return;
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        loop {
            let ([mut l, mut r], mut o, mut adds) = (self.start, 0, false);
            for (&(run, contracted), &i) in self.outer.iter().zip(&index) {
                l += run.lhs * i as isize;
                r += run.rhs * i as isize;
                o += run.out * i as isize;
                adds |= contracted && i > 0;
            }
            f(l, r, o, adds);
            let Some(d) = (0..index.len()).rev().find(|&d| index[d] + 1 < self.outer[d].0.size) else { return };
            index[d] += 1;
            index[d + 1..].fill(0);
        }
    }

    unsafe fn floats<T: Float>(&self, lhs: *const T, rhs: *const T, out: *mut T) {
        let (m, n, k) = (self.rows, self.columns, self.contracted);
        let nothing = k.size == 0 || self.outer.iter().any(|o| o.1 && o.0.size == 0);
        if nothing {
            // SAFETY: the result has that many elements.
            (0..self.lengths[2]).for_each(|i| unsafe { out.add(i).write(T::default()) });
            return;
        }
        self.each(|l, r, o, adds| {
            // SAFETY: offsets and strides stay inside the tensors by construction from their shapes.
            unsafe {
                gemm::gemm(
                    m.size,
                    n.size,
                    k.size,
                    out.offset(o),
                    n.out,
                    m.out,
                    adds,
                    lhs.offset(l),
                    k.lhs,
                    m.lhs,
                    rhs.offset(r),
                    n.rhs,
                    k.rhs,
                    T::ONE,
                    T::ONE,
                    false,
                    false,
                    false,
                    Parallelism::None,
                );
            }
        });
    }

    unsafe fn integers(&self, lhs: *const u8, rhs: *const u8, out: *mut u8) {
        let [lt, rt, ot] = self.types;
        let (m, n, k) = (self.rows, self.columns, self.contracted);
        let width = ot.bytes();
        // SAFETY: the result has that many bytes.
        unsafe { std::ptr::write_bytes(out, 0, self.lengths[2] * width) };
        if k.size == 0 {
            return;
        }
        self.each(|l, r, o, _| {
            for i in 0..m.size as isize {
                for j in 0..n.size as isize {
                    let mut sum = 0i64;
                    for x in 0..k.size as isize {
                        // SAFETY: as in `floats`.
                        let (a, b) = unsafe {
                            (load(lhs, lt, l + i * m.lhs + x * k.lhs), load(rhs, rt, r + j * n.rhs + x * k.rhs))
                        };
                        sum = sum.wrapping_add(a.wrapping_mul(b));
                    }
                    let at = (o + i * m.out + j * n.out) * width as isize;
                    // SAFETY: as in `floats`; the low bytes are the value modulo the type.
                    unsafe {
                        let old = load(out, ot, at / width as isize);
                        let new = if ot == ElementType::I1 { i64::from(old + sum != 0) } else { old.wrapping_add(sum) };
                        std::ptr::copy_nonoverlapping(new.to_le_bytes().as_ptr(), out.offset(at), width);
                    }
                }
            }
        });
    }
}

trait Float: Copy + Default + 'static {
    const ONE: Self;
    fn of(v: f32) -> Self;
}

impl Float for f32 {
    const ONE: Self = 1.0;
    fn of(v: f32) -> Self {
        v
    }
}

impl Float for f64 {
    const ONE: Self = 1.0;
    fn of(v: f32) -> Self {
        v.into()
    }
}

fn is_supported(t: ElementType) -> bool {
    let known =
        matches!(t, ElementType::BF16 | ElementType::F16 | ElementType::F32 | ElementType::F64 | ElementType::I1);
    known || t.is_integer() && t.bits() >= 8
}

fn strides(shape: &[i64]) -> SmallVec<[isize; 6]> {
    let mut out: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
    for d in (1..shape.len()).rev() {
        out[d - 1] = out[d] * shape[d] as isize;
    }
    out
}

/// Joins neighboring loops that have one stride in every tensor.
fn join(runs: Vec<Run>) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for r in runs.into_iter().filter(|r| r.size != 1) {
        if let Some(last) = out.last_mut() {
            let n = r.size as isize;
            if (last.lhs, last.rhs, last.out) == (r.lhs * n, r.rhs * n, r.out * n) {
                *last = Run { size: last.size * r.size, ..r };
                continue;
            }
        }
        out.push(r);
    }
    out
}

/// The longest loop; the others are appended to `outer`.
fn longest(runs: Vec<Run>, outer: &mut SmallVec<[(Run, bool); 4]>, contracted: bool) -> Run {
    let mut runs = join(runs);
    let Some(i) = (0..runs.len()).max_by_key(|&i| (runs[i].size, i)) else { return ONE };
    let best = runs.remove(i);
    outer.extend(runs.into_iter().map(|r| (r, contracted)));
    best
}

/// All elements, converted to wider floats.
unsafe fn widened<T: Float>(from: *const u8, element: ElementType, n: usize) -> Vec<T> {
    let value = |i: usize| {
        // SAFETY: the tensor has `n` elements.
        unsafe {
            match element {
                ElementType::BF16 => T::of(from.cast::<bf16>().add(i).read().to_f32()),
                ElementType::F16 => T::of(from.cast::<f16>().add(i).read().to_f32()),
                _ => T::of(from.cast::<f32>().add(i).read()),
            }
        }
    };
    if element == ElementType::F64 {
        // Only reached when `T` is f64, so the representations are equal.
        // SAFETY: the tensor has `n` elements of that size.
        return (0..n).map(|i| unsafe { from.cast::<T>().add(i).read() }).collect();
    }
    (0..n).map(value).collect()
}

unsafe fn store(out: *mut u8, element: ElementType, i: usize, v: f64) {
    // SAFETY: `i` is below the number of elements.
    unsafe {
        match element {
            ElementType::BF16 => out.cast::<bf16>().add(i).write(bf16::from_f64(v)),
            ElementType::F16 => out.cast::<f16>().add(i).write(f16::from_f64(v)),
            ElementType::F32 => out.cast::<f32>().add(i).write(v as f32),
            _ => out.cast::<f64>().add(i).write(v),
        }
    }
}

unsafe fn load(from: *const u8, element: ElementType, i: isize) -> i64 {
    let n = element.bytes();
    let mut bytes = [0u8; 8];
    // SAFETY: element `i` is inside the tensor, `n` is at most 8.
    unsafe { std::ptr::copy_nonoverlapping(from.offset(i * n as isize), bytes.as_mut_ptr(), n) };
    let v = i64::from_le_bytes(bytes);
    let shift = 64 - 8 * n as u32;
    if element.class() == ElementClass::Signed { v << shift >> shift } else { v }
}
