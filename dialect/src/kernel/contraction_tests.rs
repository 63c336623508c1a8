//! Tests of `Contraction` on products.

use super::*;
use crate::ir::ElementType::{BF16, F32, F64, I8, I32};
use crate::kernel::Kernel;
use crate::literal::{Indices, Literal};
use crate::proofs::{example_block, example_program};

fn nest(text: &str) -> Nest {
    let program = example_program(text);
    let op = program.view(*program.block_ops(example_block(&program)).last().expect("an example has an op"));
    let Kernel::Nest(nest) = op.def().kernel(op) else { panic!("no nest: {text}") };
    nest
}

/// Returns the loops of each role: batch, left, right, contracted.
fn roles(text: &str) -> Option<[Vec<usize>; 4]> {
    let found = Contraction::of(&nest(text))?;
    Some([Role::Batch, Role::Left, Role::Right, Role::Contracted].map(|role| found.loops(role).collect()))
}

#[test]
fn products_are_found_in_the_nest() {
    let dot = "(%a: tensor<2x4x6xi32>, %b: tensor<6x2x3xi32>) %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x4x6xi32>, tensor<6x2x3xi32>) -> tensor<2x4x3xi32>";
    assert_eq!(roles(dot), Some([vec![0], vec![1], vec![2], vec![3]]));
    let vectors = "(%a: tensor<4xi32>, %b: tensor<4xi32>) %r = stablehlo.dot %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<i32>";
    assert_eq!(roles(vectors), Some([vec![], vec![], vec![], vec![0]]));
    let outer = "(%a: tensor<2xf32>, %b: tensor<4xf32>) %r = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>";
    assert_eq!(roles(outer), Some([vec![], vec![0], vec![1], vec![]]));
    // The right operand's loop comes first, and the nest sums over a dimension that only the left operand has.
    let einsum = "(%a: tensor<4x2x6xi8>, %b: tensor<6x3xi8>) %r = stablehlo.einsum %a, %b, config = \"aij,jk->ka\" : (tensor<4x2x6xi8>, tensor<6x3xi8>) -> tensor<3x4xi32>";
    assert_eq!(roles(einsum), Some([vec![], vec![1], vec![0], vec![2, 3]]));
    assert_eq!(nest(einsum).flops(), 2.0 * (3 * 4 * 2 * 6) as f64);
}

#[test]
fn what_only_looks_like_a_product_is_none() {
    let two = "(%a: tensor<4xf32>, %b: tensor<4xf32>) %r = stablehlo.";
    assert_eq!(roles(&format!("{two}multiply %a, %b : tensor<4xf32>")), None);
    assert_eq!(roles(&format!("{two}add %a, %b : tensor<4xf32>")), None);
    let dot = nest(&format!("{two}dot %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>"));
    assert!(Contraction::of(&dot).is_some());
    let with = |change: fn(&mut Nest)| {
        let mut changed = dot.clone();
        change(&mut changed);
        Contraction::of(&changed).is_some()
    };
    assert!(!with(|n| n.init = vec![Init::Operand(2)]), "it starts from something");
    assert!(!with(|n| n.init = vec![Init::Const(crate::scalar::Scalar::Float(1.0))]));
    assert!(!with(|n| n.inputs[1].index[0] = Index::Load { operand: 0, index: vec![Index::Loop(0)] }));
    let op = |n: &mut Nest, i: usize, by: ScalarOp| {
        if let Inst::Op { op, .. } = &mut n.body.insts[i] {
            *op = by;
        }
    };
    let mut largest = dot.clone();
    op(&mut largest, 1, ScalarOp::Max);
    assert_eq!(Contraction::of(&largest), None);
    let mut squares = dot;
    if let Inst::Op { args, .. } = &mut squares.body.insts[0] {
        *args = smallvec![Arg::Input(0), Arg::Input(0)];
    }
    assert_eq!(Contraction::of(&squares), None);
}

