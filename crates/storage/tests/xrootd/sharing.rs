//! What those who share a connection notice of each other.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use arrowroot_storage::{Result, Source, open_xrootd};

use crate::fake::{CLOSE, READ_VECTOR, start};
use crate::server::content;
use crate::{NONE, network, read_ranges, url};

const FILE_BYTES: usize = 10_000;

fn read(source: &dyn Source, offset: u64) -> Result<()> {
    let mut bytes = [0; 10];
    source.read_at(offset, &mut bytes)?;
    assert_eq!(bytes, content(FILE_BYTES, 1)[offset as usize..][..10]);
    Ok(())
}

#[test]
fn files_that_are_closed_while_nothing_can_be_sent_are_closed_with_the_next_request() {
    const N_CLOSED: usize = 5;
    let file = content(FILE_BYTES, 1);
    let (asked, is_asked) = mpsc::channel();
    let (closed, is_closed) = mpsc::channel();
    let gate = Arc::new(Barrier::new(2));
    let for_server = Arc::clone(&gate);
    let (port, n_connections) = start(move |mut client, _| {
        client.greet("")?;
        let mut n_held = 0;
        loop {
            let request = client.serve(&file, &[READ_VECTOR, CLOSE])?;
            if request.code == CLOSE {
                closed.send(()).ok()?;
            } else if n_held == 0 {
                // As much is outstanding as may be.
                n_held += 1;
                asked.send(()).ok()?;
                for_server.wait();
            }
            client.answer_rightly(&request, &file);
        }
    });
    let open = || open_xrootd(&url(port), &network(), NONE).unwrap().source;
    let source = open();
    let closed_soon: Vec<_> = (0..N_CLOSED).map(|_| open()).collect();
    std::thread::scope(|scope| {
        // Three vector reads of 1024 ranges and one of 1018 make 64 KiB, which is what may be outstanding.
        let reader = scope.spawn(|| drop(read_ranges(&*source, &vec![(7, 1); 3 * 1024 + 1018]).unwrap()));
        is_asked.recv().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        drop(closed_soon);
        gate.wait();
        reader.join().unwrap();
    });
    read(&*source, 0).unwrap();
    for _ in 0..N_CLOSED {
        is_closed.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    assert_eq!(n_connections.load(SeqCst), 1);
}
