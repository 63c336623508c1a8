//! Shardy's ops with regions: `sdy.manual_computation`, whose body is one device's program along its manual axes, and
//! `sdy.named_computation`, an inlined call.
//!
//! A manual computation in an unpartitioned program is evaluated on the devices of its mesh, all in lockstep: operands
//! are sharded by `in_shardings`, results assembled by `out_shardings`. Along axes that are not manual the body works
//! on global tensors, and all devices along them compute the same. Thus a partitioned program can be checked against
//! the unpartitioned program from which it came.

use super::mesh::{meshes, resolve};
use super::{IN_SHARDINGS, MANUAL_AXES, OUT_SHARDINGS, text};
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{AttrData, Name, OpRef, Region, Shape, TensorType, TypeData};
use crate::literal::Literal;
use crate::op::{Control, DataFlow, Inferred, OpDef, Problem};
use crate::ops::stablehlo::control::{masked, region};
use crate::ops::support::inline::{InlineRegion, check_arguments, region_flow, returned_types};
use crate::sharding::{Axes, AxisList, AxisRef, Layout, MAX_DEVICES, Mesh, TensorSharding, groups};
use crate::text::Syntax;

/// A manual computation's attributes.
#[derive(Clone, Copy, Debug)]
pub struct ManualComputation<'a> {
    /// The sharding of each operand.
    pub in_shardings: &'a [TensorSharding],
    /// The sharding of each result.
    pub out_shardings: &'a [TensorSharding],
    /// The axes along which the body is one device's program.
    pub manual_axes: &'a [Name],
    /// The mesh of the shardings; if they name none, the first mesh with the manual axes.
    pub mesh: Option<&'a Mesh>,
}

impl<'a> ManualComputation<'a> {
    /// Returns the attributes of `op`; `None` if it is another op or lacks an attribute.
    pub fn of(op: OpRef<'a>) -> Option<Self> {
        if op.def().control(op) != Some(Control::Manual) {
            return None;
        }
        let in_shardings = op.attr(IN_SHARDINGS)?.as_shardings()?;
        let out_shardings = op.attr(OUT_SHARDINGS)?.as_shardings()?;
        let AttrData::ManualAxes(manual_axes) = op.attr(MANUAL_AXES)? else { return None };
        let has_axes = |mesh: &&Mesh| manual_axes.iter().all(|&a| mesh.axis_size(a).is_some());
        let stated: Vec<&Mesh> =
            in_shardings.iter().chain(out_shardings).filter_map(|s| resolve(op.program, &s.mesh)).collect();
        let mesh = match stated.first() {
            Some(&first) => Some(stated.into_iter().find(has_axes).unwrap_or(first)),
            None => meshes(op.program).map(|mesh| mesh.2).find(has_axes),
        };
        Some(Self { in_shardings, out_shardings, manual_axes, mesh })
    }

    /// Returns the sharding inside the body of a value sharded by `sharding` outside: along the axes that are not
    /// manual.
    pub fn inside(&self, sharding: &TensorSharding) -> TensorSharding {
        let mut inside = sharding.clone();
        inside.dims.iter_mut().for_each(|d| d.axes.retain(|a| !self.is_manual(a.name)));
        inside.unreduced.retain(|a| !self.is_manual(a.name));
        inside
    }

    /// Returns whether the body is one device's program along the axis.
    pub fn is_manual(&self, axis: Name) -> bool {
        self.manual_axes.contains(&axis)
    }

    /// Returns the manual axes among `axes`, in order.
    pub fn manual_part(&self, axes: &[AxisRef]) -> AxisList {
        axes.iter().copied().filter(|a| self.is_manual(a.name)).collect()
    }

    /// Returns the shape inside the body of a value of `shape`; `None` if a dimension doesn't divide evenly.
    pub fn local_shape(&self, shape: &[i64], sharding: &TensorSharding) -> Option<Shape> {
        let mut local = Shape::from_slice(shape);
        for (d, size) in local.iter_mut().enumerate().filter(|s| *s.1 >= 0) {
            let shards = self.shards(sharding, d);
            if *size % shards != 0 {
                return None;
            }
            *size /= shards;
        }
        Some(local)
    }

