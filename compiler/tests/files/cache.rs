//! Compiled kernels in the folder of `$SHARDC_CACHE`.

use std::path::Path;

use super::*;

fn run(folder: &Folder, cache: &Path) -> Output {
    let output = folder.command(&["run", "a.mlir"]).env("SHARDC_CACHE", cache).output().expect("shardc starts");
    code(&output, 0);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("result 0: tensor<4xf32>"));
    output
}

fn kernels(cache: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "kernel")).collect()
}

#[test]
fn other_files_in_the_cache_folder_are_kept() {
    let folder = Folder::new("thesis");
    fs::set_permissions(&folder.0, Permissions::from_mode(0o700)).unwrap();
    for name in ["thesis.bin", "x.kernel", "0123456789abcdef.kernel"] {
        // Sparse files, larger than the limit of the cache.
        fs::File::create(folder.at(name)).unwrap().set_len(300 << 20).unwrap();
    }
    assert_eq!(said(&run(&folder, &folder.0)), "");
    assert_eq!(kernels(&folder.0).len(), 3);
    assert_eq!(fs::metadata(folder.at("thesis.bin")).unwrap().len(), 300 << 20);
    let kernel = kernels(&folder.0).into_iter().find(|path| fs::metadata(path).unwrap().len() < 1 << 20).unwrap();
    assert_eq!(fs::metadata(kernel).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn cached_kernels_that_others_can_write_are_not_run() {
    let folder = Folder::new("foreign");
    let cache = folder.at("cache");
    assert_eq!(said(&run(&folder, &cache)), "");
    assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
    let [kernel] = &kernels(&cache)[..] else { panic!("one kernel") };
    let whole = fs::read(kernel).unwrap();
    let says = |what: &str| {
        let output = run(&folder, &cache);
        assert!(said(&output).contains(what) && said(&output).lines().count() == 1, "{what}: {}", said(&output));
    };
    fs::set_permissions(kernel, Permissions::from_mode(0o622)).unwrap();
    says("mode 622");
    // The kernel was compiled again, and now other users can't write it.
    assert_eq!(said(&run(&folder, &cache)), "");
    for mode in [0o777, 0o770, 0o1777] {
        fs::set_permissions(&cache, Permissions::from_mode(mode)).unwrap();
        says(&format!("mode {mode:o}"));
    }
    fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        std::os::unix::fs::chown(kernel, Some(NOBODY), None).unwrap();
        says("belongs to user 65534");
        std::os::unix::fs::chown(&cache, Some(NOBODY), None).unwrap();
        says("belongs to user 65534");
        std::os::unix::fs::chown(&cache, Some(0), None).unwrap();
    }
    // Damaged kernels are detected and replaced.
    for damaged in [&whole[..whole.len() / 2], &whole[..10], b"", &[&whole[..], b"x"].concat()] {
        fs::write(kernel, damaged).unwrap();
        run(&folder, &cache);
    }
    for strange in ["fifo", "link", "folder"] {
        let _ = fs::remove_file(kernel);
        match strange {
            "fifo" => assert!(Command::new("mkfifo").arg(kernel).status().unwrap().success()),
            "link" => symlink(folder.at("a.mlir"), kernel).unwrap(),
            _ => fs::create_dir(kernel).unwrap(),
        }
        says(&kernel.display().to_string());
    }
    assert_eq!(folder.text("a.mlir"), PROGRAM);
    symlink(&cache, folder.at("link")).unwrap();
    let output = run(&folder, &folder.at("link"));
    assert!(said(&output).contains("symbolic link"), "{}", said(&output));
    let output = run(&folder, &folder.at("a.mlir"));
    assert!(said(&output).contains("is not a folder"), "{}", said(&output));
}
