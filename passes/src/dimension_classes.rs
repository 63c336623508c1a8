//! Dimension classes of a whole program: the dimensions of its values that ops keep together.
//!
//! Dimensions of two values are in one class when an op's sharding rule maps both to one factor, or when control flow
//! passes one value on as the other: the batch of a network is one class, its features, heads and vocabulary are
//! others. Sharding a class along a mesh axis shards the whole program and moves only partial sums.
//!
//! The plan's search has separate classes, of its graph; these are the classes of the program's text, before anything
//! is sharded.

use dialect::define_id;
use dialect::id::TiVec;
use dialect::ir::{Block, Op, Program, Value};
use dialect::sharding::FactorKind;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use dialect::disjoint_sets::DisjointSets;

define_id! {
    /// A class of dimensions; classes are numbered in the order of the program.
    pub ClassId, "class"
}

/// A product or a convolution.
#[derive(Clone, PartialEq, Debug)]
pub struct Product {
    /// The op.
    pub op: Op,
    /// Floating-point operations of one execution on one device that has all of the operands.
    pub flops: f64,
    /// Classes that are summed over.
    pub contracted: SmallVec<[ClassId; 2]>,
    /// Classes that both operands and the result have.
    pub batch: SmallVec<[ClassId; 2]>,
    /// Classes that one operand alone shares with the result.
    pub free: SmallVec<[ClassId; 4]>,
}

/// The dimension classes of a program.
pub struct DimensionClasses {
    /// The index in `classes` of each value's first dimension.
    first: TiVec<Value, u32>,
    classes: Vec<ClassId>,
    count: usize,
    products: Vec<Product>,
    bytes: Vec<f64>,
}

impl DimensionClasses {
    /// Computes the classes of all values under `block`. Calls should be inlined, because classes don't pass through
    /// them.
    pub fn of(program: &Program, block: Block) -> Self {
        let mut first: TiVec<Value, u32> = vec![0; program.value_count()].into();
        let mut dims = 0u32;
        let values = program.values_under(block);
        for &value in &values {
            first[value] = dims;
            dims += program.tensor_type(value).map_or(0, |ty| ty.rank()) as u32;
        }
        let mut sets = DisjointSets::new(dims);
        let rank = |value: Value| program.tensor_type(value).map_or(0, |ty| ty.rank());
        // Each product with its factors; a dimension with the factor represents each.
        let mut found: Vec<(Op, f64, Factors)> = Vec::new();
        program.walk(block, &mut |op| {
            let view = program.view(op);
            for flow in view.def().data_flow(view) {
                for &value in flow.sources.iter().chain(&flow.targets).filter(|&&v| rank(v) == rank(flow.owner)) {
                    (0..rank(value) as u32).for_each(|d| sets.join(first[value] + d, first[flow.owner] + d));
                }
            }
            let Some(rule) = view.def().sharding_rule(view) else { return };
            let mut members: SmallVec<[Option<u32>; 6]> = SmallVec::from_elem(None, rule.factors.len());
            let mut seen: SmallVec<[[bool; 3]; 6]> = SmallVec::from_elem([false; 3], rule.factors.len());
            let operands = view.operands().iter().copied().zip(&rule.operands);
            let tensors = operands.enumerate().chain(view.results().zip(&rule.results).map(|r| (usize::MAX, r)));
            for (i, (value, factors)) in tensors {
                for (d, factors) in factors.iter().enumerate().take(rank(value)) {
                    let major = factors.iter().find(|&&f| rule.factors[f as usize].size > 1);
                    let Some(&factor) = major else { continue };
                    let dim = first[value] + d as u32;
                    match members[factor as usize] {
                        Some(other) => sets.join(other, dim),
                        None => members[factor as usize] = Some(dim),
                    }
                    seen[factor as usize][i.min(2)] = true;
                }
            }
            let flops = view.def().flops(view);
            if flops > 0.0 && rule.factors.iter().any(|f| f.kind == FactorKind::Reduction) {
                let kind = |f: usize| match (rule.factors[f].kind, seen[f]) {
                    (FactorKind::Reduction, _) => FactorRole::Contracted,
                    (_, [true, true, _]) => FactorRole::Batch,
                    _ => FactorRole::Free,
                };
                let factors = (0..members.len()).filter_map(|f| Some((members[f]?, kind(f)))).collect();
                found.push((op, flops, factors));
            }
        });
        let mut numbers: FxHashMap<u32, ClassId> = FxHashMap::default();
        let mut classes = Vec::with_capacity(dims as usize);
        for dim in 0..dims {
            let next = ClassId::new(numbers.len());
            classes.push(*numbers.entry(sets.root(dim)).or_insert(next));
        }
        let count = numbers.len();
        let product = |(op, flops, factors): (Op, f64, Factors)| {
            let of = |wanted: FactorRole| factors.iter().filter(move |f| f.1 == wanted).map(|f| classes[f.0 as usize]);
            let (contracted, batch) = (of(FactorRole::Contracted).collect(), of(FactorRole::Batch).collect());
            Product { op, flops, contracted, batch, free: of(FactorRole::Free).collect() }
        };
        let products = found.into_iter().map(product).collect();
        let mut this = Self { first, classes, count, products, bytes: vec![0.0; count] };
        for value in values {
            let bytes = program.tensor_type(value).and_then(|ty| ty.bytes()).unwrap_or(0) as f64;
            for class in this.of_value(program, value).to_vec() {
                this.bytes[class.index()] += bytes;
            }
        }
        this
    }

