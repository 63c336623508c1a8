//! Reads annotations from before Shardy: `mhlo.sharding` on arguments, results and calls of `@Sharding` becomes a mesh
//! and shardings on it, and a call between `@SPMDFullToShardShape` and `@SPMDShardToFullShape` a manual computation
//! ([`super::shard_map`]).
//!
//! All annotations share one mesh: device numbers are split wherever an annotation splits them, and each run in between
//! is an axis. A value that also has a Shardy sharding, or one in [`super::frontend`], keeps it. Source: XLA,
//! `import_shardings`.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{AttrData, Op, Program};
use dialect::ops::mhlo::{ENTER_MANUAL, LEAVE_MANUAL, SHARDING as ANNOTATION};
use dialect::ops::{build, func, sdy};
use dialect::sharding::{AxisRef, DimSharding, Mesh, MeshRef, ReductionKind, TensorSharding};

use super::hlo_sharding::{self, DeviceRun, HloSharding, Tiles};

/// The position of an annotation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Annotated {
    Argument(Op, usize),
    Result(Op, usize),
    /// On an op, for all of its results.
    Op(Op),
}

struct Annotation {
    place: Annotated,
    span: Span,
    shardings: Vec<HloSharding>,
}

/// The one mesh of all annotations.
pub(super) struct Grid {
    /// Its symbol.
    name: String,
    /// The stride and size of each axis in device numbers, major first.
    axes: Vec<DeviceRun>,
    mesh: Mesh,
    /// Whether no tiles determine the number of devices.
    empty: bool,
}

/// Turns all annotations of a program into meshes and shardings. The parser keeps them as text, so errors in them are
/// reported here.
pub(super) fn read(program: &mut Program, diagnostics: &mut Diagnostics) {
    let attributes = super::frontend::is_present(program);
    super::frontend::read(program, diagnostics);
    let annotations = find(program, diagnostics);
    if !annotations.is_empty() {
        apply_all(program, &annotations, diagnostics);
    }
    if (attributes || !annotations.is_empty()) && !diagnostics.has_errors() {
        dialect::verify(program, diagnostics);
    }
}

fn apply_all(program: &mut Program, annotations: &[Annotation], diagnostics: &mut Diagnostics) {
    let Some(grid) = Grid::of(program, annotations, diagnostics) else { return };
    grid.declare(program, annotations);
    super::shard_map::read(program, &grid, diagnostics);
    for annotation in annotations {
        let span = annotation.span;
        if let Err(message) = apply(program, &grid, annotation) {
            diagnostics.push(problem(span, message));
        }
    }
}

fn problem(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::MHLO_SHARDING, span, message)
        .note("write a sharding of Shardy instead: #sdy.sharding<@mesh, […]>")
}

fn find(program: &Program, diagnostics: &mut Diagnostics) -> Vec<Annotation> {
    let mut found: Vec<(Annotated, Span, String)> = Vec::new();
    let text = |attr| match program.attr_data(attr) {
        // Bytes that aren't text are no sharding either; reading them reports that.
        AttrData::String(text) => Some(text.shown().into_owned()),
        _ => None,
    };
    for function in func::functions(program) {
        let signature = func::signature(program, function);
        let arguments = func::block(program, function).map(|b| program.block_args(b)).unwrap_or_default();
        for i in 0..signature.inputs.len() {
            let span = arguments.get(i).map_or(program.op(function).span, |&a| program.value_span(a));
            let attr = func::arg_attr(program, function, i, ANNOTATION);
            found.extend(attr.and_then(text).map(|t| (Annotated::Argument(function, i), span, t)));
        }
        for i in 0..signature.results.len() {
            let attr = func::result_attr(program, function, i, ANNOTATION);
            found.extend(attr.and_then(text).map(|t| (Annotated::Result(function, i), program.op(function).span, t)));
        }
    }
    program.walk(program.body(), &mut |op| {
        let attr = program.attr(op, ANNOTATION);
        found.extend(attr.and_then(text).map(|t| (Annotated::Op(op), program.op(op).span, t)));
    });
    let mut annotations = Vec::new();
    for (place, span, text) in found {
        match hlo_sharding::read(&text) {
            Ok(shardings) => annotations.push(Annotation { place, span, shardings }),
            Err(message) => diagnostics.push(problem(program.find_in_source(span, &text), message)),
        }
    }
    annotations
}

