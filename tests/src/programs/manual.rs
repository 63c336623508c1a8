//! Manual regions, and the collectives inside them.

use super::text::{combiner, list, ty};
use super::{MOST, Value, Writer, elements};

impl Writer {
    /// Writes a manual computation over some axes. Its result is sharded along all of them, so that values that differ
    /// between devices become different parts of the result.
    pub(super) fn region(&mut self) {
        if self.depth > 1 {
            return self.binary();
        }
        let free: Vec<usize> = (0..self.mesh.len()).filter(|&i| !self.mesh[i].manual).collect();
        let axes: Vec<usize> = match self.random.bool() {
            true => free.clone(),
            false => free.into_iter().filter(|_| self.random.bool()).collect(),
        };
        let operands: Vec<Value> = (0..self.random.usize(1..3)).map(|_| self.any()).collect();
        if axes.is_empty() || axes.iter().any(|&a| self.mesh[a].manual) {
            return;
        }
        let (mut shardings, mut inner) = (Vec::new(), Vec::new());
        for v in &operands {
            let (mut local, mut dims) = (v.shape.clone(), vec![Vec::new(); v.shape.len()]);
            for &a in &axes {
                let (name, size) = (self.mesh[a].name, self.mesh[a].size);
                let d = self.random.usize(0..dims.len() + 1);
                if d < dims.len() && local[d] > 0 && local[d] % size == 0 {
                    local[d] /= size;
                    dims[d].push(format!("\"{name}\""));
                }
            }
            shardings.push(format!("<@mesh, [{}]>", list(dims.iter().map(|d| format!("{{{}}}", d.join(", "))))));
            inner.push(Value { name: self.name(), shape: local });
        }
        let result = self.name();
        let start = self.lines.len();
        axes.iter().for_each(|&a| self.mesh[a].manual = true);
        let out = self.body(inner.clone());
        self.line(format!("  sdy.return {} : {}", out.name, ty(&out.shape)));
        axes.iter().for_each(|&a| self.mesh[a].manual = false);
        let body = self.lines.split_off(start);
        let count: i64 = axes.iter().map(|&a| self.mesh[a].size).product();
        if out.shape.is_empty() || elements(&out.shape) * count > MOST {
            // Too large, or no dimension that could be sharded: drop the region.
            return;
        }
        let (mut global, mut dims) = (out.shape.clone(), vec![Vec::new(); out.shape.len()]);
        for &a in &axes {
            let d = self.random.usize(0..dims.len());
            global[d] *= self.mesh[a].size;
            dims[d].push(format!("\"{}\"", self.mesh[a].name));
        }
        let sharding = format!("<@mesh, [{}]>", list(dims.iter().map(|d| format!("{{{}}}", d.join(", ")))));
        let names = list(axes.iter().map(|&a| format!("\"{}\"", self.mesh[a].name)));
        let arguments = list(inner.iter().map(|v| format!("{}: {}", v.name, ty(&v.shape))));
        self.line(format!(
            "{result} = sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{sharding}] manual_axes={{{names}}} ({arguments}) {{",
            list(operands.iter().map(|v| &v.name)),
            shardings.join(", ")
        ));
        self.lines += &body;
        let types = list(operands.iter().map(|v| ty(&v.shape)));
        self.line(format!("}} : ({types}) -> {}", ty(&global)));
        self.values.push(Value { name: result, shape: global });
    }

