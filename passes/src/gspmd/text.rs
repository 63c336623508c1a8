//! Shardings in the syntax of `mhlo.sharding`. Source: XLA, `HloSharding::ToString`.

use dialect::sharding::{AxisRef, Mesh, ReductionKind, TensorSharding, axes_size};

/// A part of an axis.
struct MeshAxisPart {
    /// The index of the axis in the mesh, and the product of the sizes before this part in the axis.
    at: (usize, i64),
    size: i64,
}

/// Returns the text of a sharding; `None` where it can't be written as whole tiles because axes overlap or don't
/// divide, or where devices hold partial results other than sums.
pub(super) fn of(sharding: &TensorSharding, mesh: &Mesh) -> Option<String> {
    if mesh.is_maximal() {
        return Some(format!("{{maximal device={}}}", mesh.device_at(0)));
    }
    let partial = axes_size(&sharding.unreduced, mesh);
    if partial > 1 && sharding.kind != ReductionKind::Sum {
        return None;
    }
    let tiles: Vec<i64> = sharding.dims.iter().map(|d| axes_size(&d.axes, mesh)).collect();
    if tiles.iter().all(|&n| n == 1) {
        if partial == 1 {
            return Some("{replicated}".to_owned());
        }
        if partial == mesh.axes.iter().map(|a| a.1).product::<i64>() {
            return Some("{unreduced}".to_owned());
        }
    }
    // The device order has a dimension per part of an axis, mesh-major; the tiles' parts come first, the copies' parts
    // after them, and the parts along which devices hold partial sums last.
    let part = |axis: &AxisRef| {
        let (pre, size) = axis.range(mesh);
        Some(MeshAxisPart { at: (mesh.axis_index(axis.name)?, pre), size })
    };
    let tiled: Vec<MeshAxisPart> = sharding.dims.iter().flat_map(|d| &d.axes).map(part).collect::<Option<_>>()?;
    let summed: Vec<MeshAxisPart> = sharding.unreduced.iter().map(part).collect::<Option<_>>()?;
    let parts = all_parts(tiled.iter().chain(&summed), mesh)?;
    let places = |list: &[MeshAxisPart]| -> Option<Vec<usize>> {
        list.iter().map(|part| parts.iter().position(|p| p.at == part.at)).collect()
    };
    let (mut order, last) = (places(&tiled)?, places(&summed)?);
    let rest: Vec<usize> = (0..parts.len()).filter(|i| !order.contains(i) && !last.contains(i)).collect();
    let copies: i64 = rest.iter().map(|&i| parts[i].size).product();
    order.extend(rest);
    order.extend(last);
    let mut dims: Vec<String> = tiles.iter().map(i64::to_string).collect();
    dims.extend([copies, partial].iter().filter(|&&n| n > 1).map(i64::to_string));
    let sizes: Vec<i64> = parts.iter().map(|p| p.size).collect();
    let devices = if mesh.device_ids.is_some() { listed(mesh, &sizes, &order) } else { iota(&sizes, &order) };
    let kind = match (copies > 1, partial > 1) {
        (false, false) => "",
        (true, false) => " last_tile_dim_replicate",
        (false, true) => " last_tile_dims={unreduced}",
        (true, true) => " last_tile_dims={replicated, unreduced}",
    };
    Some(format!("{{devices=[{}]{devices}{kind}}}", dims.join(",")))
}

/// Splits the axes of the mesh where the taken parts begin and end.
fn all_parts<'a>(taken: impl Iterator<Item = &'a MeshAxisPart> + Clone, mesh: &Mesh) -> Option<Vec<MeshAxisPart>> {
    let mut parts = Vec::new();
    for (i, &(_, size)) in mesh.axes.iter().enumerate() {
        let mut own: Vec<(i64, i64)> = taken.clone().filter(|p| p.at.0 == i).map(|p| (p.at.1, p.size)).collect();
        own.sort_unstable();
        let mut done = 1;
        for (pre, width) in own {
            if pre < done || pre % done != 0 {
                return None;
            }
            if pre > done {
                parts.push(MeshAxisPart { at: (i, done), size: pre / done });
            }
            parts.push(MeshAxisPart { at: (i, pre), size: width });
            done = pre * width;
        }
        if size % done != 0 {
            return None;
        }
        if size > done {
            parts.push(MeshAxisPart { at: (i, done), size: size / done });
        }
    }
    Some(parts)
}

fn joined(numbers: impl Iterator<Item = i64>) -> String {
    numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(",")
}

/// Writes devices in the order of their numbers, as an array of `sizes` with its dimensions transposed by `order`.
fn iota(sizes: &[i64], order: &[usize]) -> String {
    if order.is_sorted() {
        return format!("<=[{}]", sizes.iter().product::<i64>());
    }
    format!("<=[{}]T({})", joined(sizes.iter().copied()), joined(order.iter().map(|&d| d as i64)))
}

/// Lists every device by its number.
fn listed(mesh: &Mesh, sizes: &[i64], order: &[usize]) -> String {
    let stride = |d: usize| sizes[d + 1..].iter().product::<i64>();
    let mut positions = vec![0i64];
    for &d in order {
        positions = positions.iter().flat_map(|&p| (0..sizes[d]).map(move |i| p + i * stride(d))).collect();
    }
    joined(positions.iter().map(|&p| mesh.device_at(p as usize)))
}