impl Grid {
    /// Creates the mesh, split wherever an annotation splits it.
    fn of(program: &mut Program, annotations: &[Annotation], diagnostics: &mut Diagnostics) -> Option<Self> {
        let declared =
            func::declared_devices(program).map_or(1, |(replicas, partitions)| replicas.saturating_mul(partitions));
        let mut first: Option<(Span, &Tiles)> = None;
        let mut cuts: Vec<i64> = Vec::new();
        for annotation in annotations {
            for sharding in &annotation.shardings {
                let HloSharding::Tiled(tiles) = sharding else { continue };
                let (span, known) = *first.get_or_insert((annotation.span, tiles));
                if known.devices != tiles.devices || known.order != tiles.order {
                    let message = match known.devices == tiles.devices {
                        true => "it orders the devices differently than another annotation".to_owned(),
                        false => format!(
                            "it is over {} devices, but another annotation is over {}",
                            tiles.devices, known.devices
                        ),
                    };
                    diagnostics.push(problem(annotation.span, message).also(span, "the other annotation"));
                    return None;
                }
                let mut with: Vec<i64> = cuts.clone();
                with.extend([1, tiles.devices]);
                for run in tiles.dims.iter().flatten().chain(&tiles.manual) {
                    with.extend([run.stride, run.stride * run.size]);
                }
                with.sort_unstable();
                with.dedup();
                if with.windows(2).any(|pair| pair[1] % pair[0] != 0) {
                    let message = "it divides the devices so that it doesn't refine the other annotations".to_owned();
                    diagnostics.push(problem(annotation.span, message).also(span, "another annotation"));
                    return None;
                }
                cuts = with;
            }
        }
        let empty = cuts.is_empty();
        if empty && declared > 1 {
            cuts = vec![1, declared];
        }
        let axes: Vec<DeviceRun> =
            cuts.windows(2).rev().map(|pair| DeviceRun { stride: pair[0], size: pair[1] / pair[0] }).collect();
        let named = axes.iter().enumerate().map(|(i, run)| (program.name(&format!("_axis_{i}")), run.size)).collect();
        let device_ids = first.and_then(|(_, tiles)| tiles.order.clone());
        let taken = |name: &str| {
            let top = program.block_ops(program.body());
            top.iter().any(|&op| func::symbol(program, op) == Some(name))
        };
        let numbered = (0..).map(|i| format!("mesh_{i}"));
        let name = std::iter::once("mesh".to_owned()).chain(numbered).find(|name| !taken(name))?;
        Some(Self { name, empty: axes.is_empty(), axes, mesh: Mesh { axes: named, device_ids } })
    }

    /// Writes the meshes that the annotations need at the front of the module.
    fn declare(&self, program: &mut Program, annotations: &[Annotation]) {
        let mut meshes = Vec::new();
        if !self.empty {
            meshes.push((self.name.clone(), self.mesh.clone()));
        }
        for sharding in annotations.iter().flat_map(|a| &a.shardings) {
            if let HloSharding::Maximal(device) = sharding {
                let maximal = (maximal_name(*device), Mesh { device_ids: Some(vec![*device]), ..Mesh::default() });
                if !meshes.contains(&maximal) {
                    meshes.push(maximal);
                }
            }
        }
        let ops = meshes.into_iter().map(|(name, mesh)| build::sdy::mesh(program, &name, mesh)).collect();
        program.prepend(ops);
    }

