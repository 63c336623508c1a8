//! Shards cut into equal parts, each of which is sent straight to the shard that needs it.
//!
//! Where two axes change places between dimensions, a device needs parts of several shards and has none of them. One
//! permute per part sends only those parts; an all-to-all followed by a permute would send most of them twice.

use smallvec::SmallVec;

use super::axis::{Axes, AxisPart, merged, size_of};
use super::distribution::Distribution;

/// A division of every shard of one distribution into parts from which the shards of another distribution are
/// assembled.
///
/// Parts are numbered in row-major order of the dimensions that are cut, and places in the new shard in row-major order
/// of the dimensions along which parts are joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardParts {
    /// Number of parts of a shard.
    pub count: i64,
    /// The dimensions along which shards are cut, each with its number of parts.
    pub cut: SmallVec<[(usize, i64); 2]>,
    /// The dimensions along which parts are joined, each with the number of parts.
    pub joined: SmallVec<[(usize, i64); 2]>,
    /// The old axes of all dimensions, without those of `place`, in order.
    pub from: Axes,
    /// The new axes of all dimensions, without those of `number`, in order; they have as many shards as `from`.
    pub to: Axes,
    /// The old axes that determine at which place of the new shard a device's parts belong.
    pub place: Axes,
    /// The new axes that determine which part of the old shards a device needs.
    pub number: Axes,
}

impl ShardParts {
    /// Returns the parts that change a tensor of `shape` from distribution `from` to `to`; `None` if no such parts
    /// exist.
    pub fn of(shape: &[i64], from: &Distribution, to: &Distribution) -> Option<Self> {
        if from.unreduced != to.unreduced || from.kind != to.kind || from.rank() != to.rank() {
            return None;
        }
        let mut parts = Self {
            count: 1,
            cut: SmallVec::new(),
            joined: SmallVec::new(),
            from: Axes::new(),
            to: Axes::new(),
            place: Axes::new(),
            number: Axes::new(),
        };
        for (d, &size) in shape.iter().enumerate() {
            let (before, after) = (from.shard_dim(d, size), to.shard_dim(d, size));
            let (mut old, mut new) = (from.dims[d].clone(), to.dims[d].clone());
            if after.shards > before.shards {
                if after.shards % before.shards != 0 || !after.refines(before) {
                    return None;
                }
                parts.cut.push((d, after.shards / before.shards));
                parts.count *= after.shards / before.shards;
                parts.number.extend(split(&mut new, before.shards)?);
            } else if after.shards < before.shards {
                if before.shards % after.shards != 0 || !before.refines(after) {
                    return None;
                }
                parts.joined.push((d, before.shards / after.shards));
                parts.place.extend(split(&mut old, after.shards)?);
            }
            parts.from.extend(old);
            parts.to.extend(new);
        }
        (size_of(&parts.place) == parts.count).then_some(parts)
    }
}

/// Shortens `axes` to its major parts of `size` shards and returns the rest; `None` if an axis can't be divided there.
fn split(axes: &mut Axes, size: i64) -> Option<Axes> {
    let (mut left, mut major) = (size, Axes::new());
    let mut minor = Axes::new();
    for &part in axes.iter() {
        let whole = i64::from(part.size);
        if left % whole == 0 {
            left /= whole;
            major.push(part);
        } else if left > 1 && whole % left == 0 {
            let first = AxisPart { size: left as u32, ..part };
            major.push(first);
            minor.push(AxisPart { pre: first.end(), size: part.end() / first.end(), ..part });
            left = 1;
        } else if left == 1 {
            minor.push(part);
        } else {
            return None;
        }
    }
    *axes = major;
    (left == 1).then(|| merged(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(axis: u32, pre: u32, size: u32) -> AxisPart {
        AxisPart { axis, pre, size }
    }

    fn dist(dims: &[&[AxisPart]]) -> Distribution {
        Distribution::of_dims(dims.iter().map(|d| Axes::from_slice(d)))
    }

    #[test]
    fn axes_that_change_places() {
        let (x, y) = (part(0, 1, 2), part(1, 1, 8));
        let parts = ShardParts::of(&[16, 24], &dist(&[&[x], &[y]]), &dist(&[&[y], &[x]])).expect("there are parts");
        assert_eq!((parts.count, &parts.cut[..], &parts.joined[..]), (4, &[(0, 4)][..], &[(1, 4)][..]));
        assert_eq!((&parts.from[..], &parts.to[..]), (&[x, part(1, 1, 2)][..], &[part(1, 1, 2), x][..]));
        assert_eq!((&parts.place[..], &parts.number[..]), (&[part(1, 2, 4)][..], &[part(1, 2, 4)][..]));
    }

    #[test]
    fn shards_that_have_no_common_parts() {
        let (x, y) = (part(0, 1, 2), part(1, 1, 3));
        // Thirds of halves aren't halves of thirds.
        assert_eq!(ShardParts::of(&[6, 6], &dist(&[&[x], &[y]]), &dist(&[&[y], &[x]])), None);
        // One shard is twice the size of the other.
        assert_eq!(ShardParts::of(&[6, 6], &dist(&[&[x], &[]]), &dist(&[&[], &[]])), None);
        // Quarters of 10 rows, rounded up, begin at other rows than halves do.
        let four = part(2, 1, 4);
        assert_eq!(ShardParts::of(&[10, 8], &dist(&[&[x], &[four]]), &dist(&[&[four], &[x]])), None);
        assert!(ShardParts::of(&[12, 8], &dist(&[&[x], &[four]]), &dist(&[&[four], &[x]])).is_some());
    }

    #[test]
    fn a_list_is_split_where_an_axis_divides() {
        let mut axes = Axes::from_slice(&[part(0, 1, 2), part(1, 1, 6)]);
        assert_eq!(split(&mut axes, 4), Some(Axes::from_slice(&[part(1, 2, 3)])));
        assert_eq!(axes[..], [part(0, 1, 2), part(1, 1, 2)]);
        assert_eq!(split(&mut Axes::from_slice(&[part(1, 1, 6)]), 4), None);
    }
}
