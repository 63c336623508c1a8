//! Parts of mesh axes as small integers, and operations on two parts or on lists of parts.
//!
//! A part is `(pre, size)`: the axis seen as sizes `[pre, size, rest]`, major first. The whole axis is `(1, its size)`,
//! so that it needs no special case. [`AxisRef`](super::AxisRef) is the same reference by name, as in text and
//! attributes; [`Mesh`](super::Mesh) converts between them. Source: Shardy, `AxisRefAttr`.

use smallvec::SmallVec;

/// A mesh axis or a part of one. Ordered as in the mesh, then by position in the axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisPart {
    /// Position of the axis in its mesh.
    pub axis: u32,
    /// Product of the sizes to the left (major) of this part.
    pub pre: u32,
    /// Size of this part.
    pub size: u32,
}

/// Axes of one dimension, or a set of axes; major first.
pub type Axes = SmallVec<[AxisPart; 2]>;

/// Axes for each dimension of a tensor.
pub type AxesPerDim = SmallVec<[Axes; 4]>;

impl AxisPart {
    /// Returns the whole of axis `axis`, which has size `size`.
    pub fn whole(axis: u32, size: u32) -> Self {
        Self { axis, pre: 1, size }
    }

    /// Returns `pre * size`, at which the next part begins.
    pub fn end(self) -> u32 {
        self.pre.saturating_mul(self.size)
    }

    /// Returns whether `other` is this part or inside of it.
    pub fn contains(self, other: Self) -> bool {
        self.axis == other.axis && self.pre <= other.pre && other.end() <= self.end()
    }

    /// Returns whether this is a major part of `other`, or equal to it.
    pub fn is_prefix_of(self, other: Self) -> bool {
        other.contains(self) && self.pre == other.pre
    }

    /// Returns whether both share a range of one axis. An axis of size 1 covers nothing, but counts as overlapping
    /// itself.
    pub fn overlaps(self, other: Self) -> bool {
        self.axis == other.axis && (self == other || (self.pre < other.end() && other.pre < self.end()))
    }

    /// Returns whether some division of the axis contains both parts. `(1)2` and `(3)2` of an axis of size 6 can't
    /// coexist.
    pub fn can_coexist(self, other: Self) -> bool {
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

    /// Returns whether one value can't be sharded along both: they overlap, or no division of the axis contains both.
    pub fn conflicts_with(self, other: Self) -> bool {
        if self.axis != other.axis {
            return false;
        }
        let (first, last) = if self.pre <= other.pre { (self, other) } else { (other, self) };
        last.pre < first.end() || !last.pre.is_multiple_of(first.end())
    }

    /// Returns the largest major part of this that doesn't overlap `other`.
    pub fn prefix_without(self, other: Self) -> Option<Self> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.overlaps(other) {
            return Some(self);
        }
        (self.pre < other.pre).then(|| Self { size: other.pre / self.pre, ..self })
    }

    /// Returns the minor part of this that comes after `other`.
    pub fn suffix_without(self, other: Self) -> Option<Self> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.overlaps(other) {
            return Some(self);
        }
        (self.end() > other.end()).then(|| Self { pre: other.end(), size: self.end() / other.end(), ..self })
    }

    /// Returns the largest major part of this that overlaps none of `others`.
    pub fn prefix_without_all(self, others: &[Self]) -> Option<Self> {
        others.iter().try_fold(self, |axis, &other| axis.prefix_without(other))
    }
}

/// Product of the sizes; saturating.
pub fn size_of(axes: &[AxisPart]) -> i64 {
    axes.iter().fold(1i64, |n, a| n.saturating_mul(i64::from(a.size)))
}

/// Returns whether any of `axes` overlaps `axis`.
pub fn any_overlaps(axes: &[AxisPart], axis: AxisPart) -> bool {
    axes.iter().any(|a| a.overlaps(axis))
}

