//! `rng_bit_generator`: counter-based generators over many counters at once, in loops that compilers vectorize.

use dialect::ir::{ElementClass, ElementType, TensorType};
use dialect::kernel::{RngAlgorithm, threefry_split};

use super::{Native, View, ViewMut, share};

/// The number of counters computed together.
const LANES: usize = 64;

struct RngBits {
    algorithm: RngAlgorithm,
    element: ElementType,
    /// For Threefry with elements narrower than 64 bits: the number of blocks, of rows in a block, and of elements in a
    /// row. Rows `2 i` and `2 i + 1` of a block have the two words of one run of counters.
    blocks: usize,
    rows: usize,
    row: usize,
}

pub(super) fn of(algorithm: RngAlgorithm, bits: &TensorType) -> Option<Box<dyn Native>> {
    let size = |d: &i64| (*d).max(0) as usize;
    let (blocks, rows, row) = match threefry_split(&bits.shape) {
        Some(split) => {
            let (before, rest) = bits.shape.split_at(split);
            (before.iter().map(size).product(), size(&rest[0]), rest[1..].iter().map(size).product())
        }
        None => (1, 1, 1),
    };
    // Consecutive blocks of even height count as one block.
    let (blocks, rows) = if rows % 2 == 0 { (1, blocks * rows) } else { (blocks, rows) };
    Some(Box::new(RngBits { algorithm, element: bits.element, blocks, rows, row }))
}

impl Native for RngBits {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let [state, bits] = results else { return Err("expected two results".to_owned()) };
        let from: &[u64] = operands[0].elements();
        let next: &mut [u64] = state.elements();
        next.copy_from_slice(from);
        let key = from[0];
        let width = self.element.bytes();
        let arch = pulp::Arch::new();
        match self.algorithm {
            RngAlgorithm::Philox => {
                // In a state of two words, the key is also the counter's upper half, which no carry reaches.
                let high = from.get(2).copied().unwrap_or(key);
                let counter = u128::from(from[1]) | u128::from(high) << 64;
                let per_counter = if width == 8 { 2 } else { 4 };
                let blocks = bits.bytes.len().div_ceil(per_counter * width);
                let after = counter.wrapping_add(blocks as u128);
                for (i, word) in next[1..].iter_mut().enumerate() {
                    *word = (after >> (64 * i)) as u64;
                }
                share(threads, per_counter * width * LANES, bits.bytes, |first, part| {
                    for (i, out) in part.chunks_mut(per_counter * width * LANES).enumerate() {
                        let counter = counter.wrapping_add(((first + i) * LANES) as u128);
                        self.put(arch.dispatch(Philox { counter, key }).as_flattened(), out);
                    }
                });
            }
            RngAlgorithm::ThreeFry => {
                let counter = from[1];
                let n = if width == 8 {
                    share(threads, width * LANES, bits.bytes, |first, part| {
                        for (i, out) in part.chunks_mut(width * LANES).enumerate() {
                            let counter = counter.wrapping_add(((first + i) * LANES) as u64);
                            let words = arch.dispatch(Threefry { counter, key });
                            self.put(interleaved(&words).as_flattened(), out);
                        }
                    });
                    bits.bytes.len() / width
                } else {
                    let pairs = self.rows.div_ceil(2);
                    for (block, out) in bits.bytes.chunks_mut((self.rows * self.row * width).max(1)).enumerate() {
                        let counter = counter.wrapping_add((block * pairs * self.row) as u64);
                        share(threads, 2 * self.row * width, out, |first, part| {
                            self.pairs(counter.wrapping_add((first * self.row) as u64), key, part);
                        });
                    }
                    self.blocks * pairs * self.row
                };
                next[1] = counter.wrapping_add(n as u64);
            }
        }
        Ok(())
    }
}

impl RngBits {
    /// Stores words in the elements of `out`. A narrow element gets the low bits of a word.
    fn put(&self, words: &[u32], out: &mut [u8]) {
        match (self.element.bytes(), self.element.bits()) {
            (4 | 8, _) => {
                let out: &mut [u32] = bytemuck::cast_slice_mut(out);
                out.copy_from_slice(&words[..out.len()]);
            }
            (2, _) => {
                bytemuck::cast_slice_mut(out).iter_mut().zip(words).for_each(|(o, &w): (&mut u16, _)| *o = w as u16);
            }
            (_, 8..) => out.iter_mut().zip(words).for_each(|(o, &w)| *o = w as u8),
            (_, bits) => {
                // The unused bits of an element repeat its sign.
                let signed = self.element.class() == ElementClass::Signed;
                let unused = 8 - bits;
                out.iter_mut().zip(words).for_each(|(o, &w)| {
                    let high = (w as u8) << unused;
                    *o = if signed { (high as i8 >> unused) as u8 } else { high >> unused };
                });
            }
        }
    }

