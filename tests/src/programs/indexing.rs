//! Gathers and scatters of windows at positions given by a value, some of them out of range.

use super::text::{array, list, ty};
use super::{MOST, Value, Writer, elements};

/// Windows of `shape` at the positions in a value, laid out at random.
struct Windows {
    /// The dimensions that the elements of an index vector point into.
    map: Vec<usize>,
    /// The sizes of the windows.
    sizes: Vec<i64>,
    /// Dimensions without a dimension in the slices.
    collapsed: Vec<usize>,
    /// Batching dimensions of the operand, with the paired dimensions of the indices.
    batching: Vec<(usize, usize)>,
    /// Positions in `i32`.
    indices: Value,
    /// The dimension of the index vectors in `indices`.
    vector: usize,
    /// The slices' shape.
    slices: Vec<i64>,
    /// The dimensions of the windows in `slices`.
    window: Vec<usize>,
}

impl Windows {
    /// Returns the attribute of a gather or scatter, in which the lists have these names.
    fn numbers(&self, kind: &str, [window, collapsed, operand, indices, map]: [&str; 5]) -> String {
        format!(
            "#stablehlo.{kind}<{window} = [{}], {collapsed} = [{}], {operand} = [{}], {indices} = [{}], {map} = [{}], \
             index_vector_dim = {}>",
            list(&self.window),
            list(&self.collapsed),
            list(self.batching.iter().map(|p| p.0)),
            list(self.batching.iter().map(|p| p.1)),
            list(&self.map),
            self.vector
        )
    }
}

impl Writer {
    /// Returns windows of `shape` at positions taken from some value.
    fn pointed_to(&mut self, shape: &[i64]) -> Option<Windows> {
        if shape.is_empty() || shape.contains(&0) {
            return None;
        }
        let of = self.any_where(|s| elements(s) <= 40 && !s.contains(&0))?;
        let (mut map, mut sizes, mut collapsed, mut windows) = (vec![], vec![], vec![], vec![]);
        let mut batching: Vec<(usize, usize)> = Vec::new();
        for (d, &n) in shape.iter().enumerate() {
            let free = |i: &usize| of.shape[*i] == n && !batching.iter().any(|p| p.1 == *i);
            let paired = (0..of.shape.len()).find(free).filter(|_| self.random.u8(0..4) == 0);
            if let Some(i) = paired {
                batching.push((d, i));
                sizes.push(1);
                continue;
            }
            // Most dimensions are indexed; others are read from their first position.
            if self.random.u8(0..6) > 0 {
                map.push(d);
            }
            if self.random.u8(0..3) == 0 {
                collapsed.push(d);
                sizes.push(1);
            } else {
                windows.push(d);
                let part = self.random.i64(1..n + 1);
                sizes.push(self.pick(&[1, n, part, part]));
            }
        }
        self.random.shuffle(&mut map);
        // The windows' dimensions are anywhere among those of the indices.
        let rank = of.shape.len() + windows.len();
        let mut window: Vec<usize> = (0..rank).collect();
        self.random.shuffle(&mut window);
        window.truncate(windows.len());
        window.sort_unstable();
        let (mut batch, mut windows) = (of.shape.iter(), windows.into_iter());
        let slices: Option<Vec<i64>> = (0..rank)
            .map(|d| if window.contains(&d) { windows.next().map(|w| sizes[w]) } else { batch.next().copied() })
            .collect();
        let slices = slices.filter(|slices| elements(slices) <= MOST && rank < 6)?;
        let vector = self.random.usize(0..of.shape.len() + 1);
        let with_vector = |size| [&of.shape[..vector], &[size], &of.shape[vector..]].concat();
        let (one, all) = (with_vector(1), with_vector(map.len() as i64));
        let mut components = Vec::new();
        for (k, &d) in map.iter().enumerate() {
            let (by, of_ty) = (self.splat(&of.shape, [1, 3, 5, 7][k % 4]), ty(&of.shape));
            let other = self.hidden(&of.shape, format!("stablehlo.multiply {}, {} : {of_ty}", of.name, by.name));
            let at = self.position(&other, shape[d]);
            let op = format!("stablehlo.reshape {} : ({of_ty}) -> {}", at.name, ty(&one));
            components.push(self.hidden(&one, op));
        }
        let (names, types) = (list(components.iter().map(|c| &c.name)), list(components.iter().map(|_| ty(&one))));
        let mut indices = match &components[..] {
            [] => self.hidden(&all, format!("stablehlo.constant dense<> : {}", ty(&all))),
            [only] if self.random.bool() => only.clone(),
            _ => {
                self.hidden(&all, format!("stablehlo.concatenate {names}, dim = {vector} : ({types}) -> {}", ty(&all)))
            }
        };
        // Sometimes all windows fit.
        if !map.is_empty() && self.random.bool() {
            let (of, line) = (ty(&all), ty(&[map.len() as i64]));
            let last = list(map.iter().map(|&d| shape[d] - sizes[d]));
            let last = self.hidden(&[], format!("stablehlo.constant dense<[{last}]> : {line}"));
            let op = format!("stablehlo.broadcast_in_dim {}, dims = [{vector}] : ({line}) -> {of}", last.name);
            let (low, high) = (self.splat(&all, 0), self.hidden(&all, op));
            let op = format!("stablehlo.clamp {}, {}, {} : {of}", low.name, indices.name, high.name);
            indices = self.hidden(&all, op);
        }
        // One index needs no vector.
        let mut vector = vector;
        if map.len() == 1 && self.random.bool() {
            let op = format!("stablehlo.reshape {} : ({}) -> {}", indices.name, ty(&one), ty(&of.shape));
            (indices, vector) = (self.hidden(&of.shape, op), of.shape.len());
        } else {
            batching.iter_mut().for_each(|p| p.1 += usize::from(p.1 >= vector));
        }
        Some(Windows { map, sizes, collapsed, batching, indices, vector, slices, window })
    }