    /// Returns the classes of a value's dimensions; none for values that aren't tensors.
    pub fn of_value(&self, program: &Program, value: Value) -> &[ClassId] {
        let rank = program.tensor_type(value).map_or(0, |ty| ty.rank());
        let at = self.first[value] as usize;
        self.classes.get(at..at + rank).unwrap_or_default()
    }

    /// Returns the number of classes.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the bytes of all values that have a dimension of the class.
    pub fn bytes(&self, class: ClassId) -> f64 {
        self.bytes[class.index()]
    }

    /// Returns products and convolutions in the order of the program.
    pub fn products(&self) -> &[Product] {
        &self.products
    }
}

/// The kind of a factor of a product.
#[derive(Clone, Copy, PartialEq)]
enum FactorRole {
    Contracted,
    Batch,
    Free,
}

/// The factors of a product, each represented by one of its dimensions.
type Factors = SmallVec<[(u32, FactorRole); 6]>;

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::diagnostic::Diagnostics;
    use dialect::ops::func;

    #[test]
    fn the_dimensions_of_two_layers_in_a_loop() {
        let text = r#"
func.func @main(%x: tensor<8x16xf32>, %u: tensor<16x32xf32>, %d: tensor<32x16xf32>, %n: tensor<i32>) -> tensor<8x16xf32> {
  %0:2 = stablehlo.while(%h = %x, %i = %n) : tensor<8x16xf32>, tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %3 = stablehlo.tanh %2 : tensor<8x32xf32>
    %4 = stablehlo.dot_general %3, %d, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    stablehlo.return %4, %i : tensor<8x16xf32>, tensor<i32>
  }
  return %0#0 : tensor<8x16xf32>
}"#;
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(text, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        let main = func::function(&program, "main").and_then(|f| func::block(&program, f)).expect("@main");
        let classes = DimensionClasses::of(&program, main);
        let of = |i: usize| classes.of_value(&program, program.block_args(main)[i]);
        let (batch, features, hidden) = (of(0)[0], of(0)[1], of(1)[1]);
        assert_eq!((of(1), of(2)), (&[features, hidden][..], &[hidden, features][..]));
        assert_eq!(classes.count(), 3);
        let loop_op = program.block_ops(main)[0];
        assert_eq!(classes.of_value(&program, program.result(loop_op, 0)), [batch, features]);
        let products: Vec<_> = classes.products().iter().map(|p| (&p.contracted[..], &p.free[..])).collect();
        assert_eq!(products, [(&[features][..], &[batch, hidden][..]), (&[hidden], &[batch, features])]);
        assert_eq!(classes.products()[0].flops, 2.0 * 8.0 * 16.0 * 32.0);
    }
}
