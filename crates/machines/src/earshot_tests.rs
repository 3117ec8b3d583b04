//! Tests of a timed console: which bytes arrive, their timestamps, and its end.

use super::*;
use std::io::Write;

/// Takes until there are `wanted` bytes, or nothing more will come.
fn take(earshot: &mut Earshot, wanted: usize) -> (Vec<u8>, Vec<Chunk>, bool) {
    let (mut bytes, mut chunks, mut more) = (Vec::new(), Vec::new(), true);
    let started = Instant::now();
    while bytes.len() < wanted && more {
        more = earshot.take(&mut bytes, &mut chunks).unwrap();
        assert!(started.elapsed() < Duration::from_secs(60), "nothing came");
        std::thread::sleep(Duration::from_millis(1));
    }
    (bytes, chunks, more)
}

#[test]
fn bytes_that_come_one_by_one_are_heard_one_by_one_and_at_once() {
    let (mut earshot, mut theirs) = Earshot::listen().unwrap();
    let (mut sent, mut heard) = (Vec::new(), Vec::new());
    for (count, byte) in b"abc".iter().enumerate() {
        sent.push(counter::read());
        theirs.write_all(&[*byte]).unwrap();
        // It arrives though nobody calls `take`.
        let started = Instant::now();
        while earshot.shared.lock().bytes.len() <= count {
            assert!(started.elapsed() < Duration::from_secs(60), "nothing came");
            std::thread::sleep(Duration::from_millis(1));
        }
        heard.push(counter::read());
    }
    let (bytes, chunks, _) = take(&mut earshot, 3);
    assert_eq!(bytes, b"abc");
    assert_eq!(
        chunks.iter().map(|c| c.bytes).collect::<Vec<_>>(),
        [1, 1, 1]
    );
    // Timestamped on arrival, not when they were taken.
    for (chunk, (sent, heard)) in chunks.iter().zip(sent.iter().zip(&heard)) {
        assert!((sent..=heard).contains(&&chunk.ticks));
    }
}

#[test]
fn chunks_and_bytes_belong_together_however_much_there_is() {
    let (mut earshot, mut theirs) = Earshot::listen().unwrap();
    let text: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
    let writer = std::thread::spawn({
        let text = text.clone();
        move || theirs.write_all(&text).unwrap()
    });
    let (bytes, chunks, _) = take(&mut earshot, text.len());
    writer.join().unwrap();
    assert!(bytes == text);
    assert_eq!(chunks.iter().map(|c| c.bytes).sum::<usize>(), text.len());
    assert!(chunks.windows(2).all(|pair| pair[0].ticks <= pair[1].ticks));
    // The other end is closed.
    assert!(!take(&mut earshot, 1).2);
    assert!(!take(&mut earshot, 1).2);
}

#[test]
fn a_call_gives_no_more_than_64_kib() {
    let (mut earshot, mut theirs) = Earshot::listen().unwrap();
    theirs.write_all(&[b'x'; 200_000]).unwrap();
    // All but what the pipe and one read hold was read before the last of it could be written.
    let (mut bytes, mut chunks) = (Vec::new(), Vec::new());
    assert!(earshot.take(&mut bytes, &mut chunks).unwrap());
    assert!(
        (48 << 10..=64 << 10).contains(&bytes.len()),
        "{}",
        bytes.len()
    );
}

#[test]
fn a_flood_that_nobody_takes_waits_in_the_pipe() {
    let (earshot, mut theirs) = Earshot::listen().unwrap();
    rustix::fs::fcntl_setfl(&theirs, rustix::fs::OFlags::NONBLOCK).unwrap();
    let kept = || earshot.shared.lock().bytes.len();
    let (started, mut written, mut refusals) = (Instant::now(), 0usize, 0);
    // Until the buffer is full, and then until the pipe has refused more for a while.
    while kept() < KEPT_BYTES || refusals < 50 {
        assert!(started.elapsed() < Duration::from_secs(60), "{written}");
        match theirs.write(&[b'x'; 4096]) {
            Ok(count) => (written, refusals) = (written + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refusals += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        assert!(written < 4 << 20, "nobody waits");
    }
    assert!(kept() < KEPT_BYTES + CHUNK_BYTES, "{}", kept());
    // And the thread does not wait on when the reader is dropped.
    drop(earshot);
    let gone = loop {
        match theirs.write(b"x") {
            Err(error) if error.kind() != ErrorKind::WouldBlock => break error.kind(),
            _ => assert!(started.elapsed() < Duration::from_secs(60), "it reads on"),
        }
    };
    assert_eq!(gone, ErrorKind::BrokenPipe);
}

#[test]
fn a_speaking_end_that_somebody_keeps_holds_nobody_up_beyond_patience() {
    let (mut earshot, theirs) = Earshot::listen().unwrap();
    earshot.patience = Duration::ZERO;
    drop(earshot);
    drop(theirs);
}
