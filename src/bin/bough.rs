//! The program `bough`. Everything is in the library.

fn main() {
    bough::cmd::report_bugs();
    std::process::exit(bough::cmd::run(std::env::args_os()) as i32);
}
