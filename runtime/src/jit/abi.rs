//! The interface to LLVM's code generator: takes a module of MLIR's llvm dialect, returns an object file.
//!
//! Each wrapper owns the object that it points to and frees it once, the module before its context. Failures are
//! returned as text: where LLVM would print or exit by default, a handler collects the message instead. Declarations
//! follow `llvm-c/*.h` of LLVM 22; only the functions used here are declared.
#![expect(unsafe_code, reason = "calls LLVM's C API")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module as MlirModule;
use melior::ir::ValueLike;
use melior::ir::operation::{OperationRef, OperationResult};
use mlir_sys::{
    LLVMContextRef, LLVMModuleRef, MlirDialectHandle, mlirDialectHandleInsertDialect, mlirGetDialectHandle__affine__,
    mlirGetDialectHandle__arith__, mlirGetDialectHandle__cf__, mlirGetDialectHandle__complex__,
    mlirGetDialectHandle__func__, mlirGetDialectHandle__index__, mlirGetDialectHandle__linalg__,
    mlirGetDialectHandle__llvm__, mlirGetDialectHandle__math__, mlirGetDialectHandle__memref__,
    mlirGetDialectHandle__scf__, mlirGetDialectHandle__tensor__, mlirGetDialectHandle__ub__,
    mlirGetDialectHandle__vector__, mlirOperationDestroy, mlirRegisterConversionArithToLLVMConversionPass,
    mlirRegisterConversionConvertComplexToLLVMPass, mlirRegisterConversionConvertComplexToStandardPass,
    mlirRegisterConversionConvertControlFlowToLLVMPass, mlirRegisterConversionConvertFuncToLLVMPass,
    mlirRegisterConversionConvertIndexToLLVMPass, mlirRegisterConversionConvertMathToLLVMPass,
    mlirRegisterConversionConvertMathToLibmPass, mlirRegisterConversionConvertVectorToLLVMPass,
    mlirRegisterConversionConvertVectorToSCF, mlirRegisterConversionFinalizeMemRefToLLVMConversionPass,
    mlirRegisterConversionLowerAffinePass, mlirRegisterConversionReconcileUnrealizedCastsPass,
    mlirRegisterConversionSCFToControlFlowPass, mlirRegisterConversionUBToLLVMConversionPass,
    mlirRegisterLinalgConvertLinalgToLoopsPass, mlirRegisterMemRefExpandStridedMetadataPass,
    mlirTranslateModuleToLLVMIR, mlirValueReplaceAllUsesOfWith,
};

/// An opaque LLVM object, only used behind pointers.
#[repr(C)]
pub(super) struct Opaque {
    _private: [u8; 0],
}

pub(super) type Pointer = *mut Opaque;

const CODEGEN_DEFAULT: c_int = 2;
const RELOCATION_PIC: c_int = 2;
const CODE_MODEL_SMALL: c_int = 3;

