//! A target with a mesh on it: the object that prices the operations and collectives of a program.
//!
//! Queries don't allocate and depend only on their arguments. A program with several meshes has one machine for each;
//! on `flat` the mesh does not matter.

use dialect::collective::{GroupMesh, Groups};

use super::clouds::slices_of;
use super::collective::{CollectiveKind, CollectiveLoad, Links, Route, route_seconds, shift_seconds, torus_seconds};
use super::custom::Custom;
use super::group::Group;
use super::kernels::KernelCost;
use super::placement::{Placement, PlacementError};
use super::precision::Precision;
use super::reached::Reached;
use super::residuals::Residual;
use super::roofline::{Matmul, OpSeconds};
use super::target::{Flat, Slice, Target};
use dialect::sharding::{AxisPart, Mesh};
use rustc_hash::FxHashSet;

/// The rates of a program's device, and its connections to other devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    kind: MachineKind,
    order: Option<DeviceOrder>,
}

/// The devices of a mesh that doesn't have them in the order 0, 1, 2, …
#[derive(Clone, Debug, PartialEq)]
struct DeviceOrder {
    /// The device at each row-major position.
    devices: Vec<i64>,
    /// The row-major position of each device.
    positions: Vec<i64>,
}

impl DeviceOrder {
    fn of(mesh: &Mesh) -> Option<Self> {
        let devices = mesh.device_ids.clone()?;
        let mut positions: Vec<i64> = (0..devices.len() as i64).collect();
        for (at, &device) in devices.iter().enumerate() {
            *positions.get_mut(usize::try_from(device).ok()?)? = at as i64;
        }
        Some(Self { devices, positions })
    }
}

#[derive(Clone, Debug, PartialEq)]
enum MachineKind {
    Flat(Flat),
    Slice(Slice, Box<Placement>),
    Custom(Custom),
}

impl Machine {
    /// Creates a machine with a mesh of these axis sizes on the target, in the default placement.
    ///
    /// # Errors
    /// The slice's devices are no multiple of the mesh's, or a chip without a shape has no default shape for them.
    pub fn new(target: Target, axis_sizes: &[u64]) -> Result<Machine, PlacementError> {
        match target {
            Target::Flat(flat) => Ok(Machine::flat(flat)),
            Target::Slice(slice) => Ok(Machine::placed(slice, Placement::new(&slice, axis_sizes)?)),
            Target::Chip(chip, slices) => {
                let devices = axis_sizes.iter().try_fold(1, |devices: u64, &size| devices.checked_mul(size));
                let Some(slice) = devices.and_then(|devices| slices_of(chip, slices, devices)) else {
                    let mesh: Vec<String> = axis_sizes.iter().map(u64::to_string).collect();
                    let message = format!(
                        "{target} has no default slice for the mesh {}: write the shape, as in {target}:{}",
                        mesh.join("x"),
                        chip.example_shape()
                    );
                    return Err(PlacementError { message });
                };
                Machine::new(Target::Slice(slice), axis_sizes)
            }
            Target::Custom(model) => Ok(Machine { kind: MachineKind::Custom(model), order: None }),
        }
    }

    /// Creates a machine with this mesh on the target, in the default placement. The order of the mesh's devices
    /// matters for collectives whose groups name devices.
    ///
    /// # Errors
    /// When the slice's devices are no multiple of the mesh's.
    pub fn of_mesh(target: Target, mesh: &Mesh) -> Result<Machine, PlacementError> {
        let sizes: Vec<u64> = mesh.axes.iter().map(|a| a.1.max(1) as u64).collect();
        let machine = Machine::new(target, &sizes)?;
        Ok(Machine { order: DeviceOrder::of(mesh), ..machine })
    }

    /// Creates a machine without topology.
    pub fn flat(flat: Flat) -> Machine {
        Machine { kind: MachineKind::Flat(flat), order: None }
    }

    /// Creates a machine with a mesh in a given placement, which must be a placement on that slice.
    pub fn placed(slice: Slice, placement: Placement) -> Machine {
        Machine { kind: MachineKind::Slice(slice, Box::new(placement)), order: None }
    }

    /// Returns the target.
    pub fn target(&self) -> Target {
        match &self.kind {
            MachineKind::Flat(flat) => Target::Flat(*flat),
            MachineKind::Slice(slice, _) => Target::Slice(*slice),
            MachineKind::Custom(model) => Target::Custom(*model),
        }
    }

