//! `mhlo.sharding`: the text form of a tensor's sharding in programs before Shardy. Source: XLA,
//! `HloSharding::ToString`.
//!
//! A tile assignment is an array of devices with one entry per tile. Its dimensions are those of the tensor, then those
//! along which tiles are copies or belong to a manual region. Here every dimension becomes a list of **runs** of device
//! numbers: `size` devices, `stride` apart, major first.

use dialect::sharding::MAX_DEVICES;

/// A run of `size` devices, `stride` apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DeviceRun {
    pub(super) stride: i64,
    pub(super) size: i64,
}

/// One sharding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum HloSharding {
    /// Every device has the whole tensor.
    Replicated,
    /// Each device's shard is defined by the program itself.
    Manual,
    /// One device has the tensor.
    Maximal(i64),
    /// Tiles.
    Tiled(Tiles),
}

/// Tiles and the devices that hold them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tiles {
    /// The runs that shard each dimension.
    pub(super) dims: Vec<Vec<DeviceRun>>,
    /// The runs of manual axes.
    pub(super) manual: Vec<DeviceRun>,
    /// Number of devices.
    pub(super) devices: i64,
    /// The order of devices where runs can't express it; then the runs are over positions in this list.
    pub(super) order: Option<Vec<i64>>,
}

/// Parses `{…}`; returns the shardings of a tuple's elements in order.
pub(super) fn read(text: &str) -> Result<Vec<HloSharding>, String> {
    let inner = braced(text.trim()).ok_or_else(|| format!("'{text}' is not a sharding: expected braces around it"))?;
    if inner.starts_with('{') {
        return parts(inner).into_iter().map(|part| one(part.trim())).collect();
    }
    Ok(vec![one(text.trim())?])
}

fn braced(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}').map(str::trim)
}

/// Splits at commas outside brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(&text[start..]);
    out
}

fn one(text: &str) -> Result<HloSharding, String> {
    let inner = braced(text).ok_or_else(|| format!("'{text}' is not a sharding: expected braces around it"))?;
    let inner = inner.split(" metadata=").next().unwrap_or(inner).trim();
    if let Some(rest) = inner.strip_prefix("devices=") {
        return tiled(rest).map(HloSharding::Tiled);
    }
    if let Some(device) = inner.strip_prefix("maximal device=") {
        let device = device.trim().parse().map_err(|_| format!("'{device}' is not a device number"))?;
        return Ok(HloSharding::Maximal(device));
    }
    match inner {
        "replicated" => Ok(HloSharding::Replicated),
        "manual" => Ok(HloSharding::Manual),
        _ => {
            Err(format!("the sharding '{text}' is not supported: expected replicated, manual, maximal or devices=[…]"))
        }
    }
}

fn numbers(text: &str) -> Result<Vec<i64>, String> {
    let numbers = text.split(',').map(|n| n.trim().parse::<i64>().ok().filter(|&n| n >= 0));
    numbers.collect::<Option<_>>().ok_or_else(|| format!("'{text}' is not a list of numbers"))
}

/// Parses a leading list in `open`…`close`; returns it and the rest of the text.
fn list(text: &str, open: char, close: char) -> Result<(Vec<i64>, &str), String> {
    let inner = text.strip_prefix(open).and_then(|t| t.split_once(close));
    let (inner, rest) = inner.ok_or_else(|| format!("expected {open}…{close} at '{text}'"))?;
    Ok((numbers(inner)?, rest))
}

fn tiled(text: &str) -> Result<Tiles, String> {
    let (tiles, rest) = list(text, '[', ']')?;
    let devices = tiles.iter().try_fold(1i64, |n, &t| n.checked_mul(t)).filter(|n| (1..=MAX_DEVICES).contains(n));
    let devices = devices.ok_or_else(|| format!("expected a supported number of tiles, found {tiles:?}"))?;
    let (runs, order, rest) = if let Some(rest) = rest.strip_prefix("<=") {
        let (sizes, rest) = list(rest, '[', ']')?;
        let (order, rest) = match rest.strip_prefix('T') {
            Some(rest) => list(rest, '(', ')')?,
            None => ((0..sizes.len() as i64).collect(), rest),
        };
        (transposed(&sizes, &order, devices)?, None, rest)
    } else {
        let end = rest.find(' ').unwrap_or(rest.len());
        let list = numbers(&rest[..end])?;
        let mut seen = list.clone();
        seen.sort_unstable();
        if seen != (0..devices).collect::<Vec<_>>() {
            return Err(format!("expected each of the {devices} devices once, found {}", &rest[..end]));
        }
        match runs_of(&list) {
            Some(runs) => (runs, None, &rest[end..]),
            None => (vec![DeviceRun { stride: 1, size: devices }], Some(list), &rest[end..]),
        }
    };
    let mut dims = regroup(&runs, &tiles)
        .ok_or_else(|| format!("tiles {tiles:?} divide the device order across its own dimensions"))?;
    let rest = rest.trim();
    let kinds: Vec<&str> = match rest {
        "" => Vec::new(),
        "last_tile_dim_replicate" => vec!["replicated"],
        _ => {
            let inner = rest.strip_prefix("last_tile_dims=").and_then(braced);
            inner
                .ok_or_else(|| format!("expected last_tile_dims={{…}}, found '{rest}'"))?
                .split(',')
                .map(str::trim)
                .collect()
        }
    };
    let of_tensor = dims
        .len()
        .checked_sub(kinds.len())
        .ok_or("the sharding lists more kinds of tiles than it has tile dimensions")?;
    let mut manual = Vec::new();
    for (runs, kind) in dims.drain(of_tensor..).zip(&kinds) {
        match *kind {
            "replicated" => {}
            "manual" => manual.extend(runs),
            other => return Err(format!("tiles of kind '{other}' are not supported: expected replicated or manual")),
        }
    }
    Ok(Tiles { dims, manual, devices, order })
}

