//! A real nginx on free ports of the loopback interface, with a configuration and logs of its own.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ports::free_port;

/// A running server; it ends with this value.
pub(crate) struct Nginx {
    child: Child,
    directory: TempDir,
    pub port: u16,
    pub other_port: u16,
}

fn program() -> Option<PathBuf> {
    let mut places: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    places.extend(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    places.into_iter().map(|place| place.join("nginx")).find(|path| path.is_file())
}

impl Nginx {
    /// Starts one in a new directory. `servers` are its server blocks, where `PORT`, `OTHER` and `DIR` are replaced; `prepare`
    /// fills the directory. `None`, and a line on stderr, if nginx is not installed; in CI that is an error.
    pub(crate) fn start(servers: &str, prepare: impl FnOnce(&Path)) -> Option<Nginx> {
        let Some(program) = program() else {
            assert!(std::env::var_os("CI").is_none(), "nginx is not installed, which CI needs");
            eprintln!("SKIPPED: nginx is not installed (apt-get install nginx-light)");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        std::fs::create_dir(path.join("www")).unwrap();
        prepare(path);
        let (port, other_port) = (free_port(), free_port());
        let servers = servers
            .replace("PORT", &port.to_string())
            .replace("OTHER", &other_port.to_string())
            .replace("DIR", path.to_str().unwrap());
        let dir = path.display();
        let config = format!(
            "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log;
             events {{ worker_connections 512; }}
             http {{
               log_format pattern '$connection $connection_requests $status [$http_range] $server_port $uri [$http_authorization]';
               access_log {dir}/access.log pattern;
               client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
               uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
               root {dir}/www; keepalive_requests 10000;
               {servers}
             }}"
        );
        std::fs::write(path.join("nginx.conf"), config).unwrap();
        let mut child = Command::new(program)
            .args(["-p", path.to_str().unwrap(), "-c", path.join("nginx.conf").to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = std::fs::read_to_string(path.join("error.log")).unwrap_or_default();
            assert!(child.try_wait().unwrap().is_none(), "nginx ended: {log}");
            assert!(start.elapsed() < Duration::from_secs(120), "nginx does not answer: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Nginx { child, directory, port, other_port })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Requests so far: which connection, the how-manieth on it, status, range. Connections are numbered as they come; what
    /// is made at the same time is sorted by range.
    pub(crate) fn pattern(&self, n_expected: usize) -> String {
        let start = Instant::now();
        let lines = loop {
            let log = std::fs::read_to_string(self.path("access.log")).unwrap_or_default();
            // The last one may be half written.
            let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let lines: Vec<_> = whole.lines().map(str::to_owned).collect();
            if lines.len() >= n_expected || start.elapsed() > Duration::from_secs(60) {
                break lines;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut connections: Vec<String> = Vec::new();
        let named = lines.iter().map(|line| {
            let (connection, rest) = line.split_once(' ').unwrap();
            if !connections.iter().any(|known| known == connection) {
                connections.push(connection.to_owned());
            }
            let index = connections.iter().position(|known| known == connection).unwrap();
            let rest = rest
                .replace(&format!("] {} ", self.port), "] ")
                .replace(&format!("] {} ", self.other_port), "] other ");
            format!("c{index} {}", rest.trim_end_matches(" [-]"))
        });
        named.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // This very process, and nothing else of that name.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
