//! The distribution that propagation or the user chose for each value under `@main`: its *layout*.
//!
//! Shardings are converted into distributions over the axes of one mesh, the one that most shardings use. A layout is
//! fixed where the user stated it (arguments and results of `@main`, constraints, manual regions). From other layouts,
//! axes are dropped that leave a device without work.

use std::borrow::Cow;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Attr, AttrData, Block, Op, OpRef, Program, TensorType, Value, gcd};
use dialect::ops::{func, sdy};
use dialect::sharding::axis::{push_merged, size_of};
use dialect::sharding::{
    Axes, AxisPart, Distribution, Distributions, Mesh, MeshAxes, MeshRef, Reshard, ShardDim, TensorSharding,
};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The layouts of all values under `@main`.
pub(crate) struct Layouts {
    mesh_axes: MeshAxes,
    stated: Distributions,
    /// Whether the user fixed a value's layout.
    fixed: Vec<bool>,
    combined: FxHashMap<Value, Value>,
}

impl Layouts {
    /// Reads all shardings under `block`, the body of `main`.
    pub(crate) fn of(program: &Program, main: Op, block: Block) -> Self {
        let mesh_axes = main_axes(program, main, block);
        let stated = Distributions::of(program, &mesh_axes);
        let mut fixed = vec![false; program.value_count()];
        program.block_args(block).iter().for_each(|arg| fixed[arg.index()] = true);
        stated.shardings().constrained().iter().for_each(|value| fixed[value.index()] = true);
        let mut sums = Vec::new();
        program.walk(block, &mut |op| {
            let view = program.view(op);
            if let Some(Reshard::AllReduce(..)) = view.def().reshard(view) {
                sums.extend(view.results().zip(view.operands().iter().copied()).next());
            }
        });
        let mut layouts = Self { mesh_axes, stated, fixed, combined: FxHashMap::default() };
        for (whole, partial) in sums {
            let before = layouts.get(program, partial);
            if !before.unreduced.is_empty() && *layouts.get(program, whole) == before.reduced() {
                let partial = layouts.combined.get(&partial).copied().unwrap_or(partial);
                layouts.combined.insert(whole, partial);
            }
        }
        layouts
    }

    /// Returns the all-reduces that combine all partial results of a value and don't move its shards, such as those
    /// that propagation inserts after values stated as unreduced: their results with their operands. Their users
    /// read the operands in a plan, so that it chooses how partial results are combined, together with the distribution
    /// of the result: a reduce-scatter moves half the bytes of an all-reduce.
    pub(crate) fn combined(&self) -> &FxHashMap<Value, Value> {
        &self.combined
    }

    /// Returns the axes over which the layouts are.
    pub(crate) fn mesh_axes(&self) -> &MeshAxes {
        &self.mesh_axes
    }

    /// Returns whether the user fixed the value's layout.
    pub(crate) fn is_fixed(&self, value: Value) -> bool {
        self.fixed.get(value.index()) == Some(&true)
    }

