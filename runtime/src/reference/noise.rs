//! Deliberate rounding errors: an evaluation that rounds differently, as other hardware, another order of summation or
//! another number of devices would. The differences between several such evaluations show, for each element, by how
//! much a correct program may change it.
//!
//! Errors are made op by op, as large as the op's own rounding. An exact operation (a maximum, a selection, a sum of
//! two numbers that needs no rounding) gets no error. An operation that rounds once moves to a neighboring number, an
//! elementary function by two numbers. A sum errs by a fraction of the *sum of absolute values* of its terms, because
//! partial sums do. A sum whose terms are multiples of one number and few enough to be exact in any order gets no
//! error. Later ops then amplify, cancel or decide on these errors as they would on real ones. That is why the effect
//! is measured rather than bounded: bounds that are propagated grow with every layer, until they allow any difference.
//!
//! An error is a hash of the computation. So equal computations err equally, and ties stay ties.

mod exact;

use std::hash::{Hash, Hasher};

use dialect::Rounding;
use dialect::eval::Lanes;
use dialect::ir::{ElementType, OpRef};
use dialect::kernel::{Arg, Body, External, Inst, Kernel};
use dialect::literal::Literal;
use dialect::scalar::{Scalar, ScalarOp};
use dialect::sharding::ReductionKind;
use rustc_hash::{FxHashSet, FxHasher};

use self::exact::{grain_of, is_exact, powers_of_two};

/// The kind of rounding error of an op's results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    /// The results are exact.
    Exact,
    /// One operation on each element, rounded once: inexact unless the exact result needs no rounding.
    Operation(ScalarOp),
    /// A formula of several functions, on each element: errs as if its operands had the error of a function, and by
    /// that error again.
    Formula,
    /// Errs by this many epsilons of the result.
    Relative(f64),
    /// Errs by a fraction of the sum of absolute values of this many terms.
    Sum(usize),
    /// Errs by an epsilon of the result for each of this many factors, unless all of them are powers of two or 0.
    Product(usize),
    /// Errs by a few epsilons of the largest element of the result.
    Norm,
}

/// The error of an elementary function in epsilons. In types narrower than f32 it is computed in a wider type.
const FUNCTION: f64 = 2.0;
/// The error of whole algorithms such as a Fourier transform, in epsilons of the largest element.
const ALGORITHM: f64 = 4.0;

impl Source {
    /// Returns the kind of rounding error of the op's results.
    pub(super) fn of(op: OpRef<'_>) -> Self {
        let inexact = |ty: ElementType| ty.is_float() || ty.is_complex();
        if !op.result_types().any(|ty| ty.tensor().is_some_and(|t| inexact(t.element))) {
            return Self::Exact;
        }
        let reduction = op.def().reduction(op);
        match op.def().kernel(op) {
            Kernel::None | Kernel::Control | Kernel::External(External::PartitionId | External::ReplicaId) => {
                Self::Exact
            }
            Kernel::Nest(nest) => {
                let terms: i64 = nest.loops[nest.parallel..].iter().product();
                let operations = || {
                    nest.body
                        .insts
                        .iter()
                        .filter_map(|inst| if let Inst::Op { op, .. } = inst { Some(*op) } else { None })
                };
                let rounding = operations().filter(|o| o.rounding() != Rounding::Exact).count();
                let function = operations().any(|o| o.rounding() == Rounding::Approximate);
                match operations().next() {
                    _ if rounding == 0 => Self::Exact,
                    _ if terms > 1 && (reduction == Some(ReductionKind::Sum) || gathers(&nest.body, ScalarOp::Add)) => {
                        Self::Sum(terms as usize)
                    }
                    _ if terms > 1 && gathers(&nest.body, ScalarOp::Mul) => Self::Product(terms as usize),
                    _ if terms > 1 => Self::Relative(terms as f64),
                    Some(one) if !function && nest.body.insts.len() == 1 && op.def().elementwise() => {
                        Self::Operation(one)
                    }
                    _ if function && op.def().elementwise() && nest.body.insts.len() > 1 => Self::Formula,
                    _ if function => Self::Relative(FUNCTION),
                    _ => Self::Relative(rounding as f64),
                }
            }
            Kernel::External(kind) => match (reduction, kind) {
                (Some(ReductionKind::Sum), _) => {
                    let sizes = op.operand_types().filter_map(|ty| ty.tensor()?.elements());
                    Self::Sum(sizes.max().unwrap_or(1))
                }
                (Some(_), _) | (None, External::Collective) => Self::Exact,
                (None, External::Scatter(_)) => Self::Relative(FUNCTION),
                (None, External::SelectAndScatter(s))
                    if s.scatter.as_ref().is_some_and(|b| gathers(b, ScalarOp::Add)) =>
                {
                    Self::Sum(s.windows.iter().map(|w| w.size as usize).product())
                }
                (None, _) => Self::Norm,
            },
        }
    }
}

