//! Device positions in a mesh as numbers of several digits, which number shards and the groups of devices along axes.
//!
//! A device has a row-major position in its mesh; an axis, or a part of one, is one digit of that position.

use super::axis::AxisPart;
use super::mesh::Mesh;

/// One digit of a device's position: `position / stride % size`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    /// Distance in positions between devices whose digits differ by one.
    pub stride: i64,
    /// Number of values.
    pub size: i64,
}

impl Digit {
    fn of(self, position: i64) -> i64 {
        position / self.stride % self.size
    }
}

/// Returns the digit of a part of an axis of `mesh`.
pub fn digit(mesh: &Mesh, part: AxisPart) -> Digit {
    let at = part.axis as usize;
    let minor: i64 = mesh.axes.iter().skip(at + 1).map(|a| a.1).product();
    let full = mesh.axes.get(at).map_or(1, |a| a.1);
    Digit { stride: minor * (full / i64::from(part.end()).max(1)).max(1), size: part.size.into() }
}

/// Returns the digits of all of `axes`, merging adjacent digits.
pub fn digits(mesh: &Mesh, axes: &[AxisPart]) -> Vec<Digit> {
    let mut out: Vec<Digit> = Vec::new();
    for d in axes.iter().map(|&a| digit(mesh, a)).filter(|d| d.size > 1) {
        match out.last_mut() {
            Some(last) if last.stride == d.stride * d.size => {
                *last = Digit { stride: d.stride, size: last.size * d.size }
            }
            _ => out.push(d),
        }
    }
    out
}

/// Returns the digits of the mesh that aren't in `used`; together with `used` they make up every position. `None` if
/// digits of `used` overlap.
pub(crate) fn unused(mesh: &Mesh, used: &[Digit]) -> Option<Vec<Digit>> {
    let mut sorted = used.to_vec();
    sorted.sort_by_key(|d| std::cmp::Reverse(d.stride));
    let mut out = Vec::new();
    let mut high = mesh.devices();
    for d in sorted {
        let top = d.stride * d.size;
        if high % top != 0 {
            return None;
        }
        if high > top {
            out.push(Digit { stride: top, size: high / top });
        }
        high = d.stride;
    }
    if high > 1 {
        out.push(Digit { stride: 1, size: high });
    }
    Some(out)
}

/// Returns the position at which `digits`, in row-major order, form the number `index`.
pub(crate) fn position(digits: &[Digit], mut index: i64) -> i64 {
    let mut at = 0;
    for d in digits.iter().rev() {
        at += index % d.size * d.stride;
        index /= d.size;
    }
    at
}

/// Returns the row-major number that `digits` of the position `at` form.
pub fn index(digits: &[Digit], at: i64) -> i64 {
    digits.iter().fold(0, |n, d| n * d.size + d.of(at))
}

fn size(digits: &[Digit]) -> i64 {
    digits.iter().map(|d| d.size).product()
}

/// Returns the groups of devices that differ only in `axes`, which don't overlap. This is for code that visits all
/// devices anyway; a program has [`Groups`](crate::collective::Groups).
pub fn groups(mesh: &Mesh, axes: &[AxisPart]) -> Vec<Vec<i64>> {
    let inside = digits(mesh, axes);
    let outside = unused(mesh, &inside).unwrap_or_default();
    let member = |g: i64, i: i64| mesh.device_at((position(&outside, g) + position(&inside, i)) as usize);
    (0..size(&outside)).map(|g| (0..size(&inside)).map(|i| member(g, i)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Program;

    fn mesh(p: &mut Program, axes: &[(&str, i64)]) -> Mesh {
        Mesh { axes: axes.iter().map(|&(n, s)| (p.name(n), s)).collect(), device_ids: None }
    }

    #[test]
    fn groups_follow_the_order_of_the_axes() {
        let mut p = Program::new();
        let m = mesh(&mut p, &[("x", 2), ("y", 2), ("z", 2)]);
        let [x, y, z] = [0, 1, 2].map(|axis| AxisPart::whole(axis, 2));
        assert_eq!(groups(&m, &[y]), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(groups(&m, &[x, z]), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(groups(&m, &[z, x]), [[0, 4, 1, 5], [2, 6, 3, 7]]);
        assert_eq!(groups(&m, &[]).len(), 8);
    }

    #[test]
    fn parts_of_an_axis() {
        let mut p = Program::new();
        let m = mesh(&mut p, &[("x", 8)]);
        let part = |pre, size| AxisPart { axis: 0, pre, size };
        assert_eq!(groups(&m, &[part(1, 2)]), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups(&m, &[part(2, 2)]), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(groups(&m, &[part(4, 2)]), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(groups(&m, &[part(4, 2), part(1, 2)]), [[0, 4, 1, 5], [2, 6, 3, 7]]);
    }
}