    /// Returns the layout of a value; replicated when it has none.
    pub(crate) fn get(&self, program: &Program, value: Value) -> Cow<'_, Distribution> {
        let Some(ty) = program.tensor_type(value) else { return Cow::Owned(Distribution::replicated(0)) };
        match self.stated.get(value).filter(|d| d.rank() == ty.rank()) {
            Some(found) if self.is_fixed(value) => Cow::Borrowed(found),
            Some(found) => useful(found, ty),
            None => Cow::Owned(Distribution::replicated(ty.rank())),
        }
    }

    /// Reports shardings that no plan over this mesh can keep.
    pub(crate) fn check(&self, program: &Program, main: Op, block: Block, diagnostics: &mut Diagnostics) {
        for (i, &arg) in program.block_args(block).iter().enumerate() {
            if self.stated.shardings().get(arg).is_some_and(|s| is_on_one_device(program, s)) {
                diagnostics.push(on_one_device(program.value_span(arg), &format!("argument {i}")));
            }
            self.check_fixed(program, arg, diagnostics);
        }
        for i in 0..func::signature(program, main).results.len() {
            if func::result_sharding(program, main, i).is_some_and(|s| is_on_one_device(program, s)) {
                diagnostics.push(on_one_device(program.op(main).span, &format!("result {i}")));
            }
        }
        program.walk(block, &mut |op| {
            let view = program.view(op);
            if view.results().len() > 1 && results_are_on_different_devices(view) {
                let message = format!("the results of '{}' are on different single devices", view.name());
                let d = Diagnostic::error(codes::SHARDING_ON_ONE_DEVICE, view.span(), message);
                diagnostics.push(d.note("put all results of an op on the same device, because the op runs there"));
            }
            let fixed = view.results().filter(|&value| self.is_fixed(value));
            fixed.for_each(|value| self.check_fixed(program, value, diagnostics));
        });
    }

    fn check_fixed(&self, program: &Program, value: Value, diagnostics: &mut Diagnostics) {
        if self.stated.is_unrelated(value) && program.tensor_type(value).is_some() {
            diagnostics.push(no_words(program, value));
        }
    }
}

/// Returns a layout without axes that leave a device without work: that don't make its shard of a dimension smaller.
pub(crate) fn useful<'a>(found: &'a Distribution, ty: &TensorType) -> Cow<'a, Distribution> {
    if found.is_even(&ty.shape) {
        return Cow::Borrowed(found);
    }
    let mut useful = found.clone();
    for (axes, &n) in useful.dims.iter_mut().zip(&ty.shape) {
        let kept = (1..=axes.len()).take_while(|&i| helps(n.max(0), &axes[..i - 1], &axes[..i])).count();
        axes.truncate(kept);
    }
    Cow::Owned(useful)
}

/// Returns whether `axes` divide a dimension of `size` better than their prefix `before`: where axes don't divide the
/// size, some devices may have nothing to do.
pub(crate) fn helps(size: i64, before: &[AxisPart], axes: &[AxisPart]) -> bool {
    let dim = |axes: &[AxisPart]| ShardDim::new(size, size_of(axes));
    dim(axes).is_even() || dim(axes).size() < dim(before).size()
}

/// Returns a layout with each dimension's list of axes cut off where they don't divide it.
pub(crate) fn even(mut found: Distribution, ty: &TensorType) -> Distribution {
    if found.is_even(&ty.shape) {
        return found;
    }
    for (axes, &n) in found.dims.iter_mut().zip(&ty.shape) {
        let mut rest = n.max(0) as u64;
        let mut kept = Axes::new();
        for part in axes.iter() {
            let size = gcd(rest as i64, part.size.into()) as u32;
            if size > 1 {
                push_merged(&mut kept, AxisPart { size, ..*part });
            }
            if size != part.size || rest == 0 {
                break;
            }
            rest /= u64::from(size);
        }
        *axes = kept;
    }
    found
}

fn results_are_on_different_devices(view: OpRef<'_>) -> bool {
    let stated = sdy::result_shardings(view).into_iter().flatten();
    let single = stated.filter(|s| is_on_one_device(view.program, s));
    let mut devices = single.filter_map(|s| sdy::resolve(view.program, &s.mesh));
    let first = devices.next();
    devices.any(|other| Some(other) != first)
}

fn is_on_one_device(program: &Program, s: &TensorSharding) -> bool {
    sdy::resolve(program, &s.mesh).is_some_and(Mesh::is_maximal)
}

fn on_one_device(span: Span, what: &str) -> Diagnostic {
    let d = Diagnostic::error(codes::SHARDING_ON_ONE_DEVICE, span, format!("{what} of @main is on a single device"));
    d.note("every device takes part in @main, so state a sharding over a mesh, replicated if no dimension is sharded")
}

