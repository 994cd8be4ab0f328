//! Nothing takes longer than it may, however the server makes it last.

use std::time::{Duration, Instant};

use arrowroot_storage::{Error, Network, Speculation, open_xrootd_once};

use crate::fake::{OPEN, READ, WAIT, start};
use crate::server::content;
use crate::{network, refusal, url};

/// Long after any deadline of these tests.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_wait_beyond_the_deadline_fails_at_once() {
    let file = content(1000, 1);
    for code in [OPEN, READ] {
        let for_server = file.clone();
        let (port, _) = start(move |mut client, _| {
            client.greet("")?;
            let request = client.serve(&for_server, &[code])?;
            client.answer(&request, WAIT, &[&3600_u32.to_be_bytes(), b"from tape\0".as_slice()].concat());
            client.serve(&for_server, &[]).map(drop)
        });
        let begin = Instant::now();
        let all = Speculation { head_bytes: 1000, tail_bytes: 0 };
        let error = refusal(open_xrootd_once(&url(port), &Network { deadline: LONG, ..network() }, all));
        assert!(begin.elapsed() < LONG / 4, "{:?}", begin.elapsed());
        assert!(matches!(error, Error::Server { is_transient: false, .. }), "{error:?}");
        assert!(error.to_string().contains("come back in 3600 s, which is after the deadline"), "{error}");
    }
}
