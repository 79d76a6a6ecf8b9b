//! The program `vouch`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    vouch_cli::main()
}
