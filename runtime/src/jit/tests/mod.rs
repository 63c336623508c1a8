//! Tests of the engine on small kernels, by value.
#![expect(unsafe_code, reason = "calls kernels on buffers of the test")]

mod accuracy;

use std::thread;

use half::{bf16, f16};

use super::abi::Processor;
use super::{Cache, DEFAULT_LIMIT, Engine, KernelFn};

/// Returns a kernel of one loop over `count` elements: `body` computes `%r` of type `to` from `%x` (and `%y`) of type
/// `from`.
fn elementwise(name: &str, arity: usize, from: &str, to: &str, count: usize, body: &str) -> String {
    let inputs = ["x", "y"];
    let parameters: Vec<String> =
        (0..arity).map(|i| format!("%in{i}: memref<{count}x{from}> {{llvm.noalias}}")).collect();
    let loads: String =
        (0..arity).map(|i| format!("    %{} = memref.load %in{i}[%i] : memref<{count}x{from}>\n", inputs[i])).collect();
    format!(
        "func.func @{name}({}, %out: memref<{count}x{to}> {{llvm.noalias}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {count} : index
  scf.for %i = %c0 to %n step %c1 {{
{loads}    {body}
    memref.store %r, %out[%i] : memref<{count}x{to}>
  }}
  return
}}
",
        parameters.join(", ")
    )
}

/// Calls a kernel of `elementwise`.
fn map<T: Copy, R: Copy + Default>(kernel: &KernelFn, inputs: &[&[T]]) -> Vec<R> {
    let mut out = vec![R::default(); inputs[0].len()];
    let mut operands: Vec<*mut u8> = inputs.iter().map(|input| input.as_ptr().cast_mut().cast()).collect();
    operands.push(out.as_mut_ptr().cast());
    // SAFETY: the kernel loops over as many elements as the slices have.
    unsafe { kernel.call(&operands, &[]) };
    out
}

fn compile(text: &str, name: &str) -> KernelFn {
    Engine::new().unwrap().compile(text).unwrap().function(name).unwrap()
}

fn compile_error(text: &str) -> String {
    Engine::new().unwrap().compile(text).err().expect("the text is wrong")
}

#[test]
fn a_loop_computes_and_uses_the_widest_vectors() {
    let text =
        elementwise("axpy", 2, "f32", "f32", 1000, "%a = arith.mulf %x, %x : f32\n %r = arith.addf %a, %y : f32");
    let kernel = compile(&text, "axpy");
    assert_eq!((kernel.operand_count(), kernel.scalar_count()), (3, 0));
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let y = vec![0.5f32; 1000];
    let got: Vec<f32> = map(&kernel, &[&x, &y]);
    for (x, got) in x.iter().zip(&got) {
        assert_eq!(*got, x * x + 0.5);
    }
    let assembly = Engine::new().unwrap().assembly(&text).unwrap();
    if Processor::host().has_feature("avx512f") {
        assert!(assembly.contains("zmm"), "{assembly}");
    } else if Processor::host().has_feature("avx2") {
        assert!(assembly.contains("ymm"), "{assembly}");
    }
    assert!(Engine::new().unwrap().llvm_ir(&text).unwrap().contains("define void @axpy.entry(ptr"));
}

#[test]
fn a_function_that_is_needed_often_is_called() {
    let text = |calls: usize| {
        let chain: String = (0..calls).map(|i| format!("  %v{} = math.exp %v{i} : vector<8xf32>\n", i + 1)).collect();
        format!(
            "func.func @chain(%in: memref<8xf32>, %out: memref<8xf32>) {{
  %c0 = arith.constant 0 : index
  %v0 = vector.load %in[%c0] : memref<8xf32>, vector<8xf32>
{chain}  vector.store %v{calls}, %out[%c0] : memref<8xf32>, vector<8xf32>
  return
}}"
        )
    };
    let run = |calls: usize, from: [f32; 8]| {
        let (mut from, mut out) = (from, [0f32; 8]);
        // SAFETY: both buffers have 8 elements, as declared.
        unsafe { compile(&text(calls), "chain").call(&[from.as_mut_ptr().cast(), out.as_mut_ptr().cast()], &[]) };
        out
    };
    let x = [-200.0, -3.5, -0.25, 0.0, 0.125, 0.75, f32::NAN, 300.0];
    let once = |x| run(1, x);
    let (called, inlined) = (run(4, x), once(once(once(once(x)))));
    assert_eq!(called.map(f32::to_bits), inlined.map(f32::to_bits));
    let ir = |calls| Engine::new().unwrap().llvm_ir(&text(calls)).unwrap();
    assert_eq!(ir(4).matches("call <8 x float> @\"math.exp").count(), 4);
    assert!(!ir(1).contains("call <8 x float> @\"math.exp"));
}

