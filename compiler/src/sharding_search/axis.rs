//! Axes of a proposed mesh, and parts of axes of the user's mesh.

use dialect::ir::{Name, Program};
use dialect::sharding::{AxisList, AxisRef, Mesh};

/// An axis of the mesh and its use.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) size: i64,
    /// The index of its role in the survey; `None` if it shards nothing, or only what the user annotated.
    pub(super) role: Option<usize>,
    /// Whether parameters that would be replicated along it are stored in shards along it.
    pub(super) stores: bool,
    /// The part, if it is a part of an axis of the mesh.
    pub(super) part: Option<SubAxis>,
}

/// A part of an axis, which a candidate treats as an axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SubAxis {
    /// The axis of the mesh.
    pub(super) of: String,
    /// The product of the sizes of the parts before it.
    pub(super) pre: i64,
}

impl Axis {
    /// Returns the axis of the mesh that it is, or is a part of.
    pub(super) fn whole(&self) -> &str {
        self.part.as_ref().map_or(&self.name, |part| &part.of)
    }

    /// Returns its use. Two parts of one axis need different uses, or else they would be one part.
    pub(super) fn does(&self) -> (Option<usize>, bool) {
        (self.role, self.stores)
    }

    fn pre(&self) -> i64 {
        self.part.as_ref().map_or(1, |part| part.pre)
    }
}

/// Returns the axes of the mesh with their sizes, where parts are merged.
pub(super) fn whole_axes(axes: &[Axis]) -> Vec<(String, i64)> {
    let mut whole: Vec<(String, i64)> = Vec::new();
    for axis in axes {
        match whole.last_mut().filter(|last| axis.part.is_some() && last.0 == axis.whole()) {
            Some(last) => last.1 *= axis.size,
            None => whole.push((axis.whole().to_owned(), axis.size)),
        }
    }
    whole
}

/// Returns references to the chosen axes of the mesh, with adjacent parts merged.
pub(super) fn references(program: &mut Program, axes: &[Axis], chosen: &[usize]) -> AxisList {
    let whole: Vec<(Name, i64)> =
        whole_axes(axes).into_iter().map(|(name, size)| (program.name(&name), size)).collect();
    let mesh = Mesh { axes: whole.into_iter().collect(), device_ids: None };
    let mut list: Vec<(Name, i64, i64)> = Vec::new();
    for axis in chosen.iter().map(|&a| &axes[a]) {
        let name = program.name(axis.whole());
        match list.last_mut().filter(|last| last.0 == name && last.1 * last.2 == axis.pre()) {
            Some(last) => last.2 *= axis.size,
            None => list.push((name, axis.pre(), axis.size)),
        }
    }
    list.into_iter().map(|(name, pre, size)| AxisRef::part(name, pre, size, &mesh)).collect()
}

/// Returns the axes that a reference covers, major first; `None` if it covers an axis only in part.
pub(super) fn referred(program: &Program, axes: &[Axis], reference: AxisRef) -> Option<Vec<usize>> {
    let name = program.name_text(reference.name);
    let of: Vec<usize> = (0..axes.len()).filter(|&a| axes[a].whole() == name).collect();
    let all: i64 = of.iter().map(|&a| axes[a].size).product();
    let (pre, size) = reference.sub.map_or((1, all), |sub| (sub.pre, sub.size));
    let inside = |&a: &usize| axes[a].pre() >= pre && axes[a].pre() < pre * size;
    let found: Vec<usize> = of.into_iter().filter(inside).collect();
    let begins = found.first().is_some_and(|&a| axes[a].pre() == pre);
    (begins && found.iter().map(|&a| axes[a].size).product::<i64>() == size).then_some(found)
}

/// Returns the axes with axis `a` divided. Its major part gets the size `major` and the first use, its minor part the
/// remaining size and the second use.
pub(super) fn divided(axes: &[Axis], a: usize, major: i64, uses: [(Option<usize>, bool); 2]) -> Vec<Axis> {
    let axis = &axes[a];
    let (of, pre) = (axis.whole().to_owned(), axis.pre());
    let part = |size: i64, pre: i64, (role, stores): (Option<usize>, bool)| Axis {
        name: String::new(),
        size,
        role,
        stores,
        part: Some(SubAxis { of: of.clone(), pre }),
    };
    let parts = [part(major, pre, uses[0]), part(axis.size / major, pre * major, uses[1])];
    let mut list = axes.to_vec();
    list.splice(a..=a, parts);
    name_parts(&mut list);
    list
}

