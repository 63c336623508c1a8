//! Checks ranges of positions against all positions, one by one.

use std::collections::BTreeSet;

use super::*;
use crate::literal::Indices;

/// Random expressions.
struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0.i64(0..n)
    }

    fn between(&mut self, lo: i64, hi: i64) -> i64 {
        self.0.i64(lo..=hi)
    }

    fn ranges(&mut self, n: usize) -> Vec<Range<i64>> {
        let mut range = || {
            let start = self.between(0, 7);
            start..start + self.between(1, 6)
        };
        (0..n).map(|_| range()).collect()
    }

    /// Returns a sum of loops.
    fn affine(&mut self, loops: usize) -> Index {
        (0..loops).fold(Index::Const(self.between(-9, 9)), |sum, l| {
            let c = if self.below(3) == 0 { 0 } else { self.between(-7, 7) };
            sum.plus(Index::Loop(l).times(c))
        })
    }

    /// Any expression without loads.
    fn index(&mut self, loops: usize, depth: usize) -> Index {
        if depth == 0 {
            return self.affine(loops);
        }
        let a = self.index(loops, depth - 1);
        match self.below(5) {
            0 => a.floor_div(self.between(1, 7)),
            1 => a.modulo(self.between(1, 9)),
            2 => {
                let lo = self.between(-5, 9);
                Index::Clamp(Box::new(a), lo, lo + self.between(-1, 12))
            }
            3 => a.plus(self.index(loops, depth - 1)),
            _ => a.times(self.between(-3, 4)),
        }
    }
}

/// Returns all positions of the loops in `ranges`.
fn each(ranges: &[Range<i64>]) -> Vec<Vec<i64>> {
    let sizes: Vec<i64> = ranges.iter().map(|r| r.end - r.start).collect();
    Indices::of(&sizes).map(|at| at.iter().zip(ranges).map(|(i, r)| i + r.start).collect()).collect()
}

fn value(index: &Index, loops: &[i64]) -> i64 {
    index.eval(loops, &mut |_, _| panic!("no loads here"))
}

/// Returns the smallest `Positions` that include these values.
fn tight(values: &BTreeSet<i64>) -> Option<Positions> {
    let (&first, &last) = (values.first()?, values.last()?);
    Some(Positions { first, last, step: values.iter().fold(0, |step, v| gcd(step, v - first)) })
}

#[test]
fn nothing_is_left_out() {
    let mut random = Random(fastrand::Rng::with_seed(1));
    let mut exact = 0;
    for case in 0..4000 {
        let (n, depth) = (1 + case % 3, case / 3 % 4);
        let (ranges, index) = (random.ranges(n), random.index(n, depth));
        let values: BTreeSet<i64> = each(&ranges).iter().map(|at| value(&index, at)).collect();
        let found = index.positions(&ranges);
        let message = || format!("{index:?} over {ranges:?}: {found:?} for {values:?}");
        assert!(values.iter().all(|&v| found.contains(v)), "{}", message());
        let best = tight(&values).expect("ranges aren't empty");
        assert!(depth > 0 || found == best, "{}", message());
        exact += usize::from(found == best);
        // The affine form of the expression has the same values.
        let sum = Affine::of(&index, &ranges).to_index();
        for at in each(&ranges) {
            assert_eq!(value(&sum, &at), value(&index, &at), "{index:?} as {sum:?} at {at:?}");
        }
    }
    assert!(exact > 2800, "only {exact} of 4000 are exact");
}

/// Returns the positions that an input reads, one by one, for each dimension.
fn read(input: &Input, ranges: &[Range<i64>]) -> Vec<BTreeSet<i64>> {
    let allowed = |at: &&Vec<i64>| input.guards.iter().all(|g| (g.lo..g.hi).contains(&value(&g.index, at)));
    let places = each(ranges);
    let inside: Vec<&Vec<i64>> = places.iter().filter(allowed).collect();
    input.index.iter().map(|i| inside.iter().map(|at| value(i, at)).collect()).collect()
}

fn input(index: Vec<Index>, guards: Vec<Guard>) -> Input {
    Input { guards, ..Input::of(0, index) }
}

