//! Tests of loops that multiply by the same matrix in every iteration.

use crate::execute::compared::{compared, floats};
use crate::execute::lower::step::{Step, Steps};

/// Returns the number of operands that are copied into panels outside and inside of loops.
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

/// Runs seven iterations of `body`, which computes `%y`, of 24 x 80 elements, from `%x` and `%w`, and then sets `%w` to
/// `next`. Compares with the reference. Returns the number of operands that are copied into panels outside and inside
/// of loops.
fn turns(body: &str, next: &str) -> [usize; 2] {
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
    let mut random = fastrand::Rng::with_seed(9);
    let inputs = [[24, 80], [80, 80]].map(|shape| floats(&shape, || random.f64() / 8.0));
    let executable = compared(&text, &inputs, 1e-5);
    packs(&executable.lowered.steps, false)
}

const PRODUCT: &str =
    "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<24x80xf32>, tensor<80x80xf32>) -> tensor<24x80xf32>
     %y = stablehlo.tanh %p : tensor<24x80xf32>";

#[test]
fn what_a_loop_leaves_is_packed_before_it() {
    assert_eq!(turns(PRODUCT, "%w"), [1, 0]);
}

#[test]
fn products_of_one_operand_share_its_panels() {
    let product = |of: &str, to: &str, dim: i32| {
        format!(
            "{to} = stablehlo.dot_general {of}, %w, contracting_dims = [1] x [{dim}] : (tensor<24x80xf32>, tensor<80x80xf32>) -> tensor<24x80xf32>"
        )
    };
    let sum = "%s = stablehlo.add %p, %q : tensor<24x80xf32> %y = stablehlo.tanh %s : tensor<24x80xf32>";
    let both = |dim| {
        let (first, second) = (product("%x", "%p", 1), product("%t", "%q", dim));
        format!("{first}\n%t = stablehlo.tanh %p : tensor<24x80xf32>\n{second}\n{sum}")
    };
    assert_eq!(turns(&both(1), "%w"), [1, 0]);
    // The transposed operand would have other panels, and is small enough to be read in place.
    assert_eq!(turns(&both(0), "%w"), [1, 0]);
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
