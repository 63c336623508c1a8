//! The figures of a machine from measurements: its own, or those that other programs printed. The result is the text
//! of a file for `--target`.

mod fit;
mod measure;
mod programs;
mod read;
mod text;

use passes::estimate::{CollectiveKind, Flat, Measured, Precision, Target};
use serde::Serialize;

use fit::{Bend, Fit, Point, bend, line, median};

pub use measure::{CalibrateOptions, Calibrating};
pub use read::read_measurements;

/// A class of element types that has a rate of products, with the key of the file that has the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Class(pub(crate) &'static str, pub(crate) Precision);

/// All classes, from the widest to the narrowest.
pub(crate) const CLASSES: [Class; 6] = [
    Class("f64_flops", Precision::F32Highest),
    Class("f32_flops", Precision::F32),
    Class("bf16_flops", Precision::Bf16),
    Class("fp8_flops", Precision::Fp8),
    Class("int8_flops", Precision::Int8),
    Class("int4_flops", Precision::Int4),
];

/// The kinds of collectives that have figures, with their names in the file.
pub(crate) const KINDS: [(CollectiveKind, &str); 7] = [
    (CollectiveKind::AllGather, "all_gather"),
    (CollectiveKind::AllReduce, "all_reduce"),
    (CollectiveKind::ReduceScatter, "reduce_scatter"),
    (CollectiveKind::AllToAll, "all_to_all"),
    (CollectiveKind::CollectivePermute, "collective_permute"),
    (CollectiveKind::CollectiveBroadcast, "collective_broadcast"),
    (CollectiveKind::CollectiveReduce, "collective_reduce"),
];

/// What was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quantity {
    /// Seconds of products by their FLOPs, of the class of this precision.
    Product(Precision),
    /// Seconds of ops by the bytes that they read and write.
    Memory,
    /// Seconds of collectives by the bytes that a device moves on a ring.
    Collective(CollectiveKind),
    /// The additional seconds of processes by the bytes that each sends; the number of messages is unknown.
    Sent,
    /// Seconds of steps by their number of ops, which have almost no work.
    Ops,
}

/// Measurements of one quantity.
#[derive(Clone, Debug)]
pub struct Series {
    pub(crate) quantity: Quantity,
    points: Vec<Point>,
    /// What was measured, and how, in words.
    how: String,
}

/// A figure of a machine.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Figure {
    /// The table and key in the file, such as `flat.collectives.all_reduce.latency`.
    pub key: String,
    /// Its value, in SI units.
    pub value: f64,
    /// Whether it was measured; if not, it is the figure of another target.
    pub measured: bool,
    /// How it was measured, or where it comes from.
    pub how: String,
}

/// The figures of a machine, each with its origin.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Calibration {
    /// The name of the target.
    pub name: String,
    /// All figures, in the order of the file.
    pub figures: Vec<Figure>,
    /// What could not be determined from the measurements, and why.
    pub missing: Vec<String>,
    /// Whether collectives overlap arithmetic.
    pub overlap: bool,
}

/// The figures that a machine has before it is measured.
struct Base {
    name: String,
    machine: Measured,
}

impl Base {
    /// Describes a target as devices that are all alike; `Err` has the reason why it can't.
    fn of(target: &Target) -> Result<Self, String> {
        let name = target.to_string();
        let plain = |flat: Flat| Measured {
            name: name.clone(),
            flat,
            products: Default::default(),
            step_latency: 0.0,
            op_latency: 0.0,
            product_latency: 0.0,
            cache: None,
            collectives: Vec::new(),
            overlap: false,
        };
        let machine = match target {
            Target::Flat(flat) => plain(*flat),
            Target::Slice(slice) if slice.slices == 1 && slice.dims[1..] == [1, 1] => {
                let chip = slice.chip;
                let rings = if slice.chip.torus_rank > 1 { 2.0 } else { 1.0 };
                let flat = Flat {
                    kernels: &[],
                    latency: chip.hop_latency,
                    bandwidth: rings * chip.link_bandwidth,
                    flops: chip.bf16_flops,
                    memory_bandwidth: chip.hbm_bandwidth,
                    memory_bytes: chip.hbm_bytes,
                    host_bandwidth: chip.host_bandwidth,
                };
                let mut machine = plain(flat);
                machine.products.int8 = chip.int8_flops;
                machine.products.int4 = chip.int4_flops;
                machine.products.fp8 = chip.fp8_flops;
                machine.overlap = true;
                machine
            }
            _ => {
                return Err(format!(
                    "{target} has a topology, but measurements give the figures of devices that are all alike: name an \
                     island of GPUs such as h100:8, a line of chips such as v5e:8x1, flat or cpu"
                ));
            }
        };
        Ok(Self { name, machine })
    }

