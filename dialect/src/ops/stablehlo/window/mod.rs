//! Ops that slide a window over a tensor: convolution, reduce_window, select_and_scatter.
//!
//! [`WindowDim`] defines a window along one dimension once: the number of windows, and the element that each of its
//! positions reads. Kernels, evaluation and checks follow from it. Source: the StableHLO specification; sharding rules
//! as Shardy registers them.

mod conv_dims;
mod conv_syntax;
mod convolution;
mod reduce_window;
mod scan;
mod select_and_scatter;
mod select_steps;

pub use conv_dims::ConvolutionDims;
pub use convolution::{Convolution, DynamicConv};
pub use reduce_window::ReduceWindow;
pub use scan::is_neutral_for;
pub use select_and_scatter::SelectAndScatter;

use crate::ir::{Attr, AttrData, ElementType, OpRef, Program};
use crate::kernel::{Guard, Index};
use crate::literal::Literal;
use crate::op::OpDef;
use crate::op::Problem;
use crate::ops::support::constraint::{Checked, length, require};
use crate::scalar::Scalar;

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Convolution, &DynamicConv, &ReduceWindow, &SelectAndScatter];

/// A window along one dimension of the tensor over which it slides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowDim {
    /// Number of positions in the window.
    pub size: i64,
    /// The distance between the starts of consecutive windows.
    pub stride: i64,
    /// The number of positions added before the tensor; negative numbers remove positions.
    pub low: i64,
    /// The number of positions added after the tensor; negative numbers remove positions.
    pub high: i64,
    /// The distance between adjacent elements of the tensor.
    pub base_dilation: i64,
    /// The distance between adjacent positions of the window.
    pub window_dilation: i64,
    /// Whether the window's positions are read in reverse order.
    pub reversed: bool,
}

impl WindowDim {
    /// Returns how many windows fit over `input` elements; `None` if positions don't fit in 64 bits.
    pub fn count(&self, input: i64) -> Option<i64> {
        let spread = |n: i64, by: i64| if n == 0 { 0 } else { (i128::from(n) - 1) * i128::from(by) + 1 };
        let (base, window) = (spread(input, self.base_dilation), spread(self.size, self.window_dilation));
        let (first, end) = (-i128::from(self.low), base + i128::from(self.high));
        let fits = |v: i128| i64::try_from(v).is_ok();
        let padded = end - first;
        if ![base, window, first, end, padded].into_iter().all(fits) {
            return None;
        }
        let empty = padded <= 0 || window > padded;
        let count = if empty { 0 } else { (padded - window) / i128::from(self.stride) + 1 };
        i64::try_from(count).ok()
    }

    /// Returns whether window `i` reads exactly element `i`.
    pub fn is_plain(&self) -> bool {
        (self.size, self.stride, self.low, self.high, self.base_dilation) == (1, 1, 0, 0, 1)
    }

    /// Returns whether every position of every window reads an element, and none reads padding.
    fn is_full(&self) -> bool {
        self.low <= 0 && self.high <= 0 && self.base_dilation == 1
    }

    /// Returns the window of a device that has `rows` elements, starting at position `start` of the whole input for the
    /// first device: the device computes `count` windows from `size` positions each.
    pub(crate) fn local(self, start: i64, rows: i64, size: i64, count: i64) -> Self {
        let spread = |n: i64, by: i64| (n - 1) * by + 1;
        // A reversed window begins with the positions of the last device.
        let skipped = if self.reversed { self.window_dilation * (self.size - size) } else { 0 };
        let low = self.low - skipped + self.base_dilation * start;
        let end = (count - 1) * self.stride + spread(size, self.window_dilation);
        Self { size, low, high: end - low - spread(rows, self.base_dilation), ..self }
    }

    /// Returns the element of `input` that position `inside` of window `window` reads; `None` in the padding.
    pub fn element(&self, window: i64, inside: i64, input: i64) -> Option<i64> {
        let inside = if self.reversed { self.size - 1 - inside } else { inside };
        let at = window * self.stride + inside * self.window_dilation - self.low;
        let element = at.div_euclid(self.base_dilation);
        (at.rem_euclid(self.base_dilation) == 0 && (0..input).contains(&element)).then_some(element)
    }

