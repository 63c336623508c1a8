//! The distribution that propagation or the user chose for each value: its *propagated distribution*.
//!
//! Shardings are converted once into distributions over one set of mesh axes. A propagated distribution is fixed where
//! the user stated it (arguments and results of `@main`, constraints, manual regions). For other values, axes that
//! leave a device without work are dropped; axes that don't divide a dimension may be dropped too, since moving shards
//! with padding may cost more than it saves.

use std::cell::{Cell, RefCell};

use crate::plan::model::strategy::{even_part, useful_part};
use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Block, Op, Program, TensorType, Value};
use dialect::ops::{func, sdy};
use dialect::sharding::{Distribution, Distributions, Mesh, MeshAxes, MeshRef, TensorSharding};
use rustc_hash::FxHashMap;

/// The propagated distributions of all values under `@main`.
pub(crate) struct Propagated {
    /// The stated distributions, over the plan's mesh axes.
    stated: Distributions,
    /// Whether the user fixed a value's distribution.
    fixed: Vec<bool>,
    /// Distributions of values added since, and of values whose distribution was changed by [`Self::set`].
    moved: FxHashMap<Value, Distribution>,
    /// Distributions in which loops carry results instead of the propagated ones: partial sums, or stacks as they are
    /// computed.
    carried: RefCell<FxHashMap<Value, Distribution>>,
    /// Whether axes that don't divide are dropped for values whose distribution isn't fixed.
    even: Cell<bool>,
    /// Whether any such axes have been found.
    uneven: Cell<bool>,
}

impl Propagated {
    /// Returns the propagated distribution of a value; replicated when it has none.
    pub(crate) fn get(&self, program: &Program, value: Value) -> Distribution {
        let Some(ty) = program.tensor_type(value) else { return Distribution::replicated(0) };
        if let Some(carried) = self.carried.borrow().get(&value) {
            return self.between(carried, ty);
        }
        if let Some(propagated) = self.moved.get(&value) {
            return self.between(propagated, ty);
        }
        match self.stated.get(value).filter(|d| d.rank() == ty.rank()) {
            Some(found) if self.fixed[value.index()] => Distribution::clone(found),
            Some(found) => self.between(found, ty),
            None => Distribution::replicated(ty.rank()),
        }
    }

    /// Returns the propagated distribution of a value that isn't fixed, without the axes to drop.
    fn between(&self, found: &Distribution, ty: &TensorType) -> Distribution {
        if found.is_even(&ty.shape) {
            return found.clone();
        }
        self.uneven.set(true);
        if self.even.get() { even_part(found, ty) } else { useful_part(found, ty) }
    }

    /// Sets whether axes that don't divide are dropped.
    pub(crate) fn set_even(&self, even: bool) {
        self.even.set(even);
    }

    /// Returns whether dropping them changes any value looked up so far.
    pub(crate) fn are_uneven(&self) -> bool {
        self.uneven.get()
    }

    /// Sets the distributions in which loops carry these results; all other results are carried as propagated.
    pub(crate) fn carry(&self, results: impl IntoIterator<Item = (Value, Distribution)>) {
        *self.carried.borrow_mut() = results.into_iter().collect();
    }

    /// Returns the distributions last given to [`Self::carry`].
    pub(crate) fn carried(&self) -> FxHashMap<Value, Distribution> {
        self.carried.borrow().clone()
    }

    /// Sets a value's propagated distribution.
    pub(crate) fn set(&mut self, value: Value, propagated: Distribution) {
        self.moved.insert(value, propagated);
    }

    /// Reads all shardings under `block`, the body of `main`.
    pub(crate) fn read(
        program: &Program,
        mesh_axes: &MeshAxes,
        main: Op,
        block: Block,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let stated = Distributions::of(program, mesh_axes);
        let fixed = vec![false; program.value_count()];
        let (moved, carried) = (FxHashMap::default(), RefCell::default());
        let mut propagated = Self { stated, fixed, moved, carried, even: Cell::new(false), uneven: Cell::new(false) };
        for (i, &arg) in program.block_args(block).iter().enumerate() {
            if propagated.stated.shardings().get(arg).is_some_and(|s| is_on_one_device(program, s)) {
                diagnostics.push(on_one_device(program.value_span(arg), &format!("argument {i}")));
            }
            propagated.fix(program, arg, diagnostics);
        }
        for i in 0..func::signature(program, main).results.len() {
            if func::result_sharding(program, main, i).is_some_and(|s| is_on_one_device(program, s)) {
                diagnostics.push(on_one_device(program.op(main).span, &format!("result {i}")));
            }
        }
        program.walk(block, &mut |op| propagated.read_op(program, op, diagnostics));
        propagated
    }

    fn read_op(&mut self, program: &Program, op: Op, diagnostics: &mut Diagnostics) {
        let view = program.view(op);
        if let Some(list) = sdy::result_shardings(view) {
            let mut devices =
                list.iter().filter(|s| is_on_one_device(program, s)).filter_map(|s| sdy::resolve(program, &s.mesh));
            let first = devices.next();
            if devices.any(|other| Some(other) != first) {
                let message = format!("the results of '{}' are on different single devices", view.name());
                let d = Diagnostic::error(codes::SHARDING_ON_ONE_DEVICE, view.span(), message);
                diagnostics.push(d.note("an op runs where all its results are: put them on one device"));
            }
        }
        if sdy::stated_sharding(view).is_some() {
            view.results().take(1).for_each(|value| self.fix(program, value, diagnostics));
        }
        if let Some(manual) = sdy::ManualComputation::of(view) {
            view.results().take(manual.out_shardings.len()).for_each(|value| self.fix(program, value, diagnostics));
        }
    }

    /// Marks the distribution of `value` as fixed by the user; reports an error where the plan's mesh can't express it.
    fn fix(&mut self, program: &Program, value: Value, diagnostics: &mut Diagnostics) {
        self.fixed[value.index()] = true;
        if self.stated.is_unrelated(value) && program.tensor_type(value).is_some() {
            diagnostics.push(no_words(program, value));
        }
    }
}

fn is_on_one_device(program: &Program, s: &TensorSharding) -> bool {
    sdy::resolve(program, &s.mesh).is_some_and(Mesh::is_maximal)
}

fn on_one_device(span: Span, what: &str) -> Diagnostic {
    let d = Diagnostic::error(codes::SHARDING_ON_ONE_DEVICE, span, format!("{what} of @main is on one device alone"));
    d.note("every device takes part in @main: state a sharding over a mesh, replicated if nothing is sharded")
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
    d.note("state all shardings over meshes whose axes refine each other, in one device order")
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
    program.walk(block, &mut |op| {
        let view = program.view(op);
        sdy::result_shardings(view).into_iter().flatten().for_each(|s| count(&s.mesh, 1));
        sdy::stated_sharding(view).into_iter().for_each(|s| count(&s.mesh, 1));
        if let Some(manual) = sdy::ManualComputation::of(view) {
            manual.in_shardings.iter().chain(manual.out_shardings).for_each(|s| count(&s.mesh, 1));
        }
    });
    let mut best: Option<(MeshAxes, usize)> = None;
    for (mesh, n) in counts {
        let Some(data) = sdy::resolve(program, &mesh) else { continue };
        if !data.is_maximal() && !data.axes.is_empty() && best.as_ref().is_none_or(|b| n > b.1) {
            best = Some((MeshAxes::new(mesh.clone(), data.clone()), n));
        }
    }
    best.map_or_else(|| MeshAxes::new(MeshRef::Inline(Box::default()), Mesh::default()), |b| b.0)
}