    fn how(&self) -> String {
        format!("not measured: the figure of {}", self.name)
    }
}

impl Calibration {
    /// Fits the figures of a machine to measurements. What they don't determine has the figures of `like`; `memory` is
    /// the memory of a device in bytes, if it is known.
    ///
    /// # Errors
    /// If `like` has a topology or is a custom model.
    pub fn of(name: &str, like: &Target, series: &[Series], memory: Option<(f64, String)>) -> Result<Self, String> {
        let base = Base::of(like)?;
        let series = &merged(series)[..];
        let missing = Vec::new();
        let mut made = Self { name: name.to_owned(), figures: Vec::new(), missing, overlap: base.machine.overlap };
        let ops = made.ops(series);
        made.links(&base, series);
        made.products(&base, series, ops);
        made.memory(&base, series, memory);
        made.figures.sort_by_key(|figure| figure.key.matches('.').count());
        Ok(made)
    }

    /// Returns a figure by its key in the file, such as `flat.op_latency`.
    pub fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    fn add(&mut self, key: &str, value: f64, measured: bool, how: String) {
        self.figures.push(Figure { key: format!("flat.{key}"), value, measured, how });
    }

    /// Returns the line of a series, and how it was found.
    fn fitted(&mut self, series: &Series) -> Option<(Fit, String)> {
        let Some(fit) = line(&series.points) else {
            let why = "more of it takes no longer, or nothing was measured";
            self.missing.push(format!("{}: {why}", series.how));
            return None;
        };
        let left = match fit.outliers {
            0 => String::new(),
            1 => ", 1 outlier left out".to_owned(),
            n => format!(", {n} outliers left out"),
        };
        let how = format!("{}; median error of the fit {:.0} %{left}", series.how, 100.0 * fit.error);
        Some((fit, how))
    }

    /// Adds the start-ups of steps and of ops; returns the second.
    fn ops(&mut self, series: &[Series]) -> f64 {
        let of = series.iter().find(|s| s.quantity == Quantity::Ops);
        let Some((Fit { start, per, .. }, how)) = of.and_then(|series| self.fitted(series)) else { return 0.0 };
        self.add("op_latency", per, true, how.clone());
        if let Some(start) = start {
            self.add("step_latency", start, true, how);
        }
        per
    }

    /// Adds the start-up and the bandwidth of each kind of collective, and of those that weren't measured.
    fn links(&mut self, base: &Base, series: &[Series]) {
        let mut found: Vec<(f64, f64)> = Vec::new();
        for (kind, name) in KINDS {
            let of = series.iter().find(|s| s.quantity == Quantity::Collective(kind));
            let Some((fit, how)) = of.and_then(|series| self.fitted(series)) else { continue };
            let latency = fit.start.unwrap_or(base.machine.flat.latency);
            let start_how = if fit.start.is_some() { how.clone() } else { base.how() };
            self.add(&format!("collectives.{name}.latency"), latency, fit.start.is_some(), start_how);
            self.add(&format!("collectives.{name}.bandwidth"), 1.0 / fit.per, true, how);
            found.push((latency, 1.0 / fit.per));
        }
        let sent = series.iter().find(|s| s.quantity == Quantity::Sent);
        let sent = sent.and_then(|series| self.fitted(series));
        let Flat { latency, bandwidth, .. } = base.machine.flat;
        if found.is_empty() {
            self.add("latency", latency, false, base.how());
            match sent {
                Some((fit, how)) => self.add("bandwidth", 1.0 / fit.per, true, how),
                None => self.add("bandwidth", bandwidth, false, base.how()),
            }
            return;
        }
        let how = format!("the median of the {} kinds of collectives below", found.len());
        self.add("latency", median(found.iter().map(|f| f.0)), true, how.clone());
        self.add("bandwidth", median(found.iter().map(|f| f.1)), true, how);
    }