    /// Writes a collective between the devices along some of the manual axes.
    pub(super) fn collective(&mut self) {
        let manual: Vec<usize> = (0..self.mesh.len()).filter(|&i| self.mesh[i].manual).collect();
        let axes: Vec<usize> = manual.iter().copied().filter(|_| self.random.bool()).collect();
        let axes = if axes.is_empty() { manual } else { axes };
        let groups = self.groups(&axes);
        let n = groups[0].len() as i64;
        let x = self.any();
        if x.shape.is_empty() {
            return;
        }
        self.channels += 1;
        let channel = format!("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>", self.channels);
        let table = format!("replica_groups = dense<{groups:?}> : tensor<{}x{n}xi64>", groups.len());
        let mut shape = x.shape.clone();
        let divided: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] % n == 0).collect();
        let d = match divided[..] {
            [] => self.random.usize(0..shape.len()),
            _ => divided[self.random.usize(0..divided.len())],
        };
        let all = format!("{channel}, {table}, use_global_device_ids");
        match self.random.u8(0..6) {
            0 | 1 => {
                let region = combiner(["add", "maximum", "minimum"][self.random.usize(0..3)]);
                self.exchange("all_reduce", &x, &all, &region, &shape);
            }
            2 if elements(&shape) * n <= MOST => {
                shape[d] *= n;
                self.exchange("all_gather", &x, &format!("all_gather_dim = {d} : i64, {all}"), "", &shape);
            }
            3 if shape[d] % n == 0 => {
                shape[d] /= n;
                let attributes = format!("{all}, scatter_dimension = {d} : i64");
                self.exchange("reduce_scatter", &x, &attributes, &combiner("add"), &shape);
            }
            4 if shape[d] % n == 0 => {
                let to = self.random.usize(0..shape.len());
                shape[d] /= n;
                shape[to] *= n;
                let attributes = format!(
                    "{channel}, concat_dimension = {to} : i64, {table}, split_count = {n} : i64, split_dimension = {d} : i64"
                );
                self.exchange("all_to_all", &x, &attributes, "", &shape);
            }
            _ => {
                let pairs = self.pairs(&groups);
                if pairs.is_empty() {
                    return;
                }
                let count = pairs.len();
                let attributes = format!("{channel}, source_target_pairs = dense<{pairs:?}> : tensor<{count}x2xi64>");
                self.exchange("collective_permute", &x, &attributes, "", &shape);
            }
        }
    }

    /// Writes a collective whose result has this shape.
    fn exchange(&mut self, op: &str, x: &Value, attributes: &str, region: &str, shape: &[i64]) {
        let types = format!("({}) -> {}", ty(&x.shape), ty(shape));
        self.add(shape, format!("\"stablehlo.{op}\"({}) <{{{attributes}}}> {region} : {types}", x.name));
    }

    /// Returns the pairs of a shift inside each group. Some devices may receive nothing and get zeros.
    fn pairs(&mut self, groups: &[Vec<i64>]) -> Vec<[i64; 2]> {
        let wraps = self.random.bool();
        let by = self.random.usize(1..3);
        let of = |g: &Vec<i64>| -> Vec<[i64; 2]> {
            let sends = (0..g.len()).filter(|i| wraps || i + by < g.len());
            sends.map(|i| [g[i], g[(i + by) % g.len()]]).collect()
        };
        groups.iter().flat_map(of).collect()
    }

    /// Returns the groups of devices that differ only along these axes, in the order of the axes.
    fn groups(&self, axes: &[usize]) -> Vec<Vec<i64>> {
        let sizes: Vec<i64> = self.mesh.iter().map(|a| a.size).collect();
        let devices: i64 = sizes.iter().product();
        let at = |device: i64, a: usize| device / sizes[a + 1..].iter().product::<i64>() % sizes[a];
        let others = |device: i64| -> Vec<i64> {
            (0..sizes.len()).filter(|a| !axes.contains(a)).map(|a| at(device, a)).collect()
        };
        let mut groups: Vec<(Vec<i64>, Vec<i64>)> = Vec::new();
        for position in 0..devices {
            let (key, device) = (others(position), self.order.as_ref().map_or(position, |o| o[position as usize]));
            match groups.iter_mut().find(|g| g.0 == key) {
                Some(group) => group.1.push(device),
                None => groups.push((key, vec![device])),
            }
        }
        groups.into_iter().map(|g| g.1).collect()
    }
}
