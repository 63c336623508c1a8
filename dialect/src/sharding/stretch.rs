//! Exchanges of many shards derived from those of a few.
//!
//! If windows advance by the size of a shard, forward or backward, all devices except those at the ends do the same. So
//! an exchange of thousands of shards is one of a few shards, with devices added in the middle.

use super::{Exchange, Run};
use crate::sharding::{Reach, ShardDim};

/// Derives the exchange of `reach` in `shards` shards from one in at most `most` shards. `None` if there aren't more,
/// or if the devices in the middle don't all do the same.
pub(super) fn stretched(reach: Reach, shards: i64, most: i64) -> Option<Exchange> {
    let (window, dim) = (reach.window(shards)?, ShardDim::new(reach.size, shards));
    // Read backward, the device in the exact middle may use its own rows: adding an even number of devices keeps it
    // there.
    let backward = window.advance < 0;
    let most = most - i64::from(backward && (shards - most) % 2 != 0);
    let more = shards - most;
    if more < 1 {
        return None;
    }
    let iterations = ShardDim::new(reach.iterations, shards);
    let removed = dim.size().checked_mul(more)?;
    if window.advance.abs() != dim.size() {
        return None;
    }
    // Read backward, the first device's window is at the end of the dimension, which moves closer.
    let nearer = if backward { removed.checked_mul(reach.divisor)? } else { 0 };
    let few = Reach {
        iterations: reach.iterations.checked_sub(iterations.size().checked_mul(more)?)?,
        size: reach.size - removed,
        first: reach.first.checked_sub(nearer)?,
        last: reach.last.checked_sub(nearer)?,
        ..reach
    };
    if few.size < 1 || few.iterations < 1 {
        return None;
    }
    let same = |full: ShardDim, few: i64| ShardDim::new(few, most).size() == full.size();
    let few_window = few.window(most)?;
    let moves_alike = (few_window.advance, few_window.rows) == (window.advance, window.rows);
    if !same(dim, few.size) || !same(iterations, few.iterations) || !moves_alike {
        return None;
    }
    // From the first to the third quarter, all windows must be inside the dimension and all iterations must exist.
    let middle = most / 2;
    for device in [most / 4, middle + most / 4] {
        let start = few_window.start + device * few_window.advance;
        let inside = start >= 0 && start + few_window.rows <= few.size;
        if !inside || (device + 1) * iterations.size() > few.iterations {
            return None;
        }
    }
    let exchange = Exchange::by_device(few, most, false)?;
    if backward && exchange.own.is_some() {
        return None;
    }
    let run = |run: &Run| {
        let pairs = run.pairs.stretched(middle, more).filter(|_| run.is_uniform())?;
        Some(Run { pairs, ..run.clone() })
    };
    Some(Exchange {
        window,
        shards: dim,
        reads_outside: exchange.reads_outside,
        rounds: exchange.rounds.iter().map(run).collect::<Option<_>>()?,
        own: match &exchange.own {
            Some(own) => Some(run(own)?),
            None => None,
        },
        reach,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_in_the_middle_do_what_their_neighbors_do() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut found = [0, 0];
        for _ in 0..20_000 {
            let shards = random.i64(9..40);
            let divisor = random.i64(1..3);
            let step: i64 = [1, 1, 2, -1, -2][random.usize(..5)];
            let shard = random.i64(1..6);
            let iterations = shard * shards - random.i64(0..shard + 2);
            let size = shard * step.abs() / divisor * shards - random.i64(0..shard + 2);
            if size < 1 {
                continue;
            }
            let first = random.i64(-2 * shard..2 * shard) + if step < 0 { size - 1 } else { 0 };
            let reach = Reach { iterations, size, step, first, last: first + random.i64(0..2 * shard), divisor };
            let Some(exchange) = stretched(reach, shards, random.i64(8..shards)) else { continue };
            found[usize::from(step < 0)] += 1;
            assert_eq!(Some(exchange), Exchange::by_device(reach, shards, false), "{reach:?} in {shards}");
        }
        assert!(found[0] > 1_500 && found[1] > 200, "{found:?}");
    }

    #[test]
    fn a_stencil_on_many_devices_is_two_shifts() {
        let reach = Reach { iterations: 1 << 20, size: 1 << 20, step: 1, first: -1, last: 1, divisor: 1 };
        let exchange = Exchange::of(reach, 1 << 16).expect("a stencil");
        let runs: Vec<_> = exchange.rounds.iter().map(|r| (r.pairs.runs().len(), r.pairs.len())).collect();
        assert_eq!(runs, [(1, (1 << 16) - 1), (1, (1 << 16) - 1)]);
    }
}
