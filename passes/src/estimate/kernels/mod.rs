//! The work of kernels that a program calls but doesn't contain: Pallas, Triton and cuDNN kernels.
//!
//! The figures of a call are, in this order: those that the program states ([`FLOPS`] and [`BYTES`]), those of the
//! target's own rows ([`KernelCost`]), those that the kernel's author wrote into the call (Pallas' `cost_estimate`),
//! and those of the [`table`]. Scratch isn't counted: the kernels of the table keep it in the chip's own memory (VMEM,
//! shared memory), and cuDNN's workspace is a result of the call.

mod attention;
pub mod table;

use std::sync::{Mutex, PoisonError};

use dialect::ir::{Op, OpRef, Program};
use dialect::kernel::{BYTES, FLOPS, LibraryCall};
use serde_json::Value as Json;
use smallvec::SmallVec;

use super::machine::Machine;
use super::precision::Precision;
use super::roofline::Matmul;
use table::{Call, Kernel};

/// The cost of a kernel on a target, as its description states it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelCost {
    /// The name of the kernel, or the target of the call; a `*` at the end matches any text.
    pub name: &'static str,
    /// The floating-point operations of one call on one device.
    pub flops: Option<f64>,
    /// The bytes that one call reads and writes on one device.
    pub bytes: Option<f64>,
    /// The row of [`table::TABLE`] whose formula gives what isn't stated.
    pub like: Option<&'static str>,
}

/// Lists of costs that were described at run time; chips refer to them, and equal lists share one.
static DESCRIBED: Mutex<Vec<&'static [KernelCost]>> = Mutex::new(Vec::new());

impl KernelCost {
    /// Keeps a list of costs until the program ends.
    pub fn interned(costs: Vec<KernelCost>) -> &'static [KernelCost] {
        let mut described = DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = described.iter().find(|&&known| *known == costs) {
            return known;
        }
        let costs: &'static [KernelCost] = Box::leak(costs.into());
        described.push(costs);
        costs
    }
}

/// A product inside a kernel, and the share of it that the kernel computes: masks skip the rest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Product {
    /// The whole product.
    pub matmul: Matmul,
    /// The computed share, from 0 to 1.
    pub share: f64,
}

/// The work of one call of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelWork {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes of memory traffic; `None` if the call reads its operands and writes its results once.
    pub bytes: Option<f64>,
    /// The products of which it consists, if they are known.
    products: SmallVec<[Product; 7]>,
    precision: Precision,
}

impl KernelWork {
    /// Returns the work of a call; `None` if no source has a figure for it.
    pub fn of(op: OpRef<'_>, call: &LibraryCall<'_>, machine: &Machine) -> Option<Self> {
        let own = machine.kernels().iter().find(|own| [call.name(), call.target].iter().any(|n| matches(own.name, n)));
        let like = own.and_then(|own| own.like).and_then(Kernel::named);
        let call_of = Call { op, library: call };
        let row = like.or_else(|| Kernel::of(call));
        let products = row.and_then(|row| (row.products)(&call_of));
        let author = call.config.and_then(cost_estimate).unwrap_or_default();
        let own = own.copied().map_or((None, None), |own| (own.flops, own.bytes));
        // A row that the user chose for the kernel describes it better than its author's estimate.
        let of_author = if like.is_some() { (None, None) } else { author };
        let flops = call.flops.or(own.0).or(of_author.0);
        let bytes = call.bytes.or(own.1).or(of_author.1);
        if products.is_none() && flops.is_none() && bytes.is_none() {
            return None;
        }
        let mut products = products.unwrap_or_default();
        let counted: f64 = products.iter().map(Product::flops).sum();
        // The stated operations are those of the known products, which pad to the tiles of the MXU.
        if let Some(flops) = flops
            && counted > 0.0
        {
            products.iter_mut().for_each(|product| product.share *= flops / counted);
        }
        Some(Self { flops: flops.unwrap_or(counted), bytes, products, precision: call_of.precision() })
    }

    /// Returns the seconds of a call that moves this many bytes, unless its own number is known.
    pub fn seconds(&self, bytes: f64, machine: &Machine) -> f64 {
        let slower = machine.product_rate(self.precision, 0.0) / machine.kernel_rate(self.precision);
        let product = |product: &Product| product.share * machine.matmul_seconds(&product.matmul, self.precision, 0.0);
        let math = match &self.products[..] {
            [] => self.flops / machine.kernel_rate(self.precision),
            products => slower * products.iter().map(product).sum::<f64>(),
        };
        math.max(machine.memory_seconds(self.bytes.unwrap_or(bytes)))
    }
}

impl Product {
    fn flops(&self) -> f64 {
        self.share * self.matmul.flops() as f64
    }
}

/// Removes stated costs from every call, for parsers that don't know them.
pub fn remove_costs(program: &mut Program) {
    let stated = |&op: &Op| [FLOPS, BYTES].iter().any(|name| program.attr(op, name).is_some());
    for op in program.ops_under(program.body()).into_iter().filter(stated).collect::<Vec<_>>() {
        [FLOPS, BYTES].iter().for_each(|name| program.remove_attr(op, name));
    }
}

/// Returns whether `name` is what `pattern` names.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Returns the operations and the bytes that the author of a Pallas kernel states in its call's configuration.
fn cost_estimate(config: &str) -> Option<(Option<f64>, Option<f64>)> {
    // Configurations contain whole kernels, so that most aren't worth reading.
    if !config.contains("\"cost_estimate\"") {
        return None;
    }
    let config: Json = serde_json::from_str(config).ok()?;
    let stated = config.pointer("/custom_call_config/cost_estimate")?;
    let number = |name| stated.get(name)?.as_f64().filter(|n| n.is_finite() && *n >= 0.0);
    Some((number("flops"), number("bytes_accessed").filter(|&n| n > 0.0)))
}