/// Returns whether each result of a loop's body is `op` of its accumulator and of a value that depends on no
/// accumulator.
fn gathers(body: &Body, op: ScalarOp) -> bool {
    let free = |arg: &Arg| {
        let mut open = vec![*arg];
        while let Some(arg) = open.pop() {
            match arg {
                Arg::Accumulator(_) => return false,
                Arg::Inst(k) => {
                    if let Inst::Op { args, .. } = &body.insts[k] {
                        open.extend(args);
                    }
                }
                Arg::Input(_) => {}
            }
        }
        true
    };
    let one = |(i, result): (usize, &Arg)| {
        let Arg::Inst(k) = *result else { return false };
        let Inst::Op { op: found, args, .. } = &body.insts[k] else { return false };
        let own = |arg: &&Arg| **arg == Arg::Accumulator(i);
        *found == op && args.iter().filter(own).count() == 1 && args.iter().filter(|arg| !own(arg)).all(free)
    };
    !body.results.is_empty() && body.results.iter().enumerate().all(one)
}

/// Returns the operands with absolute values, so that the op sums absolute values. Operands that only decide which
/// values are summed are unchanged.
pub(super) fn summands(op: OpRef<'_>, operands: &[Lanes]) -> Vec<Lanes> {
    let decides = usize::from(matches!(op.def().kernel(op), Kernel::External(External::SelectAndScatter(_))));
    let of = |(i, lanes): (usize, &Lanes)| if i < decides { lanes.clone() } else { magnitudes(lanes) };
    operands.iter().enumerate().map(of).collect()
}

/// Returns the absolute values of floats, and other values unchanged.
fn magnitudes(lanes: &Lanes) -> Lanes {
    let of = |literal: &Literal| {
        let size = |value: Scalar| match value {
            Scalar::Float(v) => Scalar::Float(v.abs()),
            Scalar::Complex(re, im) => Scalar::Complex(re.hypot(im), 0.0),
            int => int,
        };
        map(literal, size)
    };
    lanes.iter().map(|lane| lane.as_ref().map(of)).collect()
}

/// Returns floats with the error of a function. The error of each is a hash of the float.
pub(super) fn shifted(seed: u64, lanes: &Lanes) -> Lanes {
    let of = |literal: &Literal| {
        let epsilon = literal.element.epsilon()
            * if literal.element.epsilon() <= ElementType::F32.epsilon() { FUNCTION } else { 0.0 };
        let off = |value: Scalar| match value {
            Scalar::Float(v) => {
                let mut hasher = FxHasher::default();
                (seed, v.to_bits()).hash(&mut hasher);
                Scalar::Float(v + v * epsilon * Random(hasher.finish()).signed()).round(literal.element)
            }
            other => other,
        };
        map(literal, off)
    };
    lanes.iter().map(|lane| lane.as_ref().map(of)).collect()
}

/// Returns the results of an op on one device with errors. `sums` are the op's results for the absolute values of its
/// operands, if it sums.
pub(super) fn disturb(
    seed: u64,
    op: OpRef<'_>,
    source: Source,
    operands: &[&Literal],
    results: Vec<Literal>,
    sums: Option<&[Literal]>,
) -> Vec<Literal> {
    let mut hasher = FxHasher::default();
    (seed, op.name()).hash(&mut hasher);
    let errors = Errors {
        source,
        operands,
        given: if op.def().elementwise() { operands.iter().map(|o| numbers(o)).collect() } else { Vec::new() },
        external: matches!(op.def().kernel(op), Kernel::External(_)),
        grain: if let Source::Sum(_) = source { grain_of(operands) } else { 0.0 },
        powers: matches!(source, Source::Product(_)) && operands.iter().all(|o| powers_of_two(o)),
        hasher,
    };
    let disturbed = |(i, result)| errors.disturbed(result, sums.and_then(|sums| sums.get(i)).map(numbers));
    results.into_iter().enumerate().map(disturbed).collect()
}

/// What the errors of an op on one device depend on.
struct Errors<'a> {
    source: Source,
    operands: &'a [&'a Literal],
    /// The operands of an elementwise op as floats.
    given: Vec<Vec<f64>>,
    /// Whether the op isn't a loop nest, so that its results may be elements of operands that it only moves.
    external: bool,
    /// For a sum: a number of which its terms are multiples.
    grain: f64,
    /// For a product: whether all factors are powers of two, by which multiplication is exact.
    powers: bool,
    hasher: FxHasher,
}