#[test]
fn what_guards_exclude_is_not_read() {
    let mut random = Random(fastrand::Rng::with_seed(2));
    let (mut never, mut narrowed) = (0, 0);
    for case in 0..4000 {
        let n = 1 + case % 3;
        let ranges = random.ranges(n);
        let places = each(&ranges);
        // Guards that each involve one loop are exact; others, including guards on the position itself, may include too
        // many positions.
        let single = case % 2 == 0;
        let index = if single { random.affine(n) } else { random.index(n, case / 6 % 3) };
        let guards: Vec<Guard> = (0..random.between(1, 2))
            .map(|_| {
                let at = match random.below(3) {
                    _ if single => Index::Loop(random.below(n as i64) as usize).times([-3, -1, 1, 2][case / 2 % 4]),
                    0 => index.clone().plus(Index::Const(random.between(-3, 3))),
                    1 => random.affine(n),
                    _ => random.index(n, 1),
                };
                // The guard is mostly around a value that the expression takes.
                let lo = value(&at, &places[random.below(places.len() as i64) as usize]) - random.between(-1, 6);
                Guard { index: at, lo, hi: lo + random.between(1, 12) }
            })
            .collect();
        let input = input(vec![index], guards);
        let values = &read(&input, &ranges)[0];
        let found = input.positions(&ranges);
        let message = || format!("{input:?} over {ranges:?}: {found:?} for {values:?}");
        match (&found, tight(values)) {
            (None, best) => assert_eq!(best, None, "{}", message()),
            (Some(found), best) => {
                assert!(values.iter().all(|&v| found[0].contains(v)), "{}", message());
                assert!(!single || best == Some(found[0]), "{}", message());
                narrowed += usize::from(found[0] != input.index[0].positions(&ranges));
            }
        }
        never += usize::from(found.is_none());
    }
    assert!(never > 500 && narrowed > 1000, "{never} read nothing, {narrowed} were narrowed");
}

#[test]
fn windows_of_a_convolution() {
    // Windows of 3 at a stride of 2 over 16 elements with one element of padding: device 1 of 2 computes windows 4..8.
    let at = Index::Loop(0).times(2).plus(Index::Loop(1)).plus(Index::Const(-1));
    let guards = vec![Guard { index: at.clone(), lo: 0, hi: 16 }];
    let window = input(vec![at], guards);
    let reads = |windows: Range<i64>| window.positions(&[windows, 0..3]).map(|p| (p[0].first, p[0].last));
    assert_eq!([reads(0..4), reads(4..8)], [Some((0, 7)), Some((7, 15))]);
    assert_eq!(reads(9..12), None);
    assert_eq!(reads(4..4), None);
    // Windows of one read only every second element.
    let strided = input(vec![Index::Loop(0).times(2)], vec![]);
    assert_eq!(strided.positions(&[3..6, 0..1]).unwrap()[0], Positions { first: 6, last: 10, step: 2 });
    // Dilated by 3: every third position has an element.
    let at = Index::Loop(0).plus(Index::Loop(1));
    let element = at.clone().floor_div(3);
    let guards = vec![Guard { index: at.modulo(3), lo: 0, hi: 1 }, Guard { index: element.clone(), lo: 0, hi: 5 }];
    let dilated = input(vec![element], guards);
    assert_eq!(dilated.positions(&[0..20, 0..2]).unwrap()[0], Positions { first: 0, last: 4, step: 1 });
}

#[test]
fn what_a_table_says_is_not_known_until_it_is_clamped() {
    let row = Index::Load { operand: 1, index: vec![Index::Loop(0)] };
    assert_eq!(row.positions(&[0..4]), Positions::ALL);
    assert!(row.clone().times(-3).plus(Index::Const(5)).positions(&[0..4]).contains(-3 * (1 << 40) + 5));
    let start = Index::Clamp(Box::new(row), 0, 12).plus(Index::Loop(0));
    assert_eq!(start.positions(&[0..4]), Positions { first: 0, last: 15, step: 1 });
}

#[test]
fn numbers_that_overflow_stay_sound() {
    let (half, near) = (Positions { first: i64::MIN / 2, last: 3, step: 1 }, Positions::at(i64::MAX - 1));
    assert_eq!(half.times(3), Positions { first: i64::MIN, last: 9, step: 1 });
    assert_eq!(near.plus(near).last, i64::MAX);
    assert_eq!(Positions::ALL.within(0, 10), Some(Positions { first: 0, last: 9, step: 1 }));
    assert_eq!(Positions::ALL.modulo(6), Positions { first: 0, last: 5, step: 1 });
    assert_eq!((Positions::ALL.count(), Positions::at(2).count()), (u64::MAX, 1));
}
