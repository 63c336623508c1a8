//! Pseudorandom inputs from a seed: ordinary values, or edge cases.

use dialect::ir::{ElementClass, ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

/// Returns pseudorandom tensors for each replica; replicas get different ones.
pub fn random_inputs(types: &[TensorType], seed: u64, replicas: usize) -> Vec<Vec<Literal>> {
    (0..replicas as u64).map(|replica| made_up(types, seed.wrapping_add(replica << 32), plain)).collect()
}

/// Returns the part of argument `i` of [`random_inputs`] that begins at `start` and has these sizes, without generating
/// the rest.
#[cfg(any(feature = "jit", test))]
pub(crate) fn random_piece(
    (i, ty): (usize, &TensorType),
    seed: u64,
    replica: usize,
    start: &[i64],
    sizes: &[i64],
) -> Literal {
    let seed = state(i, seed.wrapping_add((replica as u64) << 32));
    // Every element uses the same number of random numbers.
    let each = if ty.element.class() == ElementClass::Complex { 2 } else { 1 };
    let element = |index: dialect::ir::Shape| {
        let at = ty.shape.iter().zip(index.iter().zip(start)).fold(0, |at, (&d, (&i, &s))| at * d + i + s) as u64;
        let mut state = seed.wrapping_add((at * each).wrapping_mul(STEP));
        plain(ty.element, &mut || next(&mut state))
    };
    Literal::from_scalars(ty.element, sizes, dialect::literal::Indices::of(sizes).map(element))
}

/// Like [`random_inputs`], with an edge case in one element of eight: NaN, infinities and zeros of both signs, the
/// largest and smallest integers, positions far out of range. The other floats are multiples of a quarter, so that many
/// are equal.
pub fn edge_inputs(types: &[TensorType], seed: u64, replicas: usize) -> Vec<Vec<Literal>> {
    (0..replicas as u64).map(|replica| made_up(types, seed.wrapping_add(replica << 32), edge)).collect()
}

/// Returns tensors of the scalars that `scalar` generates from random numbers, the same for the same seed on every
/// machine.
fn made_up(
    types: &[TensorType],
    seed: u64,
    scalar: fn(ElementType, &mut dyn FnMut() -> u64) -> Scalar,
) -> Vec<Literal> {
    let one = |(i, ty): (usize, &TensorType)| {
        let mut state = state(i, seed);
        Literal::from_fn(ty, |_| scalar(ty.element, &mut || next(&mut state)))
    };
    types.iter().enumerate().map(one).collect()
}

/// The increment of SplitMix64's state per number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the state before the first number of argument `i`.
fn state(i: usize, seed: u64) -> u64 {
    seed ^ (i as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95)
}

/// Returns the next number of SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(STEP);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Generates floats between -1 and 1 in steps of 1/64 and integers from 0 to 9, so that sums of a few thousand of them
/// are exact in f32.
fn plain(element: ElementType, next: &mut dyn FnMut() -> u64) -> Scalar {
    let mut float = || (next() % 129) as f64 / 64.0 - 1.0;
    match element.class() {
        ElementClass::Bool => Scalar::Int(i128::from(float() > 0.0)),
        ElementClass::Signed | ElementClass::Unsigned => {
            let most = if element.bits() < 8 { 1.0 } else { 9.0 };
            Scalar::Int(((float() + 1.0) / 2.0 * most).round() as i128)
        }
        ElementClass::Complex => Scalar::Complex(float(), float()),
        _ => Scalar::Float(float()),
    }
}

fn edge(element: ElementType, next: &mut dyn FnMut() -> u64) -> Scalar {
    const FLOATS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1024.0];
    let float = |next: &mut dyn FnMut() -> u64| match next() % 8 {
        0 => FLOATS[(next() % FLOATS.len() as u64) as usize],
        _ => (next() % 9) as f64 / 4.0 - 1.0,
    };
    match element.class() {
        ElementClass::Bool => plain(element, next),
        class @ (ElementClass::Signed | ElementClass::Unsigned) => {
            let range = 1i128 << element.bits();
            let integers = match class {
                ElementClass::Signed => [-range / 2, range / 2 - 1, -1, (range / 2 - 1).min(100)],
                _ => [0, range - 1, range / 2, (range - 1).min(100)],
            };
            match next() % 8 {
                0 => Scalar::Int(integers[(next() % 4) as usize]),
                _ => plain(element, next),
            }
        }
        ElementClass::Complex => Scalar::Complex(float(next), float(next)),
        _ => Scalar::Float(float(next)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_values_are_small_and_follow_the_seed() {
        let types = [ElementType::F32, ElementType::I32, ElementType::UI8, ElementType::I1, ElementType::I2];
        let types = types.map(|e| TensorType::new(&[1000], e));
        let a = made_up(&types, 7, plain);
        assert_eq!(a, made_up(&types, 7, plain));
        assert_ne!(a, made_up(&types, 8, plain));
        assert_eq!(random_inputs(&types, 7, 2)[0], a);
        assert_ne!(random_inputs(&types, 7, 2)[1], a);
        for (literal, (low, high)) in a.iter().zip([(-1.0, 1.0), (0.0, 9.0), (0.0, 9.0), (0.0, 1.0), (0.0, 1.0)]) {
            let values: Vec<f64> = (0..1000).map(|i| literal.get(i).as_f64()).collect();
            assert!(values.iter().all(|v| (low..=high).contains(v)));
            assert!(values.contains(&low) && values.contains(&high), "{literal:?}");
        }
    }

    #[test]
    fn a_generated_piece_equals_that_part_of_the_whole() {
        for element in [ElementType::F32, ElementType::BF16, ElementType::I32, ElementType::I1, ElementType::C64] {
            let types = [TensorType::new(&[2], element), TensorType::new(&[5, 6, 7], element)];
            let whole = &random_inputs(&types, 9, 2)[1][1];
            let (start, sizes) = ([2, 0, 3], [3, 6, 2]);
            assert_eq!(random_piece((1, &types[1]), 9, 1, &start, &sizes), whole.piece(&start, &sizes), "{element:?}");
        }
        let scalar = TensorType::new(&[], ElementType::F32);
        assert_eq!(
            random_piece((0, &scalar), 9, 0, &[], &[]),
            random_inputs(std::slice::from_ref(&scalar), 9, 1)[0][0]
        );
    }

    #[test]
    fn edge_cases_are_among_the_values() {
        let types = [ElementType::F32, ElementType::I32, ElementType::UI8].map(|e| TensorType::new(&[1000], e));
        let made = &edge_inputs(&types, 3, 1)[0];
        let of = |i: usize| (0..1000).map(|at| made[i].get(at)).collect::<Vec<_>>();
        let floats: Vec<f64> = of(0).iter().map(|v| v.as_f64()).collect();
        let negative_zero = |v: &f64| *v == 0.0 && v.is_sign_negative();
        assert!(floats.iter().any(|v| v.is_nan()) && floats.iter().any(negative_zero));
        assert!([f64::INFINITY, f64::NEG_INFINITY, 0.25].iter().all(|v| floats.contains(v)));
        let integers = |wanted: &[i128], found: &[Scalar]| wanted.iter().all(|&v| found.contains(&Scalar::Int(v)));
        assert!(integers(&[i32::MIN.into(), i32::MAX.into(), -1, 100, 9], &of(1)));
        assert!(integers(&[0, 255, 128, 100, 9], &of(2)));
    }
}
