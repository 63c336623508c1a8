//! What registers all that MLIR has. melior offers it, so the linker would look for it; it refers to the code generators
//! of all processors, whose tables are made whenever the program starts, although the program never calls it: it
//! registers what it uses (`runtime::jit`). So these stand in its place.
#![expect(unsafe_code, reason = "defines symbols of MLIR's C API")]

use std::ffi::c_void;

#[unsafe(no_mangle)]
extern "C" fn mlirRegisterAllDialects(_registry: *mut c_void) {
    unreachable!("the program registers the dialects that it uses")
}

#[unsafe(no_mangle)]
extern "C" fn mlirRegisterAllLLVMTranslations(_context: *mut c_void) {
    unreachable!("the program registers the translations that it uses")
}

#[unsafe(no_mangle)]
extern "C" fn mlirRegisterAllPasses() {
    unreachable!("the program registers the passes that it uses")
}
