//! Keys as unsigned words in the same order.

use bytemuck::AnyBitPattern;
use dialect::ir::{ElementClass, ElementType};
use dialect::scalar::Scalar;
use smallvec::smallvec;

use super::keys::{Key, Source};
use crate::kernels::native::View;
use crate::kernels::native::routine::{Places, Routine, read, write};

/// The elements of one operand that are sorted together.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    pub view: View<'a>,
    pub element: ElementType,
    pub start: usize,
    pub step: usize,
    pub count: usize,
}

impl Slice<'_> {
    /// Copies the elements to contiguous memory.
    pub(super) fn copy(&self, to: &mut [u8]) {
        let bytes = self.element.bytes();
        let from = &self.view.bytes[self.start * bytes..];
        if self.step == 1 {
            return to.copy_from_slice(&from[..to.len()]);
        }
        let elements = from.chunks(bytes).step_by(self.step);
        to.chunks_exact_mut(bytes).zip(elements).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// The conversion of an element's bits to an ordered word.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub bits: u32,
    class: Class,
    /// Whether zeros become the positive one.
    zeros: bool,
    /// Whether NaNs become the positive quiet one.
    nans: bool,
    /// Whether a NaN has no place in the order.
    partial: bool,
    descending: bool,
}

#[derive(Clone, Copy)]
enum Class {
    Unsigned,
    Signed,
    /// The bits of infinity and of the positive quiet NaN.
    Float(u64, u64),
}