#[test]
fn a_function_of_several_kernels_is_compiled_and_kept_once() {
    let text = |name: &str| {
        let chain: String = (0..3).map(|i| format!("  %v{} = math.exp %v{i} : vector<8xf32>\n", i + 1)).collect();
        format!(
            "func.func @{name}(%in: memref<8xf32>, %out: memref<8xf32>) {{
  %c0 = arith.constant 0 : index
  %v0 = vector.load %in[%c0] : memref<8xf32>, vector<8xf32>
{chain}  vector.store %v3, %out[%c0] : memref<8xf32>, vector<8xf32>
  return
}}"
        )
    };
    let folder = std::env::temp_dir().join(format!("shardc_functions_{}", std::process::id()));
    let cache = Cache::new(&folder, DEFAULT_LIMIT);
    let run = |names: &[&str]| {
        let texts: Vec<String> = names.iter().map(|name| text(name)).collect();
        let module = Engine::new().unwrap().compile_all(&texts, Some(&cache)).unwrap();
        for name in names {
            let (mut from, mut out) = ([-0.5f32; 8], [0f32; 8]);
            let operands = [from.as_mut_ptr().cast(), out.as_mut_ptr().cast()];
            // SAFETY: both buffers have 8 elements, as declared.
            unsafe { module.function(name).unwrap().call(&operands, &[]) };
            assert!((out[7] - (-0.5f32).exp().exp().exp()).abs() < 1e-5, "{out:?}");
        }
        std::fs::read_dir(&folder).unwrap().count()
    };
    assert_eq!(run(&["a", "b"]), 3);
    assert_eq!(run(&["b", "c"]), 4);
    assert_eq!(run(&["a", "b", "c"]), 4);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn scalars_and_structured_ops_are_taken() {
    let text = "
func.func @shifted(%in: memref<4x6xi32>, %row: i64, %out: memref<6xi32>, %column: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 6 : index
  %i = arith.index_cast %row : i64 to index
  scf.for %j = %c0 to %n step %c1 {
    %sum = arith.addi %j, %column : index
    %k = arith.remui %sum, %n : index
    %v = memref.load %in[%i, %k] : memref<4x6xi32>
    memref.store %v, %out[%j] : memref<6xi32>
  }
  return
}
func.func @matmul(%a: memref<2x3xf32>, %b: memref<3x2xf32>, %c: memref<2x2xf32>) {
  linalg.matmul ins(%a, %b : memref<2x3xf32>, memref<3x2xf32>) outs(%c : memref<2x2xf32>)
  return
}
func.func @total(%a: memref<16xf32>, %out: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %a[%c0], %zero : memref<16xf32>, vector<16xf32>
  %s = vector.reduction <add>, %v : vector<16xf32> into f32
  memref.store %s, %out[] : memref<f32>
  return
}";
    let module = Engine::new().unwrap().compile(text).unwrap();
    assert_eq!(module.names().collect::<Vec<_>>(), ["matmul", "shifted", "total"]);
    let shifted = module.function("shifted").unwrap();
    assert_eq!((shifted.operand_count(), shifted.scalar_count()), (2, 2));
    let mut table: Vec<i32> = (0..24).collect();
    let mut row = vec![0i32; 6];
    // SAFETY: the buffers have 24 and 6 elements, as declared; row 2 exists.
    unsafe { shifted.call(&[table.as_mut_ptr().cast(), row.as_mut_ptr().cast()], &[2, 4]) };
    assert_eq!(row, [16, 17, 12, 13, 14, 15]);

    let mut a = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut b = [1f32, 0.0, 0.0, 1.0, 1.0, 1.0];
    let mut c = [100f32, 0.0, 0.0, 0.0];
    let operands = [a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), c.as_mut_ptr().cast()];
    // SAFETY: the buffers have 6, 6 and 4 elements, as declared.
    unsafe { module.function("matmul").unwrap().call(&operands, &[]) };
    assert_eq!(c, [104.0, 5.0, 10.0, 11.0]);

    let mut v: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let mut sum = 0f32;
    // SAFETY: the buffers have 16 elements and 1, as declared.
    unsafe { module.function("total").unwrap().call(&[v.as_mut_ptr().cast(), (&raw mut sum).cast()], &[]) };
    assert_eq!(sum, 120.0);
    assert!(module.function("absent").is_none());
}

