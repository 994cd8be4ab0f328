//! A real xrootd on a free loopback port, with its own configuration and data, gone with its value.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::lchown;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::ports::free_port;

/// xrootd listens on every address and has no option against it: binds to the wildcard become binds to the loopback.
const BIND_LOOPBACK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
int bind(int fd, const struct sockaddr* address, socklen_t length) {
  static int (*next)(int, const struct sockaddr*, socklen_t);
  if (!next) next = dlsym(RTLD_NEXT, "bind");
  struct sockaddr_in changed;
  if (address->sa_family == AF_INET && length >= sizeof changed) {
    memcpy(&changed, address, sizeof changed);
    if (changed.sin_addr.s_addr == htonl(INADDR_ANY)) {
      changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return next(fd, (struct sockaddr*)&changed, sizeof changed);
    }
  }
  return next(fd, address, length);
}
"#;

/// Whether there is an xrootd; said loudly if not, and an error where everything should be there.
pub fn is_installed() -> bool {
    let is_there = Command::new("xrootd").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "xrootd is missing: apt install xrootd-server xrootd-server-plugins");
        eprintln!("SKIPPED: xrootd is missing: apt install xrootd-server xrootd-server-plugins");
    }
    is_there
}

/// A directory that is removed at the end, and which others may read.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("arrowroot-xrootd-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn preload() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bind-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-x", "c", "-", "-o"]).arg(&path).arg("-ldl").stdin(Stdio::piped());
        let mut compiler = compiler.spawn().ok()?;
        compiler.stdin.take()?.write_all(BIND_LOOPBACK.as_bytes()).ok()?;
        compiler.wait().ok()?.success().then_some(path)
    };
    LIBRARY.get_or_init(build).as_deref()
}

pub struct Server {
    pub directory: Directory,
    pub port: u16,
    process: Option<Child>,
}

impl Server {
    /// Starts one with more lines of configuration; `DIR` in them is its directory.
    pub fn start(more: &str) -> Server {
        let directory = Directory::new();
        let mut server = Server { directory, port: free_port(), process: None };
        let path = server.directory.0.display().to_string();
        let configuration = format!(
            "xrd.port {}\nxrd.network nodnr\nall.export /data r/o\noss.localroot {path}\nall.adminpath {path}\n\
             all.pidpath {path}\n{}\n",
            server.port,
            more.replace("DIR", &path)
        );
        std::fs::create_dir_all(server.directory.0.join("data")).unwrap();
        std::fs::write(server.directory.0.join("xrootd.cfg"), configuration).unwrap();
        server.restart();
        server
    }

    /// A file that it serves as `/data/NAME`; returns its content.
    pub fn with_file(&self, name: &str, n_bytes: usize, seed: u64) -> Vec<u8> {
        let content = content(n_bytes, seed);
        std::fs::write(self.path_of(name), &content).unwrap();
        content
    }

    pub fn path_of(&self, name: &str) -> PathBuf {
        self.directory.0.join("data").join(name)
    }

    pub fn url(&self, name: &str) -> String {
        format!("root://127.0.0.1:{}//data/{name}", self.port)
    }

    /// Starts it, again on the same port.
    pub fn restart(&mut self) {
        self.kill();
        let directory = &self.directory.0;
        let arguments = ["-c", "xrootd.cfg", "-I", "v4", "-l", "xrootd.log"];
        let mut command = if rustix::process::geteuid().is_root() {
            // It refuses to run as root.
            let nobody = Command::new("id").args(["-u", "nobody"]).output().unwrap().stdout;
            let nobody: u32 = String::from_utf8(nobody).unwrap().trim().parse().unwrap();
            own(directory, nobody);
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--clear-groups", "--inh-caps=-all", "xrootd"]);
            command
        } else {
            Command::new("xrootd")
        };
        command.args(arguments).current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(library) = preload() {
            let own = directory.join("bind.so");
            std::fs::copy(library, &own).unwrap();
            command.env("LD_PRELOAD", own);
        }
        self.process = Some(command.spawn().unwrap());
        let start = Instant::now();
        let mut n_crashes = 0;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            match self.process.as_mut().unwrap().try_wait().unwrap() {
                // XRootD 6 crashes now and then as it starts.
                Some(ended) if ended.signal().is_some() && n_crashes < 3 => {
                    n_crashes += 1;
                    self.process = Some(command.spawn().unwrap());
                }
                ended => {
                    let is_starting = ended.is_none() && start.elapsed() < Duration::from_secs(120);
                    assert!(is_starting, "{ended:?} {}", self.log());
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// What it wrote.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.0.join("xrootd.log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn own(path: &Path, user: u32) {
    lchown(path, Some(user), None).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path(), user);
        }
    }
}

/// Bytes that look random, so that a wrong place shows.
pub fn content(n_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut content = Vec::with_capacity(n_bytes + 8);
    while content.len() < n_bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend(state.to_le_bytes());
    }
    content.truncate(n_bytes);
    content
}
