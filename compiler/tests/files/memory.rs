//! Programs that need more memory than the process or the machine has.

use super::*;

/// Limits of the process, as batch systems set them.
#[cfg(target_os = "linux")]
#[test]
fn limits_of_memory_are_kept_and_named() {
    let folder = Folder::new("limits");
    let program = "func.func @main(%a: tensor<16384x16384xf32>) -> tensor<16384x16384xf32> {
  %0 = stablehlo.add %a, %a : tensor<16384x16384xf32>
  return %0 : tensor<16384x16384xf32>
}
";
    fs::write(folder.at("large.mlir"), program).unwrap();
    for (limit, flag) in [(1_200_000, "-v"), (2_000_000, "-v"), (3_000_000, "-v"), (300_000, "-d"), (1_000_000, "-d")] {
        let output = folder.shell(&format!("ulimit {flag} {limit}; exec $shardc run large.mlir"));
        code(&output, 1);
        let said = said(&output);
        let named = said.contains("error[device-memory]") && said.contains(&format!("ulimit {flag}"));
        assert!(named, "{flag} {limit}: {said}");
    }
    // Small programs run or report missing memory; no process is ended by a signal.
    for limit in (200..1600).step_by(200) {
        for flag in ["-v", "-d"] {
            let output = folder.shell(&format!("ulimit {flag} {limit}000; exec $shardc run a.mlir"));
            // 127: the loader has no memory for libraries.
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1 | 127)), "{flag} {limit}: {:?} {}", output.status, said(&output));
            assert!(code == Some(0) || limit < 1200, "{flag} {limit}: {}", said(&output));
        }
    }
}

/// No form of a program expands a constant, an iota or a broadcast of more bytes than any machine has.
#[test]
fn huge_splats_are_never_expanded() {
    let folder = Folder::new("splats");
    let ty = "tensor<1048576x1048576xf32>";
    let program = format!(
        "sdy.mesh @mesh = <[\"x\"=8]>
func.func @main(%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}, %s: tensor<f32>) -> {ty} {{
  %c = stablehlo.constant dense<1.5> : {ty}
  %z = stablehlo.constant dense<0.0> : {ty}
  %i = stablehlo.iota dim = 1 : {ty}
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {ty}
  %0 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  %2 = stablehlo.add %1, %i : {ty}
  %3 = stablehlo.dot_general %2, %b, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}
  return %3 : {ty}
}}
"
    );
    fs::write(folder.at("huge.mlir"), program).unwrap();
    let mut commands: Vec<(Vec<&str>, i32)> =
        ["cost", "explain", "show", "report", "diff"].map(|c| (vec![c], 0)).into();
    commands.extend(["sdy", "stablehlo", "manual"].map(|form| (vec!["compile", "--emit", form], 0)));
    commands.extend(["run", "check"].map(|c| (vec![c, "--interpret"], 1)));
    #[cfg(feature = "jit")]
    {
        commands.extend(["linalg", "kernels", "llvm"].map(|form| (vec!["compile", "--emit", form], 0)));
        commands.extend(["run", "check"].map(|c| (vec![c], 1)));
        commands.push((vec!["run", "--compile-only"], 0));
    }
    for (mut args, expected) in commands {
        args.push("huge.mlir");
        let began = Instant::now();
        let output = folder.run(&args);
        assert_eq!(output.status.code(), Some(expected), "{args:?}: {}", said(&output));
        assert!(expected == 0 || said(&output).contains("error[device-memory]"), "{args:?}: {}", said(&output));
        assert!(began.elapsed() < Duration::from_secs(30), "{args:?} took {:?}", began.elapsed());
    }
}
