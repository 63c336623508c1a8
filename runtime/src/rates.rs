//! The number of cores of this machine, and measurements of their maximum speed.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

/// The speed of all cores of this machine together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Floating-point operations per second of f32 matrix products.
    pub flops: f64,
    /// Bytes per second that are read or written, for tensors that don't fit in a cache.
    pub bytes: f64,
}

/// The side of the matrices. Three of them fit into the second-level cache of a core.
const SIDE: usize = 256;

/// The number of bytes that each core copies.
const BYTES: usize = 32 << 20;

/// Returns the number of threads that can run at once. Queries the system only once, because that reads files.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

impl Rates {
    /// Measures the rates, in about a tenth of a second.
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

/// Returns the seconds that the slowest of `threads` threads takes for the work of `make`. Each thread's time is its
/// fastest of several rounds.
fn best<W: FnMut()>(threads: usize, make: impl Fn() -> W + Sync) -> f64 {
    let one = || {
        let mut work = make();
        // The first round allocates memory and warms the caches.
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
    // SAFETY: the assertion shows that the slices are three matrices of `SIDE * SIDE` elements.
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