unsafe extern "C" {
    fn LLVMContextCreate() -> LLVMContextRef;
    fn LLVMContextDispose(context: LLVMContextRef);
    fn LLVMContextSetDiagnosticHandler(
        context: LLVMContextRef,
        handler: extern "C" fn(Pointer, *mut c_void),
        data: *mut c_void,
    );
    fn LLVMGetDiagInfoDescription(diagnostic: Pointer) -> *mut c_char;
    fn LLVMGetDiagInfoSeverity(diagnostic: Pointer) -> c_int;
    fn LLVMDisposeMessage(message: *mut c_char);
    fn LLVMDisposeModule(module: LLVMModuleRef);
    fn LLVMPrintModuleToString(module: LLVMModuleRef) -> *mut c_char;
    fn LLVMSetTarget(module: LLVMModuleRef, triple: *const c_char);
    fn LLVMSetModuleDataLayout(module: LLVMModuleRef, layout: Pointer);

    fn LLVMGetVersion(major: *mut u32, minor: *mut u32, patch: *mut u32);
    fn LLVMGetDefaultTargetTriple() -> *mut c_char;
    fn LLVMGetHostCPUName() -> *mut c_char;
    fn LLVMGetHostCPUFeatures() -> *mut c_char;
    fn LLVMGetTargetFromTriple(triple: *const c_char, target: *mut Pointer, error: *mut *mut c_char) -> c_int;
    fn LLVMCreateTargetMachine(
        target: Pointer,
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        level: c_int,
        relocation: c_int,
        code_model: c_int,
    ) -> Pointer;
    fn LLVMDisposeTargetMachine(machine: Pointer);
    fn LLVMCreateTargetDataLayout(machine: Pointer) -> Pointer;
    fn LLVMDisposeTargetData(layout: Pointer);
    fn LLVMTargetMachineEmitToMemoryBuffer(
        machine: Pointer,
        module: LLVMModuleRef,
        file_type: c_int,
        error: *mut *mut c_char,
        buffer: *mut Pointer,
    ) -> c_int;
    fn LLVMGetBufferStart(buffer: Pointer) -> *const c_char;
    fn LLVMGetBufferSize(buffer: Pointer) -> usize;
    fn LLVMDisposeMemoryBuffer(buffer: Pointer);

    fn LLVMCreatePassBuilderOptions() -> Pointer;
    fn LLVMDisposePassBuilderOptions(options: Pointer);
    fn LLVMRunPasses(module: LLVMModuleRef, passes: *const c_char, machine: Pointer, options: Pointer) -> Pointer;

    fn LLVMGetErrorMessage(error: Pointer) -> *mut c_char;
    fn LLVMDisposeErrorMessage(message: *mut c_char);
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    #[link_name = "LLVMInitializeX86TargetInfo"]
    fn initialize_target_info();
    #[link_name = "LLVMInitializeX86Target"]
    fn initialize_target();
    #[link_name = "LLVMInitializeX86TargetMC"]
    fn initialize_target_mc();
    #[link_name = "LLVMInitializeX86AsmPrinter"]
    fn initialize_asm_printer();
}

#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    #[link_name = "LLVMInitializeAArch64TargetInfo"]
    fn initialize_target_info();
    #[link_name = "LLVMInitializeAArch64Target"]
    fn initialize_target();
    #[link_name = "LLVMInitializeAArch64TargetMC"]
    fn initialize_target_mc();
    #[link_name = "LLVMInitializeAArch64AsmPrinter"]
    fn initialize_asm_printer();
}

/// Copies a message that LLVM allocated and frees it.
fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returned a NUL-terminated string that this call owns and frees exactly once.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// Turns LLVM's error object into a result, consuming it.
pub(super) fn check(error: Pointer) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a non-null error is owned by the caller; reading its message consumes it.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(text)
    }
}

/// Returns LLVM's version, such as `22.1.8`: the version of the library in this process, not the one at build time.
pub(super) fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the out pointers are valid.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}

/// A processor to generate code for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Processor {
    /// LLVM's name for it, such as `znver5`.
    pub(super) name: String,
    /// Its features, such as `+avx512f,-sse4a`.
    pub(super) features: String,
}

impl Processor {
    /// Returns the processor that this process runs on.
    pub(super) fn host() -> Self {
        static HOST: OnceLock<Processor> = OnceLock::new();
        // SAFETY: both functions return messages that the caller owns, and `take_message` frees them.
        let ask = || unsafe {
            Self { name: take_message(LLVMGetHostCPUName()), features: take_message(LLVMGetHostCPUFeatures()) }
        };
        HOST.get_or_init(ask).clone()
    }

    /// Returns whether the processor has a feature, such as `avx512f`.
    pub(super) fn has_feature(&self, name: &str) -> bool {
        self.features.split(',').any(|feature| feature.strip_prefix('+') == Some(name))
    }
}

/// A code generator, for use by one thread at a time.
pub(super) struct TargetMachine {
    raw: Pointer,
    triple: CString,
}

