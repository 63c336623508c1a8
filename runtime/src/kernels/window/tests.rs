//! Tests that native code for windows gives the results of the reference evaluation, on random types, shapes,
//! attributes and values.

mod convolution;
mod reduce;

use dialect::ir::{ElementType, Op, OpRef, Program, TensorType};
use dialect::kernel::Kernel;
use dialect::literal::Literal;
use dialect::proofs::{example_block, example_program};
use dialect::scalar::Scalar;

use super::Code;
use crate::kernels::native::{View, ViewMut};

/// The last op of a program given as `(%a: type, ...) ops`, and its native code.
struct Case {
    program: Program,
    op: Op,
    code: Code,
}

impl Case {
    /// Returns `None` if there is no native code.
    fn of(text: &str) -> Option<Self> {
        let program = example_program(text);
        let op = *program.block_ops(example_block(&program)).last()?;
        let view = program.view(op);
        let Kernel::Nest(nest) = view.def().kernel(view) else { panic!("no loop nest: {text}") };
        let code = super::of(view, &nest)?;
        Some(Self { program, op, code })
    }

    fn view(&self) -> OpRef<'_> {
        self.program.view(self.op)
    }

    fn reference(&self, operands: &[Literal]) -> Vec<Literal> {
        crate::reference::evaluate_op(&self.program, self.op, operands).unwrap_or_else(|e| panic!("{}", e.message))
    }

    fn run(&self, operands: &[Literal], threads: usize) -> Vec<Literal> {
        let words = |bytes: &[u8]| {
            let mut words = vec![0u64; bytes.len().div_ceil(8)];
            bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
            words
        };
        let operands: Vec<(Vec<u64>, usize)> = self
            .code
            .operands
            .iter()
            .map(|&i| &operands[i])
            .map(|o| (words(&o.dense_bytes()), o.dense_bytes().len()))
            .collect();
        let views: Vec<View<'_>> =
            operands.iter().map(|(words, n)| View { bytes: &bytemuck::cast_slice(words)[..*n] }).collect();
        let types: Vec<TensorType> =
            (0..self.view().result_count()).filter_map(|i| self.view().result_tensor(i).cloned()).collect();
        // The initial bytes reveal elements that aren't written.
        let mut made: Vec<Vec<u64>> = types.iter().map(|t| words(&vec![0xa5; t.bytes().unwrap_or(0)])).collect();
        let mut results: Vec<ViewMut<'_>> = made
            .iter_mut()
            .zip(&types)
            .map(|(m, t)| ViewMut { bytes: &mut bytemuck::cast_slice_mut(m)[..t.bytes().unwrap_or(0)] })
            .collect();
        self.code.native.run(&views, &mut results, threads).expect("it runs");
        let bytes = results.iter().map(|r| r.bytes.to_vec()).collect::<Vec<_>>();
        types.iter().zip(bytes).map(|(t, b)| Literal::from_bytes(t.element, &t.shape, b)).collect()
    }

    /// Compares all elements with the reference, on one thread and on three. All NaNs count as equal.
    fn check(&self, text: &str, operands: &[Literal]) {
        let want = self.reference(operands);
        for threads in [1, 3] {
            let got = self.run(operands, threads);
            assert_eq!(got.len(), want.len());
            for (got, want) in got.iter().zip(&want) {
                assert_eq!(got.ty(), want.ty());
                for i in 0..want.len() {
                    let (g, w) = (got.get(i), want.get(i));
                    let same = g == w || g.as_f64().is_nan() && w.as_f64().is_nan();
                    assert!(same, "element {i} on {threads} threads: {g:?}, not {w:?}\n{text}\n{operands:?}");
                }
            }
        }
    }
}

/// Returns a tensor of random integers from `-most` to `most`, which all types can represent.
fn whole_numbers(rng: &mut fastrand::Rng, shape: &[i64], element: ElementType, most: i64) -> Literal {
    let n = shape.iter().product::<i64>();
    let value = |_| {
        let v = rng.i64(-most..=most);
        let v = if element.class() == dialect::ir::ElementClass::Signed || element.is_float() { v } else { v.abs() };
        if element.is_float() { Scalar::Float(v as f64) } else { Scalar::Int(v.into()).round(element) }
    };
    Literal::from_scalars(element, shape, (0..n).map(value).collect::<Vec<_>>())
}

fn type_text(shape: &[i64], element: &str) -> String {
    let sizes: String = shape.iter().map(|d| format!("{d}x")).collect();
    format!("tensor<{sizes}{element}>")
}
