//! A candidate: the axes of a mesh, their uses, and the shardings that follow.

use dialect::ir::{AttrData, Program, Value};
use dialect::ops::{build, func};
use dialect::sharding::{DimSharding, Mesh, MeshRef, TensorSharding};
use passes::dimension_classes::ClassId;

use super::axis::{Axis, references, whole_axes};
use super::constrain::constrain;
use super::survey::{Survey, Tensor};

/// A mesh, the uses of its axes, and exceptions for arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Candidate {
    pub(super) axes: Vec<Axis>,
    /// Exceptions as (argument, axis): the argument isn't sharded along the axis, although the axis's role would shard
    /// it.
    pub(super) without: Vec<(usize, usize)>,
    /// Shardings that follow from no axis's role.
    pub(super) pins: Vec<Pin>,
}

/// An explicit sharding in a candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pin {
    pub(super) at: Pinned,
    pub(super) placed: Placed,
}

/// The target of a pin.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pinned {
    /// A result of `@main`.
    Result(usize),
    /// Values inside `@main`, for example one in each of several equal layers.
    Values(Vec<Value>),
}

/// For each dimension of a tensor, the axes that shard it, major first.
pub(super) type Placed = Vec<Vec<usize>>;

/// The name of a candidate's mesh, which replaces the meshes of the program.
pub(super) struct MeshName {
    pub(super) name: String,
    /// Whether the program already has the mesh.
    pub(super) exists: bool,
}

impl Candidate {
    /// Returns the number of devices of its mesh.
    pub(super) fn devices(&self) -> i64 {
        self.axes.iter().map(|axis| axis.size).product()
    }

    /// `data=2+ model=4`: the axes and their sizes, followed by the use if the name differs (`x=4:data`), `+` for axes
    /// along which parameters are stored, and the number of arguments that are exceptions.
    pub(super) fn text(&self, survey: &Survey) -> String {
        let axis = |axis: &Axis| {
            let kind = axis.role.map_or("unused", |role| survey.roles[role].kind.text());
            let does = if axis.name.starts_with(kind) { String::new() } else { format!(":{kind}") };
            format!("{}={}{does}{}", axis.name, axis.size, if axis.stores { "+" } else { "" })
        };
        let mut text = self.axes.iter().map(axis).collect::<Vec<_>>().join(" ");
        let mut others: Vec<usize> = self.without.iter().map(|w| w.0).collect();
        others.dedup();
        if !others.is_empty() {
            text.push_str(&format!(" but {}", others.len()));
        }
        let inside = self.pins.iter().filter(|pin| matches!(pin.at, Pinned::Values(_))).count();
        for (count, what) in [(self.pins.len() - inside, "result"), (inside, "constraint")] {
            if count > 0 {
                text.push_str(&format!(" with {count} {what}{}", if count == 1 { "" } else { "s" }));
            }
        }
        text
    }

    /// Returns the placement of an argument.
    pub(super) fn argument(&self, survey: &Survey, i: usize) -> Placed {
        let tensor = &survey.arguments[i];
        let mut placed = self.by_class(survey, &tensor.classes, &tensor.shape);
        for (a, axis) in self.axes.iter().enumerate() {
            if self.without.contains(&(i, a)) {
                placed.iter_mut().for_each(|axes| axes.retain(|&other| other != a));
            } else if axis.stores && tensor.is_stored && !placed.iter().flatten().any(|&other| other == a) {
                self.store(survey, tensor, a, &mut placed);
            }
        }
        placed
    }

    /// Returns the placement of a result: from its pin, or that of the argument that it replaces. `None` leaves it to
    /// the compiler.
    pub(super) fn result(&self, survey: &Survey, i: usize) -> Option<Placed> {
        if let Some(pin) = self.pins.iter().find(|pin| pin.at == Pinned::Result(i)) {
            return Some(pin.placed.clone());
        }
        survey.results[i].like.map(|argument| self.argument(survey, argument))
    }

    /// Puts each axis on the first dimension that has a class of its role and that the axis divides.
    pub(super) fn by_class(&self, survey: &Survey, classes: &[ClassId], shape: &[i64]) -> Placed {
        let mut placed: Placed = vec![Vec::new(); shape.len()];
        for (a, axis) in self.axes.iter().enumerate() {
            let Some(role) = axis.role.map(|role| &survey.roles[role]) else { continue };
            let has = |&d: &usize| role.classes.contains(&classes[d]) && self.fits(&placed[d], a, shape[d]);
            if let Some(d) = (0..shape.len()).find(has) {
                placed[d].push(a);
            }
        }
        placed
    }