/// Appends `axis`, merging it into the last axis if it continues that.
pub fn push_merged(axes: &mut Axes, axis: AxisPart) {
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

/// Returns the same axes in the same order, with adjacent parts merged and axes of size 1 dropped.
pub fn merged(axes: impl IntoIterator<Item = AxisPart>) -> Axes {
    let mut out = Axes::new();
    axes.into_iter().filter(|a| a.size > 1).for_each(|a| push_merged(&mut out, a));
    out
}

/// Sorts into mesh order and merges neighbors.
pub fn sort_and_merge(axes: &mut Axes) {
    if axes.len() < 2 {
        return;
    }
    axes.sort_unstable();
    let sorted = std::mem::take(axes);
    for axis in sorted {
        push_merged(axes, axis);
    }
}

/// Returns a set of axes in canonical form: in mesh order, with adjacent parts merged and axes of size 1 dropped.
pub fn set_of(axes: impl IntoIterator<Item = AxisPart>) -> Axes {
    let mut all: Axes = axes.into_iter().filter(|a| a.size > 1).collect();
    sort_and_merge(&mut all);
    all
}

/// Returns the parts of `axes` that are in none of `others`, in the order of `axes`.
pub fn difference(axes: &[AxisPart], others: &[AxisPart]) -> Axes {
    if others.is_empty() {
        return Axes::from_slice(axes);
    }
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

/// Returns the parts of the set `axes` that are in none of `others`, as a set.
pub fn set_difference(axes: &[AxisPart], others: &[AxisPart]) -> Axes {
    if axes.is_empty() {
        return Axes::new();
    }
    set_of(difference(axes, others))
}

/// The relation of one list of axes to another, compared part by part from the major end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefix {
    /// The same axes.
    Equal,
    /// The other list begins with all of this list, at its major end, and continues.
    Strict,
    /// They differ.
    None,
}

/// Returns how `first` relates to `second`.
pub fn prefix(first: &[AxisPart], second: &[AxisPart]) -> Prefix {
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

/// Returns the longest list with which both merged lists begin, down to parts of axes.
pub fn common_prefix(first: &[AxisPart], second: &[AxisPart]) -> Axes {
    let mut out = Axes::new();
    for (&a, &b) in first.iter().zip(second) {
        if a == b {
            out.push(a);
            continue;
        }
        let size = a.size.min(b.size);
        if a.axis == b.axis && a.pre == b.pre && a.size.is_multiple_of(size) && b.size.is_multiple_of(size) {
            out.push(AxisPart { size, ..a });
        }
        break;
    }
    out
}

/// Returns the axes after `prefix`, a prefix of the merged list `axes` as found by [`common_prefix`].
pub fn after_prefix(axes: &[AxisPart], prefix: &[AxisPart]) -> Axes {
    if axes == prefix {
        return Axes::new();
    }
    if prefix.is_empty() {
        return Axes::from_slice(axes);
    }
    let mut out = Axes::new();
    for (i, &axis) in axes.iter().enumerate() {
        match prefix.get(i) {
            Some(p) if *p == axis => {}
            Some(p) => out.push(AxisPart { pre: p.end(), size: axis.end() / p.end(), ..axis }),
            None => out.push(axis),
        }
    }
    merged(out)
}

/// Removes `suffix` from the end of `axes`, dividing axes of both as needed; `None` if `axes` doesn't end with it.
pub fn strip_suffix(axes: &mut Axes, suffix: &[AxisPart]) -> Option<()> {
    for &part in suffix.iter().rev() {
        let mut part = part;
        // The suffix may have a merged axis where the list has several parts.
        while let Some(last) = axes.last().copied()
            && last.axis == part.axis
            && last.end() == part.end()
            && part.pre < last.pre
            && last.pre.is_multiple_of(part.pre)
        {
            part.size = last.pre / part.pre;
            axes.pop();
        }
        let last = axes.last_mut()?;
        let is_end = last.axis == part.axis && last.end() == part.end();
        if !is_end || part.pre < last.pre || !part.pre.is_multiple_of(last.pre) {
            return None;
        }
        last.size = part.pre / last.pre;
        if last.size == 1 {
            axes.pop();
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(axis: u32, pre: u32, size: u32) -> AxisPart {
        AxisPart { axis, pre, size }
    }

    #[test]
    fn parts_of_one_axis() {
        let (whole, major, middle, minor) = (part(0, 1, 8), part(0, 1, 2), part(0, 2, 2), part(0, 4, 2));
        assert!(whole.contains(middle) && major.is_prefix_of(whole) && !minor.is_prefix_of(whole));
        assert!(whole.overlaps(minor) && !major.overlaps(minor) && !major.overlaps(part(1, 1, 2)));
        assert_eq!(whole.prefix_without(minor), Some(part(0, 1, 4)));
        assert_eq!(whole.prefix_without(major), None);
        assert_eq!(whole.prefix_without_all(&[minor, middle]), Some(major));
        // Sizes 2 and 3 of an axis of size 6 can't be parts of one division.
        assert_eq!(part(0, 1, 2).prefix_without(part(0, 3, 2)), None);
        // An axis of size one overlaps itself.
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
