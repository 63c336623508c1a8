//! Lets programs link MLIR's archives without the functions that register all of MLIR.

/// Defines, in the program that uses it, the functions that register all dialects, translations and passes of MLIR.
/// Calling them is an error.
///
/// melior offers these functions, so a linker looks for them. They refer to the code generators of all processors,
/// whose tables are built whenever a program starts, although the runtime itself registers everything that it uses.
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