/// Returns the axes with a factor moved between part `a` and the next part of the same axis; `None` if that is
/// impossible.
pub(super) fn moved(axes: &[Axis], a: usize, from_minor: bool, factor: i64) -> Option<Vec<Axis>> {
    let mut list = axes.to_vec();
    let of = &list.get(a)?.part.as_ref()?.of;
    list.get(a + 1).filter(|next| next.part.as_ref().is_some_and(|part| part.of == *of))?;
    let (grows, shrinks) = if from_minor { (a, a + 1) } else { (a + 1, a) };
    if list[shrinks].size % factor != 0 || list[shrinks].size == factor {
        return None;
    }
    list[grows].size *= factor;
    list[shrinks].size /= factor;
    let pre = list[a].pre() * list[a].size;
    list[a + 1].part.as_mut()?.pre = pre;
    Some(list)
}

/// Names parts after their axis, `x0` and `x1`, avoiding names of other axes.
fn name_parts(axes: &mut [Axis]) {
    let wholes: Vec<String> = axes.iter().map(|axis| axis.whole().to_owned()).collect();
    let between = (0..).map(|n| "_".repeat(n));
    let name = |of: &str, between: &str, i: usize| format!("{of}{between}{i}");
    let free =
        |between: &String| wholes.iter().all(|of| (0..axes.len()).all(|i| !wholes.contains(&name(of, between, i))));
    let between = between.take(axes.len() + 2).find(free).unwrap_or_default();
    let mut i = 0;
    for a in 0..axes.len() {
        i = if a > 0 && wholes[a - 1] == wholes[a] { i + 1 } else { 0 };
        if axes[a].part.is_some() {
            axes[a].name = name(&wholes[a], &between, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::sharding::SubAxis;

    fn axis(name: &str, size: i64) -> Axis {
        Axis { name: name.to_owned(), size, role: None, stores: false, part: None }
    }

    fn uses() -> [(Option<usize>, bool); 2] {
        [(Some(0), false), (Some(1), false)]
    }

    #[test]
    fn parts_are_written_as_sub_axes_of_the_mesh() {
        let axes = divided(&[axis("x", 8), axis("y", 3)], 0, 2, uses());
        let names: Vec<(&str, i64)> = axes.iter().map(|a| (&a.name[..], a.size)).collect();
        assert_eq!(names, [("x0", 2), ("x1", 4), ("y", 3)]);
        assert_eq!(whole_axes(&axes), [("x".to_owned(), 8), ("y".to_owned(), 3)]);
        let mut program = Program::default();
        let x = program.name("x");
        let sub = |pre, size| AxisRef { name: x, sub: Some(SubAxis { pre, size }) };
        assert_eq!(references(&mut program, &axes, &[1])[..], [sub(2, 4)]);
        assert_eq!(references(&mut program, &axes, &[0, 1])[..], [AxisRef::full(x)]);
        assert_eq!(references(&mut program, &axes, &[1, 0])[..], [sub(2, 4), sub(1, 2)]);
        assert_eq!(referred(&program, &axes, AxisRef::full(x)), Some(vec![0, 1]));
        assert_eq!(referred(&program, &axes, sub(2, 4)), Some(vec![1]));
        assert_eq!(referred(&program, &axes, sub(1, 4)), None);
        assert_eq!(referred(&program, &axes, sub(4, 2)), None);
    }

    #[test]
    fn factors_move_between_parts_of_one_axis() {
        let axes = divided(&[axis("x", 8), axis("y", 4)], 0, 2, uses());
        let sizes =
            |list: Option<Vec<Axis>>| list.map(|list| list.iter().map(|a| (a.size, a.pre())).collect::<Vec<_>>());
        assert_eq!(sizes(moved(&axes, 0, true, 2)), Some(vec![(4, 1), (2, 4), (4, 1)]));
        assert_eq!(moved(&axes, 0, false, 2), None, "nothing would be left");
        assert_eq!(moved(&axes, 1, true, 2), None, "another axis");
    }

    #[test]
    fn names_of_parts_differ_from_those_of_other_axes() {
        let axes = divided(&[axis("x", 8), axis("x0", 4)], 0, 2, uses());
        let names: Vec<&str> = axes.iter().map(|a| &a.name[..]).collect();
        assert_eq!(names, ["x_0", "x_1", "x0"]);
    }
}
