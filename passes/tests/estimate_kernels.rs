//! The work of calls, compared with numbers calculated by hand. The calls are shortened from what JAX 0.12 lowers.

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;

use shardc_passes::estimate::kernels::table::{Kernel, TABLE};
use shardc_passes::estimate::kernels::{KernelCost, KernelWork, remove_costs};
use shardc_passes::estimate::{Flat, Machine, Target, estimate};

fn program(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program
}

/// Returns the work of the last custom call of a program.
fn work_on(text: &str, machine: &Machine) -> Option<KernelWork> {
    let program = program(text);
    let calls = program.ops_under(program.body()).into_iter().map(|op| program.view(op));
    let view = calls.filter(|view| view.name() == "stablehlo.custom_call").last().expect("a call");
    let call = view.def().library_call(view)?;
    KernelWork::of(view, &call, machine)
}

/// Writes a program with one call: its target, attributes, and the types of operands and result.
fn call(target: &str, attributes: &str, operands: &[&str], result: &str) -> String {
    let arguments: Vec<String> = operands.iter().enumerate().map(|(i, ty)| format!("%a{i}: tensor<{ty}>")).collect();
    let names: Vec<String> = (0..operands.len()).map(|i| format!("%a{i}")).collect();
    let types: Vec<String> = operands.iter().map(|ty| format!("tensor<{ty}>")).collect();
    format!(
        "func.func @main({}) -> tensor<{result}> {{
           %0 = stablehlo.custom_call @{target}({}) {{{attributes}}} : ({}) -> tensor<{result}>
           return %0 : tensor<{result}>
         }}",
        arguments.join(", "),
        names.join(", "),
        types.join(", ")
    )
}

fn flops_of(target: &str, attributes: &str, operands: &[&str], result: &str) -> Option<f64> {
    work_on(&call(target, attributes, operands, result), &flat()).map(|work| work.flops)
}

fn flat() -> Machine {
    Machine::flat(Flat::default())
}

const HEADS: f64 = (2 * 4) as f64;
const SCORES: f64 = (512 * 512 * 128) as f64;

#[test]
fn flash_attention_of_a_tpu_is_half_of_its_products() {
    let q = "2x4x512x128xbf16";
    let pallas = |kernel: &str, operands: &[&str]| {
        flops_of("tpu_custom_call", &format!("kernel_name = \"{kernel}\""), operands, q).unwrap()
    };
    // A product of the whole is 2 * SCORES for each head, of which a causal mask keeps half.
    assert_eq!(pallas("_flash_attention_kernel", &[q, q, q]), 2.0 * HEADS * SCORES);
    assert_eq!(pallas("_flash_attention_dkv_kernel", &[q, q, q, "2x4x512x128xf32"]), 4.0 * HEADS * SCORES);
    assert_eq!(pallas("_flash_attention_dq_kernel", &[q, q, q]), 3.0 * HEADS * SCORES);
    // Fewer keys than queries: not causal.
    let k = "2x4x256x128xbf16";
    assert_eq!(pallas("_flash_attention_kernel", &[q, k, k]), 4.0 * HEADS * SCORES / 2.0);
    // One head of keys for all queries.
    let k = "2x512x128xbf16";
    assert_eq!(pallas("splash_mqa_fwd_no_residuals", &["1x4x4xi8", "1x4x4xi8", q, k, k]), 2.0 * HEADS * SCORES);
}

#[test]
fn splash_attention_computes_the_blocks_of_its_mask() {
    let text = "func.func @main(%q: tensor<4x512x128xbf16>, %n: tensor<1x2x2xi8>) -> tensor<4x512x128xbf16> {
       %m = stablehlo.constant dense<[[[1, 0], [2, 1]]]> : tensor<1x2x2xi8>
       %0 = stablehlo.custom_call @tpu_custom_call(%n, %m, %q, %q, %q) {kernel_name = \"splash_mha_fwd_residuals\"} : (tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<4x512x128xbf16>, tensor<4x512x128xbf16>, tensor<4x512x128xbf16>) -> tensor<4x512x128xbf16>
       return %0 : tensor<4x512x128xbf16>
     }";
    assert_eq!(work_on(text, &flat()).unwrap().flops, 0.75 * 4.0 * 4.0 * SCORES);
    // The fused kernel of the gradients also returns parts of the queries' gradients.
    let q = "4x512x128xbf16";
    let fused = |result: &str| {
        flops_of(
            "tpu_custom_call",
            "kernel_name = \"splash_mha_dkv_no_residuals\"",
            &["1x4x4xi8", "1x4x4xi8", q, q, q],
            result,
        )
    };
    assert_eq!(fused(q), Some(4.0 * 4.0 * SCORES));
    assert_eq!(fused("2x4x512x128xf32"), Some(5.0 * 4.0 * SCORES));
}