impl Order {
    /// Returns the order of a key's bits; `None` if its type doesn't consist of plain bits.
    pub(super) fn of(key: &Key) -> Option<Self> {
        let canonical = match key.source {
            Source::Plain(_) | Source::Computed(_) => false,
            Source::Canonical(_) => true,
        };
        let class = match key.ty {
            ElementType::F64 => Class::Float(0x7FF0 << 48, 0x7FF8 << 48),
            ElementType::F32 => Class::Float(0x7F80 << 16, 0x7FC0 << 16),
            ElementType::BF16 => Class::Float(0x7F80, 0x7FC0),
            ElementType::F16 => Class::Float(0x7C00, 0x7E00),
            ty if ty.class() == ElementClass::Signed => Class::Signed,
            ty if matches!(ty.class(), ElementClass::Unsigned | ElementClass::Bool) => Class::Unsigned,
            _ => return None,
        };
        let float = matches!(class, Class::Float(..));
        Some(Self {
            bits: 8 * key.ty.bytes() as u32,
            class,
            zeros: float && (canonical || !key.total),
            nans: float && canonical,
            partial: float && !key.total,
            descending: key.descending,
        })
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Returns whether different elements may have the same word.
    pub(super) fn words_merge(self) -> bool {
        self.zeros || self.nans
    }

    /// Returns whether these bits are a NaN.
    pub(super) fn is_nan(self, raw: u64) -> bool {
        matches!(self.class, Class::Float(infinity, _) if raw & (self.mask() >> 1) > infinity)
    }

    /// Returns whether an element may have the same word as elements with other bits.
    pub(super) fn merges(self, raw: u64) -> bool {
        let Class::Float(infinity, _) = self.class else { return false };
        let magnitude = raw & (self.mask() >> 1);
        self.zeros && magnitude == 0 || self.nans && magnitude > infinity
    }

    #[inline(always)]
    pub(super) fn word(self, raw: u64) -> u64 {
        // Has no branches, so that loops vectorize.
        let sign = 1 << (self.bits - 1);
        let word = match self.class {
            Class::Unsigned => raw,
            Class::Signed => raw ^ sign,
            Class::Float(infinity, quiet) => {
                let magnitude = raw & (sign - 1);
                let raw = if self.zeros & (magnitude == 0) { 0 } else { raw };
                let raw = if self.nans & (magnitude > infinity) { quiet } else { raw };
                raw ^ if raw & sign == 0 { sign } else { self.mask() }
            }
        };
        word ^ if self.descending { self.mask() } else { 0 }
    }

    /// Does the same as [`word`](Self::word) for at most 32 bits, of which a vector holds twice as many.
    #[inline(always)]
    fn narrow(self) -> impl Fn(u32) -> u32 + Copy {
        let (sign, mask) = (1u32 << (self.bits - 1), self.mask() as u32);
        let (infinity, quiet) = match self.class {
            Class::Float(infinity, quiet) if self.nans => (infinity as u32, quiet as u32),
            _ => (u32::MAX, 0),
        };
        let zero = if self.zeros { 0 } else { sign };
        // The bits to flip in elements without a sign and with a sign.
        let turn = if self.descending { mask } else { 0 };
        let [plain, signed] = match self.class {
            Class::Unsigned => [turn, turn],
            Class::Signed => [turn ^ sign, turn ^ sign],
            Class::Float(..) => [turn ^ sign, turn ^ mask],
        };
        move |raw| {
            let magnitude = raw & (sign - 1);
            let raw = if magnitude == 0 { raw & zero } else { raw };
            let raw = if magnitude > infinity { quiet } else { raw };
            raw ^ if raw & sign == 0 { plain } else { signed }
        }
    }

    /// Returns the bits from which a word was made.
    #[inline(always)]
    pub(super) fn raw(self, word: u64) -> u64 {
        let sign = 1 << (self.bits - 1);
        let word = if self.descending { !word & self.mask() } else { word };
        match self.class {
            Class::Unsigned => word,
            Class::Signed => word ^ sign,
            Class::Float(..) if word & sign == 0 => !word & self.mask(),
            Class::Float(..) => word & !sign,
        }
    }

    /// Appends the result of `make` for each element's number and word. Returns false if an element has no place in the
    /// order.
    pub(super) fn words<T>(self, slice: Slice<'_>, out: &mut Vec<T>, make: impl Fn(usize, u64) -> T) -> bool {
        match self.bits {
            8 => self.each::<u8, T>(slice, out, make),
            16 => self.each::<u16, T>(slice, out, make),
            32 => self.each::<u32, T>(slice, out, make),
            _ => self.each::<u64, T>(slice, out, make),
        }
    }

    fn each<R: AnyBitPattern + Into<u64>, T>(
        self,
        slice: Slice<'_>,
        out: &mut Vec<T>,
        make: impl Fn(usize, u64) -> T,
    ) -> bool {
        let all: &[R] = &slice.view.elements()[slice.start..];
        pulp::Arch::new().dispatch(Each { order: self, all, step: slice.step, count: slice.count, out, make })
    }

    /// Returns the `k` smallest of all words with their numbers, `word << 32 | number`, in order; `None` if an element
    /// has no place in the order. For words of at most 32 bits.
    pub(super) fn first(self, slice: Slice<'_>, k: usize) -> Option<Vec<u64>> {
        match self.bits {
            8 => self.first_of::<u8>(slice, k),
            16 => self.first_of::<u16>(slice, k),
            _ => self.first_of::<u32>(slice, k),
        }
    }

    fn first_of<R: AnyBitPattern + Into<u64>>(self, slice: Slice<'_>, k: usize) -> Option<Vec<u64>> {
        let all: &[R] = &slice.view.elements()[slice.start..];
        pulp::Arch::new().dispatch(First { order: self, all, step: slice.step, count: slice.count, k })
    }

    /// Returns the magnitude above which a number is a NaN without a place in the order. If NaNs have places, no
    /// magnitude is above.
    fn floor(self) -> u64 {
        match self.class {
            Class::Float(infinity, _) if self.partial => infinity,
            _ => u64::MAX,
        }
    }
}

// The computations of these structs are compiled for the CPU at hand. For closures that only works if they are short.

/// Appends the result of `make` for each element's number and word.
struct Each<'a, R, T, F> {
    order: Order,
    all: &'a [R],
    step: usize,
    count: usize,
    out: &'a mut Vec<T>,
    make: F,
}

impl<R: AnyBitPattern + Into<u64>, T, F: Fn(usize, u64) -> T> pulp::WithSimd for Each<'_, R, T, F> {
    type Output = bool;

    /// Returns whether all elements have a place in the order.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let Self { order, all, step, count, out, make } = self;
        let (floor, magnitude) = (order.floor(), order.mask() >> 1);
        let mut nan = false;
        // With step 1 the loop vectorizes.
        if step == 1 {
            out.extend(all[..count].iter().enumerate().map(|(i, &raw)| make(i, order.word(raw.into()))));
            if order.partial {
                all[..count].iter().for_each(|&raw| nan |= raw.into() & magnitude > floor);
            }
        } else {
            let elements = || all.iter().step_by(step).take(count).map(|&raw| raw.into());
            out.extend(elements().enumerate().map(|(i, raw)| make(i, order.word(raw))));
            elements().for_each(|raw: u64| nan |= raw & magnitude > floor);
        }
        !nan
    }
}

/// Finds the `k` smallest words of at most 32 bits.
struct First<'a, R> {
    order: Order,
    all: &'a [R],
    step: usize,
    count: usize,
    k: usize,
}