/// What the errors of one result depend on.
struct OfResult<'a> {
    errors: &'a Errors<'a>,
    result: &'a Literal,
    epsilon: f64,
    /// Whether the type has at most the precision of f32. Narrower types are computed in wider ones.
    wide: bool,
    /// The elements of operands of the same type.
    held: FxHashSet<&'a [u8]>,
    /// The largest absolute value of the result.
    norm: f64,
    /// The sum of absolute values for each element.
    sums: Option<Vec<f64>>,
}

impl Errors<'_> {
    /// Returns a result with errors.
    fn disturbed(&self, result: Literal, sums: Option<Vec<f64>>) -> Literal {
        let (element, shape) = (result.element, &result.shape);
        let epsilon = element.epsilon();
        if epsilon == 0.0 {
            return result;
        }
        let same = self.operands.iter().filter(|o| self.external && o.element == element);
        let held = same.flat_map(|o| (0..stored(o)).map(|i| o.element_bytes(i))).collect();
        let sizes = (0..stored(&result)).filter(|_| self.source == Source::Norm).map(|i| size(result.get(i)));
        let norm = sizes.filter(|s| s.is_finite()).fold(0.0, f64::max);
        let all_splats = result.is_splat()
            && sums.as_ref().is_none_or(|s| s.len() == 1)
            && self.operands.iter().all(|o| stored(o) == 1);
        let wide = epsilon <= ElementType::F32.epsilon();
        let of = OfResult { errors: self, result: &result, epsilon, wide, held, norm, sums };
        let complex = |i: usize| {
            let value = result.get(i);
            let Scalar::Complex(re, im) = value else { return value };
            let (re, im) = of.element(i, (re, im), size(value));
            Scalar::Complex(re, im)
        };
        let real = |i: usize, value: f64| of.element(i, (value, 0.0), value.abs()).0;
        let all = 0..result.len();
        match (result.stored_floats(), self.source) {
            (Some(values), _) if all_splats => Literal::splat(element, shape, Scalar::Float(real(0, values[0]))),
            (Some(values), Source::Operation(op)) => {
                // A loop, because closures are not inlined here.
                let mut moved = Vec::with_capacity(all.len());
                for i in all {
                    moved.push(of.rounded_otherwise(op, i, at(&values, i)));
                }
                Literal::from_floats(element, shape, moved)
            }
            (Some(values), _) => Literal::from_floats(element, shape, all.map(|i| real(i, at(&values, i)))),
            (None, _) if all_splats => Literal::splat(element, shape, complex(0)),
            (None, _) => Literal::from_scalars(element, shape, all.map(complex)),
        }
    }
}

impl OfResult<'_> {
    /// Returns element `i` with an error, given its value and size; of a real number the imaginary part is 0.
    fn element(&self, i: usize, (re, im): (f64, f64), size: f64) -> (f64, f64) {
        let sum = self.sums.as_ref().map_or(size, |s| at(s, i));
        // An element that is also an element of an operand, and isn't a sum of several, was moved and not computed.
        if self.errors.external && sum == size && self.held.contains(self.result.element_bytes(i)) {
            return (re, im);
        }
        let by = self.epsilons(i, re, size, sum);
        if by == 0.0 || !by.is_finite() {
            return (re, im);
        }
        let is_complex = self.result.element.is_complex();
        let mut hasher = self.errors.hasher.clone();
        hasher.write_u64(re.to_bits());
        if is_complex {
            hasher.write_u64(im.to_bits());
        }
        if self.sums.is_some() {
            hasher.write_u64(sum.to_bits());
        }
        self.errors.given.iter().for_each(|o| hasher.write_u64(at(o, i).to_bits()));
        let mut random = Random(hasher.finish());
        let moved = re + random.signed() * by * self.epsilon;
        (moved, if is_complex { im + random.signed() * by * self.epsilon } else { im })
    }

    /// Returns the error of element `i` in epsilons, given its real part, its size and its sum of absolute values.
    fn epsilons(&self, i: usize, re: f64, size: f64, sum: f64) -> f64 {
        let (given, element, wide) = (&self.errors.given, self.result.element, self.wide);
        match self.errors.source {
            Source::Exact => 0.0,
            Source::Operation(op)
                if element.is_float() && is_exact(op, operand(given, 0, i), operand(given, 1, i), re, element) =>
            {
                0.0
            }
            Source::Operation(_) => size,
            Source::Product(_) if self.errors.powers => 0.0,
            Source::Product(factors) => size * if wide { factors as f64 } else { 1.0 },
            Source::Formula => size * if wide { FUNCTION } else { 1.0 },
            Source::Relative(by) => size * if wide { by } else { 1.0 },
            Source::Sum(_) if sum * self.epsilon / 2.0 <= self.errors.grain => 0.0,
            // Partial sums are rounded too. A running sum of n terms errs by about sqrt(n) / 6 epsilons of the sum of
            // absolute values; types narrower than f32 are summed in wider ones and rounded when devices combine their
            // sums.
            Source::Sum(terms) if wide => size.max(sum * (0.5 + (terms as f64).sqrt() / 4.0)),
            Source::Sum(_) => size.max(sum / 4.0),
            Source::Norm => self.norm * ALGORITHM,
        }
    }

    /// Returns `value`, element `i` of the result of one operation on real floats, with an error. Does what the general
    /// case does in less time, because most ops of programs are such operations.
    #[inline(always)]
    fn rounded_otherwise(&self, op: ScalarOp, i: usize, value: f64) -> f64 {
        let (operands, element) = (&self.errors.given, self.result.element);
        let exact = value == 0.0 || !value.is_finite();
        if exact || is_exact(op, operand(operands, 0, i), operand(operands, 1, i), value, element) {
            return value;
        }
        let mut hasher = self.errors.hasher.clone();
        hasher.write_u64(value.to_bits());
        operands.iter().for_each(|o| hasher.write_u64(at(o, i).to_bits()));
        value + Random(hasher.finish()).signed() * value.abs() * self.epsilon
    }
}

