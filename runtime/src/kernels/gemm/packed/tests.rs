//! Tests of products of random sizes and layouts, by ranges of rows.

use super::super::Loops;
use super::*;

/// Returns a product of batches with random layouts of its three tensors, in which rows and columns, or the batch, may
/// be exchanged. Also returns the tensors' lengths.
fn random_product(random: &mut fastrand::Rng) -> (Gemm, [usize; 3]) {
    let [batch, rows] = [random.usize(1..4), random.usize(1..70)];
    let (columns, depth) = (random.usize(16..200), random.usize(1..700));
    let shared = random.bool();
    let (l, r, o) = (rows * depth, if shared { 0 } else { depth * columns }, rows * columns);
    let [left, right, out] = [0; 3].map(|_| random.bool());
    let steps = |rows: usize, columns: usize, turned: bool| match turned {
        true => (1, rows as isize),
        false => (columns as isize, 1),
    };
    let ((lr, lk), (rk, rc)) = (steps(rows, depth, left), steps(depth, columns, right));
    // Neighboring elements of the result are in one row, or else in one column.
    let (or, oc) = steps(rows, columns, out);
    let run = |size, lhs, rhs, out| Run { size, lhs, rhs, out };
    let loops = Loops {
        batch: vec![run(batch, l as isize, r as isize, o as isize)],
        rows: vec![run(rows, lr, 0, or)],
        columns: vec![run(columns, 0, rc, oc)],
        contracted: vec![run(depth, lk, rk, 0)],
    };
    let lengths = [batch * l, if shared { depth * columns } else { batch * r }, batch * o];
    (Gemm::of_loops([ElementType::F32; 3], lengths, loops), lengths)
}

#[test]
fn any_ranges_of_rows_have_the_bits_of_the_whole() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut kinds = [0; 3];
    for round in 0..300 {
        let (gemm, lengths) = random_product(&mut random);
        let Some(packed) = Packed::of(&gemm) else { continue };
        let near = packed.is_near();
        kinds[usize::from(near)] += 1;
        kinds[2] += usize::from(packed.exchanged);
        let whole = round % 2 == 0;
        let mut values = |n: usize| -> Vec<f32> {
            (0..n).map(|_| if whole { random.i32(-4..=4) as f32 } else { random.f32() - 0.5 }).collect()
        };
        let (lhs, rhs) = (values(lengths[0]), values(lengths[1]));
        let pointers = [lhs.as_ptr().cast::<u8>(), rhs.as_ptr().cast::<u8>()];
        let mut plain = vec![f32::NAN; lengths[2]];
        // SAFETY: the tensors have the `lengths` of the product.
        unsafe { gemm.run(pointers[0], pointers[1], plain.as_mut_ptr().cast(), 1) };
        let [left, right] = packed.sides().map(|side| pointers[side]);
        let mut panels = vec![f32::NAN; packed.bytes() / size_of::<f32>()];
        let lies = right;
        let right = if near {
            right
        } else {
            // SAFETY: `panels` has `packed.bytes()` bytes.
            unsafe { packed.pack(right, panels.as_mut_ptr().cast(), 1 + round % 3) };
            panels.as_ptr().cast()
        };
        let mut want = vec![f32::NAN; lengths[2]];
        // SAFETY: the tensors have the `lengths` of the product, and the panels were packed above.
        unsafe { packed.run(left, right, want.as_mut_ptr().cast(), 0..packed.rows()) };
        for (i, (a, b)) in want.iter().zip(&plain).enumerate() {
            // Sums of integers are exact in any order.
            let near = if whole { a.to_bits() == b.to_bits() } else { (a - b).abs() < 1e-4 };
            assert!(near, "element {i}: {a}, not {b}: {packed:?}");
        }
        let same = |got: &[f32], how: &str| {
            let same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{how}: {packed:?}");
        };
        let mut got = vec![f32::NAN; lengths[2]];
        let mut row = 0;
        while row < packed.rows() {
            let end = (row + random.usize(1..30)).min(packed.rows());
            // SAFETY: the tensors have the `lengths` of the product, and the panels were packed above.
            unsafe { packed.run(left, right, got.as_mut_ptr().cast(), row..end) };
            row = end;
        }
        same(&got, "by rows");
        let (mut got, alone) = (vec![f32::NAN; lengths[2]], packed.without_panels());
        for part in 0..3 {
            // SAFETY: the tensors have the `lengths` of the product; `lies` is the operand, which `alone` reads in
            // place.
            unsafe { alone.run_part(left, lies, got.as_mut_ptr().cast(), part, 3) };
        }
        same(&got, "without panels");
        for threads in 2..5 {
            got.fill(f32::NAN);
            for part in 0..threads {
                // SAFETY: the tensors have the `lengths` of the product, and the panels were packed above.
                unsafe { packed.run_part(left, right, got.as_mut_ptr().cast(), part, threads) };
            }
            same(&got, "on threads");
        }
    }
    assert!(kinds.iter().all(|&n| n > 20), "{kinds:?}");
}
