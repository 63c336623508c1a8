//! Tests of kernels of several ops, by their results and their number.

use crate::execute::Executable;
use crate::execute::compared::{compared, floats};
use crate::execute::lower::step::Step;

/// Compiles a program of `%x` and `%y`, of 24 x 40 elements, and compares its results with the reference. Returns the
/// number of results of each kernel.
fn kernels(results: &str, ops: &str, returned: &str) -> Vec<usize> {
    let t = "tensor<24x40xf32>";
    let text = format!("func.func @main(%x: {t}, %y: {t}) -> ({results}) {{ {ops} return {returned} : {results} }}");
    let mut random = fastrand::Rng::with_seed(1);
    let inputs = [(); 2].map(|()| floats(&[24, 40], || f64::from(random.i32(-40..40)) / 8.0));
    stored(&compared(&text, &inputs, 1e-6))
}

fn stored(executable: &Executable) -> Vec<usize> {
    let texts: Vec<String> = executable.kernel_texts().collect();
    let kernel = |step: &Step| match step {
        Step::Kernel { kernel, .. } => Some(texts[*kernel].lines().next()?.matches("%o").count()),
        _ => None,
    };
    executable.lowered.steps.iter().filter_map(|(_, step)| kernel(step)).collect()
}

const T: &str = "tensor<24x40xf32>";

#[test]
fn maps_of_one_tensor_are_one_kernel() {
    let ops = "%a = stablehlo.add %x, %y : T %b = stablehlo.multiply %x, %y : T".replace('T', T);
    assert_eq!(kernels(&format!("{T}, {T}"), &ops, "%a, %b"), [2]);
}

#[test]
fn what_only_the_kernel_reads_is_not_stored() {
    let ops = "%a = stablehlo.tanh %x : T
               %b = stablehlo.multiply %a, %y : T
               %c = stablehlo.add %a, %y : T"
        .replace('T', T);
    assert_eq!(kernels(&format!("{T}, {T}"), &ops, "%b, %c"), [2]);
    assert_eq!(kernels(&format!("{T}, {T}, {T}"), &ops, "%a, %b, %c"), [3]);
}

#[test]
fn sums_of_the_same_rows_are_one_kernel() {
    let ops = "%zero = stablehlo.constant dense<0.0> : tensor<f32>
               %q = stablehlo.multiply %x, %x : T
               %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [D] : (T, tensor<f32>) -> R
               %t = stablehlo.reduce(%q init: %zero) applies stablehlo.maximum across dimensions = [D] : (T, tensor<f32>) -> R"
        .replace('T', T);
    for (dim, sums) in [("1", "tensor<24xf32>"), ("0", "tensor<40xf32>")] {
        let ops = ops.replace('D', dim).replace('R', sums);
        assert_eq!(kernels(&format!("{sums}, {sums}"), &ops, "%s, %t"), [2], "{dim}");
    }
}

#[test]
fn a_sum_of_rows_stores_what_it_adds_up() {
    let ops = "%zero = stablehlo.constant dense<0.0> : tensor<f32>
               %e = stablehlo.multiply %x, %y : T
               %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [D] : (T, tensor<f32>) -> R"
        .replace('T', T);
    let of =
        |dim: &str, sums: &str| kernels(&format!("{T}, {sums}"), &ops.replace('D', dim).replace('R', sums), "%e, %s");
    assert_eq!(of("1", "tensor<24xf32>"), [2]);
    // Sums of columns are divided differently.
    assert_eq!(of("0", "tensor<40xf32>"), [1, 1]);
}

#[test]
fn what_is_read_elsewhere_is_a_kernel_of_its_own() {
    // %b reads other rows of %a than its own.
    let ops = "%a = stablehlo.add %x, %y : T
               %r = stablehlo.reverse %a, dims = [0] : T
               %b = stablehlo.multiply %r, %x : T"
        .replace('T', T);
    assert_eq!(kernels(&format!("{T}, {T}"), &ops, "%a, %b"), [1, 1]);
}

#[test]
fn a_kernel_does_not_run_before_one_that_it_reads() {
    // %c shares %x with %a, but needs %b, which needs all of %a.
    let ops = "%a = stablehlo.add %x, %y : T
               %r = stablehlo.reverse %a, dims = [0] : T
               %b = stablehlo.tanh %r : T
               %s = stablehlo.reverse %b, dims = [1] : T
               %c = stablehlo.multiply %s, %x : T"
        .replace('T', T);
    assert_eq!(kernels(&format!("{T}, {T}, {T}"), &ops, "%a, %b, %c"), [1, 1, 1]);
}

#[test]
fn what_is_overwritten_is_read_nowhere_else() {
    // %b overwrites %a, of which %c still needs other rows.
    let ops = "%a = stablehlo.tanh %x : T
               %r = stablehlo.reverse %a, dims = [0] : T
               %c = stablehlo.multiply %r, %y : T
               %b = stablehlo.add %a, %y : T"
        .replace('T', T);
    assert_eq!(kernels(&format!("{T}, {T}"), &ops, "%b, %c"), [1, 1, 0]);
}