    fn products(&mut self, base: &Base, series: &[Series], op_latency: f64) {
        let mut fits = Vec::new();
        for Class(key, precision) in CLASSES {
            let of = series.iter().find(|s| s.quantity == Quantity::Product(precision));
            match of.and_then(|series| self.fitted(series)) {
                Some((fit, how)) => fits.push((key, fit, how)),
                None => {
                    let Some(own) = own_rate(&base.machine, precision) else { continue };
                    self.add(key, own, false, base.how());
                }
            }
        }
        // The widest of f32 and narrower types: what others run at if they have no rate.
        let rest = fits.iter().find(|f| f.0 == "f32_flops").or_else(|| fits.iter().find(|f| f.0 == "bf16_flops"));
        match rest.or(fits.first()) {
            Some((key, fit, _)) => self.add("flops", 1.0 / fit.per, true, format!("the same as {key}")),
            None => self.add("flops", base.machine.flat.flops, false, base.how()),
        }
        let starts: Vec<f64> = fits.iter().filter_map(|f| f.1.start).collect();
        if !starts.is_empty() {
            let how = format!("the median start-up of the {} types of products, less op_latency", starts.len());
            self.add("product_latency", (median(starts) - op_latency).max(0.0), true, how);
        }
        for (key, fit, how) in fits {
            self.add(key, 1.0 / fit.per, true, how);
        }
    }

    fn memory(&mut self, base: &Base, series: &[Series], memory: Option<(f64, String)>) {
        let flat = base.machine.flat;
        let of = series.iter().find(|s| s.quantity == Quantity::Memory);
        match of.and_then(|series| Some((series, self.fitted(series)?))) {
            Some((series, (fit, how))) => match bend(&series.points, &fit) {
                Some(Bend { at, near, far, error }) => {
                    let error = 100.0 * error;
                    let how = format!("{}; two rates, of which the median error is {error:.0} %", series.how);
                    self.add("memory_bandwidth", 1.0 / far, true, how.clone());
                    self.add("cache_bytes", at, true, how.clone());
                    self.add("cache_bandwidth", 1.0 / near, true, how);
                }
                None => self.add("memory_bandwidth", 1.0 / fit.per, true, how),
            },
            None => self.add("memory_bandwidth", flat.memory_bandwidth, false, base.how()),
        }
        match memory {
            Some((bytes, how)) => self.add("memory_bytes", bytes, true, how),
            None => self.add("memory_bytes", flat.memory_bytes as f64, false, base.how()),
        }
        let measured = self.figure("flat.memory_bandwidth").map(|f| f.value).filter(|_| of.is_some());
        match measured.filter(|_| flat == Flat::CPU) {
            Some(bandwidth) => {
                let how = "half of memory_bandwidth: a copy reads and writes the same memory".to_owned();
                self.add("host_bandwidth", bandwidth / 2.0, false, how);
            }
            None => self.add("host_bandwidth", flat.host_bandwidth, false, base.how()),
        }
    }
}

/// Merges the measurements of the same quantity, which may come from several files.
fn merged(series: &[Series]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for one in series {
        match all.iter_mut().find(|other| other.quantity == one.quantity) {
            Some(other) => {
                other.points.extend(&one.points);
                other.how = format!("{}; {}", other.how, one.how);
            }
            None => all.push(one.clone()),
        }
    }
    all
}

/// The rate that a machine has for this class and for no other.
fn own_rate(machine: &Measured, precision: Precision) -> Option<f64> {
    match precision {
        Precision::Int4 => machine.products.int4,
        Precision::Int8 => machine.products.int8,
        Precision::Fp8 => machine.products.fp8,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