    /// Returns the shape outside the body of a value whose shape inside is `local`.
    pub fn global_shape(&self, local: &[i64], sharding: &TensorSharding) -> Shape {
        let size = |(d, &size): (usize, &i64)| {
            if size < 0 { size } else { size.saturating_mul(self.shards(sharding, d)) }
        };
        local.iter().enumerate().map(size).collect()
    }

    /// Returns the number of shards into which the manual axes divide dimension `d`.
    fn shards(&self, sharding: &TensorSharding, d: usize) -> i64 {
        let Some((mesh, dim)) = self.mesh.zip(sharding.dims.get(d)) else { return 1 };
        crate::sharding::axes_size(&self.manual_part(&dim.axes), mesh).max(1)
    }

    /// Returns the layout of a value of type `ty` on the devices, along the manual axes alone.
    fn layout(&self, ty: &TensorType, sharding: &TensorSharding, mesh: &Mesh) -> Layout {
        let mut manual = sharding.clone();
        for dim in &mut manual.dims {
            dim.axes = self.manual_part(&dim.axes);
        }
        manual.unreduced = self.manual_part(&sharding.unreduced);
        Layout::new(ty, Some(&manual), mesh)
    }

    /// Returns the layout of an operand on the devices; an error if the manual axes don't divide it.
    fn operand_layout(&self, i: usize, whole: &Literal, mesh: &Mesh) -> EvalResult<Layout> {
        let sharding = self.in_shardings.get(i).ok_or_else(|| EvalError::new("an operand without sharding"))?;
        if self.local_shape(&whole.shape, sharding).is_none() {
            return Err(EvalError::new(format!("the manual axes don't divide operand {i}")));
        }
        Ok(self.layout(&whole.ty(), sharding, mesh))
    }

    /// Returns the layout of a result on the devices, from the type of a shard.
    fn result_layout(&self, i: usize, shard: &Literal, mesh: &Mesh) -> EvalResult<Layout> {
        let sharding = self.out_shardings.get(i).ok_or_else(|| EvalError::new("a result without sharding"))?;
        let ty = TensorType::new(&self.global_shape(&shard.shape, sharding), shard.element);
        Ok(self.layout(&ty, sharding, mesh))
    }
}

/// `sdy.manual_computation`
pub struct Manual;
/// `sdy.manual_computation`: a region written for one device, with its own collectives.
pub static MANUAL_COMPUTATION: Manual = Manual;

impl OpDef for Manual {
    fn name(&self) -> &'static str {
        "sdy.manual_computation"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::MANUAL)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let Some(manual) = ManualComputation::of(op) else {
            return Err(Problem::new("a manual computation needs in_shardings, out_shardings and manual_axes").into());
        };
        let mut problems = Vec::new();
        let counts = [
            ("operands", "in_shardings", op.operands().len(), manual.in_shardings.len()),
            ("returned values", "out_shardings", op.region_results(0).len(), manual.out_shardings.len()),
            ("operands", "arguments of the body", op.operands().len(), op.region_args(0).len()),
        ];
        for (what, list, values, found) in counts {
            if values != found {
                problems.push(Problem::new(format!("{values} {what}, but {found} {list}")));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        for (i, (ty, &arg)) in op.operand_types().zip(op.region_args(0)).enumerate() {
            let TypeData::Tensor(ty) = ty else { continue };
            // A dimension that doesn't divide, or a wrong rank, is reported as the sharding's error.
            let Some(local) = manual.local_shape(&ty.shape, &manual.in_shardings[i]) else { continue };
            let mut expected = ty.clone();
            expected.shape = local;
            let found = op.program.value_type(arg);
            if op.program.type_data(found).tensor() != Some(&expected) {
                let expected = op.program.type_data_text(&expected.into());
                let found = op.program.type_text(found);
                problems.push(
                    Problem::operand(i, format!("the body takes {found}, but a shard of the operand is {expected}"))
                        .note("the manual axes of in_shardings divide the operand's dimensions"),
                );
            }
        }
        let declared: Vec<Option<&TensorType>> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect();
        let types = op.region_results(0).iter().zip(manual.out_shardings).enumerate().map(|(i, (&value, sharding))| {
            // As above, a dimension that doesn't divide is reported as the sharding's error.
            if let Some(&Some(whole)) = declared.get(i)
                && manual.local_shape(&whole.shape, sharding).is_none()
            {
                return whole.clone().into();
            }
            let ty = op.program.type_data(op.program.value_type(value)).clone();
            let TypeData::Tensor(mut tensor) = ty else { return ty };
            tensor.shape = manual.global_shape(&tensor.shape, sharding);
            tensor.into()
        });
        let types = types.collect();
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let manual =
            ManualComputation::of(op).ok_or_else(|| EvalError::new("its shardings or manual axes are missing"))?;
        let body = region(op, 0)?;
        let Some(mesh) = manual.mesh else {
            // Nothing is manual: the body runs unchanged.
            return cx.region(body, operands, mask);
        };
        let groups = device_groups(&manual, mesh)?;
        let devices = mesh.devices() as usize;
        if cx.partitions() == devices {
            return lockstep(&manual, mesh, &groups, body, operands, mask, cx);
        }
        let partitions = cx.partitions();
        if partitions != 1 {
            return Err(EvalError::new(format!("the mesh has {devices} devices, but {partitions} partitions run")));
        }
        // Devices that differ only along the other axes compute the same, so the first group represents all.
        let first = groups.first().map(Vec::as_slice).unwrap_or_default();
        whole(op, &manual, mesh, first, operands, mask, cx)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<4x6xf32>) %r = sdy.manual_computation(%a) in_shardings=[<mesh<[\"x\"=2]>, [{\"x\"}, {}]>] \
             out_shardings=[<mesh<[\"x\"=2]>, [{}, {\"x\"}]>] manual_axes={\"x\"} (%b: tensor<2x6xf32>) { \
             %n = stablehlo.negate %b : tensor<2x6xf32> sdy.return %n : tensor<2x6xf32> } \
             : (tensor<4x6xf32>) -> tensor<2x12xf32>"]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Manual)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        region_flow(op)
    }
}

