//! Tests of this program in children: limits and kills are of a process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The task of a child; without it the tests that are children do nothing.
const ROLE: &str = "ARROWROOT_TEST_ROLE";
const DIRECTORY: &str = "ARROWROOT_TEST_DIRECTORY";

/// A child that runs one test, named with its module.
pub(crate) fn child(test: &str, role: &str, directory: &Path) -> Command {
    child_of(Command::new(std::env::current_exe().unwrap()), test, role, directory)
}

/// As [`child`], by a shell that does something before.
pub(crate) fn child_after(script: &str, test: &str, role: &str, directory: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{script}; exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
    child_of(shell, test, role, directory)
}

fn child_of(mut command: Command, test: &str, role: &str, directory: &Path) -> Command {
    command.args(["--exact", test, "--nocapture"]).env(ROLE, role).env(DIRECTORY, directory);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The task of this process as a child, and its place.
pub(crate) fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, std::env::var_os(DIRECTORY)?.into()))
}

/// Checks that the test of a child was there, and succeeded.
pub(crate) fn check_child(output: &Output) {
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
}
