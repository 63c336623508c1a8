//! Mesh axes as small integers, and what can be said of two of them.
//!
//! A part of an axis is `(pre, size)`: the axis seen as sizes `[pre, size, rest]`, major first; the whole axis is
//! `(1, its size)`, so that no case needs the whole axis apart. Source: Shardy, `AxisRefAttr`.

use std::ops::Range;

use smallvec::SmallVec;

/// An axis or a part of one. Ordered as in the mesh, then by position in the axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Axis {
    /// Position of the axis in its mesh.
    pub axis: u32,
    /// Product of the sizes of the parts to the left.
    pub pre: u32,
    /// Size of this part.
    pub size: u32,
}

/// Axes, major first.
pub type Axes = SmallVec<[Axis; 2]>;

impl Axis {
    /// One past the last `pre` of the part.
    fn end(self) -> u32 {
        self.pre.saturating_mul(self.size)
    }

    fn span(self) -> Range<u32> {
        self.pre..self.end()
    }

    /// Whether `other` is this or a part of this.
    pub fn contains(self, other: Axis) -> bool {
        self.axis == other.axis && self.pre <= other.pre && other.end() <= self.end()
    }

    /// Whether this is a major part of `other`, or the same.
    pub fn is_prefix_of(self, other: Axis) -> bool {
        other.contains(self) && self.pre == other.pre
    }

    /// Whether a device's coordinate in one says something about its coordinate in the other.
    pub fn overlaps(self, other: Axis) -> bool {
        // An axis of size one has no range, but is still itself.
        self.axis == other.axis
            && (self == other || (self.span().start < other.span().end && other.span().start < self.span().end))
    }

    /// Whether both can be spelled as parts of one finer division of the axis.
    fn can_coexist(self, other: Axis) -> bool {
        if self.axis != other.axis {
            return true;
        }
        let (min_pre, max_pre) = (self.pre.min(other.pre), self.pre.max(other.pre));
        let (min_end, max_end) = (self.end().min(other.end()), self.end().max(other.end()));
        if min_end > max_pre {
            min_end.is_multiple_of(max_pre) && max_pre.is_multiple_of(min_pre) && max_end.is_multiple_of(min_end)
        } else {
            max_pre.is_multiple_of(min_end)
        }
    }

    /// The largest major part of this that shares nothing with `other`.
    pub fn prefix_without(self, other: Axis) -> Option<Axis> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.overlaps(other) {
            return Some(self);
        }
        (self.pre < other.pre).then(|| Axis { size: other.pre / self.pre, ..self })
    }

    /// The minor part of this that lies past `other`.
    fn suffix_without(self, other: Axis) -> Option<Axis> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.overlaps(other) {
            return Some(self);
        }
        (self.end() > other.end()).then(|| Axis { pre: other.end(), size: self.end() / other.end(), ..self })
    }

    /// The largest major part of this that shares nothing with any of `others`.
    pub fn prefix_without_all(self, others: &[Axis]) -> Option<Axis> {
        others.iter().try_fold(self, |axis, &other| axis.prefix_without(other))
    }
}

/// Product of the sizes.
pub fn size_of(axes: &[Axis]) -> i64 {
    axes.iter().fold(1i64, |n, a| n.saturating_mul(i64::from(a.size)))
}

/// Appends `axis`, merged with the last one when it continues it.
pub fn push_merged(axes: &mut Axes, axis: Axis) {
    if let Some(last) = axes.last_mut()
        && last.axis == axis.axis
        && last.end() == axis.pre
        && axis.size > 1
    {
        last.size = last.size.saturating_mul(axis.size);
        return;
    }
    axes.push(axis);
}

/// Sorts into mesh order and merges neighbors.
pub fn sort_and_merge(axes: &mut Axes) {
    axes.sort_unstable();
    let sorted = std::mem::take(axes);
    for axis in sorted {
        push_merged(axes, axis);
    }
}

/// How one list of axes relates to another, part by part from the major end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefix {
    /// The same axes.
    Equal,
    /// The other has all of this and more.
    Strict,
    /// They differ.
    None,
}

/// How `first` relates to `second`.
pub fn prefix(first: &[Axis], second: &[Axis]) -> Prefix {
    let Some((&last, rest)) = first.split_last() else {
        return if second.is_empty() { Prefix::Equal } else { Prefix::Strict };
    };
    if first.len() > second.len() || rest != &second[..rest.len()] {
        return Prefix::None;
    }
    let other = second[rest.len()];
    if last == other {
        return if first.len() == second.len() { Prefix::Equal } else { Prefix::Strict };
    }
    if last.is_prefix_of(other) { Prefix::Strict } else { Prefix::None }
}

/// What of `axes` lies in none of `others`, part by part.
pub fn difference(axes: &[Axis], others: &[Axis]) -> Axes {
    let mut sorted = Axes::from_slice(others);
    sorted.sort_unstable();
    let mut out = Axes::new();
    for &axis in axes {
        let mut rest = Some(axis);
        while let Some(part) = rest {
            let Some(&other) = sorted.iter().find(|o| o.overlaps(part)) else {
                out.push(part);
                break;
            };
            out.extend(part.prefix_without(other));
            rest = part.suffix_without(other);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(axis: u32, pre: u32, size: u32) -> Axis {
        Axis { axis, pre, size }
    }

    #[test]
    fn parts_of_one_axis() {
        let (whole, major, middle, minor) = (part(0, 1, 8), part(0, 1, 2), part(0, 2, 2), part(0, 4, 2));
        assert!(whole.contains(middle) && major.is_prefix_of(whole) && !minor.is_prefix_of(whole));
        assert!(whole.overlaps(minor) && !major.overlaps(minor) && !major.overlaps(part(1, 1, 2)));
        assert_eq!(whole.prefix_without(minor), Some(part(0, 1, 4)));
        assert_eq!(whole.prefix_without(major), None);
        assert_eq!(whole.prefix_without_all(&[minor, middle]), Some(major));
        // Sizes 2 and 3 of an axis of six cannot be parts of one division.
        assert_eq!(part(0, 1, 2).prefix_without(part(0, 3, 2)), None);
        // An axis of size one is in its own way.
        assert!(part(3, 1, 1).overlaps(part(3, 1, 1)));
    }

    #[test]
    fn lists_compare_from_the_major_end() {
        let (a, b, half) = (part(0, 1, 4), part(1, 1, 2), part(0, 1, 2));
        assert_eq!(prefix(&[], &[]), Prefix::Equal);
        assert_eq!(prefix(&[], &[a]), Prefix::Strict);
        assert_eq!(prefix(&[a], &[a, b]), Prefix::Strict);
        assert_eq!(prefix(&[half], &[a, b]), Prefix::Strict);
        assert_eq!(prefix(&[half, b], &[a, b]), Prefix::None);
        assert_eq!(prefix(&[b], &[a, b]), Prefix::None);
        assert_eq!(prefix(&[a, b], &[a]), Prefix::None);
    }

    #[test]
    fn merging_and_taking_away() {
        let mut axes = Axes::from_slice(&[part(1, 1, 2), part(0, 2, 2), part(0, 1, 2)]);
        sort_and_merge(&mut axes);
        assert_eq!(axes[..], [part(0, 1, 4), part(1, 1, 2)]);
        assert_eq!(difference(&axes, &[part(0, 2, 2)])[..], [part(0, 1, 2), part(1, 1, 2)]);
        assert_eq!(difference(&[part(0, 1, 8)], &[part(0, 2, 2)])[..], [part(0, 1, 2), part(0, 4, 2)]);
        assert_eq!(difference(&axes, &axes)[..], []);
    }
}
