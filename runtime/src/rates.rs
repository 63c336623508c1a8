//! How many cores this machine has, and what they can do at most, measured.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

/// What all cores of this machine do together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Floating-point operations per second of f32 matrix products.
    pub flops: f64,
    /// Bytes per second that are read or written, of tensors that no cache holds.
    pub bytes: f64,
}

/// The side of the matrices: three of them fit into the second-level cache of a core.
const SIDE: usize = 256;

/// How many bytes each core copies.
const BYTES: usize = 32 << 20;

/// How many threads can run at once. The system is asked once: it reads files to tell.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

impl Rates {
    /// Measures them, in about a tenth of a second.
    pub fn measure() -> Self {
        let cores = cores();
        let flops = best(cores, || {
            let (a, b, mut c) = (vec![1f32; SIDE * SIDE], vec![1f32; SIDE * SIDE], vec![0f32; SIDE * SIDE]);
            move || {
                for _ in 0..8 {
                    product(&a, &b, &mut c);
                }
                std::hint::black_box(&c);
            }
        });
        let bytes = best(cores, || {
            let (from, mut to) = (vec![1u8; BYTES], vec![0u8; BYTES]);
            move || {
                to.copy_from_slice(&from);
                std::hint::black_box(&to);
            }
        });
        let cores = cores as f64;
        Self { flops: cores * 8.0 * 2.0 * (SIDE as f64).powi(3) / flops, bytes: cores * 2.0 * BYTES as f64 / bytes }
    }
}

/// Seconds that each of `threads` threads takes for the work that `make` gives it: the fastest of several rounds.
fn best<W: FnMut()>(threads: usize, make: impl Fn() -> W + Sync) -> f64 {
    let one = || {
        let mut work = make();
        // Memory is there, caches are warm.
        work();
        (0..4).map(|_| seconds(&mut work)).fold(f64::INFINITY, f64::min)
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, one).ok()).collect();
        threads.into_iter().map(|t| t.join().unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    })
}

fn seconds(work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

#[allow(unsafe_code, reason = "the library takes addresses")]
fn product(a: &[f32], b: &[f32], c: &mut [f32]) {
    let n = SIDE as isize;
    assert!([a.len(), b.len(), c.len()] == [SIDE * SIDE; 3]);
    // SAFETY: three matrices of that size.
    unsafe {
        gemm::gemm(
            SIDE,
            SIDE,
            SIDE,
            c.as_mut_ptr(),
            1,
            n,
            false,
            a.as_ptr(),
            1,
            n,
            b.as_ptr(),
            1,
            n,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_does_something() {
        let rates = Rates::measure();
        assert!(rates.flops.is_finite() && rates.flops > 1e7, "{rates:?}");
        assert!(rates.bytes.is_finite() && rates.bytes > 1e7, "{rates:?}");
    }
}