/// Returns whether a run with this seed rounds sums after every term, as hardware does. If the terms are alike, every
/// rounding goes in the same direction. Every second run does.
pub(super) fn rounds_sums(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// Returns whether a run with this seed replaces subnormal floats by zeros: every second one does.
pub(super) fn flushes(seed: u64) -> bool {
    seed % 2 == 1
}

/// Returns the value with subnormal elements replaced by zeros, as native code does by default. f16 is unchanged,
/// because it is computed in f32, where its subnormal numbers are normal.
pub(super) fn flushed(literal: Literal) -> Literal {
    use ElementType::{BF16, C64, C128, F32, F64};
    let least = match literal.element {
        BF16 | F32 | C64 => f64::from(f32::MIN_POSITIVE),
        F64 | C128 => f64::MIN_POSITIVE,
        _ => return literal,
    };
    let part = |v: f64| if v.abs() < least { 0f64.copysign(v) } else { v };
    let whole = |value: Scalar| match value {
        Scalar::Float(v) => Scalar::Float(part(v)),
        Scalar::Complex(re, im) => Scalar::Complex(part(re), part(im)),
        int => int,
    };
    let subnormal = |v: f64| v != 0.0 && v.abs() < least;
    let any = match literal.stored_floats() {
        Some(all) => all.into_iter().any(subnormal),
        None => (0..stored(&literal)).any(|i| match literal.get(i) {
            Scalar::Complex(re, im) => subnormal(re) || subnormal(im),
            value => subnormal(value.as_f64()),
        }),
    };
    if any { map(&literal, whole) } else { literal }
}

/// Returns the stored elements as floats: the values of integers, the real parts of complex numbers.
fn numbers(literal: &Literal) -> Vec<f64> {
    literal.stored_floats().unwrap_or_else(|| (0..stored(literal)).map(|i| literal.get(i).as_f64()).collect())
}

/// Returns element `i` of stored elements.
#[inline(always)]
fn at(stored: &[f64], i: usize) -> f64 {
    stored[i.min(stored.len() - 1)]
}

/// Returns the number of stored elements: one for a splat.
fn stored(literal: &Literal) -> usize {
    literal.stored_bytes().len() / literal.element.bytes().max(1)
}

fn map(literal: &Literal, f: impl Fn(Scalar) -> Scalar) -> Literal {
    let (element, shape) = (literal.element, &literal.shape);
    match literal.stored_floats() {
        _ if literal.is_splat() => Literal::splat(element, shape, f(literal.get(0))),
        Some(all) => Literal::from_floats(element, shape, all.into_iter().map(|v| f(Scalar::Float(v)).as_f64())),
        None => Literal::from_scalars(element, shape, (0..literal.len()).map(|i| f(literal.get(i)))),
    }
}

fn size(value: Scalar) -> f64 {
    match value {
        Scalar::Complex(re, im) => re.hypot(im),
        other => other.as_f64().abs(),
    }
}

/// Returns element `i` of operand `k`; 0 if there is no such operand.
#[inline(always)]
fn operand(operands: &[Vec<f64>], k: usize, i: usize) -> f64 {
    operands.get(k).map_or(0.0, |o| at(o, i))
}

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    /// Returns a number between -1 and 1.
    fn signed(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-52) - 1.0
    }
}
