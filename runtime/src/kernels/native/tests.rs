//! Tests that native code gives the bits of the reference evaluation, on random types, shapes, attributes and values.

use dialect::ir::{ElementType, Op, Program, TensorType};
use dialect::kernel::Kernel;
use dialect::literal::Literal;
use dialect::proofs::{example_block, example_program};
use dialect::scalar::Scalar;

use super::{Native, View, ViewMut};

mod decomposition;
mod linalg;
mod ragged_dot;
mod reductions;
mod rng_bits;
mod scatter;
mod select;
mod sort;

/// An op of a program given as `(%a: type, ...) op`, and its native code.
pub(super) struct Case {
    text: String,
    program: Program,
    op: Op,
    in_place: Vec<(usize, usize)>,
    native: Box<dyn Native>,
}

impl Case {
    /// Returns the last op of `text`, which must have native code.
    pub(super) fn of(text: &str) -> Self {
        Self::reading(text, usize::MAX)
    }

    /// Does the same as [`Case::of`] if only the `first` first positions along a dimension are read.
    pub(super) fn reading(text: &str, first: usize) -> Self {
        let program = example_program(text);
        let op = *program.block_ops(example_block(&program)).last().expect("an op");
        let view = program.view(op);
        let Kernel::External(external) = view.def().kernel(view) else { panic!("a loop nest: {text}") };
        let native = super::of(&external, view, &mut |_| first).unwrap_or_else(|| panic!("no native code: {text}"));
        let native = crate::execute::linked(native).unwrap_or_else(|e| panic!("{e}: {text}"));
        let in_place = external.in_place().to_vec();
        Self { text: text.to_owned(), program, op, in_place, native }
    }

    /// Returns the operands' element types.
    pub(super) fn types(&self) -> Vec<ElementType> {
        let op = self.program.view(self.op);
        (0..op.operands().len()).filter_map(|i| Some(op.operand_tensor(i)?.element)).collect()
    }

    /// Compares the native results for these operands with those of the reference, with one thread and with several.
    /// All NaNs count as equal.
    pub(super) fn check(&self, operands: &[Literal]) {
        let want = runtime_results(&self.program, self.op, operands);
        for threads in [1, 3] {
            for (r, (got, want)) in self.run(operands, threads).iter().zip(&want).enumerate() {
                assert_eq!(got.ty(), want.ty());
                for i in 0..want.len() {
                    let (g, w) = (got.get(i), want.get(i));
                    assert!(
                        bits(g) == bits(w),
                        "result {r}, element {i} with {threads} threads: {g:?}, not {w:?}\n{}\n{operands:?}",
                        self.text
                    );
                }
            }
        }
    }

    /// Returns the native results.
    pub(super) fn run(&self, operands: &[Literal], threads: usize) -> Vec<Literal> {
        let view = self.program.view(self.op);
        let types: Vec<TensorType> = (0..view.result_count()).filter_map(|i| view.result_tensor(i).cloned()).collect();
        let mut read: Vec<Memory> = operands.iter().map(|o| Memory::of(&o.dense_bytes())).collect();
        let mut made: Vec<Memory> = types.iter().map(|t| Memory::of(&vec![0xa5; t.bytes().unwrap_or(0)])).collect();
        for &(from, to) in &self.in_place {
            std::mem::swap(&mut read[from], &mut made[to]);
            read[from] = Memory::of(&[]);
        }
        let views: Vec<View<'_>> = read.iter().map(|memory| View { bytes: memory.bytes() }).collect();
        let mut results: Vec<ViewMut<'_>> =
            made.iter_mut().map(|memory| ViewMut { bytes: memory.bytes_mut() }).collect();
        self.native.run(&views, &mut results, threads).unwrap_or_else(|e| panic!("{e}\n{}", self.text));
        types.iter().zip(&made).map(|(t, m)| Literal::from_bytes(t.element, &t.shape, m.bytes().to_vec())).collect()
    }
}

fn runtime_results(program: &Program, op: Op, operands: &[Literal]) -> Vec<Literal> {
    crate::reference::evaluate_op(program, op, operands).unwrap_or_else(|e| panic!("{}", e.message))
}

/// Returns the bits that must be equal.
fn bits(value: Scalar) -> [i128; 3] {
    let float = |v: f64| if v.is_nan() { i128::MAX } else { v.to_bits().into() };
    match value {
        Scalar::Int(v) => [0, v, 0],
        Scalar::Float(v) => [1, float(v), 0],
        Scalar::Complex(re, im) => [2, float(re), float(im)],
    }
}

/// Bytes aligned to 8 bytes.
struct Memory {
    words: Vec<u64>,
    len: usize,
}

impl Memory {
    fn of(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, len: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

/// Returns a random element: often a small number, so that many are equal; otherwise an edge case of the type or any
/// bits.
pub(super) fn element(random: &mut fastrand::Rng, ty: ElementType) -> Scalar {
    let small = random.i64(-3..4);
    let edges = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-40, 3e38];
    let float = |random: &mut fastrand::Rng| match random.u32(..8) {
        0 => edges[random.usize(..edges.len())],
        1..4 => small as f64 / 2.0,
        _ => (random.f64() - 0.5) * 2f64.powi(random.i32(-6..6)),
    };
    let value = match ty {
        _ if ty.is_float() => Scalar::Float(float(random)),
        _ if ty.is_complex() => Scalar::Complex(float(random), float(random)),
        _ if random.u32(..4) == 0 => Scalar::Int((random.u128(..) as i128) >> 1),
        _ => Scalar::Int(small.into()),
    };
    value.round(ty)
}

/// Returns a tensor of random elements.
pub(super) fn tensor(random: &mut fastrand::Rng, ty: ElementType, shape: &[i64]) -> Literal {
    Literal::from_fn(&TensorType::new(shape, ty), |_| element(random, ty))
}

/// Returns the text of a type.
pub(super) fn text(shape: &[i64], ty: &str) -> String {
    let sizes: String = shape.iter().map(|d| format!("{d}x")).collect();
    format!("tensor<{sizes}{ty}>")
}
