//! Windows: reductions and scans over them, convolutions, gradients of poolings.

use super::text::{array, combiner, ty};
use super::{MOST, Value, Writer, elements};

/// The windows over a shape.
#[derive(Default)]
struct Windows {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    bases: Vec<i64>,
    padding: Vec<[i64; 2]>,
    counts: Vec<i64>,
}

impl Windows {
    fn attributes(&self) -> String {
        let rank = self.sizes.len();
        format!(
            "base_dilations = {}, padding = dense<{:?}> : tensor<{rank}x2xi64>, window_dilations = {}, window_dimensions = {}, \
             window_strides = {}",
            array(&self.bases),
            self.padding,
            array(&self.dilations),
            array(&self.sizes),
            array(&self.strides)
        )
    }
}

impl Writer {
    /// Returns random windows over a shape; `None` if they don't fit.
    fn windows(&mut self, shape: &[i64], dilated: bool) -> Option<Windows> {
        let mut w = Windows::default();
        for &n in shape {
            let plain = self.random.u8(0..3) == 0 || n == 0;
            let mut one = |end: i64| if plain { 1 } else { self.random.i64(1..end) };
            let (size, stride) = (one(5), one(4));
            let (dilation, base) = if dilated { (one(3), one(3)) } else { (1, 1) };
            let (low, high) = if plain { (0, 0) } else { (self.random.i64(-1..4), self.random.i64(-1..4)) };
            let padded = (n - 1) * base + 1 + low + high;
            let window = (size - 1) * dilation + 1;
            if padded < window || n == 0 {
                return None;
            }
            w.counts.push((padded - window) / stride + 1);
            w.sizes.push(size);
            w.strides.push(stride);
            w.dilations.push(dilation);
            w.bases.push(base);
            w.padding.push([low, high]);
        }
        (elements(&w.counts) <= MOST && !shape.is_empty()).then_some(w)
    }

    pub(super) fn reduce_window(&mut self) {
        let x = self.any();
        let Some(w) = self.windows(&x.shape, true) else { return };
        let (op, init) = self.combiner(Some(7));
        let init = self.splat(&[], init);
        let types = format!("({}, tensor<i32>) -> {}", ty(&x.shape), ty(&w.counts));
        let (attributes, region) = (w.attributes(), combiner(op));
        self.add(
            &w.counts,
            format!("\"stablehlo.reduce_window\"({}, {}) <{{{attributes}}}> {region} : {types}", x.name, init.name),
        );
    }

    /// Writes a reduction over everything before each element, or after it.
    pub(super) fn scan(&mut self) {
        let x = self.any();
        let Some(d) = (0..x.shape.len()).filter(|&d| x.shape[d] > 1).max_by_key(|&d| x.shape[d]) else { return };
        let (mut sizes, mut padding) = (vec![1; x.shape.len()], vec![[0, 0]; x.shape.len()]);
        sizes[d] = x.shape[d];
        padding[d][self.random.usize(0..2)] = x.shape[d] - 1;
        let (op, identity) = self.combiner(None);
        let init = self.splat(&[], identity);
        let (rank, region, values) = (sizes.len(), combiner(op), ty(&x.shape));
        let attributes =
            format!("padding = dense<{padding:?}> : tensor<{rank}x2xi64>, window_dimensions = {}", array(&sizes));
        self.add(
            &x.shape,
            format!(
                "\"stablehlo.reduce_window\"({}, {}) <{{{attributes}}}> {region} : ({values}, tensor<i32>) -> {values}",
                x.name, init.name
            ),
        );
    }

