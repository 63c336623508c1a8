//! Tests of rounding, and of products of bytes by every implementation that this processor supports.

use half::bf16;

use super::floats::near;
use super::*;

#[test]
fn the_nearest_bf16_of_any_bits() {
    let mut random = fastrand::Rng::with_seed(4);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE, 1e-45];
    // Halfway between two bf16, and next to that.
    let halfway = (0..0x300u32).map(|high| f32::from_bits((high << 17 | 0x8000) + high % 3 - 1));
    let any = (0..100_000).map(|_| f32::from_bits(random.u32(..)));
    for value in special.into_iter().chain(halfway).chain(any) {
        assert_eq!(near(value).to_bits(), bf16::from_f32(value).to_bits(), "{value:e}, {:08x}", value.to_bits());
    }
}

/// A product of bytes: sizes, element types, and whether each operand is stored transposed.
struct Case {
    sizes: [usize; 3],
    types: [ElementType; 3],
    turned: [bool; 2],
}

impl Case {
    fn random(random: &mut fastrand::Rng) -> Self {
        use ElementType::*;
        let operands = [I8, UI8, I4, UI4, I1];
        let operand = |random: &mut fastrand::Rng| operands[random.usize(..operands.len())];
        let results = [I8, UI8, I16, I32, UI32, I64];
        Self {
            sizes: [random.usize(1..40), random.usize(1..70), random.usize(1..1400)],
            types: [operand(random), operand(random), results[random.usize(..results.len())]],
            turned: [random.bool(), random.bool()],
        }
    }

    /// Computes the result's bytes by one implementation.
    fn run<T: Tile>(&self, lhs: &[u8], rhs: &[u8], threads: usize) -> Vec<u8> {
        let [m, n, k] = self.sizes.map(|size| size as isize);
        let [left, right] = self.turned;
        let ([down, along], [deep, across]) = (if left { [1, m] } else { [k, 1] }, if right { [1, k] } else { [n, 1] });
        let run = |size: isize, [lhs, rhs, out]: [isize; 3]| vec![Run { size: size as usize, lhs, rhs, out }];
        let loops = crate::kernels::gemm::Loops {
            batch: Vec::new(),
            rows: run(m, [down, 0, n]),
            columns: run(n, [0, across, 1]),
            contracted: run(k, [along, deep, 0]),
        };
        let lengths = [lhs.len(), rhs.len(), (m * n) as usize];
        let gemm = Gemm::of_loops(self.types, lengths, loops);
        let mut out = vec![0xAA; lengths[2] * self.types[2].bytes()];
        let source = |from: &[u8], element| Source { start: from.as_ptr(), element };
        let (lhs, rhs) = (source(lhs, self.types[0]), source(rhs, self.types[1]));
        Tiles { gemm: &gemm, lhs, rhs, out: out.as_mut_ptr() }.all::<T>(threads);
        out
    }

    /// Computes the result's bytes by the definition.
    fn defined(&self, lhs: &[u8], rhs: &[u8]) -> Vec<u8> {
        let [m, n, k] = self.sizes;
        let number = |byte: u8, element: ElementType| match element.class() {
            ElementClass::Signed => i64::from(byte as i8),
            _ => i64::from(byte),
        };
        let mut out = Vec::new();
        for (i, j) in (0..m * n).map(|at| (at / n, at % n)) {
            let left = |x: usize| number(lhs[if self.turned[0] { x * m + i } else { i * k + x }], self.types[0]);
            let right = |x: usize| number(rhs[if self.turned[1] { j * k + x } else { x * n + j }], self.types[1]);
            let sum: i64 = (0..k).map(|x| left(x) * right(x)).sum();
            out.extend_from_slice(&sum.to_le_bytes()[..self.types[2].bytes()]);
        }
        out
    }
}

#[test]
fn products_of_bytes_are_exact() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..60 {
        let case = Case::random(&mut random);
        let [m, n, k] = case.sizes;
        // Every third round uses only the smallest and the largest number of a type, the others any numbers.
        let extreme = round % 3 == 0;
        let mut operand = |count: usize, element: ElementType| -> Vec<u8> {
            let (low, high) = match element {
                ElementType::I8 => (-128, 127),
                ElementType::UI8 => (0, 255),
                ElementType::I4 => (-8, 7),
                ElementType::UI4 => (0, 15),
                _ => (0, 1),
            };
            (0..count)
                .map(|_| if extreme { if low < 0 { low } else { high } } else { random.i16(low..=high) } as u8)
                .collect()
        };
        let (lhs, rhs) = (operand(m * k, case.types[0]), operand(k * n, case.types[1]));
        let want = case.defined(&lhs, &rhs);
        let threads = 1 + round % 2;
        let about = (case.sizes, case.types, case.turned);
        assert!(case.run::<Integers<f32>>(&lhs, &rhs, threads) == want, "in floats: {about:?}");
        assert!(case.run::<Wrapping<i64>>(&lhs, &rhs, threads) == want, "in integers: {about:?}");
        let is_long = case.types[2].bits() > 32;
        assert!(is_long || case.run::<Wrapping<i32>>(&lhs, &rhs, threads) == want, "in short integers: {about:?}");
        assert!(Pairs::code().is_none() || case.run::<Bytes<Pairs>>(&lhs, &rhs, threads) == want, "pairs: {about:?}");
        assert!(Quads::code().is_none() || case.run::<Bytes<Quads>>(&lhs, &rhs, threads) == want, "quads: {about:?}");
    }
}