#[test]
fn every_product_body_is_recognized() {
    for (lhs, rhs, result) in [(F32, F32, F32), (BF16, BF16, F32), (F32, BF16, BF16), (I8, I8, I32), (F32, F32, F64)] {
        for reduced in [false, true] {
            let body = Body::product(lhs, rhs, result, reduced);
            assert!(body.is_product(), "{body:?}");
        }
    }
    // A product that is rounded before it is added gives another sum.
    let mut rounded = Body::product(BF16, BF16, F32, true);
    for inst in &mut rounded.insts {
        if let Inst::Op { op: ScalarOp::Mul, ty, .. } = inst {
            *ty = BF16;
        }
    }
    assert!(!rounded.is_product());
}

const CONVOLUTION: &str = "(%a: tensor<2x9x6x4xf32>, %k: tensor<3x3x4x5xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 0], [1, 1]], rhs_dilate = [2, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x6x4xf32>, tensor<3x3x4x5xf32>) -> tensor<2x3x6x5xf32>";

#[test]
fn windows_of_a_convolution_are_seen() {
    let nest = nest(CONVOLUTION);
    let found = Contraction::of(&nest).unwrap();
    let sizes = [Role::Batch, Role::Left, Role::Right, Role::Contracted].map(|role| found.size(&nest, role));
    assert_eq!(sizes, [1, 2 * 3 * 6, 5, 3 * 3 * 4]);
    let rows = Window { input: 0, dim: 1, outer: 1, inner: 4, stride: 2, dilation: 2, offset: 0, divisor: 1 };
    let columns = Window { input: 0, dim: 2, outer: 2, inner: 5, stride: 1, dilation: -1, offset: 1, divisor: 1 };
    assert_eq!(found.windows[..], [rows, columns]);
    // Reads of padding have no constant stride.
    assert_eq!(found.strides(&nest, [&[2, 9, 6, 4], &[3, 3, 4, 5]]), None);
    // The elements are two positions apart.
    let dilated = "(%a: tensor<1x6x1xf32>, %k: tensor<3x1x1xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x1xf32>, tensor<3x1x1xf32>) -> tensor<1x9x1xf32>";
    let window = Window { input: 0, dim: 1, outer: 1, inner: 3, stride: 1, dilation: 1, offset: 0, divisor: 2 };
    let nest = self::nest(dilated);
    assert_eq!(Contraction::of(&nest).unwrap().windows[..], [window]);
}

/// Compares the positions from strides with those that the nest reads.
#[test]
fn strides_name_the_elements_that_are_read() {
    let shapes: [(&str, [&[i64]; 2]); 3] = [
        (
            "(%a: tensor<2x4x6xi32>, %b: tensor<6x2x3xi32>) %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x4x6xi32>, tensor<6x2x3xi32>) -> tensor<2x4x3xi32>",
            [&[2, 4, 6], &[6, 2, 3]],
        ),
        (
            "(%a: tensor<4x4x2xf32>, %b: tensor<2x3xf32>) %r = stablehlo.einsum %a, %b, config = \"iij,jk->ki\" : (tensor<4x4x2xf32>, tensor<2x3xf32>) -> tensor<3x4xf32>",
            [&[4, 4, 2], &[2, 3]],
        ),
        (
            "(%a: tensor<2x9x6xf32>, %k: tensor<3x6x5xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[-1, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x6xf32>, tensor<3x6x5xf32>) -> tensor<2x3x5xf32>",
            [&[2, 9, 6], &[3, 6, 5]],
        ),
    ];
    for (text, shapes) in shapes {
        let nest = nest(text);
        let strides = Contraction::of(&nest).unwrap().strides(&nest, shapes).expect("it reads evenly");
        for (i, found) in strides.iter().enumerate() {
            let operand = Literal::splat(F32, shapes[i], crate::scalar::Scalar::Float(0.0));
            for at in Indices::of(&nest.loops) {
                let index: Vec<i64> = nest.inputs[i].index.iter().map(|x| x.eval(&at, &mut |_, _| 0)).collect();
                let offset = found.constant + found.loops.iter().zip(&at).map(|(c, l)| c * l).sum::<i64>();
                assert_eq!(operand.position(&index) as i64, offset, "{text} at {at:?}");
            }
        }
    }
}
