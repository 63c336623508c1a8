//! Tests exchanges against the rows that every device must have.

use super::*;

/// Moves the rows of a dimension of numbers 0, 1, … as an exchange describes; rows that no device receives are `None`.
fn windows(exchange: &Exchange) -> Vec<Vec<Option<i64>>> {
    let (n, size) = (exchange.shards.shards, exchange.shards.size());
    let row = |device: i64, at: i64| {
        let global = device * size + at;
        (0..size).contains(&at).then_some(global).filter(|g| *g < exchange.shards.global)
    };
    let mut windows = vec![vec![None; exchange.window.rows as usize]; n as usize];
    let mut bring = |source: i64, target: i64, run: &Run, valid: &[Range<i64>]| {
        let (from, to) = (run.from.of(source as usize), run.to.of(target as usize));
        assert!(from >= 0 && from + run.rows <= size, "{run:?}");
        for r in valid[target as usize].clone() {
            let at = from + r - to;
            assert!((from..from + run.rows).contains(&at), "{run:?}");
            let slot = &mut windows[target as usize][r as usize];
            assert!(slot.is_none(), "two runs bring row {r}");
            *slot = row(source, at);
        }
    };
    if let Some(own) = &exchange.own {
        let valid = exchange.valid(own);
        (0..n).for_each(|d| bring(d, d, own, &valid));
    }
    for round in &exchange.rounds {
        assert_eq!(Pairs::of_runs(round.pairs.runs().iter().copied(), n).as_ref(), Some(&round.pairs));
        let valid = exchange.valid(round);
        round.pairs.iter().for_each(|(s, t)| bring(s, t, round, &valid));
    }
    windows
}

fn check(reach: Reach, shards: i64) {
    let Some(exchange) = Exchange::of(reach, shards) else { return };
    let windows = windows(&exchange);
    let iterations = ShardDim::new(reach.iterations, shards);
    for device in 0..shards {
        let (start, count) = iterations.valid(device);
        for i in start..start + count {
            for offset in reach.first..=reach.last {
                let at = reach.step * i + offset;
                if at.rem_euclid(reach.divisor) != 0 {
                    continue;
                }
                let at = at.div_euclid(reach.divisor);
                let place = at - exchange.window.start - device * exchange.window.advance;
                assert!((0..exchange.window.rows).contains(&place), "{reach:?} {shards}: row {at} of device {device}");
                let found = windows[device as usize][place as usize];
                let exists = (0..reach.size).contains(&at);
                assert_eq!(found, exists.then_some(at), "{reach:?} in {shards}: device {device}");
                assert!(exists || exchange.reads_outside);
            }
        }
    }
    // Each row is sent at most once to each device that needs it.
    let moved: i64 = exchange.moved().sum();
    assert!(moved <= (exchange.shards.size() + exchange.window.rows) * 3, "{reach:?} in {shards} moves {moved}");
}

#[test]
fn every_device_gets_the_rows_it_reads() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let divisor = if random.bool() { 1 } else { random.i64(1..4) };
        let step = if random.u8(0..5) == 0 { -1 } else { random.i64(1..4) };
        let size = random.i64(1..40);
        let first = random.i64(-12..12);
        let reach = Reach {
            iterations: random.i64(1..40),
            size,
            step,
            first: if step < 0 { size - 1 + first / 4 } else { first },
            last: 0,
            divisor,
        };
        let reach = Reach { last: reach.first + random.i64(0..6), ..reach };
        check(reach, random.i64(1..9));
    }
}

#[test]
fn a_stencil_sends_one_row_to_each_neighbor() {
    let reach = Reach { iterations: 64, size: 64, step: 1, first: -1, last: 1, divisor: 1 };
    let exchange = Exchange::of(reach, 8).unwrap();
    assert!(exchange.is_uniform());
    assert_eq!(exchange.moved().collect::<Vec<_>>(), [1, 1]);
    assert_eq!(exchange.window, RowWindow { start: -1, advance: 8, rows: 10 });
    let mut pairs: Vec<usize> = exchange.rounds.iter().map(|r| r.pairs.len()).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [7, 7]);
}

#[test]
fn strides_that_fit_move_nothing() {
    let odd = Reach { iterations: 32, size: 64, step: 2, first: 1, last: 1, divisor: 1 };
    assert_eq!(Exchange::of(odd, 8).unwrap().rounds, []);
    // A reversal swaps whole shards.
    let reverse = Reach { iterations: 64, size: 64, step: -1, first: 63, last: 63, divisor: 1 };
    let exchange = Exchange::of(reverse, 8).unwrap();
    assert_eq!(exchange.moved().collect::<Vec<_>>(), [8]);
    // Half of a tensor: each device gets its rows in one run.
    let half = Reach { iterations: 32, size: 64, step: 1, first: 0, last: 0, divisor: 1 };
    assert!(Exchange::of(half, 8).unwrap().moved().sum::<i64>() <= 8);
}
