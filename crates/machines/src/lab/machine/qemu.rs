//! Starts QEMU for a lab machine: at once, or led to the point where the machine has booted.

use super::{Begin, LabMachine, Made};
use crate::child::Child;
use crate::inherited::Inherited;
use crate::lab::command::{self, Launch};
use crate::lab::multiboot;
use crate::lab::resume::{Conductor, How, LaunchPoint, Led, States, Stopped};
use crate::machine::{Console, LaunchRequest, Machine, MachineError, Witness};
use crate::process::Handed;
use crate::recording::Recorder;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;

/// The files that are made for a launch.
struct Files {
    made: Option<Vec<u8>>,
    tree: Option<Vec<u8>>,
}

/// The value of `LD_PRELOAD`: this file, and the files that it named before.
fn preloaded(file: &str, before: Option<OsString>) -> OsString {
    let mut files = OsString::from(file);
    if let Some(before) = before {
        files.push(":");
        files.push(before);
    }
    files
}

impl LabMachine {
    pub(super) fn start_qemu(
        &mut self,
        request: &LaunchRequest,
        made: Made,
        limit: u64,
    ) -> Result<(Child, Option<Conductor>), MachineError> {
        let Made { file, at_stop } = made;
        let made_bytes = file.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let files = Files {
            made: file,
            tree: self.tree(request, made_bytes)?,
        };
        let how = match &at_stop {
            Some((point, _)) => Some(self.how(request, &files, *point)?),
            None => None,
        };
        // A boot that saves its state is not recorded: the QEMU that resumes it is.
        let is_recorded = !matches!(how, Some(How::Boot(Some(_))));
        let (mut command, mut handed) = self.qemu(request, &files, is_recorded)?;
        if let (Some(How::Resume(_)), Some(timers)) = (&how, &self.settings.timers) {
            // The library is named by its descriptor: a space or a colon in its path would end the name.
            let file = File::open(timers).map_err(|e| MachineError::io("open", timers, e))?;
            let path = format!("/dev/fd/{}", file.as_raw_fd());
            let before = std::env::var_os("LD_PRELOAD");
            command.env("LD_PRELOAD", preloaded(&path, before));
            handed.push(file.into());
        }
        let spawn = |words: Vec<String>, more: Vec<OwnedFd>| {
            command.args(words);
            handed.extend(more.into_iter().map(Handed::from));
            Child::start(command, request.timed, limit, handed)
        };
        let (Some((point, lines)), Some(how)) = (at_stop, how) else {
            return Ok((spawn(Vec::new(), Vec::new())?, None));
        };
        let (child, conductor) = Conductor::start(Stopped { how, point, lines }, spawn)?;
        Ok((child, Some(conductor)))
    }

    /// The begin of a launch that stops once the machine has booted: a boot, or a state that fits.
    fn how(
        &mut self,
        request: &LaunchRequest,
        files: &Files,
        point: LaunchPoint,
    ) -> Result<How, MachineError> {
        let begin = match self.begin.take() {
            Some(Begin::Resume(saved)) => return Ok(How::Resume(saved)),
            begin => begin,
        };
        let settings = &self.settings;
        let Some(states) = &settings.states else {
            return Ok(How::Boot(None));
        };
        // The digest covers the content of the cache's files; the folder of the cache does not matter.
        let cache = states.cache();
        let words = self.words_of_qemu(request, files, ["MADE", "TREE"])?;
        let words: Vec<String> = words
            .iter()
            .map(|word| word.replace(&*cache, "CACHE"))
            .collect();
        let stop = [point.stop, point.lines].map(u64::to_le_bytes);
        let made = [&files.made, &files.tree];
        let key = States::key(
            [settings.digest.as_bytes(), stop.as_flattened()]
                .into_iter()
                .chain(words.iter().map(|word| word.as_bytes()))
                .chain(made.map(|bytes| bytes.as_deref().unwrap_or_default())),
        );
        let found = match begin {
            Some(_) => None,
            None => states.find(&key),
        };
        Ok(match found {
            Some(saved) => How::Resume(saved),
            None => How::Boot(Some((states.clone(), key))),
        })
    }

