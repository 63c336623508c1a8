//! Gathers and scatters of windows at positions given by a value, some of them out of range.

use super::text::{array, combiner, list, ty};
use super::{MOST, Value, Writer, elements};

/// The windows of `shape` at the positions in a value.
struct Windows {
    /// The dimension that each element of the index vector points into.
    map: Vec<usize>,
    /// The sizes of the windows.
    sizes: Vec<i64>,
    /// Dimensions without a dimension in the slices.
    collapsed: Vec<usize>,
    /// A batching dimension of the operand, with the paired dimension of the indices.
    batching: Option<(usize, usize)>,
    /// Positions in `i32`, with the index vector in the last dimension.
    indices: Value,
    /// The slices' shape: the indices' own dimensions, then the windows'.
    slices: Vec<i64>,
    /// The first window dimension in `slices`.
    first: usize,
}

impl Windows {
    /// Returns `offset_dims` or `update_window_dims`.
    fn window(&self) -> String {
        list(self.first..self.slices.len())
    }
}

impl Writer {
    /// Returns windows of `shape` at positions taken from some value.
    fn pointed_to(&mut self, shape: &[i64]) -> Option<Windows> {
        if shape.is_empty() || shape.contains(&0) {
            return None;
        }
        let of = self.any_where(|s| elements(s) <= 40 && !s.contains(&0))?;
        let mut map: Vec<usize> = (0..shape.len()).collect();
        self.random.shuffle(&mut map);
        map.truncate(self.random.usize(1..shape.len().min(2) + 1));
        let mut batching = None;
        if self.random.u8(0..4) == 0 {
            let mut pairs = (0..shape.len()).flat_map(|d| (0..of.shape.len()).map(move |i| (d, i)));
            batching = pairs.rfind(|&(d, i)| !map.contains(&d) && shape[d] == of.shape[i]);
        }
        let batched = |d: usize| batching.is_some_and(|b| b.0 == d);
        let (mut sizes, mut collapsed) = (Vec::new(), Vec::new());
        for (d, &n) in shape.iter().enumerate() {
            let whole = !map.contains(&d) && self.random.u8(0..3) > 0;
            let size = if whole {
                n
            } else if self.random.bool() {
                1
            } else {
                self.random.i64(1..n + 1)
            };
            sizes.push(if batched(d) { 1 } else { size });
            if !batched(d) && sizes[d] == 1 && self.random.bool() {
                collapsed.push(d);
            }
        }
        let mut slices = of.shape.clone();
        let first = slices.len();
        slices.extend((0..shape.len()).filter(|d| !collapsed.contains(d) && !batched(*d)).map(|d| sizes[d]));
        if elements(&slices) > MOST || slices.len() > 5 {
            return None;
        }
        let mut one = of.shape.clone();
        one.push(1);
        let mut components = Vec::new();
        for (k, &d) in map.iter().enumerate() {
            let mut from = of.clone();
            if k > 0 {
                let by = self.splat(&of.shape, 3);
                let op = format!("stablehlo.multiply {}, {} : {}", of.name, by.name, ty(&of.shape));
                from = self.hidden(&of.shape, op);
            }
            let at = self.position(&from, shape[d]);
            components.push(
                self.hidden(&one, format!("stablehlo.reshape {} : ({}) -> {}", at.name, ty(&of.shape), ty(&one))),
            );
        }
        let mut vector = of.shape.clone();
        vector.push(map.len() as i64);
        let indices = match &components[..] {
            [only] => only.clone(),
            _ => {
                let (names, types) =
                    (list(components.iter().map(|c| &c.name)), list(components.iter().map(|_| ty(&one))));
                self.hidden(
                    &vector,
                    format!("stablehlo.concatenate {names}, dim = {first} : ({types}) -> {}", ty(&vector)),
                )
            }
        };
        Some(Windows { map, sizes, collapsed, batching, indices, slices, first })
    }

    pub(super) fn gather(&mut self) {
        let x = self.any();
        let Some(w) = self.pointed_to(&x.shape) else { return };
        let batching = w.batching.map_or(String::new(), |(d, i)| {
            format!("operand_batching_dims = [{d}], start_indices_batching_dims = [{i}], ")
        });
        let numbers = format!(
            "#stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], {batching}start_index_map = [{}], index_vector_dim = {}>",
            w.window(),
            list(&w.collapsed),
            list(&w.map),
            w.first
        );
        let types = format!("({}, {}) -> {}", ty(&x.shape), ty(&w.indices.shape), ty(&w.slices));
        self.add(
            &w.slices,
            format!(
                "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = {numbers}, slice_sizes = {}}}> : {types}",
                x.name,
                w.indices.name,
                array(&w.sizes)
            ),
        );
    }

    pub(super) fn scatter(&mut self) {
        let x = self.any();
        let Some(w) = self.pointed_to(&x.shape) else { return };
        let batching = w.batching.map_or(String::new(), |(d, i)| {
            format!("input_batching_dims = [{d}], scatter_indices_batching_dims = [{i}], ")
        });
        let numbers = format!(
            "#stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], {batching}scatter_dims_to_operand_dims = [{}], \
             index_vector_dim = {}>",
            w.window(),
            list(&w.collapsed),
            list(&w.map),
            w.first
        );
        let op = ["add", "add", "maximum", "minimum", "xor", "multiply"][self.random.usize(0..6)];
        let count = [elements(&w.slices)];
        let flat = self.hidden(&count, format!("stablehlo.iota dim = 0 : {}", ty(&count)));
        let made =
            self.hidden(&w.slices, format!("stablehlo.reshape {} : ({}) -> {}", flat.name, ty(&count), ty(&w.slices)));
        let updates = self.any_where(|shape| *shape == w.slices).unwrap_or(made);
        let types = format!("({}, {}, {}) -> {}", ty(&x.shape), ty(&w.indices.shape), ty(&w.slices), ty(&x.shape));
        let region = combiner(op);
        self.add(
            &x.shape,
            format!(
                "\"stablehlo.scatter\"({}, {}, {}) <{{scatter_dimension_numbers = {numbers}}}> {region} : {types}",
                x.name, w.indices.name, updates.name
            ),
        );
    }
}
