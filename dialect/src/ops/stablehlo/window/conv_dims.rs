//! The roles of the dimensions of a convolution's operands and result.

use super::{DynamicConv, WindowDim, Words, counts, windows};
use crate::ir::{AttrData, ConvDims, OpRef, Shape, TensorType};
use crate::op::{OpDef, Problem};
use crate::ops::support::constraint::{Checked, require, tensor};

/// A convolution's parameters, read from its attributes and checked. The lists have one entry per spatial dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvolutionDims {
    /// The batch dimensions.
    pub batch: Places,
    /// The feature dimensions: the input's, the kernel's input features, the kernel's output features, the result's.
    pub feature: [usize; 4],
    /// Spatial dimensions of input, kernel and result.
    pub spatial: [Vec<usize>; 3],
    /// The windows, along the spatial dimensions.
    pub windows: Vec<WindowDim>,
    /// The number of groups into which features are divided.
    pub feature_groups: i64,
    /// The number of groups into which batches are divided.
    pub batch_groups: i64,
}

/// The batch dimensions of input and result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// In the input.
    pub input: usize,
    /// In the result.
    pub output: usize,
}

const WORDS: Words = Words {
    strides: ("window_strides", "C2", "C3"),
    base_dilations: ("lhs_dilation", "C5", "C6"),
    window_dilations: ("rhs_dilation", "C7", "C8"),
    reversal: ("window_reversal", "C9"),
    padding: "C4",
    loose: false,
};

impl ConvolutionDims {
    /// Checks everything except element types. Unknown sizes are compatible with any size.
    pub(crate) fn check(op: OpRef<'_>) -> Checked<Self> {
        Self::over(op, tensor(op, 0)?, tensor(op, 1)?)
    }

    /// Checks in the same way for operands of these types instead of the declared ones.
    pub(crate) fn over(op: OpRef<'_>, lhs: &TensorType, rhs: &TensorType) -> Checked<Self> {
        let rank = lhs.rank();
        let fits = rank == rhs.rank() && rank >= 2;
        require!(fits, "expected operands of the same rank, at least 2, found {rank} and {} (C1)", rhs.rank());
        let dims = match op.attr("dimension_numbers") {
            Some(AttrData::ConvDims(dims)) => dims,
            _ => return Err(Problem::new("expected an attribute 'dimension_numbers' of a convolution (I8)")),
        };
        let dims = Self::places(dims, rank)?;
        let group = |name: &str, label: &str| {
            let n = op.int(name).unwrap_or(1);
            require!(n > 0, "expected {name} to be positive, found {n} ({label})");
            Ok(n)
        };
        let feature_groups = group("feature_group_count", "C21")?;
        let batch_groups = group("batch_group_count", "C22")?;
        let fits = feature_groups == 1 || batch_groups == 1;
        require!(fits, "expected feature_group_count or batch_group_count to be 1 (C23)");
        let sizes: Vec<i64> = dims.spatial[1].iter().map(|&d| rhs.shape[d]).collect();
        if sizes.contains(&0) {
            return Err(Problem::operand(1, "expected a window with at least one position"));
        }
        let windows = windows(op, &sizes, &Words { loose: op.name() == DynamicConv.name(), ..WORDS })?;
        let whole = Self { windows, feature_groups, batch_groups, ..dims };
        whole.check_sizes(lhs, rhs)?;
        Ok(whole)
    }

    fn places(dims: &ConvDims, rank: usize) -> Checked<Self> {
        let list = |spatial: &[i64], others: [i64; 2], what: &str, labels: [&str; 2]| -> Checked<Vec<usize>> {
            require!(
                spatial.len() + 2 == rank,
                "expected {want} spatial dimensions of the {what}, found {found} ({})",
                labels[0],
                want = rank - 2,
                found = spatial.len()
            );
            let all: Vec<i64> = others.iter().chain(spatial).copied().collect();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let fits = sorted.iter().copied().eq(0..rank as i64);
            require!(fits, "expected the {what}'s dimensions to be 0 to {}, found {all:?} ({})", rank - 1, labels[1]);
            Ok(all.into_iter().map(|d| d as usize).collect())
        };
        let input = list(&dims.input_spatial, [dims.input_batch, dims.input_feature], "input", ["C12", "C13"])?;
        let kernel = [dims.kernel_input_feature, dims.kernel_output_feature];
        let kernel = list(&dims.kernel_spatial, kernel, "kernel", ["C17", "C18"])?;
        let output = list(&dims.output_spatial, [dims.output_batch, dims.output_feature], "output", ["C19", "C20"])?;
        Ok(Self {
            batch: Places { input: input[0], output: output[0] },
            feature: [input[1], kernel[0], kernel[1], output[1]],
            spatial: [input[2..].to_vec(), kernel[2..].to_vec(), output[2..].to_vec()],
            windows: Vec::new(),
            feature_groups: 1,
            batch_groups: 1,
        })
    }

    fn check_sizes(&self, lhs: &TensorType, rhs: &TensorType) -> Checked<()> {
        let [input, kernel_in, kernel_out, _] = self.feature;
        let divides = |operand: usize, size: i64, by: i64, what: &str, label: &str| {
            let fits = size < 0 || size % by == 0;
            require!(fits, operand = operand, "expected {what} to be a multiple of {by}, found {size} ({label})");
            Ok(())
        };
        divides(0, lhs.shape[self.batch.input], self.batch_groups, "the batch's size", "C10")?;
        divides(0, lhs.shape[input], self.feature_groups, "the number of input features", "C11")?;
        let (have, all) = (rhs.shape[kernel_in], lhs.shape[input]);
        require!(
            have < 0 || all < 0 || have == all / self.feature_groups,
            operand = 1,
            "expected {want} input features of the kernel, found {have} (C14)",
            want = all / self.feature_groups
        );
        divides(1, rhs.shape[kernel_out], self.batch_groups, "the number of output features", "C15")?;
        divides(1, rhs.shape[kernel_out], self.feature_groups, "the number of output features", "C16")
    }

    /// Returns the result's shape for operands of these shapes (C25), with negative sizes if unknown.
    pub(crate) fn result_shape(&self, lhs: &[i64], rhs: &[i64]) -> Checked<Shape> {
        let mut shape = Shape::from_elem(0, lhs.len());
        let batch = lhs[self.batch.input];
        shape[self.batch.output] = if batch < 0 { batch } else { batch / self.batch_groups };
        shape[self.feature[3]] = rhs[self.feature[2]];
        for (i, window) in self.windows.iter().enumerate() {
            let input = lhs[self.spatial[0][i]];
            shape[self.spatial[2][i]] = match input < 0 || window.size < 0 {
                true => crate::ir::DYNAMIC,
                false => counts(&[*window], &[input], "C25")?[0],
            };
        }
        Ok(shape)
    }
}
