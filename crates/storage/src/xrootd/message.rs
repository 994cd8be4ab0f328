//! The words of the protocol: requests as bytes, and answers from bytes. No input or output.
//!
//! Source: the XRootD protocol specification 5.x and its declarations in `XProtocol.hh`. All numbers are big-endian.

/// Protocol version that is spoken: 5.1.1, the first with `kXR_pgread`.
const CLIENT_VERSION: u32 = 0x511;

/// Answer: done.
pub(crate) const OK: u16 = 0;
/// Answer: a part of it, more follows.
pub(crate) const OK_SO_FAR: u16 = 4000;
/// Not asked for, or an answer that was promised by [`WAIT_RESPONSE`].
pub(crate) const ATTENTION: u16 = 4001;
/// Answer: authentication goes on.
pub(crate) const AUTH_MORE: u16 = 4002;
/// Answer: refused or failed.
pub(crate) const ERROR: u16 = 4003;
/// Answer: ask elsewhere.
pub(crate) const REDIRECT: u16 = 4004;
/// Answer: ask again later.
pub(crate) const WAIT: u16 = 4005;
/// Answer: the answer comes later by itself.
pub(crate) const WAIT_RESPONSE: u16 = 4006;

/// Flag of the protocol answer: the server can encrypt.
pub(crate) const HAVE_TLS: u32 = 0x8000_0000;
/// Flag of the protocol answer: encryption starts after it.
pub(crate) const GOTO_TLS: u32 = 0x4000_0000;
/// Flags of the protocol answer: login, session or data want to be encrypted.
pub(crate) const WANTS_TLS: u32 = 0x0d00_0000;

const REQUEST_AUTH: u16 = 3000;
const REQUEST_QUERY: u16 = 3001;
const REQUEST_CLOSE: u16 = 3003;
const REQUEST_PROTOCOL: u16 = 3006;
const REQUEST_LOGIN: u16 = 3007;
const REQUEST_OPEN: u16 = 3010;
const REQUEST_READ: u16 = 3013;
const REQUEST_STAT: u16 = 3017;
const REQUEST_READ_VECTOR: u16 = 3025;

/// Bytes of the head of every request.
pub(crate) const REQUEST_BYTES: usize = 24;
/// Bytes of the head of every answer.
pub(crate) const HEADER_BYTES: usize = 8;
/// Bytes that precede the data of each range in a vector read, in the request and in the answer.
pub(crate) const ELEMENT_BYTES: usize = 16;
/// What an asynchronous answer carries before the head of the real one, and that head.
pub(crate) const ATTENTION_BYTES: usize = 16;
const ASYNC_RESPONSE: u32 = 5008;

/// Names a file that is open.
pub(crate) type Handle = [u8; 4];

/// The first bytes on a connection.
pub(crate) fn handshake() -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[15] = 4;
    bytes[16..].copy_from_slice(&2012_u32.to_be_bytes());
    bytes
}

/// A request whose stream id is still 0.
fn request(code: u16, body: [u8; 16], payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST_BYTES + payload.len());
    bytes.extend([0, 0]);
    bytes.extend(code.to_be_bytes());
    bytes.extend(body);
    bytes.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Writes the stream id into a request.
pub(crate) fn set_stream(request: &mut [u8], stream: u16) {
    request[..2].copy_from_slice(&stream.to_be_bytes());
}

fn body_with_handle(handle: Handle) -> [u8; 16] {
    let mut body = [0; 16];
    body[..4].copy_from_slice(&handle);
    body
}

/// Asks what the server is and needs; with `want_tls`, to encrypt from then on.
pub(crate) fn protocol(want_tls: bool) -> Vec<u8> {
    const SECURITY_REQUIREMENTS: u8 = 1;
    const ABLE_AND_WANT_TLS: u8 = 2 | 4;
    const EXPECT_LOGIN: u8 = 3;
    let mut body = [0; 16];
    body[..4].copy_from_slice(&CLIENT_VERSION.to_be_bytes());
    body[4] = SECURITY_REQUIREMENTS | if want_tls { ABLE_AND_WANT_TLS } else { 0 };
    body[5] = EXPECT_LOGIN;
    request(REQUEST_PROTOCOL, body, &[])
}

