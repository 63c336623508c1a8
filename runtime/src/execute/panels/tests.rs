//! Loops that multiply by the same matrix in every turn.

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::super::Executable;
use super::super::step::{Step, Steps};
use crate::reference::evaluate_global;

/// How many operands are copied into panels, outside and inside of loops.
fn packs(steps: &Steps, inside: bool) -> [usize; 2] {
    let mut found = [0; 2];
    for (_, step) in steps {
        let more = match step {
            Step::Pack { .. } => [usize::from(!inside), usize::from(inside)],
            Step::While { condition, body, .. } => {
                let [a, b] = [condition, body].map(|steps| packs(steps, true));
                [a[0] + b[0], a[1] + b[1]]
            }
            _ => [0; 2],
        };
        found = [found[0] + more[0], found[1] + more[1]];
    }
    found
}

/// Runs seven turns of `body`, which makes `%y`, of 24 x 80 elements, of `%x` and `%w`, and what `%w` is next. Compares
/// with the reference; where operands are copied into panels.
fn turns(body: &str, next: &str) -> [usize; 2] {
    let mut diagnostics = Diagnostics::default();
    let text = format!(
        "func.func @main(%a: tensor<24x80xf32>, %b: tensor<80x80xf32>) -> tensor<24x80xf32> {{
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %seven = stablehlo.constant dense<7> : tensor<i32>
           %one = stablehlo.constant dense<1> : tensor<i32>
           %l:3 = stablehlo.while(%i = %zero, %x = %a, %w = %b) : tensor<i32>, tensor<24x80xf32>, tensor<80x80xf32>
           cond {{
             %c = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           }} do {{
             %j = stablehlo.add %i, %one : tensor<i32>
             {body}
             stablehlo.return %j, %y, {next} : tensor<i32>, tensor<24x80xf32>, tensor<80x80xf32>
           }}
           %r = stablehlo.add %l#1, %a : tensor<24x80xf32>
           return %r : tensor<24x80xf32>
         }}"
    );
    let program = dialect::parse(&text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    let mut random = fastrand::Rng::with_seed(9);
    let mut input = |shape: &[i64]| {
        Literal::from_fn(&TensorType::new(shape, ElementType::F32), |_| Scalar::Float(random.f64() / 8.0))
    };
    let inputs = [input(&[24, 80]), input(&[80, 80])];
    let want = evaluate_global(&program, &inputs).expect("evaluates");
    let executable = Executable::compile(program, None).expect("compiles");
    let session = executable.session().expect("memory");
    for _ in 0..2 {
        session.set_inputs(&inputs).expect("inputs fit");
        session.run().expect("runs");
        let got = session.results();
        for i in 0..want[0].len() {
            let (g, w) = (got[0].get(i).as_f64(), want[0].get(i).as_f64());
            assert!((g - w).abs() <= 1e-5 * w.abs().max(1.0), "element {i}: {g}, not {w}\n{text}");
        }
    }
    packs(executable.lowered_steps(), false)
}

const PRODUCT: &str =
    "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<24x80xf32>, tensor<80x80xf32>) -> tensor<24x80xf32>
     %y = stablehlo.tanh %p : tensor<24x80xf32>";

#[test]
fn what_a_loop_leaves_is_packed_before_it() {
    assert_eq!(turns(PRODUCT, "%w"), [1, 0]);
}

#[test]
fn what_a_loop_changes_is_not() {
    let change = "%h = stablehlo.constant dense<0.5> : tensor<80x80xf32>
                  %v = stablehlo.multiply %w, %h : tensor<80x80xf32>";
    assert_eq!(turns(&format!("{PRODUCT}\n{change}"), "%v"), [0, 0]);
}

#[test]
fn a_loop_inside_keeps_what_the_outer_one_changes() {
    let inner = "
        %l2:2 = stablehlo.while(%k = %zero, %z = %x) : tensor<i32>, tensor<24x80xf32>
        cond {
          %c = stablehlo.compare LT, %k, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %n = stablehlo.add %k, %one : tensor<i32>
          %p = stablehlo.dot_general %z, %w, contracting_dims = [1] x [1] : (tensor<24x80xf32>, tensor<80x80xf32>) -> tensor<24x80xf32>
          %t = stablehlo.tanh %p : tensor<24x80xf32>
          stablehlo.return %n, %t : tensor<i32>, tensor<24x80xf32>
        }
        %y = stablehlo.tanh %l2#1 : tensor<24x80xf32>
        %h = stablehlo.constant dense<0.5> : tensor<80x80xf32>
        %v = stablehlo.multiply %w, %h : tensor<80x80xf32>";
    assert_eq!(turns(inner, "%v"), [0, 1]);
}
