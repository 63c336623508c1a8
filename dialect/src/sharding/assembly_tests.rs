//! Tests that every row arrives, in the smallest possible number of rounds.

use fastrand::Rng;

use super::*;

fn random_assembly(random: &mut Rng) -> Assembly {
    let count = random.usize(1..5);
    let sizes: SmallVec<[Option<i64>; 4]> =
        (0..count).map(|_| (random.u8(0..6) > 0).then(|| random.i64(1..40))).collect();
    let pieces = (0..random.usize(1..6)).map(|_| {
        let operand = random.usize(0..count);
        let size = sizes[operand].unwrap_or(12);
        let start = if sizes[operand].is_some() && random.bool() { random.i64(0..size) } else { 0 };
        let count = if random.bool() { size - start } else { random.i64(0..size - start + 1) };
        AssemblyPiece { operand, start, count, reversed: random.bool() && sizes[operand].is_some() }
    });
    let pieces = pieces.collect();
    Assembly { dim: 0, sizes, pieces }
}

/// Returns the rows in the result's shards after the exchange, each as an operand and its row.
fn exchanged(assembly: &Assembly, shards: i64) -> Vec<Option<(usize, i64)>> {
    let exchange = assembly.exchange(shards);
    let window = ShardDim::new(assembly.size(), shards).size();
    let mut rows = vec![None; (window * shards) as usize];
    let rounds = exchange.rounds.iter().map(|r| (r, false)).chain(exchange.own.iter().map(|r| (r, true)));
    for (round, own) in rounds {
        for (source, target) in round.pairs.iter() {
            assert!(source == target || !own);
            let sent = round.sends[source as usize].unwrap();
            let got = round.receives[target as usize].clone().unwrap();
            let shard = ShardDim::new(assembly.sizes[sent.operand].unwrap(), shards).size();
            assert!(sent.start >= 0 && sent.start <= (shard - round.rows).max(0), "{sent:?} {round:?}");
            for row in got.valid.clone() {
                let i = row - got.at;
                assert!((0..round.rows).contains(&i), "{got:?} {round:?}");
                let local = sent.start + if sent.reversed { round.rows - 1 - i } else { i };
                assert!((0..shard).contains(&local), "{sent:?} {got:?}");
                let place = &mut rows[(target * window + row) as usize];
                assert!(place.is_none(), "row {row} of {target} twice");
                *place = Some((sent.operand, source * shard + local));
            }
        }
        let sources = round.sends.iter().filter(|s| s.is_some()).count();
        assert_eq!((sources, round.pairs.len()), (round.receives.iter().filter(|r| r.is_some()).count(), sources));
    }
    rows
}

#[test]
fn every_row_arrives_once() {
    let mut random = Rng::with_seed(5);
    for _ in 0..20_000 {
        let (assembly, shards) = (random_assembly(&mut random), random.i64(1..9));
        let rows = exchanged(&assembly, shards);
        for (row, found) in (0..).zip(&rows) {
            let wanted = assembly.source(row).filter(|s| assembly.sizes[s.0].is_some());
            assert_eq!(*found, wanted, "row {row} of {assembly:?} in {shards}");
        }
    }
}

#[test]
fn there_are_as_many_rounds_as_a_device_has_runs() {
    let mut random = Rng::with_seed(6);
    for _ in 0..5_000 {
        let shards = random.i64(1..9);
        let transfers: Vec<Transfer> = (0..random.usize(0..24))
            .map(|_| Transfer {
                operand: 0,
                source: random.i64(0..shards),
                target: random.i64(0..shards),
                from: 0,
                to: 0,
                count: random.i64(1..9),
                reversed: false,
                nth: 0,
            })
            .collect();
        let most = (0..shards)
            .flat_map(|d| {
                let count = |f: &dyn Fn(&Transfer) -> i64| transfers.iter().filter(|t| f(t) == d).count();
                [count(&|t| t.source), count(&|t| t.target)]
            })
            .max()
            .unwrap_or(0);
        let rounds = colored(&transfers, shards, most.max(1));
        assert_eq!((rounds.len(), rounds.iter().map(Vec::len).sum::<usize>()), (most, transfers.len()));
        for round in &rounds {
            for side in [|t: &Transfer| t.source, |t: &Transfer| t.target] {
                let mut places: Vec<i64> = round.iter().map(side).collect();
                places.sort_unstable();
                assert!(places.windows(2).all(|w| w[0] != w[1]));
            }
        }
    }
}

#[test]
fn two_reversed_tensors_take_two_rounds_of_a_shard() {
    let piece = |operand| AssemblyPiece { operand, start: 0, count: 64, reversed: true };
    for shards in [4, 8, 12, 4096] {
        let piece = |operand| AssemblyPiece { count: 64 * shards, ..piece(operand) };
        let sizes = [Some(64 * shards); 2].into_iter().collect();
        let assembly = Assembly { dim: 0, sizes, pieces: [piece(1), piece(0)].into_iter().collect() };
        let exchange = assembly.exchange(shards);
        assert_eq!(exchange.moved().collect::<Vec<_>>(), [64, 64]);
        // The number of runs doesn't depend on the number of devices.
        assert!(exchange.rounds.iter().all(|r| r.pairs.runs().len() <= 4), "{:?}", exchange.rounds[0].pairs);
    }
}
