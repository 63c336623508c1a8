//! Tests of products of random sizes and layouts.

use super::*;

/// Tests products of integers, which are exact in any order, for every remainder and every layout.
fn are_exact<T: Vectors + From<i8> + PartialEq + std::fmt::Debug>(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..120 {
        let [left, right, out, is_turned] = [0; 4].map(|_| random.bool());
        let is_along_rows = if is_turned { left } else { !right };
        let limits = if is_along_rows { ALONG_ROWS } else { ALONG_COLUMNS };
        let few = random.usize(1..=limits.rows);
        let depth = random.usize(limits.depth..700);
        let many = limits.least.div_ceil(depth).max(few + 1).max(limits.columns) + random.usize(0..150);
        let [m, n] = if is_turned { [many, few] } else { [few, many] };
        let steps = |rows: usize, columns: usize, is_turned: bool| match is_turned {
            true => [1, rows as isize],
            false => [columns as isize, 1],
        };
        let (l, r, o) = (steps(m, depth, left), steps(depth, n, right), steps(m, n, out));
        let mut values = |count: usize| (0..count).map(|_| random.i8(-3..=3)).collect::<Vec<i8>>();
        let (lhs, rhs, before) = (values(m * depth), values(depth * n), values(m * n));
        let floats = |v: &[i8]| v.iter().map(|&v| T::from(v)).collect::<Vec<T>>();
        let (a, b) = (floats(&lhs), floats(&rhs));
        let adds = round % 3 == 0;
        let run = |threads| {
            let mut to = floats(&before);
            let product = Product {
                sizes: [m, n, depth],
                out: to.as_mut_ptr(),
                out_strides: o,
                adds,
                lhs: a.as_ptr(),
                lhs_strides: l,
                rhs: b.as_ptr(),
                rhs_strides: r,
            };
            // SAFETY: the tensors have these sizes and strides.
            assert!(unsafe { multiply(&product, threads) }, "{m} x {n} x {depth}");
            to
        };
        let got = run(1);
        assert_eq!(got, run(3), "{m} x {n} x {depth} on several threads");
        let at = |v: &[i8], steps: [isize; 2], i: usize, j: usize| {
            i32::from(v[(i as isize * steps[0] + j as isize * steps[1]) as usize])
        };
        for _ in 0..300 {
            let (i, j) = (random.usize(..m), random.usize(..n));
            let term = |k: usize| at(&lhs, l, i, k) * at(&rhs, r, k, j);
            let sum = (0..depth).map(term).sum::<i32>() + if adds { at(&before, o, i, j) } else { 0 };
            // The sums are integers of at most a few thousand, so two bytes represent them.
            let [low, high] = [sum.rem_euclid(100), sum.div_euclid(100)].map(|v| T::from(v as i8));
            let want = T::plus(T::times(high, T::from(100)), low);
            let got = got[(i as isize * o[0] + j as isize * o[1]) as usize];
            assert_eq!(got, want, "{m} x {n} x {depth} at {i}, {j}: {l:?} {r:?} {o:?}, adds {adds}");
        }
    }
}

#[test]
fn whole_numbers_are_exact() {
    are_exact::<f32>(1);
    are_exact::<f64>(2);
}

#[test]
fn others_are_left_to_the_library() {
    let values = vec![1f32; 64 * 4096];
    let mut out = vec![0f32; 4 * 32768];
    let mut product = |sizes: [usize; 3], lhs_strides, rhs_strides| {
        let (lhs, rhs) = (values.as_ptr(), values.as_ptr());
        let out = out.as_mut_ptr();
        let product = Product { sizes, out, out_strides: [64, 1], adds: false, lhs, lhs_strides, rhs, rhs_strides };
        // SAFETY: the largest offsets are inside `values` and `out`.
        unsafe { multiply(&product, 1) }
    };
    assert!(!product([64, 64, 4096], [4096, 1], [64, 1]), "many of both");
    assert!(!product([4, 32768, 8], [8, 1], [1, 8]), "short columns");
    assert!(!product([16, 4096, 16], [16, 1], [1, 16]), "short columns, one after the other");
    assert!(!product([1, 1, 1 << 17], [1 << 17, 1], [1, 1]), "one column");
    assert!(!product([4, 32, 100], [100, 1], [32, 1]), "a small operand");
    assert!(!product([4, 64, 1024], [1024, 1], [128, 2]), "nothing contiguous");
}