/// Returns a distribution that the user fixed; reports an error where the plan's mesh can't express it.
pub(crate) fn fixed(
    program: &Program,
    mesh_axes: &MeshAxes,
    s: &TensorSharding,
    value: Value,
    diagnostics: &mut Diagnostics,
) -> Option<Distribution> {
    let ty = program.tensor_type(value)?;
    let Some(found) = mesh_axes.meaning(program, s) else {
        diagnostics.push(no_words(program, value));
        return None;
    };
    (found.rank() == ty.rank()).then_some(found)
}

fn no_words(program: &Program, value: Value) -> Diagnostic {
    let message = "this sharding is over a mesh that orders or groups devices unlike the program's main mesh";
    let d = Diagnostic::error(codes::UNRELATED_MESHES, program.value_span(value), message);
    d.note("state all shardings over meshes with the same device order whose axes refine each other")
}

/// Returns the axes of the mesh that most shardings under `@main` use; of equally common meshes, the first declared.
pub(crate) fn main_axes(program: &Program, main: Op, block: Block) -> MeshAxes {
    let mut counts: Vec<(MeshRef, usize)> = Vec::new();
    let mut index: FxHashMap<MeshRef, usize> = FxHashMap::default();
    let mut count = |mesh: &MeshRef, n: usize| {
        let at = *index.entry(mesh.clone()).or_insert_with(|| {
            counts.push((mesh.clone(), 0));
            counts.len() - 1
        });
        counts[at].1 += n;
    };
    for name in sdy::meshes(program).filter_map(|mesh| program.find_name(mesh.1)) {
        count(&MeshRef::Symbol(name), 0);
    }
    for i in 0..program.block_args(block).len() {
        func::arg_sharding(program, main, i).into_iter().for_each(|s| count(&s.mesh, 1));
    }
    // Attributes are stored once, however many ops have them.
    let mut used: IndexMap<Attr, usize, FxBuildHasher> = IndexMap::default();
    program.walk(block, &mut |op| {
        for &(_, attr) in &program.op(op).attrs {
            if matches!(program.attr_data(attr), AttrData::Sharding(_) | AttrData::ShardingPerValue(_)) {
                *used.entry(attr).or_default() += 1;
            }
        }
    });
    for (attr, n) in used {
        let data = program.attr_data(attr);
        data.as_sharding().into_iter().chain(data.as_shardings().into_iter().flatten()).for_each(|s| count(&s.mesh, n));
    }
    let mut best: Option<(MeshAxes, usize)> = None;
    for (mesh, n) in counts {
        let Some(data) = sdy::resolve(program, &mesh) else { continue };
        if !data.is_maximal() && !data.axes.is_empty() && best.as_ref().is_none_or(|b| n > b.1) {
            best = Some((MeshAxes::new(mesh.clone(), data.clone()), n));
        }
    }
    best.map_or_else(|| MeshAxes::new(MeshRef::Inline(Box::default()), Mesh::default()), |b| b.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::reshard::tests::{dist, mesh_axes};
    use dialect::ir::ElementType;

    #[test]
    fn axes_that_do_not_divide_are_cut_short() {
        let g = mesh_axes(&[2, 4]);
        let ty = TensorType::new(&[6, 4], ElementType::F32);
        assert_eq!(even(dist(&g, "y|x"), &ty), dist(&g, "y:1:2|x"));
        assert_eq!(even(dist(&g, "x y|"), &ty), dist(&g, "x|"));
    }

    #[test]
    fn axes_that_leave_nothing_to_do_are_not_used() {
        let g = mesh_axes(&[2, 4]);
        let ty = TensorType::new(&[6, 1, 3], ElementType::F32);
        assert_eq!(*useful(&dist(&g, "x y||"), &ty), dist(&g, "x y||"));
        assert_eq!(*useful(&dist(&g, "|x|y"), &ty), dist(&g, "||y"));
        assert_eq!(*useful(&dist(&g, "||y x"), &ty), dist(&g, "||y"));
    }
}
