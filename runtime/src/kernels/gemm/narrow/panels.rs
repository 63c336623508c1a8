//! Blocks of operands, widened into panels.

use std::sync::LazyLock;

use dialect::ir::ElementType;
use dialect::small_float::{decode, is_small};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// The elements of an operand.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub start: *const u8,
    pub element: ElementType,
}

/// A block of an operand: its first element and the strides of its two dimensions, in elements.
pub(super) struct Operand {
    pub source: Source,
    pub start: isize,
    pub strides: [isize; 2],
}

/// Blocks to multiply; the sizes are rows, columns and contracted elements.
pub(super) struct Block {
    pub sizes: [usize; 3],
    pub lhs: Operand,
    pub rhs: Operand,
}

/// A block of an operand as a panel: its elements, and the strides of its two dimensions.
pub(super) struct Panel<P> {
    pub elements: Vec<P>,
    pub strides: [isize; 2],
}

impl<P: Wide> Panel<P> {
    fn new() -> Self {
        Self { elements: Vec::new(), strides: [0, 0] }
    }

    /// Widens a block of these sizes. The dimension with the smaller stride in memory becomes contiguous.
    ///
    /// # Safety
    ///
    /// The block must be inside the operand.
    unsafe fn fill(&mut self, from: &Operand, sizes: [usize; 2]) {
        let strides = from.strides;
        self.elements.resize(sizes[0] * sizes[1], P::default());
        let inner = if strides[0].abs() < strides[1].abs() { 0 } else { 1 };
        let (outer, n) = (1 - inner, sizes[inner]);
        self.strides[inner] = 1;
        self.strides[outer] = n as isize;
        if n == 0 {
            return;
        }
        for (i, line) in self.elements.chunks_exact_mut(n).enumerate() {
            let at = from.start + i as isize * strides[outer];
            // SAFETY: `i < sizes[outer]`, so this is line `i` of the block, which has `sizes[inner]` elements.
            unsafe { P::widen(from.source, at, strides[inner], line) };
        }
    }
}

/// Panels of both operands.
pub(super) struct Panels<P> {
    pub lhs: Panel<P>,
    pub rhs: Panel<P>,
}

impl<P: Wide> Panels<P> {
    pub(super) fn new() -> Self {
        Self { lhs: Panel::new(), rhs: Panel::new() }
    }

    /// Widens both blocks.
    ///
    /// # Safety
    ///
    /// The blocks must be inside the operands.
    pub(super) unsafe fn fill(&mut self, block: &Block) {
        let [m, n, k] = block.sizes;
        // SAFETY: both blocks are inside the operands by this function's contract.
        unsafe {
            self.lhs.fill(&block.lhs, [m, k]);
            self.rhs.fill(&block.rhs, [k, n]);
        }
    }
}

/// The elements of a panel.
pub(super) trait Wide: Copy + Default + Send + Sync + 'static {
    /// Reads a line of elements, `stride` elements apart.
    ///
    /// # Safety
    ///
    /// The line must be inside the operand.
    unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]);
}

/// Converts a line of elements.
///
/// # Safety
///
/// The line must be inside the operand, whose elements must be `T`.
#[inline(always)]
unsafe fn line<T: Copy, P>(from: Source, start: isize, stride: isize, to: &mut [P], value: impl Fn(T) -> P) {
    let from = from.start.cast::<T>().wrapping_offset(start);
    if stride == 1 {
        // SAFETY: the line is contiguous, and inside the operand by this function's contract.
        let from = unsafe { std::slice::from_raw_parts(from, to.len()) };
        to.iter_mut().zip(from).for_each(|(to, &v)| *to = value(v));
        return;
    }
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: `i < to.len()`, so the element is inside the operand by this function's contract.
        *to = value(unsafe { from.offset(i as isize * stride).read() });
    }
}

