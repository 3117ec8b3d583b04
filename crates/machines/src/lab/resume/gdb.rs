//! QEMU's stub for debuggers, by gdb's remote protocol (GDB manual, appendix E). It stops a machine at an instruction,
//! reads and writes the memory of the process that runs there, and lets the machine go on.

use crate::machine::MachineError;
use crate::qmp::Trouble;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// The most bytes of a write. QEMU's packets are at most 4,096 bytes long, and a byte takes two digits.
const CHUNK: usize = 1024;

/// The connection to one QEMU's stub.
#[derive(Debug)]
pub struct Gdb(UnixStream);

impl Gdb {
    /// Makes a connection, and the end that QEMU inherits.
    pub fn pair() -> Result<(Self, OwnedFd), MachineError> {
        let error = |e| MachineError::io("make a socket for", "QEMU's debugger", e);
        let (ours, its) = UnixStream::pair().map_err(error)?;
        Ok((Self(ours), its.into()))
    }

    /// QEMU's arguments for its end, descriptor `fd` in QEMU. The stub is started on the chardev `gdb` later.
    pub fn arguments(fd: i32) -> [String; 2] {
        ["-chardev".into(), format!("socket,id=gdb,fd={fd}")]
    }

    /// Lets a machine run from its start to the instruction at `address`. Returns the thread (CPU) that stopped there.
    pub fn run_to(&mut self, address: u64) -> Result<String, Trouble> {
        self.ok(&format!("Z1,{address:x},1"))?;
        self.send("c")?;
        let stop = self.receive()?;
        let thread = stop
            .split_once("thread:")
            .filter(|_| stop.starts_with('T'))
            .and_then(|(_, rest)| rest.split(';').next())
            .ok_or_else(|| said("c", &stop))?
            .to_owned();
        self.ok(&format!("z1,{address:x},1"))?;
        Ok(thread)
    }

    /// Reads the byte at an address of the process that runs on a CPU.
    pub fn byte(&mut self, thread: &str, address: u64) -> Result<u8, Trouble> {
        self.ok(&format!("Hg{thread}"))?;
        let question = format!("m{address:x},1");
        let answer = self.ask(&question)?;
        u8::from_str_radix(&answer, 16).map_err(|_| said(&question, &answer))
    }

    /// Writes to the memory of the process that runs on a CPU.
    pub fn write(&mut self, thread: &str, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        self.ok(&format!("Hg{thread}"))?;
        for (at, chunk) in (address..).step_by(CHUNK).zip(bytes.chunks(CHUNK)) {
            let digits: String = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            self.ok(&format!("M{at:x},{:x}:{digits}", chunk.len()))?;
        }
        Ok(())
    }

    /// Detaches from the machine, which goes on.
    pub fn go_on(mut self) -> Result<(), Trouble> {
        self.ok("D")
    }

    fn ok(&mut self, request: &str) -> Result<(), Trouble> {
        match &*self.ask(request)? {
            "OK" => Ok(()),
            other => Err(said(request, other)),
        }
    }

    fn ask(&mut self, request: &str) -> Result<String, Trouble> {
        self.send(request)?;
        self.receive()
    }

    fn send(&mut self, request: &str) -> Result<(), Trouble> {
        let packet = format!("${request}#{:02x}", sum(request.as_bytes()));
        let sent = self.0.write_all(packet.as_bytes());
        sent.map_err(|_| Trouble::Closed)
    }

    /// Receives the next packet. The acknowledgement of our own packet is skipped.
    fn receive(&mut self) -> Result<String, Trouble> {
        while self.next()? != b'$' {}
        let mut packet = Vec::new();
        loop {
            match self.next()? {
                b'#' => break,
                byte => packet.push(byte),
            }
        }
        let digits = [self.next()?, self.next()?];
        let told = std::str::from_utf8(&digits)
            .ok()
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        if told != Some(sum(&packet)) {
            return Err(said("a request", "a packet with another sum"));
        }
        // If QEMU has closed the connection, the next request fails.
        let _ = self.0.write_all(b"+");
        Ok(String::from_utf8_lossy(&packet).into_owned())
    }

    fn next(&mut self) -> Result<u8, Trouble> {
        let mut byte = [0];
        match self.0.read_exact(&mut byte) {
            Ok(()) => Ok(byte[0]),
            Err(_) => Err(Trouble::Closed),
        }
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

fn said(request: &str, answer: &str) -> Trouble {
    let request: String = request.chars().take(20).collect();
    Trouble::Other(MachineError::Other(format!(
        "QEMU's debugger stub answered {answer:?} to {request:?}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stub that answers each packet with the next of `answers`; what it was asked.
    fn stub(end: OwnedFd, answers: &[&str]) -> std::thread::JoinHandle<Vec<String>> {
        let answers: Vec<String> = answers.iter().map(|a| (*a).to_owned()).collect();
        std::thread::spawn(move || {
            let mut peer = Gdb(UnixStream::from(end));
            let mut asked = Vec::new();
            for answer in answers {
                let Ok(request) = peer.receive() else { break };
                asked.push(request);
                peer.send(&answer).unwrap();
            }
            asked
        })
    }

    #[test]
    fn a_machine_is_stopped_written_to_and_left() {
        let (mut gdb, end) = Gdb::pair().unwrap();
        let answers = [
            "OK",
            "T05thread:02;",
            "OK",
            "OK",
            "2b",
            "OK",
            "OK",
            "OK",
            "OK",
        ];
        let peer = stub(end, &answers);
        let thread = gdb.run_to(0x5a5a_5000).unwrap();
        assert_eq!(thread, "02");
        assert_eq!(gdb.byte(&thread, 0x1000).unwrap(), b'+');
        gdb.write(&thread, 0x1000, &[0xab; CHUNK + 1]).unwrap();
        gdb.go_on().unwrap();
        let asked = peer.join().unwrap();
        let first = [
            "Z1,5a5a5000,1",
            "c",
            "z1,5a5a5000,1",
            "Hg02",
            "m1000,1",
            "Hg02",
        ];
        assert_eq!(asked[..6], first);
        assert!(asked[6].starts_with("M1000,400:abab"));
        assert_eq!(asked[7..], ["M1400,1:ab", "D"]);
    }

    #[test]
    fn an_error_of_the_stub_and_its_end_are_told_apart() {
        let (mut gdb, end) = Gdb::pair().unwrap();
        let peer = stub(end, &["E22"]);
        let error = gdb.run_to(1).unwrap_err();
        assert!(
            matches!(&error, Trouble::Other(e) if e.to_string().contains("E22")),
            "{error:?}"
        );
        peer.join().unwrap();
        assert!(matches!(gdb.byte("1", 0), Err(Trouble::Closed)));
    }

    #[test]
    fn a_packet_with_another_sum_is_refused() {
        let (mut gdb, end) = Gdb::pair().unwrap();
        let mut peer = UnixStream::from(end);
        peer.write_all(b"+$OK#00").unwrap();
        assert!(matches!(gdb.ok("D"), Err(Trouble::Other(_))));
    }
}