/// Begins a session. `token`: what a redirector gave for it.
pub(crate) fn login(user: &str, process: u32, token: &str) -> Vec<u8> {
    const FULL_URL: u8 = 1;
    const REDIRECT_ON_READ: u8 = 4;
    const ASYNC_CAPABLE: u8 = 128;
    const LOGIN_VERSION: u8 = 5;
    let mut body = [0; 16];
    body[..4].copy_from_slice(&process.to_be_bytes());
    let n_name = user.len().min(8);
    body[4..4 + n_name].copy_from_slice(&user.as_bytes()[..n_name]);
    body[13] = FULL_URL | REDIRECT_ON_READ;
    body[14] = ASYNC_CAPABLE | LOGIN_VERSION;
    let mut words = "?xrd.appname=arrowroot".to_owned();
    if !token.is_empty() {
        words.push('&');
        words.push_str(token);
    }
    request(REQUEST_LOGIN, body, words.as_bytes())
}

/// Credentials of a security protocol, named by up to four letters.
pub(crate) fn auth(protocol: &str, credentials: &[u8]) -> Vec<u8> {
    let mut body = [0; 16];
    let n_name = protocol.len().min(4);
    body[12..12 + n_name].copy_from_slice(&protocol.as_bytes()[..n_name]);
    request(REQUEST_AUTH, body, credentials)
}

/// Opens for reading; size and time come with the answer.
pub(crate) fn open(path_and_opaque: &str) -> Vec<u8> {
    const OPEN_READ: u16 = 0x0010;
    const RETURN_STAT: u16 = 0x0400;
    let mut body = [0; 16];
    body[2..4].copy_from_slice(&(OPEN_READ | RETURN_STAT).to_be_bytes());
    request(REQUEST_OPEN, body, path_and_opaque.as_bytes())
}

/// Closes.
pub(crate) fn close(handle: Handle) -> Vec<u8> {
    request(REQUEST_CLOSE, body_with_handle(handle), &[])
}

/// Asks for the state of an open file.
pub(crate) fn stat(handle: Handle) -> Vec<u8> {
    let mut body = [0; 16];
    body[12..].copy_from_slice(&handle);
    request(REQUEST_STAT, body, &[])
}

/// Asks for the limits of vector reads.
pub(crate) fn query_limits() -> Vec<u8> {
    const CONFIGURATION: u16 = 7;
    let mut body = [0; 16];
    body[..2].copy_from_slice(&CONFIGURATION.to_be_bytes());
    request(REQUEST_QUERY, body, b"readv_ior_max readv_iov_max")
}

/// Asks for one range.
pub(crate) fn read(handle: Handle, offset: u64, n_bytes: u32) -> Vec<u8> {
    let mut body = body_with_handle(handle);
    body[4..12].copy_from_slice(&offset.to_be_bytes());
    body[12..].copy_from_slice(&n_bytes.to_be_bytes());
    request(REQUEST_READ, body, &[])
}

/// Makes a request for one range one for another range of the same file.
pub(crate) fn set_range(read: &mut [u8], offset: u64, n_bytes: u32) {
    read[8..16].copy_from_slice(&offset.to_be_bytes());
    read[16..20].copy_from_slice(&n_bytes.to_be_bytes());
}

/// Asks for several ranges: offsets and lengths in bytes.
pub(crate) fn read_vector(handle: Handle, ranges: impl Iterator<Item = (u64, u32)>) -> Vec<u8> {
    let list: Vec<u8> = ranges.flat_map(|(offset, n_bytes)| element(handle, offset, n_bytes)).collect();
    request(REQUEST_READ_VECTOR, [0; 16], &list)
}