    /// Fills pairs of rows: the first row with the first words of its counters, the second with the second words. The
    /// last row may have no partner.
    fn pairs(&self, mut counter: u64, key: u64, out: &mut [u8]) {
        let width = self.element.bytes();
        let arch = pulp::Arch::new();
        let threefry = |counter| arch.dispatch(Threefry { counter, key });
        if self.row == 1 {
            for out in out.chunks_mut(2 * LANES * width) {
                self.put(interleaved(&threefry(counter)).as_flattened(), out);
                counter = counter.wrapping_add(LANES as u64);
            }
            return;
        }
        for pair in out.chunks_mut(2 * self.row * width) {
            let (upper, lower) = pair.split_at_mut(self.row * width);
            let mut lower = lower.chunks_mut(LANES * width);
            for upper in upper.chunks_mut(LANES * width) {
                let words = threefry(counter);
                counter = counter.wrapping_add((upper.len() / width) as u64);
                self.put(&words[0], upper);
                if let Some(lower) = lower.next() {
                    self.put(&words[1], lower);
                }
            }
        }
    }
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn interleaved(words: &[[u32; LANES]; 2]) -> [[u32; 2]; LANES] {
    std::array::from_fn(|i| [words[0][i], words[1][i]])
}

// The computations of these structs are compiled for the CPU at hand.

/// The first and the second words of consecutive counters.
struct Threefry {
    counter: u64,
    key: u64,
}

impl pulp::WithSimd for Threefry {
    type Output = [[u32; LANES]; 2];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        threefry(self.counter, self.key)
    }
}

/// The four words of each of some consecutive counters.
struct Philox {
    counter: u128,
    key: u64,
}

impl pulp::WithSimd for Philox {
    type Output = [[u32; 4]; LANES];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        philox(self.counter, self.key)
    }
}

#[inline(always)]
fn threefry(counter: u64, key: u64) -> [[u32; LANES]; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let [k0, k1] = halves(key);
    let keys = [k0, k1, k0 ^ k1 ^ 0x1BD1_1BDA];
    let [mut x, mut y] = [[0u32; LANES]; 2];
    for i in 0..LANES {
        let [low, high] = halves(counter.wrapping_add(i as u64));
        (x[i], y[i]) = (low.wrapping_add(keys[0]), high.wrapping_add(keys[1]));
    }
    for group in 0..5 {
        for r in ROTATIONS[group % 2] {
            for i in 0..LANES {
                x[i] = x[i].wrapping_add(y[i]);
                y[i] = y[i].rotate_left(r) ^ x[i];
            }
        }
        let next = group + 1;
        let (a, b) = (keys[next % 3], keys[(next + 1) % 3].wrapping_add(next as u32));
        for i in 0..LANES {
            x[i] = x[i].wrapping_add(a);
            y[i] = y[i].wrapping_add(b);
        }
    }
    [x, y]
}

#[inline(always)]
fn philox(counter: u128, key: u64) -> [[u32; 4]; LANES] {
    let [mut k0, mut k1] = halves(key);
    let mut x = [[0u32; LANES]; 4];
    for i in 0..LANES {
        let counter = counter.wrapping_add(i as u128);
        for (w, x) in x.iter_mut().enumerate() {
            x[i] = (counter >> (32 * w)) as u32;
        }
    }
    let [mut a, mut b, mut c, mut d] = x;
    for _ in 0..10 {
        for i in 0..LANES {
            let first = 0xD251_1F53 * u64::from(a[i]);
            let second = 0xCD9E_8D57 * u64::from(c[i]);
            let (e, g) = ((second >> 32) as u32 ^ b[i] ^ k0, (first >> 32) as u32 ^ d[i] ^ k1);
            (a[i], b[i], c[i], d[i]) = (e, second as u32, g, first as u32);
        }
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    std::array::from_fn(|i| [a[i], b[i], c[i], d[i]])
}
