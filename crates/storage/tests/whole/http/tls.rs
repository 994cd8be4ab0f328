//! nginx with TLS: authorities, client certificates, grid proxies. Certificates are made by the openssl command.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use arrowroot_storage::Error;

use super::checks::{check_preloaded, check_vector, content, open};
use super::nginx::Nginx;

fn openssl(directory: &Path, arguments: &str) {
    let status = Command::new("openssl")
        .current_dir(directory)
        .args(arguments.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "openssl {arguments}");
}

/// An authority, a server, a client, and a proxy of that client.
fn make_certificates(directory: &Path) {
    std::fs::write(directory.join("www/f"), content(1_000_000)).unwrap();
    std::fs::write(directory.join("server.ext"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    std::fs::write(directory.join("client.ext"), "keyUsage=digitalSignature\n").unwrap();
    std::fs::write(
        directory.join("proxy.ext"),
        "keyUsage=critical,digitalSignature\nproxyCertInfo=critical,language:id-ppl-inheritAll,pathlen:1\n",
    )
    .unwrap();
    let new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(directory, &format!("req -x509 {new_key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    openssl(directory, &format!("req -x509 {new_key} -keyout other.key -out other.pem -days 2 -subj /CN=stranger"));
    for (name, issuer) in [("server", "ca"), ("client", "ca"), ("proxy", "client")] {
        let subject = if name == "proxy" { "/CN=client/CN=12345" } else { &format!("/CN={name}") };
        openssl(directory, &format!("req {new_key} -keyout {name}.key -out {name}.csr -subj {subject}"));
        openssl(
            directory,
            &format!(
                "x509 -req -in {name}.csr -CA {issuer}.pem -CAkey {issuer}.key -CAcreateserial -days 2 -out {name}.pem -extfile {name}.ext"
            ),
        );
    }
    // As voms-proxy-init writes them: certificate, key, chain.
    let text = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    std::fs::write(directory.join("x509up"), text("proxy.pem") + &text("proxy.key") + &text("client.pem")).unwrap();
    std::fs::create_dir(directory.join("authorities")).unwrap();
    std::fs::write(directory.join("authorities/0123abcd.0"), text("ca.pem")).unwrap();
    std::fs::write(directory.join("authorities/0123abcd.signing_policy"), "no certificate").unwrap();
}

fn serve(settings: &str) -> Option<Nginx> {
    let has_openssl = Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_ok();
    if !has_openssl {
        assert!(std::env::var_os("CI").is_none(), "openssl is not installed, which CI needs");
        eprintln!("SKIPPED: openssl is not installed");
        return None;
    }
    let server = "server { listen 127.0.0.1:PORT ssl;
        ssl_certificate DIR/server.pem; ssl_certificate_key DIR/server.key;";
    Nginx::start(&format!("{server} {settings} }}"), make_certificates)
}

fn url(nginx: &Nginx) -> String {
    nginx.url("f").replace("http://", "https://")
}

#[test]
fn a_server_is_trusted_if_its_authority_is() {
    let Some(nginx) = serve("") else { return };
    let path = |name: &str| nginx.path(name).to_str().unwrap().to_owned();
    for authorities in ["ca.pem", "authorities"] {
        let opened = open(&url(&nginx), &[("authorities", &path(authorities))]).unwrap();
        check_preloaded(&opened, &content(1_000_000));
        check_vector(&opened.source, &content(1_000_000), &[(10, 300_000), (400_000, 900_000)]).unwrap();
    }
    let pattern = nginx.pattern(4);
    assert_eq!(pattern.lines().filter(|line| line.contains(" 1 206 [bytes=0-4095,-65536]")).count(), 2, "{pattern}");
    assert_eq!(
        pattern.lines().filter(|line| line.contains(" 2 206 ")).count(),
        2,
        "connections are used again: {pattern}"
    );
    for authorities in [vec![], vec![("authorities", path("other.pem"))]] {
        let settings: Vec<_> = authorities.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let error = open(&url(&nginx), &settings).unwrap_err();
        assert!(matches!(&error, Error::Insecure { hint, .. } if hint.contains("X509_CERT_DIR")), "{error}");
    }
}

#[test]
fn a_client_certificate_opens_the_door() {
    let Some(nginx) = serve("ssl_client_certificate DIR/ca.pem; ssl_verify_client on;") else { return };
    let path = |name: &str| nginx.path(name).to_str().unwrap().to_owned();
    let (authority, certificate, key) = (path("ca.pem"), path("client.pem"), path("client.key"));
    let settings = [("authorities", authority.as_str()), ("certificate", &certificate), ("key", &key)];
    check_preloaded(&open(&url(&nginx), &settings).unwrap(), &content(1_000_000));
    let error = open(&url(&nginx), &settings[..1]).unwrap_err().to_string();
    assert!(error.contains("400") && error.contains("No required SSL certificate was sent"), "{error}");
    let other = path("other.key");
    let error = open(&url(&nginx), &[settings[0], settings[1], ("key", &other)]).unwrap_err();
    assert!(matches!(&error, Error::Option { what, .. } if what.contains("not that of the certificate")), "{error}");
    let error = open(&url(&nginx), &[settings[0], settings[1]]).unwrap_err();
    assert!(matches!(&error, Error::Option { what, .. } if what.contains("no plain PEM key")), "{error}");
}

#[test]
fn a_certificate_that_was_renewed_is_offered() {
    let Some(nginx) = serve("ssl_client_certificate DIR/ca.pem; ssl_verify_client on;") else { return };
    let path = |name: &str| nginx.path(name).to_str().unwrap().to_owned();
    let pair = |name: &str| {
        ["pem", "key"].map(|end| std::fs::read_to_string(path(&format!("{name}.{end}"))).unwrap()).concat()
    };
    std::fs::write(nginx.path("now"), pair("other")).unwrap();
    let (authority, certificate) = (path("ca.pem"), path("now"));
    let settings = [("authorities", authority.as_str()), ("certificate", &certificate), ("retries", "0")];
    let error = open(&url(&nginx), &settings).unwrap_err().to_string();
    assert!(error.contains("400"), "{error}");
    std::fs::write(nginx.path("now"), pair("client")).unwrap();
    let opened = open(&url(&nginx), &settings).unwrap();
    check_vector(&opened.source, &content(1_000_000), &[(400_000, 900_000)]).unwrap();
}

/// OpenSSL's own server: it is told to believe grid proxies, which nginx cannot be.
struct Door(std::process::Child);

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_grid_proxy_is_offered_with_its_chain() {
    // For its certificates.
    let Some(nginx) = serve("") else { return };
    let path = |name: &str| nginx.path(name).to_str().unwrap().to_owned();
    let port = nginx.other_port;
    let arguments = format!(
        "s_server -accept 127.0.0.1:{port} -cert {} -key {} -CAfile {} -Verify 3 -verify_return_error -allow_proxy_certs -WWW -quiet",
        path("server.pem"),
        path("server.key"),
        path("ca.pem")
    );
    let mut command = Command::new("openssl");
    command.current_dir(nginx.path("www")).args(arguments.split_whitespace());
    let _door = Door(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let (authority, proxy) = (path("ca.pem"), path("x509up"));
    let url = format!("https://127.0.0.1:{port}/f");
    // It knows no ranges and no keep-alive; connections are refused until it listens.
    let settings = [("authorities", authority.as_str()), ("certificate", &proxy), ("retries", "20")];
    let opened = open(&url, &settings).unwrap();
    assert_eq!(opened.source.size_bytes(), 1_000_000);
    check_vector(&opened.source, &content(1_000_000), &[(10, 300_000), (400_000, 900_000)]).unwrap();
    let error = open(&url, &[settings[0], ("retries", "0")]).unwrap_err();
    assert!(matches!(&error, Error::Denied { hint, .. } if hint.contains("no client certificate")), "{error}");
}

#[test]
fn a_server_that_speaks_no_tls_is_said_to_be_one() {
    let Some(nginx) = Nginx::start("server { listen 127.0.0.1:PORT; }", |_| {}) else { return };
    let error = open(&url(&nginx), &[]).unwrap_err();
    assert!(matches!(&error, Error::Insecure { hint, .. } if hint.contains("speaks no TLS at this port")), "{error}");
    assert!(!error.to_string().contains("token"), "{error}");
}

#[test]
fn a_handshake_ends_in_time_however_slowly_it_is_answered() {
    let listener = crate::ports::listen();
    let url = format!("https://{}/f", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // A record of 16 KiB, a byte now and then.
        let mut record = [&[22, 3, 3, 0x40, 0][..], &[2; 1 << 14]].concat().into_iter();
        while record.next().is_some_and(|byte| stream.write_all(&[byte]).is_ok()) {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let start = Instant::now();
    let error = open(&url, &[("timeout", "0.5"), ("retries", "0")]).unwrap_err();
    assert!(error.to_string().contains("0.5 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A server that answers each connection with an alert of TLS; returns its URL and how many there were.
fn alerting(alert: u8) -> (String, Arc<AtomicUsize>) {
    let listener = crate::ports::listen();
    let url = format!("https://127.0.0.1:{}/f", listener.local_addr().unwrap().port());
    let n_connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_connections);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            counter.fetch_add(1, SeqCst);
            // Of a client that has gone away nothing is wanted.
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(&[21, 3, 3, 0, 2, 2, alert]);
        }
    });
    (url, n_connections)
}

#[test]
fn a_server_that_fails_is_tried_again_and_one_that_refuses_a_certificate_is_believed() {
    for (alert, is_refusal) in [(80, false), (70, false), (42, true), (48, true), (49, true), (116, true)] {
        let (url, n_connections) = alerting(alert);
        let error = open(&url, &[("retries", "1")]).unwrap_err();
        assert_eq!(matches!(error, Error::Denied { .. }), is_refusal, "{alert}: {error}");
        assert_eq!(matches!(error, Error::Connection { .. }), !is_refusal, "{alert}: {error}");
        assert_eq!(n_connections.load(SeqCst) == 1, is_refusal, "{alert}");
    }
}