    /// Returns the placement of the mesh; `None` on `flat`.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => None,
            MachineKind::Slice(_, placement) => Some(placement),
        }
    }

    /// Returns whether collectives may overlap arithmetic.
    pub fn overlaps_communication(&self) -> bool {
        match &self.kind {
            MachineKind::Flat(_) => false,
            MachineKind::Slice(..) => true,
            MachineKind::Custom(model) => model.0.overlaps_communication(),
        }
    }

    /// Returns the group of a collective over parts of mesh axes.
    pub fn group(&self, parts: &[AxisPart]) -> Group {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => {
                Group::of_size(parts.iter().fold(1, |size: u64, part| size.saturating_mul(part.size.into())))
            }
            MachineKind::Slice(_, placement) => placement.group(parts),
        }
    }

    /// Returns the group of a program's collective: from its mesh axes where they are this machine's, else from the
    /// devices of the first group, assuming that the others look alike. `device` maps a device of the program to a
    /// device of the mesh.
    pub fn group_of(&self, groups: &Groups, device: impl Fn(i64) -> i64) -> Group {
        if let Some(axes) = groups.axes()
            && self.has_axes(axes.mesh())
        {
            return self.group(axes.axes());
        }
        // Every replica has a separate slice, so devices of different replicas may have the same position.
        let positions = |group: usize| {
            let mut seen = FxHashSet::default();
            groups.group(group).map(|d| self.position(device(d))).filter(|&at| seen.insert(at)).collect::<Vec<u64>>()
        };
        if let Some(placement) = self.placement().filter(|placement| placement.is_listed()) {
            return placement.group_of_lists(&(0..groups.count()).map(positions).collect::<Vec<_>>());
        }
        let mut devices: Vec<u64> = if groups.count() == 0 { Vec::new() } else { positions(0) };
        devices.sort_unstable();
        self.group_of_devices(&devices)
    }

    /// Returns the row-major position in the mesh of one of its devices.
    pub fn position(&self, device: i64) -> u64 {
        let position = |order: &DeviceOrder| order.positions.get(usize::try_from(device).ok()?).copied();
        self.order.as_ref().and_then(position).unwrap_or(device).max(0) as u64
    }

    /// Returns whether a mesh of a program is the mesh of this machine.
    fn has_axes(&self, mesh: &GroupMesh) -> bool {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => true,
            MachineKind::Slice(_, placement) => {
                let device = |at: i64| self.order.as_ref().map_or(at, |order| order.devices[at as usize]);
                let reordered = mesh.is_reordered() || self.order.is_some();
                placement.has_axes(mesh.sizes())
                    && (!reordered || (0..mesh.devices()).all(|at| mesh.device(at) == device(at)))
            }
        }
    }

    /// Returns the group of a collective whose replica groups are lists of device ids; `devices` is one of them.
    pub fn group_of_devices(&self, devices: &[u64]) -> Group {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => Group::of_size(devices.len() as u64),
            MachineKind::Slice(_, placement) => placement.group_of_devices(devices),
        }
    }

    /// Returns the seconds of a collective; `operand` and `result` are bytes per device, before and after. Ignores the
    /// pairs of a permute.
    pub fn collective_seconds(&self, kind: CollectiveKind, operand: f64, result: f64, group: &Group) -> f64 {
        let load = CollectiveLoad::new(kind, operand, result, group.size());
        match &self.kind {
            MachineKind::Flat(flat) => flat.collective_seconds(&load),
            MachineKind::Slice(..) => match group.reached() {
                Some(reached) => reached.collective_seconds(&load, group),
                None => torus_seconds(&load, group),
            },
            MachineKind::Custom(model) => model.0.collective_seconds(&load),
        }
    }

    /// Returns the seconds of a permute that sends `bytes` from every device of the group to the device `distance`
    /// further on, cyclically.
    pub fn shift_seconds(&self, bytes: u64, distance: u64, group: &Group) -> f64 {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => {
                self.collective_seconds(CollectiveKind::CollectivePermute, bytes as f64, bytes as f64, group)
            }
            MachineKind::Slice(slice, _) => {
                slice.chip.permute_seconds(bytes as f64, |bytes| shift_seconds(bytes, distance, group))
            }
        }
    }

    /// Returns the load of a permute's pairs (source, target) on the links; `None` on `flat`, which has none.
    pub fn route(&self, pairs: &[(u64, u64)]) -> Option<Route> {
        self.placement().map(|placement| placement.route(pairs))
    }

    /// Returns [`Self::route`], and the links that the messages use.
    pub fn load(&self, pairs: &[(u64, u64)]) -> Option<(Route, Links)> {
        self.placement().map(|placement| placement.load(pairs))
    }

    /// Returns the seconds of a permute of `bytes` per device by `route`, which `flat` ignores; on a slice, no route
    /// means that nothing is sent.
    pub fn permute_seconds(&self, bytes: u64, route: Option<&Route>) -> f64 {
        let bytes = bytes as f64;
        let load = CollectiveLoad::new(CollectiveKind::CollectivePermute, bytes, bytes, 2);
        match (&self.kind, route) {
            (MachineKind::Slice(slice, _), Some(route)) => {
                slice.chip.permute_seconds(bytes, |bytes| route_seconds(bytes, route))
            }
            (MachineKind::Slice(..), None) => 0.0,
            (MachineKind::Flat(flat), _) => flat.collective_seconds(&load),
            (MachineKind::Custom(model), _) => model.0.collective_seconds(&load),
        }
    }

    /// Returns the peak matmul rate of a device, FLOP/s; on `flat` it is the same for all element types.
    pub fn peak_flops(&self, precision: Precision) -> f64 {
        match &self.kind {
            MachineKind::Flat(flat) => flat.flops,
            MachineKind::Custom(model) => model.0.peak_flops(precision),
            MachineKind::Slice(slice, placement) => {
                slice.chip.peak_flops(precision) / placement.devices_per_chip() as f64
            }
        }
    }

    /// Returns what the chips reach of their nominal rates; `None` without measurements.
    fn reached(&self) -> Option<&'static Reached> {
        if let MachineKind::Slice(slice, _) = &self.kind { slice.chip.reached } else { None }
    }

    /// Returns the rate that products reach on a device, FLOP/s; operands and results have `size` bytes. Products of
    /// f32 that VMEM can't hold are slower.
    pub fn product_rate(&self, precision: Precision, size: f64) -> f64 {
        let share = match &self.kind {
            MachineKind::Slice(slice, _) => slice.chip.reached.map_or(1.0, |reached| match precision {
                Precision::F32 if size > reached.vmem_share * slice.chip.vmem_bytes as f64 => reached.f32_products,
                _ => reached.products,
            }),
            _ => 1.0,
        };
        share * self.peak_flops(precision)
    }

    /// Returns the rate that products inside called kernels reach on a device, FLOP/s.
    pub fn kernel_rate(&self, precision: Precision) -> f64 {
        self.reached().map_or(1.0, |reached| reached.kernels) * self.peak_flops(precision)
    }

    /// Returns the rate that grouped products reach on a device, those of experts, FLOP/s.
    pub fn grouped_rate(&self, precision: Precision) -> f64 {
        self.reached().map_or(1.0, |reached| reached.grouped) * self.peak_flops(precision)
    }

    /// Returns the seconds of copying elements from one layout in memory to another.
    pub fn layout_copy_seconds(&self, elements: f64) -> f64 {
        let per_chip = self.placement().map_or(1, Placement::devices_per_chip);
        self.reached().map_or(0.0, |reached| reached.layout_copy) * elements * per_chip as f64
    }

    /// Returns how much longer a step of `seconds` takes because slices or islands wait for the slowest one.
    pub fn waiting_seconds(&self, seconds: f64) -> f64 {
        let MachineKind::Slice(slice, _) = &self.kind else { return 0.0 };
        self.reached().map_or(0.0, |reached| reached.waiting) * seconds * (slice.slices as f64).log2()
    }

    /// Returns the costs of kernels that the target's description states.
    pub fn kernels(&self) -> &'static [KernelCost] {
        match &self.kind {
            MachineKind::Flat(flat) => flat.kernels,
            MachineKind::Slice(slice, _) => slice.chip.kernels,
            MachineKind::Custom(model) => model.0.kernels(),
        }
    }

    /// Returns what comparisons with measurements showed of the figures for this chip; empty if there were none.
    pub fn residuals(&self) -> &'static [Residual] {
        match &self.kind {
            MachineKind::Flat(_) | MachineKind::Custom(_) => &[],
            MachineKind::Slice(slice, _) => Residual::of_chip(slice.chip),
        }
    }

    /// Returns the memory bandwidth that a device reaches, bytes/s.
    pub fn memory_bandwidth(&self) -> f64 {
        match &self.kind {
            MachineKind::Flat(flat) => flat.memory_bandwidth,
            MachineKind::Custom(model) => model.0.memory_bandwidth(),
            MachineKind::Slice(slice, placement) => {
                let share = slice.chip.reached.map_or(1.0, |reached| reached.memory);
                share * slice.chip.hbm_bandwidth / placement.devices_per_chip() as f64
            }
        }
    }

    /// Bytes/s of copies between the memory of a device and that of its host, in each direction.
    pub fn host_bandwidth(&self) -> f64 {
        match &self.kind {
            MachineKind::Flat(flat) => flat.host_bandwidth,
            MachineKind::Custom(model) => model.0.host_bandwidth(),
            MachineKind::Slice(slice, placement) => slice.chip.host_bandwidth / placement.devices_per_chip() as f64,
        }
    }

    /// Seconds of a copy of that many bytes between the memory of a device and that of its host.
    pub fn host_seconds(&self, bytes: f64) -> f64 {
        bytes / self.host_bandwidth()
    }

    /// The highest rate in bytes/s at which any collective brings data to a device; infinite if a custom model has
    /// none.
    pub fn entry_bandwidth(&self) -> f64 {
        match &self.kind {
            MachineKind::Flat(flat) => flat.bandwidth,
            MachineKind::Custom(_) => f64::INFINITY,
            MachineKind::Slice(_, placement) => placement.entry_bandwidth(),
        }
    }

    /// Returns the memory of a device, bytes.
    pub fn memory_bytes(&self) -> u64 {
        match &self.kind {
            MachineKind::Flat(flat) => flat.memory_bytes,
            MachineKind::Custom(model) => model.0.memory_bytes(),
            MachineKind::Slice(slice, placement) => slice.chip.hbm_bytes / placement.devices_per_chip(),
        }
    }

    /// Returns the seconds of the arithmetic of a matmul of local shards, padded to the MXU on a slice, unpadded on
    /// `flat`; operands and results have `size` bytes.
    pub fn matmul_seconds(&self, matmul: &Matmul, precision: Precision, size: f64) -> f64 {
        let flops = match &self.kind {
            MachineKind::Flat(_) => matmul.flops(),
            MachineKind::Slice(slice, _) => matmul.padded_flops(slice.chip.mxu_side),
            MachineKind::Custom(model) => return model.0.matmul_seconds(matmul, precision),
        };
        flops as f64 / self.product_rate(precision, size)
    }

    /// Returns the seconds of this many bytes of memory traffic, reads and writes together.
    pub fn memory_seconds(&self, bytes: f64) -> f64 {
        match &self.kind {
            MachineKind::Custom(model) => model.0.memory_seconds(bytes),
            _ => bytes / self.memory_bandwidth(),
        }
    }

    /// Returns the seconds that an op takes in addition to its arithmetic and its memory traffic.
    pub fn op_latency(&self) -> f64 {
        if let MachineKind::Custom(model) = &self.kind { model.0.op_latency() } else { 0.0 }
    }

    /// Returns the seconds that a step takes in addition to its ops.
    pub fn step_latency(&self) -> f64 {
        if let MachineKind::Custom(model) = &self.kind { model.0.step_latency() } else { 0.0 }
    }

    /// Returns both sides of the roofline of a matmul of local shards that reads and writes `bytes` of memory, of
    /// `size` bytes of operands and results; `total` of the result is its time.
    pub fn matmul_roofline(&self, matmul: &Matmul, precision: Precision, bytes: f64, size: f64) -> OpSeconds {
        OpSeconds { math: self.matmul_seconds(matmul, precision, size), memory: self.memory_seconds(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use dialect::collective::{IdMode, MeshAttr};
    use dialect::ir::Program;
    use smallvec::SmallVec;

    use super::*;

    fn machine(target: &str, axis_sizes: &[u64]) -> Machine {
        Machine::new(Target::parse(target).unwrap(), axis_sizes).unwrap()
    }

    #[test]
    fn flat_knows_sizes_only() {
        let flat = machine("flat", &[4, 2]);
        let group = flat.group(&[AxisPart::whole(0, 4), AxisPart { axis: 1, pre: 1, size: 2 }]);
        assert_eq!(group.size(), 8);
        assert_eq!(flat.collective_seconds(CollectiveKind::AllGather, 9.0, 72.0, &group), 1e-6 + 63.0 * (1.0 / 90e9));
        assert_eq!(flat.shift_seconds(90, 3, &group), 1e-6 + 90.0 * (1.0 / 90e9));
        assert_eq!(flat.permute_seconds(90, None), 1e-6 + 90.0 * (1.0 / 90e9));
        assert_eq!(
            flat.matmul_seconds(&Matmul { batch: 1, rows: 1, contracting: 50, columns: 1 }, Precision::Int8, 0.0),
            100.0 / 2e14
        );
        assert_eq!(flat.memory_seconds(3e12), 3.0);
        assert_eq!(flat.memory_bytes(), 17_179_869_184);
        assert!(!flat.overlaps_communication());
    }

    #[test]
    fn groups_are_priced_where_their_mesh_places_them() {
        let mut p = Program::new();
        let axes: SmallVec<_> = [(p.name("x"), 4), (p.name("y"), 2)].into_iter().collect();
        // The mesh lists devices minor axis first: groups along "x" are devices 0 to 3 and 4 to 7.
        let order = Some(vec![0, 4, 1, 5, 2, 6, 3, 7]);
        let mesh = Mesh { axes, device_ids: order };
        let target = Target::parse("v5e:4x2").unwrap();
        let (plain, reordered) = (machine("v5e:4x2", &[4, 2]), Machine::of_mesh(target, &mesh).unwrap());
        let along = |p: &mut Program, mesh: &Mesh| {
            let attr = MeshAttr::new(p, mesh).along(p, &[AxisPart::whole(0, 4)], 1);
            Groups::new(dialect::collective::rows(p, attr).unwrap(), IdMode::Flattened, 1, 8)
        };
        let by_axes = along(&mut p, &mesh);
        assert_eq!(by_axes.lists(), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let x = plain.group(&[AxisPart::whole(0, 4)]);
        assert_eq!(reordered.group_of(&by_axes, |d| d), x);
        assert_eq!(reordered.group_of(&Groups::of_lists(&by_axes.lists()), |d| d), x);
        // On a machine whose devices are in JAX's order, around the slice, the same devices are one line of four.
        let line = plain.group_of(&by_axes, |d| d);
        assert_eq!(line.lines().iter().map(|line| (line.participants, line.stride)).collect::<Vec<_>>(), [(4, 1)]);
        assert_ne!(line, x);
        // Groups along a mesh in order are placed differently on the reordered machine.
        let in_order = along(&mut p, &Mesh { device_ids: None, ..mesh });
        assert_eq!(in_order.lists(), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(plain.group_of(&in_order, |d| d), x);
        assert_ne!(reordered.group_of(&in_order, |d| d), x);
        assert_eq!((reordered.position(4), plain.position(4)), (1, 4));
    }

    #[test]
    fn a_slice_prices_its_chip() {
        let v5e = machine("v5e:4x2", &[4, 2]);
        let matmul = Matmul { batch: 2, rows: 9, contracting: 100, columns: 200 };
        let seconds = v5e.matmul_roofline(&matmul, Precision::Int8, 810e9, 810e9);
        assert_eq!(seconds.math, (2 * 2 * 16 * 128 * 256) as f64 / (0.935 * 394e12));
        assert_eq!(seconds.total(), 1.0 / 0.8);
        assert!(v5e.overlaps_communication());
        assert_eq!(v5e.target().to_string(), "v5e:4x2");
        // 64 MiB over a line of 4: three quarters of them enter each end.
        let gather = v5e.collective_seconds(
            CollectiveKind::AllGather,
            (1 << 24) as f64,
            (1 << 26) as f64,
            &v5e.group(&[AxisPart::whole(0, 4)]),
        );
        let wanted = 4.95e-6 + 3.0 * 1.54e-6 + (1u64 << 26) as f64 * 0.75 / (0.97 * 45e9);
        assert!((gather / wanted - 1.0).abs() < 1e-12, "{gather} {wanted}");
    }

    #[test]
    fn chiplets_share_their_chip() {
        let chips = machine("v7x:4x4x4", &[64]);
        let chiplets = machine("v7x:4x4x4", &[64, 2]);
        assert_eq!((chips.peak_flops(Precision::Bf16), chiplets.peak_flops(Precision::Bf16)), (2.3e15, 1.15e15));
        assert_eq!((chips.memory_bandwidth(), chiplets.memory_bandwidth()), (0.8 * 7.4e12, 0.8 * 3.7e12));
        assert_eq!((chips.memory_bytes(), chiplets.memory_bytes()), (192_000_000_000, 96_000_000_000));
    }
}
