//! Decomposes collectives of products: a device's data goes around a ring of devices, one permute after the other, and
//! between two permutes each device multiplies the data it has received.
//!
//! Device `p` of a ring starts with chunk `p`. Where chunks arrive from the next device, the chunk at distance `s` is
//! chunk `p + s`, or the chunk of the device `s` positions further on if the ring has a custom order. Links carry data
//! both ways; if both directions are used at once, only half as many permutes follow each other.

use dialect::collective::MeshAttr;
use dialect::ir::build::Builder;
use dialect::ir::{Attr, Block, ElementType, Name, Op, Program, Ty, Value};
use dialect::localize::{Localize, Tensor};
use dialect::ops::build;
use dialect::ops::build::collective::Along;
use dialect::scalar::Scalar;
use dialect::sharding::{Mesh, Pairs, PerDevice, Shard};
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::find::{Candidate, Product, Side, sum_type};
use crate::partition::first_channel;
use crate::partition::position::{self, Positions};

/// The directions around the ring in which data is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Directions {
    One,
    Both,
}

/// Rewrites `program` so that these candidates, no two of which share an op, go around rings.
pub(super) fn unroll(program: &mut Program, mesh: &Mesh, chosen: &[(&Candidate, Directions)]) {
    let mut pass = Unroll {
        mesh,
        groups: MeshAttr::new(program, mesh),
        channel: first_channel(program, program.body()),
        position: position::element_of(program, mesh, &program.values_under(program.body())),
        chosen,
        of: FxHashMap::default(),
        chunks: FxHashMap::default(),
        renamed: FxHashMap::default(),
    };
    for (i, (candidate, _)) in chosen.iter().enumerate() {
        pass.of.insert(candidate.collective, i);
        pass.of.extend(candidate.products.iter().map(|p| (p.op, i)));
    }
    for block in program.blocks_under(program.body()) {
        pass.block(program, block);
    }
    program.rename(&pass.renamed);
}

struct Unroll<'a> {
    mesh: &'a Mesh,
    groups: MeshAttr,
    channel: i64,
    /// The type of positions.
    position: ElementType,
    chosen: &'a [(&'a Candidate, Directions)],
    /// The candidate that each op belongs to.
    of: FxHashMap<Op, usize>,
    /// The chunks that replace each gather.
    chunks: FxHashMap<usize, Vec<Chunk>>,
    renamed: FxHashMap<Value, Value>,
}

/// A chunk that a device holds during the ring.
#[derive(Clone, Copy)]
struct Chunk {
    value: Value,
    /// The chunk's number is that of the device plus this, modulo the size of the ring.
    distance: i64,
}

impl Unroll<'_> {
    fn channel(&mut self) -> i64 {
        self.channel += 1;
        self.channel - 1
    }

    fn block(&mut self, program: &mut Program, block: Block) {
        if !program.block_ops(block).iter().any(|op| self.of.contains_key(op)) {
            return;
        }
        let mut positions = Positions::new(self.position);
        let mut ops = Vec::new();
        for op in program.block_ops(block).to_vec() {
            let Some(&i) = self.of.get(&op) else {
                ops.push(op);
                continue;
            };
            let first = ops.len();
            let (candidate, directions) = self.chosen[i];
            let collective = program.op(candidate.collective);
            let (loc, span, operand) = (program.op(op).loc, program.op(op).span, collective.operands[0]);
            let cause = program.attr(candidate.collective, CAUSE);
            let mut ring =
                Ring { b: Builder::new(program, &mut ops, loc), unroll: self, positions: &mut positions, candidate };
            match (candidate.side, op == candidate.collective) {
                // The chunks are sent at the first product, after all its other operands are computed.
                (Side::Gather, true) => {}
                (Side::Gather, false) => {
                    let known = ring.unroll.chunks.get(&i).cloned();
                    let operand = ring.unroll.renamed.get(&operand).copied().unwrap_or(operand);
                    let chunks = known.unwrap_or_else(|| ring.chunks(operand, directions));
                    ring.unroll.chunks.insert(i, chunks.clone());
                    let product = candidate.products.iter().find(|p| p.op == op);
                    let made = product.map(|product| ring.product(product, &chunks));
                    self.renamed.extend(made.map(|v| (program.result(op, 0), v)));
                }
                // The product is computed where its sum was scattered.
                (Side::Scatter | Side::Reduce, false) => {}
                (Side::Scatter | Side::Reduce, true) => {
                    let made = ring.scattered(&candidate.products[0], directions);
                    let made = if candidate.side == Side::Reduce { ring.gathered(made) } else { made };
                    self.renamed.insert(program.result(op, 0), made);
                }
            }
            for &made in &ops[first..] {
                program.op_mut(made).span = span;
                let view = program.view(made);
                if let Some(cause) = cause.filter(|_| view.def().collective(view).is_some()) {
                    program.set_attr(made, CAUSE, cause);
                }
            }
        }
        program.set_block_ops(block, ops);
    }
}