    pub(super) fn gather(&mut self) {
        let x = self.any();
        let Some(w) = self.pointed_to(&x.shape) else { return };
        let lists = [
            "offset_dims",
            "collapsed_slice_dims",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "start_index_map",
        ];
        let attributes =
            format!("dimension_numbers = {}, slice_sizes = {}", w.numbers("gather", lists), array(&w.sizes));
        let types = format!("({}, {}) -> {}", ty(&x.shape), ty(&w.indices.shape), ty(&w.slices));
        let operands = format!("{}, {}", x.name, w.indices.name);
        self.add(&w.slices, format!("\"stablehlo.gather\"({operands}) <{{{attributes}}}> : {types}"));
    }

    /// Writes a scatter that combines elements or replaces them, sometimes of two operands at once.
    pub(super) fn scatter(&mut self) {
        let x = self.any();
        let Some(w) = self.pointed_to(&x.shape) else { return };
        let lists = [
            "update_window_dims",
            "inserted_window_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "scatter_dims_to_operand_dims",
        ];
        let attributes = format!("scatter_dimension_numbers = {}", w.numbers("scatter", lists));
        let ops = ["add", "add", "maximum", "minimum", "xor", "multiply", "subtract"];
        let (first, second) = (self.pick(&ops), self.pick(&ops));
        let (of, at, part) = (ty(&x.shape), ty(&w.indices.shape), ty(&w.slices));
        let updates = self.value_of(&w.slices).name;
        let (x_, i) = (&x.name, &w.indices.name);
        match self.random.u8(0..4) {
            0 => {
                let y = self.any_where(|shape| *shape == x.shape).unwrap_or(x.clone()).name;
                let name = self.name();
                self.line(format!(
                    "{name}:2 = \"stablehlo.scatter\"({x_}, {y}, {i}, {updates}, {updates}) <{{{attributes}}}> ({{
    ^bb0(%p: tensor<i32>, %q: tensor<i32>, %s: tensor<i32>, %t: tensor<i32>):
      %v = stablehlo.{first} %p, %s : tensor<i32>
      %w = stablehlo.{second} %q, %t : tensor<i32>
      \"stablehlo.return\"(%v, %w) : (tensor<i32>, tensor<i32>) -> ()
    }}) : ({of}, {of}, {at}, {part}, {part}) -> ({of}, {of})"
                ));
                let op = format!("stablehlo.add {name}#0, {name}#1 : {of}");
                self.add(&x.shape, op);
            }
            replaces => {
                let new = if replaces == 1 { "%q" } else { "%s" };
                let op = format!(
                    "\"stablehlo.scatter\"({x_}, {i}, {updates}) <{{{attributes}}}> ({{
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.{first} %p, %q : tensor<i32>
      \"stablehlo.return\"({new}) : (tensor<i32>) -> ()
    }}) : ({of}, {at}, {part}) -> {of}"
                );
                self.add(&x.shape, op);
            }
        }
    }
}