/// What stands for a range in a vector read: in the request, and before the data in the answer.
pub(crate) fn element(handle: Handle, offset: u64, n_bytes: u32) -> [u8; ELEMENT_BYTES] {
    let mut bytes = [0; ELEMENT_BYTES];
    bytes[..4].copy_from_slice(&handle);
    bytes[4..8].copy_from_slice(&n_bytes.to_be_bytes());
    bytes[8..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// Head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Of the request that it answers.
    pub(crate) stream: u16,
    pub(crate) status: u16,
    /// Length of what follows.
    pub(crate) n_bytes: usize,
}

impl Header {
    /// Reads one; `Err` says what is wrong with it.
    pub(crate) fn parse(bytes: [u8; HEADER_BYTES]) -> Result<Header, String> {
        let [s0, s1, c0, c1, n0, n1, n2, n3] = bytes;
        let n_bytes = i32::from_be_bytes([n0, n1, n2, n3]);
        Ok(Header {
            stream: u16::from_be_bytes([s0, s1]),
            status: u16::from_be_bytes([c0, c1]),
            n_bytes: usize::try_from(n_bytes).map_err(|_| format!("an answer of {n_bytes} bytes"))?,
        })
    }
}

/// The head of the real answer in an asynchronous one, or `None` if it is a mere message.
pub(crate) fn parse_attention(bytes: [u8; ATTENTION_BYTES], n_outer_bytes: usize) -> Result<Option<Header>, String> {
    if u32_at(&bytes, 0) != Some(ASYNC_RESPONSE) {
        return Ok(None);
    }
    let mut inner = [0; HEADER_BYTES];
    inner.copy_from_slice(&bytes[8..]);
    let header = Header::parse(inner)?;
    if header.n_bytes != n_outer_bytes - ATTENTION_BYTES {
        return Err(format!("{} bytes announced in an asynchronous answer of {n_outer_bytes}", header.n_bytes));
    }
    Ok(Some(header))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// Text of an answer: no NUL, nothing that would disturb a terminal, and not endless.
fn text(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 500;
    let text = String::from_utf8_lossy(bytes);
    let clean = text.chars().filter(|&c| c != '\0').map(|c| if c.is_control() { ' ' } else { c });
    clean.take(MAX_CHARS).collect::<String>().trim().to_owned()
}

/// Number and words of an error.
pub(crate) fn parse_error(body: &[u8]) -> (u32, String) {
    match u32_at(body, 0) {
        Some(code) => (code, text(&body[4..])),
        None => (0, "an error without number".to_owned()),
    }
}

/// Port (or a sign that a URL follows) and place of a redirection.
pub(crate) fn parse_redirect(body: &[u8]) -> Result<(i32, String), String> {
    let port = u32_at(body, 0).ok_or("a redirection without place")?;
    let place = std::str::from_utf8(&body[4..]).map_err(|_| "a redirection that is no text")?;
    Ok((port.cast_signed(), place.trim_end_matches('\0').to_owned()))
}

/// Seconds of a request to wait.
pub(crate) fn parse_seconds(body: &[u8]) -> Result<u32, String> {
    u32_at(body, 0)
        .filter(|&seconds| seconds <= i32::MAX.cast_unsigned())
        .ok_or_else(|| "a time to wait that is none".to_owned())
}

/// Flags of the answer to the protocol request.
pub(crate) fn parse_protocol(body: &[u8]) -> Result<u32, String> {
    u32_at(body, 4).ok_or_else(|| format!("a protocol answer of {} bytes", body.len()))
}

/// The security protocols that the server offers, in its order; none: who is logged in may go on.
pub(crate) fn parse_login(body: &[u8]) -> Result<Vec<String>, String> {
    const SESSION_BYTES: usize = 16;
    let security = match body.len() {
        0 => return Ok(Vec::new()),
        1..SESSION_BYTES => return Err(format!("a login answer of {} bytes", body.len())),
        _ => String::from_utf8_lossy(&body[SESSION_BYTES..]),
    };
    let words = security.split("&P=").skip(1);
    let names = words.map(|word| word.split([',', '\0', '&']).next().unwrap_or_default());
    Ok(names.filter(|name| !name.is_empty()).map(|name| text(name.as_bytes())).collect())
}

/// Size in bytes and time of the last change (in s) of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) size_bytes: u64,
    pub(crate) modified_s: i64,
}

/// `id size flags modification-time ...` as text.
pub(crate) fn parse_stat(body: &[u8]) -> Result<Stat, String> {
    let line = text(body);
    let mut words = line.split_ascii_whitespace();
    let size_bytes =
        words.nth(1).and_then(|word| word.parse::<u64>().ok()).filter(|&size| size <= i64::MAX.cast_unsigned());
    let modified_s = words.nth(1).and_then(|word| word.parse().ok());
    match (size_bytes, modified_s) {
        (Some(size_bytes), Some(modified_s)) => Ok(Stat { size_bytes, modified_s }),
        _ => Err(format!("a state of {line:?}")),
    }
}

/// Handle and state of a file that was opened; some servers leave the state out, or something of it: it is then asked for.
pub(crate) fn parse_open(body: &[u8]) -> Result<(Handle, Option<Stat>), String> {
    const BEFORE_STAT_BYTES: usize = 12;
    let handle = *body.first_chunk().ok_or_else(|| format!("an open answer of {} bytes", body.len()))?;
    let stat = match body.get(BEFORE_STAT_BYTES..) {
        Some(stat) => parse_stat(stat).ok(),
        None => None,
    };
    Ok((handle, stat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::xrootd::VectorLimits;
    use proptest::prelude::*;

    #[test]
    fn requests_are_as_the_specification_lays_them_out() {
        assert_eq!(handshake(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 7, 220]);
        let mut bytes = read([1, 2, 3, 4], 0x0102, 7);
        set_stream(&mut bytes, 0x0506);
        assert_eq!(bytes, [5, 6, 0x0b, 0xc5, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 7, 0, 0, 0, 0]);
        set_range(&mut bytes, 0x0807, 6);
        assert_eq!(bytes, [5, 6, 0x0b, 0xc5, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 6, 0, 0, 0, 0]);
        let bytes = read_vector([1, 2, 3, 4], [(9, 8), (7, 6)].into_iter());
        assert_eq!(bytes.len(), 24 + 2 * 16);
        assert_eq!(bytes[20..24], [0, 0, 0, 32]);
        assert_eq!(bytes[24..40], [1, 2, 3, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9]);
        let bytes = login("averylongname", 258, "");
        assert_eq!(bytes[4..16], *b"\0\0\x01\x02averylon");
        assert_eq!(open("/f?a=1")[24..], *b"/f?a=1");
    }

    #[test]
    fn answers_are_read_as_servers_write_them() {
        let header = Header::parse([0, 7, 0x0f, 0xa3, 0, 0, 0, 9]).unwrap();
        assert_eq!(header, Header { stream: 7, status: ERROR, n_bytes: 9 });
        assert!(Header::parse([0, 7, 0, 0, 255, 255, 255, 255]).is_err());
        assert_eq!(parse_error(b"\0\0\x0b\xc3no such file\0"), (3011, "no such file".to_owned()));
        assert_eq!(parse_redirect(b"\0\0\x04\x46host?a=b\0"), Ok((1094, "host?a=b".to_owned())));
        let security = parse_login(b"0123456789abcdef&P=gsi,v:10400,c:ssl&P=unix&P=ztn,0:4096:\0").unwrap();
        assert_eq!(security, ["gsi", "unix", "ztn"]);
        assert_eq!(parse_login(b"0123456789abcdef"), Ok(Vec::new()));
        let (handle, stat) = parse_open(b"\x01\0\0\0\0\0\0\0\0\0\0\x0099 1234 16 1700000000 17 18 0644 a b\0").unwrap();
        assert_eq!((handle, stat), ([1, 0, 0, 0], Some(Stat { size_bytes: 1234, modified_s: 1_700_000_000 })));
        assert_eq!(parse_open(&[1, 2, 3, 4]), Ok(([1, 2, 3, 4], None)));
    }

    #[test]
    fn limits_that_a_server_does_not_know_are_the_usual_ones() {
        let usual = VectorLimits::DEFAULT;
        assert_eq!(VectorLimits::parse(b"2097136\n1024\n"), usual);
        assert_eq!(VectorLimits::parse(b"readv_ior_max\nreadv_iov_max\n\0"), usual);
        assert_eq!(VectorLimits::parse(b"0\n0\n"), usual);
        assert_eq!(VectorLimits::parse(b""), usual);
        assert_eq!(
            VectorLimits::parse(b"8388608\n100"),
            VectorLimits { max_range_bytes: 8_388_608, max_ranges: 100, ..usual }
        );
        assert_eq!(VectorLimits::parse(b"1\n99999999999999999999").max_ranges, 1024);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(body in prop::collection::vec(any::<u8>(), 0..80)) {
            parse_error(&body);
            let _ = (parse_redirect(&body), parse_seconds(&body), parse_protocol(&body));
            let _ = (parse_login(&body), parse_stat(&body), parse_open(&body));
            let limits = VectorLimits::parse(&body);
            prop_assert!((1..=1024).contains(&limits.max_ranges) && limits.max_range_bytes > 0);
        }

        #[test]
        fn a_state_is_what_was_written(size in 0..=i64::MAX, time: i64, id: i64, flags: u16) {
            let stat = parse_stat(format!("{id} {size} {flags} {time}").as_bytes()).unwrap();
            prop_assert_eq!((stat.size_bytes, stat.modified_s), (size.cast_unsigned(), time));
        }
    }
}