    /// Returns the axes of a run, major first.
    fn axes_of(&self, run: DeviceRun) -> impl Iterator<Item = AxisRef> + '_ {
        let inside = move |axis: &DeviceRun| (run.stride..run.stride * run.size).contains(&axis.stride);
        let axes = self.axes.iter().zip(&self.mesh.axes).filter(move |(axis, _)| inside(axis));
        axes.map(|(_, &(name, _))| AxisRef::full(name))
    }

    /// Returns the manual axes that an annotation inside a manual region names, in the order of the mesh.
    pub(super) fn manual_axes(&self, sharding: &HloSharding) -> Vec<AxisRef> {
        let manual: Vec<AxisRef> = match sharding {
            HloSharding::Manual => return self.mesh.axes.iter().map(|a| AxisRef::full(a.0)).collect(),
            HloSharding::Tiled(tiles) => tiles.manual.iter().flat_map(|&run| self.axes_of(run)).collect(),
            _ => Vec::new(),
        };
        self.mesh.axes.iter().map(|a| AxisRef::full(a.0)).filter(|a| manual.contains(a)).collect()
    }

    /// Returns the sharding of a tensor of `rank` dimensions, or `None` when the annotation implies none.
    ///
    /// # Errors
    /// An annotation that can't be expressed.
    pub(super) fn sharding(
        &self,
        program: &mut Program,
        sharding: &HloSharding,
        rank: usize,
    ) -> Result<Option<TensorSharding>, String> {
        let mesh = MeshRef::Symbol(program.name(&self.name));
        match sharding {
            HloSharding::Replicated if self.empty => Ok(None),
            HloSharding::Replicated => Ok(Some(TensorSharding::replicated(mesh, rank))),
            HloSharding::Manual => Err("a manual sharding outside of a manual region".to_owned()),
            HloSharding::Maximal(device) => {
                let mesh = MeshRef::Symbol(program.name(&maximal_name(*device)));
                Ok(Some(TensorSharding::replicated(mesh, 0)))
            }
            HloSharding::Tiled(tiles) if tiles.dims.len() != rank => {
                Err(format!("it tiles {} dimensions of a tensor of rank {rank}", tiles.dims.len()))
            }
            HloSharding::Tiled(tiles) if !tiles.manual.is_empty() => {
                Err("partly manual tiles outside of a manual region".to_owned())
            }
            HloSharding::Tiled(tiles) => {
                let axes = |runs: &Vec<DeviceRun>| runs.iter().flat_map(|&run| self.axes_of(run)).collect::<Vec<_>>();
                Ok(Some(TensorSharding {
                    mesh,
                    dims: tiles.dims.iter().map(|runs| DimSharding::closed(&axes(runs))).collect(),
                    replicated: Default::default(),
                    unreduced: Default::default(),
                    kind: ReductionKind::Sum,
                }))
            }
        }
    }
}

fn maximal_name(device: i64) -> String {
    format!("maximal_mesh_{device}")
}

/// Applies an annotation at its position.
fn apply(program: &mut Program, grid: &Grid, annotation: &Annotation) -> Result<(), String> {
    match annotation.place {
        Annotated::Argument(function, i) => {
            func::remove_arg_attr(program, function, i, ANNOTATION);
            let ty = func::signature(program, function).inputs[i];
            let rank = program.type_data(ty).tensor().map_or(0, |t| t.rank());
            if func::arg_sharding(program, function, i).is_none()
                && let Some(sharding) = grid.sharding(program, only(annotation)?, rank)?
            {
                let attr = program.intern_attr(AttrData::Sharding(sharding));
                func::set_arg_attr(program, function, i, func::SHARDING, attr);
            }
        }
        Annotated::Result(function, i) => {
            func::remove_result_attr(program, function, i, ANNOTATION);
            let ty = func::signature(program, function).results[i];
            let rank = program.type_data(ty).tensor().map_or(0, |t| t.rank());
            if func::result_sharding(program, function, i).is_none()
                && let Some(sharding) = grid.sharding(program, only(annotation)?, rank)?
            {
                let attr = program.intern_attr(AttrData::Sharding(sharding));
                func::set_result_attr(program, function, i, func::SHARDING, attr);
            }
        }
        // Annotations of manual regions were removed with their ops.
        Annotated::Op(op) if program.attr(op, ANNOTATION).is_none() => {}
        Annotated::Op(op) => apply_to_op(program, grid, annotation, op)?,
    }
    Ok(())
}