    /// Writes a gradient of a pooling, sometimes of a padded copy whose padding is removed again.
    pub(super) fn select_and_scatter(&mut self) {
        let x = self.any();
        let (mut operand, mut unpadded) = (x.clone(), Vec::new());
        if self.random.u8(0..3) == 0 {
            let edges = |w: &mut Self| x.shape.iter().map(|_| w.random.i64(0..3)).collect::<Vec<_>>();
            let (low, high) = (edges(self), edges(self));
            let shape: Vec<i64> = (0..low.len()).map(|d| low[d] + x.shape[d] + high[d]).collect();
            unpadded = low.iter().zip(&x.shape).map(|(l, n)| format!("{l}:{}", l + n)).collect();
            let (least, interior) = (self.splat(&[], -3), vec![0; low.len()]);
            let edges = format!("low = {low:?}, high = {high:?}, interior = {interior:?}");
            let types = format!("({}, tensor<i32>) -> {}", ty(&x.shape), ty(&shape));
            operand = self.hidden(&shape, format!("stablehlo.pad {}, {}, {edges} : {types}", x.name, least.name));
        }
        let Some(w) = self.windows(&operand.shape, false) else { return };
        let source = self.value_of(&w.counts);
        let compare = self.pick(&["GE", "GT", "LE"]);
        let scatter = combiner(self.pick(&["add", "maximum", "subtract"]));
        let init = self.splat(&[], 0);
        let (rank, of) = (w.sizes.len(), ty(&operand.shape));
        let attributes = format!(
            "padding = dense<{:?}> : tensor<{rank}x2xi64>, window_dimensions = {}, window_strides = {}",
            w.padding,
            array(&w.sizes),
            array(&w.strides)
        );
        let select = format!(
            "{{\n    ^bb0(%p: tensor<i32>, %q: tensor<i32>):\n      %s = stablehlo.compare {compare}, %p, %q : (tensor<i32>, \
             tensor<i32>) -> tensor<i1>\n      \"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n    }}"
        );
        let types = format!("({of}, {}, tensor<i32>) -> {of}", ty(&w.counts));
        let scatter = scatter.trim_start_matches('(');
        let scattered = self.hidden(
            &operand.shape,
            format!(
                "\"stablehlo.select_and_scatter\"({}, {}, {}) <{{{attributes}}}> ({select}, {scatter} : {types}",
                operand.name, source.name, init.name
            ),
        );
        if unpadded.is_empty() {
            self.values.push(scattered);
        } else {
            let types = format!("({of}) -> {}", ty(&x.shape));
            self.add(&x.shape, format!("stablehlo.slice {} [{}] : {types}", scattered.name, unpadded.join(", ")));
        }
    }

    /// Writes a convolution over one dimension of two values, reshaped to batch, space and features.
    pub(super) fn convolution(&mut self) {
        let (x, y) = (self.any(), self.any());
        let (nx, ny) = (elements(&x.shape), elements(&y.shape));
        let (features, batches) = [(1, 1), (1, 1), (2, 1), (1, 2)][self.random.usize(0..4)];
        let Some(inputs) = self.divisor(ny, |d| d < 4 && nx % (d * features) == 0) else { return };
        let Some(outputs) = self.divisor(ny / inputs, |d| d % (features * batches) == 0 && ny / inputs / d < 8) else {
            return;
        };
        let Some(batch) = self.divisor(nx / inputs / features, |d| d % batches == 0) else { return };
        let lhs = [batch, nx / inputs / features / batch, inputs * features];
        let rhs = [outputs, ny / inputs / outputs, inputs];
        let random = &mut self.random;
        let (stride, low, high) = (random.i64(1..3), random.i64(-1..4), random.i64(-1..4));
        let (base, dilation, reverse) = (random.i64(1..3), random.i64(1..3), random.bool());
        let (padded, window) = ((lhs[1] - 1) * base + 1 + low + high, (rhs[1] - 1) * dilation + 1);
        let result = [batch / batches, (padded - window) / stride + 1, outputs];
        if padded < window || elements(&result) > MOST {
            return;
        }
        let (left, right) = (self.seen_as(&x, &lhs), self.seen_as(&y, &rhs));
        self.add(
            &result,
            format!(
                "stablehlo.convolution({}, {}) dim_numbers = [b, 0, f]x[o, 0, i]->[b, 0, f], window = {{stride = [{stride}], pad = \
                 [[{low}, {high}]], lhs_dilate = [{base}], rhs_dilate = [{dilation}], reverse = [{reverse}]}} {{batch_group_count = \
                 {batches} : i64, feature_group_count = {features} : i64}} : ({}, {}) -> {}",
                left.name,
                right.name,
                ty(&lhs),
                ty(&rhs),
                ty(&result)
            ),
        );
    }

    fn divisor(&mut self, n: i64, fits: impl Fn(i64) -> bool) -> Option<i64> {
        let all: Vec<i64> = (1..=n).filter(|&d| n % d == 0 && fits(d)).collect();
        (!all.is_empty()).then(|| all[self.random.usize(0..all.len())])
    }

    fn seen_as(&mut self, x: &Value, shape: &[i64]) -> Value {
        self.hidden(shape, format!("stablehlo.reshape {} : ({}) -> {}", x.name, ty(&x.shape), ty(shape)))
    }
}