    /// The arguments of QEMU; the files that are made for the launch have these paths.
    fn words_of_qemu(
        &self,
        request: &LaunchRequest,
        files: &Files,
        [made, tree]: [&str; 2],
    ) -> Result<Vec<String>, MachineError> {
        let settings = &self.settings;
        let launch = Launch {
            vcpus: request.vcpus,
            host_cpus: request.host_cpus,
            memory_mib: settings.machine_memory_mib(request),
            guest_memory_mib: settings.guest_memory_mib(request),
            command_line: &request.command_line,
            guest: &settings.guest.to_string_lossy(),
            has_initrd: settings.initrd.is_some(),
            made,
            made_bytes: files.made.as_ref().map_or(0, |bytes| bytes.len() as u64),
            tree,
        };
        command::arguments(&settings.recipe, &settings.payload, &launch)
    }

    /// The command of QEMU, and the files that it inherits.
    fn qemu(
        &self,
        request: &LaunchRequest,
        files: &Files,
        is_recorded: bool,
    ) -> Result<(Command, Vec<Handed>), MachineError> {
        let settings = &self.settings;
        let inherited = |what: &str, bytes: &Option<Vec<u8>>| {
            bytes
                .as_deref()
                .map(|bytes| Inherited::of(what, bytes))
                .transpose()
        };
        let made = inherited("the machine's files", &files.made)?;
        let tree = inherited("the machine's device tree", &files.tree)?;
        let path = |file: &Option<Inherited>| file.as_ref().map(Inherited::path);
        let paths = [&made, &tree].map(|file| path(file).unwrap_or_default());
        let mut words = self.words_of_qemu(request, files, [&paths[0], &paths[1]])?;
        if let Some(Witness::Complaint(_)) = self.description.witness {
            words.extend(command::WITNESSED.map(str::to_owned));
        }
        if let (Some(Recorder::Plugin(more)), true) = (&settings.recorder, is_recorded) {
            words.extend_from_slice(more);
        }
        let mut command = Command::new(&settings.emulator.program);
        command.args(settings.emulator.with_leading(words));
        let mut handed = Vec::new();
        let files = multiboot::Files {
            guest: &settings.guest,
            initrd: settings.initrd.as_deref(),
            made: Path::new(&paths[0]),
        };
        let files = multiboot::files(&settings.payload, files);
        for (path, number) in files.into_iter().zip(multiboot::NUMBERS) {
            let file = File::open(path).map_err(|e| MachineError::io("open", path, e))?;
            handed.push(Handed::at(number, file.into()));
        }
        handed.extend(made.into_iter().chain(tree).map(Inherited::into_handed));
        Ok((command, handed))
    }

    /// Looks at a launch that stops and goes on, and starts the QEMU that resumes its state. Returns the console's
    /// result if the launch decides it, and none if QEMU's console does.
    pub(super) fn follow(&mut self, is_over: bool) -> Result<Option<Console>, MachineError> {
        let Some(led) = &mut self.led else {
            return Ok(None);
        };
        let begin = match led.conductor.look(is_over) {
            Led::Well | Led::Ended => return Ok(None),
            Led::Failed(error) => return Ok(Some(Console::Ended(error.to_string()))),
            Led::NotResumed if led.has_booted => {
                let why = "QEMU does not resume a state that it has just saved: please report it with the machine's name";
                return Ok(Some(Console::Ended(why.into())));
            }
            // The state may still be there, if the cache can't be written: so boot without looking for one.
            Led::NotResumed => Begin::Boot,
            Led::Booted(saved) => Begin::Resume(saved),
        };
        let request = led.request.clone();
        self.kill();
        self.begin = Some(begin);
        self.launch(&request)?;
        Ok(Some(Console::Quiet))
    }
}

#[cfg(test)]
mod tests {
    use super::preloaded;

    #[test]
    fn what_the_user_preloads_stays() {
        let file = "/dev/fd/9";
        assert_eq!(preloaded(file, None), file);
        assert_eq!(
            preloaded(file, Some("/a.so:/b.so".into())),
            "/dev/fd/9:/a.so:/b.so"
        );
    }
}