    /// Returns the element as an index over loops, and adds the conditions under which it is read.
    pub fn read(&self, window: Index, inside: Index, input: i64, guards: &mut Vec<Guard>) -> Index {
        let inside = match self.reversed {
            true => inside.times(-1).plus(Index::Const(self.size - 1)),
            false => inside,
        };
        let at = window.times(self.stride).plus(inside.times(self.window_dilation)).plus(Index::Const(-self.low));
        let element = at.clone().floor_div(self.base_dilation);
        if self.base_dilation > 1 {
            guards.push(Guard { index: at.modulo(self.base_dilation), lo: 0, hi: 1 });
        }
        if !self.is_full() {
            guards.push(Guard { index: element.clone(), lo: 0, hi: input });
        }
        element
    }
}

/// The attribute names of an op's windows, and the specification's labels. An empty name means that the op lacks the
/// attribute.
pub(crate) struct Words {
    /// Name, label for the number of values, label for positive values.
    pub strides: (&'static str, &'static str, &'static str),
    /// Name, label for the number of values, label for positive values.
    pub base_dilations: (&'static str, &'static str, &'static str),
    /// Name, label for the number of values, label for positive values.
    pub window_dilations: (&'static str, &'static str, &'static str),
    /// Name, label.
    pub reversal: (&'static str, &'static str),
    /// The label of `padding`.
    pub padding: &'static str,
    /// Whether values after the last dimension are ignored, because JAX passes too many to dynamic_conv.
    pub loose: bool,
}

/// Returns the windows of these sizes that `op`'s attributes describe; missing attributes default to 1, missing padding
/// to 0.
pub(crate) fn windows(op: OpRef<'_>, sizes: &[i64], words: &Words) -> Checked<Vec<WindowDim>> {
    let rank = sizes.len();
    let list = |(name, count, positive): (&str, &str, &str)| -> Checked<Vec<i64>> {
        let Some(mut values) = op.ints(name).filter(|_| !name.is_empty()) else { return Ok(vec![1; rank]) };
        if words.loose {
            values.truncate(rank);
        }
        length(&values, rank, name, count)?;
        match values.iter().find(|&&v| v <= 0) {
            Some(v) => Err(Problem::new(format!("expected {name} to be positive, found {v} ({positive})"))),
            None => Ok(values),
        }
    };
    let strides = list(words.strides)?;
    let base = list(words.base_dilations)?;
    let window = list(words.window_dilations)?;
    let (name, label) = words.reversal;
    let reversal = op.ints(name).filter(|_| !name.is_empty()).unwrap_or_else(|| vec![0; rank]);
    length(&reversal, rank, name, label)?;
    let padding = padding(op, rank, words.padding)?;
    let dim = |d: usize| WindowDim {
        size: sizes[d],
        stride: strides[d],
        low: padding[2 * d],
        high: padding[2 * d + 1],
        base_dilation: base[d],
        window_dilation: window[d],
        reversed: reversal[d] != 0,
    };
    Ok((0..rank).map(dim).collect())
}

/// Returns `padding`: the amounts before and after each of `rank` dimensions.
fn padding(op: OpRef<'_>, rank: usize, label: &str) -> Checked<Vec<i64>> {
    let Some(values) = op.ints("padding") else { return Ok(vec![0; 2 * rank]) };
    let shape = op.dense("padding").map(|l| l.shape.to_vec());
    let want = [rank as i64, 2];
    let fits = shape.is_none_or(|s| s == want) && values.len() == 2 * rank;
    require!(fits, "expected padding of shape {rank}x2 ({label})");
    Ok(values)
}

/// Returns the `padding` of windows as an attribute.
pub(crate) fn padding_attr(program: &mut Program, windows: &[WindowDim]) -> Attr {
    let shape = [windows.len() as i64, 2];
    let values = windows.iter().flat_map(|w| [w.low, w.high]).map(|v| Scalar::Int(v.into()));
    let ty = program.tensor(&shape, ElementType::I64);
    program.intern_attr(AttrData::Dense(ty, Literal::from_scalars(ElementType::I64, &shape, values)))
}

/// Returns how many windows fit along each dimension of `shape`; unknown sizes stay unknown.
pub(crate) fn counts(windows: &[WindowDim], shape: &[i64], label: &str) -> Checked<Vec<i64>> {
    let count = |(w, &size): (&WindowDim, &i64)| {
        let too_far = || Problem::new(format!("the windows extend beyond 64-bit positions ({label})"));
        if size < 0 { Ok(size) } else { w.count(size).ok_or_else(too_far) }
    };
    windows.iter().zip(shape).map(count).collect()
}