/// Returns the runs of an iota of these sizes whose dimensions are transposed by `order`.
fn transposed(sizes: &[i64], order: &[i64], devices: i64) -> Result<Vec<DeviceRun>, String> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let product = sizes.iter().try_fold(1i64, |n, &s| n.checked_mul(s));
    if sorted != (0..sizes.len() as i64).collect::<Vec<_>>() || product != Some(devices) {
        return Err(format!("dimensions {sizes:?} in the order {order:?} don't order {devices} devices"));
    }
    let stride = |d: usize| sizes[d + 1..].iter().product();
    Ok(order
        .iter()
        .map(|&d| DeviceRun { stride: stride(d as usize), size: sizes[d as usize] })
        .filter(|r| r.size > 1)
        .collect())
}

/// Returns a list of devices as runs, major first, if it is an iota with its dimensions transposed.
fn runs_of(list: &[i64]) -> Option<Vec<DeviceRun>> {
    let mut runs = Vec::new();
    let mut block = 1;
    while block < list.len() {
        let stride = list[block] - list[0];
        let mut size = 1;
        while (size + 1) * block <= list.len() && list[size * block] == list[0] + size as i64 * stride {
            size += 1;
        }
        if stride <= 0 || size < 2 {
            return None;
        }
        runs.push(DeviceRun { stride, size: size as i64 });
        block *= size;
    }
    runs.reverse();
    let device = |mut place: i64| {
        runs.iter().rev().fold(0, |sum, run| {
            let digit = place % run.size;
            place /= run.size;
            sum + digit * run.stride
        })
    };
    (list.iter().enumerate().all(|(i, &d)| device(i as i64) == d)).then_some(runs)
}

/// Returns the runs of each of `tiles`, splitting runs where a tile ends inside one.
fn regroup(runs: &[DeviceRun], tiles: &[i64]) -> Option<Vec<Vec<DeviceRun>>> {
    let mut left: Vec<DeviceRun> = runs.iter().rev().copied().collect();
    let mut dims = Vec::new();
    for &tile in tiles {
        let (mut dim, mut wanted) = (Vec::new(), tile);
        while wanted > 1 {
            let run = left.pop()?;
            if wanted % run.size == 0 {
                wanted /= run.size;
                dim.push(run);
            } else if run.size % wanted == 0 {
                let minor = run.size / wanted;
                dim.push(DeviceRun { stride: run.stride * minor, size: wanted });
                left.push(DeviceRun { stride: run.stride, size: minor });
                wanted = 1;
            } else {
                return None;
            }
        }
        dims.push(dim);
    }
    left.is_empty().then_some(dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(text: &str) -> Vec<Vec<(i64, i64)>> {
        let Ok([HloSharding::Tiled(tiles)]) = read(text).as_deref().map(|l| <[_; 1]>::try_from(l.to_vec()).unwrap())
        else {
            panic!("{text}: {:?}", read(text));
        };
        tiles.dims.iter().map(|runs| runs.iter().map(|r| (r.stride, r.size)).collect()).collect()
    }

    #[test]
    fn tiles_are_runs_of_devices() {
        assert_eq!(dims("{devices=[2,4]<=[8]}"), [vec![(4, 2)], vec![(1, 4)]]);
        assert_eq!(dims("{devices=[2,4]<=[4,2]T(1,0)}"), [vec![(1, 2)], vec![(2, 4)]]);
        assert_eq!(dims("{devices=[4,1,2]<=[8] last_tile_dim_replicate}"), [vec![(2, 4)], vec![]]);
        assert_eq!(dims("{devices=[2,2]0,2,1,3}"), [vec![(1, 2)], vec![(2, 2)]]);
        assert_eq!(dims("{devices=[8,1]<=[2,2,2]T(2,0,1)}"), [vec![(1, 2), (4, 2), (2, 2)], vec![]]);
        assert_eq!(dims("{devices=[2,1,4]<=[8] last_tile_dims={manual}}"), [vec![(4, 2)], vec![]]);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["devices=[2]<=[2]", "{devices=[2]<=[3]}", "{devices=[2]0,0}", "{unknown}", "{devices=[3]<=[2,2]}"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(
            read("{{replicated}, {maximal device=3}}"),
            Ok(vec![HloSharding::Replicated, HloSharding::Maximal(3)])
        );
    }
}
