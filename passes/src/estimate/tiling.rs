//! Padding to hardware tiles: the MXU's and the HBM layout's.
//!
//! Pad the local shard, never the global shape: sharding 1024 over 16 leaves 64, half an MXU tile. This waste is the
//! main reason why over-sharding gets slower even before communication dominates.

use super::chip::Chip;

/// Returns the smallest multiple of `tile` that is at least `size`; `u64::MAX` where it overflows.
pub fn padded(size: u64, tile: u64) -> u64 {
    size.checked_next_multiple_of(tile).unwrap_or(u64::MAX)
}

/// Returns the elements stored for an array whose last two dimensions are padded to `tile` (rows, lanes). A vector is
/// one row; a scalar one tile.
pub fn padded_elements(shape: &[u64], tile: [u64; 2]) -> u128 {
    let (outer, rows, lanes) = match shape {
        [] => (&[] as &[u64], 1, 1),
        [lanes] => (&[] as &[u64], 1, *lanes),
        [outer @ .., rows, lanes] => (outer, *rows, *lanes),
    };
    let minor = u128::from(padded(rows, tile[0])) * u128::from(padded(lanes, tile[1]));
    outer.iter().fold(minor, |elements, &size| elements.saturating_mul(u128::from(size)))
}

/// Returns the tile (rows, lanes) of arrays of `bits`-bit elements in the chip's HBM (JAX `get_sublane_tiling`, which
/// calls itself a heuristic): 8 rows for 32 and 16 bits, 32 and 64 for 8 and 4 before generation 7; from generation 7
/// on, as many as fit 32-bit sublanes.
pub fn hbm_tile(chip: &Chip, bits: u64) -> [u64; 2] {
    let rows = match bits {
        0..=4 => 64,
        5..=8 => 32,
        9..=16 if chip.generation >= 7 => 16,
        _ => 8,
    };
    [rows, 128]
}

/// Returns the bytes that an array takes in the chip's HBM, with its last two dimensions padded to the tile.
pub fn hbm_array_bytes(chip: &Chip, shape: &[u64], bits: u64) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    // Predicates take a byte each.
    let stored = if bits == 1 { 8 } else { u128::from(bits) };
    padded_elements(shape, hbm_tile(chip, stored as u64)).saturating_mul(stored).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_hbm() {
        let check = |chip: &str, shape: &[u64], bits, bytes| {
            assert_eq!(hbm_array_bytes(Chip::named(chip).unwrap(), shape, bits), bytes, "{chip} {shape:?} {bits}");
        };
        check("v5e", &[8, 128], 32, 4096);
        check("v5e", &[3, 9, 100], 32, 3 * 16 * 128 * 4);
        check("v5e", &[9, 128], 16, 16 * 128 * 2);
        check("v7x", &[9, 128], 16, 16 * 128 * 2);
        check("v7x", &[17, 128], 16, 32 * 128 * 2);
        check("v5e", &[17, 128], 16, 24 * 128 * 2);
        check("v5e", &[1, 1], 8, 32 * 128);
        check("v5e", &[1, 1], 1, 32 * 128);
        check("v5e", &[64, 128], 4, 64 * 128 / 2);
        check("v5e", &[130], 32, 8 * 256 * 4);
        check("v5e", &[4, 0], 32, 0);
        check("v5e", &[u64::MAX, u64::MAX, u64::MAX, u64::MAX], 32, u128::MAX.div_ceil(8));
    }
}
