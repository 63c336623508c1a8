//! Tests of random bits.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::{Case, text};

#[test]
fn random_bits_of_every_type_and_shape() {
    let mut random = fastrand::Rng::with_seed(7);
    let types = ["ui64", "i64", "ui32", "i32", "f32", "ui16", "bf16", "i8", "ui8", "i4", "ui4", "f64"];
    for round in 0..150 {
        let shape: Vec<i64> = match round {
            0 => vec![130, 3],
            1 => vec![3, 67, 65],
            2 => vec![5, 1001],
            3 => vec![100_000],
            _ => (0..random.usize(..4)).map(|_| random.i64(0..9)).collect(),
        };
        let (algorithm, words) = *random.choice([("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)].iter()).expect("one");
        let state = format!("tensor<{words}xui64>");
        let bits = text(&shape, types[round % types.len()]);
        let case = Case::of(&format!(
            "(%s: {state}) %a, %r = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, {bits})"
        ));
        let near_the_end = round % 3 == 0;
        let word = |_| Scalar::Int(if near_the_end { u64::MAX - random.u64(..40) } else { random.u64(..) }.into());
        case.check(&[Literal::from_scalars(ElementType::UI64, &[words], (0..words).map(word))]);
    }
}
