//! Records the compiler version, on which every measurement depends.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    println!("cargo:rustc-env=SEALANT_RUSTC={version}");
    println!("cargo:rerun-if-changed=build.rs");
}