/// Returns the groups of devices that differ only along manual axes; an error if device ids aren't a permutation.
fn device_groups(manual: &ManualComputation<'_>, mesh: &Mesh) -> EvalResult<Vec<Vec<usize>>> {
    let n = mesh.devices();
    let mut seen = vec![false; n.clamp(0, MAX_DEVICES) as usize];
    let mut valid = (1..=MAX_DEVICES).contains(&n) && mesh.axes.iter().all(|a| a.1 >= 1);
    for at in 0..seen.len() {
        match usize::try_from(mesh.device_at(at)).ok().and_then(|id| seen.get_mut(id)) {
            Some(slot) if !*slot => *slot = true,
            _ => valid = false,
        }
    }
    if !valid {
        return Err(EvalError::new("the mesh's axis sizes or device ids are invalid"));
    }
    let axes: Axes = manual.manual_axes.iter().filter_map(|&a| mesh.axis_part(AxisRef::full(a))).collect();
    Ok(groups(mesh, &axes).into_iter().map(|g| g.into_iter().map(|id| id as usize).collect()).collect())
}

/// Runs the body if all devices of the mesh run already: each takes its shard of its own copy of the operands, and a
/// result is assembled from the devices of a group.
fn lockstep(
    manual: &ManualComputation<'_>,
    mesh: &Mesh,
    groups: &[Vec<usize>],
    body: Region,
    operands: &[Lanes],
    mask: &Mask,
    cx: &mut dyn Context,
) -> LaneResults {
    let devices = cx.partitions();
    let mut args = Vec::with_capacity(operands.len());
    for (i, operand) in operands.iter().enumerate() {
        let mut lanes: Lanes = masked(operand, mask);
        let Some(any) = lanes.iter().flatten().next() else { return Err(EvalError::new("an operand has no value")) };
        let layout = manual.operand_layout(i, any, mesh)?;
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = value.take().map(|whole| layout.shard(&whole, lane % devices));
        }
        args.push(lanes);
    }
    let results = cx.region(body, &args, mask)?;
    let mut out = Vec::with_capacity(results.len());
    for (i, result) in results.iter().enumerate() {
        let mut lanes: Lanes = vec![None; mask.len()];
        let Some(any) = result.iter().flatten().next() else { return Err(EvalError::new("a result has no value")) };
        let layout = manual.result_layout(i, any, mesh)?;
        // Lanes are ordered by replica.
        for (first, group) in (0..mask.len()).step_by(devices).flat_map(|r| groups.iter().map(move |g| (r, g))) {
            let held: Vec<(usize, &Literal)> =
                group.iter().filter_map(|&device| Some((device, result[first + device].as_ref()?))).collect();
            if held.is_empty() {
                continue;
            }
            let whole = layout.assemble_held(held.iter().copied());
            held.iter().for_each(|&(device, _)| lanes[first + device] = Some(whole.clone()));
        }
        out.push(lanes);
    }
    Ok(out)
}