#[test]
fn attention_on_gpus_has_its_mask_in_the_configuration() {
    let q = "2x512x4x128xbf16";
    let config = |mask: &str, more: &str| {
        let shape = r#"\22intermediate_tensor_shape\22: {\22dimensions\22: [\222\22, \224\22, \22512\22, \22512\22]}"#;
        format!(
            "backend_config = \"{{\\22cudnn_fmha_backend_config\\22: {{{shape}, \\22mask_type\\22: \\22{mask}\\22{more}}}}}\""
        )
    };
    let cudnn = |target: &str, config: String| flops_of(target, &config, &[q, q, q], q).unwrap();
    let whole = 4.0 * HEADS * SCORES;
    assert_eq!(cudnn("__cudnn$fmhaSoftmax", config("NO_MASK", "")), whole);
    assert_eq!(cudnn("__cudnn$fmhaScaleBiasSoftmax", config("CAUSAL", "")), whole / 2.0);
    assert_eq!(cudnn("__cudnn$fmhaSoftmax", config("CAUSAL", ", \\22sliding_window_length\\22: 128")), whole / 4.0);
    assert_eq!(cudnn("__cudnn$fmhaSoftmaxBackward", config("NO_MASK", "")), 2.5 * whole);
    assert_eq!(flops_of("__cudnn$fmhaSoftmax", "backend_config = \"{\"", &[q, q, q], q), None);
    let triton = |name: &str| {
        let attributes = format!("mhlo.backend_config = {{name = \"{name}\"}}, api_version = 4 : i32");
        flops_of("__gpu$xla.gpu.triton", &attributes, &[q, q, q], q)
    };
    assert_eq!(triton("mha_forward_kernel"), Some(whole / 2.0));
    assert_eq!(triton("mha_backward_kernel"), Some(7.0 * HEADS * SCORES));
    assert_eq!((triton("rms_forward"), triton("unheard_of")), (Some(0.0), None));
}

#[test]
fn grouped_products_count_each_row_once() {
    let offsets = ["i32", "9xi32", "15xi32", "15xi32", "1xi32"];
    let gmm = |kernel: &str, operands: [&str; 2], result: &str| {
        flops_of("tpu_custom_call", &format!("kernel_name = \"{kernel}\""), &[&offsets[..], &operands].concat(), result)
    };
    let flops = 2.0 * 1024.0 * 256.0 * 512.0;
    assert_eq!(gmm("kernel", ["1024x512xf32", "8x256x512xbf16"], "1024x256xbf16"), Some(flops));
    assert_eq!(gmm("gmm", ["1024x512xf32", "8x512x256xbf16"], "1024x256xbf16"), Some(flops));
    assert_eq!(gmm("tgmm", ["1024x256xbf16", "1024x512xf32"], "8x256x512xbf16"), Some(flops));
    // A kernel that only has the name of JAX's inner function.
    assert_eq!(
        flops_of("tpu_custom_call", "kernel_name = \"kernel\"", &["1024x256xbf16", "8x256x512xbf16"], "1024x512xbf16"),
        None
    );
    let scaled = ["3x64x256xf8E4M3FN", "3x32x256xf8E4M3FN", "3x64x8xf8E8M0FNU", "3x32x8xf8E8M0FNU"];
    assert_eq!(flops_of("__op$block_scaled_dot", "", &scaled, "3x64x32xbf16"), Some(2.0 * 3.0 * 64.0 * 32.0 * 256.0));
}