    /// Puts an axis on the dimension of the main class, or else on the largest dimension that it divides.
    fn store(&self, survey: &Survey, tensor: &Tensor, a: usize, placed: &mut Placed) {
        let mut dims: Vec<usize> = (0..tensor.shape.len()).collect();
        dims.sort_by_key(|&d| (Some(tensor.classes[d]) != survey.main, std::cmp::Reverse(tensor.shape[d])));
        if let Some(d) = dims.into_iter().find(|&d| self.fits(&placed[d], a, tensor.shape[d])) {
            placed[d].push(a);
        }
    }

    /// Returns whether a dimension that is sharded along `axes` can also be sharded along axis `a`.
    fn fits(&self, axes: &[usize], a: usize, size: i64) -> bool {
        let shards: i64 = axes.iter().map(|&axis| self.axes[axis].size).product();
        size > 0 && size % (shards * self.axes[a].size) == 0
    }

    /// Returns the sharding of a placement over the mesh.
    pub(super) fn sharding(&self, program: &mut Program, mesh: &MeshName, placed: &Placed) -> TensorSharding {
        let symbol = MeshRef::Symbol(program.name(&mesh.name));
        let dim = |axes: &Vec<usize>| DimSharding::closed(&references(program, &self.axes, axes));
        TensorSharding::with_dims(symbol, placed.iter().map(dim).collect())
    }

    /// Writes mesh and shardings into a program. With `inside`, values with dimensions of data are also sharded by
    /// their classes, which replaces propagation as the start of a plan.
    pub(super) fn annotate(&self, survey: &Survey, program: &mut Program, mesh: &MeshName, inside: bool) {
        if !mesh.exists {
            let axes = whole_axes(&self.axes).into_iter().map(|(name, size)| (program.name(&name), size)).collect();
            let op = build::sdy::mesh(program, &mesh.name, Mesh { axes, device_ids: None });
            program.prepend(vec![op]);
            if func::declared_devices(program).is_some() {
                func::set_devices(program, 1, self.devices());
            }
        }
        let Some(main) = func::function(program, "main") else { return };
        let sharding = |program: &mut Program, placed: &Placed| self.sharding(program, mesh, placed);
        let mut set = Vec::new();
        for i in (0..survey.arguments.len()).filter(|&i| !survey.arguments[i].fixed) {
            let sharding = sharding(program, &self.argument(survey, i));
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            set.push((i, Some(attr)));
        }
        func::set_arg_attrs(program, main, func::SHARDING, &set);
        set.clear();
        for i in (0..survey.results.len()).filter(|&i| !survey.results[i].fixed) {
            if let Some(placed) = self.result(survey, i) {
                let sharding = sharding(program, &placed);
                let attr = program.intern_attr(AttrData::Sharding(sharding));
                set.push((i, Some(attr)));
            }
        }
        func::set_result_attrs(program, main, func::SHARDING, &set);
        let mut constraints = Vec::new();
        for pin in &self.pins {
            if let Pinned::Values(values) = &pin.at {
                let sharding = sharding(program, &pin.placed);
                constraints.extend(values.iter().map(|&value| (value, sharding.clone())));
            }
        }
        constrain(program, constraints);
        if inside {
            for (op, results) in &survey.activations {
                if program.attr(*op, func::SHARDING).is_some() || program.attr(*op, "sharding").is_some() {
                    continue;
                }
                let values: Vec<_> = program.results(*op).collect();
                let list = values.iter().zip(results).map(|(&value, classes)| {
                    let shape = program.tensor_type(value).map_or_else(Vec::new, |ty| ty.shape.to_vec());
                    match survey.is_of_data(classes) {
                        true => sharding(program, &self.by_class(survey, classes, &shape)),
                        false => TensorSharding::open(MeshRef::Symbol(program.name(&mesh.name)), classes.len()),
                    }
                });
                let list = AttrData::ShardingPerValue(list.collect());
                let attr = program.intern_attr(list);
                program.set_attr(*op, func::SHARDING, attr);
            }
        }
    }
}