/// Runs the body if there is one lane per replica, with the values of the whole program. For each replica in `mask` the
/// body runs on its own set of devices (the whole mesh if the body may be manual along more axes, otherwise only
/// `group`), and results are assembled from the devices of `group`.
fn whole(
    op: OpRef<'_>,
    manual: &ManualComputation<'_>,
    mesh: &Mesh,
    group: &[usize],
    operands: &[Lanes],
    mask: &Mask,
    cx: &mut dyn Context,
) -> LaneResults {
    let devices = mesh.devices() as usize;
    let mut running: Mask = vec![shards_further(op); devices];
    group.iter().for_each(|&device| running[device] = true);
    let running = &running;
    let all: Mask = mask.iter().flat_map(|&runs| running.iter().map(move |&r| runs && r)).collect();
    let mut args = Vec::with_capacity(operands.len());
    for (i, operand) in operands.iter().enumerate() {
        let mut lanes: Lanes = vec![None; all.len()];
        for (replica, _) in mask.iter().enumerate().filter(|m| *m.1) {
            let value = operand[replica].as_ref().ok_or_else(|| EvalError::new("an operand has no value"))?;
            let layout = manual.operand_layout(i, value, mesh)?;
            for device in (0..devices).filter(|&d| running[d]) {
                lanes[replica * devices + device] = Some(layout.shard(value, device));
            }
        }
        args.push(lanes);
    }
    let results = cx.isolated(devices, region(op, 0)?, &args, &all)?;
    let mut out = Vec::with_capacity(results.len());
    for (i, result) in results.iter().enumerate() {
        let mut lanes: Lanes = vec![None; mask.len()];
        for (replica, lane) in lanes.iter_mut().enumerate().filter(|l| mask[l.0]) {
            let held = group.iter().filter_map(|&d| Some((d, result[replica * devices + d].as_ref()?)));
            let held: Vec<(usize, &Literal)> = held.collect();
            let Some(&(_, any)) = held.first() else { return Err(EvalError::new("a result has no value")) };
            let layout = manual.result_layout(i, any, mesh)?;
            *lane = Some(layout.assemble_held(held.iter().copied()));
        }
        out.push(lanes);
    }
    Ok(out)
}

/// Returns whether an op inside may be manual along more axes: another manual computation, or a call, whose function
/// may have one.
fn shards_further(op: OpRef<'_>) -> bool {
    let Some(block) = op.block(0) else { return false };
    let inner = op.program.ops_under(block).into_iter().map(|inner| op.program.view(inner));
    inner.map(|inner| inner.def().control(inner)).any(|c| matches!(c, Some(Control::Manual | Control::Call)))
}

/// `sdy.named_computation<"foo">(%0) …`: ops under a name, equivalent to inlining them.
pub static NAMED_COMPUTATION: InlineRegion = InlineRegion {
    name: "sdy.named_computation",
    syntax: &text::NAMED,
    infer: |op| {
        if op.attr("name").and_then(AttrData::as_str).is_none() {
            return Err(Problem::new("a named computation needs a name").note("write <\"name\">").into());
        }
        check_arguments(op, op.operand_types())?;
        Ok(returned_types(op))
    },
    has_flow: true,
    examples: &[
        "(%a: tensor<8x2xi32>) %r = sdy.named_computation<\"foo\">(%a) in_shardings=[<mesh<[\"b\"=2]>, [{\"b\"}, {}]>] \
         (%b: tensor<8x2xi32>) { %c = stablehlo.add %b, %b : tensor<8x2xi32> sdy.return %c : tensor<8x2xi32> } \
         : (tensor<8x2xi32>) -> tensor<8x2xi32>",
    ],
};
