//! Links the unwinder statically. By default rustc links it as a shared library (libgcc_s); finding, loading and
//! initialising that library costs every command a tenth of its time and every process some pages.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let has_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    if !(has_gnu && is_native && has_archive()) {
        return;
    }
    // The linker finds this script first when it looks for -lgcc_s. The archive has the same functions.
    if fs::write(folder.join("libgcc_s.so"), "INPUT(-l:libgcc_eh.a)\n").is_ok() {
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
}

#[expect(clippy::disallowed_methods, reason = "at build time there is no run to own")]
fn has_archive() -> bool {
    // For a library that it finds, the C compiler prints a path; otherwise it prints the bare name.
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    asked.is_ok_and(|description| {
        PathBuf::from(String::from_utf8_lossy(&description.stdout).trim()).is_absolute()
    })
}