#[test]
fn stated_costs_come_before_the_authors_and_the_tables() {
    let author = "backend_config = \"{\\22custom_call_config\\22: {\\22body\\22: \\22TUz\\22, \\22cost_estimate\\22: {\\22flops\\22: 1000000, \\22transcendentals\\22: 7, \\22bytes_accessed\\22: 4096}}}\"";
    let (q, name) = ("4x512x128xbf16", "kernel_name = \"_flash_attention_kernel\"");
    let work = |attributes: &str, machine: &Machine| {
        let work = work_on(&call("tpu_custom_call", attributes, &[q, q, q], q), machine).unwrap();
        (work.flops, work.bytes)
    };
    let both = format!("{name}, {author}");
    assert_eq!(work(&both, &flat()), (1e6, Some(4096.0)));
    assert_eq!(work(&format!("{both}, shardc.flops = 5.0e5 : f64"), &flat()), (5e5, Some(4096.0)));
    let frontend = "mhlo.frontend_attributes = {shardc.flops = \"2e6\", shardc.bytes = \"300\"}";
    assert_eq!(work(&format!("{both}, {frontend}"), &flat()), (2e6, Some(300.0)));
    let rows = |flops, bytes, like| {
        let row = KernelCost { name: "_flash*", flops, bytes, like };
        Machine::flat(Flat { kernels: KernelCost::interned(vec![row]), ..Flat::default() })
    };
    assert_eq!(work(&both, &rows(Some(9.0), None, None)), (9.0, Some(4096.0)));
    assert_eq!(work(&both, &rows(None, None, Some("attention-forward"))), (2.0 * 4.0 * SCORES, None));
    assert_eq!(work(&format!("{both}, shardc.bytes = 8 : i64"), &rows(Some(9.0), Some(7.0), None)), (9.0, Some(8.0)));
}

#[test]
fn products_pad_to_the_tiles_of_the_chip() {
    let target = Target::parse("v6e:1x1").unwrap();
    let machine = Machine::new(target, &[1]).unwrap();
    let seconds = |features: u64| {
        let q = format!("1x8x4096x{features}xbf16");
        let attributes = "kernel_name = \"_flash_attention_kernel\"";
        let work = work_on(&call("tpu_custom_call", attributes, &[&q, &q, &q], &q), &machine).unwrap();
        (work.flops, work.seconds(0.0, &machine))
    };
    // The scores of heads of 64 features take as long as those of 256, which fill the MXU's side; values are streamed.
    let (thin, full) = (seconds(64), seconds(256));
    assert_eq!(4.0 * thin.0, full.0);
    // Kernels reach 94 % of the peak.
    assert!((full.1 - full.0 / (0.94 * 920e12)).abs() < 1e-12 * full.1);
    assert!((thin.1 - (0.5 + 0.5 / 4.0) * full.1).abs() < 1e-12 * full.1);
}

#[test]
fn an_unknown_kernel_is_unpriced() {
    let operand = "1024xf32";
    let text = call("my_library", "", &[operand], operand);
    let unknown = estimate(&program(&text), &flat());
    assert_eq!((unknown.flops, unknown.memory_traffic, unknown.unpriced.len()), (0.0, 8192.0, 1));
    assert_eq!((unknown.unpriced[0].bytes, unknown.unpriced[0].count), (8192.0, 1));
    let known = estimate(&program(&call("my_library", "shardc.flops = 2.0e14", &[operand], operand)), &flat());
    assert_eq!((known.flops, known.step_seconds, known.unpriced.len()), (2e14, 1.0, 0));
    let mut stated = program(&call("my_library", "shardc.flops = 2.0e14, shardc.bytes = 1", &[operand], operand));
    remove_costs(&mut stated);
    assert_eq!(estimate(&stated, &flat()).flops, 0.0);
}

#[test]
fn a_stated_cost_is_a_number_of_at_least_0() {
    for wrong in ["-1.0", "\"many\"", "true", "0x7FF0000000000000 : f64"] {
        let mut diagnostics = Diagnostics::default();
        let text = call("my_library", &format!("shardc.flops = {wrong}"), &["4xf32"], "4xf32");
        let program = dialect::parse(&text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        let said = format!("{diagnostics:?}");
        assert!(said.contains("expected shardc.flops to be a number of at least 0"), "{wrong}: {said}");
    }
}

#[test]
fn rows_of_the_table_have_names_and_patterns() {
    for row in TABLE {
        assert!(!row.targets.is_empty() && Kernel::named(row.name).is_some(), "{}", row.name);
        assert!(row.name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()), "{}", row.name);
    }
}