impl<R: AnyBitPattern + Into<u64>> pulp::WithSimd for First<'_, R> {
    type Output = Option<Vec<u64>>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Option<Vec<u64>> {
        /// The number of elements compared together.
        const BLOCK: usize = 64;
        let Self { order, all, step, count, k } = self;
        let floor = u32::try_from(order.floor()).unwrap_or(u32::MAX);
        let magnitude = (order.mask() >> 1) as u32;
        let word = order.narrow();
        let mut best: Vec<u64> = Vec::with_capacity(4 * k + BLOCK);
        // Only words up to `limit` can be among the first, because numbers ascend, so earlier elements win among equal
        // words.
        let (mut limit, mut open, mut nan) = (u32::MAX, k > 0, false);
        for start in (0..count).step_by(BLOCK) {
            let n = BLOCK.min(count - start);
            let mut raws = [0; BLOCK];
            if step == 1 {
                raws.iter_mut().zip(&all[start..start + n]).for_each(|(to, &raw)| *to = raw.into() as u32);
            } else {
                for (i, to) in raws[..n].iter_mut().enumerate() {
                    *to = all[(start + i) * step].into() as u32;
                }
            }
            raws.iter().for_each(|raw| nan |= raw & magnitude > floor);
            let words = raws.map(word);
            let mut any = false;
            words.iter().for_each(|&word| any |= word <= limit);
            if !(any & open) {
                continue;
            }
            let found = words[..n].iter().enumerate().filter(|w| *w.1 <= limit);
            best.extend(found.map(|(i, &word)| u64::from(word) << 32 | (start + i) as u64));
            if best.len() >= 4 * k {
                best.select_nth_unstable(k - 1);
                best.truncate(k);
                let last = (best[k - 1] >> 32) as u32;
                (limit, open) = (last.wrapping_sub(1), last > 0);
            }
        }
        best.sort_unstable();
        best.truncate(k);
        (!nan).then_some(best)
    }
}

/// Computes a routine from the elements of all operands, and stores the results in `memory`.
#[allow(unsafe_code, reason = "machine code takes addresses of elements")]
pub(super) fn computed<'a>(routine: &Routine, slices: &[Slice<'_>], memory: &'a mut Vec<u64>) -> Slice<'a> {
    let count = slices.first().map_or(0, |s| s.count);
    let element = routine.body().results.first().map_or(ElementType::I1, |&r| routine.body().arg_type(r));
    // Inputs that aren't read get a dangling address, and elements that aren't contiguous are copied.
    let mut places: Places = smallvec![std::ptr::without_provenance_mut(align_of::<u64>()); slices.len() + 1];
    let mut together: Vec<Vec<u64>> = Vec::new();
    for ((slice, place), _) in slices.iter().zip(&mut places).zip(routine.reads()).filter(|s| *s.1) {
        let bytes = slice.element.bytes();
        if slice.step == 1 {
            *place = read(&slice.view.bytes[slice.start * bytes..][..count * bytes]);
        } else {
            let mut words = vec![0u64; (count * bytes).div_ceil(size_of::<u64>())];
            slice.copy(&mut bytemuck::cast_slice_mut(&mut words)[..count * bytes]);
            *place = read(&words);
            together.push(words);
        }
    }
    memory.resize((count * element.bytes()).div_ceil(size_of::<u64>()), 0);
    if let Some(last) = places.last_mut() {
        *last = write(memory);
    }
    // SAFETY: every input that is read has `count` elements, and `memory` was resized for `count` results. Operands are
    // aligned.
    unsafe { routine.call(&places, count) };
    Slice { view: View { bytes: bytemuck::cast_slice(memory) }, element, start: 0, step: 1, count }
}

/// Appends the words of a key whose type doesn't consist of plain bits. Returns false as [`Order::words`] does.
pub(super) fn of_any(key: &Key, slice: Slice<'_>, out: &mut Vec<u64>) -> bool {
    let mut ordered = true;
    for i in 0..slice.count {
        let value = match (slice.view.get(slice.element, slice.start + i * slice.step), &key.source) {
            (Scalar::Float(v), Source::Canonical(_)) if v.is_nan() => Scalar::Float(f64::NAN),
            (Scalar::Float(0.0), Source::Canonical(_)) => Scalar::Float(0.0),
            (value, _) => value,
        };
        let word = match value {
            Scalar::Int(v) if key.ty.class() == ElementClass::Signed => (v as i64 as u64) ^ (1 << 63),
            Scalar::Int(v) => v as u64,
            Scalar::Float(v) | Scalar::Complex(v, _) => {
                ordered &= key.total || !v.is_nan();
                let v = if v == 0.0 && !key.total { 0.0 } else { v };
                let bits = v.to_bits();
                if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
            }
        };
        out.push(if key.descending { !word } else { word });
    }
    ordered
}
