//! Subnormal floats: numbers so close to zero that they have fewer digits than others. Processors compute with them a
//! hundred times slower, so native code replaces them by zeros, as XLA does, unless it is configured to keep them.

#![allow(unsafe_code, reason = "the processor's control register is read and written by instructions")]

use std::marker::PhantomData;

/// The treatment of subnormal floats in arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Subnormals {
    /// Subnormal operands and results count as zeros of the same sign.
    #[default]
    Flush,
    /// Subnormal numbers are treated like other numbers (IEEE 754).
    Keep,
}

/// Sets the treatment of subnormal floats on this thread while it lives. Dropping it restores the previous treatment.
#[must_use]
pub struct Mode {
    before: Control,
    /// Makes the type thread-bound, because the register belongs to a thread.
    _thread: PhantomData<*const ()>,
}

impl Mode {
    /// Returns how this thread treats subnormal floats.
    pub fn current() -> Subnormals {
        if read() & FLUSH != 0 { Subnormals::Flush } else { Subnormals::Keep }
    }

    /// Sets how this thread treats subnormal floats until the returned value is dropped.
    pub fn set(subnormals: Subnormals) -> Self {
        let before = read();
        let flushes = subnormals == Subnormals::Flush;
        write(if flushes { before | FLUSH } else { before & !FLUSH });
        Self { before, _thread: PhantomData }
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        write(self.before);
    }
}

#[cfg(target_arch = "x86_64")]
type Control = u32;
/// In MXCSR, bit 15 flushes results to zero and bit 6 treats subnormal operands as zeros.
#[cfg(target_arch = "x86_64")]
const FLUSH: Control = 1 << 15 | 1 << 6;

#[cfg(target_arch = "x86_64")]
fn read() -> Control {
    let mut control: Control = 0;
    // SAFETY: the instruction stores the register at the given address, a local variable of its size.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "x86_64")]
fn write(control: Control) {
    // SAFETY: the value was read from the register, and only the two bits for subnormal numbers were changed.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
type Control = u64;
/// In FPCR, bit 24 flushes operands and results of f32 and f64.
#[cfg(target_arch = "aarch64")]
const FLUSH: Control = 1 << 24;

#[cfg(target_arch = "aarch64")]
fn read() -> Control {
    let control: Control;
    // SAFETY: the instruction only reads the register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control
}

#[cfg(target_arch = "aarch64")]
fn write(control: Control) {
    // SAFETY: the value was read from the register, and only the bit for subnormal numbers was changed.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
type Control = u8;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: Control = 0;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> Control {
    0
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn write(_: Control) {}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn subnormals_are_zeros_for_as_long_as_is_said() {
        let half = |v: f32| black_box(black_box(v) * black_box(0.5));
        let smallest = f32::MIN_POSITIVE;
        assert_eq!(half(smallest), smallest / 2.0);
        {
            let _flush = Mode::set(Subnormals::Flush);
            assert_eq!(half(smallest).to_bits(), 0);
            assert_eq!(half(-smallest).to_bits(), 1 << 31);
            assert_eq!(black_box(black_box(f32::from_bits(1)) * black_box(f32::MAX)).to_bits(), 0);
            {
                let _keep = Mode::set(Subnormals::Keep);
                assert!(half(smallest) > 0.0);
            }
            assert_eq!(half(smallest).to_bits(), 0);
        }
        assert!(half(smallest) > 0.0);
    }
}
