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
        let from = ty(&x.shape);
        match self.random.u8(0..6) {
            0 | 1 => {
                let region = combiner(["add", "maximum", "minimum"][self.random.usize(0..3)]);
                let op = format!(
                    "\"stablehlo.all_reduce\"({}) <{{{channel}, {table}, use_global_device_ids}}> {region}",
                    x.name
                );
                self.add(&shape, format!("{op} : ({from}) -> {from}"));
            }
            2 if elements(&shape) * n <= MOST => {
                shape[d] *= n;
                let attributes = format!("all_gather_dim = {d} : i64, {channel}, {table}, use_global_device_ids");
                self.add(
                    &shape,
                    format!("\"stablehlo.all_gather\"({}) <{{{attributes}}}> : ({from}) -> {}", x.name, ty(&shape)),
                );
            }
            3 if shape[d] % n == 0 => {
                shape[d] /= n;
                let region = combiner("add");
                let attributes = format!("{channel}, {table}, scatter_dimension = {d} : i64, use_global_device_ids");
                self.add(
                    &shape,
                    format!(
                        "\"stablehlo.reduce_scatter\"({}) <{{{attributes}}}> {region} : ({from}) -> {}",
                        x.name,
                        ty(&shape)
                    ),
                );
            }
            4 if shape[d] % n == 0 => {
                let to = self.random.usize(0..shape.len());
                shape[d] /= n;
                shape[to] *= n;
                let attributes = format!(
                    "{channel}, concat_dimension = {to} : i64, {table}, split_count = {n} : i64, split_dimension = {d} : i64"
                );
                self.add(
                    &shape,
                    format!("\"stablehlo.all_to_all\"({}) <{{{attributes}}}> : ({from}) -> {}", x.name, ty(&shape)),
                );
            }
            _ => {
                // Some devices may receive nothing and get zeros.
                let wraps = self.random.bool() as usize;
                let by = self.random.usize(1..3);
                let pairs: Vec<[i64; 2]> = groups
                    .iter()
                    .flat_map(|g| {
                        (0..g.len())
                            .filter(move |i| wraps == 1 || i + by < g.len())
                            .map(move |i| [g[i], g[(i + by) % g.len()]])
                    })
                    .collect();
                if pairs.is_empty() {
                    return;
                }
                let attributes =
                    format!("{channel}, source_target_pairs = dense<{pairs:?}> : tensor<{}x2xi64>", pairs.len());
                self.add(
                    &shape,
                    format!("\"stablehlo.collective_permute\"({}) <{{{attributes}}}> : ({from}) -> {from}", x.name),
                );
            }
        }
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
        for device in 0..devices {
            let key = others(device);
            match groups.iter_mut().find(|g| g.0 == key) {
                Some(group) => group.1.push(device),
                None => groups.push((key, vec![device])),
            }
        }
        groups.into_iter().map(|g| g.1).collect()
    }
}
