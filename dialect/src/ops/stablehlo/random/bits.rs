//! The counter-based generators of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", and the order in which
//! XLA stores their words in a tensor.

use crate::ir::ElementType;
use crate::kernel::threefry_split;
use crate::literal::Indices;

/// Returns two words from a counter and a key: Threefry-2x32 with 20 rounds.
fn threefry(counter: u64, key: u64) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let [k0, k1] = halves(key);
    let keys = [k0, k1, k0 ^ k1 ^ 0x1BD1_1BDA];
    let mut x = halves(counter);
    x = [x[0].wrapping_add(keys[0]), x[1].wrapping_add(keys[1])];
    for group in 0..5 {
        for r in ROTATIONS[group % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(r) ^ x[0];
        }
        let next = group + 1;
        x[0] = x[0].wrapping_add(keys[next % 3]);
        x[1] = x[1].wrapping_add(keys[(next + 1) % 3]).wrapping_add(next as u32);
    }
    x
}

/// Returns four words from a counter and a key: Philox-4x32 with 10 rounds.
fn philox(counter: u128, key: u64) -> [u32; 4] {
    let [mut k0, mut k1] = halves(key);
    let mut x = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    for _ in 0..10 {
        let product = |by: u64, word: u32| halves(by * u64::from(word));
        let ([low0, high0], [low1, high1]) = (product(0xD251_1F53, x[0]), product(0xCD9E_8D57, x[2]));
        x = [high1 ^ x[1] ^ k0, low1, high0 ^ x[3] ^ k1, low0];
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    x
}

/// Returns the low and the high word.
fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn whole(words: [u32; 2]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

/// Returns Threefry's bits for a tensor of this shape, at most 64 per element, and the counter afterwards.
pub(super) fn threefry_bits(key: u64, counter: u64, element: ElementType, shape: &[i64]) -> (Vec<u64>, u64) {
    let count = |shape: &[i64]| shape.iter().map(|&d| d.max(0) as u64).product::<u64>();
    let n = count(shape);
    if element.bits() == 64 {
        let bits = (0..n).map(|i| whole(threefry(counter.wrapping_add(i), key))).collect();
        return (bits, counter.wrapping_add(n));
    }
    // A counter's two words are adjacent along the first even dimension, or else along the largest.
    let Some(split) = threefry_split(shape) else {
        return (vec![threefry(counter, key)[0].into()], counter.wrapping_add(1));
    };
    let mut half = shape.to_vec();
    half[split] = half[split].max(0).div_euclid(2) + half[split].max(0).rem_euclid(2);
    let number =
        |at: &[i64]| at.iter().zip(&half).fold(0u64, |n, (&i, &d)| n.wrapping_mul(d as u64).wrapping_add(i as u64));
    let bits = Indices::of(shape).map(|mut at| {
        let word = at[split] % 2;
        at[split] /= 2;
        threefry(counter.wrapping_add(number(&at)), key)[word as usize].into()
    });
    (bits.collect(), counter.wrapping_add(count(&half)))
}

/// Returns Philox's bits for `n` elements, at most 64 each, and the counter afterwards.
pub(super) fn philox_bits(key: u64, counter: u128, element: ElementType, n: u64) -> (Vec<u64>, u128) {
    let per_block = if element.bits() == 64 { 2 } else { 4 };
    let blocks = n.div_ceil(per_block);
    let mut bits = Vec::new();
    for block in 0..blocks {
        let words = philox(counter.wrapping_add(block.into()), key);
        match per_block {
            2 => bits.extend([whole([words[0], words[1]]), whole([words[2], words[3]])]),
            _ => bits.extend(words.map(u64::from)),
        }
    }
    bits.truncate(n as usize);
    (bits, counter.wrapping_add(blocks.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the test vectors that the generators' authors publish.
    #[test]
    fn known_answers() {
        assert_eq!(threefry(0, 0), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry(u64::MAX, u64::MAX), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox(u128::MAX, u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }
}