/// One candidate that is being rewritten.
struct Ring<'b, 'u, 'a> {
    b: Builder<'b>,
    unroll: &'u mut Unroll<'a>,
    positions: &'b mut Positions,
    candidate: &'a Candidate,
}

impl Ring<'_, '_, '_> {
    /// Returns the device's own chunk, then the chunks that arrive.
    fn chunks(&mut self, own: Value, directions: Directions) -> Vec<Chunk> {
        let devices = self.candidate.devices;
        let (up, down) = hops(devices, directions);
        let mut chunks = vec![Chunk { value: own, distance: 0 }];
        let (mut above, mut below) = (own, own);
        for s in 1..=up {
            above = self.send(above, -1);
            chunks.push(Chunk { value: above, distance: s });
            if s <= down {
                below = self.send(below, 1);
                chunks.push(Chunk { value: below, distance: devices - s });
            }
        }
        chunks
    }

    /// Builds a product with a tensor that consists of these chunks.
    fn product(&mut self, product: &Product, chunks: &[Chunk]) -> Value {
        let result = self.b.program.result(product.op, 0);
        let ty = self.b.tensor(result).clone();
        let wide = self.sum_type(product);
        let mut made: Option<Value> =
            product.result.map(|_| build::splat(&mut self.b, ty.element, &ty.shape, Scalar::zero(ty.element)));
        for &chunk in chunks {
            let number = self.number(chunk.distance);
            let part = self.part(product, Some(chunk.value), number, wide);
            made = Some(match (made, product.result) {
                (Some(made), Some(dim)) => {
                    let starts = self.starts(&ty.shape, dim, number);
                    build::shape::dynamic_update_slice(&mut self.b, made, part, &starts)
                }
                (Some(sum), None) => build::add(&mut self.b, sum, part),
                (None, _) => part,
            });
        }
        let made = made.expect("a ring has devices");
        if self.b.tensor(made).element == ty.element { made } else { build::convert(&mut self.b, made, ty.element) }
    }

    /// Builds the device's chunk of the sum of all devices' products.
    fn scattered(&mut self, product: &Product, directions: Directions) -> Value {
        let devices = self.candidate.devices;
        let (up, down) = hops(devices, directions);
        let result = self.b.program.result(product.op, 0);
        let ty = self.b.program.value_type(result);
        // Sums on their way to the previous and to the next device; both arrive at once.
        let (mut falling, mut rising): (Option<Value>, Option<Value>) = (None, None);
        for left in (1..=up).rev() {
            let number = self.number(devices - left);
            falling = Some(self.passed_on(product, ty, falling, number, -1));
            if left <= down {
                let number = self.number(left);
                rising = Some(self.passed_on(product, ty, rising, number, 1));
            }
        }
        let number = self.number(0);
        let own = self.part(product, None, number, ty);
        [falling, rising].into_iter().flatten().fold(own, |sum, arrived| build::add(&mut self.b, arrived, sum))
    }

    /// Adds the device's share of chunk `number` to a sum that has arrived, and sends it `by` devices further.
    fn passed_on(&mut self, product: &Product, ty: Ty, arrived: Option<Value>, number: Value, by: i64) -> Value {
        let part = self.part(product, None, number, ty);
        let sum = arrived.map_or(part, |arrived| build::add(&mut self.b, arrived, part));
        self.send(sum, by)
    }

    /// Gathers all chunks of the product, of which each device has one.
    fn gathered(&mut self, chunk: Value) -> Value {
        let Candidate { products, axes, devices, .. } = self.candidate;
        let Some(dim) = products[0].result else { return chunk };
        let groups = Along { mesh: self.unroll.groups, axes, devices: *devices };
        let channel = self.unroll.channel();
        build::collective::all_gather(&mut self.b, chunk, dim, groups, channel)
    }

    /// Sends a value to the device `by` positions further on.
    fn send(&mut self, value: Value, by: i64) -> Value {
        let devices = self.candidate.devices;
        let place = |i: i64| self.candidate.place(i.rem_euclid(devices));
        let pairs = Pairs::of((0..devices).map(|i| (place(i), place(i + by))));
        let pairs = self.unroll.groups.pairs(self.b.program, &self.candidate.axes, &pairs);
        let channel = self.unroll.channel();
        build::collective::permute(&mut self.b, value, pairs, channel)
    }

    /// Returns the number of the chunk at `distance`, of rank 0.
    fn number(&mut self, distance: i64) -> Value {
        let own = self.positions.coordinate(&mut self.b, self.unroll.mesh, &self.candidate.axes);
        if distance == 0 {
            return own;
        }
        if let Some(order) = &self.candidate.order {
            let mut numbers = vec![None; order.len()];
            for (i, &place) in order.iter().enumerate() {
                numbers[place as usize] = Some(order[(i + distance as usize) % order.len()]);
            }
            let numbers = PerDevice::from_each(numbers);
            return self.positions.entry(&mut self.b, self.unroll.mesh, &self.candidate.axes, &numbers);
        }
        let integer = self.b.tensor(own).element;
        let [distance, devices] = [distance, self.candidate.devices].map(|n| build::integer(&mut self.b, integer, n));
        let sum = build::add(&mut self.b, own, distance);
        build::remainder(&mut self.b, sum, devices)
    }

    /// Returns the start of chunk `number` of a dimension in a tensor of this shape.
    fn starts(&mut self, shape: &[i64], dim: usize, number: Value) -> SmallVec<[Value; 4]> {
        let integer = self.b.tensor(number).element;
        let size = build::integer(&mut self.b, integer, shape[dim] / self.candidate.devices);
        let start = build::multiply(&mut self.b, number, size);
        (0..shape.len()).map(|d| if d == dim { start } else { build::integer(&mut self.b, integer, 0) }).collect()
    }

    /// Builds chunk `number` of the product; `chunk` is the chunk of the gathered operand.
    fn part(&mut self, product: &Product, chunk: Option<Value>, number: Value, ty: Ty) -> Value {
        let devices = self.candidate.devices;
        let of_gather = chunk.map(|_| self.b.program.result(self.candidate.collective, 0));
        let globals = self.b.program.op(product.op).operands.clone();
        let mut operands: SmallVec<[Value; 2]> = SmallVec::new();
        let mut shards: Vec<Shard> = Vec::new();
        for (i, &global) in globals.iter().enumerate() {
            let value = self.unroll.renamed.get(&global).copied().unwrap_or(global);
            let shape = self.b.tensor(global).shape.clone();
            let dim = product.operands[i];
            let shard = Shard::new(&shape, (0..shape.len()).map(|d| if Some(d) == dim { devices } else { 1 }));
            operands.push(match (chunk.filter(|_| of_gather == Some(global)), dim) {
                (Some(chunk), _) => chunk,
                (None, Some(dim)) => {
                    let starts = self.starts(&shape, dim, number);
                    build::shape::dynamic_slice(&mut self.b, value, &starts, &shard.shape())
                }
                (None, None) => value,
            });
            shards.push(shard);
        }
        let mut whole = self.b.program.type_data(ty).tensor().expect("a tensor").clone();
        let sharded = |d: usize| if Some(d) == product.result { devices } else { 1 };
        let result = [Shard::new(&whole.shape, (0..whole.shape.len()).map(sharded))];
        whole.shape = result[0].shape();
        let local = self.b.program.intern_type(whole);
        let mut start = |b: &mut Builder<'_>, tensor: Tensor, dim: usize| {
            let shard = match tensor {
                Tensor::Operand(i) => &shards[i],
                Tensor::Result(i) => &result[i],
            };
            (shard.dims[dim].shards > 1).then(|| {
                let integer = b.tensor(number).element;
                let size = build::integer(b, integer, shard.dims[dim].size());
                build::multiply(b, number, size)
            })
        };
        let mut cx = Localize {
            build: self.b.reborrow(),
            op: product.op,
            operands: &operands,
            operand_shards: &shards,
            result_shards: &result,
            result_types: vec![local],
            results: Vec::new(),
            fetched: &[],
            start: &mut start,
        };
        let def = cx.build.program.op(product.op).def;
        def.localize(&mut cx);
        cx.results[0]
    }

    /// Returns the type of partial products that are summed: of a wider element type, if the op supports one.
    fn sum_type(&mut self, product: &Product) -> Ty {
        let program = &mut *self.b.program;
        let own = program.value_type(program.result(product.op, 0));
        let Some(mut ty) = program.type_data(own).tensor().cloned() else { return own };
        let wide = sum_type(ty.element);
        if product.result.is_some() || wide == ty.element {
            return own;
        }
        ty.element = wide;
        let wide = program.intern_type(ty.clone());
        let op = program.op(product.op).clone();
        let attrs: Vec<(Name, Attr)> = op.attrs.to_vec();
        let probe = program.new_op(op.def, &op.operands, &[wide], &attrs, &op.regions, op.loc);
        let inferred = op.def.infer(program.view(probe));
        if inferred.is_ok_and(|types| types.len() == 1 && types[0] == ty.into()) { wide } else { own }
    }
}

/// Returns the number of consecutive permutes from the device above, and from the device below.
fn hops(devices: i64, directions: Directions) -> (i64, i64) {
    match directions {
        Directions::One => (devices - 1, 0),
        Directions::Both => (devices / 2, (devices - 1) / 2),
    }
}
