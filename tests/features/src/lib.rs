//! Nothing: this package only turns on features of dependencies, see its manifest. Cargo builds a dependency again for
//! every set of features, and with it whatever uses it.