impl TargetMachine {
    /// Creates a code generator for a processor of this machine's architecture.
    pub(super) fn new(processor: &Processor) -> Result<Self, String> {
        static INITIALIZE: Once = Once::new();
        // SAFETY: the initializers take no arguments, and `call_once` runs them once, before any other use of the
        // target registry.
        INITIALIZE.call_once(|| unsafe {
            initialize_target_info();
            initialize_target();
            initialize_target_mc();
            initialize_asm_printer();
        });
        // SAFETY: the function returns a message that the caller owns, and `take_message` frees it.
        let triple = c_string(&take_message(unsafe { LLVMGetDefaultTargetTriple() }))?;
        let (cpu, features) = (c_string(&processor.name)?, c_string(&processor.features)?);
        let (mut target, mut error) = (null_mut(), null_mut());
        // SAFETY: all strings are NUL-terminated and outlive the calls, which copy them; the out pointers are valid.
        let raw = unsafe {
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut error) != 0 {
                return Err(take_message(error));
            }
            LLVMCreateTargetMachine(
                target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                CODEGEN_DEFAULT,
                RELOCATION_PIC,
                CODE_MODEL_SMALL,
            )
        };
        if raw.is_null() {
            return Err(format!("LLVM has no code generator for {}", processor.name));
        }
        Ok(Self { raw, triple })
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: `new` has created the machine, and only `drop` frees it.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

// The only dialects that are left when a module is translated. MLIR's C API can only register the translations of all
// dialects, which would link all dialects, passes and targets.
unsafe extern "C" {
    #[link_name = "_ZN4mlir33registerBuiltinDialectTranslationERNS_11MLIRContextE"]
    fn register_builtin_translation(context: *mut c_void);
    #[link_name = "_ZN4mlir30registerLLVMDialectTranslationERNS_11MLIRContextE"]
    fn register_llvm_translation(context: *mut c_void);
}

/// Creates a context with the dialects of kernels and of their lowered forms. Dialects are loaded when they are first
/// used.
pub(super) fn context() -> Context {
    static REGISTER: Once = Once::new();
    // SAFETY: each function registers a pass under its name, and `call_once` runs them once per process.
    REGISTER.call_once(|| unsafe { PASSES.iter().for_each(|register| register()) });
    let registry = DialectRegistry::new();
    for dialect in DIALECTS {
        // SAFETY: the handle is a constant of MLIR, and `registry` is alive.
        unsafe { mlirDialectHandleInsertDialect(dialect(), registry.to_raw()) };
    }
    let context = Context::new_with_registry(&registry, false);
    let raw = context.to_raw().ptr;
    // SAFETY: the functions take a reference to a context, and `context` is alive.
    unsafe {
        register_builtin_translation(raw);
        register_llvm_translation(raw);
    }
    context
}

/// The dialects of kernels. Registering all of MLIR's dialects takes longer than lowering a kernel.
const DIALECTS: &[unsafe extern "C" fn() -> MlirDialectHandle] = &[
    mlirGetDialectHandle__affine__,
    mlirGetDialectHandle__arith__,
    mlirGetDialectHandle__cf__,
    mlirGetDialectHandle__complex__,
    mlirGetDialectHandle__func__,
    mlirGetDialectHandle__index__,
    mlirGetDialectHandle__linalg__,
    mlirGetDialectHandle__llvm__,
    mlirGetDialectHandle__math__,
    mlirGetDialectHandle__memref__,
    mlirGetDialectHandle__scf__,
    mlirGetDialectHandle__tensor__,
    mlirGetDialectHandle__ub__,
    mlirGetDialectHandle__vector__,
];

/// Registers the passes that [`super::lower`] names. MLIR has ten times as many.
const PASSES: &[unsafe extern "C" fn()] = &[
    mlirRegisterConversionArithToLLVMConversionPass,
    mlirRegisterConversionConvertComplexToLLVMPass,
    mlirRegisterConversionConvertComplexToStandardPass,
    mlirRegisterConversionConvertControlFlowToLLVMPass,
    mlirRegisterConversionConvertFuncToLLVMPass,
    mlirRegisterConversionConvertIndexToLLVMPass,
    mlirRegisterConversionConvertMathToLLVMPass,
    mlirRegisterConversionConvertMathToLibmPass,
    mlirRegisterConversionConvertVectorToLLVMPass,
    mlirRegisterConversionConvertVectorToSCF,
    mlirRegisterConversionFinalizeMemRefToLLVMConversionPass,
    mlirRegisterConversionLowerAffinePass,
    mlirRegisterConversionReconcileUnrealizedCastsPass,
    mlirRegisterConversionSCFToControlFlowPass,
    mlirRegisterConversionUBToLLVMConversionPass,
    mlirRegisterLinalgConvertLinalgToLoopsPass,
    mlirRegisterMemRefExpandStridedMetadataPass,
];

/// The context and the code generator with which a thread compiles kernels.
pub(super) struct Tools {
    pub(super) context: Context,
    pub(super) machine: TargetMachine,
}

// SAFETY: the context starts no threads, and neither it nor the code generator depends on the thread that created it.
// Their owner has exclusive access to both.
unsafe impl Send for Tools {}

/// The output format of [`Ir::emit`].
#[derive(Clone, Copy)]
pub(super) enum FileType {
    Assembly = 0,
    Object = 1,
}

/// A module of LLVM IR with the context that owns its types.
pub(super) struct Ir {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    /// Errors that LLVM reported; boxed because LLVM holds its address.
    errors: Box<Messages>,
}

extern "C" fn collect_diagnostic(diagnostic: Pointer, data: *mut c_void) {
    const ERROR: c_int = 0;
    // SAFETY: `data` is the `errors` of the `Ir` that owns the reporting context. The caller owns the description, and
    // `take_message` frees it.
    unsafe {
        if LLVMGetDiagInfoSeverity(diagnostic) == ERROR {
            let text = take_message(LLVMGetDiagInfoDescription(diagnostic));
            append(&*data.cast(), &text);
        }
    }
}

impl Ir {
    /// Translates a module of the LLVM dialect for a machine. Returns `None` if MLIR fails; the reason is in its
    /// diagnostics.
    pub(super) fn translate(module: &MlirModule<'_>, machine: &TargetMachine) -> Option<Self> {
        let errors = Box::<Messages>::default();
        // SAFETY: the context is new, and `Ir` owns it afterwards. The operation is alive during the call. A null
        // module, which signals a failure, isn't used.
        unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, collect_diagnostic, (&raw const *errors).cast_mut().cast());
            let raw = mlirTranslateModuleToLLVMIR(module.as_operation().to_raw(), context);
            if raw.is_null() {
                LLVMContextDispose(context);
                return None;
            }
            let ir = Self { module: raw, context, errors };
            LLVMSetTarget(raw, machine.triple.as_ptr());
            let layout = LLVMCreateTargetDataLayout(machine.raw);
            LLVMSetModuleDataLayout(raw, layout);
            LLVMDisposeTargetData(layout);
            Some(ir)
        }
    }

    /// Runs a pass pipeline in the syntax of `opt -passes`.
    pub(super) fn run_passes(&mut self, passes: &str, machine: &TargetMachine) -> Result<(), String> {
        let passes = c_string(passes)?;
        // SAFETY: module, machine and options are alive, and `&mut self` rules out other uses of the module.
        let result = unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(self.module, passes.as_ptr(), machine.raw, options);
            LLVMDisposePassBuilderOptions(options);
            check(error)
        };
        result.and_then(|()| self.reported_errors())
    }

    /// Generates assembly text or a relocatable object.
    pub(super) fn emit(&mut self, machine: &TargetMachine, file_type: FileType) -> Result<Vec<u8>, String> {
        let (mut error, mut buffer) = (null_mut(), null_mut());
        // SAFETY: the out pointers are valid. On success the caller owns the buffer, which is copied and freed once.
        let bytes = unsafe {
            let failed = LLVMTargetMachineEmitToMemoryBuffer(
                machine.raw,
                self.module,
                file_type as c_int,
                &mut error,
                &mut buffer,
            );
            if failed != 0 {
                return Err(take_message(error));
            }
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            bytes
        };
        self.reported_errors()?;
        Ok(bytes)
    }

    /// Returns the module as text.
    pub(super) fn print(&self) -> String {
        // SAFETY: the module is alive. The caller owns the message, and `take_message` frees it.
        take_message(unsafe { LLVMPrintModuleToString(self.module) })
    }

    fn reported_errors(&self) -> Result<(), String> {
        let errors = take(&self.errors);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

impl Drop for Ir {
    fn drop(&mut self) {
        // SAFETY: this value owns both. The module is freed before its context.
        unsafe {
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}

/// Messages collected from LLVM's handlers.
pub(super) type Messages = Mutex<String>;

/// Adds a line to the messages.
pub(super) fn append(messages: &Messages, text: &str) {
    let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
    messages.push_str(text);
    messages.push('\n');
}

/// Returns the messages and empties them.
pub(super) fn take(messages: &Messages) -> String {
    std::mem::take(&mut *messages.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Replaces an operation's only result by `with` and deletes the operation.
pub(super) fn replace<'c, 'a>(operation: OperationRef<'c, 'a>, with: OperationResult<'c, 'a>) {
    if let Ok(result) = operation.result(0) {
        // SAFETY: both values are alive and in one block. After the first call nothing uses the operation, and the only
        // reference to it is consumed here.
        unsafe {
            mlirValueReplaceAllUsesOfWith(result.to_raw(), with.to_raw());
            mlirOperationDestroy(operation.to_raw());
        }
    }
}

pub(super) fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| "text for LLVM contains a NUL byte".to_string())
}
