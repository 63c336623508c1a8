//! Programs that link MLIR's archives without what registers all that MLIR has.

/// Defines, in the program that uses it, what registers all dialects, translations and passes of MLIR; calling it is an error.
///
/// melior offers these functions, so a linker looks for them. They refer to the code generators of all processors, whose
/// tables are made whenever a program starts, although the runtime registers itself what it uses.
#[macro_export]
macro_rules! without_all_of_mlir {
    () => {
        #[allow(unsafe_code, reason = "defines symbols of MLIR's C API")]
        mod without_all_of_mlir {
            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllDialects(_registry: *mut std::ffi::c_void) {
                unreachable!("the program registers the dialects that it uses")
            }

            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllLLVMTranslations(_context: *mut std::ffi::c_void) {
                unreachable!("the program registers the translations that it uses")
            }

            #[unsafe(no_mangle)]
            extern "C" fn mlirRegisterAllPasses() {
                unreachable!("the program registers the passes that it uses")
            }
        }
    };
}
