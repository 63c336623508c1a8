//! Pseudorandom inputs from a seed.

use dialect::ir::{ElementClass, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

/// Pseudorandom tensors for each replica; replicas get different ones.
pub fn random_inputs(types: &[TensorType], seed: u64, replicas: usize) -> Vec<Vec<Literal>> {
    (0..replicas as u64).map(|replica| made_up(types, seed.wrapping_add(replica << 32))).collect()
}

/// Pseudorandom tensors, the same for the same seed on every machine: floats between -1 and 1 in steps of 1/64,
/// integers from 0 to 9, so that sums of a few thousand of them are exact in f32.
fn made_up(types: &[TensorType], seed: u64) -> Vec<Literal> {
    let one = |(i, ty): (usize, &TensorType)| {
        let mut state = seed ^ (i as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95);
        let mut next = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let mut float = move || (next() % 129) as f64 / 64.0 - 1.0;
        Literal::from_fn(ty, |_| match ty.element.class() {
            ElementClass::Bool => Scalar::Int(i128::from(float() > 0.0)),
            ElementClass::Signed | ElementClass::Unsigned => {
                let most = if ty.element.bits() < 8 { 1.0 } else { 9.0 };
                Scalar::Int(((float() + 1.0) / 2.0 * most).round() as i128)
            }
            ElementClass::Complex => Scalar::Complex(float(), float()),
            _ => Scalar::Float(float()),
        })
    };
    types.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::ElementType;

    #[test]
    fn made_up_values_are_small_and_follow_the_seed() {
        let types = [ElementType::F32, ElementType::I32, ElementType::UI8, ElementType::I1, ElementType::I2];
        let types = types.map(|e| TensorType::new(&[1000], e));
        let a = made_up(&types, 7);
        assert_eq!(a, made_up(&types, 7));
        assert_ne!(a, made_up(&types, 8));
        assert_eq!(random_inputs(&types, 7, 2)[0], a);
        assert_ne!(random_inputs(&types, 7, 2)[1], a);
        for (literal, (low, high)) in a.iter().zip([(-1.0, 1.0), (0.0, 9.0), (0.0, 9.0), (0.0, 1.0), (0.0, 1.0)]) {
            let values: Vec<f64> = (0..1000).map(|i| literal.get(i).as_f64()).collect();
            assert!(values.iter().all(|v| (low..=high).contains(v)));
            assert!(values.contains(&low) && values.contains(&high), "{literal:?}");
        }
    }
}