#[test]
fn what_the_kernel_reads_at_other_positions_is_stored() {
    // %a is too long to be computed at both positions.
    let mut ops = "%a0 = stablehlo.add %x, %y : T\n".to_owned();
    for i in 0..60 {
        ops += &format!("%a{} = stablehlo.{} %a{i}, %y : T\n", i + 1, ["subtract", "maximum", "add"][i % 3]);
    }
    ops += "%r = stablehlo.reverse %a60, dims = [0] : T
            %b = stablehlo.multiply %a60, %r : T";
    assert_eq!(kernels(T, &ops.replace('T', T), "%b"), [1, 1]);
}

#[test]
fn a_sum_of_all_is_not_made_one_of_short_rows() {
    // The second op iterates over both tensors row by row, the first over all elements at once.
    let ops = "%zero = stablehlo.constant dense<0.0> : tensor<f32>
               %low = stablehlo.slice %x [0:12, 0:40] : (T) -> tensor<12x40xf32>
               %high = stablehlo.slice %y [12:24, 0:40] : (T) -> tensor<12x40xf32>
               %c = stablehlo.concatenate %high, %low, dim = 0 : (tensor<12x40xf32>, tensor<12x40xf32>) -> T
               %q = stablehlo.multiply %c, %x : T
               %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (T, tensor<f32>) -> tensor<f32>
               %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (T, tensor<f32>) -> tensor<f32>"
        .replace('T', T);
    assert_eq!(kernels("tensor<f32>, tensor<f32>", &ops, "%s, %t"), [1, 1]);
}

/// Returns a random program of maps, transposes, sums of rows and columns, and positions.
fn random(random: &mut fastrand::Rng, (rows, columns): (usize, usize)) -> String {
    let sizes = [rows, columns];
    let of = |turned: bool| format!("tensor<{}x{}xf32>", sizes[usize::from(turned)], sizes[usize::from(!turned)]);
    let line = |dim: usize| format!("tensor<{}xf32>", sizes[dim]);
    let t = of(false);
    let mut text =
        format!("func.func @main(%v0: {t}, %v1: {t}) -> {t} {{ %z = stablehlo.constant dense<0.0> : tensor<f32>\n");
    let mut turned = vec![false, false];
    for i in 2..14 {
        let (a, b) = (random.usize(..i), random.usize(..i));
        let (x, ty) = (turned[a], of(turned[a]));
        let b = if turned[b] == x { b } else { a };
        let mut now = x;
        text.push_str(&match random.usize(..9) {
            0 => format!("%v{i} = stablehlo.iota dim = {} : {ty}\n", random.usize(..2)),
            1 => {
                now = !x;
                format!("%v{i} = stablehlo.transpose %v{a}, dims = [1, 0] : ({ty}) -> {}\n", of(now))
            }
            2 => format!("%v{i} = stablehlo.reverse %v{a}, dims = [{}] : {ty}\n", random.usize(..2)),
            3 | 4 => {
                let (dim, op) = (random.usize(..2), ["add", "maximum"][random.usize(..2)]);
                let kept = line(usize::from((dim == 0) != x));
                format!(
                    "%p{i} = stablehlo.iota dim = {} : {ty}
                     %q{i} = stablehlo.add %v{a}, %p{i} : {ty}
                     %s{i} = stablehlo.reduce(%q{i} init: %z) applies stablehlo.{op} across dimensions = [{dim}] : ({ty}, tensor<f32>) -> {kept}
                     %w{i} = stablehlo.broadcast_in_dim %s{i}, dims = [{}] : ({kept}) -> {ty}
                     %v{i} = stablehlo.subtract %v{b}, %w{i} : {ty}\n",
                    random.usize(..2),
                    1 - dim
                )
            }
            5 => format!("%v{i} = stablehlo.negate %v{a} : {ty}\n"),
            n => format!("%v{i} = stablehlo.{} %v{a}, %v{b} : {ty}\n", ["add", "maximum", "subtract"][n - 6]),
        });
        turned.push(now);
    }
    let all: Vec<usize> = (2..turned.len()).filter(|&i| !turned[i]).collect();
    let mut last = "%v0".to_owned();
    for i in all {
        text.push_str(&format!("%r{i} = stablehlo.add {last}, %v{i} : {t}\n"));
        last = format!("%r{i}");
    }
    text + &format!("return {last} : {t} }}")
}

#[test]
fn random_programs_give_the_reference_values() {
    let mut numbers = fastrand::Rng::with_seed(7);
    let mut several = 0;
    for _ in 0..60 {
        let shape = [(24, 40), (17, 33), (3, 200), (40, 7), (1, 64), (130, 16)][numbers.usize(..6)];
        let text = random(&mut numbers, shape);
        let inputs = [(); 2].map(|()| floats(&[shape.0 as i64, shape.1 as i64], || f64::from(numbers.i32(-9..9))));
        several += stored(&compared(&text, &inputs, 1e-5)).iter().filter(|&&results| results > 1).count();
    }
    assert!(several > 10, "{several} kernels have several results");
}
