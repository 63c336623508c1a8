//! Machine code in memory: objects linked against this process, and the kernels in them.
//!
//! A kernel keeps its code alive. LLVM's sessions lock internally, and code is read-only once linked, so kernels may be
//! called from any number of threads.
#![expect(unsafe_code, reason = "links and calls machine code made at run time")]

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use half::bf16;

use super::abi::{Messages, Pointer, append, c_string, check, take};

const EXPORTED: u8 = 1;
const CALLABLE: u8 = 4;

unsafe extern "C" {
    fn LLVMConsumeError(error: Pointer);
    fn LLVMCreateMemoryBufferWithMemoryRangeCopy(data: *const c_char, length: usize, name: *const c_char) -> Pointer;
    fn LLVMOrcCreateLLJIT(jit: *mut Pointer, builder: Pointer) -> Pointer;
    fn LLVMOrcDisposeLLJIT(jit: Pointer) -> Pointer;
    fn LLVMOrcLLJITGetExecutionSession(jit: Pointer) -> Pointer;
    fn LLVMOrcExecutionSessionSetErrorReporter(
        session: Pointer,
        report: extern "C" fn(*mut c_void, Pointer),
        data: *mut c_void,
    );
    fn LLVMOrcLLJITGetMainJITDylib(jit: Pointer) -> Pointer;
    fn LLVMOrcLLJITMangleAndIntern(jit: Pointer, name: *const c_char) -> Pointer;
    fn LLVMOrcLLJITAddObjectFile(jit: Pointer, library: Pointer, object: Pointer) -> Pointer;
    fn LLVMOrcLLJITLookup(jit: Pointer, address: *mut u64, name: *const c_char) -> Pointer;
    fn LLVMOrcAbsoluteSymbols(symbols: *const AbsoluteSymbol, count: usize) -> Pointer;
    fn LLVMOrcJITDylibDefine(library: Pointer, unit: Pointer) -> Pointer;
}

/// `LLVMOrcCSymbolMapPair`.
#[repr(C)]
struct AbsoluteSymbol {
    name: Pointer,
    address: u64,
    /// Generic flags, then target flags.
    flags: [u8; 2],
}

/// Machine code in memory, linked against this process.
pub(super) struct Code {
    jit: Pointer,
    /// Errors that the session reported; boxed because LLVM holds its address.
    reports: Box<Messages>,
}

// SAFETY: LLVM's ORC sessions lock internally, the code is read-only once linked, and `reports` is a mutex.
unsafe impl Send for Code {}
// SAFETY: threads may use a session at the same time because it locks internally, and linked code is only read.
unsafe impl Sync for Code {}

/// The calling convention of every entry: addresses of buffers, then scalars.
type RawKernel = unsafe extern "C" fn(*const *mut u8, *const i64);

extern "C" fn collect_report(data: *mut c_void, error: Pointer) {
    // SAFETY: `data` is the `reports` of the `Code` that owns the session and outlives it.
    let reports = unsafe { &*data.cast::<Messages>() };
    if let Err(text) = check(error) {
        append(reports, &text);
    }
}

/// Rounds to bf16. Code that uses bf16 may call this function, because older support libraries lack it. A bf16 is
/// passed in the low bits of a float register.
extern "C" fn round_single_to_bf16(value: f32) -> f32 {
    f32::from_bits(u32::from(bf16::from_f32(value).to_bits()))
}

impl Code {
    /// Links objects with each other. They may call the C library and the function above.
    pub(super) fn link<'o>(objects: impl IntoIterator<Item = &'o [u8]>) -> Result<Self, String> {
        let mut raw = null_mut();
        // SAFETY: a null builder selects the defaults, which also search this process for symbols. Buffers and symbols
        // are copied, or handed over to the session, which `code` owns from here on.
        unsafe {
            check(LLVMOrcCreateLLJIT(&mut raw, null_mut()))?;
            let code = Self { jit: raw, reports: Box::default() };
            let session = LLVMOrcLLJITGetExecutionSession(raw);
            LLVMOrcExecutionSessionSetErrorReporter(
                session,
                collect_report,
                (&raw const *code.reports).cast_mut().cast(),
            );
            let library = LLVMOrcLLJITGetMainJITDylib(raw);
            let symbol = AbsoluteSymbol {
                name: LLVMOrcLLJITMangleAndIntern(raw, c"__truncsfbf2".as_ptr()),
                address: round_single_to_bf16 as *const () as u64,
                flags: [EXPORTED | CALLABLE, 0],
            };
            check(LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(&symbol, 1)))?;
            for (i, object) in objects.into_iter().enumerate() {
                // Objects need distinct names.
                let (start, name) = (object.as_ptr().cast(), c_string(&format!("kernels {i}"))?);
                let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(start, object.len(), name.as_ptr());
                check(LLVMOrcLLJITAddObjectFile(raw, library, buffer))?;
            }
            Ok(code)
        }
    }

    /// Returns the function with this name, which must have been compiled with the convention of [`RawKernel`].
    fn entry(&self, name: &str) -> Result<RawKernel, String> {
        let c_name = c_string(name)?;
        let mut address = 0u64;
        // SAFETY: the session is alive and the out pointer is valid.
        let result = check(unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, c_name.as_ptr()) });
        if let Err(error) = result {
            let details = take(&self.reports);
            return Err(if details.is_empty() { error } else { details });
        }
        if address == 0 {
            return Err(format!("{name} has no address"));
        }
        // SAFETY: the address is that of a function emitted by `lower::write_entry`, which gives every entry this type.
        Ok(unsafe { std::mem::transmute::<usize, RawKernel>(address as usize) })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: this value owns the session, and only `drop` frees it. An error while freeing can't be reported.
        unsafe {
            let error = LLVMOrcDisposeLLJIT(self.jit);
            if !error.is_null() {
                LLVMConsumeError(error);
            }
        }
    }
}

/// One compiled kernel. It keeps its code alive and can be called from any number of threads at once.
#[derive(Clone)]
pub struct KernelFn {
    _code: Arc<Code>,
    entry: RawKernel,
    operands: usize,
    scalars: usize,
}

impl KernelFn {
    /// Returns the kernel whose entry has this name.
    pub(super) fn new(code: &Arc<Code>, entry: &str, operands: usize, scalars: usize) -> Result<Self, String> {
        Ok(Self { entry: code.entry(entry)?, _code: Arc::clone(code), operands, scalars })
    }

    /// Returns the number of buffers that the kernel takes.
    pub fn operand_count(&self) -> usize {
        self.operands
    }

    /// Returns the number of scalars that the kernel takes.
    pub fn scalar_count(&self) -> usize {
        self.scalars
    }

    /// Calls the kernel with the addresses of its memrefs and its scalars, each in the order of its parameters.
    ///
    /// # Panics
    ///
    /// If the counts are not those of the kernel.
    ///
    /// # Safety
    ///
    /// Every operand must point to a buffer with the size and alignment of its memref. During the call no other thread
    /// may write these buffers, or read those that the kernel writes. Operands marked `llvm.noalias` must not overlap
    /// other operands.
    pub unsafe fn call(&self, operands: &[*mut u8], scalars: &[i64]) {
        assert_eq!((operands.len(), scalars.len()), (self.operands, self.scalars), "arguments of a kernel");
        // SAFETY: the entry reads exactly as many values as the assertion has checked. The buffers are valid by this
        // function's contract.
        unsafe { (self.entry)(operands.as_ptr(), scalars.as_ptr()) }
    }
}