#[test]
fn mistakes_come_back_as_diagnostics() {
    for (text, expected) in [
        ("func.func @f( {", "expected"),
        ("func.func @f(%a: memref<4xf32>) { %x = arith.bogus %a : f32 return }", "arith.bogus"),
        ("func.func @f(%a: memref<4xf32>) -> f32 { %x = arith.constant 0.0 : f32 return %x : f32 }", "kernel @f"),
        ("func.func @f(%a: f32) { return }", "parameter 0 is a f32"),
        ("func.func @f(%a: memref<?xf32>) { return }", "memref<?xf32>"),
        ("func.func private @outside() func.func @f() { call @outside() : () -> () return }", "outside"),
        ("func.func @f() { \"test.unknown\"() : () -> () return }", "unregistered"),
        ("func.func @f() { return }\0", "NUL"),
        ("func.func @f() { return } func.func @f() { return }", "redefinition"),
        ("llvm.func @g(i32) llvm.func @g() func.func @f() { return }", "redefinition"),
    ] {
        let error = compile_error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let twice = ["func.func @f() { return }".to_string(), "func.func @f() { return }".to_string()];
    assert!(Engine::new().unwrap().compile_all(&twice, None).err().unwrap().contains("@f"));
}

#[test]
fn kernels_from_the_cache_are_those_that_were_compiled() {
    let folder = std::env::temp_dir().join(format!("shardc_kernels_{}", std::process::id()));
    let cache = Cache::new(&folder, DEFAULT_LIMIT);
    let scale = |factor: usize| {
        let body = format!("%f = arith.constant {factor}.0 : f32\n %r = arith.mulf %x, %f : f32");
        elementwise(&format!("k{factor}"), 1, "f32", "f32", 8, &body)
    };
    let x = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let check = |factors: &[usize]| {
        let texts: Vec<String> = factors.iter().map(|&factor| scale(factor)).collect();
        let module = Engine::new().unwrap().compile_all(&texts, Some(&cache)).unwrap();
        for &factor in factors {
            let got: Vec<f32> = map(&module.function(&format!("k{factor}")).unwrap(), &[&x]);
            assert_eq!(got, x.map(|x| x * factor as f32));
        }
        std::fs::read_dir(&folder).unwrap().count()
    };
    assert_eq!(check(&[2, 3]), 2);
    assert_eq!(check(&[3, 4, 2]), 3);
    // Damaged kernels are compiled again, and replaced.
    for file in std::fs::read_dir(&folder).unwrap().flatten() {
        let mut bytes = std::fs::read(file.path()).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(file.path(), bytes).unwrap();
    }
    assert_eq!(check(&[2, 3, 4]), 3);
    assert_eq!(check(&[2, 3, 4]), 3);
    // Kernels for another processor are separate files.
    let plain = Processor { name: "x86-64".to_owned(), features: String::new() };
    if cfg!(target_arch = "x86_64") {
        Engine::for_processor(plain).unwrap().compile_all(&[scale(2)], Some(&cache)).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn many_threads_compile_and_call() {
    let scale = |factor: usize| {
        let body =
            format!("%f = arith.constant {factor}.0 : f32\n %t = arith.mulf %x, %f : f32\n %r = math.exp %t : f32");
        elementwise(&format!("k{factor}"), 1, "f32", "f32", 64, &body)
    };
    let texts: Vec<String> = (0..6).map(scale).collect();
    let shared = Engine::new().unwrap().compile_all(&texts, None).unwrap();
    thread::scope(|scope| {
        for device in 0..8usize {
            let (shared, scale) = (&shared, &scale);
            scope.spawn(move || {
                let own = Engine::new().unwrap().compile(&scale(device)).unwrap();
                let kernel = own.function(&format!("k{device}")).unwrap();
                // The kernel keeps its code alive.
                drop(own);
                let x: Vec<f32> = (0..64).map(|i| i as f32 / 64.0).collect();
                for round in 0..1000 {
                    let factor = round % 6;
                    let got: Vec<f32> = map(&shared.function(&format!("k{factor}")).unwrap(), &[&x]);
                    assert!((got[63] - (factor as f32 * x[63]).exp()).abs() < 1e-3 * got[63]);
                    let got: Vec<f32> = map(&kernel, &[&x]);
                    assert!((got[63] - (device as f32 * x[63]).exp()).abs() < 1e-3 * got[63]);
                }
            });
        }
    });
}

#[test]
fn narrow_floats_round_once_and_to_even() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let widen = compile(&elementwise("k", 1, "bf16", "f32", 65536, "%r = arith.extf %x : bf16 to f32"), "k");
    let wide: Vec<f32> = map(&widen, &[&all]);
    let narrow = compile(&elementwise("k", 1, "f32", "bf16", 65536, "%r = arith.truncf %x : f32 to bf16"), "k");
    let back: Vec<u16> = map(&narrow, &[&wide]);
    for ((&bits, &wide), &back) in all.iter().zip(&wide).zip(&back) {
        assert_eq!(wide.is_nan(), bf16::from_bits(bits).is_nan());
        assert!(wide.is_nan() || wide.to_bits() == u32::from(bits) << 16);
        assert_eq!(bf16::from_bits(back).is_nan(), bf16::from_bits(bits).is_nan());
        assert!(wide.is_nan() || back == bits, "{bits:x}");
    }
    let mut random = fastrand::Rng::with_seed(1);
    let doubles: Vec<f64> = (0..65536)
        .map(|i| {
            // Near ties of the narrow types, where rounding twice would give other results.
            let tie = f64::from(f16::from_bits(random.u16(..)).to_f32()) * (1.0 + 2f64.powi(-11));
            tie * (1.0 + f64::from(i % 5 - 2) * 2f64.powi(-40))
        })
        .collect();
    let singles: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
    for (from, to) in [("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")] {
        let text = elementwise("k", 1, from, to, 65536, &format!("%r = arith.truncf %x : {from} to {to}"));
        let got: Vec<u16> =
            if from == "f64" { map(&compile(&text, "k"), &[&doubles]) } else { map(&compile(&text, "k"), &[&singles]) };
        let decode = |bits: u16| match to {
            "f16" => f16::from_bits(bits).to_f64(),
            _ => bf16::from_bits(bits).to_f64(),
        };
        for ((&double, &single), &got) in doubles.iter().zip(&singles).zip(&got) {
            let value = if from == "f64" { double } else { f64::from(single) };
            if value.is_nan() {
                assert!(decode(got).is_nan());
            } else if decode(got).is_finite() {
                // Neither neighbor is nearer. If a neighbor is equally near, the result is even.
                let error = (decode(got) - value).abs();
                for neighbor in [got.wrapping_sub(1), got.wrapping_add(1)] {
                    let other = (decode(neighbor) - value).abs();
                    let is_fine = error < other || other.is_nan() || (error == other && got % 2 == 0);
                    assert!(is_fine, "{value:e} {from} to {to}: {got:x}");
                }
            } else {
                assert!(
                    value.is_infinite() || (value.abs() >= 65520.0 && to == "f16"),
                    "{value:e} {from} to {to}: {got:x}"
                );
            }
        }
    }
}

#[test]
fn lesser_processors_compute_the_same() {
    let body = "%e = math.exp %x : bf16\n %s = arith.addf %e, %x : bf16\n %h = arith.extf %s : bf16 to f32
        %t = arith.truncf %h : f32 to f16\n %u = arith.mulf %t, %t : f16\n %w = arith.extf %u : f16 to f32
        %sin = math.sin %w : f32\n %r = math.powf %sin, %w : f32";
    let text = elementwise("k", 1, "bf16", "f32", 256, body);
    let x: Vec<u16> = (0..256).map(|i| bf16::from_f32(i as f32 / 16.0 - 8.0).to_bits()).collect();
    let want: Vec<f32> = map(&compile(&text, "k"), &[&x]);
    assert!(want.iter().any(|v| v.is_finite() && *v > 0.1));
    if cfg!(target_arch = "x86_64") {
        for name in ["x86-64", "x86-64-v3"] {
            let processor = Processor { name: name.to_string(), features: String::new() };
            let engine = Engine::for_processor(processor).unwrap();
            let got: Vec<f32> = map(&engine.compile(&text).unwrap().function("k").unwrap(), &[&x]);
            let bits =
                |values: &[f32]| values.iter().map(|v| if v.is_nan() { 0 } else { v.to_bits() }).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&want), "{name}");
        }
    }
}