fn only(annotation: &Annotation) -> Result<&HloSharding, String> {
    match annotation.shardings.as_slice() {
        [one] => Ok(one),
        list => Err(format!("expected one sharding for one tensor, found {}", list.len())),
    }
}

/// Turns `@Sharding` into a constraint, with the dimensions that its `backend_config` leaves unspecified open; gives
/// any other op the shardings of its results.
fn apply_to_op(program: &mut Program, grid: &Grid, annotation: &Annotation, op: Op) -> Result<(), String> {
    program.remove_attr(op, ANNOTATION);
    let target = target(program, op).map(str::to_owned);
    if matches!(target.as_deref(), Some(ENTER_MANUAL | LEAVE_MANUAL)) {
        return Err(format!("@{} is not part of the pattern of a manual computation", target.unwrap_or_default()));
    }
    let mut ranks: Vec<usize> = program.results(op).map(|v| program.tensor_type(v).map_or(0, |t| t.rank())).collect();
    if ranks.is_empty() && matches!(annotation.shardings[..], [HloSharding::Maximal(_)]) {
        // An op without results states where it runs, as Shardy writes it.
        ranks.push(0);
    }
    let open = unspecified(program, op)?;
    let mut list = Vec::new();
    for (i, &rank) in ranks.iter().enumerate() {
        let given = match annotation.shardings.as_slice() {
            [one] => one,
            list => list.get(i).ok_or_else(|| format!("found {} shardings for {} results", list.len(), ranks.len()))?,
        };
        let Some(mut sharding) = grid.sharding(program, given, rank)? else { return Ok(()) };
        for (d, dim) in sharding.dims.iter_mut().enumerate() {
            dim.open = open.contains(&d);
        }
        list.push(sharding);
    }
    match (target.as_deref(), list.as_slice()) {
        (Some("Sharding"), [sharding]) => constrain(program, op, sharding.clone()),
        _ if program.attr(op, func::SHARDING).is_none() && !list.is_empty() => {
            let attr = program.intern_attr(AttrData::ShardingPerValue(list));
            program.set_attr(op, func::SHARDING, attr);
        }
        _ => {}
    }
    Ok(())
}

/// Makes a call of `@Sharding` a constraint.
pub(super) fn constrain(program: &mut Program, op: Op, sharding: TensorSharding) {
    let attr = program.intern_attr(AttrData::Sharding(sharding));
    program.set_def(op, &sdy::ShardingConstraint);
    program.op_mut(op).attrs.clear();
    program.set_attr(op, sdy::SHARDING, attr);
}

/// Returns the target of a custom call.
pub(super) fn target(program: &Program, op: Op) -> Option<&str> {
    program.view(op).attr("call_target_name").and_then(AttrData::as_str)
}

/// Parses `unspecified_dims=[0,1]`.
fn unspecified(program: &Program, op: Op) -> Result<Vec<usize>, String> {
    let config = program.view(op).attr("backend_config").and_then(AttrData::as_str).unwrap_or_default();
    let Some((_, rest)) = config.split_once("unspecified_dims=[") else { return Ok(Vec::new()) };
    let inner = rest.split(']').next().unwrap_or_default();
    let dims: Option<Vec<usize>> = inner.split(',').map(|d| d.trim().parse().ok()).collect();
    dims.ok_or_else(|| format!("'{config}' is not a list of unspecified dimensions"))
}