/// Returns the value of each byte as an element of a type of a byte or less. The values are f64, because the smallest
/// ones are subnormal in f32, and the caller's mode may replace those by zeros.
fn values(element: ElementType) -> &'static [f64; 256] {
    static TABLES: LazyLock<Vec<(ElementType, [f64; 256])>> = LazyLock::new(|| {
        let small = ElementType::ALL.iter().copied().filter(|&element| is_small(element));
        // The highest bits of a byte aren't part of an element of fewer than 8 bits.
        let value = |bits: usize, element: ElementType| decode(bits as u8 & (u8::MAX >> (8 - element.bits())), element);
        small.map(|element| (element, std::array::from_fn(|bits| value(bits, element)))).collect()
    });
    let table = TABLES.iter().find(|table| table.0 == element);
    &table.expect("the tables are those of all small types").1
}

macro_rules! wide {
    ($($wide:ty)*) => {$(
        impl Wide for $wide {
            unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]) {
                use ElementType::*;
                // SAFETY: each arm reads the type in which its elements are stored. The line is inside the operand by
                // the contract of `widen`.
                unsafe {
                    match from.element {
                        BF16 => line::<u16, _>(from, start, stride, to, |v| f32::from_bits(u32::from(v) << 16) as $wide),
                        F16 => line::<f16, _>(from, start, stride, to, |v| v.to_f32() as $wide),
                        F32 => line::<f32, _>(from, start, stride, to, |v| v as $wide),
                        F64 => line::<f64, _>(from, start, stride, to, |v| v as $wide),
                        I2 | I4 | I8 => line::<i8, _>(from, start, stride, to, |v| v as $wide),
                        I16 => line::<i16, _>(from, start, stride, to, |v| v as $wide),
                        UI16 => line::<u16, _>(from, start, stride, to, |v| v as $wide),
                        I32 => line::<i32, _>(from, start, stride, to, |v| v as $wide),
                        UI32 => line::<u32, _>(from, start, stride, to, |v| v as $wide),
                        I64 | UI64 => line::<u64, _>(from, start, stride, to, |v| v as $wide),
                        small if is_small(small) => {
                            let values = values(small);
                            line::<u8, _>(from, start, stride, to, |v| values[usize::from(v)] as $wide)
                        }
                        // Unsigned bytes and booleans.
                        _ => line::<u8, _>(from, start, stride, to, |v| v as $wide),
                    }
                }
            }
        }
    )*};
}

wide!(f64 i32 i64);

/// f32 panels, which are filled most often.
impl Wide for f32 {
    unsafe fn widen(from: Source, start: isize, stride: isize, to: &mut [Self]) {
        use ElementType::*;
        if from.element == F16 && stride == 1 {
            // SAFETY: the elements are f16 and contiguous. The line is inside the operand by the contract of `widen`.
            let from = unsafe { std::slice::from_raw_parts(from.start.cast::<f16>().wrapping_offset(start), to.len()) };
            return from.convert_to_f32_slice(to);
        }
        in_vectors(
            #[inline(always)]
            || {
                // SAFETY: each arm reads the type in which its elements are stored. The line is inside the operand by
                // the contract of `widen`.
                unsafe {
                    match from.element {
                        BF16 => line::<u16, _>(from, start, stride, to, |v| f32::from_bits(u32::from(v) << 16)),
                        F16 => line::<f16, _>(from, start, stride, to, f16::to_f32),
                        F32 => line::<f32, _>(from, start, stride, to, |v| v),
                        I2 | I4 | I8 => line::<i8, _>(from, start, stride, to, f32::from),
                        small if is_small(small) => {
                            let values = values(small);
                            line::<u8, _>(from, start, stride, to, |v| values[usize::from(v)] as f32)
                        }
                        _ => line::<u8, _>(from, start, stride, to, f32::from),
                    }
                }
            },
        );
    }
}

/// Calls a function, inlined, with the processor's widest vectors enabled.
#[inline(always)]
pub(super) fn in_vectors(work: impl FnOnce()) {
    pulp::Arch::new().dispatch(work);
}
