//! The program `bough`. Everything is in the library.

fn main() {
    bough::internals::cmd::report_bugs();
    std::process::exit(bough::internals::cmd::run(std::env::args_os()) as i32);
}
